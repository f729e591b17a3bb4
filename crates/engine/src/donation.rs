//! Operations whose operands are given away: the result may take the memory of one of them.
//!
//! Elementwise operations write over an operand, and scatters over the one into which they place; only over one that
//! nobody shares, whose memory is its own and whose dtype and shape are the result's. What is small goes the usual way:
//! its memory comes from the pool and is in the cache already.

use smallvec::SmallVec;
use tenferro_ops::{Input, Inputs, Meta, infer};
use tenferro_provider::Workers;
use tenferro_tensor::{AsOperand, Indexing, Operand, Primitive, Result, Tensor, Uninit};

use crate::{CpuEngine, error::refused, kernel};

/// The fewest elements of a result that takes an operand's memory.
pub(super) const FEWEST: usize = 4096;

impl CpuEngine {
    /// Carries out one primitive on operands that are given away, admitted by the domain.
    ///
    /// # Errors
    /// As [`CpuEngine::apply`].
    pub fn donate(&self, primitive: &Primitive, inputs: Inputs<'_>) -> Result<Tensor> {
        let breadth = {
            let operands = operands(&inputs);
            self.breadth(primitive, &operands)
        };
        self.domain().run(
            breadth,
            move |guard| self.run_donated(&guard.workers(), primitive, inputs),
            |error| refused(primitive.name(), error),
        )
    }

    /// The same inside of an admitted operation.
    pub(super) fn run_donated(
        &self,
        workers: &dyn Workers,
        primitive: &Primitive,
        mut inputs: Inputs<'_>,
    ) -> Result<Tensor> {
        let Some((place, mut out)) = self.reused(primitive, &mut inputs)? else {
            return self.run(workers, primitive, &operands(&inputs));
        };
        let shape = out.shape().clone();
        let (dtype, data) = (out.dtype(), out.as_operand_mut().data());
        // SAFETY: the memory was a tensor's of this dtype and shape, whose elements are there until they are written;
        // the kernel reads an operand that lies where the result does before it writes there.
        let own = unsafe { Operand::from_raw(data, dtype, &shape, None) };
        let mut operands = operands(&inputs);
        operands[place] = own;
        kernel::compute(&self.grant(workers), primitive, &operands, &mut out.as_operand_mut())?;
        // SAFETY: a kernel that returns without an error has written every element.
        Ok(unsafe { out.assume_init() })
    }

    /// The memory of an operand that the result can have, and that operand's place, where something else is left.
    fn reused(
        &self,
        primitive: &Primitive,
        inputs: &mut Inputs<'_>,
    ) -> Result<Option<(usize, Uninit)>> {
        let candidates = match primitive {
            Primitive::Elementwise(_) | Primitive::Analytic(_) => inputs.len(),
            Primitive::Indexing(Indexing::Scatter { .. }) => 1,
            _ => return Ok(None),
        };
        let Meta { dtype, shape } = infer(primitive, &operands(inputs))?;
        if shape.elements() < FEWEST {
            return Ok(None);
        }
        for place in 0..candidates {
            let fits = |tensor: &Tensor| tensor.dtype() == dtype && *tensor.shape() == shape;
            if !matches!(&inputs[place], Input::Owned(tensor) if fits(tensor)) {
                continue;
            }
            let Input::Owned(tensor) = inputs.remove(place) else {
                unreachable!("invariant: the operand was just seen to be owned")
            };
            match tensor.into_uninit() {
                Ok(out) => {
                    let left = Tensor::scalar(0_u8)?;
                    inputs.insert(place, Input::Owned(left));
                    return Ok(Some((place, out)));
                }
                Err(tensor) => inputs.insert(place, Input::Owned(tensor)),
            }
        }
        Ok(None)
    }
}

fn operands<'i>(inputs: &'i Inputs<'_>) -> SmallVec<[Operand<'i>; 4]> {
    inputs.iter().map(AsOperand::as_operand).collect()
}
