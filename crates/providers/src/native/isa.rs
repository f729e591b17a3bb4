//! Which vector instructions this machine has, and how a kernel is compiled for each.
//!
//! A kernel is plain generic Rust whose loops the compiler turns into vectors; it is inlined into one function for each
//! instruction set, of which the best that the machine has is called.

/// Work that is compiled for each instruction set.
pub(super) trait Kernel {
    /// Does the work. Must be `#[inline(always)]`, with everything hot that it calls.
    fn run(self);
}

/// Runs a kernel with the best instructions that this machine has.
pub(super) fn run(kernel: impl Kernel) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;

        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            // SAFETY: the features were just found.
            return unsafe { run_avx512(kernel) };
        }
        if has!("avx2") && has!("f16c") {
            // SAFETY: the features were just found.
            return unsafe { run_avx2(kernel) };
        }
    }
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(kernel: impl Kernel) {
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn run_avx2(kernel: impl Kernel) {
    kernel.run();
}
