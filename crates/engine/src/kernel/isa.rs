//! Which instruction set the loops run on, found when the first of them asks.
//!
//! A loop is written once, over plain elements, and compiled for the baseline and for what newer CPUs have; which of
//! these runs has no influence on what it computes, because every element is computed by the same operations. Those
//! that need fused multiply-adds ask for them.

#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;
use std::{
    mem::MaybeUninit,
    ptr::NonNull,
    sync::atomic::{AtomicU8, Ordering},
};

use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};

/// The first elements of a loop's inputs; those that it does not have are dangling.
pub(super) type Places = [NonNull<u8>; 3];

/// A compiled loop over elements that lie next to each other: output, inputs, how many, and what it was made with.
pub(super) type Run = unsafe fn(NonNull<u8>, &Places, usize, Word);

/// What a loop carries along: a function object, which is empty or a pointer.
#[derive(Clone, Copy)]
pub(super) struct Word(MaybeUninit<usize>);

impl Word {
    /// Nothing.
    pub(super) const EMPTY: Word = Word(MaybeUninit::uninit());

    #[inline]
    pub(super) fn of<F: Copy>(value: F) -> Self {
        const { assert!(size_of::<F>() <= size_of::<usize>() && align_of::<F>() <= align_of::<usize>()) };
        let mut word = MaybeUninit::<usize>::uninit();
        // SAFETY: the value fits, as was just asserted.
        unsafe { word.as_mut_ptr().cast::<F>().write(value) };
        Self(word)
    }

    /// # Safety
    /// The word must have been made of an `F`.
    #[inline(always)]
    pub(super) unsafe fn get<F: Copy>(self) -> F {
        // SAFETY: the caller says that an `F` is there.
        unsafe { self.0.as_ptr().cast::<F>().read() }
    }
}

/// A loop over elements that lie next to each other.
pub(super) trait Loop: Sized + 'static {
    /// Computes `length` elements of the output. Inlined into a function for each instruction set.
    ///
    /// # Safety
    /// The output must be valid for writes of `length` elements, the inputs be as many initialised elements of the
    /// loop's types, and no input may overlap the output; the word must be what the loop was made with.
    unsafe fn run(out: NonNull<u8>, inputs: &Places, length: usize, word: Word);

    // What follows is provided here, and not by functions beside the trait, because the compiler puts it with the type of
    // the loop then: all loops in one place would be compiled by one thread while the others have nothing to do.

    /// The loop for every CPU of the target.
    ///
    /// # Safety
    /// As for [`Loop::run`].
    unsafe fn baseline(out: NonNull<u8>, inputs: &Places, length: usize, word: Word) {
        // SAFETY: the caller keeps the contract.
        unsafe { Self::run(out, inputs, length, word) }
    }

    /// # Safety
    /// As for [`Loop::run`], and the CPU must have AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx2(out: NonNull<u8>, inputs: &Places, length: usize, word: Word) {
        // SAFETY: the caller says that the CPU has what the token stands for.
        let token = unsafe { V3::new_unchecked() };
        token.vectorize(Call::<Self> { out, inputs, length, word, kind: PhantomData });
    }

    /// # Safety
    /// As for [`Loop::run`], and the CPU must have AVX-512.
    #[cfg(target_arch = "x86_64")]
    unsafe fn avx512(out: NonNull<u8>, inputs: &Places, length: usize, word: Word) {
        // SAFETY: the caller says that the CPU has what the token stands for.
        let token = unsafe { V4::new_unchecked() };
        token.vectorize(Call::<Self> { out, inputs, length, word, kind: PhantomData });
    }
}

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Isa {
    /// What the target always has: SSE2, or NEON.
    Baseline = 1,
    /// AVX2 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with its byte, word and double word instructions.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The best that this CPU has.
    #[inline]
    pub(super) fn current() -> Self {
        static FOUND: AtomicU8 = AtomicU8::new(0);
        match FOUND.load(Ordering::Relaxed) {
            #[cfg(target_arch = "x86_64")]
            3 => Isa::Avx512,
            #[cfg(target_arch = "x86_64")]
            2 => Isa::Avx2,
            1 => Isa::Baseline,
            _ => {
                let isa = Self::detect();
                FOUND.store(isa as u8, Ordering::Relaxed);
                isa
            }
        }
    }

    #[cold]
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if V4::is_available() {
            return Isa::Avx512;
        } else if V3::is_available() {
            return Isa::Avx2;
        }
        Isa::Baseline
    }

    /// Whether a fused multiply-add is one instruction.
    pub(super) fn has_fma(self) -> bool {
        self != Isa::Baseline || BASELINE_HAS_FMA
    }
}

/// Whether every CPU of the target has a fused multiply-add. What needs one is compiled for the baseline only then.
const BASELINE_HAS_FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// The loop for this CPU.
#[inline]
pub(super) fn compiled<L: Loop>() -> Run {
    match Isa::current() {
        Isa::Baseline => L::baseline,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => L::avx2,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => L::avx512,
    }
}

/// The loop for this CPU, which needs fused multiply-adds; `None` if it has none.
#[inline]
pub(super) fn compiled_with_fma<L: Loop>() -> Option<Run> {
    match Isa::current() {
        Isa::Baseline => {
            if const { BASELINE_HAS_FMA } {
                Some(L::baseline)
            } else {
                None
            }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => Some(L::avx2),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => Some(L::avx512),
    }
}

/// Does some work in the widest registers that this CPU has; `call` is inlined into a function for each kind.
#[inline]
pub(super) fn in_widest<W: NullaryFnOnce>(work: W) -> W::Output {
    match Isa::current() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU was found to have what the token stands for.
        Isa::Avx512 => unsafe { V4::new_unchecked() }.vectorize(work),
        _ => in_wide(work),
    }
}

/// The same for work that needs fused multiply-adds, on a CPU that has them.
#[inline]
pub(super) fn in_widest_with_fma<W: NullaryFnOnce>(work: W) -> W::Output {
    match Isa::current() {
        Isa::Baseline => {
            if const { BASELINE_HAS_FMA } {
                work.call()
            } else {
                unreachable!("invariant: the CPU was asked for fused multiply-adds")
            }
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU was found to have what the token stands for.
        Isa::Avx2 => unsafe { V3::new_unchecked() }.vectorize(work),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx512 => unsafe { V4::new_unchecked() }.vectorize(work),
    }
}

/// As [`in_widest`], but for registers that few elements fill: every kind more is time to build.
#[inline]
pub(super) fn in_wide<W: NullaryFnOnce>(work: W) -> W::Output {
    match Isa::current() {
        Isa::Baseline => work.call(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU was found to have what the token stands for; whatever has AVX-512 has AVX2 too.
        Isa::Avx2 | Isa::Avx512 => unsafe { V3::new_unchecked() }.vectorize(work),
    }
}

/// One call of a loop, to be inlined into a function that may use an instruction set.
#[cfg(target_arch = "x86_64")]
struct Call<'a, L> {
    out: NonNull<u8>,
    inputs: &'a Places,
    length: usize,
    word: Word,
    kind: PhantomData<fn() -> L>,
}

#[cfg(target_arch = "x86_64")]
impl<L: Loop> NullaryFnOnce for Call<'_, L> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // SAFETY: whoever made the call keeps the contract.
        unsafe { L::run(self.out, self.inputs, self.length, self.word) }
    }
}
