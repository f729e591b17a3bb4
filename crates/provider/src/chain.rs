//! Providers in the order in which they are asked.
//!
//! A chain is what a backend keeps after choosing. It holds no request and no state; the first provider that does not
//! say "unsupported" answers for good. Its invariant: a provider that must be alone to use several threads gets one,
//! unless the caller has said that it holds the provider.

use std::{fmt, sync::Arc};

use crate::{
    ClaimUse, Error, Exclusion, Outcome, Product, Provider, Reason, Sequential, Workers,
    choice::{Choice, Store},
    lapack,
};

/// Who was asked, in order, and what each said.
type Refusals = Vec<(String, Reason)>;

/// A provider of a chain.
struct Link {
    provider: Arc<dyn Provider>,
    /// Whether it must be alone to use several threads.
    alone: bool,
}

/// Providers in order of preference; cheap to clone.
#[derive(Clone)]
pub struct Chain {
    links: Arc<[Link]>,
    /// How many of the first providers the caller holds against others.
    held: usize,
    /// Who is asked first for a product, if that depends on it.
    choice: Option<Arc<Choice>>,
}

impl Chain {
    /// The chain of these providers, most preferred first.
    #[must_use]
    pub fn new(providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        let link = |provider: Arc<dyn Provider>| {
            let alone = provider.capabilities().exclusion(2) != Exclusion::Free;
            Link { provider, alone }
        };
        Self { links: providers.into_iter().map(link).collect(), held: 0, choice: None }
    }

    /// The same chain for a caller whose permits for several threads keep others out of its first provider.
    #[must_use]
    pub fn holding_first(self) -> Self {
        Self { held: 1, ..self }
    }

    /// The same providers, of which the fastest for each product is asked first, as `store` remembers or calls tell.
    ///
    /// Several threads of a provider that must be alone are not used: nobody is kept out of it.
    #[must_use]
    pub fn choosing(self, store: Option<Store>) -> Self {
        let choice = Arc::new(Choice::new(self.iter(), store));
        Self { choice: Some(choice), held: 0, ..self }
    }

    /// How the fastest provider is chosen; `None` if the order alone decides.
    #[must_use]
    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_deref()
    }

    /// The most preferred provider; `None` for an empty chain.
    #[must_use]
    pub fn first(&self) -> Option<&dyn Provider> {
        self.links.first().map(|link| &*link.provider)
    }

    /// The providers, most preferred first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &dyn Provider> {
        self.links.iter().map(|link| &*link.provider)
    }

    /// Asks one provider after the other until one does not answer "unsupported", and says which one executed.
    ///
    /// One that must be alone to use several threads, and is not held by this caller alone, computes on the calling
    /// thread. One that is held by somebody else for whom the caller must not wait is passed over.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if none does the product: the output is untouched. Any other error of a provider is
    /// final: the next one is not asked.
    pub fn product(
        &self,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<&dyn Provider, Error> {
        match &self.choice {
            Some(choice) => choice.product(self, request, workers),
            None => self.product_from(0, request, workers),
        }
    }

    /// Asks for a LAPACK routine as [`Chain::product`] does for a product.
    ///
    /// # Errors
    /// [`Error::NoRoutine`] if nobody has the routine: nothing was written. Any other error of a provider is final.
    pub fn lapack(
        &self,
        request: &mut lapack::Request<'_>,
        workers: &dyn Workers,
    ) -> Result<&dyn Provider, Error> {
        let (routine, dtype) = (request.routine(), request.dtype());
        self.ask(0, workers, |provider, workers| provider.lapack(request, workers))?
            .map_err(|refusals| Error::NoRoutine { routine, dtype, refusals })
    }

    /// As [`Chain::product`] without a choice, but one provider is asked before all others.
    #[inline]
    pub(super) fn product_from(
        &self,
        first: usize,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<&dyn Provider, Error> {
        self.ask(first, workers, |provider, workers| provider.product(request, workers))?
            .map_err(|refusals| Error::Unsupported { refusals })
    }

    /// Asks one provider and no other.
    pub(super) fn product_at(
        &self,
        place: usize,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<(&dyn Provider, Outcome), Error> {
        let call =
            |provider: &dyn Provider, workers: &dyn Workers| provider.product(request, workers);
        let link = &self.links[place];
        Ok((&*link.provider, self.ask_at(place, link, workers, call)?))
    }

    /// Who executed, or what everybody said who refused; `first` is the place of the one asked first.
    #[inline]
    fn ask(
        &self,
        first: usize,
        workers: &dyn Workers,
        mut call: impl FnMut(&dyn Provider, &dyn Workers) -> Result<Outcome, Error>,
    ) -> Result<Result<&dyn Provider, Refusals>, Error> {
        let Some(link) = self.links.get(first) else { return Ok(Err(Vec::new())) };
        match self.ask_at(first, link, workers, &mut call)? {
            Outcome::Executed => Ok(Ok(&*link.provider)),
            Outcome::Unsupported(reason) => {
                let refusals = vec![(link.provider.name().to_owned(), reason)];
                self.ask_others(first, refusals, workers, call)
            }
        }
    }

    /// As [`Chain::ask`], for all but the one who was asked first and refused.
    #[cold]
    fn ask_others(
        &self,
        first: usize,
        mut refusals: Refusals,
        workers: &dyn Workers,
        mut call: impl FnMut(&dyn Provider, &dyn Workers) -> Result<Outcome, Error>,
    ) -> Result<Result<&dyn Provider, Refusals>, Error> {
        for (place, link) in self.links.iter().enumerate().filter(|&(place, _)| place != first) {
            match self.ask_at(place, link, workers, &mut call)? {
                Outcome::Executed => return Ok(Ok(&*link.provider)),
                Outcome::Unsupported(reason) => {
                    refusals.push((link.provider.name().to_owned(), reason));
                }
            }
        }
        Ok(Err(refusals))
    }

    /// Asks one provider, the one at `place`, on as many threads as it may use here.
    #[inline]
    fn ask_at(
        &self,
        place: usize,
        link: &Link,
        workers: &dyn Workers,
        mut call: impl FnMut(&dyn Provider, &dyn Workers) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        let held = place < self.held;
        if held && workers.claim_use() == ClaimUse::Nothing {
            return Ok(Outcome::Unsupported(Reason::Held));
        }
        let alone = link.alone && workers.width() > 1;
        let whole = held && workers.claim_use() == ClaimUse::Whole;
        call(&*link.provider, if alone && !whole { &Sequential } else { workers })
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(Provider::name)).finish()
    }
}
