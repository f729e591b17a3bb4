//! Providers found at run time: MKL, OpenBLAS, BLIS, and any CBLAS by its path.
//!
//! [`Library`] says which one and how it is used; [`Library::load`] finds it, opens it so that it answers for itself,
//! learns how wide its integers are and how its threads are bounded, tests it, and makes a provider of it. Nothing is
//! opened that was not asked for. A library that was loaded once stays, and everybody who asks for it again gets the
//! same one, because its users must know of each other.

mod error;
mod family;
mod open;
mod search;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use tenferro_provider::{
    Fork, Provider, conformance,
    foreign::{
        BlasFunctions, ForeignLibrary, ForeignProvider, Functions, IntegerWidth, LapackFunctions,
        MissingFunction, Repeatability, Table, ThreadControl, Threading,
    },
};

pub use self::{
    error::LoadError,
    family::{Family, ThreadingLayer},
    search::{Found, SearchPath},
};
use self::{
    family::{Facts, Symbols},
    open::{Binding, Handle},
    search::Candidate,
};

/// A library to be loaded: which one, and how it is used.
///
/// ```
/// use tenferro_providers::loaded::{Library, LoadError, SearchPath};
///
/// let nowhere = Library::at("/nowhere/libopenblas.so.0").load(&SearchPath::default());
/// assert!(matches!(nowhere, Err(LoadError::Open { .. })));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a library is loaded by `load`"]
pub struct Library {
    name: Option<String>,
    path: Option<PathBuf>,
    threading: Threading,
    symbols: Option<(String, String)>,
    integers: Option<IntegerWidth>,
    single_threaded: bool,
}

impl Library {
    /// The library of a provider's name, `mkl`, `openblas` or `blis`, wherever it is found.
    ///
    /// A name with something after a hyphen, such as `openblas-openmp`, is that library in a folder of this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            path: None,
            threading: Threading::Workers,
            symbols: None,
            integers: None,
            single_threaded: false,
        }
    }

    /// The library in this file, whatever its family. Give an absolute path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { name: None, path: Some(path.into()), ..Self::named("") }
    }

    /// The name of the provider; the family's unless said, or the file's for a library of no known family.
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Whose threads compute products of more than one thread; the caller's unless said.
    pub fn threading(mut self, threading: Threading) -> Self {
        self.threading = threading;
        self
    }

    /// What its symbols have before and after the standard's names; tried out unless said.
    pub fn symbols(mut self, prefix: impl Into<String>, suffix: impl Into<String>) -> Self {
        self.symbols = Some((prefix.into(), suffix.into()));
        self
    }

    /// How wide its integers must be; found out by a call, and refused if it is otherwise.
    pub fn integers(mut self, width: IntegerWidth) -> Self {
        self.integers = Some(width);
        self
    }

    /// Says of a library of no known family that it uses the calling thread alone, whoever else is in it.
    pub fn single_threaded(mut self) -> Self {
        self.single_threaded = true;
        self
    }

    /// Loads the library, tests it and makes a provider of it. A name is looked for in `search`, then by the system.
    ///
    /// The number of threads of the process, if the library has one, is as it was afterwards.
    ///
    /// # Errors
    /// [`LoadError`]: it is not there, cannot be opened, is no CBLAS, takes other integers than it says, has threads
    /// that cannot be bounded, or computes wrong results.
    pub fn load(&self, search: &SearchPath) -> Result<Arc<ForeignProvider>, LoadError> {
        let (path, handle) = self.open(search)?;
        let library = self.library(&path, handle)?;
        let provider = Arc::new(self.provider(&path, &library));
        library.test(&provider)?;
        Ok(provider)
    }

    fn open(&self, search: &SearchPath) -> Result<(PathBuf, Handle), LoadError> {
        if let Some(path) = &self.path {
            return open(path).map(|handle| (path.clone(), handle));
        }
        let name = self.name.clone().unwrap_or_default();
        let Some(family) = Family::of_provider(&name) else {
            return Err(LoadError::UnknownName { name });
        };
        for candidate in search.candidates(&name, family) {
            match candidate {
                // A file that is there and cannot be opened is an answer, not a reason to look on.
                Candidate::File(path) => return open(&path).map(|handle| (path, handle)),
                Candidate::System(file) => {
                    let path = PathBuf::from(file);
                    if let Ok(handle) = open(&path) {
                        return Ok((path, handle));
                    }
                }
            }
        }
        let looked_for = search.places(&name, family);
        Err(LoadError::NotFound { name, looked_for })
    }

    /// What was learnt of the library before, or what is learnt now.
    fn library(&self, path: &Path, handle: Handle) -> Result<Arc<Loaded>, LoadError> {
        let (prefix, suffix) = self.form(path, handle)?;
        let symbols = Symbols { handle, prefix: &prefix, suffix: &suffix };
        let identity = symbols.find(MARK).map_or(0, |address| address.as_ptr() as usize);
        // Held while a library is learnt of, so that nobody learns of it twice.
        let mut libraries = LIBRARIES.lock();
        if let Some(known) = libraries.iter().find(|known| known.identity == identity) {
            return self.check_integers(path, known.integers).map(|()| known.clone());
        }
        let family = Family::of_symbols(&symbols);
        let facts = match family.map(|family| family.facts(&symbols, path)) {
            Some(Some(facts)) => facts,
            None if self.single_threaded => single_threaded(),
            _ => return Err(LoadError::Threads { path: path.to_owned() }),
        };
        let missing = |missing| LoadError::Function {
            path: path.to_owned(),
            missing,
            form: format!("\"{prefix}cblas_dgemm{suffix}\""),
        };
        let dot = symbols.find("cblas_ddot");
        let dot = dot.ok_or_else(|| missing(MissingFunction { name: "cblas_ddot" }))?;
        // SAFETY: the symbol has the name of the function.
        let integers = unsafe { IntegerWidth::of_dot(dot) };
        let integers = integers.ok_or_else(|| LoadError::Probe { path: path.to_owned() })?;
        if suffix.contains("64") {
            check(path, IntegerWidth::Ilp64, integers)?;
        }
        self.check_integers(path, integers)?;
        let (blas, lapack) =
            (|name: &str| symbols.find(name), |name: &str| symbols.find_fortran(name));
        // SAFETY: the symbols have the names of the functions, the width was found out, and nothing is closed.
        let table = unsafe {
            match integers {
                IntegerWidth::Lp64 => BlasFunctions::resolve(&blas).map(|blas| {
                    Table::Lp64(Functions { blas, lapack: LapackFunctions::resolve(&lapack).ok() })
                }),
                IntegerWidth::Ilp64 => BlasFunctions::resolve(&blas).map(|blas| {
                    Table::Ilp64(Functions { blas, lapack: LapackFunctions::resolve(&lapack).ok() })
                }),
            }
        };
        let Facts { version, layer, threads, fork, repeatable, runtime } = facts;
        let table = table.map_err(missing)?;
        let loaded = Arc::new(Loaded {
            identity,
            integers,
            family,
            version,
            layer,
            runtime,
            foreign: Arc::new(ForeignLibrary { table, threads, fork, repeatable }),
            tested: Mutex::default(),
        });
        libraries.push(loaded.clone());
        Ok(loaded)
    }

    /// Prefix and suffix of the symbols: what was said, or the first form that there is.
    fn form(&self, path: &Path, handle: Handle) -> Result<(String, String), LoadError> {
        let has =
            |prefix: &str, suffix: &str| handle.find(&format!("{prefix}{MARK}{suffix}")).is_some();
        let forms = match &self.symbols {
            Some((prefix, suffix)) => vec![(prefix.as_str(), suffix.as_str())],
            None => FORMS.to_vec(),
        };
        let found = forms.iter().find(|(prefix, suffix)| has(prefix, suffix));
        let found = found.map(|&(prefix, suffix)| (prefix.to_owned(), suffix.to_owned()));
        found.ok_or_else(|| LoadError::Function {
            path: path.to_owned(),
            missing: MissingFunction { name: MARK },
            form: forms
                .iter()
                .map(|(prefix, suffix)| format!("\"{prefix}{MARK}{suffix}\""))
                .collect::<Vec<_>>()
                .join(" or "),
        })
    }

    fn check_integers(&self, path: &Path, found: IntegerWidth) -> Result<(), LoadError> {
        self.integers.map_or(Ok(()), |expected| check(path, expected, found))
    }

    fn provider(&self, path: &Path, loaded: &Loaded) -> ForeignProvider {
        let name = self.name.clone().unwrap_or_else(|| match loaded.family {
            Some(family) => family.name().to_owned(),
            None => path
                .file_stem()
                .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        });
        let mut denied = None;
        let mut threading = self.threading;
        if let (Threading::Library, Some(runtime)) = (threading, loaded.runtime)
            && let Some(user) = claim(runtime, loaded.identity, &name)
        {
            threading = Threading::Workers;
            denied = Some(format!(
                "its own threads are not used: the OpenMP runtime that it has already serves `{user}`, and two \
                 libraries would start threads against each other"
            ));
        }
        let provider =
            ForeignProvider::new(name, &loaded.version, loaded.foreign.clone(), threading)
                .with_note(format!("loaded from {}", path.display()))
                .with_note(format!("{}, threads: {}", loaded.integers, loaded.layer));
        let provider = match provider.capabilities().lapack.is_empty() {
            true => provider.with_note("no LAPACK: its routines are done by the next provider"),
            false => provider,
        };
        match denied {
            Some(denied) => provider.with_note(denied),
            None => provider,
        }
    }
}

/// The function by which a library is known to be a CBLAS.
const MARK: &str = "cblas_dgemm";

/// What symbols have before and after their names, the most usual first.
const FORMS: [(&str, &str); 5] =
    [("", ""), ("", "64_"), ("", "_64"), ("scipy_", ""), ("scipy_", "64_")];

/// A library in this process.
struct Loaded {
    /// The address of one of its functions, which no other library has.
    identity: usize,
    integers: IntegerWidth,
    family: Option<Family>,
    version: String,
    layer: ThreadingLayer,
    runtime: Option<usize>,
    foreign: Arc<ForeignLibrary>,
    /// The ways of threading in which it has passed its self-test.
    tested: Mutex<Vec<Threading>>,
}

/// Every library that was loaded, for the rest of the process.
static LIBRARIES: Mutex<Vec<Arc<Loaded>>> = Mutex::new(Vec::new());

/// OpenMP runtimes whose threads a library uses: the runtime, the library, and the name of its provider.
static RUNTIMES: Mutex<Vec<(usize, usize, String)>> = Mutex::new(Vec::new());

impl Loaded {
    /// Tests the provider, unless the library has passed before.
    fn test(&self, provider: &ForeignProvider) -> Result<(), LoadError> {
        if self.tested.lock().contains(&provider.threading()) {
            return Ok(());
        }
        conformance::self_test(provider).map_err(LoadError::Refused)?;
        self.tested.lock().push(provider.threading());
        Ok(())
    }
}

/// Claims an OpenMP runtime for a library; the name of the provider that has it, if that is another library's.
fn claim(runtime: usize, library: usize, name: &str) -> Option<String> {
    let mut runtimes = RUNTIMES.lock();
    match runtimes.iter().find(|(claimed, _, _)| *claimed == runtime) {
        Some((_, owner, user)) => (*owner != library).then(|| user.clone()),
        None => {
            runtimes.push((runtime, library, name.to_owned()));
            None
        }
    }
}

fn open(path: &Path) -> Result<Handle, LoadError> {
    if Family::of_file(path) == Some(Family::Mkl) {
        // Parts of MKL use the mathematical functions and name no library that has them.
        let global = Handle::bound("libm.so.6".as_ref(), Binding::Global);
        global.map_err(|reason| LoadError::Open { path: "libm.so.6".into(), reason })?;
    }
    Handle::open(path).map_err(|reason| LoadError::Open { path: path.to_owned(), reason })
}

fn check(path: &Path, expected: IntegerWidth, found: IntegerWidth) -> Result<(), LoadError> {
    if expected == found {
        return Ok(());
    }
    Err(LoadError::Integers { path: path.to_owned(), expected, found })
}

/// What is known of a library of which nothing is known but that it has no threads.
fn single_threaded() -> Facts {
    Facts {
        version: "of unknown version".to_owned(),
        layer: ThreadingLayer::Sequential,
        threads: ThreadControl::calling_thread(),
        fork: Fork::Survives,
        repeatable: Repeatability::SameAlignment,
        runtime: None,
    }
}
