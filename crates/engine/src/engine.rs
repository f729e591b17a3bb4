//! The engine: checks, memory and kernels under the grants of one domain.

use tenferro_ops::{
    Meta, Scale, check_destination, check_scale, infer, infer_contraction, result_like,
};
use tenferro_provider::{Chain, Workers};
use tenferro_scope::{Breadth, ResourceDomain};
use tenferro_tensor::{
    Contraction, Dot, Exponentials, Operand, OperandMut, Primitive, Result, Tensor,
};

use crate::{
    error::refused,
    kernel::{self, ExponentialPlan, Grant, Plain},
    pool::BufferPool,
    schedule::product_pays,
};

/// Runs the vocabulary on the CPUs of a domain.
///
/// Shared by the clones of a backend; every call is admitted by the domain. Immutable but for its pool.
pub struct CpuEngine {
    domain: ResourceDomain,
    providers: Chain,
    pool: BufferPool,
}

impl CpuEngine {
    /// The engine of a domain, whose products `providers` compute and which keeps at most `pool_limit` bytes of free
    /// buffers.
    #[must_use]
    pub fn new(domain: ResourceDomain, providers: Chain, pool_limit: usize) -> Self {
        Self { domain, providers, pool: BufferPool::new(pool_limit) }
    }

    /// The domain that admits.
    #[must_use]
    pub fn domain(&self) -> &ResourceDomain {
        &self.domain
    }

    /// Who computes products, most preferred first.
    #[must_use]
    pub fn providers(&self) -> &Chain {
        &self.providers
    }

    /// The buffers of dropped tensors.
    #[must_use]
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// Carries out one primitive, admitted by the domain.
    ///
    /// # Errors
    /// What the primitive refuses, and what the domain refuses.
    // Compiled once, with all that a small operation needs in it and nothing else; the methods of the vocabulary call it.
    #[inline(never)]
    pub fn apply(&self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let ready = kernel::Ready::find(primitive, inputs);
        if let Some(ready) = ready {
            match self.domain.run_briefly(|| self.run_ready(ready, inputs)) {
                Ok(Some(Some(result))) => return Ok(result),
                Ok(_) => {}
                Err(error) => return refusal(primitive, error),
            }
        }
        self.apply_any(ready, primitive, inputs)
    }

    /// The same, in whatever way it has to be admitted.
    #[inline(never)]
    fn apply_any(
        &self,
        ready: Option<&kernel::Ready>,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
    ) -> Result<Tensor> {
        let breadth = match ready {
            Some(_) => Breadth::Narrow,
            None => self.breadth(primitive, inputs),
        };
        // An error in a box, so that results fit into registers: to hand one on through memory costs as much as an addition.
        let result = self.domain.run(
            breadth,
            |guard| match ready.and_then(|ready| self.run_ready(ready, inputs)) {
                Some(result) => Ok(result),
                None => self.run_others(&guard.workers(), primitive, inputs).map_err(Box::new),
            },
            |error| Box::new(refused(primitive.name(), error)),
        );
        result.map_err(|error| *error)
    }

    /// Carries out one primitive into a given output.
    ///
    /// # Errors
    /// As [`CpuEngine::apply`]; a [`Validation`](tenferro_tensor::Validation) if `out` has not the dtype and shape of the result.
    pub fn apply_into(
        &self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        out: OperandMut<'_>,
    ) -> Result<()> {
        let breadth = self.breadth(primitive, inputs);
        self.domain.run(
            breadth,
            move |guard| self.run_into(&guard.workers(), primitive, inputs, out),
            |error| refused(primitive.name(), error),
        )
    }

    /// Computes `out = alpha * contraction(lhs, rhs) + beta * out`.
    ///
    /// # Errors
    /// As [`CpuEngine::apply_into`]; a [`Validation`](tenferro_tensor::Validation) if the dtype cannot hold a factor.
    pub fn contract_into(
        &self,
        contraction: &Contraction,
        inputs: &[Operand<'_>; 2],
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        const OP: &str = "dot_general";
        self.domain.run(
            contraction_breadth(contraction, inputs),
            move |guard| self.run_contraction(&guard.workers(), contraction, inputs, scale, out),
            |error| refused(OP, error),
        )
    }

    /// Carries out a composite of exponentials at once, if it can; `None` says that its primitives have to do.
    ///
    /// # Errors
    /// What the domain refuses; [`OutOfMemory`](tenferro_tensor::Error::OutOfMemory).
    pub fn exponentials(
        &self,
        exponentials: &Exponentials,
        x: &Operand<'_>,
    ) -> Result<Option<Tensor>> {
        let Some(plan) = ExponentialPlan::new(exponentials, x) else { return Ok(None) };
        let is_wide = self.domain.width() > 1 && kernel::pays(plan.cost());
        let result = self.domain.run(
            if is_wide { Breadth::Wide } else { Breadth::Narrow },
            |guard| plan.compute(&self.grant(&guard.workers()), x),
            |error| refused(plan.name(), error),
        );
        result.map(Some)
    }

    /// Carries out one primitive inside of an admitted operation.
    #[inline]
    pub(super) fn run(
        &self,
        workers: &dyn Workers,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
    ) -> Result<Tensor> {
        let ready = kernel::Ready::find(primitive, inputs);
        match ready.and_then(|ready| self.run_ready(ready, inputs)) {
            Some(result) => Ok(result),
            None => self.run_others(workers, primitive, inputs),
        }
    }

    /// The result of a small operation on operands that are alike; `None` if there is no memory for it.
    #[inline(always)]
    fn run_ready(&self, ready: &kernel::Ready, inputs: &[Operand<'_>]) -> Option<Tensor> {
        let (dtype, shape) = (ready.dtype(), inputs[0].shape());
        let block = self.pool.take(shape.elements() * dtype.size())?;
        // SAFETY: the loop was found for these operands, and writes as many elements of its dtype to the block's data,
        // which are aligned.
        unsafe {
            ready.run(inputs, block.data());
            Some(Tensor::from_block(block, dtype, shape))
        }
    }

    #[inline(never)]
    fn run_others(
        &self,
        workers: &dyn Workers,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
    ) -> Result<Tensor> {
        if let Primitive::Dot(Dot::DotGeneral { contraction }) = primitive
            && let Some(plain) = Plain::of(contraction, inputs)
            && let Some(result) = self.run_plain(workers, &plain)
        {
            return result;
        }
        if let Some(like) = result_like(primitive, inputs)
            && let Some(result) = self.run_small(primitive, inputs, like)
        {
            return Ok(result);
        }
        self.run_any(workers, primitive, inputs)
    }

    /// The result of a small elementwise operation that has the dtype and shape of the operand `like`; `None` if it has to
    /// go the general way.
    #[inline]
    fn run_small(
        &self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        like: usize,
    ) -> Option<Tensor> {
        let (dtype, shape) = (inputs[like].dtype(), inputs[like].shape());
        let mut block = None;
        kernel::small(primitive, inputs, like, || {
            let bytes = shape.elements() * dtype.size();
            Some(block.insert(self.pool.take(bytes)?).data())
        })?;
        // SAFETY: the kernel has written as many elements of the dtype to the block's data, which are aligned.
        block.map(|block| unsafe { Tensor::from_block(block, dtype, shape) })
    }

    /// The result of a plain contraction; `None` if it has to go the general way, which knows every refusal.
    #[inline]
    fn run_plain(&self, workers: &dyn Workers, plain: &Plain<'_>) -> Option<Result<Tensor>> {
        let (dtype, shape) = (plain.dtype(), plain.shape()?);
        let block = self.pool.take(shape.elements().checked_mul(dtype.size())?)?;
        // SAFETY: the block's data are aligned, large enough for a dense tensor, and nobody else's.
        let out = unsafe { OperandMut::from_raw_uninit(block.data(), dtype, &shape, None) };
        let done = plain.multiply(&self.grant(workers), Scale::ASSIGN, out);
        // SAFETY: a product that returns without an error has written every element.
        Some(done.map(|()| unsafe { Tensor::from_block(block, dtype, &shape) }))
    }

    fn run_any(
        &self,
        workers: &dyn Workers,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
    ) -> Result<Tensor> {
        let grant = self.grant(workers);
        let Meta { dtype, shape } = infer(primitive, inputs)?;
        let mut out = grant.allocate(primitive.name(), dtype, shape)?;
        kernel::compute(&grant, primitive, inputs, &mut out.as_operand_mut())?;
        // SAFETY: a kernel that returns without an error has written every element.
        Ok(unsafe { out.assume_init() })
    }

    pub(super) fn run_into(
        &self,
        workers: &dyn Workers,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        mut out: OperandMut<'_>,
    ) -> Result<()> {
        check_destination(primitive.name(), &infer(primitive, inputs)?, &out)?;
        kernel::compute(&self.grant(workers), primitive, inputs, &mut out)
    }

    pub(super) fn run_contraction(
        &self,
        workers: &dyn Workers,
        contraction: &Contraction,
        inputs: &[Operand<'_>; 2],
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        const OP: &str = "dot_general";
        check_destination(OP, &infer_contraction(contraction, &inputs[0], &inputs[1])?, &out)?;
        check_scale(OP, scale, &out)?;
        kernel::contract(&self.grant(workers), contraction, inputs, scale, out)
    }

    /// How many CPUs an operation has work for, judged by its operands before they are checked.
    #[inline]
    pub(super) fn breadth(&self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Breadth {
        // Alone, nothing can be shared out.
        if self.domain.width() == 1 { Breadth::Narrow } else { breadth(primitive, inputs) }
    }

    #[inline]
    pub(super) fn grant<'g>(&'g self, workers: &'g dyn Workers) -> Grant<'g> {
        Grant::new(workers, &self.pool, &self.providers)
    }
}

#[cold]
fn refusal(primitive: &Primitive, error: tenferro_scope::Error) -> Result<Tensor> {
    Err(refused(primitive.name(), error))
}

fn breadth(primitive: &Primitive, inputs: &[Operand<'_>]) -> Breadth {
    if let (Primitive::Dot(Dot::DotGeneral { contraction }), [lhs, rhs]) = (primitive, inputs) {
        return contraction_breadth(contraction, &[*lhs, *rhs]);
    }
    // Broadcasting, padding and embedding can make much of little; windows and kernels read all again and again.
    if matches!(
        primitive,
        Primitive::Structural(_)
            | Primitive::Indexing(_)
            | Primitive::Windowed(_)
            | Primitive::Sorting(_)
            | Primitive::Dot(Dot::Convolve { .. })
    ) {
        return Breadth::Wide;
    }
    if kernel::pays(kernel::estimated_cost(primitive, inputs)) {
        Breadth::Wide
    } else {
        Breadth::Narrow
    }
}

fn contraction_breadth(contraction: &Contraction, [lhs, rhs]: &[Operand<'_>; 2]) -> Breadth {
    let summed: usize = contraction
        .rhs_contracting
        .iter()
        .chain(contraction.rhs_batch.iter())
        .map(|&axis| rhs.shape().get(axis).copied().unwrap_or(1).max(1))
        .fold(1, usize::saturating_mul);
    let work = lhs.shape().elements().saturating_mul(rhs.shape().elements() / summed);
    if product_pays(work) { Breadth::Wide } else { Breadth::Narrow }
}
