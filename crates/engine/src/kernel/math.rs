//! Vectorised transcendental functions of `f32` and `f64`, and of f16 and bf16 through `f32`.
//!
//! A file a function or a few sisters. A function is a straight line of arithmetic for one element, applied to blocks of
//! fixed size, which the compiler turns into vectors; what is left over is padded to a block, so that an element's
//! value does not depend on its place. Arguments that the straight line is not for are rare, and recomputed by the C
//! library after their block. A row gets its vector kernel by one line in [`vectorised`].
//!
//! Largest errors in units in the last place, against the exact value, for `f64` and `f32`: see each test in
//! `tests/accuracy.rs`, which asserts them.

mod angle;
mod coefficients;
mod erf;
mod exp;
mod exp2;
mod expm1;
mod float;
mod hyperbolic;
mod log;
mod log1p;
mod log2;
mod pow;
mod sigmoid;
mod sqrt;
mod tanh;
mod trigonometric;

use std::{marker::PhantomData, ptr::NonNull};

use half::slice::HalfFloatSliceExt;
use tenferro_tensor::{Analytic, DType, bf16, f16};

pub(super) use float::Float;

use super::{
    isa::{Loop, Places, Run, Word, compiled_with_fma},
    share::ask,
};

/// A function of one float as a straight line, but for rare arguments.
trait Function<T>: 'static {
    /// Whether there are arguments that `call` is not for.
    const HAS_RARE: bool = false;

    /// The value, unless the argument is rare.
    fn call(x: T) -> T;

    /// Whether `call` is not for this argument.
    #[inline(always)]
    fn is_rare(_x: T) -> bool {
        false
    }

    /// The value for a rare argument.
    fn rare(x: T) -> T {
        Self::call(x)
    }
}

/// A function of two floats as a straight line, but for rare arguments.
trait Function2<T>: 'static {
    /// The value, unless the arguments are rare.
    fn call(x: T, y: T) -> T;

    /// Whether `call` is not for these arguments.
    fn is_rare(x: T, y: T) -> bool;

    /// The value for rare arguments.
    fn rare(x: T, y: T) -> T;
}

/// The vector kernel of a row; `None` where its scalar function has to do.
pub(super) fn vectorised(row: &Analytic, dtype: DType) -> Option<Run> {
    match row {
        Analytic::Exp => of::<exp::Exp>(dtype),
        Analytic::Exp2 => of::<exp2::Exp2>(dtype),
        Analytic::Expm1 => of::<expm1::Expm1>(dtype),
        Analytic::Log => of::<log::Log>(dtype),
        Analytic::Log2 => of::<log2::Log2>(dtype),
        Analytic::Log1p => of::<log1p::Log1p>(dtype),
        Analytic::Sqrt => of::<sqrt::Sqrt>(dtype),
        Analytic::Rsqrt => of::<sqrt::Rsqrt>(dtype),
        Analytic::Sin => of::<trigonometric::Sin>(dtype),
        Analytic::Cos => of::<trigonometric::Cos>(dtype),
        Analytic::Tan => of::<trigonometric::Tan>(dtype),
        Analytic::Sinh => of::<hyperbolic::Sinh>(dtype),
        Analytic::Cosh => of::<hyperbolic::Cosh>(dtype),
        Analytic::Tanh => of::<tanh::Tanh>(dtype),
        Analytic::Sigmoid => of::<sigmoid::Sigmoid>(dtype),
        Analytic::Erf => of::<erf::Erf>(dtype),
        Analytic::Pow => of2::<pow::Pow>(dtype),
        _ => None,
    }
}

fn of<F: Function<f32> + Function<f64>>(dtype: DType) -> Option<Run> {
    match dtype {
        DType::F64 => compiled_with_fma::<Blocks<f64, F>>(),
        DType::F32 => compiled_with_fma::<Blocks<f32, F>>(),
        DType::F16 => compiled_with_fma::<Halves<f16, F>>(),
        DType::BF16 => compiled_with_fma::<Halves<bf16, F>>(),
        _ => None,
    }
}

fn of2<F: Function2<f32> + Function2<f64>>(dtype: DType) -> Option<Run> {
    match dtype {
        DType::F64 => compiled_with_fma::<Blocks2<f64, F>>(),
        DType::F32 => compiled_with_fma::<Blocks2<f32, F>>(),
        _ => None,
    }
}

/// How many elements make a block: four of the widest vectors of `f64`, two of `f32`.
pub(super) const BLOCK: usize = 32;

/// How many bytes ahead of a block memory is asked for. A function keeps the CPU busy for longer than it looks ahead by
/// itself, so that it would compute and wait in turn.
const AHEAD: usize = 2048;

/// Asks for the lines of a block ahead of this one, which may lie outside of the operand.
#[inline(always)]
fn ask_ahead<T>(block: *const T) {
    ask(block.wrapping_byte_add(AHEAD), BLOCK);
}

/// The exponentials of a block, to be inlined into loops that do more with them. Only right with fused multiply-add.
#[inline(always)]
pub(super) fn exp<T: Float + Default>(x: &[T; BLOCK]) -> [T; BLOCK] {
    apply::<T, exp::Exp>(x)
}

/// The logarithms of a block, as [`exp`].
#[inline(always)]
pub(super) fn log<T: Float + Default>(x: &[T; BLOCK]) -> [T; BLOCK] {
    apply::<T, log::Log>(x)
}

/// A block of elements, or of fewer, which are padded by their first.
///
/// # Safety
/// There must be `count` elements, at least one.
#[inline(always)]
unsafe fn padded<T: Copy>(from: *const T, count: usize) -> [T; BLOCK] {
    // SAFETY: the caller says that there are so many.
    unsafe {
        let mut block = [from.read(); BLOCK];
        block.as_mut_ptr().copy_from_nonoverlapping(from, count);
        block
    }
}

/// Writes a block, or as many of its elements as are wanted.
///
/// # Safety
/// There must be room for `count` elements.
#[inline(always)]
unsafe fn store<T: Copy>(out: *mut T, block: &[T; BLOCK], count: usize) {
    // SAFETY: the caller says that there is room.
    unsafe {
        if count == BLOCK {
            out.cast::<[T; BLOCK]>().write_unaligned(*block);
        } else {
            out.copy_from_nonoverlapping(block.as_ptr(), count);
        }
    }
}

/// The values of a function for the elements of a block, but for rare ones.
#[inline(always)]
fn values<T: Copy + Default, F: Function<T>>(x: &[T; BLOCK]) -> [T; BLOCK] {
    let mut y = [T::default(); BLOCK];
    for (y, &x) in y.iter_mut().zip(x) {
        *y = F::call(x);
    }
    y
}

/// Whether one of the elements of a block is rare.
#[inline(always)]
fn any_rare<T: Copy, F: Function<T>>(x: &[T; BLOCK]) -> bool {
    F::HAS_RARE && x.iter().fold(false, |any, &x| any | F::is_rare(x))
}

/// The values of a function for the elements of a block.
#[inline(always)]
fn apply<T: Copy + Default, F: Function<T>>(x: &[T; BLOCK]) -> [T; BLOCK] {
    let mut y = values::<T, F>(x);
    if any_rare::<T, F>(x) {
        correct::<T, F>(x, &mut y);
    }
    y
}

#[cold]
#[inline(never)]
fn correct<T: Copy, F: Function<T>>(x: &[T], y: &mut [T]) {
    for (&x, y) in x.iter().zip(y) {
        if F::is_rare(x) {
            *y = F::rare(x);
        }
    }
}

/// The loop of a function of one float.
struct Blocks<T, F>(PhantomData<(T, F)>);

impl<T: Copy + Default + 'static, F: Function<T>> Loop for Blocks<T, F> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [x, ..]: &Places, length: usize, _word: Word) {
        let (out, x) = (out.cast::<T>().as_ptr(), x.cast::<T>().as_ptr());
        for at in (0..length).step_by(BLOCK) {
            let count = (length - at).min(BLOCK);
            // What is written is read into the caches first.
            ask_ahead(x.wrapping_add(at));
            ask_ahead(out.wrapping_add(at));
            let rest;
            // SAFETY: the caller has `length` elements in both, which do not overlap, and `at + count` are not more.
            unsafe {
                let block = if count == BLOCK {
                    &*x.add(at).cast::<[T; BLOCK]>()
                } else {
                    rest = padded(x.add(at), count);
                    &rest
                };
                // Rare values are corrected where they are written, so that the others stay in registers until then.
                store(out.add(at), &values::<T, F>(block), count);
                if any_rare::<T, F>(block) {
                    let written = std::slice::from_raw_parts_mut(out.add(at), count);
                    correct::<T, F>(&block[..count], written);
                }
            }
        }
    }
}

/// The loop of a function of one float over elements of half its size.
struct Halves<H, F>(PhantomData<(H, F)>);

impl<H: Half, F: Function<f32>> Loop for Halves<H, F> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [x, ..]: &Places, length: usize, _word: Word) {
        let (out, x) = (out.cast::<H>().as_ptr(), x.cast::<H>().as_ptr());
        for at in (0..length).step_by(BLOCK) {
            let count = (length - at).min(BLOCK);
            ask_ahead(x.wrapping_add(at));
            ask_ahead(out.wrapping_add(at));
            // SAFETY: as in `Blocks`.
            unsafe {
                let narrow = padded(x.add(at), count);
                let mut wide = [0.0; BLOCK];
                H::widen(&narrow, &mut wide);
                let wide = apply::<f32, F>(&wide);
                let mut narrow = narrow;
                H::narrow(&wide, &mut narrow);
                store(out.add(at), &narrow, count);
            }
        }
    }
}

/// A float of 16 bits, converted by the block.
trait Half: Copy + 'static {
    fn widen(from: &[Self], to: &mut [f32]);
    fn narrow(from: &[f32], to: &mut [Self]);
}

macro_rules! half {
    ($($H:ty),*) => {
        $(impl Half for $H {
            fn widen(from: &[Self], to: &mut [f32]) {
                from.convert_to_f32_slice(to);
            }

            fn narrow(from: &[f32], to: &mut [Self]) {
                to.convert_from_f32_slice(from);
            }
        })*
    };
}

half!(f16, bf16);

/// The loop of a function of two floats.
struct Blocks2<T, F>(PhantomData<(T, F)>);

impl<T: Copy + Default + 'static, F: Function2<T>> Loop for Blocks2<T, F> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [x, y, ..]: &Places, length: usize, _word: Word) {
        let (x, y) = (x.cast::<T>().as_ptr(), y.cast::<T>().as_ptr());
        let out = out.cast::<T>().as_ptr();
        for at in (0..length).step_by(BLOCK) {
            let count = (length - at).min(BLOCK);
            ask_ahead(x.wrapping_add(at));
            ask_ahead(y.wrapping_add(at));
            ask_ahead(out.wrapping_add(at));
            let (rest_x, rest_y);
            // SAFETY: as in `Blocks`.
            unsafe {
                let (x, y) = if count == BLOCK {
                    (&*x.add(at).cast::<[T; BLOCK]>(), &*y.add(at).cast::<[T; BLOCK]>())
                } else {
                    (rest_x, rest_y) = (padded(x.add(at), count), padded(y.add(at), count));
                    (&rest_x, &rest_y)
                };
                store(out.add(at), &apply2::<T, F>(x, y), count);
            }
        }
    }
}

#[inline(always)]
fn apply2<T: Copy + Default, F: Function2<T>>(x: &[T; BLOCK], y: &[T; BLOCK]) -> [T; BLOCK] {
    let mut z = [T::default(); BLOCK];
    for at in 0..BLOCK {
        z[at] = F::call(x[at], y[at]);
    }
    let mut any = false;
    for at in 0..BLOCK {
        any |= F::is_rare(x[at], y[at]);
    }
    if any {
        correct2::<T, F>(x, y, &mut z);
    }
    z
}

#[cold]
#[inline(never)]
fn correct2<T: Copy, F: Function2<T>>(x: &[T; BLOCK], y: &[T; BLOCK], z: &mut [T; BLOCK]) {
    for ((&x, &y), z) in x.iter().zip(y).zip(z) {
        if F::is_rare(x, y) {
            *z = F::rare(x, y);
        }
    }
}
