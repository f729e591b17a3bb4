//! What the tests of numbers share: backends of a width, elements of any dtype, operands and outputs in any layout.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../ops/tests/calls/mod.rs"]
pub(super) mod calls;

use std::sync::Arc;

pub(super) use calls::Dice;
use tenferro_arbiter::{CpuSet, FairArbiter};
use tenferro_cpu::CpuBackend;
use tenferro_ops::{reference::Reference, scalar::Cast};
use tenferro_tensor::{
    Complex64, DType, Factor, Result, Scalar, Tensor, TensorElementwise, TensorView, TensorViewMut,
    dispatch,
};

/// A backend of up to `threads` threads under an arbiter of its own, which says that there are four CPUs.
pub(super) fn backend(threads: usize) -> CpuBackend {
    let arbiter = Arc::new(FairArbiter::new(CpuSet::first(4)).unwrap());
    CpuBackend::builder().threads(threads).arbiter(arbiter).build().unwrap()
}

/// Which elements to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draw {
    /// Anything: extremes, infinities, subnormal numbers, zeros of both signs, NaN.
    Any,
    /// Of magnitude near one, so that no order of a sum overflows.
    Tame,
    /// Tame ones among so many of magnitude one, so that products stay in the range and every factor counts.
    Factors { one_in: usize },
    /// As tame ones; real floats have a NaN now and then.
    TameOrNan,
}

/// An element.
pub(super) fn element<T: Cast>(dice: &mut Dice, draw: Draw) -> T {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-310, 5e-324, 1e300];
    let narrow = [65504.0, 6e-8, 1e-40, -1e38, 1.0, -1.0, 0.5, 300.0];
    let class = T::DTYPE;
    if let Draw::Factors { one_in } = draw
        && class.is_inexact()
    {
        return match (dice.one_in(one_in), class.is_complex()) {
            (true, _) => element(dice, Draw::Tame),
            (false, true) => T::from_c64(Complex64::I.powu(dice.roll(4) as u32)),
            (false, false) => T::from_f64(dice.pick(&[1.0, -1.0])),
        };
    }
    let unit = |dice: &mut Dice| 0.75 + 0.5 * (dice.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    let signed = |dice: &mut Dice| if dice.one_in(2) { unit(dice) } else { -unit(dice) };
    let real = |dice: &mut Dice| match (draw, dice.roll(8)) {
        (Draw::Any, 0) => dice.pick(&special),
        (Draw::Any, 1) => dice.pick(&narrow),
        (Draw::Any, _) => 8.0 * signed(dice),
        (Draw::TameOrNan, _) if dice.one_in(40) => f64::NAN,
        _ => signed(dice),
    };
    if class.is_complex() {
        let im = match draw {
            Draw::Any => real(dice),
            _ => dice.pick(&[0.0, 0.25, -0.25]),
        };
        let re = if draw == Draw::Any { real(dice) } else { signed(dice) };
        return T::from_c64(Complex64::new(re, im));
    }
    if class.is_inexact() {
        return T::from_f64(real(dice));
    }
    match (draw, dice.roll(6)) {
        (Draw::Any, 0) => T::from_i64(dice.pick(&[i64::MIN, i64::MAX, 0, -1, 127, -128, 255])),
        // The least number of each signed dtype.
        (Draw::Any, 1) => T::from_u64(1 << (8 * size_of::<T>().min(8) - 1)),
        (Draw::Any, 2) => T::from_u64(dice.bits()),
        _ => T::from_i64(dice.roll(9) as i64 - 4),
    }
}

/// What an output holds before: NaN where the dtype has it.
pub(super) fn poison<T: Cast>() -> T {
    T::from_factor(Factor::Real(f64::NAN)).unwrap_or_else(|| T::from_i64(85))
}

/// Extents, strides and an offset inside of a buffer of some length.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) extents: Vec<usize>,
    pub(super) strides: Vec<isize>,
    pub(super) offset: usize,
    pub(super) length: usize,
}

impl Place {
    /// The column-major layout.
    pub(super) fn dense(extents: &[usize]) -> Self {
        let mut next = 1;
        let strides = extents.iter().map(|&extent| {
            let stride = next;
            next *= extent.max(1) as isize;
            stride
        });
        let strides = strides.collect();
        Self { extents: extents.to_vec(), strides, offset: 0, length: extents.iter().product() }
    }

    /// Axes in any order of memory, with steps and gaps, some of them backwards; arbitrary strides where an axis has no
    /// second index. Elements lie before the first and after the last.
    pub(super) fn scattered(dice: &mut Dice, extents: &[usize]) -> Self {
        let mut strides = vec![0_isize; extents.len()];
        let (mut offset, mut next) = (8, 1 + dice.roll(3));
        let order = if dice.one_in(3) {
            (0..extents.len()).collect()
        } else {
            dice.permutation(extents.len())
        };
        for axis in order {
            let extent = extents[axis];
            if extent < 2 {
                strides[axis] = dice.pick(&[0, 1, -1, 7919, -7919, isize::MAX, isize::MIN]);
                continue;
            }
            let reach = next * (extent - 1);
            strides[axis] = next as isize;
            if dice.one_in(3) {
                strides[axis] = -strides[axis];
                offset += reach;
            }
            next = next * extent + dice.roll(3);
        }
        if extents.contains(&0) {
            strides.iter_mut().for_each(|stride| *stride = dice.pick(&[*stride, 0, -3, 1 << 40]));
        }
        Self { extents: extents.to_vec(), strides, offset, length: offset + next + 8 }
    }

    /// A layout for reading: dense, scattered, or with axes that stand still.
    pub(super) fn to_read(dice: &mut Dice, extents: &[usize]) -> Self {
        let mut place = match dice.roll(4) {
            0 => Self::dense(extents),
            _ => Self::scattered(dice, extents),
        };
        if dice.one_in(3) {
            for axis in 0..extents.len() {
                if dice.one_in(2) {
                    let reach = place.strides[axis].saturating_mul(extents[axis] as isize - 1);
                    if extents[axis] > 1 && reach < 0 && !extents.contains(&0) {
                        place.offset -= reach.unsigned_abs();
                    }
                    place.strides[axis] = 0;
                }
            }
        }
        place
    }

    /// A layout for writing: dense or scattered.
    pub(super) fn to_write(dice: &mut Dice, extents: &[usize]) -> Self {
        if dice.one_in(4) { Self::dense(extents) } else { Self::scattered(dice, extents) }
    }

    pub(super) fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// The place in the buffer of each element, in column-major order.
    fn places(&self) -> Vec<usize> {
        let place = |mut number: usize| {
            let mut at = self.offset as isize;
            for (&extent, &stride) in self.extents.iter().zip(&self.strides) {
                if extent > 1 {
                    at += (number % extent) as isize * stride;
                }
                number /= extent;
            }
            at as usize
        };
        (0..self.elements()).map(place).collect()
    }
}

/// The ways of laying an operand out that the contract names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Contiguous,
    Transposed,
    Sliced,
    Negative,
    Broadcast,
    /// Dense, for extents with a zero.
    Empty,
    /// Axes of extent 1 have strides that mean nothing.
    Units,
}

impl Layout {
    pub(super) const ALL: [Self; 7] = [
        Self::Contiguous,
        Self::Transposed,
        Self::Sliced,
        Self::Negative,
        Self::Broadcast,
        Self::Empty,
        Self::Units,
    ];

    /// A place for elements of some extents.
    pub(super) fn place(self, dice: &mut Dice, extents: &[usize]) -> Place {
        let mut place = Place::dense(extents);
        match self {
            Self::Contiguous | Self::Empty => {}
            Self::Transposed => {
                let turned: Vec<usize> = extents.iter().rev().copied().collect();
                place.strides = Place::dense(&turned).strides;
                place.strides.reverse();
            }
            Self::Sliced => {
                place.strides.iter_mut().for_each(|stride| *stride *= 2);
                place.offset = 3;
                place.length = 2 * place.length + place.offset;
            }
            Self::Negative => {
                place.offset = place.length.saturating_sub(1);
                place.strides.iter_mut().for_each(|stride| *stride = -*stride);
            }
            Self::Broadcast => {
                if !extents.is_empty() {
                    place.strides[dice.roll(extents.len())] = 0;
                }
            }
            Self::Units => {
                for (stride, _) in place.strides.iter_mut().zip(extents).filter(|x| *x.1 == 1) {
                    *stride = dice.pick(&[0, -1, 7919, isize::MAX, isize::MIN]);
                }
            }
        }
        place
    }
}

/// Elements of some dtype in memory, with a layout.
pub(super) struct Stored {
    pub(super) dtype: DType,
    pub(super) place: Place,
    bytes: Vec<u128>,
}

impl Stored {
    /// Elements drawn for every place of the buffer.
    pub(super) fn drawn(dice: &mut Dice, dtype: DType, draw: Draw, place: Place) -> Self {
        dispatch!(dtype, any T => Self::filled::<T>(place, || element::<T>(dice, draw)))
    }

    /// Indices that are mostly below `below` in every place of the buffer.
    pub(super) fn indices(dice: &mut Dice, dtype: DType, below: usize, place: Place) -> Self {
        dispatch!(dtype, any T => {
            Self::filled::<T>(place, || <T as Cast>::from_i64(dice.index(below)))
        })
    }

    /// Poison in every place of the buffer.
    pub(super) fn poisoned(dtype: DType, place: Place) -> Self {
        dispatch!(dtype, any T => Self::filled::<T>(place, poison::<T>))
    }

    fn filled<T: Cast>(place: Place, mut next: impl FnMut() -> T) -> Self {
        // One more than needed: elements start at a place that is aligned for `T` and for nothing wider.
        let bytes = vec![0_u128; ((place.length + 1) * size_of::<T>()).div_ceil(16) + 1];
        let mut stored = Self { dtype: T::DTYPE, place, bytes };
        stored.buffer_mut::<T>().fill_with(&mut next);
        stored
    }

    fn buffer<T: Scalar>(&self) -> &[T] {
        let first = self.bytes.as_ptr().cast::<u8>().wrapping_add(align_of::<T>()).cast::<T>();
        // SAFETY: the buffer has room for the alignment's offset and `length` elements, all written before as `T`.
        unsafe { std::slice::from_raw_parts(first, self.place.length) }
    }

    fn buffer_mut<T: Scalar>(&mut self) -> &mut [T] {
        let first = self.bytes.as_mut_ptr().cast::<u8>().wrapping_add(align_of::<T>()).cast::<T>();
        // SAFETY: as above; zero is an element of every dtype.
        unsafe { std::slice::from_raw_parts_mut(first, self.place.length) }
    }

    pub(super) fn view(&self) -> TensorView<'_> {
        let Place { extents, strides, offset, .. } = &self.place;
        dispatch!(self.dtype, any T => {
            TensorView::from_slice(self.buffer::<T>(), extents, strides, *offset).unwrap()
        })
    }

    pub(super) fn view_mut(&mut self) -> TensorViewMut<'_> {
        let Place { extents, strides, offset, .. } = self.place.clone();
        dispatch!(self.dtype, any T => {
            TensorViewMut::from_slice(self.buffer_mut::<T>(), &extents, &strides, offset).unwrap()
        })
    }

    /// Takes over the elements of another one of the same dtype and place.
    pub(super) fn copy_from(&mut self, other: &Stored) {
        self.bytes.copy_from_slice(&other.bytes);
    }

    /// A copy, to compare with what it was.
    pub(super) fn snapshot(&self) -> Vec<u128> {
        self.bytes.clone()
    }

    /// Whether nothing but elements of the view differs from the snapshot.
    pub(super) fn is_untouched_outside(&self, before: &[u128]) -> bool {
        let size = self.dtype.size();
        let first = dispatch!(self.dtype, any T => align_of::<T>());
        let (old, new): (&[u8], &[u8]) =
            (bytemuck::cast_slice(before), bytemuck::cast_slice(&self.bytes));
        let mut own = vec![false; new.len()];
        for place in self.place.places() {
            own[first + place * size..][..size].fill(true);
        }
        (0..new.len()).all(|at| own[at] || old[at] == new[at])
    }

    pub(super) fn is_untouched(&self, before: &[u128]) -> bool {
        self.bytes == before
    }
}

/// Numbers of many magnitudes, so that sums tell in which order they ran.
pub(super) fn rough(dtype: DType, extents: &[usize], seed: u64) -> Tensor {
    let mut dice = Dice(seed);
    let mut number = move || {
        let mantissa = (dice.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        mantissa * 2.0_f64.powi(dice.roll(24) as i32 - 12)
    };
    let elements = extents.iter().product::<usize>();
    dispatch!(dtype, any T => {
        let scale = if T::DTYPE.is_inexact() { 1.0 } else { 1000.0 };
        let imaginary = T::DTYPE.is_complex();
        let values = (0..elements)
            .map(|_| {
                let re = scale * number();
                if imaginary { T::from_c64(Complex64::new(re, number())) } else { T::from_f64(re) }
            })
            .collect();
        Tensor::from_vec_col_major(extents, values).unwrap()
    })
}

/// Backends of one, two and four threads.
pub(super) struct Widths([CpuBackend; 3]);

impl Widths {
    pub(super) fn new() -> Self {
        Self([1, 2, 4].map(backend))
    }

    /// Runs an operation at each width: the results are bit-equal, and the wide ones were shared out.
    pub(super) fn agree(&mut self, what: &str, run: impl Fn(&mut CpuBackend) -> Result<Tensor>) {
        assert!(self.are_equal(what, run), "{what} was not shared out");
    }

    /// Runs an operation at each width: the results are bit-equal. Says whether every wide one was shared out.
    pub(super) fn are_equal(
        &mut self,
        what: &str,
        run: impl Fn(&mut CpuBackend) -> Result<Tensor>,
    ) -> bool {
        let [one, wide @ ..] = &mut self.0;
        let alone = run(one).unwrap();
        assert_eq!(one.domain().fan_outs(), 0);
        let mut shared_out = true;
        for backend in wide {
            let before = backend.domain().fan_outs();
            let shared = run(backend).unwrap();
            assert!(same(&alone, &shared), "{what} with {} threads", backend.threads());
            shared_out &= backend.domain().fan_outs() > before;
        }
        shared_out
    }
}

/// Whether two tensors agree in dtype, shape and every bit; any NaN equals any NaN.
pub(super) fn same(lhs: &Tensor, rhs: &Tensor) -> bool {
    lhs.dtype() == rhs.dtype()
        && lhs.shape() == rhs.shape()
        && dispatch!(lhs.dtype(), any T => {
            let (lhs, rhs) = (lhs.as_slice::<T>().unwrap(), rhs.as_slice::<T>().unwrap());
            // Printing tells zeros apart and NaN not.
            bytemuck::cast_slice::<T, u8>(lhs) == bytemuck::cast_slice::<T, u8>(rhs)
                || lhs.iter().zip(rhs).all(|(x, y)| x == y && bytemuck::bytes_of(x) == bytemuck::bytes_of(y) || format!("{x:?}") == format!("{y:?}"))
        })
}

/// The elements as complex numbers.
pub(super) fn complex(tensor: &Tensor) -> Vec<Complex64> {
    let wide = Reference.convert(tensor, DType::C64).unwrap();
    wide.as_slice::<Complex64>().unwrap().to_vec()
}

/// The distance from one to the next number of a dtype; 0 for exact ones.
pub(super) fn epsilon(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 2.0_f64.powi(-10),
        DType::BF16 => 2.0_f64.powi(-7),
        _ => 0.0,
    }
}

/// Whether two results of one shape are no further apart than `bounds`, element by element. NaN equals NaN; where the
/// bound is infinite, anything agrees.
pub(super) fn close(lhs: &Tensor, rhs: &Tensor, bounds: &[f64]) -> bool {
    let pairs = complex(lhs).into_iter().zip(complex(rhs)).zip(bounds);
    lhs.dtype() == rhs.dtype()
        && lhs.shape() == rhs.shape()
        && bounds.len() == lhs.elements()
        && pairs.into_iter().all(|((x, y), &bound)| {
            let is_not_told = bound == f64::INFINITY;
            is_not_told || (x.is_nan() && y.is_nan()) || x == y || (x - y).norm() <= bound
        })
}
