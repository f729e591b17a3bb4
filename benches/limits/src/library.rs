//! A C library's products, called as they are: no provider, no check, no arbiter.
//!
//! A library is opened by its path, its symbols found before anybody else's, and never closed, since closing
//! one with threads of its own crashes. Integers are of 32 bits. Threads are set for the whole process where there is no
//! other way, so one measurement at a time.

use std::ffi::{c_char, c_int};
use std::path::Path;

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use super::{Element, Matrices};

/// Finds a library's own symbols before those of libraries that were opened earlier.
const RTLD_DEEPBIND: c_int = 0x8;

/// Why a library cannot be called.
#[derive(Debug)]
pub struct LibraryError(String);

impl std::fmt::Display for LibraryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LibraryError {}

/// What a Fortran product is: characters by pointer, everything else too.
pub(super) type Gemm<T> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_int,
    *const c_int,
    *const c_int,
    *const T,
    *const T,
    *const c_int,
    *const T,
    *const c_int,
    *const T,
    *mut T,
    *const c_int,
);

/// How a library is told the number of its threads.
#[derive(Clone, Copy, Debug)]
enum Threads {
    Openblas(unsafe extern "C" fn(c_int)),
    Mkl(unsafe extern "C" fn(c_int) -> c_int),
    Blis(unsafe extern "C" fn(i64)),
    Fixed,
}

/// An open library.
#[derive(Debug)]
pub struct Library {
    name: String,
    prefix: &'static str,
    handle: &'static Handle,
    threads: Threads,
}

impl Library {
    /// Opens the library at an absolute path.
    ///
    /// # Errors
    /// [`LibraryError`] if it cannot be opened or has no `dgemm_`.
    pub fn open(path: &Path) -> Result<Self, LibraryError> {
        let failed =
            |error: libloading::Error| LibraryError(format!("{}: {error}", path.display()));
        let flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
        // SAFETY: the library is one that the user named to be run; it stays open.
        let handle = unsafe { Handle::open(Some(path), flags) }.map_err(failed)?;
        let handle: &'static Handle = Box::leak(Box::new(handle));
        let has = |symbol: &str| {
            // SAFETY: only whether the symbol is there is looked at.
            unsafe { handle.get::<*const ()>(symbol.as_bytes()) }.is_ok()
        };
        let prefix = ["", "scipy_"].into_iter().find(|prefix| has(&format!("{prefix}dgemm_")));
        let prefix =
            prefix.ok_or_else(|| LibraryError(format!("{}: no dgemm_", path.display())))?;
        let setter = format!("{prefix}openblas_set_num_threads");
        // SAFETY, for the three: these are the types of the setters by their libraries' documentation.
        let (name, threads) = if has("MKL_Set_Num_Threads_Local") {
            // SAFETY: as above.
            let set = unsafe { handle.get(b"MKL_Set_Num_Threads_Local") }.map_err(failed)?;
            ("MKL", Threads::Mkl(*set))
        } else if has(&setter) {
            // SAFETY: as above.
            let set = unsafe { handle.get(setter.as_bytes()) }.map_err(failed)?;
            ("OpenBLAS", Threads::Openblas(*set))
        } else if has("bli_thread_set_num_threads") {
            // SAFETY: as above.
            let set = unsafe { handle.get(b"bli_thread_set_num_threads") }.map_err(failed)?;
            ("BLIS", Threads::Blis(*set))
        } else {
            (path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("library"), Threads::Fixed)
        };
        Ok(Self { name: name.to_owned(), prefix, handle, threads })
    }

    /// What it is: `MKL`, `OpenBLAS`, `BLIS`, or its file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Says how many threads its next calls may use; on this thread where the library can.
    pub fn set_threads(&self, threads: usize) {
        let count = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: the setters take any positive number.
        unsafe {
            match self.threads {
                Threads::Openblas(set) => set(count),
                Threads::Mkl(set) => _ = set(count),
                Threads::Blis(set) => set(i64::from(count)),
                Threads::Fixed => {}
            }
        }
    }

    /// The library's product for a dtype, to be called without a look-up.
    ///
    /// # Errors
    /// [`LibraryError`] if it has none.
    pub fn product<T: Element>(&self) -> Result<impl Fn(&mut Matrices<T>) + use<T>, LibraryError> {
        let symbol = format!("{}{}gemm_", self.prefix, T::LETTER);
        // SAFETY: this is the type of a Fortran product.
        let gemm = unsafe { self.handle.get::<Gemm<T>>(symbol.as_bytes()) };
        let gemm = *gemm.map_err(|error| LibraryError(error.to_string()))?;
        Ok(move |matrices: &mut Matrices<T>| call(gemm, matrices))
    }
}

#[inline(never)]
fn call<T: Element>(gemm: Gemm<T>, matrices: &mut Matrices<T>) {
    let int = |extent: usize| c_int::try_from(extent).expect("extents of a measurement are small");
    let (m, n, k) = (int(matrices.m), int(matrices.n), int(matrices.k));
    let plain = c_char::try_from(b'N').expect("a letter");
    for batch in 0..matrices.batch {
        let [lhs, rhs, out] = matrices.at(batch);
        // SAFETY: the matrices have the elements that their extents ask for; nobody else writes the last one.
        unsafe {
            gemm(&plain, &plain, &m, &n, &k, &T::ONE, lhs, &m, rhs, &k, &T::ZERO, out, &m);
        }
    }
}
