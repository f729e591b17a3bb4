//! The functions of elementwise rows as loops whose types are erased.
//!
//! Each function of `ops::scalar` becomes one loop over elements that lie next to each other, and a [`Kernel`] is a
//! pointer to it: strides, broadcasting and threads are the business of `elementwise.rs` and `stream.rs`, which are
//! compiled once and not for every function and dtype.

use std::{marker::PhantomData, ptr::NonNull};

use tenferro_ops::scalar::{
    Binary, Convert, ElementwiseVisitor, Ternary, Unary, visit_analytic, visit_elementwise,
};
use tenferro_tensor::{Analytic, DType, Elementwise, Numerical, Scalar, Validation, dispatch};

use super::{
    isa::{Loop, Places, Run, Word, compiled},
    math,
};

/// What a function of the C library costs, in bytes moved in the same time.
pub(super) const ANALYTIC_COST: usize = 64;
/// The same of a vectorised one.
const VECTOR_COST: usize = 8;

/// How a row computes its elements.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    pub(super) run: Run,
    pub(super) word: Word,
    /// Asked before anything is computed.
    pub(super) check: Option<Check>,
    /// What an element costs beside the bytes of its operands, in bytes moved in the same time.
    pub(super) extra_cost: usize,
}

/// Finds elements for which a function has no value.
#[derive(Clone, Copy)]
pub(super) struct Check {
    pub(super) failure: Numerical,
    pub(super) finds: unsafe fn(&Places, usize, Word) -> bool,
}

impl Kernel {
    /// A kernel that computes nothing, to be filled in.
    pub(super) fn empty() -> Self {
        Self { run: CopyLoop::<0>::baseline, word: Word::EMPTY, check: None, extra_cost: 0 }
    }

    /// Becomes the kernel of an elementwise row for operands of `dtype`; for `select` that of its branches.
    ///
    /// Filled in and not returned: a result that is wrapped and moved costs a small operation as much as its elements.
    #[inline]
    pub(super) fn elementwise(
        &mut self,
        row: &Elementwise,
        dtype: DType,
    ) -> Result<(), Validation> {
        visit_elementwise(row, dtype, Erase::<true>(self))
    }

    /// Becomes the kernel of an analytic row.
    #[inline]
    pub(super) fn analytic(&mut self, row: &Analytic, dtype: DType) -> Result<(), Validation> {
        if let Some(run) = math::vectorised(row, dtype) {
            (self.run, self.extra_cost) = (run, VECTOR_COST);
            return Ok(());
        }
        self.extra_cost = ANALYTIC_COST;
        visit_analytic(row, dtype, Erase::<false>(self))
    }
}

/// Fills in the kernel of a function; `WIDE` says that wider vectors than the target's may pay.
struct Erase<'k, const WIDE: bool>(&'k mut Kernel);

impl<const WIDE: bool> Erase<'_, WIDE> {
    #[inline]
    fn kernel<L: Loop>(self, wide: bool, word: Word) {
        self.0.run = if WIDE && wide { compiled::<L>() } else { L::baseline };
        self.0.word = word;
    }
}

/// Whether elements of a dtype are worth a loop for each instruction set: those that the others have instructions for,
/// and in common use. The rest would double what there is to compile.
const fn pays(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::F32 | DType::I64 | DType::I32 | DType::Bool)
}

impl<const WIDE: bool> ElementwiseVisitor for Erase<'_, WIDE> {
    type Output = ();

    #[inline]
    fn unary<T: Scalar, F: Unary<T>>(self, function: F) {
        let wide = const { pays(T::DTYPE) && pays(F::Out::DTYPE) };
        self.kernel::<UnaryLoop<T, F>>(wide, Word::of(function));
    }

    #[inline]
    fn binary<T: Scalar, F: Binary<T>>(self, function: F) {
        let wide = const { pays(T::DTYPE) && pays(F::Out::DTYPE) };
        if let Some(failure) = F::FAILURE {
            self.0.check = Some(Check { failure, finds: finds::<T, F> });
        }
        self.kernel::<BinaryLoop<T, F>>(wide, Word::of(function));
    }

    #[inline]
    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(self, function: F) {
        let wide = const { pays(B::DTYPE) };
        self.kernel::<TernaryLoop<A, B, C, F>>(wide, Word::of(function));
    }

    fn convert(self, from: DType, to: DType) {
        dispatch!(to, any U => {
            dispatch!(from, any T => self.unary::<T, _>(Convert::<U>::new()))
        })
    }

    /// The bytes as they are.
    fn bitcast(self, from: DType, _to: DType) {
        self.0.run = match from.size() {
            1 => CopyLoop::<1>::baseline,
            2 => CopyLoop::<2>::baseline,
            4 => CopyLoop::<4>::baseline,
            8 => CopyLoop::<8>::baseline,
            _ => CopyLoop::<16>::baseline,
        };
    }
}

/// Copies elements of `SIZE` bytes.
struct CopyLoop<const SIZE: usize>;

impl<const SIZE: usize> Loop for CopyLoop<SIZE> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [x, ..]: &Places, length: usize, _word: Word) {
        // SAFETY: the caller says that there are so many elements, and that input and output do not overlap.
        unsafe { out.copy_from_nonoverlapping(*x, length * SIZE) };
    }
}

struct UnaryLoop<T, F>(PhantomData<(T, F)>);

impl<T: Scalar, F: Unary<T>> Loop for UnaryLoop<T, F> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [x, ..]: &Places, length: usize, word: Word) {
        let (out, x) = (out.cast::<F::Out>(), x.cast::<T>());
        // SAFETY: the word is the function that the loop was made with.
        let function: F = unsafe { word.get() };
        for at in 0..length {
            // SAFETY: the caller says that there are so many elements.
            unsafe { out.add(at).write(function.call(x.add(at).read())) };
        }
    }
}

struct BinaryLoop<T, F>(PhantomData<(T, F)>);

impl<T: Scalar, F: Binary<T>> Loop for BinaryLoop<T, F> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [lhs, rhs, ..]: &Places, length: usize, word: Word) {
        let (out, lhs, rhs) = (out.cast::<F::Out>(), lhs.cast::<T>(), rhs.cast::<T>());
        // SAFETY: the word is the function that the loop was made with.
        let function: F = unsafe { word.get() };
        for at in 0..length {
            // SAFETY: the caller says that there are so many elements.
            unsafe {
                out.add(at).write(function.call(lhs.add(at).read(), rhs.add(at).read()));
            }
        }
    }
}

struct TernaryLoop<A, B, C, F>(PhantomData<(A, B, C, F)>);

impl<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>> Loop for TernaryLoop<A, B, C, F> {
    #[inline(always)]
    unsafe fn run(out: NonNull<u8>, [a, b, c]: &Places, length: usize, word: Word) {
        let (a, b, c) = (a.cast::<A>(), b.cast::<B>(), c.cast::<C>());
        let out = out.cast::<F::Out>();
        // SAFETY: the word is the function that the loop was made with.
        let function: F = unsafe { word.get() };
        for at in 0..length {
            // SAFETY: the caller says that there are so many elements.
            unsafe {
                let value = function.call(a.add(at).read(), b.add(at).read(), c.add(at).read());
                out.add(at).write(value);
            }
        }
    }
}

/// Whether the function has no value for some pair.
///
/// # Safety
/// There must be `length` initialised elements of `T` at both places.
unsafe fn finds<T: Scalar, F: Binary<T>>(
    [lhs, rhs, ..]: &Places,
    length: usize,
    word: Word,
) -> bool {
    let (lhs, rhs) = (lhs.cast::<T>(), rhs.cast::<T>());
    // SAFETY: the word is the function that the check was made with.
    let function: F = unsafe { word.get() };
    // All of them are looked at, so that the loop has one way.
    (0..length).fold(false, |found, at| {
        // SAFETY: the caller says that there are so many elements.
        found | unsafe { function.fails(lhs.add(at).read(), rhs.add(at).read()) }
    })
}
