//! A provider as a contender: calls into an output that is there, without a backend around them.

use std::hint::black_box;
use std::time::Instant;

use tenferro_bench_limits::Matrices;
use tenferro_provider::{Chain, Product, Workers};
use tenferro_tensor::{AsOperand, Scalar, Tensor, TensorViewMut};

use super::Contender;

/// Calls of a chain of providers, each of which makes and checks a request for all products of the matrices.
///
/// # Panics
/// If the matrices have other elements than their extents say, or no provider of the chain multiplies them.
pub fn called<T: Scalar>(
    chain: Chain,
    workers: impl Workers + Send + 'static,
    matrices: Matrices<T>,
) -> Contender<'static> {
    let Matrices { m, n, k, batch, lhs, rhs, out: mut elements } = matrices;
    let tensor = |extents: [usize; 3], elements: Vec<T>| {
        Tensor::from_vec_col_major(extents.to_vec(), elements).expect("as many as the extents say")
    };
    let (lhs, rhs) = (tensor([m, k, batch], lhs), tensor([k, n, batch], rhs));
    Contender::sampled("provider", move |count| {
        let strides = [1, m.cast_signed(), (m * n).cast_signed()];
        let mut out = TensorViewMut::from_slice(&mut elements, &[m, n, batch], &strides, 0)
            .expect("as many as the extents say");
        let (lhs, rhs, mut out) = (lhs.as_operand(), rhs.as_operand(), out.as_operand_mut());
        let start = Instant::now();
        for _ in 0..count {
            let (lhs, rhs) = (*black_box(&lhs), *black_box(&rhs));
            let mut product = Product::new(lhs, rhs, out.reborrow()).expect("they agree");
            let done = chain.product(&mut product, &workers);
            black_box(done.expect("somebody multiplies").name());
        }
        start.elapsed()
    })
}
