//! The reference engine: every row for every dtype, by plain loops.
//!
//! It is the answer that other engines are held against, so nothing in it is clever: one thread, memory from the system,
//! one element after the other. Its sums run in column-major order of the operand, which other engines need not follow
//! for floats.

mod convolution;
mod dot;
mod elementwise;
mod gather;
mod indexing;
mod reduction;
mod scan;
mod sorting;
mod structural;
mod window;

use tenferro_tensor::{Operand, Primitive, Result, Scalar, Tensor, TensorView, Uninit, Vocabulary};

use crate::{Engine, Meta, infer, running_index::RunningIndex};

/// The naive engine.
///
/// ```
/// use tenferro_ops::{TensorComposite, reference::Reference};
/// use tenferro_tensor::{DType, Tensor};
///
/// let x = Tensor::from_vec_row_major(vec![2, 2], vec![1.0_f64, 2.0, 3.0, 4.0])?;
/// let y = Reference.matmul(&x, &Tensor::eye(DType::F64, 2)?)?;
/// assert_eq!(y.to_vec_row_major::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference;

impl Vocabulary for Reference {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let call = Call { op: primitive.name(), inputs, result: infer(primitive, inputs)? };
        match primitive {
            Primitive::Elementwise(row) => elementwise::evaluate(row, call),
            Primitive::Analytic(row) => elementwise::evaluate_analytic(row, call),
            Primitive::Reduction(row) => reduction::evaluate(row, call),
            Primitive::Scan(row) => scan::evaluate(row, call),
            Primitive::Windowed(row) => window::evaluate(row, call),
            Primitive::Structural(row) => structural::evaluate(row, &call),
            Primitive::Indexing(row) => indexing::evaluate(row, &call),
            Primitive::Sorting(row) => sorting::evaluate(row, &call),
            Primitive::Dot(row) => dot::evaluate(row, &call),
        }
    }
}

impl Engine for Reference {}

/// Operands that were checked, and what is to come of them.
struct Call<'c> {
    op: &'static str,
    inputs: &'c [Operand<'c>],
    result: Meta,
}

impl Call<'_> {
    /// Memory for the result.
    fn allocate(&self) -> Result<Uninit> {
        Uninit::allocate(self.op, self.result.dtype, self.result.shape.clone())
    }

    /// The result whose element at each index is `element(index)`.
    fn filled_by_index<T: Scalar>(&self, mut element: impl FnMut(&[usize]) -> T) -> Result<Tensor> {
        let mut index = RunningIndex::of(&self.result.shape);
        Ok(self.allocate()?.filled(|| {
            let value = element(&index.0);
            index.advance(&self.result.shape);
            value
        }))
    }
}

/// The element of an operand at an index that is known to be one of its.
fn element<T: Scalar>(operand: &TensorView<'_>, index: &[usize]) -> T {
    operand.get(index).expect("invariant: the rules put the index inside of the operand")
}
