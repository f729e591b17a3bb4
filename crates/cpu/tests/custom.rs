//! Operations that are not in the vocabulary: one rule differentiates eager calls and programs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use tenferro_ad::{Autodiff, Variable, grad, hvp, jvp};
use tenferro_cpu::CpuBackend;
use tenferro_ops::{
    Build, CustomOp, Engine, Meta,
    derivative::{Handle, Point, Steps},
    infer,
};
use tenferro_program::{Argument, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{
    DType, Elementwise, Error, KeepAxes, Operand, Result, Tensor, TensorElementwise,
};

/// `x x y`, with its rule or without, or with one that gives a tangent of another shape.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Squared {
    WithRule,
    Without,
    Wrong,
}

impl CustomOp for Squared {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
        infer(&Elementwise::Mul.into(), inputs)
    }

    fn evaluate(&self, engine: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let square = engine.mul(&inputs[0], &inputs[0])?;
        engine.mul(&square, &inputs[1])
    }

    fn jvp(&self, b: &mut Steps<'_>, at: &Point<'_, Handle>) -> Result<Option<Handle>> {
        match self {
            Squared::WithRule => {}
            Squared::Without => return Unruled.jvp(b, at),
            Squared::Wrong => return b.sum(at.inputs[0], [0], KeepAxes::Drop).map(Some),
        }
        let [x, y] = [at.inputs[0], at.inputs[1]];
        let by_x = match at.tangents[0] {
            None => None,
            Some(t) => {
                let slope = b.mul(x, y)?;
                let slope = b.add(&slope, &slope)?;
                Some(b.mul(t, &slope)?)
            }
        };
        let by_y = match at.tangents[1] {
            None => None,
            Some(t) => {
                let square = b.mul(x, x)?;
                Some(b.mul(t, &square)?)
            }
        };
        match (by_x, by_y) {
            (Some(lhs), Some(rhs)) => b.add(&lhs, &rhs).map(Some),
            (lhs, rhs) => Ok(lhs.or(rhs)),
        }
    }
}

/// An operation that leaves the rule out.
#[derive(Debug)]
struct Unruled;

impl CustomOp for Unruled {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
        Squared::Without.infer(inputs)
    }

    fn evaluate(&self, engine: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor> {
        Squared::Without.evaluate(engine, inputs)
    }
}

fn vector(elements: &[f64]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec_col_major().unwrap()
}

/// The sum of `x x y` where both depend on the operand: `y` is its exponential.
fn eager(op: Squared, x: &Variable) -> Result<Variable> {
    let squared = x.autodiff().custom(Arc::new(op), &[x, &x.exp()?])?;
    squared.sum([0], KeepAxes::Drop)
}

fn traced(op: Squared) -> Program {
    let squared = |xs: &[Traced]| {
        let squared = Traced::custom(Arc::new(op), &[&xs[0], &xs[0].exp()]);
        squared.sum([0], KeepAxes::Drop)
    };
    trace(&[Spec::new(DType::F64, [3]).unwrap()], squared).unwrap()
}

fn run(program: &Program, inputs: &[&Tensor]) -> Vec<Tensor> {
    let mut backend = CpuBackend::with_threads(1).unwrap();
    let prepared = program.prepare(&Passes::all()).unwrap();
    let arguments = inputs.iter().map(|&input| Argument::from(input));
    prepared.run(&mut backend, arguments).unwrap().into_iter().collect()
}

fn close(actual: &[f64], expected: impl Fn(f64) -> f64) {
    for (actual, x) in actual.iter().zip([0.5_f64, -1.0, 2.0]) {
        let expected = expected(x);
        assert!((actual - expected).abs() < 1e-12 * expected.abs(), "{actual} is not {expected}");
    }
}

#[test]
fn one_rule_differentiates_both_modes_to_any_order() {
    let x = vector(&[0.5, -1.0, 2.0]);
    let ad = Autodiff::new(CpuBackend::with_threads(1).unwrap());
    let (at, ones) = (ad.constant(x.clone()), vector(&[1.0; 3]));
    let along = ad.constant(ones.clone());
    let f = |x: &Variable| eager(Squared::WithRule, x);

    // x^2 e^x, its slope and how that bends.
    let slope = |x: f64| (x * x + 2.0 * x) * x.exp();
    let bend = |x: f64| (x * x + 4.0 * x + 2.0) * x.exp();
    let gradient = grad(f, &at).unwrap();
    close(&elements(gradient.value()), slope);
    close(&elements(hvp(f, &at, &along).unwrap().value()), bend);
    let pushed = jvp(|xs| Ok(vec![f(&xs[0])?]), &[&at], &[&along]).unwrap();
    let total: f64 = [0.5, -1.0, 2.0].map(slope).iter().sum();
    let pushed = elements(pushed[0].1.as_ref().unwrap().value())[0];
    assert!((pushed - total).abs() < 1e-12);

    let program = traced(Squared::WithRule);
    let prepared = program.grad().unwrap();
    assert_eq!(elements(&run(&prepared, &[&x])[0]), elements(gradient.value()));
    let bent = run(&prepared.jvp().unwrap(), &[&x, &ones]);
    close(&elements(&bent[1]), bend);
    let (known, linear) = program.linearize().unwrap();
    let residuals = run(&known, &[&x]).split_off(1);
    let inputs: Vec<&Tensor> = residuals.iter().chain([&ones]).collect();
    assert!((elements(&run(&linear, &inputs)[0])[0] - total).abs() < 1e-12);
}

#[test]
fn a_rule_that_is_missing_or_wrong_is_a_typed_error_in_both_modes() {
    let ad = Autodiff::new(CpuBackend::with_threads(1).unwrap());
    let at = ad.constant(vector(&[0.5, -1.0, 2.0]));
    for op in [Squared::Without, Squared::Wrong] {
        // Where nothing is differentiated, nothing is asked for.
        eager(op, &at).unwrap();
        let eager = grad(|x| eager(op, x), &at).unwrap_err();
        let program = traced(op).grad().unwrap_err();
        match op {
            Squared::Wrong => assert!(matches!(eager, Error::Validation { op: "squared", .. })),
            _ => assert!(matches!(eager, Error::Unsupported { op: "squared", .. }), "{eager}"),
        }
        assert_eq!(program.to_string(), eager.to_string());
    }
}
