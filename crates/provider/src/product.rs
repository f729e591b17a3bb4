//! One request for matrix products: `out = alpha * lhs * rhs + beta * out` for each matrix of a batch.
//!
//! A `Product` in hand is valid: dtypes agree, extents fit, and the dtype can hold the factors. Providers check what
//! they can do, never again whether the request makes sense. It allocates nothing and copies no element.

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
    lhs: Operand<'a>,
    rhs: Operand<'a>,
    out: OperandMut<'a>,
    lhs_conjugation: Conjugation,
    rhs_conjugation: Conjugation,
    alpha: Factor,
    beta: Factor,
}

impl<'a> Product<'a> {
    /// The product of `lhs` `[m, k, batch]` and `rhs` `[k, n, batch]` into `out` `[m, n, batch]`.
    ///
    /// Nothing is conjugated, alpha is 1 and beta 0 until said otherwise.
    ///
    /// # Errors
    /// [`Error::InvalidProduct`] if an operand has not three axes, dtypes differ or are bool, or extents do not fit.
    #[inline]
    pub fn new(lhs: Operand<'a>, rhs: Operand<'a>, out: OperandMut<'a>) -> Result<Self, Error> {
        check(&lhs, &rhs, &out)?;
        Ok(Self {
            lhs,
            rhs,
            out,
            lhs_conjugation: Conjugation::Plain,
            rhs_conjugation: Conjugation::Plain,
            alpha: Factor::ONE,
            beta: Factor::ZERO,
        })
    }

    /// The product with operands conjugated as said. Without effect on real dtypes.
    #[must_use]
    #[inline]
    pub fn conjugating(mut self, lhs: Conjugation, rhs: Conjugation) -> Self {
        if self.dtype().is_complex() {
            self.lhs_conjugation = lhs;
            self.rhs_conjugation = rhs;
        }
        self
    }

    /// The product scaled by `alpha`, added to `beta` times what `out` holds.
    ///
    /// With a beta other than 0 every element of `out` must have been written before.
    ///
    /// # Errors
    /// [`Error::Factor`] if the dtype cannot hold a factor, such as 0.5 in an integer.
    pub fn scaled(mut self, alpha: Factor, beta: Factor) -> Result<Self, Error> {
        let dtype = self.dtype();
        for (name, factor) in [("alpha", alpha), ("beta", beta)] {
            let fits = dispatch!(dtype, any T => T::from_factor(factor).is_some());
            if !fits {
                return Err(Error::Factor { name, factor, dtype });
            }
        }
        self.alpha = alpha;
        self.beta = beta;
        Ok(self)
    }

    /// The dtype of all three operands; never bool.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.lhs.dtype()
    }

    /// The rows of each result.
    #[must_use]
    #[inline]
    pub fn m(&self) -> usize {
        self.lhs.shape()[0]
    }

    /// The columns of each result.
    #[must_use]
    #[inline]
    pub fn n(&self) -> usize {
        self.rhs.shape()[1]
    }

    /// The extent that is summed over.
    #[must_use]
    #[inline]
    pub fn k(&self) -> usize {
        self.lhs.shape()[1]
    }

    /// How many products there are.
    #[must_use]
    #[inline]
    pub fn batch(&self) -> usize {
        self.lhs.shape()[2]
    }

    /// The left matrices, `[m, k]` each.
    #[must_use]
    #[inline]
    pub fn lhs(&self) -> Matrix {
        Matrix::new(self.lhs.data(), self.lhs.shape(), self.lhs.strides())
    }

    /// The right matrices, `[k, n]` each.
    #[must_use]
    #[inline]
    pub fn rhs(&self) -> Matrix {
        Matrix::new(self.rhs.data(), self.rhs.shape(), self.rhs.strides())
    }

    /// The resulting matrices, `[m, n]` each. Valid for writes; for reads only if beta is not 0.
    #[must_use]
    #[inline]
    pub fn out(&mut self) -> Matrix {
        Matrix::new(self.out.data(), self.out.shape(), self.out.strides())
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

/// Checks that three operands make a product.
#[inline]
fn check(lhs: &Operand<'_>, rhs: &Operand<'_>, out: &OperandMut<'_>) -> Result<(), Error> {
    let dtype = lhs.dtype();
    let mismatch = |other| Validation::DTypeMismatch { lhs: dtype, rhs: other };
    if dtype != rhs.dtype() {
        return Err(mismatch(rhs.dtype()).into());
    }
    if dtype != out.dtype() {
        return Err(mismatch(out.dtype()).into());
    }
    if dtype == DType::Bool {
        let expected = "convert to a number dtype first";
        return Err(Validation::MeaninglessDType { dtype, expected }.into());
    }
    let (l, r, o) = (lhs.shape(), rhs.shape(), out.shape());
    for (what, shape) in [("the shape of lhs", l), ("the shape of rhs", r), ("the shape of out", o)]
    {
        if shape.rank() != 3 {
            let actual = shape.rank();
            return Err(Validation::WrongLength { what, expected: 3, actual }.into());
        }
    }
    for (what, first, (a, b)) in [
        ("contracted axis", l, (l[1], r[0])),
        ("batch axis", l, (l[2], r[2])),
        ("rows of the result", l, (l[0], o[0])),
        ("columns of the result", r, (r[1], o[1])),
        ("batch axis of the result", l, (l[2], o[2])),
    ] {
        if a != b {
            let second = if what.ends_with("result") { o } else { r };
            return Err(Validation::ExtentMismatch {
                what,
                lhs: a,
                rhs: b,
                lhs_shape: first[..].into(),
                rhs_shape: second[..].into(),
            }
            .into());
        }
    }
    Ok(())
}
