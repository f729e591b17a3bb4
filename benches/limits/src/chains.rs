//! Independent chains of fused multiply-adds in registers: the arithmetic peak of one core.
//!
//! Twelve chains hide the latency of an FMA on the cores we know (four or five cycles, two units).
//! On x86-64 the widest vectors used are the 256-bit ones of AVX2, so that on a CPU with AVX-512
//! the figure is that of half its width. Without FMA, and elsewhere, the portable loop runs, in
//! whatever vectors the compiler's target has.

use std::hint::black_box;
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

fn timed(steps: u64, lanes: usize, chains: impl FnOnce()) -> Peak {
    let start = Instant::now();
    chains();
    Peak { flops: steps as f64 * (CHAINS * lanes * 2) as f64, took: start.elapsed() }
}

macro_rules! peak {
    ($name:ident, $scalar:ty, $lanes:literal, $portable:ident, $avx2:ident) => {
        /// Runs every chain for `steps` steps on the calling thread.
        #[inline(never)]
        pub fn $name(steps: u64) -> Peak {
            #[cfg(target_arch = "x86_64")]
            if x86::available() {
                // SAFETY: AVX2 and FMA, all that the function requires, were found just above.
                return timed(steps, $lanes, || unsafe { x86::$avx2(steps) });
            }
            timed(steps, $lanes, || $portable(steps))
        }

        fn $portable(steps: u64) {
            let (factor, term): ($scalar, $scalar) = black_box((0.5, 1.0));
            let mut sums = [[black_box(1.0); $lanes]; CHAINS];
            for _ in 0..steps {
                for sum in sums.as_flattened_mut() {
                    *sum = *sum * factor + term;
                }
            }
            black_box(&sums);
        }
    };
}

peak!(fma_f64, f64, 4, portable_f64, avx2_f64);
peak!(fma_f32, f32, 8, portable_f32, avx2_f32);

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The chains in AVX2 vectors.

    use std::arch::x86_64::{_mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd, _mm256_set1_ps};
    use std::hint::black_box;

    use super::CHAINS;

    pub(super) fn available() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2_f64(steps: u64) {
        let factor = _mm256_set1_pd(black_box(0.5));
        let term = _mm256_set1_pd(black_box(1.0));
        let mut sums = [term; CHAINS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm256_fmadd_pd(*sum, factor, term);
            }
        }
        black_box(&sums);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2_f32(steps: u64) {
        let factor = _mm256_set1_ps(black_box(0.5));
        let term = _mm256_set1_ps(black_box(1.0));
        let mut sums = [term; CHAINS];
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, term);
            }
        }
        black_box(&sums);
    }
}
