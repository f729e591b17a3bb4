//! Products too small to be worth packing: the kernels of the `nano-gemm` crate.
//!
//! As with the `gemm` crate, `alpha` there scales the old result and `beta` the product.

use nano_gemm::Plan;
use tenferro_tensor::{Complex32, Complex64, Conjugation, Scalar};

use super::block::Block;
use crate::arithmetic::{Number, Scale};

/// Multiply-add steps up to which this is faster than the `gemm` crate: about 21^3.
const MOST: usize = 10_000;

/// The longest sum that is kept in registers all the way.
const LONGEST: usize = 64;

/// A dtype that the crate has.
pub(super) trait Planned: Number<Sum = Self> {
    /// The kernels for these extents; for `upright` ones, lhs and out have their rows next to each other.
    fn plan(extents: [usize; 3], placement: Placement) -> Plan<Self>;
}

/// How the left operand and the output of a block lie.
#[derive(Clone, Copy)]
pub(super) enum Placement {
    /// Both have their rows next to each other.
    Upright,
    /// Any strides.
    Any,
}

impl Planned for f32 {
    fn plan([m, n, k]: [usize; 3], placement: Placement) -> Plan<Self> {
        match placement {
            Placement::Upright => Plan::new_colmajor_lhs_and_dst_f32(m, n, k),
            Placement::Any => Plan::new_f32(m, n, k),
        }
    }
}

impl Planned for f64 {
    fn plan([m, n, k]: [usize; 3], placement: Placement) -> Plan<Self> {
        match placement {
            Placement::Upright => Plan::new_colmajor_lhs_and_dst_f64(m, n, k),
            Placement::Any => Plan::new_f64(m, n, k),
        }
    }
}

impl Planned for Complex32 {
    fn plan([m, n, k]: [usize; 3], placement: Placement) -> Plan<Self> {
        match placement {
            Placement::Upright => Plan::new_colmajor_lhs_and_dst_c32(m, n, k),
            Placement::Any => Plan::new_c32(m, n, k),
        }
    }
}

impl Planned for Complex64 {
    fn plan([m, n, k]: [usize; 3], placement: Placement) -> Plan<Self> {
        match placement {
            Placement::Upright => Plan::new_colmajor_lhs_and_dst_c64(m, n, k),
            Placement::Any => Plan::new_c64(m, n, k),
        }
    }
}

/// Whether a block is small enough.
pub(super) fn fits<T: Number>(block: &Block<T>) -> bool {
    block.k <= LONGEST && block.m * block.n * block.k <= MOST
}

/// The factor of a scale. A zero factor keeps what it scales from being read.
pub(super) fn factor<T: Number<Sum = T>>(scale: Scale<T>) -> T {
    match scale {
        Scale::Zero => T::default(),
        Scale::One => <T as Scalar>::ONE,
        Scale::By(factor) => factor,
    }
}

/// Computes a small block.
pub(super) fn product<T: Planned>(block: Block<T>) {
    let Block { m, n, k, lhs, rhs, out, .. } = block;
    let upright = lhs.row == 1 && out.row == 1;
    let placement = if upright { Placement::Upright } else { Placement::Any };
    let [lhs_conjugated, rhs_conjugated] =
        block.conjugation.map(|conjugation| conjugation == Conjugation::Conjugated);
    let plan = T::plan([m, n, k], placement);
    // SAFETY: the plan is for these extents and placement; a block's addresses are valid, the output is nobody
    // else's, and it is read only if beta is not zero, when it is initialised.
    unsafe {
        plan.execute_unchecked(
            m,
            n,
            k,
            out.data,
            out.row,
            out.col,
            lhs.data,
            lhs.row,
            lhs.col,
            rhs.data,
            rhs.row,
            rhs.col,
            factor(block.beta),
            factor(block.alpha),
            lhs_conjugated,
            rhs_conjugated,
        );
    }
}
