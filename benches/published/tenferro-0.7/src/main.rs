//! Published tenferro 0.7 as a peer: its operations run in an execution scope.

#![forbid(unsafe_code)]

#[path = "../../src/cases.rs"]
mod cases;

use std::io;
use std::sync::Arc;

use cases::{Release, Result, repeat, serve_release};
use tenferro_ad::{EagerRuntime, EagerTensor};
use tenferro_bench_worker::Operation;
use tenferro_cpu::CpuBackend;
use tenferro_tensor::{Tensor, TensorElementwise, TensorRead};

fn main() -> io::Result<()> {
    serve_release::<CpuBackend>("tenferro 0.7", "0.7.1")
}

impl Release for CpuBackend {
    fn with_threads(threads: usize) -> Result<Self> {
        Ok(Self::with_threads(threads)?)
    }

    fn scoped<R: Send>(&mut self, work: impl FnOnce(&mut Self) -> R + Send) -> Result<R> {
        let owner = self.clone();
        Ok(owner.with_execution_scope(|| work(self))?)
    }

    fn standalone_add(mut self, x: Tensor, y: Tensor) -> Result<Option<Operation>> {
        Ok(Some(Operation::repeated(move || {
            let [x, y] = [&x, &y].map(TensorRead::from_tensor);
            self.add_read(x, y).expect("operands of one shape")
        })))
    }

    fn network_gradients(self, weights: [Tensor; 2], x: Tensor) -> Result<Option<Operation>> {
        let runtime = EagerRuntime::with_cpu_backend(self.clone())?;
        let [w1, w2] = weights.map(|w| EagerTensor::requires_grad_in(w, Arc::clone(&runtime)));
        let (w1, w2) = (w1?, w2?);
        let x = EagerTensor::from_tensor_in(x, Arc::clone(&runtime))?;
        repeat(self, move |_| {
            let hidden = w1.matmul(&x)?.tanh()?;
            let loss = w2.matmul(&hidden)?.tanh()?.reduce_sum(None)?;
            let gradients = loss.backward()?;
            // They would be added to otherwise.
            runtime.clear_grads()?;
            Ok::<_, tenferro_ad::Error>(gradients)
        })
    }
}
