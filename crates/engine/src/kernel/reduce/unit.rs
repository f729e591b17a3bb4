//! Where the jobs of a reduction are compiled: in one codegen unit for each dtype.
//!
//! The compiler puts all instances of a function into the unit of its module; but of a function that a trait provides,
//! into that of the type which implements the trait. A hundred instances in one unit would be compiled by one thread
//! while the others have nothing to do.

use pulp::NullaryFnOnce as _;
use tenferro_ops::scalar::Reducer;
use tenferro_tensor::{DType, Scalar};

use super::{
    super::isa::{in_wide, in_widest},
    Jobs,
};

/// A codegen unit.
trait Unit {
    /// Does jobs in the registers of this machine.
    fn run<T: Scalar, R: Reducer<T>>(jobs: Jobs<'_, '_, '_, T, R>) {
        // Wider registers shorten what is computed most; every instance more is time to build. Halves are converted one
        // by one in any.
        if const { matches!(T::DTYPE, DType::F64 | DType::F32) } {
            in_widest(jobs);
        } else if const { is_in_common_use::<T, R>() } {
            in_wide(jobs);
        } else {
            jobs.call();
        }
    }
}

macro_rules! units {
    ($($module:ident: $dtype:ident,)*) => {
        $(mod $module {
            pub(super) struct Here;
            impl super::Unit for Here {}
        })*

        /// Does jobs.
        pub(super) fn run<T: Scalar, R: Reducer<T>>(jobs: Jobs<'_, '_, '_, T, R>) {
            $(if const { matches!(T::DTYPE, DType::$dtype) } {
                return $module::Here::run(jobs);
            })*
            unreachable!("invariant: other dtypes are reduced as one of these with the same bits");
        }
    };
}

units! {
    f64: F64,
    f32: F32,
    f16: F16,
    bf16: BF16,
    c64: C64,
    c32: C32,
    i64: I64,
    i32: I32,
    i16: I16,
    i8: I8,
}

/// Whether a dtype, or another one with the same bits, is reduced so often that a second instance pays.
const fn is_in_common_use<T: Scalar, R: Reducer<T>>() -> bool {
    match T::DTYPE {
        DType::I64 | DType::I32 | DType::C64 | DType::C32 => true,
        // Truth values.
        DType::I8 => R::IS_DISJUNCTION,
        _ => false,
    }
}
