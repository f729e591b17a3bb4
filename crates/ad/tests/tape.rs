//! No tape where no gradient is asked for: operations allocate there what they allocate without differentiation. A process
//! of its own, because the allocator counts for all of its tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../arbiter/tests/allocated/mod.rs"]
mod allocated;
mod common;

use allocated::allocations;
use common::{Numbers, ad, total};
use tenferro_ad::{Variable, grad, jvp, no_grad};
use tenferro_ops::reference::Reference;
use tenferro_tensor::{
    Comparison, Contraction, DType, KeepAxes, Result, Tensor, TensorAnalytic, TensorDot,
    TensorElementwise, TensorIndexing, TensorReduction, TensorStructural,
};

/// The allocations of a call that is made for the second time.
fn count<R>(mut body: impl FnMut() -> R) -> usize {
    body();
    let before = allocations();
    body();
    allocations() - before
}

/// An operation on variables, and the same on tensors.
type Row = (
    &'static str,
    fn(&Variable, &Variable) -> Result<Variable>,
    fn(&Tensor, &Tensor) -> Result<Tensor>,
);

const ROWS: &[Row] = &[
    ("add", |x, y| x.add(y), |x, y| Reference.add(x, y)),
    ("mul", |x, y| x.mul(y), |x, y| Reference.mul(x, y)),
    ("exp", |x, _| x.exp(), |x, _| Reference.exp(x)),
    ("sum", |x, _| x.sum([0], KeepAxes::Drop), |x, _| Reference.sum(x, [0], KeepAxes::Drop)),
    ("max", |x, _| x.max([1], KeepAxes::Keep), |x, _| Reference.max(x, [1], KeepAxes::Keep)),
    ("transpose", |x, _| x.transpose([1, 0]), |x, _| Reference.transpose(x, [1, 0])),
    (
        "slice",
        |x, _| x.slice([1, 0], [3, 2], [1, 1]),
        |x, _| Reference.slice(x, [1, 0], [3, 2], [1, 1]),
    ),
    (
        "dot_general",
        |x, y| x.dot_general(y, Contraction::over([1], [0])),
        |x, y| Reference.dot_general(x, y, Contraction::over([1], [0])),
    ),
];

fn square(seed: u64) -> Tensor {
    Numbers(seed).tensor(DType::F64, &[3, 3], (0.5, 2.0))
}

/// What a tape would keep costs at least one allocation.
fn has_no_tape(what: &str, x: &Variable, y: &Variable) {
    for (name, on_variables, on_tensors) in ROWS {
        let plain = count(|| on_tensors(x.value(), y.value()).unwrap());
        assert_eq!(count(|| on_variables(x, y).unwrap()), plain, "{name} {what}");
    }
}

#[test]
fn there_is_a_tape_of_leaves() {
    let (x, y) = (ad().variable(square(1)).unwrap(), ad().variable(square(2)).unwrap());
    for (name, on_variables, on_tensors) in ROWS {
        let plain = count(|| on_tensors(x.value(), y.value()).unwrap());
        assert!(count(|| on_variables(&x, &y).unwrap()) > plain, "{name}");
    }
}

#[test]
fn there_is_no_tape_of_constants_nor_within_no_grad_nor_after_detach() {
    let ad = ad();
    let (x, y) = (ad.variable(square(1)).unwrap(), ad.variable(square(2)).unwrap());
    has_no_tape("of constants", &ad.constant(square(1)), &ad.constant(square(2)));
    no_grad(|| has_no_tape("within no_grad", &x, &y));
    has_no_tape("after detach", &x.detach(), &y.detach());
    let made = no_grad(|| x.mul(&y).unwrap());
    has_no_tape("of a result of no_grad", &made, &made);
}

#[test]
fn there_is_no_tape_of_what_a_transformation_does_not_differentiate() {
    let ad = ad();
    let (x, y) = (ad.constant(square(1)), ad.constant(square(2)));
    let within = |moving: &Variable| {
        has_no_tape("of constants within a transformation", &x, &y);
        has_no_tape("after detach within a transformation", &moving.detach(), &y);
        no_grad(|| has_no_tape("within no_grad within a transformation", moving, &y));
        total(moving)
    };
    grad(within, &x).unwrap();
    jvp(|xs| Ok(vec![within(&xs[0])?]), &[&x], &[&y]).unwrap();
    grad(|x| grad(within, x).and_then(|slope| total(&slope)), &x).unwrap();
}

#[test]
fn there_is_no_tape_of_results_that_are_no_floats_nor_of_steps() {
    let (x, y) = (ad().variable(square(1)).unwrap(), ad().variable(square(2)).unwrap());
    let rows: &[Row] = &[
        (
            "compare",
            |x, y| x.compare(y, Comparison::Lt),
            |x, y| Reference.compare(x, y, Comparison::Lt),
        ),
        ("floor", |x, _| x.floor(), |x, _| Reference.floor(x)),
        ("convert", |x, _| x.convert(DType::I64), |x, _| Reference.convert(x, DType::I64)),
        (
            "argmax",
            |x, _| x.argmax([0], KeepAxes::Drop),
            |x, _| Reference.argmax(x, [0], KeepAxes::Drop),
        ),
    ];
    for (name, on_variables, on_tensors) in rows {
        let plain = count(|| on_tensors(x.value(), y.value()).unwrap());
        assert_eq!(count(|| on_variables(&x, &y).unwrap()), plain, "{name}");
    }
}
