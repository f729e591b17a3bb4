//! Providers made of a BLAS and LAPACK in C or Fortran, wherever the functions come from: loaded at run time or linked.
//!
//! A [`ForeignLibrary`] is a table of functions and the control of its threads; a [`ForeignProvider`] is a provider made of
//! one. A product is put into gemm's words, cut into jobs by its shape and the granted width, and each job calls the
//! library with a bound on its threads; a LAPACK routine is one call. Nothing here finds, opens or checks a library. All
//! unsafe code relies on one promise: the functions are what their names say.

mod cut;
mod dot;
mod functions;
mod gate;
mod lapack;
mod plan;
mod scale;
mod threads;

use std::sync::Arc;

use parking_lot::Mutex;
use tenferro_tensor::{Complex32, Complex64, DType};

use self::{
    cut::{Cut, Piece},
    functions::{Element, Integer},
    lapack::Failure,
    plan::Plan,
    scale::{Field, Scale},
};
pub use self::{
    functions::{BlasFunctions, Find, IntegerWidth, MissingFunction, function},
    lapack::{LapackFunctions, WrongArgument},
    threads::{Bounded, CountScope, ThreadControl, ThreadCount, ThreadsIgnored},
};
use crate::{
    Capabilities, Determinism, Error, Fork, Layouts, Outcome, Product, Provider, Reason,
    Reentrancy, ThreadOwnership, Workers,
    lapack::{Request, Routines},
};

/// The functions of a library, by the width of its integers.
pub enum Table {
    /// Integers of 32 bits.
    Lp64(Functions<i32>),
    /// Integers of 64 bits.
    Ilp64(Functions<i64>),
}

/// The functions of a library with integers `I`.
pub struct Functions<I> {
    /// Its CBLAS.
    pub blas: BlasFunctions<I>,
    /// Its LAPACK, if it has one.
    pub lapack: Option<LapackFunctions<I>>,
}

impl Table {
    /// Whether there are LAPACK routines.
    fn has_lapack(&self) -> bool {
        match self {
            Table::Lp64(functions) => functions.lapack.is_some(),
            Table::Ilp64(functions) => functions.lapack.is_some(),
        }
    }
}

/// A library in this process: its functions, and how its threads are bounded.
///
/// One library has one of these, whoever uses it: the control of its threads counts its users.
pub struct ForeignLibrary {
    /// Its functions.
    pub table: Table,
    /// How its threads are bounded.
    pub threads: ThreadControl,
    /// Whether it works in the child of a fork after it was used.
    pub fork: Fork,
    /// Whether one thread's results are the same each time; some depend on where the operands lie in memory.
    pub repeatable: Repeatability,
}

/// Whether a library computes the same bits from the same elements on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repeatability {
    /// Always.
    Always,
    /// If the operands have the same alignment in memory.
    SameAlignment,
}

/// Whose threads compute a product of more than one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Threading {
    /// The caller's: the product is cut, and the library computes each piece on one thread. Any number of callers can do
    /// that at once, and what they were granted is what they use.
    #[default]
    Workers,
    /// The library's own. A caller that uses more than one must be alone in the library, or in the process.
    Library,
}

/// A provider of f64, f32 and complex products by a CBLAS, and of the LAPACK routines that come with it.
///
/// Strides are those that BLAS can say. Conjugated operands are done where gemm reads them transposed, and are refused
/// elsewhere.
pub struct ForeignProvider {
    name: String,
    version: String,
    notes: Vec<String>,
    threading: Threading,
    capabilities: Capabilities,
    library: Arc<ForeignLibrary>,
}

/// The least multiply-add steps for which the library's own threads are asked: 128^3.
const PAYS: usize = 1 << 21;

impl ForeignProvider {
    /// A provider of this name. A library without threads of its own is used as [`Threading::Workers`] says.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        version: impl Into<String>,
        library: Arc<ForeignLibrary>,
        threading: Threading,
    ) -> Self {
        let scope = library.threads.scope();
        let threading = if scope.is_none() { Threading::Workers } else { threading };
        let dtypes = [DType::F64, DType::F32, DType::C32, DType::C64];
        let mut capabilities = Capabilities::sequential(dtypes);
        capabilities.layouts = Layouts::Leading;
        capabilities.conjugation = false;
        capabilities.determinism = match library.repeatable {
            Repeatability::Always => Determinism::SameWidth,
            Repeatability::SameAlignment => Determinism::Unknown,
        };
        capabilities.fork = library.fork;
        if library.table.has_lapack() {
            capabilities.lapack = Routines::all();
        }
        if threading == Threading::Library {
            // That several callers may use several threads each has not been proven for any of these libraries.
            capabilities.reentrancy = Reentrancy::Exclusive;
            capabilities.threads = match scope {
                Some(CountScope::Thread) => ThreadOwnership::PerThread,
                _ => ThreadOwnership::ProcessWide,
            };
        }
        let (name, version) = (name.into(), version.into());
        Self { name, version, notes: Vec::new(), threading, capabilities, library }
    }

    /// Adds something to know about it.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The library that computes.
    #[must_use]
    pub fn library(&self) -> &Arc<ForeignLibrary> {
        &self.library
    }

    /// Whose threads compute.
    #[must_use]
    pub fn threading(&self) -> Threading {
        self.threading
    }

    fn failed(&self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Failed { provider: self.name.clone(), source: Box::new(source) }
    }

    fn by_dtype<I: Integer>(
        &self,
        functions: &BlasFunctions<I>,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<Outcome, Error> {
        match request.dtype() {
            DType::F64 => self.compute::<f64, I>(functions, request, workers),
            DType::F32 => self.compute::<f32, I>(functions, request, workers),
            DType::C64 => self.compute::<Complex64, I>(functions, request, workers),
            DType::C32 => self.compute::<Complex32, I>(functions, request, workers),
            other => Ok(Outcome::Unsupported(Reason::DType(other))),
        }
    }

    fn compute<T: Element<I>, I: Integer>(
        &self,
        functions: &BlasFunctions<I>,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<Outcome, Error> {
        if request.is_empty() {
            return Ok(Outcome::Executed);
        }
        if request.k() == 0 || request.alpha().is_zero() {
            // Not a call: some libraries read the operands all the same, which may hold anything.
            scale::<T>(request);
            return Ok(Outcome::Executed);
        }
        if let Some(dots) = dot::Dots::<T, I>::of(request) {
            let _bounded = self.library.threads.bound(1).map_err(|ignored| self.failed(ignored))?;
            dots.compute(functions);
            return Ok(Outcome::Executed);
        }
        let plan = match Plan::<T, I>::new(request) {
            Ok(plan) => plan,
            Err(reason) => return Ok(Outcome::Unsupported(reason)),
        };
        let (extents, k, batch) = (plan.extents(), request.k(), request.batch());
        let whole = |threads| -> Result<(), ThreadsIgnored> {
            let _bounded = self.library.threads.bound(threads)?;
            plan.compute(functions, &Piece::whole(extents, batch));
            Ok(())
        };
        let pays = request.work() / batch >= PAYS;
        let done = if self.threading == Threading::Library && workers.width() > 1 && pays {
            whole(workers.width())
        } else {
            let width = if self.library.threads.is_shared() { workers.width() } else { 1 };
            match Cut::new(extents, k, batch, width) {
                cut if cut.jobs() == 1 => whole(1),
                cut => self.share_out(functions, &plan, &cut, workers),
            }
        };
        done.map_err(|ignored| self.failed(ignored)).map(|()| Outcome::Executed)
    }

    /// One call of a LAPACK routine, on the library's own threads if it has them and they pay, or else on this one.
    fn routine<I: Integer>(
        &self,
        functions: &LapackFunctions<I>,
        request: &mut Request<'_>,
        workers: &dyn Workers,
    ) -> Result<Outcome, Error> {
        let (routine, work) = (request.routine(), lapack::work(&request.call()));
        let wide = self.threading == Threading::Library && work >= PAYS;
        let threads = if wide { workers.width() } else { 1 };
        let _bounded =
            self.library.threads.bound(threads).map_err(|ignored| self.failed(ignored))?;
        lapack::execute(functions, request).map_err(|failure| match failure {
            Failure::Breakdown(breakdown) => Error::Breakdown { routine, breakdown },
            Failure::WrongArgument(wrong) => self.failed(wrong),
        })
    }

    /// Runs the pieces on the caller's workers, each on one thread of the library.
    fn share_out<T: Element<I>, I: Integer>(
        &self,
        functions: &BlasFunctions<I>,
        plan: &Plan<T, I>,
        cut: &Cut,
        workers: &dyn Workers,
    ) -> Result<(), ThreadsIgnored> {
        let problem = Mutex::new(None);
        workers.run(cut.jobs(), &|job| match self.library.threads.bound(1) {
            Ok(_bounded) => plan.compute(functions, &cut.piece(job)),
            Err(ignored) => *problem.lock() = Some(ignored),
        });
        problem.into_inner().map_or(Ok(()), Err)
    }
}

/// `out = beta * out`: what is left of a product without terms.
fn scale<T: Field>(request: &mut Product<'_>) {
    let (out, beta) = (request.out(), Scale::<T>::new(request.beta()));
    for batch in 0..request.batch() {
        for (row, col) in (0..out.cols).flat_map(|col| (0..out.rows).map(move |row| (row, col))) {
            let place = out.place::<T>([row, col, batch]);
            // SAFETY: the element is inside of the output; a scale reads it only with a beta other than 0.
            let element = beta.of(|| unsafe { place.read() });
            // SAFETY: as above; nobody else reaches the output.
            unsafe { place.write(element) };
        }
    }
}

impl Provider for ForeignProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn product(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        match &self.library.table {
            Table::Lp64(functions) => self.by_dtype(&functions.blas, request, workers),
            Table::Ilp64(functions) => self.by_dtype(&functions.blas, request, workers),
        }
    }

    fn lapack(&self, request: &mut Request<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        match &self.library.table {
            Table::Lp64(Functions { lapack: Some(lapack), .. }) => {
                self.routine(lapack, request, workers)
            }
            Table::Ilp64(Functions { lapack: Some(lapack), .. }) => {
                self.routine(lapack, request, workers)
            }
            _ => Ok(Outcome::Unsupported(Reason::Routine(request.routine()))),
        }
    }
}
