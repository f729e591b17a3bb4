//! Scans along an axis.
//!
//! A line is cut into blocks of fixed size. Within a block the scan runs from what is neutral; what the blocks before it
//! come to is combined with each of its results. So the results do not depend on how many threads took part, and a
//! line of one block is the plain scan.

use std::{ops::Range, ptr::NonNull};

use tenferro_ops::scalar::{CombinerVisitor, Reducer, visit_scan};
use tenferro_tensor::{
    AsOperand, Boundary, Direction, Error, Operand, OperandMut, Primitive, Result, Scalar, Scan,
};

use super::{
    Grant,
    share::{Elements, Target, pays},
    structure::layout_of,
    walk::{Axis, Walk},
};

/// How many elements of a line make a block.
const BLOCK: usize = 8192;

/// How many lines are carried side by side.
const CARRIED: usize = 64;

/// Computes a scan.
pub(super) fn scan(
    grant: &Grant<'_>,
    row: &Scan,
    input: &Operand<'_>,
    mut out: OperandMut<'_>,
) -> Result<()> {
    let (Scan::Cumsum { axis, sweep }
    | Scan::Cumprod { axis, sweep }
    | Scan::Cummax { axis, sweep }
    | Scan::Cummin { axis, sweep }) = row;
    let op = || Primitive::Scan(row.clone()).name();
    if out.shape().contains(&0) {
        return Ok(());
    }
    // A scan from the end is one over reversed views.
    let (mut view, mut layout, mut first) = (input.view(), layout_of(&out), 0);
    if sweep.direction == Direction::Reverse {
        view = view.reverse(*axis)?;
        (layout, first) = layout.reversed(*axis).map_err(|problem| problem.of(op()))?;
    }
    // SAFETY: the layout is the output's own, backwards along an axis.
    let mut out = unsafe { out.relaid(first, &layout) };
    let lines = Lines::new(grant, *axis, &view.as_operand(), &mut out, sweep.boundary);
    visit_scan(row, input.dtype(), lines)
        .map_err(|problem| problem.of(op()))?
        .map_err(|bytes| Error::OutOfMemory { op: op(), bytes })
}

/// The lines of a scan.
struct Lines<'a> {
    grant: &'a Grant<'a>,
    boundary: Boundary,
    /// The axes across the lines: strides of the output and of the input.
    across: Walk<2>,
    /// The axis along which is scanned: strides of the output and of the input.
    along: Axis<2>,
    from: NonNull<u8>,
    to: NonNull<u8>,
}

impl<'a> Lines<'a> {
    fn new(
        grant: &'a Grant<'a>,
        axis: usize,
        input: &Operand<'_>,
        out: &mut OperandMut<'_>,
        boundary: Boundary,
    ) -> Self {
        let (to, from) = (out.strides_or_dense(), input.strides_or_dense());
        let axes =
            |axis: usize| Axis { extent: input.shape()[axis], strides: [to[axis], from[axis]] };
        let across = (0..input.shape().rank()).filter(|&other| other != axis).map(axes);
        let across = Walk::merging(across);
        Self { grant, boundary, across, along: axes(axis), from: input.data(), to: out.data() }
    }
}

impl CombinerVisitor for Lines<'_> {
    const BY_BITS: bool = true;
    /// The bytes that could not be had for the totals of blocks.
    type Output = Result<(), usize>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Self::Output {
        let extent = self.along.extent;
        let scan = Loops {
            from: Elements::<T>::new(self.from),
            to: Target::<T>::new(self.to),
            steps: self.along.strides,
            boundary: self.boundary,
            reducer,
        };
        let lines = self.across.elements();
        let cost = 2 * extent * size_of::<T>();
        let width = if pays(lines.saturating_mul(cost)) { self.grant.width() } else { 1 };
        if width > 1 && lines < 2 * width && extent > BLOCK {
            return scan.share_blocks(self.grant, &self.across, extent);
        }
        let steps = self.across.strides();
        self.grant.share(lines, cost, |range| {
            for (first, length) in self.across.runs(range) {
                let line = |at: usize| {
                    let at = at.cast_signed();
                    [first[0] + at * steps[0], first[1] + at * steps[1]]
                };
                if length > 1 && steps[1].unsigned_abs() < scan.steps[1].unsigned_abs() {
                    for start in (0..length).step_by(CARRIED) {
                        scan.side_by_side(line(start), steps, CARRIED.min(length - start), extent);
                    }
                } else {
                    (0..length).for_each(|at| scan.line(line(at), extent));
                }
            }
        });
        Ok(())
    }
}

/// The inner loops of a scan. Offsets are those of a line in the output and in the input.
struct Loops<T, R> {
    from: Elements<T>,
    to: Target<T>,
    /// The strides along a line.
    steps: [isize; 2],
    boundary: Boundary,
    reducer: R,
}

// SAFETY of the loops below: they are handed lines of the two operands, and each line of the output to one thread.
impl<T: Scalar, R: Reducer<T, Out = T>> Loops<T, R> {
    /// Scans one line, block after block.
    fn line(&self, line: [isize; 2], extent: usize) {
        let mut before = None;
        for start in (0..extent).step_by(BLOCK) {
            let own = self.block(line, start..extent.min(start + BLOCK), before);
            before = Some(self.after(before, own));
        }
    }

    /// What the blocks up to one come to.
    fn after(&self, before: Option<R::Acc>, own: R::Acc) -> R::Acc {
        before.map_or(own, |before| self.reducer.combine(before, own))
    }

    /// Scans one block, and says what it comes to alone.
    #[inline]
    fn block(
        &self,
        [out, input]: [isize; 2],
        block: Range<usize>,
        before: Option<R::Acc>,
    ) -> R::Acc {
        let (reducer, [to_step, from_step]) = (self.reducer, self.steps);
        let mut own = reducer.neutral();
        for at in block.start.cast_signed()..block.end.cast_signed() {
            // SAFETY: see above.
            unsafe {
                let element = reducer.enter(self.from.at(input + at * from_step).read());
                let after = reducer.combine(own, element);
                let told = if self.boundary == Boundary::Inclusive { after } else { own };
                let told = self.after(before, told);
                self.to.at(out + at * to_step).write(reducer.leave(told));
                own = after;
            }
        }
        own
    }

    /// What a block comes to, without writing.
    fn total(&self, input: isize, block: Range<usize>) -> R::Acc {
        let element = |at: usize| {
            // SAFETY: see above.
            unsafe { self.from.at(input + at.cast_signed() * self.steps[1]).read() }
        };
        block.fold(self.reducer.neutral(), |own, at| {
            self.reducer.combine(own, self.reducer.enter(element(at)))
        })
    }

    /// Scans neighbouring lines, one place of all of them after the other.
    fn side_by_side(&self, first: [isize; 2], steps: [isize; 2], lines: usize, extent: usize) {
        let reducer = self.reducer;
        let mut before = [reducer.neutral(); CARRIED];
        for start in (0..extent).step_by(BLOCK) {
            let mut own = [reducer.neutral(); CARRIED];
            for at in start..extent.min(start + BLOCK) {
                let at = at.cast_signed();
                let [out, input] = [first[0] + at * self.steps[0], first[1] + at * self.steps[1]];
                for (line, own) in (0_isize..).zip(&mut own[..lines]) {
                    // SAFETY: see above.
                    unsafe {
                        let element = self.from.at(input + line * steps[1]).read();
                        let after = reducer.combine(*own, reducer.enter(element));
                        let told = if self.boundary == Boundary::Inclusive { after } else { *own };
                        let told = if start == 0 {
                            told
                        } else {
                            reducer.combine(before[line.cast_unsigned()], told)
                        };
                        self.to.at(out + line * steps[0]).write(reducer.leave(told));
                        *own = after;
                    }
                }
            }
            for (before, own) in before.iter_mut().zip(own) {
                *before = self.after((start > 0).then_some(*before), own);
            }
        }
    }

    /// Scans few long lines by all threads: what each block comes to first, then the blocks.
    fn share_blocks(
        &self,
        grant: &Grant<'_>,
        across: &Walk<2>,
        extent: usize,
    ) -> Result<(), usize> {
        let blocks = extent.div_ceil(BLOCK);
        let count = across.elements() * blocks;
        let mut totals: Vec<Option<R::Acc>> = Vec::new();
        let bytes = count.saturating_mul(size_of::<Option<R::Acc>>());
        totals.try_reserve_exact(count).map_err(|_| bytes)?;
        totals.resize(count, None);
        let mut lines = Vec::new();
        let steps = across.strides();
        for (first, length) in across.runs(0..across.elements()) {
            lines.extend(
                (0..length.cast_signed())
                    .map(|at| [first[0] + at * steps[0], first[1] + at * steps[1]]),
            );
        }
        let block = |number: usize| number * BLOCK..extent.min((number + 1) * BLOCK);
        let places = Target::<Option<R::Acc>>::new(NonNull::from(&mut totals[..]).cast());
        let cost = 2 * BLOCK * size_of::<T>();
        grant.share(count, cost, |range| {
            for job in range {
                let [_, input] = lines[job / blocks];
                let total = self.total(input, block(job % blocks));
                // SAFETY: there is a place for each job.
                unsafe { places.at(job.cast_signed()).write(Some(total)) };
            }
        });
        // Each block's total becomes that of the blocks before it.
        for line in totals.chunks_exact_mut(blocks) {
            let mut before = None;
            for total in line {
                let own = total.expect("invariant: every total was written");
                *total = before;
                before = Some(self.after(before, own));
            }
        }
        grant.share(count, cost, |range| {
            for job in range {
                self.block(lines[job / blocks], block(job % blocks), totals[job]);
            }
        });
        Ok(())
    }
}
