//! The functions of a CBLAS that are called, with their types, for one width of integers.
//!
//! A table is made from addresses, wherever they come from: a library that was loaded, or one that was linked. It is a
//! promise that each address is the function of that name; everything unsafe in this folder leans on it.

use std::{
    ffi::{c_int, c_void},
    ptr::NonNull,
};

use tenferro_tensor::{Complex32, Complex64, Conjugation};

use super::scale::Field;

/// A function that a library must have and this one has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has no function `{name}`")]
pub struct MissingFunction {
    /// The name in the standard's words.
    pub name: &'static str,
}

/// `gemm` of a real dtype: factors by value.
type RealGemm<T, I> =
    unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, T, *const T, I, *const T, I, T, *mut T, I);

/// `gemm` of a complex dtype: factors by address.
type ComplexGemm<T, I> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    I,
    I,
    I,
    *const T,
    *const T,
    I,
    *const T,
    I,
    *const T,
    *mut T,
    I,
);

/// `dot` of a real dtype.
type RealDot<T, I> = unsafe extern "C" fn(I, *const T, I, *const T, I) -> T;

/// `dotu_sub` and `dotc_sub` of a complex dtype: CBLAS writes complex results and never returns them.
type ComplexDot<T, I> = unsafe extern "C" fn(I, *const T, I, *const T, I, *mut T);

/// The functions of a real dtype.
#[derive(Clone, Copy)]
struct Real<T, I> {
    gemm: RealGemm<T, I>,
    dot: RealDot<T, I>,
}

/// The functions of a complex dtype.
#[derive(Clone, Copy)]
struct Complex<T, I> {
    gemm: ComplexGemm<T, I>,
    /// Neither vector conjugated.
    dotu: ComplexDot<T, I>,
    /// The first vector conjugated.
    dotc: ComplexDot<T, I>,
}

/// The functions of the four dtypes, with integers `I`.
#[derive(Clone, Copy)]
pub struct BlasFunctions<I> {
    f32: Real<f32, I>,
    f64: Real<f64, I>,
    c32: Complex<Complex32, I>,
    c64: Complex<Complex64, I>,
}

/// Addresses by the standard's names, such as `cblas_dgemm`.
pub type Find<'a> = dyn Fn(&str) -> Option<NonNull<c_void>> + 'a;

impl<I> BlasFunctions<I> {
    /// The table of the functions that `find` finds.
    ///
    /// # Errors
    /// [`MissingFunction`] for the first one that is not there.
    ///
    /// # Safety
    /// What `find` returns for a name is the address of the CBLAS function of that name, with integers `I`, which
    /// stays where it is for the rest of the process.
    pub unsafe fn resolve(find: &Find<'_>) -> Result<Self, MissingFunction> {
        let find = |name| find(name).ok_or(MissingFunction { name });
        // SAFETY: each field has the type of the function of that name, which is the caller's promise.
        unsafe {
            Ok(Self {
                f32: Real {
                    gemm: function(find("cblas_sgemm")?),
                    dot: function(find("cblas_sdot")?),
                },
                f64: Real {
                    gemm: function(find("cblas_dgemm")?),
                    dot: function(find("cblas_ddot")?),
                },
                c32: Complex {
                    gemm: function(find("cblas_cgemm")?),
                    dotu: function(find("cblas_cdotu_sub")?),
                    dotc: function(find("cblas_cdotc_sub")?),
                },
                c64: Complex {
                    gemm: function(find("cblas_zgemm")?),
                    dotu: function(find("cblas_zdotu_sub")?),
                    dotc: function(find("cblas_zdotc_sub")?),
                },
            })
        }
    }
}

/// An address as a function pointer.
///
/// # Safety
/// `F` is a pointer to a function, and the one at this address is of its type.
#[must_use]
pub unsafe fn function<F: Copy>(address: NonNull<c_void>) -> F {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>(), "F must be a thin pointer") };
    // SAFETY: function pointers have the size and the validity of non-null addresses; the type is the caller's promise.
    unsafe { std::mem::transmute_copy(&address) }
}

/// One call of `gemm` in column-major order: `c = alpha * a * b + beta * c`.
#[derive(Clone, Copy)]
pub(super) struct Gemm<T, I> {
    pub(super) operations: [Operation; 2],
    /// Rows, columns, and the extent that is summed over.
    pub(super) extents: [I; 3],
    pub(super) alpha: T,
    pub(super) a: *const T,
    pub(super) b: *const T,
    pub(super) beta: T,
    pub(super) c: *mut T,
    /// The leading dimensions of a, b and c.
    pub(super) leading: [I; 3],
}

/// How gemm reads an operand, by CBLAS's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Operation {
    Plain = 111,
    Transposed = 112,
    ConjugateTransposed = 113,
}

/// Column-major order, by CBLAS's number.
const COLUMN_MAJOR: c_int = 102;

/// A vector of a dot product: the lowest address and the step between elements, never zero.
#[derive(Clone, Copy)]
pub(super) struct Vector<T, I> {
    pub(super) data: *const T,
    pub(super) step: I,
    pub(super) conjugation: Conjugation,
}

/// A dtype with functions in the table.
pub(super) trait Element<I>: Field {
    /// Calls `gemm`.
    ///
    /// # Safety
    /// The addresses, extents and leading dimensions describe matrices that are readable, and writable for `c`.
    unsafe fn gemm(functions: &BlasFunctions<I>, call: &Gemm<Self, I>);

    /// The dot product of `count` elements.
    ///
    /// # Safety
    /// The vectors are readable.
    unsafe fn dot(
        functions: &BlasFunctions<I>,
        count: I,
        x: Vector<Self, I>,
        y: Vector<Self, I>,
    ) -> Self;
}

macro_rules! elements {
    (real: $($real:ident),*; complex: $($field:ident = $complex:ty),*) => {
        $(impl<I: Copy> Element<I> for $real {
            unsafe fn gemm(functions: &BlasFunctions<I>, call: &Gemm<Self, I>) {
                let ([ta, tb], [m, n, k]) = (call.operations.map(|o| o as c_int), call.extents);
                let [lda, ldb, ldc] = call.leading;
                // SAFETY: the caller's promise is gemm's own.
                unsafe {
                    (functions.$real.gemm)(COLUMN_MAJOR, ta, tb, m, n, k, call.alpha, call.a, lda,
                        call.b, ldb, call.beta, call.c, ldc);
                }
            }

            unsafe fn dot(functions: &BlasFunctions<I>, count: I, x: Vector<Self, I>, y: Vector<Self, I>) -> Self {
                // SAFETY: the caller's promise is dot's own.
                unsafe { (functions.$real.dot)(count, x.data, x.step, y.data, y.step) }
            }
        })*
        $(impl<I: Copy> Element<I> for $complex {
            unsafe fn gemm(functions: &BlasFunctions<I>, call: &Gemm<Self, I>) {
                let ([ta, tb], [m, n, k]) = (call.operations.map(|o| o as c_int), call.extents);
                let [lda, ldb, ldc] = call.leading;
                // SAFETY: the caller's promise is gemm's own; the factors live as long as the call.
                unsafe {
                    (functions.$field.gemm)(COLUMN_MAJOR, ta, tb, m, n, k, &raw const call.alpha, call.a, lda,
                        call.b, ldb, &raw const call.beta, call.c, ldc);
                }
            }

            unsafe fn dot(functions: &BlasFunctions<I>, count: I, x: Vector<Self, I>, y: Vector<Self, I>) -> Self {
                use Conjugation::{Conjugated, Plain};
                let (dotu, dotc) = (functions.$field.dotu, functions.$field.dotc);
                // NaN, so that a library which returns the result rather than writing it is found out.
                let mut result = <$complex>::new(f64::NAN as _, f64::NAN as _);
                let out = &raw mut result;
                // SAFETY: the caller's promise is dot's own; the result is written to `result`.
                unsafe {
                    match (x.conjugation, y.conjugation) {
                        (Plain, Plain) | (Conjugated, Conjugated) => {
                            dotu(count, x.data, x.step, y.data, y.step, out);
                        }
                        (Conjugated, Plain) => dotc(count, x.data, x.step, y.data, y.step, out),
                        (Plain, Conjugated) => dotc(count, y.data, y.step, x.data, x.step, out),
                    }
                }
                let both = (x.conjugation, y.conjugation) == (Conjugated, Conjugated);
                if both { result.conj() } else { result }
            }
        })*
    };
}

elements!(real: f32, f64; complex: c32 = Complex32, c64 = Complex64);

/// Integers of a library.
pub(super) trait Integer: Copy + Default + Send + Sync + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// -1.
    const MINUS_ONE: Self;

    /// The value, if it fits.
    fn of(value: isize) -> Option<Self>;

    /// The value.
    fn get(self) -> i64;
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl Integer for $integer {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MINUS_ONE: Self = -1;

            fn of(value: isize) -> Option<Self> {
                value.try_into().ok()
            }

            fn get(self) -> i64 {
                self.into()
            }
        })*
    };
}

integers!(i32, i64);

/// The width of a library's integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntegerWidth {
    /// 32 bits: LP64.
    Lp64,
    /// 64 bits: ILP64.
    Ilp64,
}

impl std::fmt::Display for IntegerWidth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            IntegerWidth::Lp64 => "32-bit integers (LP64)",
            IntegerWidth::Ilp64 => "64-bit integers (ILP64)",
        })
    }
}

impl IntegerWidth {
    /// The width of the integers that a `cblas_ddot` takes, found by calling it.
    ///
    /// The length is 2 in the lower half of a register and -1 in the upper half: a function of 32 bits sees 2 elements,
    /// one of 64 bits a negative length, for which it must return 0 without reading. `None` for any other answer.
    ///
    /// # Safety
    /// The address is that of a `cblas_ddot`, of either width.
    #[must_use]
    pub unsafe fn of_dot(address: NonNull<c_void>) -> Option<Self> {
        // SAFETY: the caller's promise; a function of 32-bit integers reads the lower halves of the same registers.
        let dot: RealDot<f64, i64> = unsafe { function(address) };
        let (x, y) = ([1.0, 2.0], [3.0, 4.0]);
        // SAFETY: either view of the length lets it read two elements or none.
        let answer = unsafe { dot(-(1 << 32) + 2, x.as_ptr(), 1, y.as_ptr(), 1) };
        match answer {
            11.0 => Some(IntegerWidth::Lp64),
            0.0 => Some(IntegerWidth::Ilp64),
            _ => None,
        }
    }
}
