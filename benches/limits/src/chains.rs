//! Independent chains of fused multiply-adds in registers: the arithmetic peak of one core.
//!
//! Twelve chains hide the latency of an FMA on the cores we know (four or five cycles, two units).
//! On x86-64 they run in the widest vectors that the CPU has, AVX-512 or AVX2; elsewhere, and
//! without FMA, the portable loop runs, in whatever vectors the compiler's target has.

use std::hint::black_box;
use std::ops::{Add, Mul};
use std::time::{Duration, Instant};

const CHAINS: usize = 12;

/// Floating-point operations done, and the time they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Operations; a fused multiply-add counts as two.
    pub flops: f64,
    /// Elapsed time.
    pub took: Duration,
}

impl Peak {
    /// Operations per nanosecond, which is 1e9 operations a second.
    pub fn gflops(&self) -> f64 {
        self.flops / self.took.as_nanos().max(1) as f64
    }
}

/// Runs every chain of `f64` for `steps` steps on the calling thread.
#[inline(never)]
pub fn fma_f64(steps: u64) -> Peak {
    #[cfg(target_arch = "x86_64")]
    if let Some(peak) = x86::peak_f64(steps) {
        return peak;
    }
    timed(steps, 4, || portable::<f64, 4>(steps, 0.5, 1.0))
}

/// Runs every chain of `f32` for `steps` steps on the calling thread.
#[inline(never)]
pub fn fma_f32(steps: u64) -> Peak {
    #[cfg(target_arch = "x86_64")]
    if let Some(peak) = x86::peak_f32(steps) {
        return peak;
    }
    timed(steps, 8, || portable::<f32, 8>(steps, 0.5, 1.0))
}

fn timed(steps: u64, lanes: usize, chains: impl FnOnce()) -> Peak {
    let start = Instant::now();
    chains();
    Peak { flops: steps as f64 * (CHAINS * lanes * 2) as f64, took: start.elapsed() }
}

/// A product and a sum a step, which the compiler may not fuse by itself.
fn portable<T, const LANES: usize>(steps: u64, factor: T, term: T)
where
    T: Copy + Mul<Output = T> + Add<Output = T>,
{
    let (factor, term) = black_box((factor, term));
    let mut sums = [[term; LANES]; CHAINS];
    for _ in 0..steps {
        for sum in sums.as_flattened_mut() {
            *sum = *sum * factor + term;
        }
    }
    black_box(&sums);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The chains in the vectors of AVX2 and AVX-512.

    use std::arch::x86_64::*;
    use std::hint::black_box;

    use super::{CHAINS, Peak, timed};

    /// Defines the loop over chains of one vector type.
    macro_rules! chains {
        ($name:ident, $features:literal, $broadcast:ident, $fused:ident) => {
            #[target_feature(enable = $features)]
            fn $name(steps: u64) {
                let factor = $broadcast(black_box(0.5));
                let term = $broadcast(black_box(1.0));
                let mut sums = [term; CHAINS];
                for _ in 0..steps {
                    for sum in &mut sums {
                        *sum = $fused(*sum, factor, term);
                    }
                }
                black_box(&sums);
            }
        };
    }

    chains!(avx2_f64, "avx2,fma", _mm256_set1_pd, _mm256_fmadd_pd);
    chains!(avx2_f32, "avx2,fma", _mm256_set1_ps, _mm256_fmadd_ps);
    chains!(avx512_f64, "avx512f", _mm512_set1_pd, _mm512_fmadd_pd);
    chains!(avx512_f32, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps);

    pub(super) fn peak_f64(steps: u64) -> Option<Peak> {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the function requires AVX-512F, which was found just above.
            return Some(timed(steps, 8, || unsafe { avx512_f64(steps) }));
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the function requires AVX2 and FMA, which were found just above.
            return Some(timed(steps, 4, || unsafe { avx2_f64(steps) }));
        }
        None
    }

    pub(super) fn peak_f32(steps: u64) -> Option<Peak> {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the function requires AVX-512F, which was found just above.
            return Some(timed(steps, 16, || unsafe { avx512_f32(steps) }));
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the function requires AVX2 and FMA, which were found just above.
            return Some(timed(steps, 8, || unsafe { avx2_f32(steps) }));
        }
        None
    }
}
