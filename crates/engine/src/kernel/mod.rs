//! The kernels: loops over elements that write a given output with the granted threads.
//!
//! A kernel is handed operands that fit (the rules of `ops` have said so) and an output of the right dtype and shape.
//! It knows no admission and no error of the execution core. Results do not depend on the granted width.

mod alike;
mod bits;
mod convolution;
mod copy;
mod dot;
mod elementwise;
mod exponentials;
mod fill;
mod float_state;
mod fold;
mod function;
mod fused;
mod gather;
mod isa;
mod lookup;
mod math;
mod place;
mod plain;
mod reduce;
mod scan;
mod scatter;
mod share;
mod sort;
mod sort_keys;
mod sort_places;
mod stream;
mod structure;
mod walk;
mod window;

use tenferro_ops::Scale;
use tenferro_provider::{Chain, Workers};
use tenferro_tensor::{DType, Dot, Operand, OperandMut, Primitive, Result, Shape, Tensor, Uninit};

use crate::pool::BufferPool;

pub(crate) use alike::Ready;
pub(crate) use dot::contract;
pub(crate) use elementwise::small;
pub(crate) use exponentials::Plan as ExponentialPlan;
pub use float_state::is_default as has_default_float_state;
pub(crate) use fused::{Plan as RegionPlan, fits, is_brief, region, run_brief};
pub(crate) use plain::Plain;
pub(crate) use share::pays;

/// What an operation may use: threads, memory and providers.
pub(crate) struct Grant<'g> {
    workers: &'g dyn Workers,
    pool: &'g BufferPool,
    providers: &'g Chain,
}

impl<'g> Grant<'g> {
    pub(crate) fn new(
        workers: &'g dyn Workers,
        pool: &'g BufferPool,
        providers: &'g Chain,
    ) -> Self {
        Self { workers, pool, providers }
    }

    /// How many threads may run, the caller's included.
    ///
    /// One if the caller's floating-point state is not the default: other threads would compute something else.
    fn width(&self) -> usize {
        match self.workers.width() {
            1 => 1,
            width if float_state::is_default() => width,
            _ => 1,
        }
    }

    /// The granted threads. What they run starts with the default floating-point state.
    fn workers(&self) -> float_state::Checked<'_> {
        float_state::Checked::new(self.workers, self.width())
    }

    /// Memory for a result of the operation `op`.
    pub(crate) fn allocate(&self, op: &'static str, dtype: DType, shape: Shape) -> Result<Uninit> {
        Uninit::with_blocks(op, dtype, shape, |bytes| self.pool.take(bytes))
    }

    /// Memory of the pool for `count` values that a kernel carries along; `None` if there is none.
    fn scratch<T>(&self, count: usize) -> Option<Uninit> {
        let shape = Shape::new(&[count.checked_mul(size_of::<T>())?]).ok()?;
        self.allocate("scratch", DType::U8, shape).ok()
    }

    /// A dense copy of an operand in memory of the pool.
    fn packed(&self, op: &'static str, source: &Operand<'_>) -> Result<Tensor> {
        let mut out = self.allocate(op, source.dtype(), source.shape().clone())?;
        copy::copy(self, source, out.as_operand_mut());
        // SAFETY: the copy wrote every element.
        Ok(unsafe { out.assume_init() })
    }
}

/// Writes the result of `primitive` into `out`, which has its dtype and shape. Every element is written, or an error
/// is returned.
pub(crate) fn compute(
    grant: &Grant<'_>,
    primitive: &Primitive,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
) -> Result<()> {
    match primitive {
        Primitive::Elementwise(row) => elementwise::elementwise(grant, row, inputs, out),
        Primitive::Analytic(row) => elementwise::analytic(grant, row, inputs, out),
        Primitive::Reduction(row) => reduce::reduce(grant, row, &inputs[0], out.reborrow()),
        Primitive::Scan(row) => scan::scan(grant, row, &inputs[0], out.reborrow()),
        Primitive::Windowed(row) => window::windowed(grant, row, &inputs[0], out.reborrow()),
        Primitive::Structural(row) => structure::structural(grant, row, inputs, out.reborrow()),
        Primitive::Indexing(row) => structure::indexing(grant, row, inputs, out.reborrow()),
        Primitive::Sorting(row) => sort::sorting(grant, row, &inputs[0], out.reborrow()),
        Primitive::Dot(Dot::DotGeneral { contraction }) => {
            contract(grant, contraction, inputs, Scale::ASSIGN, out.reborrow())
        }
        Primitive::Dot(Dot::Convolve { convolution }) => {
            convolution::convolve(grant, convolution, inputs, out.reborrow())
        }
    }
}

/// The bytes that an elementwise operation or a reduction moves, or as many as take the same time, at most. Judged by
/// operands that were not checked.
pub(crate) fn estimated_cost(primitive: &Primitive, inputs: &[Operand<'_>]) -> usize {
    let Some((first, rest)) = inputs.split_first() else { return 0 };
    let alike = rest.iter().all(|input| input.shape() == first.shape());
    // Shapes that differ broadcast to their product at most.
    let stretched =
        |elements: usize, input: &Operand<'_>| elements.saturating_mul(input.shape().elements());
    let elements = first.shape().elements();
    let elements = if alike { elements } else { rest.iter().fold(elements, stretched) };
    let bytes: usize = inputs.iter().map(|input| input.dtype().size()).sum();
    let extra = match primitive {
        Primitive::Analytic(_) => elementwise::ANALYTIC_COST,
        _ => 0,
    };
    elements.saturating_mul(bytes + extra)
}
