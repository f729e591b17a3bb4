//! Products that are worth packing and blocking: the sequential kernels of the `gemm` crate.
//!
//! Its threads are never used. It calls `alpha` what scales the old result and `beta` what scales the product, the
//! other way round than BLAS does.

use gemm::Parallelism;
use tenferro_tensor::{Conjugation, Scalar};

use super::block::Block;
use crate::arithmetic::{Number, Scale};

/// The factor of a scale. A zero factor keeps what it scales from being read.
fn factor<T: Number<Sum = T>>(scale: Scale<T>) -> T {
    match scale {
        Scale::Zero => T::default(),
        Scale::One => <T as Scalar>::ONE,
        Scale::By(factor) => factor,
    }
}

/// Computes a block of one of the four dtypes that the crate has: f32, f64 and their complex numbers.
pub(super) fn product<T: Number<Sum = T>>(block: Block<T>) {
    let Block { m, n, k, lhs, rhs, out, .. } = block;
    let [lhs_conjugated, rhs_conjugated] =
        block.conjugation.map(|conjugation| conjugation == Conjugation::Conjugated);
    // SAFETY: a block's addresses are valid for its extents and strides, the output is nobody else's, and it is read
    // only if beta is not zero, when it is initialised.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.data,
            out.col,
            out.row,
            block.beta != Scale::Zero,
            lhs.data,
            lhs.col,
            lhs.row,
            rhs.data,
            rhs.col,
            rhs.row,
            factor(block.beta),
            factor(block.alpha),
            false,
            lhs_conjugated,
            rhs_conjugated,
            Parallelism::None,
        );
    }
}
