//! The cases that both releases have; a release is what implements [`Release`].
//!
//! Operations return fresh tensors, as ours do, and run in a scope where a release has scopes.

use std::error::Error;
use std::hint::black_box;
use std::io;

use tenferro_bench_worker::{Movement, Operation, Task, extents, range, scattered, serve, time};
use tenferro_tensor::{
    CompareDir, DType, Tensor, TensorAnalytic, TensorElementwise, TensorRead, TensorReduction,
    TensorStructural,
};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;
pub(crate) type TensorResult = std::result::Result<Tensor, tenferro_tensor::Error>;

/// A release's engine, by what differs between them.
pub(crate) trait Release:
    TensorElementwise + TensorAnalytic + TensorReduction + TensorStructural + Send + Sized + 'static
{
    /// An engine of so many threads.
    fn with_threads(threads: usize) -> Result<Self>;

    /// Does some work, in a scope if the release has them.
    fn scoped<R: Send>(&mut self, work: impl FnOnce(&mut Self) -> R + Send) -> Result<R>;

    /// An addition outside of a scope, if the release has them.
    fn standalone_add(self, _x: Tensor, _y: Tensor) -> Result<Option<Operation>> {
        Ok(None)
    }

    /// The gradients of `sum(tanh(W2 tanh(W1 x)))` by both weights, computed eagerly.
    fn network_gradients(self, weights: [Tensor; 2], x: Tensor) -> Result<Option<Operation>>;

    /// The error function, if the release has it.
    const ERF: Option<Unary<Self>> = None;
}

/// An operation on one tensor.
pub(crate) type Unary<E> = fn(&mut E, TensorRead<'_>) -> TensorResult;

/// A reduction along some axes.
type Reduction<E> = fn(&mut E, TensorRead<'_>, &[usize]) -> TensorResult;

/// The body of a peer's `main`.
pub(crate) fn serve_release<E: Release>(name: &str, version: &str) -> io::Result<()> {
    // A case that a release refuses is one that it does not have.
    serve(name, version, |task| prepare::<E>(task).ok().flatten())
}

fn prepare<E: Release>(task: &Task) -> Result<Option<Operation>> {
    let words: Vec<&str> = task.case.split('/').collect();
    let engine = E::with_threads(task.threads)?;
    let shape = words.last().and_then(|size| extents(size));
    match (task.suite.as_str(), &words[..], shape) {
        ("small", [place, name, "f64", _], Some(shape)) => small(engine, place, name, &shape),
        ("elementwise", [name, "f64", _], Some(shape)) => {
            elementwise(engine, name, &shape, [DType::F64, DType::F32])
        }
        ("elementwise", [name, "f32", _], Some(shape)) => {
            elementwise(engine, name, &shape, [DType::F32, DType::F64])
        }
        ("reduce", [name, axis, "f64", _], Some(shape)) => reduce(engine, name, axis, &shape),
        ("ad", ["eager", "mlp", "f64", _], Some(shape)) => network(engine, &shape),
        ("permute", ..) => match &task.movement {
            Some(movement) => permute(engine, movement.clone()),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The operation, once it was seen to work.
pub(crate) fn repeat<E: Release, R, X: Error + Send + 'static>(
    mut engine: E,
    mut operation: impl FnMut(&mut E) -> std::result::Result<R, X> + Send + 'static,
) -> Result<Option<Operation>> {
    engine.scoped(|engine| operation(engine).map(drop))??;
    Ok(Some(Operation::sampled(move |count| {
        let sample = |engine: &mut E| {
            time(|| operation(engine).expect("an operation that worked before"), count)
        };
        engine.scoped(sample).expect("a scope that was opened before")
    })))
}

/// A tensor of the suites' numbers.
fn tensor(shape: &[usize], low: f64, high: f64) -> TensorResult {
    Tensor::from_vec_col_major(shape.to_vec(), scattered(shape.iter().product(), low, high))
}

fn read(x: &Tensor) -> TensorRead<'_> {
    TensorRead::from_tensor(black_box(x))
}

fn small<E: Release>(
    engine: E,
    place: &str,
    name: &str,
    shape: &[usize],
) -> Result<Option<Operation>> {
    let [x, y] = [-1.0, 0.0].map(|low| tensor(shape, low, 1.0));
    let (x, y) = (x?, y?);
    match (place, name) {
        ("standalone", "add") => engine.standalone_add(x, y),
        ("scope", "add") => {
            repeat(engine, move |engine: &mut E| engine.add_read(read(&x), read(&y)))
        }
        ("scope", "chain") => repeat(engine, move |engine: &mut E| -> TensorResult {
            let mut sum = engine.add_read(read(&x), read(&y))?;
            for _ in 1..100 {
                sum = engine.add_read(read(&sum), read(&y))?;
            }
            Ok(sum)
        }),
        _ => Ok(None),
    }
}

/// An operation on tensors of the first of two dtypes.
fn elementwise<E: Release>(
    mut engine: E,
    name: &str,
    shape: &[usize],
    [own, other]: [DType; 2],
) -> Result<Option<Operation>> {
    let function: Option<Unary<E>> = match name {
        "exp" => Some(E::exp_read),
        "log" => Some(E::log_read),
        "sin" => Some(E::sin_read),
        "tanh" => Some(E::tanh_read),
        "erf" => E::ERF,
        _ => None,
    };
    let (low, high) = range(name);
    let mut operand = |low, high| match own {
        DType::F64 => tensor(shape, low, high),
        _ => engine.cast(&tensor(shape, low, high)?, own),
    };
    let x = operand(low, high)?;
    if let Some(function) = function {
        return repeat(engine, move |engine: &mut E| function(engine, read(&x)));
    }
    let y = operand(high, low)?;
    match name {
        "add" => repeat(engine, move |engine: &mut E| engine.add_read(read(&x), read(&y))),
        "mul" => repeat(engine, move |engine: &mut E| engine.mul_read(read(&x), read(&y))),
        "compare" => repeat(engine, move |engine: &mut E| {
            engine.compare_read(read(&x), read(&y), &CompareDir::Lt)
        }),
        "convert" => repeat(engine, move |engine: &mut E| engine.cast(black_box(&x), other)),
        _ => Ok(None),
    }
}

fn reduce<E: Release>(
    engine: E,
    name: &str,
    axis: &str,
    shape: &[usize],
) -> Result<Option<Operation>> {
    let reduction: Reduction<E> = match name {
        "sum" => E::reduce_sum_read,
        "prod" => E::reduce_prod_read,
        "max" => E::reduce_max_read,
        _ => return Ok(None),
    };
    let Some(axis) = axis.strip_prefix("axis").and_then(|word| word.parse().ok()) else {
        return Ok(None);
    };
    let x = tensor(shape, 0.75, 1.25)?;
    repeat(engine, move |engine: &mut E| reduction(engine, read(&x), &[axis]))
}

/// A permuted tensor; sources with strides of their own are left to others.
fn permute<E: Release>(engine: E, movement: Movement) -> Result<Option<Operation>> {
    if movement.dense().is_none() {
        return Ok(None);
    }
    let x = tensor(&movement.shape, -1.0, 1.0)?;
    repeat(engine, move |engine: &mut E| engine.transpose_read(read(&x), &movement.permutation))
}

/// The small network of the suite: square weights, and as many columns of `x` as the size says.
fn network<E: Release>(engine: E, shape: &[usize]) -> Result<Option<Operation>> {
    let (n, columns) = match *shape {
        [n] => (n, 1),
        [n, columns] => (n, columns),
        _ => return Ok(None),
    };
    let scale = 1.0 / n as f64;
    let w1 = tensor(&[n, n], -scale, 3.0 * scale)?;
    let w2 = tensor(&[n, n], -2.0 * scale, 2.0 * scale)?;
    engine.network_gradients([w1, w2], tensor(&[n, columns], -1.0, 1.0)?)
}
