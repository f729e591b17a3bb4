//! Fused regions: a straight line of elementwise steps, run through in chunks that stay in the first-level cache.
//!
//! A step is the loop of its row, as elsewhere: nothing here computes an element. What lies between the steps are
//! registers, a chunk each, so that only operands and results touch memory; what is reduced is folded as it is computed,
//! in the order in which the reduction of a dense tensor would be. Results are those of the steps one by one, bit for bit.

mod brief;
mod chunks;
mod plan;

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use smallvec::SmallVec;
use tenferro_ops::{Region, RegionResult};
use tenferro_tensor::{AsOperand, Error, Operand, OperandMut, Reduction, Result, Uninit};

use self::chunks::{Chunks, Feed};
use super::{
    Grant,
    copy::{
        self,
        stream::{RESULT_FROM, SHORT_STAGE},
    },
    reduce,
    share::Target,
    stream::Stream,
};

pub(crate) use self::{
    brief::{is_brief, run as run_brief},
    plan::Plan,
};

/// A region that is being run.
struct Run<'r> {
    grant: &'r Grant<'r>,
    plan: &'r Plan,
    streams: SmallVec<[Stream; 8]>,
    /// Where the wholes lie, in the order of the plan.
    outs: SmallVec<[Out; 2]>,
    elements: usize,
    chunk: usize,
    /// Whether operands come from memory, so that it pays to ask for chunks before they are needed.
    is_large: bool,
    /// The first step that had no value for some element; more than there are if all have.
    failed: AtomicUsize,
    out_of_memory: AtomicBool,
}

/// A result that is written by the chunk.
struct Out {
    data: NonNull<u8>,
    size: usize,
    /// Whether a chunk is written past the caches, from where it was computed.
    streamed: bool,
}

/// Regions of so many steps wait for memory, and of more for the steps: their chunks are not cut for the sake of the memory.
const FEW_STEPS: usize = 4;
/// Parts of a region begin at whole lines of its results, whatever the dtype.
const BLOCK: usize = 64;

// SAFETY: a run stands for borrows of plain elements; parts write disjoint elements of the outputs.
unsafe impl Sync for Run<'_> {}

/// Whether a result of a region can be written to an output: one that is written as a whole only where that is dense.
pub(crate) fn fits(result: &RegionResult, out: &OperandMut<'_>) -> bool {
    matches!(result, RegionResult::Reduced(..)) || out.strides().is_none()
}

/// Writes the results of a region into `outs`, which have their dtypes and shapes and [fit](fits). `overwritten` says
/// which operands lie where a result is written.
///
/// Every element is written, or an error is returned.
pub(crate) fn region(
    grant: &Grant<'_>,
    region: &Region,
    plan: &Plan,
    inputs: &[Operand<'_>],
    overwritten: &[bool],
    outs: &mut [OperandMut<'_>],
) -> Result<()> {
    let shape = region.shape();
    let mut streams: SmallVec<[Stream; 8]> = SmallVec::new();
    for (input, &overwritten) in inputs.iter().zip(overwritten) {
        streams.push(Stream::of(input, shape, overwritten));
    }
    let mut wholes = SmallVec::new();
    for (result, out) in region.results().iter().zip(&mut *outs) {
        if matches!(result, RegionResult::Value(_)) {
            let (data, size) = (out.data(), out.dtype().size());
            // What lies where an operand did is in the cache, and what is reduced is read again.
            let streamed = copy::stream::EXISTS
                && shape.elements() * size >= RESULT_FROM
                && plan.reduced_whole() != Some(wholes.len())
                && !inputs.iter().any(|input| input.data() == data);
            wholes.push(Out { data, size, streamed });
        }
    }
    let elements = shape.elements();
    let streamed = wholes.iter().filter(|out: &&Out| out.streamed);
    let stage = match streamed.map(|out| SHORT_STAGE / out.size).min() {
        Some(stage) if plan.steps.len() <= FEW_STEPS => stage,
        _ => usize::MAX,
    };
    let run = Run {
        grant,
        plan,
        chunk: plan.chunk(elements).min(stage),
        is_large: elements.saturating_mul(plan.cost()) >= RESULT_FROM,
        streams,
        outs: wholes,
        elements,
        failed: AtomicUsize::new(usize::MAX),
        out_of_memory: AtomicBool::new(false),
    };
    match reduction(region) {
        None => run.all(),
        Some((place, row)) => {
            let out = outs[place].reborrow();
            match plan.square() {
                // What a square is of lies there as a whole, so that a fold can square on the way.
                Some(of) if run.streams[of].buffered(1) == 0 && run.outs.is_empty() => {
                    let Reduction::Sum { axes, keep } = row else {
                        unreachable!("invariant: a square is summed")
                    };
                    let squares = Reduction::SumOfSquares { axes: axes.clone(), keep: *keep };
                    reduce::reduce(grant, &squares, &inputs[of], out)?;
                }
                _ => run.reduced(row, region, out)?,
            }
        }
    }
    if run.out_of_memory.into_inner() {
        return Err(Error::OutOfMemory { op: "region", bytes: plan.scratch_bytes() });
    }
    plan.failure(Some(run.failed.into_inner()))
}

/// The reduction among the results.
fn reduction(region: &Region) -> Option<(usize, &Reduction)> {
    region.results().iter().enumerate().find_map(|(place, result)| match result {
        RegionResult::Reduced(_, row) => Some((place, row)),
        RegionResult::Value(_) => None,
    })
}

impl Run<'_> {
    /// Memory of the pool; `None`, and remembered, if there is none.
    fn scratch(&self, bytes: usize) -> Option<Uninit> {
        let scratch = self.grant.scratch::<u8>(bytes);
        self.out_of_memory.fetch_or(scratch.is_none(), Ordering::Relaxed);
        scratch
    }

    /// Computes all elements of results that are written as a whole.
    fn all(&self) {
        let blocks = self.elements.div_ceil(BLOCK);
        self.grant.share(blocks, self.plan.cost() * BLOCK, |range| {
            let range = range.start * BLOCK..(range.end * BLOCK).min(self.elements);
            Chunks::with(self, |chunks| _ = chunks.run(range, Feed::Nowhere));
        });
    }

    /// Computes all elements and folds those that are reduced.
    fn reduced(&self, row: &Reduction, region: &Region, mut out: OperandMut<'_>) -> Result<()> {
        let place = self.plan.reduced_place().expect("invariant: a value is reduced");
        let meta = region.meta(place);
        // SAFETY: only shape and strides are looked at; elements are computed.
        let described =
            unsafe { Operand::from_raw(NonNull::dangling(), meta.dtype, &meta.shape, None) };
        if reduce::reduce_computed(self.grant, row, &described, self, out.reborrow())? {
            return Ok(());
        }
        // The fold would jump about: what it reads is computed as a whole first.
        if let Some(whole) = self.plan.reduced_whole() {
            self.all();
            // SAFETY: the result has the dtype and shape, and every element was written.
            let whole =
                unsafe { Operand::from_raw(self.outs[whole].data, meta.dtype, &meta.shape, None) };
            return reduce::reduce(self.grant, row, &whole, out);
        }
        let mut whole = self.grant.allocate("region", meta.dtype, meta.shape.clone())?;
        let feed = Target::<u8>::new(whole.as_operand_mut().data());
        let size = meta.dtype.size();
        self.grant.share(self.elements, self.plan.cost(), |range| {
            // SAFETY: the range is inside of the whole, and no other part has it.
            let feed = unsafe { feed.at((range.start * size).cast_signed()) };
            Chunks::with(self, |chunks| _ = chunks.run(range, Feed::At(feed)));
        });
        if self.out_of_memory.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: every element was written.
        let whole = unsafe { whole.assume_init() };
        reduce::reduce(self.grant, row, &whole.as_operand(), out)
    }
}

impl reduce::Source for Run<'_> {
    fn cost(&self) -> usize {
        self.plan.cost()
    }

    fn open(&self, most: usize, body: &mut dyn FnMut(&mut reduce::Produce<'_>)) {
        let Some(mut feed) = self.scratch(most * self.plan.feed_size()) else { return };
        let feed = feed.as_operand_mut().data();
        Chunks::with(self, |chunks| {
            body(&mut |range| {
                debug_assert!(range.len() <= most);
                chunks.run(range, Feed::At(feed))
            });
        });
    }
}
