//! candle as a peer: its operations return fresh tensors, as ours do.
//!
//! Not every case has a counterpart: there is no operation of candle for products along an axis.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::io;

use candle_core::{DType, Device, Result, Tensor, Var};
use tenferro_bench_worker::{Movement, Operation, extents, range, scattered, serve};

fn main() -> io::Result<()> {
    serve("candle", "0.11", |task| {
        let words: Vec<&str> = task.case.split('/').collect();
        let made = match (task.suite.as_str(), &words[..]) {
            ("small", ["scope", "add", "f64", size]) => add(size.parse().ok()?),
            ("small", ["scope", "chain", "f64", size]) => chain(size.parse().ok()?),
            ("elementwise", [name, dtype, "1e7"]) => elementwise(name, dtype),
            ("reduce", [name, axis, "f64", extents]) => reduce(name, axis, extents),
            ("ad", [_, "mlp", "f64", size]) => network(size, gradients),
            ("ad", [_, "mlp-forward", "f64", size]) => {
                network(size, |loss, _| Ok((loss, Vec::new())))
            }
            ("ad", [_, "logsumexp", "f64", "1e6"]) => logsumexp(),
            ("program", ["chain100", "f64", size]) => chain(size.parse().ok()?),
            ("program", [name @ ("fused-muladd" | "sum-of-squares"), "f64", "1e7"]) => large(name),
            ("program", ["cross-entropy", "f64", size]) => {
                cross_entropy(size, |loss, _| Ok((loss, Vec::new())))
            }
            ("program", ["cross-entropy-gradient", "f64", size]) => cross_entropy(size, gradients),
            ("permute", _) => permute(task.movement.as_ref()?),
            _ => return None,
        };
        // A case that candle refuses is one that it does not have.
        made.ok().flatten()
    })
}

/// The operation, once it was seen to work.
fn repeat<R: 'static>(operation: impl Fn() -> Result<R> + 'static) -> Result<Option<Operation>> {
    operation()?;
    Ok(Some(Operation::repeated(move || operation().expect("an operation that worked before"))))
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
    let (low, high) = range(name);
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

/// A value, and the gradients by variables.
type Gradients = (Tensor, Vec<Tensor>);

fn gradients(loss: Tensor, variables: &[Var]) -> Result<Gradients> {
    let store = loss.backward()?;
    let gradients = variables.iter().filter_map(|variable| store.get(variable).cloned());
    Ok((loss, gradients.collect()))
}

/// `sum(tanh(W2 tanh(W1 x)))`, and what is made of it and the weights.
fn network(size: &str, then: fn(Tensor, &[Var]) -> Result<Gradients>) -> Result<Option<Operation>> {
    let Some(extents) = extents(size) else { return Ok(None) };
    let (n, columns) = (extents[0], extents.get(1).copied().unwrap_or(1));
    let scale = 1.0 / n as f64;
    let weights = [(-scale, 3.0 * scale), (-2.0 * scale, 2.0 * scale)]
        .map(|(low, high)| Var::from_tensor(&vector(n * n, low, high)?.reshape((n, n))?));
    let [w1, w2] = weights;
    let weights = [w1?, w2?];
    let x = vector(n * columns, -1.0, 1.0)?.reshape((n, columns))?;
    repeat(move || {
        let hidden = weights[0].matmul(&x)?.tanh()?;
        let loss = weights[1].matmul(&hidden)?.tanh()?.sum_all()?;
        then(loss, &weights)
    })
}

fn logsumexp() -> Result<Option<Operation>> {
    let x = Var::from_tensor(&vector(1_000_000, -4.0, 4.0)?)?;
    repeat(move || gradients(x.log_sum_exp(0)?, std::slice::from_ref(&x)))
}

fn large(name: &str) -> Result<Option<Operation>> {
    let pair = || -> Result<[Tensor; 2]> {
        let reversed: Vec<f64> = scattered(10_000_000, -1.0, 1.0).into_iter().rev().collect();
        Ok([vector(10_000_000, -1.0, 1.0)?, Tensor::from_vec(reversed, 10_000_000, &Device::Cpu)?])
    };
    let ([a, b], [c, d]) = (pair()?, pair()?);
    if name == "sum-of-squares" {
        return repeat(move || black_box(&a).sqr()?.sum_all());
    }
    repeat(move || (black_box(&a) * &b)? + (&c * &d)?)
}

fn cross_entropy(
    size: &str,
    then: fn(Tensor, &[Var]) -> Result<Gradients>,
) -> Result<Option<Operation>> {
    let extents = extents(size).and_then(|extents| <[usize; 2]>::try_from(extents).ok());
    let Some([rows, classes]) = extents else {
        return Ok(None);
    };
    let x = Var::from_tensor(&vector(rows * classes, -4.0, 4.0)?.reshape((rows, classes))?)?;
    let labels = (0..rows).map(|row| (row * 7 % classes) as i64).collect();
    let labels = Tensor::from_vec(labels, (rows, 1), &Device::Cpu)?;
    repeat(move || {
        let own = x.gather(&labels, 1)?.squeeze(1)?;
        let loss = (x.log_sum_exp(1)? - own)?.mean_all()?;
        then(loss, std::slice::from_ref(&x))
    })
}

/// A column-major tensor is a row-major one of reversed extents here.
fn reduce(name: &str, axis: &str, size: &str) -> Result<Option<Operation>> {
    let Some(mut shape) = extents(size) else { return Ok(None) };
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
    let Some(count) = movement.dense() else { return Ok(None) };
    let Movement { shape, permutation, .. } = movement;
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let order: Vec<usize> = permutation.iter().rev().map(|&axis| shape.len() - 1 - axis).collect();
    let x = Tensor::from_vec(scattered(count, -1.0, 1.0), reversed, &Device::Cpu)?;
    if order.is_sorted() {
        // What is contiguous already would be handed out as it is.
        return repeat(move || black_box(&x).copy());
    }
    repeat(move || black_box(&x).permute(&order[..])?.contiguous())
}
