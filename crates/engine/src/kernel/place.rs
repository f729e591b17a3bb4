//! Where extremes are: argmax and argmin.
//!
//! A NaN beats every number, and of equal elements the first stays, so that the answer does not depend on how the
//! elements are cut.

use smallvec::SmallVec;
use tenferro_ops::scalar::Real;
use tenferro_tensor::{Accepts, Operand, OperandMut, Validation, dispatch};

use super::{
    Grant,
    share::{Elements, Target},
    walk::{Axis, Walk},
};

/// How many neighbouring results are carried at a time.
const CARRIED: usize = 128;

/// How many elements of a run are looked through for their extreme before its place is.
const RUN: usize = 2048;

/// How many parts of a run are looked through side by side.
const LANES: usize = 16;

/// Which extreme is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    /// The largest element.
    Largest,
    /// The smallest element.
    Smallest,
}

/// Writes where over `axes` the extreme is, counted in column-major order of these axes.
pub(super) fn place(
    grant: &Grant<'_>,
    extreme: Extreme,
    input: &Operand<'_>,
    axes: &[usize],
    out: OperandMut<'_>,
) -> Result<(), Validation> {
    let plan = Plan::new(input, axes, &out);
    let dtype = input.dtype();
    dispatch!(dtype, real T => {
        match extreme {
            Extreme::Largest => plan.search(grant, input, out, |x: T, best: T| x > best),
            Extreme::Smallest => plan.search(grant, input, out, |x: T, best: T| x < best),
        }
        Ok(())
    }, else Err(Validation::MeaninglessDType { dtype, expected: Accepts::Real.description() }))
}

/// The axes of the search, merged.
struct Plan {
    /// The kept axes: strides of the output and of the input.
    kept: Walk<2>,
    /// The searched axes in their own order, which is that of the places.
    searched: Walk<1>,
}

impl Plan {
    fn new(input: &Operand<'_>, axes: &[usize], out: &OperandMut<'_>) -> Self {
        let (from, to) = (input.strides_or_dense(), out.strides_or_dense());
        let extents = input.shape();
        let keeps = out.shape().rank() == extents.rank();
        let (mut kept, mut searched) =
            (SmallVec::<[Axis<2>; 6]>::new(), SmallVec::<[Axis<1>; 6]>::new());
        let mut place = 0;
        for (axis, &extent) in extents.iter().enumerate() {
            let is_searched = axes.contains(&axis);
            if is_searched {
                searched.push(Axis { extent, strides: [from[axis]] });
            } else {
                kept.push(Axis { extent, strides: [to[place], from[axis]] });
            }
            place += usize::from(!is_searched || keeps);
        }
        Self {
            kept: Walk::merging(kept.into_iter()),
            searched: Walk::merging(searched.into_iter()),
        }
    }

    /// Whether neighbours in the input belong to different results.
    fn carries_rows(&self) -> bool {
        let (kept, searched) = (self.kept.axes()[0], self.searched.axes()[0]);
        kept.extent > 1
            && (searched.extent == 1
                || kept.strides[1].unsigned_abs() < searched.strides[0].unsigned_abs())
    }

    fn search<T: Real>(
        &self,
        grant: &Grant<'_>,
        input: &Operand<'_>,
        mut out: OperandMut<'_>,
        better: impl Fn(T, T) -> bool + Copy + Sync,
    ) {
        let from = Elements::<T>::new(input.data());
        let to = Target::<i64>::new(out.data());
        let search = Search { plan: self, from, better };
        let count = self.searched.elements();
        if self.kept.elements() == 0 || count == 0 {
            return;
        }
        let [out_step, step] = self.kept.strides();
        grant.share(self.kept.elements(), count * size_of::<T>(), |range| {
            self.kept.runs(range, |[out, input], length| {
                // SAFETY: the walks reach places of the output only, each of this range once.
                let write = |at: usize, place: usize| unsafe {
                    to.at(out + at.cast_signed() * out_step).write(place as i64);
                };
                if self.carries_rows() {
                    for start in (0..length).step_by(CARRIED) {
                        let carried = CARRIED.min(length - start);
                        let places = search.rows(input + start.cast_signed() * step, step, carried);
                        for (at, &place) in places[..carried].iter().enumerate() {
                            write(start + at, place);
                        }
                    }
                } else {
                    for at in 0..length {
                        write(at, search.one(input + at.cast_signed() * step));
                    }
                }
            });
        });
    }
}

/// The inner loops of a search.
struct Search<'a, T, F> {
    plan: &'a Plan,
    from: Elements<T>,
    better: F,
}

impl<T: Real, F: Fn(T, T) -> bool> Search<'_, T, F> {
    /// The element at an offset that the walks reach.
    #[inline]
    fn at(&self, offset: isize) -> T {
        // SAFETY: the walks reach indices of the input only.
        unsafe { self.from.at(offset).read() }
    }

    /// Whether an element takes the place of the best so far.
    #[inline]
    fn beats(&self, element: T, best: T) -> bool {
        (self.better)(element, best) || (is_nan(element) & !is_nan(best))
    }

    /// Where the extreme of one result is.
    fn one(&self, input: isize) -> usize {
        let [step] = self.plan.searched.strides();
        let mut best = (self.at(input), 0);
        let mut place = 0;
        self.plan.searched.runs(0..self.plan.searched.elements(), |[offset], length| {
            let first = input + offset;
            for start in (0..length).step_by(RUN) {
                let run = RUN.min(length - start);
                let first = first + start.cast_signed() * step;
                // What beats the best is looked for before where it is.
                let extreme = self.extreme(first, step, run);
                if self.beats(extreme, best.0) {
                    let is_it = |at: &usize| {
                        let element = self.at(first + at.cast_signed() * step);
                        element == extreme || (is_nan(element) & is_nan(extreme))
                    };
                    let at = (0..run).find(is_it).expect("invariant: the extreme is in the run");
                    best = (extreme, place + start + at);
                }
            }
            place += length;
        });
        best.1
    }

    /// The extreme of a run, NaN if there is one.
    fn extreme(&self, first: isize, step: isize, length: usize) -> T {
        let mut lanes = [self.at(first); LANES];
        let mut nans = [false; LANES];
        let mut through = |step: isize| {
            for group in (0..length - length % LANES).step_by(LANES) {
                for (lane, best) in lanes.iter_mut().enumerate() {
                    let element = self.at(first + (group + lane).cast_signed() * step);
                    *best = if (self.better)(element, *best) { element } else { *best };
                    nans[lane] |= is_nan(element);
                }
            }
        };
        // Neighbours are read many at a time.
        if step == 1 {
            through(1)
        } else {
            through(step)
        }
        let rest =
            (length - length % LANES..length).map(|at| self.at(first + at.cast_signed() * step));
        if nans.contains(&true) {
            // Which NaN it is has no influence on where the first one is.
            return (0..length)
                .map(|at| self.at(first + at.cast_signed() * step))
                .find(|&element| is_nan(element))
                .expect("invariant: a NaN was seen");
        }
        lanes
            .into_iter()
            .chain(rest)
            .reduce(|best, element| if self.beats(element, best) { element } else { best })
            .expect("invariant: there are lanes")
    }

    /// Where the extremes of neighbouring results are.
    fn rows(&self, input: isize, step: isize, carried: usize) -> [usize; CARRIED] {
        let mut bests = [T::default(); CARRIED];
        let mut places = [0; CARRIED];
        for (at, best) in (0_isize..).zip(&mut bests[..carried]) {
            *best = self.at(input + at * step);
        }
        let [next] = self.plan.searched.strides();
        let mut place = 0;
        self.plan.searched.runs(0..self.plan.searched.elements(), |[offset], length| {
            for row in 0..length {
                let first = input + offset + row.cast_signed() * next;
                let held = bests[..carried].iter_mut().zip(&mut places[..carried]);
                for (at, (best, found)) in (0_isize..).zip(held) {
                    let element = self.at(first + at * step);
                    let beats = self.beats(element, *best);
                    *best = if beats { element } else { *best };
                    *found = if beats { place + row } else { *found };
                }
            }
            place += length;
        });
        places
    }
}

#[inline]
fn is_nan<T: Real>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}
