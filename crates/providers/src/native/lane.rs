//! Rows of a tile side by side, as the compiler turns them into vectors.
//!
//! Complex numbers are kept as a block of real parts and a block of imaginary parts, so that no shuffle is needed.

use tenferro_tensor::{Complex32, Complex64};

use super::isa::Isa;
use crate::arithmetic::Sum;

/// A number of which tiles are made.
pub(super) trait Lane: Sum {
    /// `MR` numbers side by side.
    type Block<const MR: usize>: Copy;

    /// Whether a block is laid out as the numbers themselves are, so that memory can be read as blocks.
    const PLAIN: bool;

    /// Bytes that one number adds to a vector.
    const BYTES: usize;

    /// Zeros.
    fn zeros<const MR: usize>() -> Self::Block<MR>;

    /// Writes one number of a block.
    fn put<const MR: usize>(block: &mut Self::Block<MR>, row: usize, number: Self);

    /// One number of a block.
    fn get<const MR: usize>(block: &Self::Block<MR>, row: usize) -> Self;

    /// `sums += lhs * rhs` for each number of the block, fused where the instruction set can.
    fn accumulate<I: Isa, const MR: usize>(
        sums: &mut Self::Block<MR>,
        lhs: &Self::Block<MR>,
        rhs: Self,
    );
}

macro_rules! plain_lane {
    ($ty:ty, |$sum:ident, $lhs:ident, $rhs:ident, $isa:ident| $step:expr) => {
        impl Lane for $ty {
            type Block<const MR: usize> = [$ty; MR];
            const PLAIN: bool = true;
            const BYTES: usize = size_of::<$ty>();

            #[inline(always)]
            fn zeros<const MR: usize>() -> [$ty; MR] {
                [<$ty>::ZERO; MR]
            }

            #[inline(always)]
            fn put<const MR: usize>(block: &mut [$ty; MR], row: usize, number: Self) {
                block[row] = number;
            }

            #[inline(always)]
            fn get<const MR: usize>(block: &[$ty; MR], row: usize) -> Self {
                block[row]
            }

            #[inline(always)]
            fn accumulate<$isa: Isa, const MR: usize>(
                sums: &mut [$ty; MR],
                lhs: &[$ty; MR],
                $rhs: Self,
            ) {
                for row in 0..MR {
                    let ($sum, $lhs) = (sums[row], lhs[row]);
                    sums[row] = $step;
                }
            }
        }
    };
}

/// `sum + lhs * rhs`, in one rounding where that is one instruction.
macro_rules! fused {
    ($isa:ident, $sum:expr, $lhs:expr, $rhs:expr) => {
        if $isa::FUSED { $lhs.mul_add($rhs, $sum) } else { $sum + $lhs * $rhs }
    };
}

macro_rules! complex_lane {
    ($ty:ty, $real:ty) => {
        impl Lane for $ty {
            type Block<const MR: usize> = [[$real; MR]; 2];
            const PLAIN: bool = false;
            const BYTES: usize = size_of::<$real>();

            #[inline(always)]
            fn zeros<const MR: usize>() -> [[$real; MR]; 2] {
                [[0.0; MR]; 2]
            }

            #[inline(always)]
            fn put<const MR: usize>(block: &mut [[$real; MR]; 2], row: usize, number: Self) {
                block[0][row] = number.re;
                block[1][row] = number.im;
            }

            #[inline(always)]
            fn get<const MR: usize>(block: &[[$real; MR]; 2], row: usize) -> Self {
                <$ty>::new(block[0][row], block[1][row])
            }

            #[inline(always)]
            fn accumulate<I: Isa, const MR: usize>(
                sums: &mut [[$real; MR]; 2],
                lhs: &[[$real; MR]; 2],
                rhs: Self,
            ) {
                for row in 0..MR {
                    let real = fused!(I, sums[0][row], lhs[0][row], rhs.re);
                    sums[0][row] = fused!(I, real, -lhs[1][row], rhs.im);
                }
                for row in 0..MR {
                    let imaginary = fused!(I, sums[1][row], lhs[0][row], rhs.im);
                    sums[1][row] = fused!(I, imaginary, lhs[1][row], rhs.re);
                }
            }
        }
    };
}

macro_rules! lanes {
    ($($kind:ident [$($variant:ident: $ty:ty = $name:literal),*])*) => {
        $($(lanes!(@$kind $ty);)*)*
    };
    (@float $ty:ty) => { plain_lane!($ty, |sum, lhs, rhs, I| fused!(I, sum, lhs, rhs)); };
    (@signed $ty:ty) => { plain_lane!($ty, |sum, lhs, rhs, I| sum.plus_product(lhs, rhs)); };
    (@unsigned $ty:ty) => { lanes!(@signed $ty); };
    (@$kind:ident $ty:ty) => {};
}

tenferro_tensor::dtypes!(lanes,);
complex_lane!(Complex32, f32);
complex_lane!(Complex64, f64);
