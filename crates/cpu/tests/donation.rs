//! Operands that are given away: whose memory the result takes, and that nobody sees a difference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::backend;
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, Input, reference::Reference};
use tenferro_tensor::{
    Analytic, AsOperand, Combiner, Comparison, DType, Elementwise, Gathering, Indexing, Placement,
    Primitive, ScatterMode, Tensor, TensorAnalytic, TensorElementwise, TensorIndexing,
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
fn updates_are_placed_into_an_operand_that_is_given() {
    let indices = Tensor::from_vec_col_major([1, 3], vec![7_i64, 9_999, 7]).unwrap();
    let updates = lent(3);
    for threads in [1, 2] {
        let mut backend = backend(threads);
        for placement in [Placement::Replace, Combiner::Sum.into()] {
            let gathering = Gathering::of_elements(1, 0);
            let mode = ScatterMode::Refuse;
            let kept = lent(ELEMENTS);
            let expected =
                Reference.scatter(&kept, &indices, &updates, gathering.clone(), placement, mode);
            let row = Indexing::Scatter { gathering: gathering.into(), placement, mode };
            let x = own(&mut backend, ELEMENTS);
            let (at, buffers) = (place(&x), backend.diagnostics().buffers);
            let [places, placed] = [&indices, &updates].map(|lent| Input::from(lent.as_operand()));
            let result = donated(&mut backend, row, vec![x.into(), places, placed]);
            let after = backend.diagnostics().buffers;
            assert_eq!(place(&result), at);
            assert_eq!((after.fresh, after.reused), (buffers.fresh, buffers.reused));
            let expected = expected.unwrap();
            assert_eq!(result.as_slice::<f64>().unwrap(), expected.as_slice::<f64>().unwrap());
        }
        // Updates are read while they are placed: their memory is no result's, even where they are all of it.
        let gathering = Box::new(Gathering {
            slice_extents: [ELEMENTS].into(),
            slice_axes: [0].into(),
            start_axes: [0].into(),
            ..Gathering::default()
        });
        let row = Indexing::Scatter {
            gathering,
            placement: Placement::Replace,
            mode: ScatterMode::Refuse,
        };
        let (x, all) =
            (Tensor::zeros(DType::F64, [ELEMENTS]).unwrap(), own(&mut backend, ELEMENTS));
        let (at, first) = (place(&all), Tensor::from_vec_col_major([1], vec![0_i64]).unwrap());
        let inputs = vec![x.as_operand().into(), first.as_operand().into(), all.into()];
        let result = donated(&mut backend, row, inputs);
        assert_ne!(place(&result), at);
        assert_eq!(result.as_slice::<f64>().unwrap(), lent(ELEMENTS).as_slice::<f64>().unwrap());
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
