//! Operations written over the primitives, for everything that has a vocabulary.

use smallvec::SmallVec;
use tenferro_tensor::{
    Accepts, Contraction, DType, Factor, FromTensor, Indices, KeepAxes, Operand, Operate, Result,
    Scalar, Shape, Tensor, TensorDot, TensorElementwise, TensorReduction, Validation, Vocabulary,
    dispatch,
};

/// Operations that are functions of primitives, such as `matmul`.
///
/// Implemented for everything that has a [`Vocabulary`], `dyn Engine` included.
pub trait TensorComposite: Vocabulary {
    /// The matrix product, as NumPy's `matmul` has it.
    ///
    /// The last two axes are matrices `(.., m, k)` and `(.., k, n)`; axes before them are a batch and broadcast. An
    /// operand of one axis is a row on the left and a column on the right, and has no axis in the result. It is one
    /// `dot_general`; a stretched batch is a view, not a copy.
    ///
    /// # Errors
    /// [`Validation::Rule`] for an operand without axes; [`Validation::ExtentMismatch`] if the inner extents differ;
    /// [`Validation::Broadcast`] if the batches do not broadcast; what `dot_general` refuses.
    fn matmul<L: Operate, R: Operate>(&mut self, lhs: &L, rhs: &R) -> Result<L::Same> {
        let (lhs, rhs) = (lhs.as_operand(), rhs.as_operand());
        let (summed, batch) = matmul_axes(lhs.shape(), rhs.shape()).map_err(|p| p.of("matmul"))?;
        let product = match batch {
            None => self.dot_general(&lhs, &rhs, Contraction::over([summed.0], [summed.1]))?,
            Some(batch) => batched(self, &lhs, &rhs, &batch)?,
        };
        FromTensor::from_tensor("matmul", product)
    }

    /// The mean over axes. NaN over nothing; f16 and bf16 are summed and divided in f32.
    ///
    /// # Errors
    /// [`Validation::MeaninglessDType`] for integers and bool, which [`convert`](TensorElementwise::convert) makes
    /// floats of; what `sum` refuses.
    fn mean<X: Operate>(
        &mut self,
        x: &X,
        axes: impl Into<Indices>,
        keep: impl Into<KeepAxes>,
    ) -> Result<X::Same> {
        let (x, axes) = (x.as_operand(), axes.into());
        let dtype = x.dtype();
        if !dtype.is_inexact() {
            let expected = Accepts::Inexact.description();
            return Err(Validation::MeaninglessDType { dtype, expected }.of("mean"));
        }
        // Axes that do not exist are refused by the sum.
        let count = axes.iter().filter_map(|&axis| x.shape().get(axis)).product();
        let mean = match dtype {
            // The sum itself may not fit where the mean does.
            DType::F16 | DType::BF16 => {
                let wide = self.convert(&x, DType::F32)?;
                let sum = self.sum(&wide, axes, keep)?;
                let mean = self.div(&sum, &number(DType::F32, count)?)?;
                self.convert(&mean, dtype)?
            }
            _ => {
                let sum = self.sum(&x, axes, keep)?;
                self.div(&sum, &number(dtype, count)?)?
            }
        };
        FromTensor::from_tensor("mean", mean)
    }
}

impl<V: Vocabulary + ?Sized> TensorComposite for V {}

/// The pair of axes that a matrix product sums over, and the shape of its batch where both operands have one.
#[allow(clippy::type_complexity, reason = "two parts that have no name together")]
fn matmul_axes(
    lhs: &Shape,
    rhs: &Shape,
) -> std::result::Result<((usize, usize), Option<Shape>), Validation> {
    if lhs.rank() == 0 || rhs.rank() == 0 {
        let rule = "both operands need an axis at least; use mul to scale by a number";
        return Err(Validation::Rule { rule });
    }
    let summed = (lhs.rank() - 1, rhs.rank().saturating_sub(2));
    if lhs[summed.0] != rhs[summed.1] {
        return Err(Validation::ExtentMismatch {
            what: "inner extents",
            lhs: lhs[summed.0],
            rhs: rhs[summed.1],
            lhs_shape: lhs[..].into(),
            rhs_shape: rhs[..].into(),
        });
    }
    // Without a batch on the right, or with a row on the left, all other axes are free and in the right order.
    if rhs.rank() <= 2 || lhs.rank() == 1 {
        return Ok((summed, None));
    }
    let batch = Shape::new(&lhs[..lhs.rank() - 2])?.broadcast(&rhs[..rhs.rank() - 2])?;
    Ok((summed, Some(batch)))
}

/// The product of matrices `(.., m, k)` and `(.., k, n)` stretched to one batch.
fn batched<V: Vocabulary + ?Sized>(
    engine: &mut V,
    lhs: &Operand<'_>,
    rhs: &Operand<'_>,
    batch: &Shape,
) -> Result<Tensor> {
    let axes: Indices = (0..batch.rank()).collect();
    let contraction = Contraction {
        lhs_contracting: [batch.rank() + 1].into(),
        rhs_contracting: [batch.rank()].into(),
        lhs_batch: axes.clone(),
        rhs_batch: axes,
        ..Contraction::default()
    };
    let stretched = |operand: &Operand<'_>| {
        let mut extents = SmallVec::<[usize; 6]>::from_slice(batch);
        extents.extend_from_slice(&operand.shape()[operand.shape().rank() - 2..]);
        extents
    };
    let lhs = lhs.view().broadcast(&stretched(lhs))?;
    let rhs = rhs.view().broadcast(&stretched(rhs))?;
    engine.dot_general(&lhs, &rhs, contraction)
}

/// A number as a tensor without axes.
fn number(dtype: DType, value: usize) -> Result<Tensor> {
    let factor = Factor::Real(value as f64);
    dispatch!(dtype, inexact T => {
        Tensor::scalar(T::from_factor(factor).expect("invariant: floats round"))
    }, else Err(Validation::MeaninglessDType { dtype, expected: Accepts::Inexact.description() }.of("mean")))
}
