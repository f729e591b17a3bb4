//! Who splits a product over the granted threads: nobody, the engine, or the provider. Never two of them.

use tenferro_provider::{Chain, ThreadOwnership, Workers};

/// How a product uses the granted width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One thread.
    Sequential,
    /// Our workers run the parts, each of them sequential.
    Outer,
    /// The provider runs its own threads, as many as were granted.
    Inner,
}

/// The multiply-add steps from which a second thread pays: about 128 cubed.
const PARALLEL_FROM: usize = 1 << 21;

impl Mode {
    /// The mode for a product of `work` multiply-add steps under the first provider of `providers`.
    #[must_use]
    pub fn of(workers: &dyn Workers, providers: &Chain, work: usize) -> Self {
        if workers.width() == 1 || work < PARALLEL_FROM {
            return Mode::Sequential;
        }
        let threads = providers.iter().next().map(|provider| provider.capabilities().threads);
        match threads {
            None | Some(ThreadOwnership::Caller) => Mode::Outer,
            Some(_) => Mode::Inner,
        }
    }
}

/// Whether a product of `work` multiply-add steps has work for more than one thread.
pub(crate) fn product_pays(work: usize) -> bool {
    work >= PARALLEL_FROM
}
