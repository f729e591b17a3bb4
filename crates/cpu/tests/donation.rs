//! Operands that are given away: whose memory the result takes, and that nobody sees a difference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::backend;
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, Input};
use tenferro_tensor::{
    Analytic, AsOperand, Comparison, Elementwise, Primitive, Tensor, TensorAnalytic,
    TensorElementwise,
};

const ELEMENTS: usize = 10_000;

fn lent(elements: usize) -> Tensor {
    let numbers = (0..elements).map(|at| (at as f64).mul_add(1e-3, 0.5)).collect();
    Tensor::from_vec_col_major(vec![elements], numbers).unwrap()
}

/// A tensor in the backend's own memory.
fn own(backend: &mut CpuBackend, elements: usize) -> Tensor {
    let negative = backend.neg(&lent(elements)).unwrap();
    backend.neg(&negative).unwrap()
}

fn place(tensor: &Tensor) -> usize {
    tensor.as_operand().data().addr().get()
}

fn donated(backend: &mut CpuBackend, row: impl Into<Primitive>, inputs: Vec<Input<'_>>) -> Tensor {
    backend.donate(&row.into(), inputs.into()).unwrap()
}

#[test]
fn a_result_takes_the_memory_of_an_operand_that_is_given() {
    for threads in [1, 2] {
        let mut backend = backend(threads);
        let kept = lent(ELEMENTS);
        let sum = backend.add(&kept, &kept).unwrap();
        let root = backend.sqrt(&kept).unwrap();
        for given in [0, 1] {
            let x = own(&mut backend, ELEMENTS);
            let before = (place(&x), backend.diagnostics().buffers);
            let mut inputs = vec![Input::from(x), Input::from(kept.as_operand())];
            inputs.rotate_left(given);
            let result = donated(&mut backend, Elementwise::Add, inputs);
            let buffers = backend.diagnostics().buffers;
            assert_eq!(place(&result), before.0);
            assert_eq!((buffers.fresh, buffers.reused), (before.1.fresh, before.1.reused));
            assert_eq!(result.as_slice::<f64>().unwrap(), sum.as_slice::<f64>().unwrap());
        }
        let x = own(&mut backend, ELEMENTS);
        let at = place(&x);
        let result = donated(&mut backend, Analytic::Sqrt, vec![x.into()]);
        assert_eq!(
            (place(&result), result.as_slice::<f64>().unwrap()),
            (at, root.as_slice().unwrap())
        );
    }
}

#[test]
fn what_is_shared_or_lent_or_of_another_kind_is_left_alone() {
    let mut backend = backend(1);
    let x = own(&mut backend, ELEMENTS);
    let (shared, before) = (x.clone(), x.duplicate().unwrap());
    let result = donated(&mut backend, Elementwise::Neg, vec![x.into()]);
    assert_ne!(place(&result), place(&shared));
    assert_eq!(shared.as_slice::<f64>().unwrap(), before.as_slice::<f64>().unwrap());
    let vector = lent(ELEMENTS);
    let at = place(&vector);
    assert_ne!(place(&donated(&mut backend, Elementwise::Neg, vec![vector.into()])), at);
    // The truth values are not as large as the numbers, and the sum is not as large as the row.
    let (x, y) = (own(&mut backend, ELEMENTS), own(&mut backend, 1));
    let row = Elementwise::Compare { relation: Comparison::Eq };
    let result = donated(&mut backend, row, vec![x.into(), y.into()]);
    assert_eq!(result.elements(), ELEMENTS);
    let refused =
        backend.donate(&Elementwise::Add.into(), vec![lent(2).into(), lent(3).into()].into());
    assert!(refused.is_err());
}

#[test]
fn x35_a_session_reuses_what_it_is_given_too() {
    let mut own_backend = backend(1);
    let x = own(&mut own_backend, ELEMENTS);
    let at = place(&x);
    let result = own_backend.with_backend_session(|engine| {
        engine.donate(&Elementwise::Neg.into(), vec![x.into()].into()).unwrap()
    });
    assert_eq!(place(&result), at);
    assert_eq!(result.as_slice::<f64>().unwrap()[0], -0.5);
}
