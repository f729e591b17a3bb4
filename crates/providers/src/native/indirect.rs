//! Where there is no kernel on operands as they lie: no block fits it.

use tenferro_provider::{Product, Workers};

use super::block::Block;
use crate::arithmetic::Number;

/// A dtype that the kernel exists for, elsewhere.
pub(super) trait Parts: Number<Sum = Self> {}

impl Parts for f32 {}
impl Parts for f64 {}
impl Parts for tenferro_tensor::Complex32 {}
impl Parts for tenferro_tensor::Complex64 {}

/// Nothing fits.
pub(super) fn fits<T: Parts>(_: &Block<T>, _: usize) -> bool {
    false
}

/// No request is computed here.
pub(super) fn plain<T: Parts>(_: &mut Product<'_>, _: &dyn Workers) -> bool {
    false
}

/// Nothing is asked for.
pub(super) fn product<T: Parts>(_: &Block<T>) {
    unreachable!("no block fits");
}
