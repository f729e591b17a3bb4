//! Every row of the vocabulary on the optimised engine against the reference: any dtype, layout, destination and width.
//!
//! Elementwise, structural and indexing rows, extremes, and all integers are bit-equal to the reference. Sums, products
//! and contractions of floats run in another order: each result is within 4 (n + 4) eps of the reference's, relative to
//! the same operation on magnitudes, where n terms are combined, plus the least normal number; where some order of a
//! product would leave the range of the dtype on the way, the reference says nothing. Transcendental functions
//! of real floats are within 4 units in the last place of the reference's, which calls the C library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
mod product;
#[path = "../samples/mod.rs"]
mod samples;

use agreement::{agree, bounds, gathers, same_error};
use proptest::prelude::*;
use samples::{
    Draw, Layout, Place, Stored, backend,
    calls::{self, Call, Dice, ROWS, Row, Wanted},
    close, complex, epsilon, poison, same,
};
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, Meta, Scale, infer, reference::Reference};
use tenferro_tensor::{
    AsOperand, BatchPosition, Combiner, Complex64, Conjugation, Contraction, DType, Dot,
    Elementwise, Factor, KeepAxes, Operand, Primitive, Reduction, Result, Scan, Sweep, Tensor,
    TensorElementwise, Vocabulary, dispatch,
};

/// About how many elements of a product differ from one in magnitude: no order of so many leaves the range of a dtype.
const FACTORS: usize = 48;

/// Which elements a row is given.
fn draw(primitive: &Primitive, elements: usize) -> Draw {
    match gathers(primitive) {
        Some(Combiner::Sum) => Draw::TameOrNan,
        Some(Combiner::Prod) => Draw::Factors { one_in: elements.div_ceil(FACTORS).max(1) },
        _ => Draw::Any,
    }
}

/// An operand of a call at a place.
fn operand(call: &Call, wanted: &Wanted, dtype: DType, place: Place, dice: &mut Dice) -> Stored {
    match wanted.below {
        Some(below) => Stored::indices(dice, dtype, below, place),
        None => {
            let draw = draw(&call.primitive, place.elements());
            Stored::drawn(dice, dtype, draw, place)
        }
    }
}

/// The operands of a call, in layouts of their own. Now and then one has a wrong dtype.
fn operands(call: &Call, dtype: DType, dice: &mut Dice) -> Vec<Stored> {
    let stored = |wanted: &Wanted| {
        let dtype = match wanted.dtype {
            Some(dtype) => dtype,
            None if dice.one_in(40) => dice.pick(DType::ALL),
            None => dtype,
        };
        let place = Place::to_read(dice, &wanted.extents);
        operand(call, wanted, dtype, place, dice)
    };
    call.operands.iter().map(stored).collect()
}

/// The operands of a call, all laid out in one way.
fn operands_in(call: &Call, dtype: DType, layout: Layout, dice: &mut Dice) -> Vec<Stored> {
    let stored = |wanted: &Wanted| {
        let place = layout.place(dice, &wanted.extents);
        operand(call, wanted, wanted.dtype.unwrap_or(dtype), place, dice)
    };
    call.operands.iter().map(stored).collect()
}

/// Runs a call into a destination of some layout and gives what was written. Nothing outside of it may change, and
/// nothing at all if the call fails.
fn into_destination(
    engine: &mut CpuBackend,
    primitive: &Primitive,
    inputs: &[Operand<'_>],
    meta: &Meta,
    dice: &mut Dice,
) -> Result<Tensor> {
    let mut out = Stored::poisoned(meta.dtype, Place::to_write(dice, &meta.shape));
    let before = out.snapshot();
    let result = engine.apply_into(primitive, inputs, out.view_mut().as_operand_mut());
    let what = || format!("{primitive:?} into {:?}", out.place);
    match result {
        Ok(()) => {
            assert!(out.is_untouched_outside(&before), "{}", what());
            out.view().to_tensor()
        }
        Err(error) => {
            assert!(out.is_untouched(&before), "{}", what());
            Err(error)
        }
    }
}

/// Compares a result with that of the width before, to the bit.
fn same_at_every_width(
    primitive: &Primitive,
    before: &mut Option<Tensor>,
    result: Result<Tensor>,
) -> std::result::Result<(), String> {
    let Ok(result) = result else { return Ok(()) };
    if before.as_ref().is_some_and(|before| !same(before, &result)) {
        return Err(format!("{primitive:?} depends on the number of threads"));
    }
    *before = Some(result);
    Ok(())
}

/// Draws a call and compares its results, see [`compare`].
fn check(
    backends: &[CpuBackend],
    row: Row,
    dtype: DType,
    extents: &[usize],
    seed: u64,
) -> std::result::Result<(), String> {
    let mut dice = Dice(seed);
    let call = calls::call(row, extents, &mut dice);
    let stored = operands(&call, dtype, &mut dice);
    // The diagonal of a long axis is a square that is too large for a test.
    if meta(&call.primitive, &stored).is_ok_and(|meta| meta.shape.elements() > 1 << 20) {
        return Ok(());
    }
    compare(backends, &call.primitive, &stored, seed)
}

/// What the rule says about the result of a call.
fn meta(primitive: &Primitive, stored: &[Stored]) -> Result<Meta> {
    let views: Vec<_> = stored.iter().map(Stored::view).collect();
    let metas: Vec<Meta> = views.iter().map(|view| Meta::of(&view.as_operand())).collect();
    infer(primitive, &metas)
}

/// Every width against the reference and the others, with a fresh output and into a destination.
fn compare(
    backends: &[CpuBackend],
    primitive: &Primitive,
    stored: &[Stored],
    seed: u64,
) -> std::result::Result<(), String> {
    let views: Vec<_> = stored.iter().map(Stored::view).collect();
    let inputs: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
    let meta = meta(primitive, stored);
    let expected = Reference.apply(primitive, &inputs);
    let (mut fresh, mut given) = (None, None);
    for backend in backends {
        let mut backend = backend.clone();
        let result = backend.apply(primitive, &inputs);
        agree(primitive, &inputs, &result, &expected)?;
        same_at_every_width(primitive, &mut fresh, result)?;
        if let Ok(meta) = &meta {
            let written = into_destination(&mut backend, primitive, &inputs, meta, &mut Dice(seed));
            agree(primitive, &inputs, &written, &expected)?;
            same_at_every_width(primitive, &mut given, written)?;
        }
        let in_session = backend.with_backend_session(|engine| engine.apply(primitive, &inputs));
        agree(primitive, &inputs, &in_session, &expected)?;
    }
    Ok(())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn backends() -> Vec<CpuBackend> {
    [1, 2, 4].map(backend).into()
}

#[test]
fn x53_every_row_agrees_with_the_reference_in_every_layout() {
    let backends = backends();
    let cases = (
        proptest::sample::select(ROWS),
        proptest::sample::select(DType::ALL),
        prop::collection::vec(0..5_usize, 0..5),
        any::<u64>(),
    );
    let config = config(12_000);
    proptest!(config, |((row, dtype, extents, seed) in cases)| {
        check(&backends, row, dtype, &extents, seed).map_err(TestCaseError::fail)?;
    });
}

#[test]
fn x50_every_row_agrees_with_the_reference_where_threads_share_it() {
    let backends = backends();
    let extents = [
        vec![70_001],
        vec![263, 270],
        vec![2, 35_000],
        vec![35_000, 2],
        vec![41, 40, 43],
        vec![3, 9, 52, 50],
    ];
    let dtypes = [DType::F64, DType::C32, DType::C64, DType::F32, DType::I64, DType::I32];
    // Products of these take the reference long; they are compared below.
    let rows: Vec<Row> = ROWS.iter().copied().filter(|row| !matches!(row, Row::Dot(_))).collect();
    let cases = (
        proptest::sample::select(rows),
        proptest::sample::select(dtypes.to_vec()),
        proptest::sample::select(extents.to_vec()),
        any::<u64>(),
    );
    let config = ProptestConfig { max_shrink_iters: 20, ..config(24) };
    proptest!(config, |((row, dtype, extents, seed) in cases)| {
        check(&backends, row, dtype, &extents, seed).map_err(|text| TestCaseError::fail(text.chars().take(400).collect::<String>()))?;
    });
    assert_eq!(backends[0].domain().fan_outs(), 0);
    assert!(backends[1].domain().fan_outs() > 0 && backends[2].domain().fan_outs() > 0);
}

/// Products and running products of factors along one axis.
fn products() -> [Primitive; 3] {
    [
        Reduction::Prod { axes: [0].into(), keep: KeepAxes::Drop }.into(),
        Reduction::Reduce { axes: [0].into(), combiner: Combiner::Prod, keep: KeepAxes::Drop }
            .into(),
        Scan::Cumprod { axis: 0, sweep: Sweep::default() }.into(),
    ]
}

#[test]
fn x50_products_that_leave_the_range_on_the_way_agree_where_their_order_does_not_count() {
    let backends = backends();
    let count = 71_010;
    // Large and small factors whose whole product is one: in halves, alternating, and the small ones first.
    let orders: [fn(usize) -> bool; 3] =
        [|at| at < 35_505, |at| at.is_multiple_of(2), |at| at >= 35_505];
    for dtype in [DType::F32, DType::F64, DType::C32, DType::C64] {
        for is_large in orders {
            let factors = (0..count).map(|at| if is_large(at) { 1.25 } else { 0.8 });
            let wide = Tensor::from_vec_col_major([count], factors.collect::<Vec<f64>>()).unwrap();
            let x = Reference.convert(&wide, dtype).unwrap();
            for primitive in products() {
                let inputs = [x.as_operand()];
                let expected = Reference.apply(&primitive, &inputs);
                let mut before = None;
                for backend in &backends {
                    let result = backend.clone().apply(&primitive, &inputs);
                    agree(&primitive, &inputs, &result, &expected).unwrap();
                    same_at_every_width(&primitive, &mut before, result).unwrap();
                }
            }
        }
    }
}

#[test]
fn every_factor_of_a_product_counts_in_the_comparison() {
    let mut dice = Dice(11);
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C32, DType::C64] {
        let extents = [if dtype.size() == 2 { 40_usize } else { 71_010 }];
        let draw = Draw::Factors { one_in: extents[0].div_ceil(FACTORS) };
        let stored = Stored::drawn(&mut dice, dtype, draw, Place::dense(&extents));
        let view = stored.view();
        for primitive in products() {
            let inputs = [view.as_operand()];
            let expected = Reference.apply(&primitive, &inputs).unwrap();
            let bounds = bounds(&primitive, &inputs, &expected).unwrap();
            assert!(bounds.iter().all(|bound| bound.is_finite()), "{dtype}");
            // A sign that is lost is more than any order of the factors may change.
            let other = Reference.neg(&expected).unwrap();
            assert!(!close(&other, &expected, &bounds), "{dtype} {primitive:?}");
        }
    }
}

/// A factor that the dtype can hold.
fn factor(dtype: DType, dice: &mut Dice) -> Factor {
    let number = dice.pick(&[0, 0, 1, 1, 2, 3]);
    if dtype.is_complex() && dice.one_in(3) {
        Factor::from(Complex64::new(f64::from(number), -0.5))
    } else if dtype.is_inexact() && dice.one_in(3) {
        Factor::from(-1.5 * f64::from(number))
    } else {
        Factor::from(number)
    }
}

/// `out = alpha * product + beta * out` by the engine and by the reference. Operands that must not be read are NaN.
fn scaled_product(
    engine: &mut CpuBackend,
    dtype: DType,
    extents: &[usize],
    seed: u64,
) -> std::result::Result<(), String> {
    let mut dice = Dice(seed);
    let Call { primitive, operands } = calls::contraction(extents, &mut dice);
    let Primitive::Dot(Dot::DotGeneral { contraction }) = &primitive else { unreachable!() };
    let scale = Scale { alpha: factor(dtype, &mut dice), beta: factor(dtype, &mut dice) };
    let inputs: Vec<Stored> = operands
        .iter()
        .map(|wanted| {
            let place = Place::to_read(&mut dice, &wanted.extents);
            if scale.alpha.is_zero() {
                Stored::poisoned(dtype, place)
            } else {
                Stored::drawn(&mut dice, dtype, Draw::Tame, place)
            }
        })
        .collect();
    let views: Vec<_> = inputs.iter().map(Stored::view).collect();
    let [lhs, rhs] = [views[0].as_operand(), views[1].as_operand()];
    let Ok(meta) = infer(&primitive, &[Meta::of(&lhs), Meta::of(&rhs)]) else { return Ok(()) };
    // Without a summed axis products outgrow a test.
    if meta.shape.elements() > 15_000 {
        return Ok(());
    }
    let place = Place::to_write(&mut dice, &meta.shape);
    let mut out = if scale.beta.is_zero() {
        Stored::poisoned(dtype, place)
    } else {
        Stored::drawn(&mut dice, dtype, Draw::Tame, place)
    };
    let (before, old) = (out.snapshot(), out.view().to_tensor().unwrap());
    let mut expected = old.duplicate().unwrap();
    let reference = expected.as_operand_mut().unwrap();
    Reference.contract_into(contraction, &lhs, &rhs, scale, reference).unwrap();
    engine
        .contract_into(contraction, &lhs, &rhs, scale, out.view_mut().as_operand_mut())
        .map_err(|error| error.to_string())?;
    let written = out.view().to_tensor().unwrap();
    let shapes = [lhs.shape(), rhs.shape()];
    let told = format!("{contraction:?} {scale:?} of {shapes:?}: {written:?}, not {expected:?}");
    if !out.is_untouched_outside(&before) {
        return Err(format!("wrote outside of {:?}; {told}", out.place));
    }
    let agreed = if dtype.is_inexact() {
        let mut bound = vec![0.0; expected.elements()];
        if !scale.alpha.is_zero() {
            let product = bounds(&primitive, &[lhs, rhs], &expected).unwrap();
            let alpha = scale.alpha.as_complex().norm();
            bound.iter_mut().zip(product).for_each(|(bound, product)| *bound += alpha * product);
        }
        if !scale.beta.is_zero() {
            let beta = 4.0 * epsilon(dtype) * scale.beta.as_complex().norm();
            bound
                .iter_mut()
                .zip(complex(&old))
                .for_each(|(bound, old)| *bound += beta * old.norm());
        }
        close(&written, &expected, &bound)
    } else {
        same(&written, &expected)
    };
    if agreed { Ok(()) } else { Err(told) }
}

#[test]
fn p6_a_scaled_product_agrees_with_the_reference_and_factors_of_zero_read_nothing() {
    let backends = backends();
    let numbers: Vec<DType> =
        DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Bool).collect();
    let cases = (
        proptest::sample::select(numbers),
        prop::collection::vec(0..6_usize, 0..5),
        any::<u64>(),
        0..3_usize,
    );
    let config = config(12_000);
    proptest!(config, |((dtype, extents, seed, at) in cases)| {
        scaled_product(&mut backends[at].clone(), dtype, &extents, seed)
            .map_err(TestCaseError::fail)?;
    });
}

#[test]
fn p6_scaled_products_of_middling_size_agree_with_the_reference() {
    let backends = backends();
    let dtypes = [DType::F64, DType::F32, DType::C64, DType::C32, DType::BF16, DType::I16];
    let cases = (
        proptest::sample::select(dtypes.to_vec()),
        prop::collection::vec(7..28_usize, 2..4),
        any::<u64>(),
        0..3_usize,
    );
    let config = ProptestConfig { max_shrink_iters: 20, ..config(30) };
    proptest!(config, |((dtype, extents, seed, at) in cases)| {
        let agreed = scaled_product(&mut backends[at].clone(), dtype, &extents, seed);
        agreed.map_err(|text| TestCaseError::fail(text.chars().take(400).collect::<String>()))?;
    });
}

#[test]
fn p6_large_batches_agree_with_the_reference_and_at_every_width() {
    let backends = backends();
    let mut dice = Dice(3);
    for (batch, conjugation) in [
        (BatchPosition::Leading, Conjugation::Plain),
        (BatchPosition::Trailing, Conjugation::Conjugated),
    ] {
        let contraction = Contraction {
            lhs_contracting: [2].into(),
            rhs_contracting: [0].into(),
            lhs_batch: [0].into(),
            rhs_batch: [2].into(),
            batch,
            lhs: conjugation,
            ..Contraction::default()
        };
        let primitive = Primitive::from(Dot::DotGeneral { contraction: contraction.clone() });
        for (dtype, beta) in [(DType::F64, 0), (DType::C32, 2)] {
            let mut draw = |extents: &[usize]| {
                let place = Place::scattered(&mut dice, extents);
                Stored::drawn(&mut dice, dtype, Draw::Tame, place)
            };
            // 19 products of (61, 50) by (50, 75): 4.3 million steps.
            let (lhs, rhs) = (draw(&[19, 61, 50]), draw(&[50, 75, 19]));
            let extents = match batch {
                BatchPosition::Leading => [19, 61, 75],
                BatchPosition::Trailing => [61, 75, 19],
            };
            let old = draw(&extents);
            let (lhs, rhs) = (lhs.view(), rhs.view());
            let inputs = [lhs.as_operand(), rhs.as_operand()];
            let scale = Scale { alpha: Factor::from(-1.5), beta: Factor::from(beta) };
            let mut expected = old.view().to_tensor().unwrap();
            let reference = expected.as_operand_mut().unwrap();
            Reference
                .contract_into(&contraction, &inputs[0], &inputs[1], scale, reference)
                .unwrap();
            let mut bound = bounds(&primitive, &inputs, &expected).unwrap();
            bound.iter_mut().for_each(|bound| *bound *= 4.0);
            let mut before: Option<Tensor> = None;
            for backend in &backends {
                let mut out = Stored::poisoned(dtype, old.place.clone());
                if beta != 0 {
                    out.copy_from(&old);
                }
                let mut view = out.view_mut();
                let destination = view.as_operand_mut();
                let mut backend = backend.clone();
                backend
                    .contract_into(&contraction, &inputs[0], &inputs[1], scale, destination)
                    .unwrap();
                let written = out.view().to_tensor().unwrap();
                assert!(close(&written, &expected, &bound), "{dtype} {batch:?}");
                assert!(before.as_ref().is_none_or(|before| same(before, &written)));
                before = Some(written);
            }
        }
    }
    assert!(backends[1].domain().fan_outs() > 0 && backends[2].domain().fan_outs() > 0);
}

#[test]
fn a_destination_that_does_not_fit_is_refused_as_by_the_reference_and_left_alone() {
    let mut backend = backend(2);
    let (x, y) = (Tensor::ones(DType::F64, [3]).unwrap(), Tensor::ones(DType::I64, [3]).unwrap());
    let add = Primitive::from(Elementwise::Add);
    for (operand, dtype, extents) in
        [(&x, DType::F64, [4]), (&x, DType::F32, [3]), (&y, DType::U64, [3]), (&y, DType::I64, [0])]
    {
        let inputs = [operand.as_operand(), operand.as_operand()];
        let mut out = Stored::poisoned(dtype, Place::scattered(&mut Dice(1), &extents));
        let before = out.snapshot();
        let theirs = Reference.apply_into(&add, &inputs, out.view_mut().as_operand_mut());
        let ours = backend.apply_into(&add, &inputs, out.view_mut().as_operand_mut());
        assert!(same_error(&ours.unwrap_err(), &theirs.unwrap_err()));
        assert!(out.is_untouched(&before));
    }
    let (contraction, half) = (Contraction::over([0], [0]), Factor::from(0.5));
    for (operand, alpha, beta, dtype) in [
        (&y, half, Factor::ZERO, DType::I64),
        (&y, Factor::ZERO, half, DType::I64),
        (&y, Factor::from(Complex64::I), Factor::ZERO, DType::I64),
        (&x, Factor::from(Complex64::I), Factor::ZERO, DType::F64),
        (&x, Factor::ONE, Factor::ONE, DType::F32),
    ] {
        let (lhs, scale) = (operand.as_operand(), Scale { alpha, beta });
        let mut out = Stored::poisoned(dtype, Place::dense(&[]));
        let before = out.snapshot();
        let theirs = Reference.contract_into(
            &contraction,
            &lhs,
            &lhs,
            scale,
            out.view_mut().as_operand_mut(),
        );
        let ours =
            backend.contract_into(&contraction, &lhs, &lhs, scale, out.view_mut().as_operand_mut());
        assert!(same_error(&ours.unwrap_err(), &theirs.unwrap_err()));
        assert!(out.is_untouched(&before));
    }
}

#[test]
fn the_poison_of_floats_is_nan() {
    for &dtype in DType::ALL {
        let shown = dispatch!(dtype, any T => format!("{:?}", poison::<T>()));
        assert_eq!(shown.contains("NaN"), dtype.is_inexact(), "{dtype}");
    }
}
