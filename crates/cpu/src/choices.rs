//! Choices among providers as a backend knows them: shown, explained, made at once, forgotten.
//!
//! Only a backend that was built with `Preference::Auto` has any. The measuring itself is `tenferro_provider`'s.

use std::{path::PathBuf, time::Duration};

use tenferro_provider::choice::{Choice, Entry, Explanation};
use tenferro_tensor::Error;

use crate::{CpuBackend, Result};

impl CpuBackend {
    /// Which provider is chosen for each class of products that was met; empty without `Preference::Auto`.
    #[must_use]
    pub fn choices(&self) -> Vec<Entry> {
        self.choice().map(Choice::table).unwrap_or_default()
    }

    /// Explains who computes a product such as `dgemm 64 64 64`, and why, on one thread or on all of the backend's.
    ///
    /// `None` for a text that names no product, and without `Preference::Auto`.
    #[must_use]
    pub fn explain_choice(&self, product: &str, threads: usize) -> Option<Explanation> {
        self.choice()?.explain(product, threads.min(self.threads()))
    }

    /// Settles the usual classes of products now, instead of by the calls to come, in at most `budget`; says how many
    /// are settled then. 15 seconds are plenty.
    ///
    /// It holds the backend's CPUs meanwhile. Without `Preference::Auto` there is nothing to settle.
    ///
    /// # Errors
    /// What the domain refuses, and what a provider fails with.
    pub fn calibrate(&self, budget: Duration) -> Result<usize> {
        self.engine().calibrate(budget)
    }

    /// The file that keeps the choices between processes, if one does.
    #[must_use]
    pub fn choices_file(&self) -> Option<PathBuf> {
        self.choice().and_then(Choice::file)
    }

    /// Forgets every choice, on disk too.
    ///
    /// # Errors
    /// [`Error::BackendSource`] if the file cannot be removed.
    pub fn reset_choices(&self) -> Result<()> {
        let reset = self.choice().map_or(Ok(()), Choice::reset);
        reset.map_err(|error| Error::BackendSource { op: "reset_choices", source: Box::new(error) })
    }

    fn choice(&self) -> Option<&Choice> {
        self.engine().providers().choice()
    }
}
