//! Published tenferro 0.9 as a peer: it has no scopes, an engine is its caller's.

#![forbid(unsafe_code)]

#[path = "../../src/cases.rs"]
mod cases;

use std::io;
use std::sync::Arc;

use cases::{Release, Result, Unary, repeat, serve_release};
use tenferro_ad::{EagerRuntime, EagerTensor};
use tenferro_bench_worker::Operation;
use tenferro_cpu::{CpuEngine, Pool};
use tenferro_tensor::{Tensor, TensorAnalytic};

fn main() -> io::Result<()> {
    serve_release::<CpuEngine>("tenferro 0.9", "0.9.0")
}

impl Release for CpuEngine {
    const ERF: Option<Unary<Self>> = Some(Self::erf_read);

    fn with_threads(threads: usize) -> Result<Self> {
        Ok(match threads {
            1 => Self::serial(),
            _ => Self::new(Pool::builder().threads(threads).build()?),
        })
    }

    fn scoped<R: Send>(&mut self, work: impl FnOnce(&mut Self) -> R + Send) -> Result<R> {
        Ok(work(self))
    }

    fn network_gradients(self, weights: [Tensor; 2], x: Tensor) -> Result<Option<Operation>> {
        let runtime = EagerRuntime::new()?;
        let [w1, w2] = weights.map(|w| EagerTensor::requires_grad_in(w, Arc::clone(&runtime)));
        let (w1, w2) = (w1?, w2?);
        let x = EagerTensor::from_tensor_in(x, Arc::clone(&runtime))?;
        repeat(self, move |engine| {
            let loss = runtime.with_eager_session(engine, |session| {
                let hidden = session.matmul(&w1, &x)?;
                let hidden = session.tanh(&hidden)?;
                let output = session.matmul(&w2, &hidden)?;
                let output = session.tanh(&output)?;
                session.reduce_sum(&output, None)
            })?;
            let gradients = loss.backward(engine)?;
            // They would be added to otherwise.
            runtime.clear_grads()?;
            Ok::<_, tenferro_ad::Error>(gradients)
        })
    }
}
