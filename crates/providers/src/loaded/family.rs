//! The libraries that are known by name: their files, their versions, and the functions that bound their threads.
//!
//! A row a family; what one family needs that others do not is in its row. A library of none of them can still be
//! loaded by its path, if it has no threads.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr::NonNull,
};

use tenferro_provider::{
    Fork,
    foreign::{Repeatability, ThreadControl, ThreadCount, function},
};

use super::open::{Binding, Handle};

/// A library known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Intel's Math Kernel Library, through its single dynamic library.
    Mkl,
    /// OpenBLAS.
    OpenBlas,
    /// BLIS.
    Blis,
}

/// What a library has for threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadingLayer {
    /// None: the calling thread computes.
    Sequential,
    /// Threads of its own.
    Pthreads,
    /// An OpenMP runtime, which it may share with others in the process.
    OpenMp,
}

impl std::fmt::Display for ThreadingLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ThreadingLayer::Sequential => "sequential",
            ThreadingLayer::Pthreads => "pthreads",
            ThreadingLayer::OpenMp => "OpenMP",
        })
    }
}

/// What was learnt of a library.
pub(super) struct Facts {
    pub(super) version: String,
    pub(super) layer: ThreadingLayer,
    pub(super) threads: ThreadControl,
    pub(super) fork: Fork,
    pub(super) repeatable: Repeatability,
    /// Which OpenMP runtime it uses, as an address that no other has.
    pub(super) runtime: Option<usize>,
}

/// A library whose symbols are looked up with its prefix and suffix.
pub(super) struct Symbols<'a> {
    pub(super) handle: Handle,
    pub(super) prefix: &'a str,
    pub(super) suffix: &'a str,
}

impl Symbols<'_> {
    /// The address of a function, by the name that it has without prefix and suffix.
    pub(super) fn find(&self, name: &str) -> Option<NonNull<c_void>> {
        self.handle.find(&format!("{}{name}{}", self.prefix, self.suffix))
    }

    /// The address of a routine in Fortran, by the name that it has without prefix, underscore and suffix.
    pub(super) fn find_fortran(&self, name: &str) -> Option<NonNull<c_void>> {
        self.find(&format!("{name}_")).or_else(|| self.find(name))
    }

    /// Likewise a C function, where the suffix may be missing.
    fn find_extra(&self, name: &str) -> Option<NonNull<c_void>> {
        self.find(name).or_else(|| self.handle.find(&format!("{}{name}", self.prefix)))
    }
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 3] = [Family::Mkl, Family::OpenBlas, Family::Blis];

    /// The name of its provider.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Family::Mkl => crate::LOADABLE[0],
            Family::OpenBlas => crate::LOADABLE[1],
            Family::Blis => crate::LOADABLE[2],
        }
    }

    /// The files that it comes in, newest first.
    pub(super) const fn files(self) -> &'static [&'static str] {
        match self {
            Family::Mkl => &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", "libmkl_rt.dylib"],
            Family::OpenBlas => &[
                "libopenblas.so.0",
                "libopenblas.so",
                "libopenblas64_.so.0",
                "libscipy_openblas.so",
                "libscipy_openblas64_.so",
                "libopenblas.dylib",
            ],
            Family::Blis => &["libblis.so.4", "libblis.so", "libblis.dylib"],
        }
    }

    /// The family of a provider's name: the name itself, or what comes before its first hyphen.
    #[must_use]
    pub fn of_provider(name: &str) -> Option<Self> {
        let base = name.split('-').next().unwrap_or(name);
        Self::ALL.into_iter().find(|family| family.name() == base)
    }

    /// The family that a file's name tells.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Self::ALL.into_iter().find(|family| family.files().contains(&name))
    }

    /// Its file in a folder.
    pub(super) fn file_in(self, folder: &Path) -> Option<PathBuf> {
        self.files().iter().map(|file| folder.join(file)).find(|path| path.is_file())
    }

    /// The family that a library's symbols tell.
    pub(super) fn of_symbols(symbols: &Symbols<'_>) -> Option<Self> {
        let mark = |family| match family {
            Family::Mkl => symbols.handle.find("MKL_Get_Version_String"),
            Family::OpenBlas => symbols.find_extra("openblas_get_config"),
            Family::Blis => symbols.handle.find("bli_info_get_version_str"),
        };
        Self::ALL.into_iter().find(|&family| mark(family).is_some())
    }

    /// Learns what there is to know, before any other function of the library is called.
    ///
    /// `None` if a function that its threads are bounded by is missing.
    pub(super) fn facts(self, symbols: &Symbols<'_>, path: &Path) -> Option<Facts> {
        match self {
            Family::Mkl => mkl(symbols, path),
            Family::OpenBlas => openblas(symbols),
            Family::Blis => blis(symbols),
        }
    }
}

/// The number of an OpenMP runtime's threads for the calling thread, and the runtime's identity.
fn runtime(handle: Handle) -> Option<(ThreadCount, usize)> {
    let (get, set) = (handle.find("omp_get_max_threads")?, handle.find("omp_set_num_threads")?);
    // SAFETY: the functions of these names take nothing and an int, by the OpenMP standard.
    let count = unsafe { ThreadCount::Int { get: function(get), set: function(set) } };
    Some((count, get.as_ptr() as usize))
}

fn openblas(symbols: &Symbols<'_>) -> Option<Facts> {
    let version = match symbols.find_extra("openblas_get_config") {
        // SAFETY: it takes nothing and returns a string that stays.
        Some(config) => unsafe {
            text(function::<unsafe extern "C" fn() -> *const c_char>(config)())
        },
        None => "OpenBLAS".to_owned(),
    };
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the options are of no interest here.
    let version = version.split_whitespace().nth(1).unwrap_or("of unknown version").to_owned();
    let parallel = symbols.find_extra("openblas_get_parallel")?;
    // SAFETY: it takes nothing and returns an int.
    let parallel = unsafe { function::<unsafe extern "C" fn() -> c_int>(parallel)() };
    let count = {
        let get = symbols.find_extra("openblas_get_num_threads")?;
        let set = symbols.find_extra("openblas_set_num_threads")?;
        // SAFETY: they are the getter and the setter, of an int.
        unsafe { ThreadCount::Int { get: function(get), set: function(set) } }
    };
    let facts = Facts {
        version,
        layer: ThreadingLayer::Sequential,
        // A sequential build locks its buffers only if it was built to; nothing tells whether it was.
        threads: ThreadControl::one_caller(),
        fork: Fork::Survives,
        repeatable: Repeatability::Always,
        runtime: None,
    };
    Some(match (parallel, runtime(symbols.handle)) {
        (0, _) => facts,
        (2, Some((omp, identity))) => Facts {
            layer: ThreadingLayer::OpenMp,
            // It asks OpenMP how many threads the calling thread may have; its own number follows.
            // SAFETY: both are a getter and a setter, as found above.
            threads: unsafe { ThreadControl::per_thread(omp, Some(count)) },
            fork: Fork::Lost,
            runtime: Some(identity),
            ..facts
        },
        // An OpenMP build whose runtime is hidden: its own number is all there is.
        (2, None) => Facts {
            layer: ThreadingLayer::OpenMp,
            // SAFETY: as above. Only the calling thread hears it.
            threads: unsafe { ThreadControl::exclusive(count) },
            fork: Fork::Lost,
            ..facts
        },
        _ => Facts {
            layer: ThreadingLayer::Pthreads,
            // SAFETY: as above.
            threads: unsafe { ThreadControl::process(count) },
            ..facts
        },
    })
}

fn blis(symbols: &Symbols<'_>) -> Option<Facts> {
    let find = |name| symbols.handle.find(name);
    let is_set = |name| {
        // SAFETY: BLIS's questions of what it was built with take nothing and return a number.
        find(name)
            .is_some_and(|ask| unsafe { function::<unsafe extern "C" fn() -> i64>(ask)() & 1 == 1 })
    };
    let version = find("bli_info_get_version_str")?;
    // SAFETY: it takes nothing and returns a string that stays.
    let version = unsafe { text(function::<unsafe extern "C" fn() -> *const c_char>(version)()) };
    let (get, set) = (find("bli_thread_get_num_threads")?, find("bli_thread_set_num_threads")?);
    // SAFETY: they are the getter and the setter, of BLIS's own integers, which are those of pointers.
    let count = unsafe { ThreadCount::Long { get: function(get), set: function(set) } };
    let (openmp, pthreads) =
        (is_set("bli_info_get_enable_openmp"), is_set("bli_info_get_enable_pthreads"));
    let layer = match (openmp, pthreads) {
        (true, _) => ThreadingLayer::OpenMp,
        (false, true) => ThreadingLayer::Pthreads,
        (false, false) => ThreadingLayer::Sequential,
    };
    let threads = match layer {
        ThreadingLayer::Sequential => ThreadControl::calling_thread(),
        // SAFETY: they are a getter and a setter, as found above.
        _ if count.is_per_thread() => unsafe { ThreadControl::per_thread(count, None) },
        // SAFETY: as above.
        _ => unsafe { ThreadControl::process(count) },
    };
    Some(Facts {
        version,
        layer,
        threads,
        fork: if openmp { Fork::Lost } else { Fork::Survives },
        repeatable: Repeatability::Always,
        runtime: if openmp { runtime(symbols.handle).map(|(_, identity)| identity) } else { None },
    })
}

fn mkl(symbols: &Symbols<'_>, path: &Path) -> Option<Facts> {
    let find = |name| symbols.handle.find(name);
    let (layer, identity) = mkl_layer(path);
    let set = find("MKL_Set_Threading_Layer")?;
    // The first call of the process decides; where MKL was used before, this one changes nothing.
    // SAFETY: it takes an int and returns the layer in use.
    let used = unsafe { function::<unsafe extern "C" fn(c_int) -> c_int>(set)(layer as c_int) };
    let mut buffer: [c_char; 256] = [0; 256];
    if let Some(ask) = find("MKL_Get_Version_String") {
        // SAFETY: it writes no more than the length that it is told, and the last byte stays 0.
        unsafe {
            function::<unsafe extern "C" fn(*mut c_char, c_int)>(ask)(buffer.as_mut_ptr(), 255);
        }
    }
    // SAFETY: the buffer ends with a 0.
    let version = unsafe { text(buffer.as_ptr()) };
    // "... Version 2026.2-Product Build 20260915 for ...".
    let after = version.split("Version ").nth(1).unwrap_or("of unknown version");
    let version = after.split([' ', '-']).next().unwrap_or(after).to_owned();
    let (swap, get) = (find("MKL_Set_Num_Threads_Local")?, find("MKL_Get_Max_Threads")?);
    let sequential = used == MklLayer::Sequential as c_int;
    Some(Facts {
        version,
        layer: if sequential { ThreadingLayer::Sequential } else { ThreadingLayer::OpenMp },
        threads: if sequential {
            ThreadControl::calling_thread()
        } else {
            // SAFETY: the first sets the calling thread's number and returns the one before, the second reads it.
            unsafe { ThreadControl::local(function(swap), function(get)) }
        },
        fork: if used == MklLayer::Gnu as c_int { Fork::Lost } else { Fork::Survives },
        repeatable: Repeatability::SameAlignment,
        runtime: identity.filter(|_| !sequential),
    })
}

/// MKL's threading layers, by its numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
enum MklLayer {
    Intel = 0,
    Sequential = 1,
    Gnu = 3,
}

/// The layer whose runtime is there, and the runtime's identity. MKL ends the process if it is told one that is not.
fn mkl_layer(path: &Path) -> (MklLayer, Option<usize>) {
    let folder = path.parent().unwrap_or(Path::new(""));
    let identity = |handle| runtime(handle).map(|(_, identity)| identity);
    let beside = folder.join("libiomp5.so");
    let intel = Handle::bound(beside.as_os_str(), Binding::Deep)
        .or_else(|_| Handle::bound("libiomp5.so".as_ref(), Binding::Deep));
    if let Ok(handle) = intel {
        return (MklLayer::Intel, identity(handle));
    }
    let gnu = ["libmkl_gnu_thread.so.3", "libmkl_gnu_thread.so.2"];
    let has_gnu = gnu.iter().any(|file| folder.join(file).is_file());
    match Handle::bound("libgomp.so.1".as_ref(), Binding::Deep) {
        Ok(handle) if has_gnu => (MklLayer::Gnu, identity(handle)),
        _ => (MklLayer::Sequential, None),
    }
}

/// A C string, in words of Unicode.
///
/// # Safety
/// The address is null or that of a string that ends with a 0.
unsafe fn text(address: *const c_char) -> String {
    if address.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(address) }.to_string_lossy().into_owned()
}
