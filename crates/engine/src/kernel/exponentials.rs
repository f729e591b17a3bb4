//! Exponentials over axes and what is made of them, `logsumexp` and `softmax`, in one go through memory.
//!
//! A tile of results is brought to its end while its elements are in the cache: their maximum, the exponentials of what
//! they differ from its whole part, the sum of these, and the result. Every step computes what the primitives of the
//! composites in `tenferro_ops` compute, and sums are folded in the order of `reduce.rs`, so that the bits are theirs;
//! what this file has no way for is left to them.

mod tile;

use tenferro_tensor::{
    DType, ExponentialForm, Exponentials, KeepAxes, Operand, OperandMut, Result, Shape, Tensor,
};

use super::{
    Grant,
    isa::{Isa, in_widest_with_fma},
    reduce::{self, Way},
    share::{Elements, Target},
    walk::{Axis, Walk},
};

use tile::{Element, Tiles};

/// The bytes of the elements of a tile: with what is made of them they stay in the second-level cache.
const TILE_BYTES: usize = 256 << 10;
/// The most bytes of the elements of a tile that has as few results as it can.
const MOST_BYTES: usize = 4 << 20;
/// The most results of a tile.
const MOST_RESULTS: usize = 2048;
/// The bytes of the fewest results side by side in a tile that has a part of a row: some cache lines of each row.
const FEWEST_BYTES: usize = 256;
/// The most exponentials that are kept for their sum where the result has no room for them.
const SCRATCH: usize = 16 << 10;
/// What an element costs beside the bytes that are read and written, in bytes moved in the same time.
const EXTRA_COST: usize = 16;

/// How the exponentials of one operand are walked: it is dense, of shape `[inner, count, outer]`.
pub(crate) struct Plan {
    form: ExponentialForm,
    dtype: DType,
    /// The result's.
    shape: Shape,
    inner: usize,
    /// How many elements make a result.
    count: usize,
    outer: usize,
    way: Way,
    /// How many results make a tile where these are rows.
    width: usize,
}

impl Plan {
    /// The plan for an operand; `None` if its primitives have to do.
    pub(crate) fn new(exponentials: &Exponentials, x: &Operand<'_>) -> Option<Self> {
        let (extents, axes, dtype) = (x.shape(), &exponentials.axes, x.dtype());
        let is_ours = matches!(dtype, DType::F64 | DType::F32) && x.strides().is_none();
        if !is_ours || !Isa::current().has_fma() || extents.elements() == 0 {
            return None;
        }
        let is_summed = |axis: &usize| axes.contains(axis);
        let known = axes.iter().all(|&axis| axis < extents.rank());
        let distinct = (0..extents.rank()).filter(is_summed).count() == axes.len();
        if !known || !distinct {
            return None;
        }
        // Axes of extent 1 are neither here nor there.
        let long: Vec<usize> = (0..extents.rank()).filter(|&axis| extents[axis] != 1).collect();
        let first = long.iter().position(is_summed)?;
        let end = first + long[first..].iter().take_while(|axis| is_summed(axis)).count();
        if long[end..].iter().any(is_summed) {
            return None;
        }
        let product = |axes: &[usize]| axes.iter().map(|&axis| extents[axis]).product::<usize>();
        let (inner, count, outer) =
            (product(&long[..first]), product(&long[first..end]), product(&long[end..]));
        let shape = match exponentials.form {
            ExponentialForm::LogOfSum(keep) => without(extents, axes, keep)?,
            ExponentialForm::Shares | ExponentialForm::LogOfShares => extents.clone(),
        };
        let way = way(inner, count, outer);
        let width = match way {
            Way::Rows if reduce::is_cut(inner) => {
                let fewest = FEWEST_BYTES / dtype.size();
                let most = TILE_BYTES / dtype.size() / count / fewest * fewest;
                inner.min(most.clamp(fewest, MOST_RESULTS))
            }
            Way::Rows => inner,
            Way::Runs | Way::ShortRuns => 1,
        };
        // A short row keeps all of its exponentials until they are summed.
        let is_log = matches!(exponentials.form, ExponentialForm::LogOfSum(_));
        let fits_scratch =
            !(is_log && way == Way::Rows) || reduce::is_cut(inner) || inner * count <= SCRATCH;
        let fits = fits_scratch && width.saturating_mul(count * dtype.size()) <= MOST_BYTES;
        let form = exponentials.form;
        fits.then_some(Self { form, dtype, shape, inner, count, outer, way, width })
    }

    /// The name of the composite.
    pub(crate) fn name(&self) -> &'static str {
        match self.form {
            ExponentialForm::LogOfSum(_) => "logsumexp",
            ExponentialForm::Shares => "softmax",
            ExponentialForm::LogOfShares => "log_softmax",
        }
    }

    /// The bytes that are moved, or as many as take the same time.
    pub(crate) fn cost(&self) -> usize {
        (self.inner * self.count).saturating_mul(self.outer).saturating_mul(self.element_cost())
    }

    fn element_cost(&self) -> usize {
        2 * self.dtype.size() + EXTRA_COST
    }

    /// How many results a unit of work has, and how many units there are.
    fn units(&self) -> (usize, usize) {
        match self.way {
            Way::Rows => (self.width, self.inner.div_ceil(self.width) * self.outer),
            Way::Runs | Way::ShortRuns => (1, self.outer),
        }
    }

    /// Computes the result.
    pub(crate) fn compute(&self, grant: &Grant<'_>, x: &Operand<'_>) -> Result<Tensor> {
        let mut out = grant.allocate(self.name(), self.dtype, self.shape.clone())?;
        match self.dtype {
            DType::F32 => self.run::<f32>(grant, x, out.as_operand_mut()),
            _ => self.run::<f64>(grant, x, out.as_operand_mut()),
        }
        // SAFETY: every result is one of a unit's, which has written it.
        Ok(unsafe { out.assume_init() })
    }

    fn run<T: Element>(&self, grant: &Grant<'_>, x: &Operand<'_>, mut out: OperandMut<'_>) {
        let (input, out) = (Elements::<T>::new(x.data()), Target::<T>::new(out.data()));
        let (results, units) = self.units();
        let cost = (results * self.count).saturating_mul(self.element_cost());
        grant.share(units, cost, |range| {
            in_widest_with_fma(Tiles { plan: self, input, out, range });
        });
    }
}

/// How the primitives would fold the sums.
fn way(inner: usize, count: usize, outer: usize) -> Way {
    let [row, run] = [inner, inner * count].map(usize::cast_signed);
    let kept =
        [Axis { extent: inner, strides: [1, 1] }, Axis { extent: outer, strides: [row, run] }];
    let reduced = [Axis { extent: count, strides: [row] }];
    reduce::way(&Walk::merging(kept.into_iter()), &Walk::merging(reduced.into_iter()))
}

/// The shape of a reduction's result.
fn without(extents: &Shape, axes: &[usize], keep: KeepAxes) -> Option<Shape> {
    let left = |(axis, &extent): (usize, &usize)| match keep {
        KeepAxes::Keep => Some(if axes.contains(&axis) { 1 } else { extent }),
        KeepAxes::Drop => (!axes.contains(&axis)).then_some(extent),
    };
    let left: Vec<usize> = extents.iter().enumerate().filter_map(left).collect();
    Shape::new(&left).ok()
}
