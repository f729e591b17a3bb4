//! candle as a peer: its operations return fresh tensors, as ours do.
//!
//! Not every case has a counterpart: there is no operation of candle for products along an axis.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::io;

use candle_core::{DType, Device, Result, Tensor};
use tenferro_bench_worker::{Movement, Operation, serve};

fn main() -> io::Result<()> {
    serve("candle", "0.11", |task| {
        let words: Vec<&str> = task.case.split('/').collect();
        let made = match (task.suite.as_str(), &words[..]) {
            ("small", ["scope", "add", "f64", size]) => add(size.parse().ok()?),
            ("small", ["scope", "chain", "f64", size]) => chain(size.parse().ok()?),
            ("elementwise", [name, dtype, "1e7"]) => elementwise(name, dtype),
            ("reduce", [name, axis, "f64", extents]) => reduce(name, axis, extents),
            ("permute", _) => permute(task.movement.as_ref()?),
            _ => return None,
        };
        // A case that candle refuses is one that it does not have.
        made.ok().flatten()
    })
}

/// The numbers of the suites, see `scattered` in `benches/src/data.rs`.
fn scattered(n: usize, low: f64, high: f64) -> Vec<f64> {
    (0..n).map(|at| low + (high - low) * (at as f64 * 0.618_033_988_749_894_9).fract()).collect()
}

/// The operation, once it was seen to work.
fn repeat<R: 'static>(operation: impl Fn() -> Result<R> + 'static) -> Result<Option<Operation>> {
    operation()?;
    Ok(Some(Box::new(move || {
        black_box(operation().expect("an operation that worked before"));
    })))
}

fn vector(n: usize, low: f64, high: f64) -> Result<Tensor> {
    Tensor::from_vec(scattered(n, low, high), n, &Device::Cpu)
}

fn add(n: usize) -> Result<Option<Operation>> {
    let (x, y) = (vector(n, -1.0, 1.0)?, vector(n, 0.0, 1.0)?);
    repeat(move || black_box(&x) + black_box(&y))
}

fn chain(n: usize) -> Result<Option<Operation>> {
    let (x, y) = (vector(n, -1.0, 1.0)?, vector(n, 0.0, 1.0)?);
    repeat(move || {
        let mut sum = (black_box(&x) + black_box(&y))?;
        for _ in 1..100 {
            sum = (&sum + black_box(&y))?;
        }
        Ok(sum)
    })
}

fn elementwise(name: &str, dtype: &str) -> Result<Option<Operation>> {
    const SIZE: usize = 10_000_000;
    let (own, other) = match dtype {
        "f64" => (DType::F64, DType::F32),
        "f32" => (DType::F32, DType::F64),
        _ => return Ok(None),
    };
    let (low, high) = match name {
        "exp" | "sin" => (-8.0, 8.0),
        "tanh" => (-4.0, 4.0),
        "erf" => (-3.0, 3.0),
        "log" => (0.001, 1000.0),
        _ => (-1000.0, 1000.0),
    };
    let x = vector(SIZE, low, high)?.to_dtype(own)?;
    let reversed: Vec<f64> = scattered(SIZE, low, high).into_iter().rev().collect();
    let y = Tensor::from_vec(reversed, SIZE, &Device::Cpu)?.to_dtype(own)?;
    match name {
        "add" => repeat(move || black_box(&x) + black_box(&y)),
        "mul" => repeat(move || black_box(&x) * black_box(&y)),
        "compare" => repeat(move || black_box(&x).lt(black_box(&y))),
        "convert" => repeat(move || black_box(&x).to_dtype(other)),
        "exp" => repeat(move || black_box(&x).exp()),
        "tanh" => repeat(move || black_box(&x).tanh()),
        "sin" => repeat(move || black_box(&x).sin()),
        "log" => repeat(move || black_box(&x).log()),
        "erf" => repeat(move || black_box(&x).erf()),
        _ => Ok(None),
    }
}

/// A column-major tensor is a row-major one of reversed extents here.
fn reduce(name: &str, axis: &str, extents: &str) -> Result<Option<Operation>> {
    let mut shape: Vec<usize> = extents.split('x').filter_map(|word| word.parse().ok()).collect();
    shape.reverse();
    let axis: Option<usize> = axis.strip_prefix("axis").and_then(|word| word.parse().ok());
    let Some(axis) = axis.and_then(|axis| (shape.len() - 1).checked_sub(axis)) else {
        return Ok(None);
    };
    let count = shape.iter().product();
    let x = Tensor::from_vec(scattered(count, 0.75, 1.25), shape, &Device::Cpu)?;
    match name {
        "sum" => repeat(move || black_box(&x).sum(axis)),
        "max" => repeat(move || black_box(&x).max(axis)),
        "argmax" => repeat(move || black_box(&x).argmax(axis)),
        "logsumexp" => repeat(move || black_box(&x).log_sum_exp(axis)),
        _ => Ok(None),
    }
}

/// A permuted view made contiguous; sources with strides of their own are not candle's.
fn permute(movement: &Movement) -> Result<Option<Operation>> {
    const LARGEST: usize = 1 << 27;
    let Movement { shape, strides, permutation } = movement;
    let count: usize = shape.iter().product();
    let mut stride = 1;
    let dense = shape.iter().zip(strides).all(|(extent, &given)| {
        let own = stride;
        stride *= extent;
        given == own.cast_signed()
    });
    if !dense || count > LARGEST {
        return Ok(None);
    }
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let order: Vec<usize> = permutation.iter().rev().map(|&axis| shape.len() - 1 - axis).collect();
    let x = Tensor::from_vec(scattered(count, -1.0, 1.0), reversed, &Device::Cpu)?;
    repeat(move || black_box(&x).permute(&order[..])?.contiguous())
}
