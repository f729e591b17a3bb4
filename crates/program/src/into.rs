//! Runs that write into given outputs.
//!
//! Everything is checked before anything runs: how many outputs there are, their dtypes and shapes, and that no element of
//! one is an element of another, or of an input. Rust's borrows say the latter of tensors and views; operands that were
//! made of raw pointers may break it, and would read what was just written.

use std::{collections::HashSet, ops::Range};

use smallvec::SmallVec;
use tenferro_ops::{Engine, Meta};
use tenferro_tensor::{Operand, OperandMut};

use crate::{Argument, Error, Prepared, Result};

impl Prepared {
    /// Runs the program as [`Prepared::run`] does, and writes its results, in order, into these outputs of any strides.
    ///
    /// # Errors
    /// As [`Prepared::run`]; [`Error::OutputCount`], [`Error::OutputMismatch`] and [`Error::Overlap`] before anything runs.
    /// If a step fails, no output is written but those of the last steps, which write their results there themselves.
    ///
    /// ```
    /// use tenferro_ops::reference::Reference;
    /// use tenferro_program::{Passes, Spec, trace};
    /// use tenferro_tensor::{DType, Tensor};
    ///
    /// let square = trace(&[Spec::new(DType::F64, [2])?], |xs| &xs[0] * &xs[0])?;
    /// let x = Tensor::from_vec_col_major([2], vec![3.0, 4.0])?;
    /// let mut y = Tensor::zeros(DType::F64, [2])?;
    /// let prepared = square.prepare(&Passes::all())?;
    /// prepared.run_into(&mut Reference, vec![(&x).into()], &mut [y.as_operand_mut()?])?;
    /// assert_eq!(y.as_slice::<f64>()?, [9.0, 16.0]);
    /// # Ok::<(), tenferro_program::Error>(())
    /// ```
    pub fn run_into<'a>(
        &self,
        engine: &mut dyn Engine,
        arguments: impl IntoIterator<Item = Argument<'a>>,
        outputs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        let arguments: Vec<Argument<'a>> = arguments.into_iter().collect();
        self.check_outputs(&arguments, outputs)?;
        let mut own: SmallVec<[Option<Argument<'a>>; 8]> =
            arguments.into_iter().map(Some).collect();
        self.check(&own)?;
        self.schedule().run_into(engine, &mut own, outputs)
    }

    fn check_outputs(
        &self,
        arguments: &[Argument<'_>],
        outputs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        let metas = self.program().output_metas();
        let (expected, actual) = (metas.len(), outputs.len());
        if expected != actual {
            return Err(Error::OutputCount { expected, actual });
        }
        for (output, (expected, given)) in metas.into_iter().zip(&*outputs).enumerate() {
            let actual = Meta { dtype: given.dtype(), shape: given.shape().clone() };
            if actual != expected {
                let (expected, actual) = (Box::new(expected), Box::new(actual));
                return Err(Error::OutputMismatch { output, expected, actual });
            }
        }
        let places: SmallVec<[Places; 4]> = outputs.iter_mut().map(Places::of_output).collect();
        for (output, own) in places.iter().enumerate() {
            if let Some(other) = places[..output].iter().position(|other| own.meet(other)) {
                return Err(Error::Overlap { output, other: format!("output {other}") });
            }
            let lent = |argument: &Argument<'_>| match argument {
                Argument::Lent(operand) => own.meet(&Places::of(operand)),
                // What is given has no other owner, or is copied before it is written.
                Argument::Given(_) => false,
            };
            if let Some(input) = arguments.iter().position(lent) {
                return Err(Error::Overlap { output, other: format!("input {input}") });
            }
        }
        Ok(())
    }
}

/// Where elements lie in memory.
struct Places {
    /// The address of the first.
    first: usize,
    /// Bytes of an element.
    size: usize,
    extents: SmallVec<[usize; 6]>,
    /// In bytes.
    strides: SmallVec<[isize; 6]>,
    is_dense: bool,
}

impl Places {
    fn of(operand: &Operand<'_>) -> Self {
        let first = operand.data().addr().get();
        let strides = operand.strides_or_dense();
        Self::new(
            first,
            operand.dtype().size(),
            operand.shape(),
            &strides,
            operand.strides().is_none(),
        )
    }

    fn of_output(output: &mut OperandMut<'_>) -> Self {
        let first = output.data().addr().get();
        let strides = output.strides_or_dense();
        Self::new(
            first,
            output.dtype().size(),
            output.shape(),
            &strides,
            output.strides().is_none(),
        )
    }

    fn new(
        first: usize,
        size: usize,
        extents: &[usize],
        strides: &[isize],
        is_dense: bool,
    ) -> Self {
        let strides = strides.iter().map(|stride| stride * size.cast_signed()).collect();
        Self { first, size, extents: SmallVec::from_slice(extents), strides, is_dense }
    }

    fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// The addresses from the lowest element to the end of the highest.
    fn range(&self) -> Range<usize> {
        if self.elements() == 0 {
            return 0..0;
        }
        let (mut low, mut high) = (self.first, self.first + self.size);
        for (extent, stride) in self.extents.iter().zip(&self.strides) {
            let reach = (extent - 1) * stride.unsigned_abs();
            if *stride < 0 { low -= reach } else { high += reach }
        }
        low..high
    }

    /// The address of each element.
    fn addresses(&self) -> impl Iterator<Item = usize> {
        (0..self.elements()).map(move |element| {
            let (mut rest, mut address) = (element, self.first);
            for (extent, stride) in self.extents.iter().zip(&self.strides) {
                address = address.wrapping_add_signed((rest % extent).cast_signed() * stride);
                rest /= extent;
            }
            address
        })
    }

    /// Whether a byte belongs to both.
    fn meet(&self, other: &Places) -> bool {
        let (own, others) = (self.range(), other.range());
        if own.start >= others.end || others.start >= own.end {
            return false;
        }
        if self.is_dense && other.is_dense {
            return true;
        }
        // Elements of one may lie between those of the other. Bytes are compared, as dtypes may differ in size.
        let bytes = |places: &Places| -> HashSet<usize> {
            places.addresses().flat_map(|first| first..first + places.size).collect()
        };
        !bytes(self).is_disjoint(&bytes(other))
    }
}
