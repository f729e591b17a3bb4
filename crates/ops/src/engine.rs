//! The trait of everything that runs operations.
//!
//! An engine carries out the vocabulary; the rest of the trait are finer ways to say the same, each with a plain default
//! that an engine overrides where it knows better. It is object safe, and says nothing of threads or providers.

use smallvec::SmallVec;
use tenferro_tensor::{
    AsOperand, Contraction, Dot, Exponentials, Factor, Operand, OperandMut, Primitive, Result,
    Tensor, Vocabulary,
};

use crate::{
    Region, Results,
    destination::{accumulate_into, check_destination, check_scale, copy_into, scale_into},
    infer, infer_contraction,
};

/// The factors of `out = alpha * product + beta * out`.
///
/// A `beta` of zero means that the output is never read, so that it may hold anything, NaN included. An `alpha` of
/// zero means that the operands are never read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The factor of the product.
    pub alpha: Factor,
    /// The factor of what the output held before.
    pub beta: Factor,
}

impl Scale {
    /// The product alone, over whatever the output held: `alpha` 1, `beta` 0.
    pub const ASSIGN: Scale = Scale { alpha: Factor::ONE, beta: Factor::ZERO };
    /// The product added to what the output held: `alpha` 1, `beta` 1.
    pub const ADD: Scale = Scale { alpha: Factor::ONE, beta: Factor::ONE };
}

impl Default for Scale {
    /// [`Scale::ASSIGN`].
    fn default() -> Self {
        Self::ASSIGN
    }
}

/// An operand that is lent, or given away for its memory to be used again.
pub enum Input<'a> {
    /// Given: the engine may write its result over a tensor that nobody shares.
    Owned(Tensor),
    /// Lent: only read.
    Borrowed(Operand<'a>),
}

/// The operands of [`Engine::donate`].
pub type Inputs<'a> = SmallVec<[Input<'a>; 4]>;

impl From<Tensor> for Input<'_> {
    fn from(tensor: Tensor) -> Self {
        Input::Owned(tensor)
    }
}

impl<'a> From<Operand<'a>> for Input<'a> {
    fn from(operand: Operand<'a>) -> Self {
        Input::Borrowed(operand)
    }
}

impl AsOperand for Input<'_> {
    fn as_operand(&self) -> Operand<'_> {
        match self {
            Input::Owned(tensor) => tensor.as_operand(),
            Input::Borrowed(operand) => *operand,
        }
    }
}

/// One of several jobs that do not depend on each other: it is handed an engine and its number.
pub type LaneJob<'a> = dyn Fn(&mut dyn Engine, usize) -> Result<()> + Sync + 'a;

/// Whatever carries out operations: the optimised engine, the reference, a backend.
///
/// Object safe: autodiff, programs and operation families hold a `&mut dyn Engine`. The one required method is
/// [`Vocabulary::apply`].
pub trait Engine: Vocabulary + Send + Sync {
    /// Carries out one primitive as [`Vocabulary::apply`] does, without having the engine alone; `None` if that cannot be.
    ///
    /// Who shares an engine with others asks this first, and else makes a clone for the time.
    fn apply_shared(
        &self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
    ) -> Option<Result<Tensor>> {
        let _ = (primitive, inputs);
        None
    }

    /// Carries out one primitive into a given output, which is written as a whole and never read.
    ///
    /// # Errors
    /// As [`Vocabulary::apply`]; a [`Validation`](tenferro_tensor::Validation) if `out` has not the dtype and shape of
    /// the result, before anything is computed.
    fn apply_into(
        &mut self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        out: OperandMut<'_>,
    ) -> Result<()> {
        check_destination(primitive.name(), &infer(primitive, inputs)?, &out)?;
        let result = self.apply(primitive, inputs)?;
        copy_into(primitive.name(), &result.as_operand(), out)
    }

    /// Computes `out = alpha * (lhs . rhs) + beta * out`.
    ///
    /// With a `beta` of zero `out` is never read; with an `alpha` of zero neither are `lhs` and `rhs`, which are still
    /// checked.
    ///
    /// # Errors
    /// What `dot_general` refuses; a [`Validation`](tenferro_tensor::Validation) if `out` has not the dtype and shape
    /// of the product, if the dtype cannot hold a factor, or if `beta` is not zero and `out` was never written.
    fn contract_into(
        &mut self,
        contraction: &Contraction,
        lhs: &Operand<'_>,
        rhs: &Operand<'_>,
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        const OP: &str = "dot_general";
        check_destination(OP, &infer_contraction(contraction, lhs, rhs)?, &out)?;
        check_scale(OP, scale, &out)?;
        if scale.alpha.is_zero() {
            return scale_into(OP, scale.beta, out);
        }
        let product = Primitive::from(Dot::DotGeneral { contraction: contraction.clone() });
        let product = self.apply(&product, &[*lhs, *rhs])?;
        accumulate_into(OP, scale, &product.as_operand(), out)
    }

    /// Carries out one primitive on operands that are given away, so that an engine may write over one of them.
    ///
    /// # Errors
    /// As [`Vocabulary::apply`]; what was given is gone then too.
    fn donate(&mut self, primitive: &Primitive, inputs: Inputs<'_>) -> Result<Tensor> {
        let operands: SmallVec<[Operand<'_>; 4]> =
            inputs.iter().map(AsOperand::as_operand).collect();
        self.apply(primitive, &operands)
    }

    /// Carries out a fused region on operands that are lent or given away.
    ///
    /// Results are those of the steps one after the other, bit for bit; the plain way is to run them so. What is left of
    /// a given operand afterwards is unspecified.
    ///
    /// # Errors
    /// As [`Region::run_by_steps`].
    fn run_region(&mut self, region: &Region, inputs: &mut [Input<'_>]) -> Result<Results> {
        region.run_by_steps(self, inputs)
    }

    /// Carries out a fused region on operands that are lent, as [`Engine::run_region`] does, without having the engine
    /// alone; see [`Engine::apply_shared`].
    fn run_region_shared(
        &self,
        region: &Region,
        inputs: &[Operand<'_>],
    ) -> Option<Result<Results>> {
        let _ = (region, inputs);
        None
    }

    /// Carries out a fused region into given outputs, one a result, which are written as a whole and never read.
    ///
    /// # Errors
    /// As [`Engine::run_region`]; a [`Validation`](tenferro_tensor::Validation) if the outputs have not the dtypes and
    /// shapes of the results, before anything is computed.
    fn run_region_into(
        &mut self,
        region: &Region,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        region.check_destinations(outs)?;
        let results = self.run_region(region, inputs)?;
        for (result, out) in results.iter().zip(outs) {
            copy_into("region", &result.as_operand(), out.reborrow())?;
        }
        Ok(())
    }

    /// Runs `job(engine, 0)` to `job(engine, jobs - 1)`, which must not depend on each other, and returns when all have
    /// ended.
    ///
    /// An engine that has several CPUs may divide them into lanes and run jobs at the same time, each with an engine of
    /// its lane; jobs start in the order of their numbers. The plain way is one after the other.
    ///
    /// # Errors
    /// That of the first job, by number, that has one; later jobs may not have run then. What the engine refuses.
    ///
    /// # Panics
    /// If a job does, after the running ones have ended.
    fn run_lanes(&mut self, jobs: usize, job: &LaneJob<'_>) -> Result<()> {
        (0..jobs).try_for_each(|index| job(&mut Lent(&mut *self), index))
    }
}

/// An engine that is lent: what a default method, which does not know its type, can hand on.
struct Lent<'e, E: ?Sized>(&'e mut E);

impl<E: Engine + ?Sized> Vocabulary for Lent<'_, E> {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.0.apply(primitive, inputs)
    }

    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Operand<'_>,
    ) -> Result<Option<Tensor>> {
        self.0.exponentials(exponentials, x)
    }
}

impl<E: Engine + ?Sized> Engine for Lent<'_, E> {
    fn apply_into(
        &mut self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        out: OperandMut<'_>,
    ) -> Result<()> {
        self.0.apply_into(primitive, inputs, out)
    }

    fn contract_into(
        &mut self,
        contraction: &Contraction,
        lhs: &Operand<'_>,
        rhs: &Operand<'_>,
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        self.0.contract_into(contraction, lhs, rhs, scale, out)
    }

    fn donate(&mut self, primitive: &Primitive, inputs: Inputs<'_>) -> Result<Tensor> {
        self.0.donate(primitive, inputs)
    }

    fn run_region(&mut self, region: &Region, inputs: &mut [Input<'_>]) -> Result<Results> {
        self.0.run_region(region, inputs)
    }

    fn run_region_into(
        &mut self,
        region: &Region,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        self.0.run_region_into(region, inputs, outs)
    }

    fn run_lanes(&mut self, jobs: usize, job: &LaneJob<'_>) -> Result<()> {
        self.0.run_lanes(jobs, job)
    }
}
