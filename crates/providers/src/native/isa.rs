//! Which vector instructions this machine has, found once, and how a kernel is compiled for each.
//!
//! A kernel is plain generic Rust that is inlined into one function for each instruction set.

/// An instruction set for which kernels are compiled.
pub(super) trait Isa {
    /// Whether a multiplication and an addition are one instruction.
    const FUSED: bool;
    /// Bytes of a vector.
    const VECTOR: usize;
}

/// What every machine of this architecture has.
pub(super) struct Baseline;

impl Isa for Baseline {
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
    const VECTOR: usize = 16;
}

/// AVX2 with FMA.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    const FUSED: bool = true;
    const VECTOR: usize = 32;
}

/// AVX-512 with the extensions of server CPUs since Skylake.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    const FUSED: bool = true;
    const VECTOR: usize = 64;
}

/// Work that is compiled for each instruction set.
pub(super) trait Kernel {
    /// Does the work. Must be `#[inline(always)]`, with everything hot that it calls.
    fn run<I: Isa>(self);

    /// Does the work on a machine with nothing but the baseline.
    fn baseline(self);
}

/// Runs a kernel with the best instructions that this machine has.
#[inline]
pub(super) fn widest(kernel: impl Kernel) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;

        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            // SAFETY: the features were just found.
            return unsafe { run_avx512(kernel) };
        }
    }
    narrow(kernel);
}

/// Runs a kernel with vectors of at most 32 bytes: for kernels that are not worth a third copy.
#[inline]
pub(super) fn narrow(kernel: impl Kernel) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;

        if has!("avx2") && has!("fma") {
            // SAFETY: the features were just found.
            return unsafe { run_avx2(kernel) };
        }
    }
    kernel.baseline();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(kernel: impl Kernel) {
    kernel.run::<Avx512>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(kernel: impl Kernel) {
    kernel.run::<Avx2>();
}
