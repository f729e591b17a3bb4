//! Short runs of truth values by the mask.
//!
//! 64 values become the bits of a word, in which one sum says of all runs at once whether they have a bit. For runs that
//! lie one after the other, on CPUs that make such a word at once.

use std::ops::RangeInclusive;

#[cfg(target_arch = "x86_64")]
use crate::kernel::isa::Isa;

/// The lengths of runs: a word has no more runs than it has bytes, and no fewer than two.
pub(super) const LENGTHS: RangeInclusive<usize> = 8..=32;

/// So many runs of `length` bytes, one after the other from `first` on, and where their results go.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "nothing is asked there"))]
pub(super) struct Runs {
    pub(super) first: *const u8,
    pub(super) out: *mut u8,
    pub(super) length: usize,
    pub(super) count: usize,
}

/// Says of runs whether they hold a byte that is not `other`: the result is the other truth value then, and `other` if they
/// do not. Returns how many were asked.
///
/// # Safety
/// The runs must be there, the length one of [`LENGTHS`], and there must be room for the results, where no run lies.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) unsafe fn ask(runs: &Runs, other: u8) -> usize {
    match Isa::current() {
        // SAFETY: the CPU has the instructions; the rest is the caller's.
        Isa::Avx512 => unsafe { ask_at_once(runs, other) },
        Isa::Avx2 | Isa::Baseline => 0,
    }
}

/// # Safety
/// As for [`ask`], and the CPU must have AVX-512 with its byte instructions, and BMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
unsafe fn ask_at_once(close: &Runs, other: u8) -> usize {
    use std::arch::x86_64::{
        _mm512_cmpneq_epi8_mask, _mm512_loadu_si512, _mm512_set1_epi8, _pdep_u64, _pext_u64,
    };
    /// The bit of each byte that says whether it is true.
    const TRUTHS: u64 = 0x0101_0101_0101_0101;
    const VALUES: usize = 64;
    const RESULTS: usize = 8;

    let &Runs { first, out, length, count } = close;
    let runs = VALUES / length;
    // A word reads so many values and writes so many results, of which those beyond its runs are written again.
    let (values, results) = (count * length, count);
    if values < VALUES || results < RESULTS {
        return 0;
    }
    let words = ((values - VALUES) / (runs * length)).min((results - RESULTS) / runs) + 1;
    // The last bit of each run, and those before it.
    let lasts = (1..=runs).fold(0_u64, |lasts, run| lasts | 1 << (run * length - 1));
    let before = u64::MAX >> (VALUES - runs * length) & !lasts;
    let (others, flip) = (_mm512_set1_epi8(other.cast_signed()), u64::from(other) * TRUTHS);
    for word in 0..words {
        // SAFETY: so many words have their values, and room for their results.
        unsafe {
            let values = _mm512_loadu_si512(first.add(word * runs * length).cast());
            let bits = _mm512_cmpneq_epi8_mask(values, others);
            // A bit before the last carries into it, and never beyond.
            let decided = ((bits & before) + before) | bits;
            let results = _pdep_u64(_pext_u64(decided, lasts), TRUTHS) ^ flip;
            out.add(word * runs).cast::<u64>().write_unaligned(results);
        }
    }
    words * runs
}

/// # Safety
/// None is needed: it asks no run.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) unsafe fn ask(_runs: &Runs, _other: u8) -> usize {
    0
}
