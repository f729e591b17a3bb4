//! Small operations on operands that are alike: dense, and of one dtype and shape, the latter being the result's too.
//!
//! Most small operations are of this kind, and cost less than the checks that they could need. So what depends on row and
//! dtype alone (whether they have a meaning, what the result is, which loop computes it) is found out once and kept in a
//! table.

use std::{ptr::NonNull, sync::OnceLock};

use tenferro_ops::{Meta, infer};
use tenferro_tensor::{Analytic, DType, Elementwise, Operand, Primitive, Shape};

use super::{
    elementwise::FEW,
    function::Kernel,
    isa::{Run, Word},
};

/// The loop of a row without parameters for operands of one dtype.
pub(crate) struct Ready {
    run: Run,
    word: Word,
    arity: u8,
    /// Of the result.
    dtype: DType,
}

/// Elementwise rows, and analytic ones after them.
const ROWS: usize = Elementwise::ROWS + Analytic::ROWS;

/// What rows have for dtypes; `None` where it can fail, or depends on parameters, or has no meaning.
static READY: [[OnceLock<Option<Ready>>; DType::ALL.len()]; ROWS] =
    [const { [const { OnceLock::new() }; DType::ALL.len()] }; ROWS];

/// Whether an operand is dense and has the dtype and shape of another.
#[inline(always)]
fn is_like(x: &Operand<'_>, y: &Operand<'_>) -> bool {
    // Of the shapes, not of references to them: that comparison is not inlined.
    x.dtype() == y.dtype() && y.strides().is_none() && *x.shape() == *y.shape()
}

#[inline(never)]
fn are_all_alike(inputs: &[Operand<'_>]) -> bool {
    inputs.windows(2).all(|pair| is_like(&pair[0], &pair[1]))
}

impl Ready {
    /// The loop for operands that are alike and few; `None` says nothing.
    #[inline(always)]
    pub(crate) fn find(primitive: &Primitive, inputs: &[Operand<'_>]) -> Option<&'static Self> {
        let number = match primitive {
            Primitive::Elementwise(row) => row.number(),
            Primitive::Analytic(row) => Elementwise::ROWS + row.number(),
            _ => return None,
        };
        let first = inputs.first()?;
        let (dtype, shape) = (first.dtype(), first.shape());
        let place = &READY[number][dtype as usize];
        let ready = place.get_or_init(|| Self::prepare(primitive, dtype)).as_ref()?;
        // Case by case, since a loop over one or two costs more than they do.
        let are_alike = match inputs {
            [_] => true,
            [x, y] => is_like(x, y),
            _ => are_all_alike(inputs),
        };
        let fits = inputs.len() == usize::from(ready.arity)
            && shape.elements() <= FEW
            && first.strides().is_none();
        (fits && are_alike).then_some(ready)
    }

    #[cold]
    fn prepare(primitive: &Primitive, dtype: DType) -> Option<Self> {
        let mut kernel = Kernel::empty();
        match primitive {
            Primitive::Elementwise(row) if !row.has_parameters() => kernel.elementwise(row, dtype),
            Primitive::Analytic(row) if !row.has_parameters() => kernel.analytic(row, dtype),
            _ => return None,
        }
        .ok()?;
        let arity = primitive.arity()?;
        let scalars = vec![Meta { dtype, shape: Shape::default() }; arity];
        let result = infer(primitive, &scalars).ok()?;
        kernel.check.is_none().then_some(Self {
            run: kernel.run,
            word: kernel.word,
            arity: arity.try_into().ok()?,
            dtype: result.dtype,
        })
    }

    /// The dtype of the result.
    #[inline]
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Computes the result.
    ///
    /// # Safety
    /// The loop must have been found for these operands, and `out` be for as many elements of the loop's dtype.
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
