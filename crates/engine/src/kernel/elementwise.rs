//! Loops over the elements of one, two or three operands, with a function passed in.
//!
//! Operands are broadcast by strides of 0. A dense operation is one loop, which the compiler vectorises; what is strided
//! is cut into runs along the first merged axis.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};

use smallvec::SmallVec;
use tenferro_ops::scalar::{
    Binary, Convert, ElementwiseVisitor, Ternary, Unary, visit_analytic, visit_elementwise,
};
use tenferro_tensor::{
    Analytic, DType, Elementwise, Numerical, Operand, OperandMut, Primitive, Result, Scalar, Shape,
    Validation, dispatch,
};

use super::{
    Grant,
    copy::copy,
    share::{Elements, Target},
    walk::Walk,
};

/// What a transcendental function costs, in bytes moved in the same time.
pub(super) const ANALYTIC_COST: usize = 64;

/// Up to so many elements nothing is shared out, whatever the function.
const FEW: usize = 2048;

/// Computes an elementwise row.
#[inline]
pub(super) fn elementwise(
    grant: &Grant<'_>,
    row: &Elementwise,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
) -> Result<()> {
    // The branches of a select say its dtype, not the predicate.
    let dtype = inputs[inputs.len() - 1].dtype();
    let name = || Primitive::Elementwise(row.clone()).name();
    let mut loops = Loops { grant, inputs, out, extra_cost: 0 };
    finish(visit_elementwise(row, dtype, &mut loops), name)
}

/// Computes an analytic row.
pub(super) fn analytic(
    grant: &Grant<'_>,
    row: &Analytic,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
) -> Result<()> {
    let name = || Primitive::Analytic(row.clone()).name();
    let mut loops = Loops { grant, inputs, out, extra_cost: ANALYTIC_COST };
    finish(visit_analytic(row, inputs[0].dtype(), &mut loops), name)
}

/// What went wrong, in the name of the operation.
#[inline]
fn finish(
    result: std::result::Result<Option<Numerical>, Validation>,
    name: impl Fn() -> &'static str,
) -> Result<()> {
    match result {
        Ok(None) => Ok(()),
        Ok(Some(failure)) => Err(failure.of(name())),
        Err(problem) => Err(problem.of(name())),
    }
}

/// The loops of one operation.
struct Loops<'a, 'o> {
    grant: &'a Grant<'a>,
    inputs: &'a [Operand<'a>],
    out: &'a mut OperandMut<'o>,
    extra_cost: usize,
}

impl Loops<'_, '_> {
    /// Calls `body(offsets)` for every element, shared out over the granted threads.
    ///
    /// Offset 0 is the output's, the others are those of the inputs, each broadcast to the output's shape. Offsets are
    /// reached by the operands' shapes and strides, and no two calls have the same output.
    #[inline]
    fn share<const N: usize>(&self, body: impl Fn([isize; N]) + Copy + Sync) {
        if self.is_dense() {
            let elements = self.out.shape().elements();
            let through = move |range: Range<usize>| {
                for at in range {
                    body([at.cast_signed(); N]);
                }
            };
            // Small operations do not even ask what an element costs.
            if elements <= FEW {
                through(0..elements);
            } else {
                self.grant.share(elements, self.cost(), through);
            }
        } else {
            self.share_strided(body);
        }
    }

    #[inline(never)]
    fn share_strided<const N: usize>(&self, body: impl Fn([isize; N]) + Copy + Sync) {
        let walk = self.walk::<N>();
        let strides = walk.strides();
        self.grant.share(walk.elements(), self.cost(), |range| {
            walk.runs(range, |offsets, length| {
                for step in 0..length.cast_signed() {
                    body(std::array::from_fn(|i| offsets[i] + step * strides[i]));
                }
            });
        });
    }

    /// Whether every operand is one run in the same order: none has strides, and as they broadcast to the output, those
    /// with as many elements differ from it by axes of extent 1 at most.
    #[inline]
    fn is_dense(&self) -> bool {
        let elements = self.out.shape().elements();
        self.out.strides().is_none()
            && self.inputs.iter().all(|x| x.strides().is_none() && x.shape().elements() == elements)
    }

    #[inline(never)]
    fn walk<const N: usize>(&self) -> Walk<N> {
        let shape = self.out.shape();
        let mut strides: [SmallVec<[isize; 6]>; N] = std::array::from_fn(|_| SmallVec::new());
        strides[0] = self.out.strides_or_dense();
        for (place, input) in self.inputs.iter().enumerate() {
            strides[place + 1] = broadcast_strides(input, shape);
        }
        Walk::new(shape, std::array::from_fn(|place| &strides[place][..]))
    }

    fn cost(&self) -> usize {
        let operands = self.inputs.iter().map(|x| x.dtype().size()).sum::<usize>();
        operands + self.out.dtype().size() + self.extra_cost
    }
}

/// The strides of an operand in a shape that it broadcasts to: 0 where it stretches.
fn broadcast_strides(input: &Operand<'_>, shape: &Shape) -> SmallVec<[isize; 6]> {
    let missing = shape.rank() - input.shape().rank();
    let mut strides = SmallVec::from_elem(0, missing);
    let own = input.strides_or_dense();
    for (axis, (&extent, &stride)) in input.shape().iter().zip(&own).enumerate() {
        strides.push(if extent == shape[missing + axis] { stride } else { 0 });
    }
    strides
}

// SAFETY of the loops below: `share` gives offsets of elements only, and each output's once; the rules have checked that
// the dtypes are those of the function.
impl ElementwiseVisitor for &mut Loops<'_, '_> {
    type Output = Option<Numerical>;

    #[inline]
    fn unary<T: Scalar, F: Unary<T>>(self, function: F) -> Self::Output {
        let x = Elements::<T>::new(self.inputs[0].data());
        let out = Target::<F::Out>::new(self.out.data());
        self.share(move |[to, from]| {
            // SAFETY: see above.
            unsafe { out.at(to).write(function.call(x.at(from).read())) };
        });
        None
    }

    #[inline]
    fn binary<T: Scalar, F: Binary<T>>(self, function: F) -> Self::Output {
        let lhs = Elements::<T>::new(self.inputs[0].data());
        let rhs = Elements::<T>::new(self.inputs[1].data());
        let out = Target::<F::Out>::new(self.out.data());
        if let Some(failure) = F::FAILURE
            && self.fails(function, lhs, rhs)
        {
            return Some(failure);
        }
        self.share(move |[to, l, r]| {
            // SAFETY: see above.
            unsafe { out.at(to).write(function.call(lhs.at(l).read(), rhs.at(r).read())) };
        });
        None
    }

    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(
        self,
        function: F,
    ) -> Self::Output {
        let a = Elements::<A>::new(self.inputs[0].data());
        let b = Elements::<B>::new(self.inputs[1].data());
        let c = Elements::<C>::new(self.inputs[2].data());
        let out = Target::<F::Out>::new(self.out.data());
        self.share(move |[to, i, j, k]| {
            // SAFETY: see above.
            unsafe {
                out.at(to).write(function.call(a.at(i).read(), b.at(j).read(), c.at(k).read()))
            };
        });
        None
    }

    fn convert(self, from: DType, to: DType) -> Self::Output {
        dispatch!(to, any U => {
            dispatch!(from, any T => self.unary::<T, _>(Convert::<U>::new()))
        })
    }

    fn bitcast(self, from: DType, to: DType) -> Self::Output {
        let carrier = carrier(from, to);
        let (x, out) = (&self.inputs[0], &mut *self.out);
        // SAFETY: the elements, seen as any bits of their size; the carrier's alignment is no larger than theirs.
        let source = unsafe { Operand::from_raw(x.data(), carrier, x.shape(), x.strides()) };
        // SAFETY: as above, and only what was bool becomes bool.
        let out =
            unsafe { OperandMut::from_raw_uninit(out.data(), carrier, out.shape(), out.strides()) };
        copy(self.grant, &source, out);
        None
    }
}

/// A dtype of any bits, of the size of two others and with the smaller alignment.
fn carrier(one: DType, other: DType) -> DType {
    match one.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        // Two f32 are aligned as one.
        8 if one == DType::C32 || other == DType::C32 => DType::C32,
        8 => DType::U64,
        _ => DType::C64,
    }
}

impl Loops<'_, '_> {
    /// Whether the function has no value somewhere; asked before anything is written.
    fn fails<T: Scalar, F: Binary<T>>(
        &self,
        function: F,
        lhs: Elements<T>,
        rhs: Elements<T>,
    ) -> bool {
        let (failed, seen) = (&AtomicBool::new(false), Ordering::Relaxed);
        self.share(move |[_, l, r]| {
            // SAFETY: see above.
            if unsafe { function.fails(lhs.at(l).read(), rhs.at(r).read()) } {
                failed.store(true, seen);
            }
        });
        failed.load(seen)
    }
}
