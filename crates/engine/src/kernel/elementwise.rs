//! Loops over the elements of one, two or three operands, with a function passed in.
//!
//! Operands are broadcast by strides of 0. A dense operation is one run; what is strided is cut into runs along the
//! first merged axis, and a run has its own loops for unit and zero strides, which the compiler vectorises.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use tenferro_ops::scalar::{
    Binary, ElementwiseVisitor, Ternary, Unary, visit_analytic, visit_elementwise,
};
use tenferro_tensor::{
    Analytic, Elementwise, Numerical, Operand, OperandMut, Primitive, Result, Scalar, Shape,
    Validation,
};

use super::{
    Grant,
    share::{Elements, Target},
    walk::Walk,
};

/// What a transcendental function costs, in bytes moved in the same time.
const ANALYTIC_COST: usize = 64;

/// Computes an elementwise row.
#[inline]
pub(super) fn elementwise(
    grant: &Grant<'_>,
    row: &Elementwise,
    inputs: &[Operand<'_>],
    out: OperandMut<'_>,
) -> Result<()> {
    // The branches of a select say its dtype, not the predicate.
    let dtype = inputs[inputs.len() - 1].dtype();
    let name = || Primitive::Elementwise(row.clone()).name();
    let result = visit_elementwise(row, dtype, Loops { grant, inputs, out, extra_cost: 0 });
    finish(result, name)
}

/// Computes an analytic row.
pub(super) fn analytic(
    grant: &Grant<'_>,
    row: &Analytic,
    inputs: &[Operand<'_>],
    out: OperandMut<'_>,
) -> Result<()> {
    let name = || Primitive::Analytic(row.clone()).name();
    let loops = Loops { grant, inputs, out, extra_cost: ANALYTIC_COST };
    finish(visit_analytic(row, inputs[0].dtype(), loops), name)
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
struct Loops<'a> {
    grant: &'a Grant<'a>,
    inputs: &'a [Operand<'a>],
    out: OperandMut<'a>,
    extra_cost: usize,
}

impl Loops<'_> {
    /// Calls `run(offsets, strides, length)` for runs that make up the operation, shared out over the granted threads.
    ///
    /// Operand 0 is the output, the others are the inputs, each broadcast to the output's shape.
    #[inline]
    fn share<const N: usize>(&self, run: impl Fn([isize; N], [isize; N], usize) + Sync) {
        if self.is_dense() {
            let elements = self.out.shape().elements();
            self.grant.share(elements, self.cost(), |range| {
                run([range.start.cast_signed(); N], [1; N], range.len());
            });
        } else {
            let walk = self.walk::<N>();
            let strides = walk.strides();
            self.grant.share(walk.elements(), self.cost(), |range| {
                walk.runs(range, |offsets, length| run(offsets, strides, length));
            });
        }
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

// SAFETY of the loops below: runs reach indices of the operands only, whose dtypes the rules have checked to be those of
// the function, and runs of different jobs do not meet.
impl ElementwiseVisitor for Loops<'_> {
    type Output = Option<Numerical>;

    #[inline]
    fn unary<T: Scalar, F: Unary<T>>(mut self, function: F) -> Self::Output {
        let x = Elements::<T>::new(self.inputs[0].data());
        let out = Target::<F::Out>::new(self.out.data());
        self.share(|[to, x_at], strides, length| {
            // SAFETY: see above.
            let (out, x) = unsafe { (out.at(to), x.at(x_at)) };
            step_through(length, strides, |[to, from]| {
                // SAFETY: see above.
                unsafe { out.offset(to).write(function.call(x.offset(from).read())) };
            });
        });
        None
    }

    #[inline]
    fn binary<T: Scalar, F: Binary<T>>(mut self, function: F) -> Self::Output {
        let lhs = Elements::<T>::new(self.inputs[0].data());
        let rhs = Elements::<T>::new(self.inputs[1].data());
        let out = Target::<F::Out>::new(self.out.data());
        if let Some(failure) = F::FAILURE
            && self.fails(function, lhs, rhs)
        {
            return Some(failure);
        }
        self.share(|[to, lhs_at, rhs_at], strides, length| {
            // SAFETY: see above.
            let (out, lhs, rhs) = unsafe { (out.at(to), lhs.at(lhs_at), rhs.at(rhs_at)) };
            step_through(length, strides, |[to, l, r]| {
                // SAFETY: see above.
                unsafe {
                    out.offset(to).write(function.call(lhs.offset(l).read(), rhs.offset(r).read()))
                };
            });
        });
        None
    }

    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(
        mut self,
        function: F,
    ) -> Self::Output {
        let a = Elements::<A>::new(self.inputs[0].data());
        let b = Elements::<B>::new(self.inputs[1].data());
        let c = Elements::<C>::new(self.inputs[2].data());
        let out = Target::<F::Out>::new(self.out.data());
        self.share(|[to, a_at, b_at, c_at], strides, length| {
            // SAFETY: see above.
            let (out, a, b, c) = unsafe { (out.at(to), a.at(a_at), b.at(b_at), c.at(c_at)) };
            step_through(length, strides, |[to, i, j, k]| {
                // SAFETY: see above.
                unsafe {
                    let value =
                        function.call(a.offset(i).read(), b.offset(j).read(), c.offset(k).read());
                    out.offset(to).write(value);
                }
            });
        });
        None
    }
}

impl Loops<'_> {
    /// Whether the function has no value somewhere; asked before anything is written.
    fn fails<T: Scalar, F: Binary<T>>(
        &self,
        function: F,
        lhs: Elements<T>,
        rhs: Elements<T>,
    ) -> bool {
        let failed = AtomicBool::new(false);
        self.share(|[_, lhs_at, rhs_at], strides, length| {
            // SAFETY: see above.
            let (lhs, rhs) = unsafe { (lhs.at(lhs_at), rhs.at(rhs_at)) };
            let mut fails = false;
            step_through(length, strides, |[_, l, r]| {
                // SAFETY: see above.
                fails |= unsafe { function.fails(lhs.offset(l).read(), rhs.offset(r).read()) };
            });
            if fails {
                failed.store(true, Ordering::Relaxed);
            }
        });
        failed.into_inner()
    }
}

/// Calls `body` with the offsets of each step of a run. Unit and zero strides, the common ones, become loops in which
/// they are constants.
#[inline(always)]
fn step_through<const N: usize>(
    length: usize,
    strides: [isize; N],
    mut body: impl FnMut([isize; N]),
) {
    let length = length.cast_signed();
    let is =
        |pattern: fn(usize) -> isize| strides.iter().enumerate().all(|(i, &s)| s == pattern(i));
    if is(|_| 1) {
        for i in 0..length {
            body([i; N]);
        }
    } else if is(|i| isize::from(i != 1)) {
        // The first input is one element.
        for i in 0..length {
            body(std::array::from_fn(|operand| if operand == 1 { 0 } else { i }));
        }
    } else if is(|i| isize::from(i != 2)) {
        // The second input is one element.
        for i in 0..length {
            body(std::array::from_fn(|operand| if operand == 2 { 0 } else { i }));
        }
    } else {
        for i in 0..length {
            body(strides.map(|stride| i * stride));
        }
    }
}
