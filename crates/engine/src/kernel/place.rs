//! Where extremes are: argmax and argmin.
//!
//! A NaN beats every number, and of equal elements the first stays, so that the answer does not depend on how the
//! elements are cut.

mod search;

use std::ops::Range;

use pulp::NullaryFnOnce;
use smallvec::SmallVec;
use tenferro_ops::scalar::{Bits, Real};
use tenferro_tensor::{Accepts, DType, DTypeClass, Operand, OperandMut, Validation, dispatch};

use super::{
    Grant,
    isa::in_widest,
    share::{Elements, Target},
    walk::{Axis, Walk},
};
use search::{SIDE_BY_SIDE, Search};

/// Runs of up to so many elements are short, and looked through side by side.
const SHORT: usize = 32;

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
    if dtype.is_integer() {
        match dtype.size() {
            1 => plan.search_integers::<i8>(grant, extreme, input, out),
            2 => plan.search_integers::<i16>(grant, extreme, input, out),
            4 => plan.search_integers::<i32>(grant, extreme, input, out),
            _ => plan.search_integers::<i64>(grant, extreme, input, out),
        }
        return Ok(());
    }
    dispatch!(dtype, float T => {
        // A NaN is not ordered, and so beats.
        #[allow(
            clippy::neg_cmp_op_on_partial_ord,
            clippy::nonminimal_bool,
            reason = "one comparison, where two would be asked for NaN"
        )]
        match extreme {
            Extreme::Largest => plan.search(grant, input, out, |x: T, best: T| !(x <= best)),
            Extreme::Smallest => plan.search(grant, input, out, |x: T, best: T| !(x >= best)),
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

    /// Searches integers of one width, whatever their sign, for either extreme: as signed ones with those bits inverted
    /// that make the extreme the largest. So what differs in few bits is compiled once.
    fn search_integers<T: Real + Bits>(
        &self,
        grant: &Grant<'_>,
        extreme: Extreme,
        input: &Operand<'_>,
        out: OperandMut<'_>,
    ) {
        let sign = match input.dtype().class() {
            DTypeClass::Unsigned => T::LOWEST,
            _ => T::default(),
        };
        let inverted = match extreme {
            Extreme::Largest => sign,
            Extreme::Smallest => sign.not(),
        };
        self.search(grant, input, out, move |x: T, best: T| x.xor(inverted) > best.xor(inverted));
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
        let search = Search { grant, plan: self, from, better };
        let count = self.searched.elements();
        if self.kept.elements() == 0 || count == 0 {
            return;
        }
        grant.share(self.kept.elements(), count * size_of::<T>(), |range| {
            let results = Results { search: &search, to, range };
            // Wider registers shorten what is searched most; every instance more is time to build.
            if const { matches!(T::DTYPE, DType::F64 | DType::F32) } {
                in_widest(results);
            } else {
                results.call();
            }
        });
    }
}

/// Some of the results of a search.
struct Results<'s, 'a, T, F> {
    search: &'s Search<'a, T, F>,
    to: Target<i64>,
    range: Range<usize>,
}

impl<T: Real, F: Fn(T, T) -> bool + Copy> NullaryFnOnce for Results<'_, '_, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { search, to, range } = self;
        let (kept, searched) = (&search.plan.kept, &search.plan.searched);
        let [out_step, step] = kept.strides();
        let [next] = searched.strides();
        let short = searched.axes().len() == 1 && searched.elements() <= SHORT;
        for ([out, input], length) in kept.runs(range) {
            // SAFETY: the walks reach places of the output only, each of this range once.
            let write = |at: usize, place: usize| unsafe {
                to.at(out + at.cast_signed() * out_step).write(place as i64);
            };
            let mut at = 0;
            if search.plan.carries_rows() {
                search.rows(input, step, length, write);
                at = length;
            } else if short {
                while at + SIDE_BY_SIDE <= length {
                    let first = input + at.cast_signed() * step;
                    for (result, place) in
                        search.side_by_side(first, step, next).into_iter().enumerate()
                    {
                        write(at + result, place);
                    }
                    at += SIDE_BY_SIDE;
                }
            }
            for at in at..length {
                write(at, search.one(input + at.cast_signed() * step));
            }
        }
    }
}
