//! Requests: a constructor for each routine, which checks shapes and dtypes and screens what will be read.

use std::{marker::PhantomData, ops::Range, ptr::NonNull};

use tenferro_tensor::{DType, Operand, OperandMut, Scalar, Validation, dispatch};

use super::{
    Call, Columns, Diagonal, Driver, Entries, Geev, Gels, Geqrf, Gesvd, Getrf, Getrs, Orgqr, Potrf,
    Routine, SingularVectors, Syevd, Transposition, Triangle, Trtri, Trtrs, Vectors, screen,
};
use crate::{Error, Matrix};

/// A checked request to a LAPACK.
///
/// Every matrix has two axes, the first in one piece; vectors have one axis in one piece. What is read is initialised
/// and finite. Constructors fail with [`Error::InvalidRequest`] for operands that do not fit, and with
/// [`Error::NonFinite`].
///
/// ```
/// use tenferro_provider::lapack::{Request, Routine, Triangle};
/// use tenferro_tensor::TensorViewMut;
///
/// let mut elements = [4.0_f64, 2.0, f64::NAN, 5.0];
/// let mut matrix = TensorViewMut::from_slice(&mut elements, &[2, 2], &[1, 2], 0)?;
/// let request = Request::potrf(Triangle::Lower, matrix.as_operand_mut())?;
/// assert_eq!(request.routine(), Routine::Potrf);
/// // The upper triangle is read: it has the NaN.
/// assert!(Request::potrf(Triangle::Upper, matrix.as_operand_mut()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Request<'a> {
    call: Call,
    dtype: DType,
    operands: PhantomData<&'a mut [u8]>,
}

impl<'a> Request<'a> {
    /// LU factors of `a` `[m, n]`, with `min(m, n)` pivots of i64.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn getrf(a: OperandMut<'a>, pivots: OperandMut<'a>) -> Result<Self, Error> {
        let check = Check::new(Routine::Getrf, a.dtype())?;
        let matrix = check.updated("a", a, everything)?;
        let pivots = check.written_vector("pivots", pivots, DType::I64, least(matrix))?;
        Ok(check.request(Call::Getrf(Getrf { a: matrix, pivots })))
    }

    /// Solutions of `op(a) x = b` from the factors of `a`, `b` being `[n, k]`.
    ///
    /// # Errors
    /// As said at [`Request`]; pivots outside of the matrix do not fit.
    pub fn getrs(
        op: Transposition,
        lu: Operand<'a>,
        pivots: Operand<'a>,
        b: OperandMut<'a>,
    ) -> Result<Self, Error> {
        let check = Check::new(Routine::Getrs, lu.dtype())?;
        let lu = check.square("lu", check.read("lu", &lu, everything)?)?;
        let exchanges = check.read_vector("pivots", &pivots, DType::I64)?;
        check.extents("pivots", [exchanges.len], [lu.rows])?;
        let places = pivots.as_slice::<i64>().unwrap_or_default();
        let inside = |(step, &place): (usize, &i64)| {
            usize::try_from(place).is_ok_and(|place| (step..lu.rows).contains(&place))
        };
        if !places.iter().enumerate().all(inside) {
            let rule = "a pivot must name a row that its step has not passed, counted from 0";
            return Err(check.refuse(Validation::Rule { rule }));
        }
        let b = check.updated("b", b, everything)?;
        check.extents("the rows of b", [b.rows], [lu.rows])?;
        Ok(check.request(Call::Getrs(Getrs { op, lu, pivots: exchanges, b })))
    }

    /// The Cholesky factor of `a` `[n, n]`.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn potrf(triangle: Triangle, a: OperandMut<'a>) -> Result<Self, Error> {
        let check = Check::new(Routine::Potrf, a.dtype())?;
        let a = check.square("a", check.updated("a", a, half(triangle, Diagonal::Stored))?)?;
        Ok(check.request(Call::Potrf(Potrf { triangle, a })))
    }

    /// QR factors of `a` `[m, n]`, with `min(m, n)` entries of `tau`.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn geqrf(a: OperandMut<'a>, tau: OperandMut<'a>) -> Result<Self, Error> {
        let check = Check::new(Routine::Geqrf, a.dtype())?;
        let a = check.updated("a", a, everything)?;
        let tau = check.written_vector("tau", tau, check.dtype, least(a))?;
        Ok(check.request(Call::Geqrf(Geqrf { a, tau })))
    }

    /// The orthonormal columns that the reflectors in `a` `[m, n]` and `tau` make.
    ///
    /// # Errors
    /// As said at [`Request`]; `n` must not be more than `m`, nor `tau` longer than `n`.
    pub fn orgqr(a: OperandMut<'a>, tau: Operand<'a>) -> Result<Self, Error> {
        let check = Check::new(Routine::Orgqr, a.dtype())?;
        let tau = check.read_vector("tau", &tau, check.dtype)?;
        let below = |extents: [usize; 2], col: usize| {
            let reads = col < tau.len;
            (col + 1).min(extents[0])..if reads { extents[0] } else { (col + 1).min(extents[0]) }
        };
        let a = check.updated("a", a, below)?;
        if a.cols > a.rows || tau.len > a.cols {
            let rule = "there are at most as many columns as rows, and reflectors as columns";
            return Err(check.refuse(Validation::Rule { rule }));
        }
        Ok(check.request(Call::Orgqr(Orgqr { a, tau })))
    }

    /// Singular values of `a` `[m, n]`, and vectors if `vectors` has where `u` and `vh` go.
    ///
    /// Vectors are `[m, k]` and `[k, n]` with `k = min(m, n)`, or `[m, m]` and `[n, n]`.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn gesvd(
        driver: Driver,
        a: OperandMut<'a>,
        values: OperandMut<'a>,
        vectors: Option<(OperandMut<'a>, OperandMut<'a>)>,
    ) -> Result<Self, Error> {
        let routine = match driver {
            Driver::DivideAndConquer => Routine::Gesdd,
            Driver::QrIteration => Routine::Gesvd,
        };
        let check = Check::new(routine, a.dtype())?;
        let a = check.updated("a", a, everything)?;
        let values = check.written_vector("values", values, check.real(), least(a))?;
        let vectors = vectors.map(|(u, vh)| {
            let (u, vh) =
                (check.written("u", u, check.dtype)?, check.written("vh", vh, check.dtype)?);
            let thin = [least(a); 2];
            let counts = if [u.cols, vh.rows] == thin { thin } else { [a.rows, a.cols] };
            check.extents("u", [u.rows, u.cols], [a.rows, counts[0]])?;
            check.extents("vh", [vh.rows, vh.cols], [counts[1], a.cols])?;
            Ok::<_, Error>(SingularVectors { u, vh })
        });
        let vectors = vectors.transpose()?;
        Ok(check.request(Call::Gesvd(Gesvd { driver, a, values, vectors })))
    }

    /// Eigenvalues, and vectors in place, of the Hermitian matrix in one triangle of `a` `[n, n]`.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn syevd(
        triangle: Triangle,
        vectors: Vectors,
        a: OperandMut<'a>,
        values: OperandMut<'a>,
    ) -> Result<Self, Error> {
        let check = Check::new(Routine::Syevd, a.dtype())?;
        let a = check.square("a", check.updated("a", a, half(triangle, Diagonal::Stored))?)?;
        let values = check.written_vector("values", values, check.real(), a.rows)?;
        Ok(check.request(Call::Syevd(Syevd { triangle, vectors, a, values })))
    }

    /// Eigenvalues, and vectors where they are given a place, of `a` `[n, n]`; they are complex for real matrices too.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn geev(
        a: OperandMut<'a>,
        values: OperandMut<'a>,
        left: Option<OperandMut<'a>>,
        right: Option<OperandMut<'a>>,
    ) -> Result<Self, Error> {
        let check = Check::new(Routine::Geev, a.dtype())?;
        let a = check.square("a", check.updated("a", a, everything)?)?;
        let values = check.written_vector("values", values, check.complex(), a.rows)?;
        let vectors = |name, place: Option<OperandMut<'a>>| {
            let written = place.map(|place| {
                let written = check.written(name, place, check.complex())?;
                check.extents(name, [written.rows, written.cols], [a.rows, a.cols])?;
                Ok::<_, Error>(written)
            });
            written.transpose()
        };
        let (left, right) = (vectors("left", left)?, vectors("right", right)?);
        Ok(check.request(Call::Geev(Geev { a, values, left, right })))
    }

    /// The inverse of the triangular matrix in one triangle of `a` `[n, n]`.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn trtri(triangle: Triangle, diagonal: Diagonal, a: OperandMut<'a>) -> Result<Self, Error> {
        let check = Check::new(Routine::Trtri, a.dtype())?;
        let a = check.square("a", check.updated("a", a, half(triangle, diagonal))?)?;
        Ok(check.request(Call::Trtri(Trtri { triangle, diagonal, a })))
    }

    /// Solutions of `op(a) x = b` for the triangular matrix in one triangle of `a`, `b` being `[n, k]`.
    ///
    /// # Errors
    /// As said at [`Request`].
    pub fn trtrs(
        triangle: Triangle,
        op: Transposition,
        diagonal: Diagonal,
        a: Operand<'a>,
        b: OperandMut<'a>,
    ) -> Result<Self, Error> {
        let check = Check::new(Routine::Trtrs, a.dtype())?;
        let a = check.square("a", check.read("a", &a, half(triangle, diagonal))?)?;
        let b = check.updated("b", b, everything)?;
        check.extents("the rows of b", [b.rows], [a.rows])?;
        Ok(check.request(Call::Trtrs(Trtrs { triangle, op, diagonal, a, b })))
    }

    /// Least squares or minimum norm solutions of `op(a) x = b`, `a` being `[m, n]` and `b` `[max(m, n), k]`.
    ///
    /// # Errors
    /// As said at [`Request`]; `op` must be plain or adjoint.
    pub fn gels(op: Transposition, a: OperandMut<'a>, b: OperandMut<'a>) -> Result<Self, Error> {
        let check = Check::new(Routine::Gels, a.dtype())?;
        if op == Transposition::Transposed && check.dtype.is_complex() {
            let rule = "a complex matrix stands as it is or as its adjoint";
            return Err(check.refuse(Validation::Rule { rule }));
        }
        let a = check.updated("a", a, everything)?;
        let right = if op == Transposition::Plain { a.rows } else { a.cols };
        let b = check.updated("b", b, |extents, _| 0..right.min(extents[0]))?;
        check.extents("the rows of b", [b.rows], [a.rows.max(a.cols)])?;
        Ok(check.request(Call::Gels(Gels { op, a, b })))
    }

    /// The dtype of the matrices: f32, f64, c32 or c64.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// What is asked for, as raw parts that are valid while this request is borrowed.
    #[must_use]
    pub fn call(&mut self) -> Call {
        self.call
    }

    /// The routine.
    #[must_use]
    pub fn routine(&self) -> Routine {
        match self.call {
            Call::Getrf(_) => Routine::Getrf,
            Call::Getrs(_) => Routine::Getrs,
            Call::Potrf(_) => Routine::Potrf,
            Call::Geqrf(_) => Routine::Geqrf,
            Call::Orgqr(_) => Routine::Orgqr,
            Call::Gesvd(Gesvd { driver: Driver::DivideAndConquer, .. }) => Routine::Gesdd,
            Call::Gesvd(Gesvd { driver: Driver::QrIteration, .. }) => Routine::Gesvd,
            Call::Syevd(_) => Routine::Syevd,
            Call::Geev(_) => Routine::Geev,
            Call::Trtri(_) => Routine::Trtri,
            Call::Trtrs(_) => Routine::Trtrs,
            Call::Gels(_) => Routine::Gels,
        }
    }
}

/// The rows of a column, of a matrix with these extents, that a routine reads.
fn everything(extents: [usize; 2], _: usize) -> Range<usize> {
    0..extents[0]
}

/// The rows that lie in one half of a matrix, with or without its diagonal.
fn half(triangle: Triangle, diagonal: Diagonal) -> impl Fn([usize; 2], usize) -> Range<usize> {
    move |[rows, _], col| {
        let unit = usize::from(diagonal == Diagonal::Unit);
        match triangle {
            Triangle::Lower => (col + unit).min(rows)..rows,
            Triangle::Upper => 0..(col + 1 - unit).min(rows),
        }
    }
}

fn least(matrix: Columns) -> usize {
    matrix.rows.min(matrix.cols)
}

/// The checks of one request.
struct Check {
    routine: Routine,
    dtype: DType,
}

impl Check {
    fn new(routine: Routine, dtype: DType) -> Result<Self, Error> {
        let check = Self { routine, dtype };
        if screen::DTYPES.contains(&dtype) {
            return Ok(check);
        }
        let expected = "convert to f32, f64, c32 or c64 first";
        Err(check.refuse(Validation::MeaninglessDType { dtype, expected }))
    }

    fn refuse(&self, source: Validation) -> Error {
        Error::InvalidRequest { routine: self.routine, source }
    }

    fn request<'a>(&self, call: Call) -> Request<'a> {
        Request { call, dtype: self.dtype, operands: PhantomData }
    }

    fn real(&self) -> DType {
        dispatch!(self.dtype, any T => <T as Scalar>::Real::DTYPE)
    }

    fn complex(&self) -> DType {
        dispatch!(self.dtype, any T => <T as Scalar>::Complex::DTYPE)
    }

    fn extents<const N: usize>(
        &self,
        what: &'static str,
        actual: [usize; N],
        expected: [usize; N],
    ) -> Result<(), Error> {
        match (0..N).find(|&axis| actual[axis] != expected[axis]) {
            None => Ok(()),
            Some(axis) => Err(self.refuse(Validation::ExtentMismatch {
                what,
                lhs: expected[axis],
                rhs: actual[axis],
                lhs_shape: expected[..].into(),
                rhs_shape: actual[..].into(),
            })),
        }
    }

    fn square(&self, what: &'static str, matrix: Columns) -> Result<Columns, Error> {
        self.extents(what, [matrix.cols], [matrix.rows])?;
        Ok(matrix)
    }

    /// A matrix that is only read.
    fn read(
        &self,
        what: &'static str,
        matrix: &Operand<'_>,
        read: impl Fn([usize; 2], usize) -> Range<usize>,
    ) -> Result<Columns, Error> {
        let columns = self.columns(
            what,
            (matrix.data(), matrix.dtype(), matrix.shape(), matrix.strides()),
            self.dtype,
        )?;
        let extents = [columns.rows, columns.cols];
        self.screen(what, matrix, |col| read(extents, col))?;
        Ok(columns)
    }

    /// A matrix that is read and written.
    fn updated(
        &self,
        what: &'static str,
        matrix: OperandMut<'_>,
        read: impl Fn([usize; 2], usize) -> Range<usize>,
    ) -> Result<Columns, Error> {
        match matrix.as_operand() {
            Some(operand) => self.read(what, &operand, read),
            None => {
                let rule = "a matrix that is read must have been written before";
                Err(self.refuse(Validation::Rule { rule }))
            }
        }
    }

    /// A matrix that is only written.
    fn written(
        &self,
        what: &'static str,
        mut matrix: OperandMut<'_>,
        dtype: DType,
    ) -> Result<Columns, Error> {
        let data = matrix.data();
        self.columns(what, (data, matrix.dtype(), matrix.shape(), matrix.strides()), dtype)
    }

    fn read_vector(
        &self,
        what: &'static str,
        vector: &Operand<'_>,
        dtype: DType,
    ) -> Result<Entries, Error> {
        let entries = self.entries(
            what,
            (vector.data(), vector.dtype(), vector.shape(), vector.strides()),
            dtype,
        )?;
        self.screen(what, vector, |_| 0..entries.len)?;
        Ok(entries)
    }

    fn written_vector(
        &self,
        what: &'static str,
        mut vector: OperandMut<'_>,
        dtype: DType,
        len: usize,
    ) -> Result<Entries, Error> {
        let data = vector.data();
        let parts = (data, vector.dtype(), &vector.shape()[..], vector.strides());
        let entries = self.entries(what, parts, dtype)?;
        self.extents(what, [entries.len], [len])?;
        Ok(entries)
    }

    fn screen(
        &self,
        operand: &'static str,
        matrix: &Operand<'_>,
        read: impl Fn(usize) -> Range<usize>,
    ) -> Result<(), Error> {
        match screen::first_wild(matrix, read) {
            None => Ok(()),
            Some(index) => Err(Error::NonFinite { routine: self.routine, operand, index }),
        }
    }

    fn columns(
        &self,
        what: &'static str,
        parts: (NonNull<u8>, DType, &[usize], Option<&[isize]>),
        expected: DType,
    ) -> Result<Columns, Error> {
        let (data, dtype, shape, strides) = parts;
        self.same(dtype, expected)?;
        let &[rows, cols] = shape else {
            let actual = shape.len();
            return Err(self.refuse(Validation::WrongLength { what, expected: 2, actual }));
        };
        let strides =
            strides.map_or([1, rows.max(1).cast_signed()], |strides| [strides[0], strides[1]]);
        let [row_stride, col_stride] = strides;
        let matrix = Matrix { data, rows, cols, row_stride, col_stride, batch_stride: 0 };
        match matrix.leading_dimension() {
            Some(leading) => Ok(Columns { data, rows, cols, leading }),
            None => {
                let rule = "a matrix must have its columns in one piece each, one after the other; copy it";
                Err(self.refuse(Validation::Rule { rule }))
            }
        }
    }

    fn entries(
        &self,
        what: &'static str,
        parts: (NonNull<u8>, DType, &[usize], Option<&[isize]>),
        expected: DType,
    ) -> Result<Entries, Error> {
        let (data, dtype, shape, strides) = parts;
        self.same(dtype, expected)?;
        let &[len] = shape else {
            let actual = shape.len();
            return Err(self.refuse(Validation::WrongLength { what, expected: 1, actual }));
        };
        if len > 1 && strides.is_some_and(|strides| strides[0] != 1) {
            let rule = "a vector must lie in one piece; copy it";
            return Err(self.refuse(Validation::Rule { rule }));
        }
        Ok(Entries { data, len })
    }

    fn same(&self, dtype: DType, expected: DType) -> Result<(), Error> {
        if dtype == expected {
            return Ok(());
        }
        Err(self.refuse(Validation::DTypeMismatch { lhs: expected, rhs: dtype }))
    }
}
