//! Providers in the order in which they are asked.
//!
//! A chain is what a backend keeps after choosing. It holds no request and no state; the first provider that does not
//! say "unsupported" answers for good.

use std::{fmt, sync::Arc};

use crate::{Error, Outcome, Product, Provider, Workers};

/// Providers in order of preference; cheap to clone.
#[derive(Clone)]
pub struct Chain(Arc<[Arc<dyn Provider>]>);

impl Chain {
    /// The chain of these providers, most preferred first.
    #[must_use]
    pub fn new(providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        Self(providers.into_iter().collect())
    }

    /// The most preferred provider; `None` for an empty chain.
    #[must_use]
    pub fn first(&self) -> Option<&dyn Provider> {
        self.0.first().map(|provider| &**provider)
    }

    /// The providers, most preferred first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &dyn Provider> {
        self.0.iter().map(|provider| &**provider)
    }

    /// Asks one provider after the other until one does not answer "unsupported", and says which one executed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if none does the product: the output is untouched. Any other error of a provider is
    /// final: the next one is not asked.
    pub fn product(
        &self,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<&dyn Provider, Error> {
        // Allocates nothing unless a provider refuses.
        let mut refusals = Vec::new();
        for provider in self.iter() {
            match provider.product(request, workers)? {
                Outcome::Executed => return Ok(provider),
                Outcome::Unsupported(reason) => refusals.push((provider.name().to_owned(), reason)),
            }
        }
        Err(Error::Unsupported { refusals })
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(Provider::name)).finish()
    }
}
