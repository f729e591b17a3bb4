//! Fused regions under the grants of the domain: memory for the results, and which operand's memory they may take.

use std::{ptr::NonNull, sync::OnceLock};

use smallvec::SmallVec;
use tenferro_ops::{Input, Region, RegionResult, Results};
use tenferro_provider::Workers;
use tenferro_scope::Breadth;
use tenferro_tensor::{AsOperand, Block, Operand, OperandMut, Result, Structural, Tensor, Uninit};

use crate::{
    CpuEngine,
    donation::FEWEST,
    error::refused,
    kernel::{self, RegionPlan},
};

type Operands<'a> = SmallVec<[Operand<'a>; 8]>;

impl CpuEngine {
    /// Carries out a fused region, admitted by the domain.
    ///
    /// # Errors
    /// As [`Region::run_by_steps`]; what the domain refuses.
    pub fn run_region(&self, region: &Region, inputs: &mut [Input<'_>]) -> Result<Results> {
        let plan = region.plan(RegionPlan::new);
        self.domain().run(
            self.region_breadth(region, &plan),
            |guard| self.run_planned(&guard.workers(), region, &plan, inputs),
            |error| refused("region", error),
        )
    }

    /// The same on operands that are lent, for which few elements are admitted briefly.
    ///
    /// # Errors
    /// As [`CpuEngine::run_region`].
    pub fn run_lent_region(&self, region: &Region, inputs: &[Operand<'_>]) -> Result<Results> {
        let plan = region.plan(RegionPlan::new);
        if kernel::is_brief(&plan, region.shape().elements()) {
            match self.domain().run_briefly(|| self.run_brief(region, &plan, inputs)) {
                Ok(Some(Some(results))) => return results,
                Ok(_) => {}
                Err(error) => return Err(refused("region", error)),
            }
        }
        let mut inputs: SmallVec<[Input<'_>; 4]> =
            inputs.iter().map(|&input| input.into()).collect();
        self.run_region(region, &mut inputs)
    }

    /// The same inside of an admitted operation.
    pub(super) fn run_fused(
        &self,
        workers: &dyn Workers,
        region: &Region,
        inputs: &mut [Input<'_>],
    ) -> Result<Results> {
        self.run_planned(workers, region, &region.plan(RegionPlan::new), inputs)
    }

    /// The results of a region of few elements; `None` if it has to go the general way.
    fn run_brief(
        &self,
        region: &Region,
        plan: &RegionPlan,
        operands: &[Operand<'_>],
    ) -> Option<Result<Results>> {
        region.check_operands(operands).ok()?;
        let elements = region.shape().elements();
        let mut blocks: SmallVec<[Block; 2]> = SmallVec::new();
        let mut places: SmallVec<[NonNull<u8>; 2]> = SmallVec::new();
        for meta in region.result_metas() {
            let block = self.pool().take(elements * meta.dtype.size())?;
            places.push(block.data());
            blocks.push(block);
        }
        // SAFETY: the operands are those of the region, and the blocks have room for its results.
        let failed = unsafe { kernel::run_brief(plan, elements, operands, &places)? };
        if let Err(error) = plan.failure(failed) {
            return Some(Err(error));
        }
        let mut results = Results::new();
        for (block, meta) in blocks.into_iter().zip(region.result_metas()) {
            // SAFETY: every element was written.
            results.push(unsafe { Tensor::from_block(block, meta.dtype, &meta.shape) });
        }
        Some(Ok(results))
    }

    /// Carries out a fused region into given outputs, admitted by the domain.
    ///
    /// # Errors
    /// As [`CpuEngine::run_region`]; a [`Validation`](tenferro_tensor::Validation) if the outputs are not as the results.
    pub fn run_region_into(
        &self,
        region: &Region,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        let plan = region.plan(RegionPlan::new);
        self.domain().run(
            self.region_breadth(region, &plan),
            |guard| self.run_planned_into(&guard.workers(), region, &plan, inputs, outs),
            |error| refused("region", error),
        )
    }

    /// The same inside of an admitted operation.
    pub(super) fn run_fused_into(
        &self,
        workers: &dyn Workers,
        region: &Region,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        self.run_planned_into(workers, region, &region.plan(RegionPlan::new), inputs, outs)
    }

    fn run_planned_into(
        &self,
        workers: &dyn Workers,
        region: &Region,
        plan: &RegionPlan,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        region.check_operands(inputs)?;
        region.check_destinations(outs)?;
        if !region.results().iter().zip(&*outs).all(|(result, out)| kernel::fits(result, out)) {
            let results = self.run_planned(workers, region, plan, inputs)?;
            for (result, out) in results.iter().zip(outs) {
                let row = Structural::Reshape { extents: result.shape()[..].into() };
                self.run_into(workers, &row.into(), &[result.as_operand()], out.reborrow())?;
            }
            return Ok(());
        }
        let operands: Operands<'_> = inputs.iter().map(AsOperand::as_operand).collect();
        if kernel::is_brief(plan, region.shape().elements()) {
            let places: SmallVec<[NonNull<u8>; 2]> =
                outs.iter_mut().map(OperandMut::data).collect();
            let elements = region.shape().elements();
            // SAFETY: operands and outputs are those of the region, and none overlaps another.
            if let Some(failed) = unsafe { kernel::run_brief(plan, elements, &operands, &places) } {
                return plan.failure(failed);
            }
        }
        let overwritten: SmallVec<[bool; 8]> = SmallVec::from_elem(false, inputs.len());
        kernel::region(&self.grant(workers), region, plan, &operands, &overwritten, outs)
    }

    fn region_breadth(&self, region: &Region, plan: &RegionPlan) -> Breadth {
        let bytes = region.shape().elements().saturating_mul(plan.cost());
        let is_wide = self.domain().width() > 1 && kernel::pays(bytes);
        if is_wide { Breadth::Wide } else { Breadth::Narrow }
    }

    fn run_planned(
        &self,
        workers: &dyn Workers,
        region: &Region,
        plan: &RegionPlan,
        inputs: &mut [Input<'_>],
    ) -> Result<Results> {
        if kernel::is_brief(plan, region.shape().elements()) {
            let operands: Operands<'_> = inputs.iter().map(AsOperand::as_operand).collect();
            if let Some(results) = self.run_brief(region, plan, &operands) {
                return results;
            }
        }
        region.check_operands(inputs)?;
        let grant = self.grant(workers);
        let mut overwritten: SmallVec<[bool; 8]> = SmallVec::from_elem(false, inputs.len());
        let mut outs: SmallVec<[Uninit; 2]> = SmallVec::new();
        let mut reused: SmallVec<[(usize, usize); 2]> = SmallVec::new();
        for (place, (result, meta)) in
            region.results().iter().zip(region.result_metas()).enumerate()
        {
            let is_whole = matches!(result, RegionResult::Value(_));
            let input = if is_whole && meta.shape.elements() >= FEWEST {
                inputs.iter().position(|input| {
                    matches!(input, Input::Owned(tensor) if tensor.dtype() == meta.dtype && *tensor.shape() == meta.shape)
                })
            } else {
                None
            };
            let own = input.and_then(|input| Some((input, given(&mut inputs[input])?)));
            outs.push(match own {
                Some((input, own)) => {
                    overwritten[input] = true;
                    reused.push((input, place));
                    own
                }
                None => grant.allocate("region", meta.dtype, meta.shape.clone())?,
            });
        }
        let mut operands = Operands::new();
        for input in &*inputs {
            operands.push(input.as_operand());
        }
        for (input, place) in reused {
            let data = outs[place].as_operand_mut().data();
            let meta = &region.inputs()[input];
            // SAFETY: the memory was a tensor's of this dtype and shape, whose elements are there until they are
            // written; the region reads an operand that lies where a result does before it writes there.
            operands[input] = unsafe { Operand::from_raw(data, meta.dtype, &meta.shape, None) };
        }
        let mut written: SmallVec<[OperandMut<'_>; 2]> = SmallVec::new();
        for out in &mut outs {
            written.push(out.as_operand_mut());
        }
        kernel::region(&grant, region, plan, &operands, &overwritten, &mut written)?;
        drop(written);
        let mut results = Results::new();
        for out in outs {
            // SAFETY: a region that returns without an error has written every element of its results.
            results.push(unsafe { out.assume_init() });
        }
        Ok(results)
    }
}

/// The memory of a given operand that nobody shares; something else is left in its place.
fn given(input: &mut Input<'_>) -> Option<Uninit> {
    static NOTHING: OnceLock<Option<Tensor>> = OnceLock::new();
    let nothing = NOTHING.get_or_init(|| Tensor::scalar(0_u8).ok()).clone()?;
    let Input::Owned(tensor) = std::mem::replace(input, Input::Owned(nothing)) else {
        unreachable!("invariant: the operand was just seen to be owned")
    };
    match tensor.into_uninit() {
        Ok(memory) => Some(memory),
        Err(tensor) => {
            *input = Input::Owned(tensor);
            None
        }
    }
}
