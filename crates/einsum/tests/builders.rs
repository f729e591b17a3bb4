//! Contractions of variables and in programs: what engines compute, with derivatives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use tenferro_ad::{Autodiff, Variable, grad};
use tenferro_einsum::{Error, Path, build, einsum};
use tenferro_ops::{Build, reference::Reference};
use tenferro_program::{Argument, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{
    AsOperand, Complex64, DType, KeepAxes, Operand, Result, Tensor, TensorElementwise,
};

/// Small integers, so that sums have the same bits in any order.
fn integers(dtype: DType, extents: &[usize], seed: i64) -> Tensor {
    let count = extents.iter().product::<usize>() as i64;
    let elements: Vec<i64> = (0..count).map(|at| (at * 7 + seed * 3) % 5 - 2).collect();
    let tensor = Tensor::from_vec_col_major(extents, elements).unwrap();
    Reference.convert(&tensor, dtype).unwrap()
}

type Row = (&'static str, &'static [&'static [usize]]);

const CONTRACTIONS: [Row; 14] = [
    ("ij,jk->ik", &[&[2, 3], &[3, 4]]),
    ("ij,jk->ki", &[&[2, 3], &[3, 4]]),
    ("bij,bjk->bik", &[&[5, 2, 3], &[5, 3, 4]]),
    ("ijk,jl,km->mil", &[&[2, 3, 4], &[3, 5], &[4, 6]]),
    ("ijk,jl->ilk", &[&[2, 3, 4], &[3, 5]]),
    ("i,j->ji", &[&[2], &[3]]),
    ("ij,ji->ij", &[&[2, 3], &[3, 2]]),
    ("ij,kl->", &[&[2, 3], &[3, 4]]),
    ("iij->ji", &[&[2, 2, 3]]),
    ("iij,jkk->ik", &[&[2, 2, 3], &[3, 4, 4]]),
    ("ij->iji", &[&[2, 3]]),
    ("...ij,...jk->...ik", &[&[4, 2, 3], &[1, 3, 2]]),
    ("ij,jk->ik", &[&[2, 0], &[0, 4]]),
    ("ij->ij", &[&[2, 3]]),
];

fn program(subscripts: &str, operands: &[Tensor]) -> Program {
    let spec = |tensor: &Tensor| Spec::new(tensor.dtype(), tensor.shape().to_vec()).unwrap();
    let specs: Vec<Spec> = operands.iter().map(spec).collect();
    let traced = |xs: &[Traced]| {
        let operands: Vec<&Traced> = xs.iter().collect();
        Traced::compose("einsum", &operands, |steps, values| {
            Ok(build(steps, subscripts, values, &Path::LeftToRight)?)
        })
    };
    trace(&specs, traced).unwrap()
}

#[test]
fn variables_and_programs_have_the_results_of_engines() {
    let ad = Autodiff::new(Reference);
    for (subscripts, shapes) in CONTRACTIONS {
        for dtype in [DType::F64, DType::C64, DType::I32, DType::Bool] {
            let operands: Vec<Tensor> =
                (1..).zip(shapes).map(|(seed, shape)| integers(dtype, shape, seed)).collect();
            let lent: Vec<Operand<'_>> = operands.iter().map(AsOperand::as_operand).collect();
            let expected = einsum(&mut Reference, subscripts, &lent, &Path::LeftToRight).unwrap();

            let constants: Vec<Variable> =
                operands.iter().map(|operand| ad.constant(operand.clone())).collect();
            let built = build(&mut &ad, subscripts, &constants, &Path::LeftToRight).unwrap();
            assert_same(built.value(), &expected, subscripts);

            let prepared = program(subscripts, &operands).prepare(&Passes::all()).unwrap();
            let arguments = operands.iter().map(Argument::from);
            let run = prepared.run(&mut Reference, arguments).unwrap();
            assert_same(&run[0], &expected, subscripts);
        }
    }
}

fn assert_same(actual: &Tensor, expected: &Tensor, subscripts: &str) {
    assert_eq!(actual.dtype(), expected.dtype(), "{subscripts}");
    assert_eq!(actual.shape(), expected.shape(), "{subscripts}");
    let [actual, expected] = [actual, expected].map(|tensor| {
        let wide = Reference.convert(tensor, DType::C64).unwrap();
        wide.to_vec_col_major::<Complex64>().unwrap()
    });
    assert_eq!(actual, expected, "{subscripts}");
}

#[test]
fn a_program_has_no_step_that_an_engine_would_not_be_asked_for() {
    let operands = [&[2, 3][..], &[3, 4], &[4, 5]].map(|shape| integers(DType::F64, shape, 1));
    assert_snapshot!(program("ij,jk,kl->il", &operands), @r"
    program(%0: f64[2, 3], %1: f64[3, 4], %2: f64[4, 5]) {
        %3: f64[2, 4] = dot_general(%0, %1) { contraction: { lhs_contracting: [1], rhs_contracting: [0], batch: Trailing } }
        %4: f64[2, 5] = dot_general(%3, %2) { contraction: { lhs_contracting: [1], rhs_contracting: [0], batch: Trailing } }
        return %4
    }
    ");
}

#[test]
fn what_does_not_fit_is_refused_as_by_an_engine() {
    let ad = Autodiff::new(Reference);
    let constant = |dtype| ad.constant(integers(dtype, &[2, 2], 1));
    let mixed = [constant(DType::F64), constant(DType::F32)];
    let error = build(&mut &ad, "ij,jk->ik", &mixed, &Path::LeftToRight).unwrap_err();
    assert!(matches!(error, Error::MixedDTypes { operand: 1, .. }), "{error}");
    let error = build(&mut &ad, "ij,jk->il", &mixed, &Path::LeftToRight).unwrap_err();
    assert!(matches!(error, Error::UnknownOutputLabel { .. }), "{error}");
}

/// A real number made of all elements, which all of them change.
fn weighed(x: &Variable) -> Result<Variable> {
    let elements = x.value().shape().elements();
    let weights =
        (0..elements).map(|at| Complex64::new(0.3 + at as f64 * 0.1, 0.7 - at as f64 * 0.2));
    let weights = Tensor::from_vec_col_major([elements], weights.collect())?;
    let flat = x.reshape([elements])?.mul(&x.autodiff().constant(weights))?;
    flat.real()?.sum([0], KeepAxes::Drop)
}

#[test]
fn f36_a_chain_of_contractions_and_an_exponential_have_the_gradient_of_differences() {
    const STEP: f64 = 1e-5;
    let ad = Autodiff::new(Reference);
    let wave = |extents: &[usize], pace: f64| {
        let count = extents.iter().product::<usize>();
        let element = |at: usize| Complex64::from_polar(0.5, pace * (at + 1) as f64);
        let elements: Vec<Complex64> = (0..count).map(element).collect();
        Tensor::from_vec_col_major(extents, elements).unwrap()
    };
    let tensors = [wave(&[2, 3], 0.7), wave(&[3, 2, 2], 1.1), wave(&[2, 2], 0.4)];
    let loss = |tensors: [&Variable; 3]| -> Result<Variable> {
        let operands = tensors.map(Variable::clone);
        let mut builder = operands[0].autodiff();
        let chain = build(&mut builder, "ij,jkk,kl->il", &operands, &Path::LeftToRight)?;
        weighed(&builder.exp(&chain)?)
    };
    for place in 0..tensors.len() {
        let constants = tensors.clone().map(|tensor| ad.constant(tensor));
        let with = |x: &Variable| {
            let mut operands = constants.each_ref();
            operands[place] = x;
            loss(operands)
        };
        let gradient = grad(with, &constants[place]).unwrap();
        let gradient = gradient.value().to_vec_col_major::<Complex64>().unwrap();
        let elements = tensors[place].to_vec_col_major::<Complex64>().unwrap();
        for (at, &slope) in gradient.iter().enumerate() {
            let difference = |along: Complex64| {
                let moved = |by: f64| {
                    let mut elements = elements.clone();
                    elements[at] += along * by;
                    let shape = tensors[place].shape().to_vec();
                    let x = ad.constant(Tensor::from_vec_col_major(shape, elements).unwrap());
                    with(&x).unwrap().value().get::<f64>(&[]).unwrap()
                };
                (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
            };
            let expected = Complex64::new(difference(Complex64::ONE), difference(Complex64::I));
            assert!((slope - expected).norm() < 1e-8, "{place}, {at}: {slope} is not {expected}");
        }
    }
}

#[test]
fn a_gradient_of_a_program_is_that_of_its_variables() {
    let ad = Autodiff::new(Reference);
    let operands = [integers(DType::F64, &[2, 3], 1), integers(DType::F64, &[3, 2], 2)];
    let trace_of_square = program("ij,jk,kl,li->", &[operands.clone(), operands.clone()].concat());
    let prepared = trace_of_square.grad().unwrap().prepare(&Passes::all()).unwrap();
    let four = [operands.clone(), operands.clone()].concat();
    let by_program = prepared.run(&mut Reference, four.iter().map(Argument::from)).unwrap();
    let fixed: Vec<Variable> = four[1..].iter().map(|x| ad.constant(x.clone())).collect();
    let loss = |x: &Variable| {
        let operands = [std::slice::from_ref(x), &fixed[..]].concat();
        Ok(build(&mut x.autodiff(), "ij,jk,kl,li->", &operands, &Path::LeftToRight)?)
    };
    let by_variables = grad(loss, &ad.constant(four[0].clone())).unwrap();
    assert_same(&by_program[0], by_variables.value(), "the first operand");
}
