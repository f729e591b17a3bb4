//! One request for matrix products: `out = alpha * lhs * rhs + beta * out` for each matrix of a batch.
//!
//! A `Product` in hand is valid: dtypes agree, extents fit, and the dtype can hold the factors. Providers check what
//! they can do, never again whether the request makes sense. It allocates nothing and copies no element.

use std::{marker::PhantomData, ops::Range};

use tenferro_tensor::{
    Conjugation, DType, Factor, Operand, OperandMut, Scalar, Validation, dispatch,
};

use crate::{Error, Matrix};

/// A checked request for `out[:, :, b] = alpha * lhs[:, :, b] * rhs[:, :, b] + beta * out[:, :, b]`.
///
/// Shapes are `[m, k, batch]`, `[k, n, batch]` and `[m, n, batch]`; an input that the whole batch shares has batch
/// stride 0. Inputs may have any strides. With beta = 0 `out` is never read, with alpha = 0 the inputs are not.
///
/// ```
/// use tenferro_provider::Product;
/// use tenferro_tensor::{Factor, Tensor, TensorViewMut};
/// use tenferro_tensor::AsOperand;
///
/// let lhs = Tensor::from_vec_col_major(vec![2, 3, 1], vec![1.0_f64; 6])?;
/// let rhs = Tensor::from_vec_col_major(vec![3, 1, 1], vec![1.0_f64; 3])?;
/// let mut sums = [0.0_f64; 2];
/// let mut out = TensorViewMut::from_slice(&mut sums, &[2, 1, 1], &[1, 2, 2], 0)?;
/// let product = Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut())?
///     .scaled(Factor::Real(0.5), Factor::ONE)?;
/// assert_eq!((product.m(), product.n(), product.k(), product.batch()), (2, 1, 3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Product<'a> {
    dtype: DType,
    batch: usize,
    lhs: Matrix,
    rhs: Matrix,
    out: Matrix,
    lhs_conjugation: Conjugation,
    rhs_conjugation: Conjugation,
    /// What the four fields around this say together, so that the smallest products need not ask each.
    plain: bool,
    alpha: Factor,
    beta: Factor,
    /// Two shared borrows and a unique one of plain elements.
    operands: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: a product is two shared borrows and a unique one of plain elements.
#[allow(unsafe_code, reason = "its addresses are borrows, which may go to other threads")]
unsafe impl Send for Product<'_> {}

impl<'a> Product<'a> {
    /// The product of `lhs` `[m, k, batch]` and `rhs` `[k, n, batch]` into `out` `[m, n, batch]`.
    ///
    /// Nothing is conjugated, alpha is 1 and beta 0 until said otherwise.
    ///
    /// # Errors
    /// [`Error::InvalidProduct`] if an operand has not three axes, dtypes differ or are bool, or extents do not fit.
    #[inline(always)]
    pub fn new(lhs: Operand<'a>, rhs: Operand<'a>, mut out: OperandMut<'a>) -> Result<Self, Error> {
        let dtype = lhs.dtype();
        let shapes = (&lhs.shape()[..], &rhs.shape()[..], &out.shape()[..]);
        let (&[m, k, batch], &[rows, n, rhs_batch], &[out_rows, cols, out_batch]) = shapes else {
            return Err(mismatch(&lhs, &rhs, &out));
        };
        let agree =
            rows == k && rhs_batch == batch && out_rows == m && cols == n && out_batch == batch;
        let same = dtype == rhs.dtype() && dtype == out.dtype() && dtype != DType::Bool;
        if !agree || !same {
            return Err(mismatch(&lhs, &rhs, &out));
        }
        let data = out.data();
        let lhs = Matrix::new(lhs.data(), [m, k], lhs.strides());
        let rhs = Matrix::new(rhs.data(), [k, n], rhs.strides());
        Ok(Self::of(dtype, batch, [lhs, rhs, Matrix::new(data, [m, n], out.strides())]))
    }

    /// The one product of two operands, in which axis `over[0]` of `lhs` and axis `over[1]` of `rhs` are summed over.
    ///
    /// It is that of [`Product::new`] without a batch axis, for matrices whose axes come in either order. An operand of one
    /// axis is a row on the left and a column on the right, and has no axis in the result.
    ///
    /// # Errors
    /// [`Error::InvalidProduct`] as for [`Product::new`], if an operand has neither one axis nor two, or not the one to be
    /// summed over, or `out` has others than those that are left.
    ///
    /// # Panics
    /// If an axis to be summed over is neither 0 nor 1.
    #[inline(always)]
    pub fn of_two(
        lhs: Operand<'a>,
        rhs: Operand<'a>,
        mut out: OperandMut<'a>,
        over: [usize; 2],
    ) -> Result<Self, Error> {
        assert!(over[0] < 2 && over[1] < 2, "a matrix has the axes 0 and 1");
        let dtype = lhs.dtype();
        let data = out.data();
        let ranks = [lhs.shape().rank(), rhs.shape().rank()];
        let matrices = (
            Matrix::of_operand(lhs.data(), lhs.shape(), lhs.strides(), over[0]),
            Matrix::of_operand(rhs.data(), rhs.shape(), rhs.strides(), over[1]),
            Matrix::of_result(data, out.shape(), out.strides(), ranks),
        );
        let (Some(lhs_matrix), Some(rhs_matrix), Some(result)) = matrices else {
            return Err(unlike(&lhs, &rhs, &out, over));
        };
        let rhs_matrix = rhs_matrix.transposed();
        let agree = lhs_matrix.cols == rhs_matrix.rows
            && lhs_matrix.rows == result.rows
            && rhs_matrix.cols == result.cols;
        let same = dtype == rhs.dtype() && dtype == out.dtype() && dtype != DType::Bool;
        if !agree || !same {
            return Err(unlike(&lhs, &rhs, &out, over));
        }
        Ok(Self::of(dtype, 1, [lhs_matrix, rhs_matrix, result]))
    }

    /// The product of matrices that were found to fit, which the operands vouch for.
    #[inline(always)]
    fn of(dtype: DType, batch: usize, [lhs, rhs, out]: [Matrix; 3]) -> Self {
        Self {
            dtype,
            batch,
            lhs,
            rhs,
            out,
            lhs_conjugation: Conjugation::Plain,
            rhs_conjugation: Conjugation::Plain,
            plain: true,
            alpha: Factor::ONE,
            beta: Factor::ZERO,
            operands: PhantomData,
        }
    }

    /// The same products for some rows, columns and terms alone, which must be inside of the extents.
    ///
    /// Whoever computes parts answers for no element of the output being in two that are computed at once.
    pub(super) fn part(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
        terms: Range<usize>,
    ) -> Product<'a> {
        let size = self.dtype.size();
        let (m, n, k) = (rows.len(), cols.len(), terms.len());
        Self {
            lhs: self.lhs.part([rows.start, terms.start], [m, k], size),
            rhs: self.rhs.part([terms.start, cols.start], [k, n], size),
            out: self.out.part([rows.start, cols.start], [m, n], size),
            ..*self
        }
    }

    /// The product with other left matrices of the same extents, which live as long as it is used.
    pub(super) fn with_lhs(self, lhs: Matrix) -> Self {
        Self { lhs, ..self }
    }

    /// The product with other right matrices of the same extents, which live as long as it is used.
    pub(super) fn with_rhs(self, rhs: Matrix) -> Self {
        Self { rhs, ..self }
    }

    /// The product with another output of the same extents, which lives as long as it is used.
    pub(super) fn with_out(self, out: Matrix) -> Self {
        Self { out, ..self }
    }

    /// The product added to what the output holds.
    pub(super) fn adding(self) -> Self {
        Self { beta: Factor::ONE, plain: false, ..self }
    }

    /// All three matrices: lhs, rhs and out.
    pub(super) fn matrices(&self) -> [Matrix; 3] {
        [self.lhs, self.rhs, self.out]
    }

    /// The product with operands conjugated as said. Without effect on real dtypes.
    #[must_use]
    #[inline]
    pub fn conjugating(mut self, lhs: Conjugation, rhs: Conjugation) -> Self {
        if self.dtype().is_complex() {
            self.lhs_conjugation = lhs;
            self.rhs_conjugation = rhs;
            self.plain = self.says_nothing();
        }
        self
    }

    /// The product scaled by `alpha`, added to `beta` times what `out` holds.
    ///
    /// With a beta other than 0 every element of `out` must have been written before.
    ///
    /// # Errors
    /// [`Error::Factor`] if the dtype cannot hold a factor, such as 0.5 in an integer.
    #[inline]
    pub fn scaled(self, alpha: Factor, beta: Factor) -> Result<Self, Error> {
        // What every dtype holds, and a product is made with.
        if self.plain && alpha == Factor::ONE && beta == Factor::ZERO {
            return Ok(self);
        }
        self.scaled_by(alpha, beta)
    }

    fn scaled_by(mut self, alpha: Factor, beta: Factor) -> Result<Self, Error> {
        let dtype = self.dtype();
        for (name, factor) in [("alpha", alpha), ("beta", beta)] {
            let fits = dispatch!(dtype, any T => T::from_factor(factor).is_some());
            if !fits {
                return Err(Error::Factor { name, factor, dtype });
            }
        }
        self.alpha = alpha;
        self.beta = beta;
        self.plain = self.says_nothing();
        Ok(self)
    }

    fn says_nothing(&self) -> bool {
        let conjugations = [self.lhs_conjugation, self.rhs_conjugation];
        conjugations == [Conjugation::Plain; 2] && self.alpha.is_one() && self.beta.is_zero()
    }

    /// Whether the products are the result: nothing is conjugated, alpha is 1 and beta 0.
    #[must_use]
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// The dtype of all three operands; never bool.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The rows of each result.
    #[must_use]
    #[inline]
    pub fn m(&self) -> usize {
        self.lhs.rows
    }

    /// The columns of each result.
    #[must_use]
    #[inline]
    pub fn n(&self) -> usize {
        self.rhs.cols
    }

    /// The extent that is summed over.
    #[must_use]
    #[inline]
    pub fn k(&self) -> usize {
        self.lhs.cols
    }

    /// How many products there are.
    #[must_use]
    #[inline]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The left matrices, `[m, k]` each.
    #[must_use]
    #[inline]
    pub fn lhs(&self) -> Matrix {
        self.lhs
    }

    /// The right matrices, `[k, n]` each.
    #[must_use]
    #[inline]
    pub fn rhs(&self) -> Matrix {
        self.rhs
    }

    /// The resulting matrices, `[m, n]` each. Valid for writes; for reads only if beta is not 0.
    #[must_use]
    #[inline]
    pub fn out(&mut self) -> Matrix {
        self.out
    }

    /// Whether the left matrices are conjugated; always plain for real dtypes.
    #[must_use]
    #[inline]
    pub fn lhs_conjugation(&self) -> Conjugation {
        self.lhs_conjugation
    }

    /// Whether the right matrices are conjugated; always plain for real dtypes.
    #[must_use]
    #[inline]
    pub fn rhs_conjugation(&self) -> Conjugation {
        self.rhs_conjugation
    }

    /// What scales the product. If zero, the inputs must not be read.
    #[must_use]
    #[inline]
    pub fn alpha(&self) -> Factor {
        self.alpha
    }

    /// What scales the old result. If zero, the output must not be read.
    #[must_use]
    #[inline]
    pub fn beta(&self) -> Factor {
        self.beta
    }

    /// Alpha in the product's dtype.
    ///
    /// # Panics
    /// If `T` cannot hold it, which the product's own dtype always can.
    #[must_use]
    #[inline]
    pub fn alpha_as<T: Scalar>(&self) -> T {
        T::from_factor(self.alpha).expect("invariant: the dtype was checked to hold alpha")
    }

    /// Beta in the product's dtype.
    ///
    /// # Panics
    /// If `T` cannot hold it, which the product's own dtype always can.
    #[must_use]
    #[inline]
    pub fn beta_as<T: Scalar>(&self) -> T {
        T::from_factor(self.beta).expect("invariant: the dtype was checked to hold beta")
    }

    /// Whether there is no element to write.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.m() == 0 || self.n() == 0 || self.batch() == 0
    }

    /// Multiply-add steps of the whole request; saturates.
    #[must_use]
    #[inline]
    pub fn work(&self) -> usize {
        let matrix = self.m().saturating_mul(self.n()).saturating_mul(self.k());
        matrix.saturating_mul(self.batch())
    }
}

/// Why three operands, as batches of matrices, make no product.
#[cold]
fn mismatch(lhs: &Operand<'_>, rhs: &Operand<'_>, out: &OperandMut<'_>) -> Error {
    let pairs = [
        ("contracted axis", 0, 1, 1, 0),
        ("batch axis", 0, 2, 1, 2),
        ("rows of the result", 0, 0, 2, 0),
        ("columns of the result", 1, 1, 2, 1),
        ("batch axis of the result", 0, 2, 2, 2),
    ];
    misfit([lhs, rhs], out, [3; 3], &pairs)
}

/// Why three operands, as matrices or vectors summed over one axis each, make no product.
#[cold]
fn unlike(lhs: &Operand<'_>, rhs: &Operand<'_>, out: &OperandMut<'_>, over: [usize; 2]) -> Error {
    let [left, right] = over;
    let rank = |operand: &Operand<'_>, over: usize| operand.shape().rank().clamp(over + 1, 2);
    let (lhs_rank, rhs_rank) = (rank(lhs, left), rank(rhs, right));
    let mut pairs = vec![("contracted axis", 0, left, 1, right)];
    if lhs_rank == 2 {
        pairs.push(("rows of the result", 0, 1 - left, 2, 0));
    }
    if rhs_rank == 2 {
        pairs.push(("columns of the result", 1, 1 - right, 2, lhs_rank - 1));
    }
    misfit([lhs, rhs], out, [lhs_rank, rhs_rank, lhs_rank + rhs_rank - 2], &pairs)
}

/// What two axes are that must have one extent: the operand and the axis of each.
type Pair = (&'static str, usize, usize, usize, usize);

/// The first thing that does not fit about three operands that should have so many axes.
fn misfit(
    [lhs, rhs]: [&Operand<'_>; 2],
    out: &OperandMut<'_>,
    ranks: [usize; 3],
    pairs: &[Pair],
) -> Error {
    let dtype = lhs.dtype();
    let differs = |other| Validation::DTypeMismatch { lhs: dtype, rhs: other };
    if dtype != rhs.dtype() {
        return differs(rhs.dtype()).into();
    }
    if dtype != out.dtype() {
        return differs(out.dtype()).into();
    }
    if dtype == DType::Bool {
        let expected = "convert to a number dtype first";
        return Validation::MeaninglessDType { dtype, expected }.into();
    }
    let shapes = [lhs.shape(), rhs.shape(), out.shape()];
    let names = ["the shape of lhs", "the shape of rhs", "the shape of out"];
    for ((what, shape), expected) in names.into_iter().zip(shapes).zip(ranks) {
        let actual = shape.rank();
        if actual != expected {
            return Validation::WrongLength { what, expected, actual }.into();
        }
    }
    let differing = pairs.iter().find(|&&(_, a, at, b, to)| shapes[a][at] != shapes[b][to]);
    let &(what, a, at, b, to) = differing.expect("invariant: something does not fit");
    let (first, second) = (shapes[a], shapes[b]);
    Validation::ExtentMismatch {
        what,
        lhs: first[at],
        rhs: second[to],
        lhs_shape: first[..].into(),
        rhs_shape: second[..].into(),
    }
    .into()
}
