//! Opening a shared library so that it answers for itself, and never closing it.
//!
//! On Linux a library is opened local and deep-bound: its own symbols come before those of libraries that were opened
//! globally, or one BLAS would silently compute with the functions of another. What is opened stays open until the
//! process ends, because some crash when they are closed; so an address that was found stays valid.

use std::{
    ffi::{OsStr, c_void},
    path::Path,
    ptr::NonNull,
};

/// A library that is open for the rest of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(NonNull<c_void>);

// SAFETY: a handle is an address that the system gave; it is only read, and looking a symbol up is thread-safe.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Who may use the symbols of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// The library itself and whoever asks for them by its handle.
    Deep,
    /// Also libraries that are opened later.
    Global,
}

/// Runtimes that a BLAS may need and that may lie beside it, where the system does not look.
const COMPANIONS: [&str; 4] =
    ["libquadmath.so.0", "libgfortran.so.5", "libgomp.so.1", "libiomp5.so"];

impl Handle {
    /// Opens a file, or the library of a name that the system looks for.
    ///
    /// If it needs a runtime of its compiler that the system does not find, that is looked for in the same folder.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let first = match Self::bound(path.as_os_str(), Binding::Deep) {
            Ok(handle) => return Ok(handle),
            Err(reason) => reason,
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let beside = folder.into_iter().flat_map(|folder| {
            COMPANIONS
                .map(|name| folder.join(name))
                .into_iter()
                .filter(|companion| companion.is_file())
        });
        // Each that opens satisfies whoever needs it by name; one that does not is missed in the second attempt.
        let opened =
            beside.filter(|companion| Self::bound(companion.as_os_str(), Binding::Deep).is_ok());
        if opened.count() == 0 {
            return Err(first);
        }
        Self::bound(path.as_os_str(), Binding::Deep)
    }

    /// The address of a symbol.
    pub(super) fn find(self, name: &str) -> Option<NonNull<c_void>> {
        system::symbol(self.0, name)
    }

    /// Opens it with this binding, without looking beside it.
    pub(super) fn bound(name: &OsStr, binding: Binding) -> Result<Self, String> {
        system::open(name, binding).map(Self)
    }
}

#[cfg(unix)]
mod system {
    use std::{
        ffi::{OsStr, c_int, c_void},
        ptr::NonNull,
    };

    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

    use super::Binding;

    /// `RTLD_DEEPBIND` of the GNU library; other systems bind to the library's own symbols anyway, or cannot.
    const DEEP: c_int = if cfg!(all(target_os = "linux", target_env = "gnu")) { 0x8 } else { 0 };

    pub(super) fn open(name: &OsStr, binding: Binding) -> Result<NonNull<c_void>, String> {
        let flags = match binding {
            Binding::Deep => RTLD_NOW | RTLD_LOCAL | DEEP,
            Binding::Global => RTLD_NOW | RTLD_GLOBAL,
        };
        // SAFETY: the caller asked for the code of this library to run, its initialisers included.
        let library = unsafe { Library::open(Some(name), flags) };
        let raw = library.map_err(|error| error.to_string())?.into_raw();
        NonNull::new(raw).ok_or_else(|| "the system gave no handle".to_owned())
    }

    pub(super) fn symbol(handle: NonNull<c_void>, name: &str) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is one that `open` gave away, and it was never closed.
        let library = unsafe { Library::from_raw(handle.as_ptr()) };
        // SAFETY: the symbol is taken as an address; who calls it answers for its type.
        let address = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
        let address = address.ok().and_then(|symbol| NonNull::new(symbol.into_raw()));
        // Given away again, so that it is not closed here.
        let _ = library.into_raw();
        address
    }
}

#[cfg(not(unix))]
mod system {
    use std::{
        ffi::{OsStr, c_void},
        ptr::NonNull,
    };

    use super::Binding;

    pub(super) fn open(_: &OsStr, _: Binding) -> Result<NonNull<c_void>, String> {
        Err("libraries are loaded on Unix systems only".to_owned())
    }

    pub(super) fn symbol(_: NonNull<c_void>, _: &str) -> Option<NonNull<c_void>> {
        None
    }
}
