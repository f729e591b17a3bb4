//! The routines of a LAPACK in Fortran that are called, with their types, for one width of integers.
//!
//! Fortran takes every argument by address. After the last one come the lengths of the arguments that are text; some
//! compilers use that memory as if it were there, so all of them are passed.

use std::{
    ffi::{c_char, c_void},
    ptr::NonNull,
};

use tenferro_tensor::{Complex32, Complex64, Scalar};

use super::super::functions::{Find, MissingFunction, function};

/// The length of an argument that is one letter.
pub(super) type Length = usize;

type Getrf<T, I> = unsafe extern "C" fn(*const I, *const I, *mut T, *const I, *mut I, *mut I);

type Getrs<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const I,
    *const I,
    *const T,
    *const I,
    *const I,
    *mut T,
    *const I,
    *mut I,
    Length,
);

type Potrf<T, I> = unsafe extern "C" fn(*const c_char, *const I, *mut T, *const I, *mut I, Length);

type Geqrf<T, I> =
    unsafe extern "C" fn(*const I, *const I, *mut T, *const I, *mut T, *mut T, *const I, *mut I);

type Orgqr<T, I> = unsafe extern "C" fn(
    *const I,
    *const I,
    *const I,
    *mut T,
    *const I,
    *const T,
    *mut T,
    *const I,
    *mut I,
);

type Trtri<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *mut T,
    *const I,
    *mut I,
    Length,
    Length,
);

type Trtrs<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_char,
    *const I,
    *const I,
    *const T,
    *const I,
    *mut T,
    *const I,
    *mut I,
    Length,
    Length,
    Length,
);

type Gels<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const I,
    *const I,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut I,
    Length,
);

type RealGesdd<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const I,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut I,
    *mut I,
    Length,
);

type ComplexGesdd<T, R, I> = unsafe extern "C" fn(
    *const c_char,
    *const I,
    *const I,
    *mut T,
    *const I,
    *mut R,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut R,
    *mut I,
    *mut I,
    Length,
);

type RealGesvd<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut I,
    Length,
    Length,
);

type ComplexGesvd<T, R, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *const I,
    *mut T,
    *const I,
    *mut R,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut R,
    *mut I,
    Length,
    Length,
);

type Syevd<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *mut T,
    *const I,
    *mut I,
    *const I,
    *mut I,
    Length,
    Length,
);

type Heevd<T, R, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *mut T,
    *const I,
    *mut R,
    *mut T,
    *const I,
    *mut R,
    *const I,
    *mut I,
    *const I,
    *mut I,
    Length,
    Length,
);

type RealGeev<T, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *mut T,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut I,
    Length,
    Length,
);

type ComplexGeev<T, R, I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut T,
    *const I,
    *mut R,
    *mut I,
    Length,
    Length,
);

/// The routines whose arguments are the same for real and complex dtypes.
#[derive(Clone, Copy)]
pub(super) struct Common<T, I> {
    pub(super) getrf: Getrf<T, I>,
    pub(super) getrs: Getrs<T, I>,
    pub(super) potrf: Potrf<T, I>,
    pub(super) geqrf: Geqrf<T, I>,
    pub(super) orgqr: Orgqr<T, I>,
    pub(super) trtri: Trtri<T, I>,
    pub(super) trtrs: Trtrs<T, I>,
    pub(super) gels: Gels<T, I>,
}

/// Singular values and eigenvalues of a real dtype.
#[derive(Clone, Copy)]
pub(super) struct RealSpectra<T, I> {
    pub(super) gesdd: RealGesdd<T, I>,
    pub(super) gesvd: RealGesvd<T, I>,
    pub(super) syevd: Syevd<T, I>,
    pub(super) geev: RealGeev<T, I>,
}

/// Singular values and eigenvalues of a complex dtype with components of `R`.
#[derive(Clone, Copy)]
pub(super) struct ComplexSpectra<T, R, I> {
    pub(super) gesdd: ComplexGesdd<T, R, I>,
    pub(super) gesvd: ComplexGesvd<T, R, I>,
    pub(super) heevd: Heevd<T, R, I>,
    pub(super) geev: ComplexGeev<T, R, I>,
}

/// The routines of the four dtypes, with integers `I`.
#[derive(Clone, Copy)]
pub struct LapackFunctions<I> {
    pub(super) f32: (Common<f32, I>, RealSpectra<f32, I>),
    pub(super) f64: (Common<f64, I>, RealSpectra<f64, I>),
    pub(super) c32: (Common<Complex32, I>, ComplexSpectra<Complex32, f32, I>),
    pub(super) c64: (Common<Complex64, I>, ComplexSpectra<Complex64, f64, I>),
}

/// The common routines of a dtype, whose names begin with its letter.
macro_rules! common {
    ($find:ident, $letter:literal, $orgqr:literal) => {
        Common {
            getrf: function($find(concat!($letter, "getrf"))?),
            getrs: function($find(concat!($letter, "getrs"))?),
            potrf: function($find(concat!($letter, "potrf"))?),
            geqrf: function($find(concat!($letter, "geqrf"))?),
            orgqr: function($find(concat!($letter, $orgqr))?),
            trtri: function($find(concat!($letter, "trtri"))?),
            trtrs: function($find(concat!($letter, "trtrs"))?),
            gels: function($find(concat!($letter, "gels"))?),
        }
    };
}

macro_rules! real {
    ($find:ident, $letter:literal) => {
        (
            common!($find, $letter, "orgqr"),
            RealSpectra {
                gesdd: function($find(concat!($letter, "gesdd"))?),
                gesvd: function($find(concat!($letter, "gesvd"))?),
                syevd: function($find(concat!($letter, "syevd"))?),
                geev: function($find(concat!($letter, "geev"))?),
            },
        )
    };
}

macro_rules! complex {
    ($find:ident, $letter:literal) => {
        (
            common!($find, $letter, "ungqr"),
            ComplexSpectra {
                gesdd: function($find(concat!($letter, "gesdd"))?),
                gesvd: function($find(concat!($letter, "gesvd"))?),
                heevd: function($find(concat!($letter, "heevd"))?),
                geev: function($find(concat!($letter, "geev"))?),
            },
        )
    };
}

impl<I> LapackFunctions<I> {
    /// The table of the routines that `find` finds by names such as `dgetrf`, without the underscore of Fortran.
    ///
    /// # Errors
    /// [`MissingFunction`] for the first one that is not there.
    ///
    /// # Safety
    /// What `find` returns for a name is the address of the LAPACK routine of that name, in Fortran's convention and
    /// with integers `I`, which stays where it is for the rest of the process.
    pub unsafe fn resolve(find: &Find<'_>) -> Result<Self, MissingFunction> {
        let find = |name: &'static str| -> Result<NonNull<c_void>, MissingFunction> {
            find(name).ok_or(MissingFunction { name })
        };
        // SAFETY: each field has the type of the routine of that name, which is the caller's promise.
        unsafe {
            Ok(Self {
                f32: real!(find, "s"),
                f64: real!(find, "d"),
                c32: complex!(find, "c"),
                c64: complex!(find, "z"),
            })
        }
    }
}

/// A dtype with routines in the table whose arguments do not depend on the kind of the dtype.
pub(super) trait Routines<I>: Scalar {
    /// Its routines.
    fn common(functions: &LapackFunctions<I>) -> &Common<Self, I>;

    /// Whether its routines know conjugation.
    const IS_COMPLEX: bool;

    /// The size that a routine has written into the first element of its work space.
    fn size(self) -> f64;
}

macro_rules! routines {
    ($($ty:ty, $field:ident, $complex:literal, $size:expr;)*) => {
        $(impl<I> Routines<I> for $ty {
            const IS_COMPLEX: bool = $complex;

            fn common(functions: &LapackFunctions<I>) -> &Common<Self, I> {
                &functions.$field.0
            }

            fn size(self) -> f64 {
                let size: fn($ty) -> f64 = $size;
                size(self)
            }
        })*
    };
}

// Sizes of many digits are rounded, so the next number up is taken.
routines! {
    f32, f32, false, |size| size.next_up().into();
    f64, f64, false, |size| size.next_up();
    Complex32, c32, true, |size| size.re.next_up().into();
    Complex64, c64, true, |size| size.re.next_up();
}
