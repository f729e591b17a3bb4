//! One product of the suite: run it, compare each element with the oracle, and look at every guard.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use tenferro_tensor::{AsOperand, Factor, TensorView, TensorViewMut};

use super::{
    case::{Case, Extents},
    number::{Exact, Expected, Sample, random},
    placement::Placed,
    threads::Threads,
};
use crate::{
    Determinism, Error, Outcome, Product, Provider, Reason, Sequential, Workers, lapack::Breakdown,
};

const VALID: &str = "invariant: the suite's operands are valid";

/// What a provider did wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// It refused what its capabilities claim.
    #[error("its capabilities claim this, but it answered: {0}")]
    Refused(Reason),
    /// It failed.
    #[error("it failed: {0}")]
    Failed(Error),
    /// It panicked.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// An element is not the product's.
    #[error("element {index:?} is {actual}, not {expected} (allowed distance {bound:e})")]
    Wrong {
        /// Row, column and place in the batch.
        index: [usize; 3],
        /// The element written.
        actual: String,
        /// The oracle's value.
        expected: String,
        /// How far they may be apart.
        bound: f64,
    },
    /// It wrote outside of the output.
    #[error("it wrote {distance} elements away from the first one of the output, outside of it")]
    Guard {
        /// Where, in elements from element (0, 0, 0).
        distance: isize,
    },
    /// It answered "unsupported" after it had written to the output.
    #[error("it answered \"unsupported\" ({reason}) but had written element {index:?}")]
    Touched {
        /// Its answer.
        reason: Reason,
        /// Row, column and place in the batch.
        index: [usize; 3],
    },
    /// A LAPACK routine's result does not solve what it stands for.
    #[error("{what} is off by {distance:e} (allowed {bound:e})")]
    Residual {
        /// What was computed from the result.
        what: &'static str,
        /// How far it is off.
        distance: f64,
        /// How far it may be.
        bound: f64,
    },
    /// A LAPACK routine's result is not what it must be, whatever the rounding.
    #[error("{what}: not as they must be")]
    Disorder {
        /// What is not as it must be.
        what: &'static str,
    },
    /// A LAPACK routine broke down where it should not, or otherwise than it should.
    #[error("it broke down with {actual:?}, not {expected:?}")]
    Breakdown {
        /// What it said.
        actual: Option<Breakdown>,
        /// What holds.
        expected: Option<Breakdown>,
    },
    /// Results of two runs that must agree do not.
    #[error("element {index:?} differs between widths {widths:?}")]
    WidthDependent {
        /// Row, column and place in the batch.
        index: [usize; 3],
        /// The widths of the two runs.
        widths: [usize; 2],
    },
}

/// What became of a case that kept the contract.
pub(super) enum Verdict {
    Executed,
    Unsupported,
}

/// The operands of one case.
pub(super) struct Operands<T> {
    pub(super) lhs: Placed<T>,
    pub(super) rhs: Placed<T>,
    pub(super) out: Placed<T>,
}

impl<T: Sample> Operands<T> {
    /// Operands with pseudo-random elements, and NaN wherever the contract says that nobody looks.
    pub(super) fn new(case: &Case) -> Self {
        let Extents { m, n, k, batch } = case.extents;
        let [alpha, beta] = case.factors;
        let element = |factor: Factor, salt| {
            move |number| {
                if factor.is_zero() { T::poison() } else { T::sample(random(salt, number)) }
            }
        };
        let [lhs, rhs, out] = case.placements;
        let poison = |_| T::poison();
        let guard = |number| T::sample(random(13, number));
        Self {
            lhs: Placed::new(lhs, [m, k, batch], poison, element(alpha, 10)),
            rhs: Placed::new(rhs, [k, n, batch], poison, element(alpha, 11)),
            out: Placed::new(out, [m, n, batch], guard, element(beta, 12)),
        }
    }

    /// Views of lhs, rhs and out.
    pub(super) fn views(&mut self) -> (TensorView<'_>, TensorView<'_>, TensorViewMut<'_>) {
        (
            self.lhs.view().expect(VALID),
            self.rhs.view().expect(VALID),
            self.out.view_mut().expect(VALID),
        )
    }

    /// Runs the case in this way; a panic is a defect.
    pub(super) fn run<R>(
        &mut self,
        case: &Case,
        call: impl FnOnce(&mut Product<'_>) -> Result<R, Error>,
    ) -> Result<R, Defect> {
        let (lhs, rhs, mut out) = self.views();
        let mut product = product(case, &lhs, &rhs, &mut out);
        caught(|| call(&mut product))?.map_err(Defect::Failed)
    }

    /// Runs the case; a panic is a defect.
    pub(super) fn execute(
        &mut self,
        provider: &dyn Provider,
        case: &Case,
        workers: &dyn Workers,
    ) -> Result<Outcome, Defect> {
        self.run(case, |product| provider.product(product, workers))
    }

    /// Compares every element with the oracle, and everything around with what it was.
    pub(super) fn compare(&self, case: &Case, before: &Placed<T>) -> Result<(), Defect> {
        let expected = oracle(case, &self.lhs, &self.rhs, before);
        compare(case, &self.out, before, expected)
    }
}

/// The product that a case makes of these operands.
pub(super) fn product<'v>(
    case: &Case,
    lhs: &'v TensorView<'_>,
    rhs: &'v TensorView<'_>,
    out: &'v mut TensorViewMut<'_>,
) -> Product<'v> {
    let [lhs_conjugation, rhs_conjugation] = case.conjugation;
    let [alpha, beta] = case.factors;
    Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut())
        .map(|product| product.conjugating(lhs_conjugation, rhs_conjugation))
        .and_then(|product| product.scaled(alpha, beta))
        .expect(VALID)
}

/// Compares every element with what is expected, and everything around with what it was.
pub(super) fn compare<T: Sample>(
    case: &Case,
    out: &Placed<T>,
    before: &Placed<T>,
    expected: Vec<Expected<T::Exact>>,
) -> Result<(), Defect> {
    for (number, (&actual, expected)) in out.dense().iter().zip(expected).enumerate() {
        if let Some(bound) = actual.deviates(expected) {
            return Err(Defect::Wrong {
                index: index(case, number),
                actual: format!("{actual:?}"),
                expected: format!("{:?}", expected.value),
                bound,
            });
        }
    }
    guards(out, before)
}

/// Compares everything around an output with what it was.
fn guards<T: Sample>(out: &Placed<T>, before: &Placed<T>) -> Result<(), Defect> {
    let mut inside = vec![false; out.elements.len()];
    for at in out.offsets() {
        inside[at] = true;
    }
    let touched = out.elements.iter().zip(&before.elements).zip(inside);
    match touched.enumerate().find(|(_, ((now, then), inside))| !inside && !now.same(**then)) {
        None => Ok(()),
        Some((at, _)) => {
            let distance = at.cast_signed() - out.offset.cast_signed();
            Err(Defect::Guard { distance })
        }
    }
}

/// Runs one case on the calling thread and checks everything about it.
pub(super) fn case<T: Sample>(provider: &dyn Provider, case: &Case) -> Result<Verdict, Defect> {
    let mut operands = Operands::<T>::new(case);
    let before = operands.out.clone();
    match operands.execute(provider, case, &Sequential)? {
        Outcome::Executed => {
            operands.compare(case, &before)?;
            Ok(Verdict::Executed)
        }
        Outcome::Unsupported(reason) => {
            guards(&operands.out, &before)?;
            let (now, then) = (operands.out.dense(), before.dense());
            if let Some(number) = now.iter().zip(&then).position(|(now, then)| !now.same(*then)) {
                return Err(Defect::Touched { reason, index: index(case, number) });
            }
            if case.is_claimed(provider.capabilities()) {
                return Err(Defect::Refused(reason));
            }
            Ok(Verdict::Unsupported)
        }
    }
}

/// Runs one case at several widths, or twice at one, as the provider's determinism claims.
pub(super) fn widths<T: Sample>(provider: &dyn Provider, case: &Case) -> Result<(), Defect> {
    if !case.is_claimed(provider.capabilities()) {
        return Ok(());
    }
    let any = provider.capabilities().determinism == Determinism::AnyWidth;
    let widths = if any { [1, 2, 4] } else { [2, 2, 2] };
    let mut first = None::<Vec<T>>;
    for width in widths {
        let mut operands = Operands::<T>::new(case);
        let before = operands.out.clone();
        if let Outcome::Unsupported(reason) =
            operands.execute(provider, case, &Threads::new(width))?
        {
            return Err(Defect::Refused(reason));
        }
        operands.compare(case, &before)?;
        let result = operands.out.dense();
        let Some(first) = &first else {
            first = Some(result);
            continue;
        };
        if let Some(number) = first.iter().zip(&result).position(|(a, b)| !a.same(*b)) {
            let index = index(case, number);
            return Err(Defect::WidthDependent { index, widths: [widths[0], width] });
        }
    }
    Ok(())
}

/// The result of a case, computed apart from any provider: each element in column-major order.
pub(super) fn oracle<T: Sample>(
    case: &Case,
    lhs: &Placed<T>,
    rhs: &Placed<T>,
    out: &Placed<T>,
) -> Vec<Expected<T::Exact>> {
    let Extents { m, n, k, batch } = case.extents;
    let exact = |elements: Vec<T>, conjugation| -> Vec<_> {
        elements.into_iter().map(|element| element.exact().conjugated(conjugation)).collect()
    };
    let lhs = exact(lhs.dense(), case.conjugation[0]);
    let rhs = exact(rhs.dense(), case.conjugation[1]);
    let [alpha, beta] = case.factors;
    let scale = |factor: Factor, value: T::Exact, magnitude: f64| {
        if factor.is_zero() {
            return (T::Exact::ZERO, 0.0);
        }
        let factor = T::Exact::from_factor(factor);
        (factor.times(value), factor.magnitude() * magnitude)
    };
    let mut expected = Vec::with_capacity(m * n * batch);
    for (number, old) in out.dense().into_iter().map(T::exact).enumerate() {
        let (row, col, product) = (number % m, number / m % n, number / (m * n));
        let (mut sum, mut magnitude) = (T::Exact::ZERO, 0.0);
        for inner in 0..k {
            let x = lhs[row + m * (inner + k * product)];
            let y = rhs[inner + k * (col + n * product)];
            sum = sum.plus(x.times(y));
            magnitude += x.magnitude() * y.magnitude();
        }
        let (sum, magnitude) = scale(alpha, sum, magnitude);
        let (old, old_magnitude) = scale(beta, old, old.magnitude());
        let magnitude = magnitude + old_magnitude;
        expected.push(Expected { value: sum.plus(old), magnitude, terms: k });
    }
    expected
}

/// Row, column and place in the batch of an element of the output.
fn index(case: &Case, number: usize) -> [usize; 3] {
    let (m, n) = (case.extents.m, case.extents.n);
    [number % m, number / m % n, number / (m * n)]
}

/// What a call returns; a panic is a defect.
pub(super) fn caught<R>(call: impl FnOnce() -> R) -> Result<R, Defect> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| Defect::Panicked(message(&*payload)))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a payload that is no text".to_owned())
}
