//! Small operations on operands that are alike: dense, and of one dtype and shape, which are the result's too.
//!
//! Most small operations are of this kind, and cost less than the checks that they could need. So what depends on row and
//! dtype alone (whether they have a meaning, what the result is, which loop computes it) is found out once and kept in a
//! table.

use std::{ptr::NonNull, sync::OnceLock};

use tenferro_ops::{Meta, infer};
use tenferro_tensor::{DType, Elementwise, Operand, Primitive, Shape};

use super::{
    elementwise::FEW,
    function::Kernel,
    isa::{Run, Word},
};

/// The loop of a row without parameters for one dtype, of which operands and result are.
pub(crate) struct Ready {
    run: Run,
    word: Word,
    arity: usize,
}

/// What rows have for dtypes; `None` where the result is of another dtype, or can fail, or has no meaning.
static READY: [[OnceLock<Option<Ready>>; DType::ALL.len()]; Elementwise::ROWS] =
    [const { [const { OnceLock::new() }; DType::ALL.len()] }; Elementwise::ROWS];

impl Ready {
    /// The loop for operands that are alike and few; `None` says nothing.
    #[inline]
    pub(crate) fn find(primitive: &Primitive, inputs: &[Operand<'_>]) -> Option<&'static Self> {
        let Primitive::Elementwise(row) = primitive else { return None };
        let (first, rest) = inputs.split_first()?;
        let (dtype, shape) = (first.dtype(), first.shape());
        let places = &READY[row.plain_number()?];
        let ready = places[dtype as usize].get_or_init(|| Self::prepare(row, dtype)).as_ref()?;
        let alike =
            |x: &Operand<'_>| x.dtype() == dtype && x.strides().is_none() && x.shape() == shape;
        let are_alike = inputs.len() == ready.arity
            && shape.elements() <= FEW
            && first.strides().is_none()
            && rest.iter().all(alike);
        are_alike.then_some(ready)
    }

    #[cold]
    fn prepare(row: &Elementwise, dtype: DType) -> Option<Self> {
        let primitive = Primitive::from(row.clone());
        let arity = primitive.arity()?;
        let scalars = vec![Meta { dtype, shape: Shape::default() }; arity];
        let result = infer(&primitive, &scalars).ok()?;
        let mut kernel = Kernel::empty();
        kernel.elementwise(row, dtype).ok()?;
        (result.dtype == dtype && kernel.check.is_none()).then_some(Self {
            run: kernel.run,
            word: kernel.word,
            arity,
        })
    }

    /// Computes the result.
    ///
    /// # Safety
    /// The loop must have been found for these operands, and `out` be for as many elements of their dtype.
    #[inline]
    pub(crate) unsafe fn run(&self, inputs: &[Operand<'_>], out: NonNull<u8>) {
        let none = NonNull::dangling();
        let places = match inputs {
            [x] => [x.data(), none, none],
            [x, y] => [x.data(), y.data(), none],
            [x, y, z] => [x.data(), y.data(), z.data()],
            _ => unreachable!("invariant: rows have one to three operands"),
        };
        // SAFETY: the operands are dense and have so many elements of the loop's dtype; the caller says that the output has.
        unsafe { (self.run)(out, &places, inputs[0].shape().elements(), self.word) };
    }
}
