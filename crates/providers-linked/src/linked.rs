//! The linked library as a provider: addresses by name, one library for the process, tested before it is used.

use std::{
    ffi::c_void,
    ptr::NonNull,
    sync::{Arc, OnceLock},
};

use tenferro_provider::{
    Error, conformance,
    foreign::{BlasFunctions, ForeignLibrary, ForeignProvider, Functions, Table, Threading},
};

// Not used by name: they bring the library.
use blas_src as _;

use crate::library;

/// The linked library as a provider, after its self-test; its own threads or the caller's compute what pays for more.
///
/// Its name is `linked-openblas`, `linked-mkl`, `linked-blis`, `linked-netlib` or `linked-accelerate`.
///
/// ```
/// use tenferro_cpu::CpuBackend;
/// use tenferro_provider::{Provider, foreign::Threading};
///
/// let linked = tenferro_providers_linked::provider(Threading::Workers)?;
/// let name = linked.name().to_owned();
/// let backend = CpuBackend::builder().register_provider(linked).provider(&name).build()?;
/// assert_eq!(backend.diagnostics().providers[0].name, name);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Refused`] if it computes wrong results.
pub fn provider(threading: Threading) -> Result<Arc<ForeignProvider>, Error> {
    // Its users must know of each other, so there is one of it.
    static LIBRARY: OnceLock<Arc<ForeignLibrary>> = OnceLock::new();
    let linked = LIBRARY.get_or_init(|| Arc::new(open()));
    let provider =
        ForeignProvider::new(library::NAME, library::version(), linked.clone(), threading);
    let provider = Arc::new(provider.with_note("linked into the program"));
    conformance::self_test(&*provider)?;
    Ok(provider)
}

fn open() -> ForeignLibrary {
    const LINKED: &str = "invariant: a program whose symbols are missing does not link";
    // SAFETY: the symbols are those of the functions' names, declared with integers of 32 bits, and stay where they are.
    let table = unsafe {
        Table::Lp64(Functions {
            blas: BlasFunctions::resolve(&blas).expect(LINKED),
            lapack: library::lapack(),
        })
    };
    ForeignLibrary {
        table,
        threads: library::threads(),
        fork: library::fork(),
        repeatable: library::REPEATABLE,
    }
}

/// Names and the addresses of the functions that a crate declares under them.
macro_rules! addresses {
    ($name:expr, $($text:literal => $function:path),* $(,)?) => {
        match $name {
            $($text => std::ptr::NonNull::new($function as *const () as *mut std::ffi::c_void),)*
            _ => None,
        }
    };
}

fn blas(name: &str) -> Option<NonNull<c_void>> {
    addresses!(
        name,
        "cblas_sgemm" => cblas_sys::cblas_sgemm,
        "cblas_dgemm" => cblas_sys::cblas_dgemm,
        "cblas_cgemm" => cblas_sys::cblas_cgemm,
        "cblas_zgemm" => cblas_sys::cblas_zgemm,
        "cblas_sdot" => cblas_sys::cblas_sdot,
        "cblas_ddot" => cblas_sys::cblas_ddot,
        "cblas_cdotu_sub" => cblas_sys::cblas_cdotu_sub,
        "cblas_cdotc_sub" => cblas_sys::cblas_cdotc_sub,
        "cblas_zdotu_sub" => cblas_sys::cblas_zdotu_sub,
        "cblas_zdotc_sub" => cblas_sys::cblas_zdotc_sub,
    )
}

/// The routines of a library that has a LAPACK.
#[cfg(not(feature = "blis"))]
pub(crate) mod lapack {
    use std::{ffi::c_void, ptr::NonNull};

    use tenferro_provider::foreign::LapackFunctions;

    use lapack_src as _;

    /// The table of the linked routines.
    pub(crate) fn functions() -> LapackFunctions<i32> {
        const LINKED: &str = "invariant: a program whose symbols are missing does not link";
        // SAFETY: the symbols are those of the routines' names, declared with integers of 32 bits, and stay.
        unsafe { LapackFunctions::resolve(&find) }.expect(LINKED)
    }

    fn find(name: &str) -> Option<NonNull<c_void>> {
        addresses!(
            name,
            "sgetrf" => lapack_sys::sgetrf_,
            "sgetrs" => lapack_sys::sgetrs_,
            "spotrf" => lapack_sys::spotrf_,
            "sgeqrf" => lapack_sys::sgeqrf_,
            "sorgqr" => lapack_sys::sorgqr_,
            "strtri" => lapack_sys::strtri_,
            "strtrs" => lapack_sys::strtrs_,
            "sgels" => lapack_sys::sgels_,
            "sgesdd" => lapack_sys::sgesdd_,
            "sgesvd" => lapack_sys::sgesvd_,
            "ssyevd" => lapack_sys::ssyevd_,
            "sgeev" => lapack_sys::sgeev_,
            "dgetrf" => lapack_sys::dgetrf_,
            "dgetrs" => lapack_sys::dgetrs_,
            "dpotrf" => lapack_sys::dpotrf_,
            "dgeqrf" => lapack_sys::dgeqrf_,
            "dorgqr" => lapack_sys::dorgqr_,
            "dtrtri" => lapack_sys::dtrtri_,
            "dtrtrs" => lapack_sys::dtrtrs_,
            "dgels" => lapack_sys::dgels_,
            "dgesdd" => lapack_sys::dgesdd_,
            "dgesvd" => lapack_sys::dgesvd_,
            "dsyevd" => lapack_sys::dsyevd_,
            "dgeev" => lapack_sys::dgeev_,
            "cgetrf" => lapack_sys::cgetrf_,
            "cgetrs" => lapack_sys::cgetrs_,
            "cpotrf" => lapack_sys::cpotrf_,
            "cgeqrf" => lapack_sys::cgeqrf_,
            "cungqr" => lapack_sys::cungqr_,
            "ctrtri" => lapack_sys::ctrtri_,
            "ctrtrs" => lapack_sys::ctrtrs_,
            "cgels" => lapack_sys::cgels_,
            "cgesdd" => lapack_sys::cgesdd_,
            "cgesvd" => lapack_sys::cgesvd_,
            "cheevd" => lapack_sys::cheevd_,
            "cgeev" => lapack_sys::cgeev_,
            "zgetrf" => lapack_sys::zgetrf_,
            "zgetrs" => lapack_sys::zgetrs_,
            "zpotrf" => lapack_sys::zpotrf_,
            "zgeqrf" => lapack_sys::zgeqrf_,
            "zungqr" => lapack_sys::zungqr_,
            "ztrtri" => lapack_sys::ztrtri_,
            "ztrtrs" => lapack_sys::ztrtrs_,
            "zgels" => lapack_sys::zgels_,
            "zgesdd" => lapack_sys::zgesdd_,
            "zgesvd" => lapack_sys::zgesvd_,
            "zheevd" => lapack_sys::zheevd_,
            "zgeev" => lapack_sys::zgeev_,
        )
    }
}
