//! Whether a provider keeps its contract: products with answers computed another way, and LAPACK routines with
//! residuals.
//!
//! The suite is a library function, so that every provider's own tests, a registration at run time and a command of
//! the product can all run it. It knows nothing about providers but the contract: what capabilities claim must be
//! executed and right; what they do not claim must be right too, or "unsupported" with the output untouched. Elements
//! between and around the operands are guards: writing one, or letting one into a result, is a defect.

mod case;
mod check;
mod composed;
mod field;
mod lapack;
mod number;
mod placement;
mod threads;

use tenferro_tensor::{DType, dispatch};

pub use case::{Case, Extents};
pub use check::Defect;
pub use composed::composed;
pub use placement::Placement;
pub use threads::Threads;

use crate::{Determinism, Error, Provider};

/// A defect that the suite found, and the product that shows it.
#[derive(Debug, thiserror::Error)]
#[error("provider `{provider}` breaks its contract: {case}: {defect}")]
pub struct Failure {
    /// The provider's name.
    pub provider: String,
    /// The product, in words.
    pub case: String,
    /// What is wrong about it.
    pub defect: Box<Defect>,
}

/// What a suite without failure did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Products that were executed and found right.
    pub executed: usize,
    /// Products that were refused, as they may be, with the output untouched.
    pub unsupported: usize,
    /// Products whose results were compared across or within widths.
    pub swept: usize,
    /// LAPACK routines whose results were found right, once a dtype and shape.
    pub solved: usize,
    /// LAPACK routines that were refused, as they may be, with nothing written.
    pub unsupported_routines: usize,
}

/// A choice of products to try.
///
/// ```
/// # use tenferro_provider::{Capabilities, Error, Outcome, Product, Provider, Reason, Workers};
/// use tenferro_provider::conformance::Suite;
/// # struct Shy(Capabilities);
/// # impl Provider for Shy {
/// #     fn name(&self) -> &str { "shy" }
/// #     fn version(&self) -> &str { "1" }
/// #     fn capabilities(&self) -> &Capabilities { &self.0 }
/// #     fn product(&self, product: &mut Product<'_>, _: &dyn Workers) -> Result<Outcome, Error> {
/// #         Ok(Outcome::Unsupported(Reason::DType(product.dtype())))
/// #     }
/// # }
/// # let provider = Shy(Capabilities::sequential([]));
/// // `provider` claims no dtype and refuses all of them: it keeps its contract.
/// let report = Suite::quick().run(&provider)?;
/// assert_eq!(report.executed, 0);
/// # Ok::<(), tenferro_provider::conformance::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Suite {
    extents: Vec<Extents>,
    sweep: Vec<Extents>,
    thoroughness: Thoroughness,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thoroughness {
    /// One pair of layouts for each shape.
    Quick,
    /// Every pair of layouts, for some shapes.
    Full,
}

impl Suite {
    /// The products that have gone wrong somewhere, and little else: a self-test in milliseconds.
    #[must_use]
    pub fn quick() -> Self {
        Self {
            extents: case::tiny(),
            sweep: vec![Extents::new(33, 40, 17, 2)],
            thoroughness: Thoroughness::Quick,
        }
    }

    /// Everything: all pairs of layouts, shapes around the usual block sizes, and a sweep of widths.
    #[must_use]
    pub fn full() -> Self {
        Self {
            extents: case::tiny().into_iter().chain(case::thresholds()).collect(),
            sweep: case::wide(),
            thoroughness: Thoroughness::Full,
        }
    }

    /// The suite with more shapes, such as those around a provider's own block sizes. They are swept as well.
    #[must_use]
    pub fn with_extents(mut self, extents: impl IntoIterator<Item = Extents>) -> Self {
        for extents in extents {
            self.extents.push(extents);
            self.sweep.push(extents);
        }
        self
    }

    /// Tries the products, and every LAPACK routine, on `provider`.
    ///
    /// # Errors
    /// The first [`Failure`] found.
    pub fn run(&self, provider: &dyn Provider) -> Result<Report, Failure> {
        let mut report = Report::default();
        for &dtype in DType::ALL {
            dispatch!(dtype, number T => self.run_for::<T>(provider, &mut report)?, else ());
        }
        lapack::run(provider, &mut report)?;
        Ok(report)
    }

    fn run_for<T: number::Sample>(
        &self,
        provider: &dyn Provider,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let fail = |case: String, defect| {
            let (provider, defect) = (provider.name().to_owned(), Box::new(defect));
            Err(Failure { provider, case, defect })
        };
        let claimed = provider.capabilities().dtypes.contains(T::DTYPE);
        let cases = match self.thoroughness {
            _ if !claimed => case::unclaimed::<T>(),
            Thoroughness::Quick => case::rotated::<T>(&self.extents),
            Thoroughness::Full => {
                let mut cases = case::crossed::<T>();
                cases.extend(case::rotated::<T>(&self.extents));
                cases
            }
        };
        for case in &cases {
            match check::case::<T>(provider, case) {
                Ok(check::Verdict::Executed) => report.executed += 1,
                Ok(check::Verdict::Unsupported) => report.unsupported += 1,
                Err(defect) => return fail(case.to_string(), defect),
            }
        }
        if !claimed {
            return Ok(());
        }
        for (name, verdict) in field::cases::<T>(provider) {
            match verdict {
                Ok(()) => report.executed += 1,
                Err(defect) => return fail(format!("{name} in {}", T::DTYPE), defect),
            }
        }
        if provider.capabilities().determinism == Determinism::Unknown {
            return Ok(());
        }
        for &extents in &self.sweep {
            let case = Case::plain::<T>(extents);
            match check::widths::<T>(provider, &case) {
                Ok(()) => report.swept += 1,
                Err(defect) => return fail(case.to_string(), defect),
            }
        }
        Ok(())
    }
}

/// Tries a provider before it is registered: tiny products, and some where libraries change their kernels.
///
/// Meant for code that is found at run time. It takes a fraction of a second and runs on one thread, but for a sweep of
/// a few small products.
///
/// # Errors
/// [`Error::Refused`], which names the provider, with the first [`Failure`] found.
pub fn self_test(provider: &dyn Provider) -> Result<Report, Error> {
    Suite::quick().with_extents(case::kernel_changes()).run(provider).map_err(|failure| {
        Error::Refused {
            name: provider.name().to_owned(),
            version: provider.version().to_owned(),
            failure: Box::new(failure),
        }
    })
}

/// Runs the full suite on a provider.
///
/// # Errors
/// The first [`Failure`] found.
pub fn run(provider: &dyn Provider) -> Result<Report, Failure> {
    Suite::full().run(provider)
}
