//! Singular values and eigenvalues, whose routines take other arguments for complex dtypes than for real ones.

use tenferro_tensor::{Complex32, Complex64, Scalar};

use super::{
    Letter, Matrix, Stop,
    common::half,
    functions::{LapackFunctions, Routines},
    identity, letter, set,
    work::{Space, asked, judge, size},
};
use crate::{
    foreign::functions::Integer,
    lapack::{Columns, Driver, Geev, Gesvd, Syevd, Vectors},
};

/// A dtype with these routines. Its matrices have elements, and its requests are borrowed.
pub(super) trait Spectra<I>: Routines<I> {
    /// Singular values, and vectors where they are wanted.
    fn decompose(functions: &LapackFunctions<I>, call: Gesvd) -> Result<(), Stop>;

    /// Eigenvalues of a Hermitian matrix, and vectors if they are wanted.
    fn hermitian(functions: &LapackFunctions<I>, call: Syevd) -> Result<(), Stop>;

    /// Eigenvalues of any matrix, and vectors where they are wanted.
    fn general(functions: &LapackFunctions<I>, call: Geev) -> Result<(), Stop>;
}

pub(super) fn singular<T: Spectra<I>, I: Integer>(
    functions: &LapackFunctions<I>,
    call: Gesvd,
) -> Result<(), Stop> {
    if call.values.len > 0 {
        return T::decompose(functions, call);
    }
    // Any orthonormal vectors will do.
    for columns in call.vectors.into_iter().flat_map(|vectors| [vectors.u, vectors.vh]) {
        // SAFETY: the columns are the request's to write, of its dtype.
        unsafe { identity::<T>(columns) };
    }
    Ok(())
}

/// Where vectors go, and whether all of them are wanted: a place that is not used if there are none.
struct Places<T, I> {
    job: Letter,
    u: Matrix<T, I>,
    vh: Matrix<T, I>,
}

impl<T, I: Integer> Places<T, I> {
    fn of(call: &Gesvd) -> Result<Self, Stop> {
        let job = match call.vectors {
            None => letter!(b'N'),
            Some(vectors) if vectors.is_full() => letter!(b'A'),
            Some(_) => letter!(b'S'),
        };
        let [u, vh] = match call.vectors {
            None => [None, None],
            Some(vectors) => [Some(vectors.u), Some(vectors.vh)],
        };
        Ok(Self { job, u: place(u)?, vh: place(vh)? })
    }
}

/// A matrix to write, or one that is not used.
fn place<T, I: Integer>(columns: Option<Columns>) -> Result<Matrix<T, I>, Stop> {
    let unused =
        Matrix { data: std::ptr::dangling_mut(), rows: I::ONE, cols: I::ONE, leading: I::ONE };
    columns.map_or(Ok(unused), Matrix::of)
}

fn job(wanted: bool) -> Letter {
    if wanted { letter!(b'V') } else { letter!(b'N') }
}

/// The reals that `gesdd` of a complex matrix needs beside its work space; old versions need more than new ones.
fn gesdd_reals(a: Columns, with_vectors: bool) -> usize {
    let (least, most) = (a.rows.min(a.cols), a.rows.max(a.cols));
    if !with_vectors {
        return 7 * least;
    }
    (5 * least * least + 7 * least).max(2 * most * least + 2 * least * least + least)
}

// SAFETY, for all calls below: as said in `common`; `N` for vectors leaves their place alone, and work space has the
// length that the routine said, or that its documentation says.

macro_rules! spectra {
    ($($real:ident, $complex:ty, $field:ident;)*) => { $(
        impl<I: Integer> Spectra<I> for $real {
            fn decompose(functions: &LapackFunctions<I>, call: Gesvd) -> Result<(), Stop> {
                let (table, least) = (&functions.$real.1, call.values.len);
                let a = Matrix::<Self, I>::of(call.a)?;
                let Places { job, u, vh } = Places::<Self, I>::of(&call)?;
                let s = call.values.pointer::<Self>();
                let mut integers = Space::<I>::of(8 * least);
                let iwork = integers.pointer();
                asked::<Self, I>(|work, len, info| match call.driver {
                    // SAFETY: as said above.
                    Driver::DivideAndConquer => unsafe {
                        (table.gesdd)(job, &a.rows, &a.cols, a.data, &a.leading, s, u.data, &u.leading,
                            vh.data, &vh.leading, work, len, iwork, info, 1);
                    },
                    // SAFETY: as said above.
                    Driver::QrIteration => unsafe {
                        (table.gesvd)(job, job, &a.rows, &a.cols, a.data, &a.leading, s, u.data, &u.leading,
                            vh.data, &vh.leading, work, len, info, 1, 1);
                    },
                })
            }

            fn hermitian(functions: &LapackFunctions<I>, call: Syevd) -> Result<(), Stop> {
                let table = &functions.$real.1;
                let a = Matrix::<Self, I>::of(call.a)?;
                let (job, half) = (job(call.vectors == Vectors::Computed), half(call.triangle));
                let values = call.values.pointer::<Self>();
                // SAFETY: as said above.
                let syevd = |work: *mut Self, len: &I, iwork: *mut I, ilen: &I| unsafe {
                    let mut info = I::ZERO;
                    (table.syevd)(job, half, &a.rows, a.data, &a.leading, values, work, len, iwork, ilen,
                        &mut info, 1, 1);
                    judge(info)
                };
                let (mut answer, mut integers) = (Self::default(), I::ZERO);
                syevd(&raw mut answer, &I::MINUS_ONE, &raw mut integers, &I::MINUS_ONE)?;
                let mut work = Space::<Self>::of(size(Routines::<I>::size(answer))?);
                let mut iwork = Space::<I>::of(size(integers.get() as f64)?);
                syevd(work.pointer(), &work.len()?, iwork.pointer(), &iwork.len()?)
            }

            fn general(functions: &LapackFunctions<I>, call: Geev) -> Result<(), Stop> {
                let (table, n) = (&functions.$real.1, call.a.rows);
                let a = Matrix::<Self, I>::of(call.a)?;
                let [jobl, jobr] = [call.left, call.right].map(|place| job(place.is_some()));
                let mut columns = [call.left, call.right].map(|place| {
                    Space::<Self>::of(if place.is_some() { n * n } else { 1 })
                });
                let [vl, vr] = columns.each_mut().map(Space::pointer);
                let (mut re, mut im) = (vec![Self::default(); n], vec![Self::default(); n]);
                let (wr, wi) = (re.as_mut_ptr(), im.as_mut_ptr());
                asked::<Self, I>(|work, len, info| {
                    // SAFETY: as said above.
                    unsafe {
                        (table.geev)(jobl, jobr, &a.rows, a.data, &a.leading, wr, wi, vl, &a.rows, vr, &a.rows,
                            work, len, info, 1, 1);
                    }
                })?;
                for place in 0..n {
                    let value = <$complex>::new(re[place], im[place]);
                    // SAFETY: the request has an entry for each value.
                    unsafe { set(call.values, place, value) };
                }
                for (place, columns) in [call.left, call.right].into_iter().zip(&columns) {
                    let Some(place) = place else { continue };
                    for col in 0..n {
                        for row in 0..n {
                            let value = { let (re, im) = paired(columns.elements(), &im, row, col); <$complex>::new(re, im) };
                            let element = place.pointer::<$complex>().wrapping_add(row + col * place.leading);
                            // SAFETY: the element is inside of the vectors, which are the request's to write.
                            unsafe { element.write(value) };
                        }
                    }
                }
                Ok(())
            }
        }

        impl<I: Integer> Spectra<I> for $complex {
            fn decompose(functions: &LapackFunctions<I>, call: Gesvd) -> Result<(), Stop> {
                let (table, least) = (&functions.$field.1, call.values.len);
                let a = Matrix::<Self, I>::of(call.a)?;
                let Places { job, u, vh } = Places::<Self, I>::of(&call)?;
                let s = call.values.pointer::<$real>();
                let mut integers = Space::<I>::of(8 * least);
                let mut reals = Space::<$real>::of(match call.driver {
                    Driver::DivideAndConquer => gesdd_reals(call.a, call.vectors.is_some()),
                    Driver::QrIteration => 5 * least,
                });
                let (iwork, rwork) = (integers.pointer(), reals.pointer());
                asked::<Self, I>(|work, len, info| match call.driver {
                    // SAFETY: as said above.
                    Driver::DivideAndConquer => unsafe {
                        (table.gesdd)(job, &a.rows, &a.cols, a.data, &a.leading, s, u.data, &u.leading,
                            vh.data, &vh.leading, work, len, rwork, iwork, info, 1);
                    },
                    // SAFETY: as said above.
                    Driver::QrIteration => unsafe {
                        (table.gesvd)(job, job, &a.rows, &a.cols, a.data, &a.leading, s, u.data, &u.leading,
                            vh.data, &vh.leading, work, len, rwork, info, 1, 1);
                    },
                })
            }

            fn hermitian(functions: &LapackFunctions<I>, call: Syevd) -> Result<(), Stop> {
                let table = &functions.$field.1;
                let a = Matrix::<Self, I>::of(call.a)?;
                let (job, half) = (job(call.vectors == Vectors::Computed), half(call.triangle));
                let values = call.values.pointer::<$real>();
                let heevd = |(work, len): (*mut Self, &I), (rwork, rlen): (*mut $real, &I), (iwork, ilen): (*mut I, &I)| {
                    let mut info = I::ZERO;
                    // SAFETY: as said above.
                    unsafe {
                        (table.heevd)(job, half, &a.rows, a.data, &a.leading, values, work, len, rwork, rlen,
                            iwork, ilen, &mut info, 1, 1);
                    }
                    judge(info)
                };
                let (mut answer, mut reals, mut integers) = (Self::default(), $real::default(), I::ZERO);
                let ask = &I::MINUS_ONE;
                heevd((&raw mut answer, ask), (&raw mut reals, ask), (&raw mut integers, ask))?;
                let mut work = Space::<Self>::of(size(Routines::<I>::size(answer))?);
                let mut rwork = Space::<$real>::of(size(Routines::<I>::size(reals))?);
                let mut iwork = Space::<I>::of(size(integers.get() as f64)?);
                heevd(
                    (work.pointer(), &work.len()?),
                    (rwork.pointer(), &rwork.len()?),
                    (iwork.pointer(), &iwork.len()?),
                )
            }

            fn general(functions: &LapackFunctions<I>, call: Geev) -> Result<(), Stop> {
                let table = &functions.$field.1;
                let a = Matrix::<Self, I>::of(call.a)?;
                let [jobl, jobr] = [call.left, call.right].map(|place| job(place.is_some()));
                let (left, right) = (place::<Self, I>(call.left)?, place::<Self, I>(call.right)?);
                let values = call.values.pointer::<Self>();
                let mut reals = Space::<$real>::of(2 * call.a.rows);
                let rwork = reals.pointer();
                asked::<Self, I>(|work, len, info| {
                    // SAFETY: as said above.
                    unsafe {
                        (table.geev)(jobl, jobr, &a.rows, a.data, &a.leading, values, left.data, &left.leading,
                            right.data, &right.leading, work, len, rwork, info, 1, 1);
                    }
                })
            }
        }
    )* };
}

spectra! {
    f32, Complex32, c32;
    f64, Complex64, c64;
}

/// An element of the vectors of a real matrix, real and imaginary part.
///
/// Those of two conjugate values lie in two columns: the real parts, then the imaginary parts of the first one.
fn paired<R: Scalar + std::ops::Neg<Output = R> + PartialOrd>(
    columns: &[R],
    imaginary: &[R],
    row: usize,
    col: usize,
) -> (R, R) {
    let (n, zero) = (imaginary.len(), R::default());
    let element = |col: usize| columns[row + col * n];
    if imaginary[col] == zero {
        (element(col), zero)
    } else if imaginary[col] > zero {
        // The first of a pair has the positive imaginary part.
        (element(col), element(col + 1))
    } else {
        (element(col - 1), -element(col))
    }
}
