//! Choices among providers, made at once under a grant of the whole domain.

use std::time::Duration;

use tenferro_scope::Breadth;
use tenferro_tensor::{Error, Result};

use crate::{CpuEngine, error::refused};

const OP: &str = "calibrate";

impl CpuEngine {
    /// Compares the providers on the usual products, if there is a choice among them; says how many classes of products
    /// are settled then.
    ///
    /// # Errors
    /// What the domain refuses; [`Error::BackendSource`] with what a provider fails with.
    pub fn calibrate(&self, budget: Duration) -> Result<usize> {
        let Some(choice) = self.providers().choice() else { return Ok(0) };
        let entry = self.domain().admit(Breadth::Session).map_err(|e| refused(OP, e))?;
        entry
            .run(|guard| choice.calibrate(self.providers(), &guard.workers(), budget))
            .map_err(|e| refused(OP, e))?
            .map_err(|e| Error::BackendSource { op: OP, source: Box::new(e) })
    }
}
