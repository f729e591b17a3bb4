//! The interpreter: chunks of a region's elements, step by step, on one thread.
//!
//! Registers and copies of strided operands lie on the stack: a chunk is chosen so that they fit.

use std::{mem::MaybeUninit, ops::Range, ptr::NonNull, sync::atomic::Ordering};

use smallvec::SmallVec;

use super::{
    Run,
    plan::{Plan, advanced},
};
use crate::kernel::{copy, isa::Places, stream::Copied};

/// The bytes of registers and copies that lie on the stack, for small operands and for large ones.
pub(super) const LITTLE: usize = 8 << 10;
const MUCH: usize = 64 << 10;

/// Where the values go that are reduced.
#[derive(Clone, Copy)]
pub(super) enum Feed {
    /// Nothing is.
    Nowhere,
    /// To consecutive elements from here.
    At(NonNull<u8>),
}

/// Memory for registers and copies.
#[repr(C, align(64))]
pub(super) struct Scratch<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

impl<const BYTES: usize> Scratch<BYTES> {
    pub(super) fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; BYTES])
    }

    pub(super) fn place(&mut self) -> NonNull<u8> {
        NonNull::from(&mut self.0).cast()
    }
}

/// Where registers, copies of operands and stages of results begin in a scratch.
struct Starts {
    registers: SmallVec<[usize; 16]>,
    copies: SmallVec<[usize; 8]>,
    stages: SmallVec<[Option<usize>; 2]>,
}

/// One thread's registers, and where everything is.
pub(super) struct Chunks<'r> {
    run: &'r Run<'r>,
    slots: SmallVec<[NonNull<u8>; 32]>,
    /// Copies of operands that do not lie next to each other.
    copies: SmallVec<[Copied; 8]>,
    /// Where chunks of results are computed that go past the caches.
    stages: SmallVec<[Option<NonNull<u8>>; 2]>,
}

impl<'r> Chunks<'r> {
    /// Calls `body` with registers of its own.
    pub(super) fn with(run: &'r Run<'r>, body: impl FnOnce(&mut Chunks<'r>)) {
        let mut end = 0;
        let mut starts =
            Starts { registers: SmallVec::new(), copies: SmallVec::new(), stages: SmallVec::new() };
        for size in run.plan.registers() {
            starts.registers.push(advanced(&mut end, run.chunk * size));
        }
        for (input, stream) in run.streams.iter().enumerate() {
            starts.copies.push(match stream.buffered(run.chunk) {
                0 => 0,
                count => advanced(&mut end, count * run.plan.input_size(input)),
            });
        }
        for out in &run.outs {
            starts.stages.push(match out.streamed {
                true => Some(advanced(&mut end, run.chunk * out.size)),
                false => None,
            });
        }
        if end <= LITTLE {
            let mut scratch = Scratch::<LITTLE>::new();
            Self::over(run, scratch.place(), &starts).used(body);
        } else if end <= MUCH {
            Self::with_much(run, &starts, body);
        } else if let Some(mut scratch) = run.scratch(end) {
            let data = scratch.as_operand_mut().data();
            Self::over(run, data, &starts).used(body);
        }
    }

    /// In a function of its own, so that small regions do not pay for a large frame.
    #[inline(never)]
    fn with_much(run: &'r Run<'r>, starts: &Starts, body: impl FnOnce(&mut Chunks<'r>)) {
        let mut scratch = Scratch::<MUCH>::new();
        Self::over(run, scratch.place(), starts).used(body);
    }

    fn used(mut self, body: impl FnOnce(&mut Chunks<'r>)) {
        body(&mut self);
    }

    /// Registers and copies at these starts of a scratch, which holds them all and outlives what is returned.
    fn over(run: &'r Run<'r>, data: NonNull<u8>, starts: &Starts) -> Self {
        let Starts { registers, copies, stages } = starts;
        // SAFETY: the starts lie inside of the scratch.
        let at = |start: &usize| unsafe { data.add(*start) };
        let fixed = run.plan.slots() - registers.len();
        let mut chunks = Chunks {
            run,
            slots: SmallVec::from_elem(data, fixed),
            copies: SmallVec::new(),
            stages: SmallVec::new(),
        };
        for register in registers {
            chunks.slots.push(at(register));
        }
        for (stream, copy) in run.streams.iter().zip(copies) {
            let copy = Copied::to(at(copy));
            stream.prepare(run.chunk, &copy);
            chunks.copies.push(copy);
        }
        for stage in stages {
            chunks.stages.push(stage.as_ref().map(at));
        }
        chunks
    }

    /// Computes the elements `range`, counted in column-major order; where those lie that are reduced.
    pub(super) fn run(&mut self, range: Range<usize>, feed: Feed) -> NonNull<u8> {
        let Run { plan, streams, outs, chunk, is_large, .. } = self.run;
        let mut at = range.start;
        while at < range.end {
            let most = (*chunk).min(range.end - at);
            let length = streams.iter().fold(most, |most, stream| stream.most(at, most));
            for ((slot, stream), copy) in self.slots.iter_mut().zip(streams).zip(&mut self.copies) {
                *slot = stream.read(at, length, copy);
            }
            let places = self.slots[plan.first_whole()..].iter_mut();
            for ((slot, out), stage) in places.zip(outs).zip(&self.stages) {
                // SAFETY: the range is inside of every result.
                *slot = stage.unwrap_or(unsafe { out.data.add(at * out.size) });
            }
            if let Feed::At(feed) = feed {
                // SAFETY: whoever feeds has room for the range.
                let feed = unsafe { feed.add((at - range.start) * plan.feed_size()) };
                self.slots[plan.feed()] = feed;
            }
            if *is_large {
                streams.iter().for_each(|stream| stream.prefetch_after(at, length));
            }
            // SAFETY: registers and copies have room for a chunk, and the range is inside of operands and results. What is
            // written overlaps nothing that is read: registers are apart, results are written nowhere else, and operands
            // that lie where a result is written are copied before.
            if let Some(step) = unsafe { steps(plan, &self.slots, length) } {
                self.run.failed.fetch_min(step, Ordering::Relaxed);
            }
            for (out, stage) in outs.iter().zip(&self.stages) {
                if let Some(stage) = stage {
                    // SAFETY: the stage holds the chunk, and the range is inside of every result.
                    unsafe {
                        let to = out.data.add(at * out.size);
                        copy::stream::row(to.as_ptr(), stage.as_ptr(), length * out.size);
                    }
                }
            }
            at += length;
        }
        if self.stages.iter().any(Option::is_some) {
            copy::stream::finish();
        }
        match (plan.reduced_whole(), feed) {
            // What is a result as well is read from there.
            // SAFETY: the range is inside of every result.
            (Some(whole), _) => unsafe { outs[whole].data.add(range.start * outs[whole].size) },
            (None, Feed::At(feed)) => feed,
            (None, Feed::Nowhere) => NonNull::dangling(),
        }
    }
}

/// All steps on `length` elements. Where one has no value it writes something, and the first that does is returned.
///
/// # Safety
/// Every slot of a step must have so many elements of the dtype that its loop was chosen for, and the one that is written
/// may overlap none that is read.
#[inline]
pub(super) unsafe fn steps(plan: &Plan, slots: &[NonNull<u8>], length: usize) -> Option<usize> {
    let slots = &slots[..plan.slots()];
    let mut failed = None;
    for (number, step) in plan.steps.iter().enumerate() {
        // SAFETY: the slots of a plan's steps are among those that it counts.
        let places: Places =
            step.from.map(|slot| unsafe { *slots.get_unchecked(usize::from(slot)) });
        // SAFETY: as above.
        let to = unsafe { *slots.get_unchecked(usize::from(step.to)) };
        // SAFETY: the caller says so.
        unsafe {
            if let Some(check) = &step.kernel.check
                && (check.finds)(&places, length, step.kernel.word)
            {
                failed = failed.or(Some(number));
            }
            (step.kernel.run)(to, &places, length, step.kernel.word);
        }
    }
    failed
}
