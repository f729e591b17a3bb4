//! Every row of the vocabulary has a derivative in both directions, which agree with each other and with differences, or
//! says that it has none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../ops/tests/calls/mod.rs"]
mod calls;

use std::collections::BTreeSet;

use calls::{
    Dice, ROWS,
    parts::{self, parts},
    point::{FLAT, Point, WITHOUT, numbers},
};
use tenferro_ops::{Meta, reference::Reference};
use tenferro_program::{Argument, Error, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{DType, Tensor};

fn run(program: &Program, inputs: &[Tensor]) -> Option<Vec<Tensor>> {
    let prepared = program.prepare(&Passes::all()).unwrap();
    let results = prepared.run(&mut Reference, inputs.iter().map(Argument::from));
    // An index may be out of range.
    Some(results.ok()?.into_iter().collect())
}

/// The parts of a tensor, and nothing of what has no derivative.
fn parts_or_none(x: &Tensor) -> Vec<f64> {
    if x.dtype().is_inexact() { parts(x) } else { Vec::new() }
}

/// The inner product of pairs of reals, and the size of its terms.
fn inner(xs: &[Tensor], ys: &[Tensor]) -> (f64, f64) {
    let pairs = xs.iter().zip(ys).flat_map(|(x, y)| parts(x).into_iter().zip(parts(y)));
    pairs.fold((0.0, 1.0), |(sum, size), (x, y)| (sum + x * y, size + (x * y).abs()))
}

fn inexact<'m>(metas: impl IntoIterator<Item = &'m Meta>) -> Vec<Meta> {
    metas.into_iter().filter(|meta| meta.dtype.is_inexact()).cloned().collect()
}

/// What became of a program.
enum Checked {
    Agreed,
    /// It has no derivative.
    Refused(&'static str),
    /// Its results are not finite here.
    Outside,
}

/// Inputs some way along a direction, which only floats have.
fn moved(inputs: &[Tensor], direction: &[Tensor], by: f64) -> Vec<Tensor> {
    let mut direction = direction.iter();
    let moved = |x: &Tensor| match x.dtype().is_inexact() {
        true => parts::moved(x, direction.next().unwrap(), by),
        false => x.clone(),
    };
    inputs.iter().map(moved).collect()
}

/// That tangents are what central differences of the results are.
fn check_differences(program: &Program, inputs: &[Tensor], u: &[Tensor], tangents: &[Tensor]) {
    const STEP: f64 = 1e-5;
    let at = |by: f64| run(program, &moved(inputs, u, by));
    let (Some(up), Some(down)) = (at(STEP), at(-STEP)) else { panic!("inputs moved: {program}") };
    let tangents = tangents.iter().flat_map(parts);
    let ends = up.iter().flat_map(parts).zip(down.iter().flat_map(parts));
    assert_eq!(ends.clone().count(), tangents.clone().count(), "{program}");
    for ((up, down), tangent) in ends.zip(tangents) {
        if up.is_nan() && down.is_nan() {
            // Outside of the domain, where a formula may go on.
            continue;
        }
        // Also between infinities, which a running extreme of nothing is.
        let difference = if up == down { 0.0 } else { (up - down) / (2.0 * STEP) };
        assert!(
            (difference - tangent).abs() <= 1e-6 * (1.0 + up.abs() + tangent.abs()),
            "{tangent} is not {difference}\n{program}"
        );
    }
}

/// That the linear program at these inputs gives the tangents that the pushforward gives.
fn check_linearized(program: &Program, inputs: &[Tensor], u: &[Tensor], pushed: &[Tensor]) {
    let (known, linear) = program.linearize().unwrap();
    let (results, tangents) = pushed.split_at(program.outputs().len());
    let point = run(&known, inputs).expect("the pushforward ran at this point");
    let (again, residuals) = point.split_at(results.len());
    let linear_tangents = run(&linear, &[residuals, u].concat()).expect("residuals fit");
    let lhs = again.iter().chain(&linear_tangents).flat_map(parts_or_none);
    let rhs = results.iter().chain(tangents).flat_map(parts_or_none);
    assert_eq!(lhs.clone().count(), rhs.clone().count(), "{program}\n{linear}");
    for (lhs, rhs) in lhs.zip(rhs) {
        let close = lhs == rhs || (lhs - rhs).abs() <= 1e-12 * (1.0 + rhs.abs());
        assert!(close || (lhs.is_nan() && rhs.is_nan()), "{lhs} is not {rhs}\n{known}\n{linear}");
    }
}

/// The pushforward against differences and against the linear program, and `<v, J u> = <J^T v, u>`.
fn check(program: &Program, inputs: &[Tensor], dice: &mut Dice) -> Checked {
    let (forward, reverse) = match (program.jvp(), program.vjp()) {
        (Ok(forward), Ok(reverse)) => (forward, reverse),
        (Err(Error::Tensor(error)), _) | (_, Err(Error::Tensor(error))) => {
            let tenferro_tensor::Error::Unsupported { op, .. } = error else { panic!("{error}") };
            return Checked::Refused(op);
        }
        (forward, reverse) => panic!("{forward:?}, {reverse:?}"),
    };
    let draw = |metas: &[Meta], dice: &mut Dice| -> Vec<Tensor> {
        metas.iter().map(|meta| numbers(meta, None, dice, (-1.0, 1.0))).collect()
    };
    let u = draw(&inexact(program.inputs().iter().map(Spec::meta)), dice);
    let v = draw(&inexact(&program.output_metas()), dice);
    let (Some(pushed), Some(pulled)) =
        (run(&forward, &[inputs, &u].concat()), run(&reverse, &[inputs, &v].concat()))
    else {
        return Checked::Outside;
    };
    let results = program.outputs().len();
    let ((along, size), (across, _)) =
        (inner(&pushed[results..], &v), inner(&pulled[results..], &u));
    if !along.is_finite() {
        return Checked::Outside;
    }
    if !program.steps().iter().any(|step| FLAT.contains(&step.name())) {
        check_differences(program, inputs, &u, &pushed[results..]);
    }
    check_linearized(program, inputs, &u, &pushed);
    assert!(
        (along - across).abs() <= 1e-10 * size,
        "{along} is not {across}\n{program}\n{forward}\n{reverse}"
    );
    Checked::Agreed
}

#[test]
fn f38_pushforward_pullback_and_differences_of_every_row_agree_to_second_order() {
    let mut refused = BTreeSet::new();
    for (number, &row) in ROWS.iter().enumerate() {
        let mut fitted = 0;
        // Of which kinds, complex and of no elements, there were calls with a derivative, and some that could be checked.
        let (mut drawn, mut agreed) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..150 {
            let mut dice = Dice(1000 * number as u64 + seed);
            let Some(point) = Point::draw(row, &mut dice) else { continue };
            fitted += 1;
            if !point.moves() {
                continue;
            }
            let Point { primitive, wanted, inputs, result } = point;
            let specs: Vec<Spec> = wanted.iter().map(Spec::of).collect();
            let program = trace(&specs, |xs| {
                Traced::apply(primitive.clone(), &xs.iter().collect::<Vec<_>>())
            });
            let program = program.unwrap();
            let kind =
                (result.dtype == DType::C64, wanted.iter().any(|meta| meta.shape.elements() == 0));
            match check(&program, &inputs, &mut dice) {
                Checked::Agreed => {
                    drawn.insert(kind);
                    agreed.insert(kind);
                }
                Checked::Refused(op) => {
                    assert_eq!(op, primitive.name());
                    refused.insert(op);
                    continue;
                }
                Checked::Outside => {
                    drawn.insert(kind);
                    continue;
                }
            }
            // The same of the pushforward and of the pullback, which are programs like others.
            let (forward, reverse) = (program.jvp().unwrap(), program.vjp().unwrap());
            let (tangents, cotangents) = (inexact(wanted.iter()), inexact([&result]));
            for (derivative, directions) in [(forward, tangents), (reverse, cotangents)] {
                let directions =
                    directions.iter().map(|meta| numbers(meta, None, &mut dice, (-1.0, 1.0)));
                let inputs: Vec<Tensor> = inputs.iter().cloned().chain(directions).collect();
                if let Checked::Refused(op) = check(&derivative, &inputs, &mut dice) {
                    refused.insert(op);
                }
            }
        }
        assert!(fitted > 0, "no call of {row:?} fitted");
        assert_eq!(drawn, agreed, "a kind of call of {row:?} was never checked");
        for empty in [false, true] {
            let checked = agreed.iter().any(|&(_, is_empty)| is_empty == empty);
            assert!(checked || agreed.is_empty(), "{row:?}, without elements: {empty}");
        }
    }
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), WITHOUT);
}
