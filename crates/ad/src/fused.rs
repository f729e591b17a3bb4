//! The way of a gradient through one operation as one region of the engine.
//!
//! Steps one by one would write what only the next one reads. Results are the same, bit for bit, as those of the steps.

use std::sync::OnceLock;

use smallvec::SmallVec;
use tenferro_ops::{Described, Meta, Region, RegionResult, RegionStep};
use tenferro_tensor::{AsOperand, Operand, Primitive, Result, Shape};

use crate::{
    Autodiff,
    known::Known,
    plan::{Computed, Gradients, Register, Step},
};

/// The steps of a way back that are wanted, in one go.
pub(super) struct Fused {
    /// Where the operands of the region are found.
    inputs: SmallVec<[Register; 4]>,
    /// As those of the plan, with results of the region by their places.
    pub(super) gradients: Gradients,
    /// Of a gradient that has the shape of the result.
    whole: Region,
    /// Of the first gradient that was narrower. There are few kinds of those: most are a single number.
    narrow: OnceLock<Option<Region>>,
}

/// Whether a step can be one of a region, at less than it would cost to keep what it computes.
pub(super) fn is_cheap(step: &Step) -> bool {
    matches!(step.primitive, Primitive::Elementwise(_))
}

impl Fused {
    /// The region of these steps; `None` where there is nothing to fuse. `meta` is that of the result, to whose shape all
    /// stretches, and `of` says what the others are.
    pub(super) fn of(
        steps: &[Step],
        gradients: &Gradients,
        meta: &Meta,
        of: impl Fn(Register) -> Meta,
    ) -> Option<Self> {
        let is_fit = |step: &Step| {
            matches!(step.primitive, Primitive::Elementwise(_) | Primitive::Analytic(_))
        };
        if steps.len() < 2 || !steps.iter().all(is_fit) {
            return None;
        }
        let mut inputs: SmallVec<[Register; 4]> = SmallVec::new();
        for &register in steps.iter().flat_map(|step| &step.operands) {
            if !matches!(register, Register::Back(_)) && !inputs.contains(&register) {
                inputs.push(register);
            }
        }
        let place = |register: Register| match register {
            Register::Back(step) => Some(inputs.len() + step),
            input => inputs.iter().position(|&other| other == input),
        };
        let place = |&register: &Register| u16::try_from(place(register)?).ok();
        let mut fused: Vec<RegionStep> = Vec::new();
        for Step { primitive, operands } in steps {
            let operands = operands.iter().map(place).collect::<Option<_>>()?;
            fused.push(RegionStep { primitive: primitive.clone(), operands });
        }
        let mut results: Vec<RegionResult> = Vec::new();
        let mut gradients = gradients.to_vec();
        for (_, register) in &mut gradients {
            if let Register::Back(_) = register {
                let result = RegionResult::Value(place(register)?);
                let known = results.iter().position(|other| *other == result);
                *register = Register::Back(known.unwrap_or(results.len()));
                if known.is_none() {
                    results.push(result);
                }
            }
        }
        let metas = inputs.iter().map(|&register| of(register)).collect();
        let whole = Region::new(meta.shape.clone(), metas, fused, results).ok()?;
        Some(Self { inputs, gradients, whole, narrow: OnceLock::new() })
    }

    /// The results of the region for what is found by `value`; `None` if they are to be computed step by step.
    pub(super) fn run<'v>(
        &self,
        autodiff: &Autodiff,
        value: impl Fn(Register) -> &'v Known<'v>,
    ) -> Result<Option<Computed>> {
        let Some(region) = self.region(value(Register::Gradient).shape()) else { return Ok(None) };
        let mut inputs: SmallVec<[Operand<'_>; 4]> = SmallVec::new();
        for &register in &self.inputs {
            let Known::Plain(tensor) = value(register) else { return Ok(None) };
            inputs.push(tensor.as_operand());
        }
        let mut computed = Computed::new();
        for tensor in autodiff.run_region(region, &inputs)? {
            computed.push(Some(tensor.into()));
        }
        Ok(Some(computed))
    }

    /// The region for a gradient of this shape.
    fn region(&self, gradient: &Shape) -> Option<&Region> {
        let place = self.inputs.iter().position(|input| *input == Register::Gradient);
        let takes =
            |region: &Region| place.is_none_or(|place| region.inputs()[place].shape == *gradient);
        if takes(&self.whole) {
            return Some(&self.whole);
        }
        let narrow = self.narrow.get_or_init(|| {
            let mut inputs = self.whole.inputs().to_vec();
            inputs[place?].shape = gradient.clone();
            let (steps, results) = (self.whole.steps().to_vec(), self.whole.results().to_vec());
            Region::new(self.whole.shape().clone(), inputs, steps, results).ok()
        });
        narrow.as_ref().filter(|region| takes(region))
    }
}
