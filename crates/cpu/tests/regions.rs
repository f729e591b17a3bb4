//! Fused regions: bit for bit what their steps give one after the other, at any width and for any layout.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::backend;
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, Input, Meta, Region, RegionPlace, RegionResult, RegionStep, Results};
use tenferro_tensor::{
    Analytic, AsOperand, Comparison, DType, Elementwise, Error, KeepAxes, Operand, OperandMut,
    Primitive, Reduction, Shape, Tensor, TensorElementwise, dispatch,
};

/// A region under construction.
#[derive(Clone)]
struct Writing {
    inputs: Vec<Meta>,
    steps: Vec<RegionStep>,
}

impl Writing {
    fn on(inputs: &[Operand<'_>]) -> Self {
        Self { inputs: inputs.iter().map(Meta::of).collect(), steps: Vec::new() }
    }

    fn step(&mut self, row: impl Into<Primitive>, operands: &[RegionPlace]) -> RegionPlace {
        self.steps.push(RegionStep {
            primitive: row.into(),
            operands: operands.iter().copied().collect(),
        });
        RegionPlace::try_from(self.inputs.len() + self.steps.len() - 1).unwrap()
    }

    fn finish(self, results: Vec<RegionResult>) -> Region {
        let none = Shape::default();
        let shape = self.inputs.iter().fold(none, |shape, x| shape.broadcast(&x.shape).unwrap());
        Region::new(shape, self.inputs, self.steps, results).unwrap()
    }
}

fn tensor(dtype: DType, extents: &[usize], salt: usize) -> Tensor {
    let count: usize = extents.iter().product();
    let numbers = (0..count).map(|at| ((at * 7 + salt * 13) % 101) as f64 * 0.5 - 20.0).collect();
    let plain = Tensor::from_vec_col_major(extents, numbers).unwrap();
    tenferro_ops::reference::Reference.convert(&plain, dtype).unwrap()
}

fn bits(tensor: &Tensor) -> Vec<String> {
    dispatch!(tensor.dtype(), any T => {
        tensor.as_slice::<T>().unwrap().iter().map(|x| format!("{x:?}")).collect()
    })
}

fn lent<'a>(inputs: &[Operand<'a>]) -> Vec<Input<'a>> {
    inputs.iter().map(|&input| Input::from(input)).collect()
}

/// The results at widths 1 and 2, which are those of the steps.
#[track_caller]
fn assert_fused(region: &Region, inputs: &[Operand<'_>]) -> Results {
    let expected = region.run_by_steps(&mut backend(1), inputs).unwrap();
    for threads in [1, 2] {
        let results = backend(threads).run_region(region, &mut lent(inputs)).unwrap();
        for (result, expected) in results.iter().zip(&expected) {
            assert_eq!(Meta::of(result), Meta::of(expected));
            assert_eq!(bits(result), bits(expected), "{threads} threads");
        }
    }
    expected
}

const SHAPES: &[&[usize]] =
    &[&[], &[0], &[1], &[7], &[64], &[3, 0, 2], &[3, 70], &[130, 9], &[5, 4, 30], &[20_001]];

#[test]
fn chains_of_every_dtype_and_shape_equal_their_steps() {
    for &dtype in DType::ALL.iter().filter(|&&dtype| dtype != DType::Bool) {
        // The large one is shared out, which does not depend on the dtype.
        let shapes = if dtype == DType::F64 { SHAPES } else { &SHAPES[..SHAPES.len() - 1] };
        for extents in shapes {
            let (x, y) = (tensor(dtype, extents, 1), tensor(dtype, extents, 2));
            let scalar = tensor(dtype, &[], 5);
            let inputs = [x.as_operand(), y.as_operand(), scalar.as_operand()];
            let mut writing = Writing::on(&inputs);
            let product = writing.step(Elementwise::Mul, &[0, 1]);
            let sum = writing.step(Elementwise::Add, &[product, 2]);
            let mut last = sum;
            for _ in 0..5 {
                last = writing.step(Elementwise::Sub, &[last, 0]);
            }
            let equal =
                writing.step(Elementwise::Compare { relation: Comparison::Eq }, &[last, sum]);
            let chosen = writing.step(Elementwise::Select, &[equal, product, last]);
            let results = [sum, chosen, equal].map(RegionResult::Value).to_vec();
            assert_fused(&writing.finish(results), &inputs);
        }
    }
}

#[test]
fn functions_and_conversions_equal_their_steps() {
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::C64] {
        let x = tensor(dtype, &[37, 61], 3);
        let inputs = [x.as_operand()];
        let mut writing = Writing::on(&inputs);
        let tanh = writing.step(Analytic::Tanh, &[0]);
        let exp = writing.step(Analytic::Exp, &[tanh]);
        let wide = writing.step(Elementwise::Convert { dtype: DType::C64 }, &[exp]);
        let size = writing.step(Elementwise::Abs, &[wide]);
        let log = writing.step(Analytic::Log1p, &[size]);
        let results = [exp, log].map(RegionResult::Value).to_vec();
        assert_fused(&writing.finish(results), &inputs);
    }
}

#[test]
fn f18_a_chain_over_reversed_views_equals_its_steps() {
    let line = tensor(DType::F64, &[5000], 1);
    let plane = tensor(DType::F64, &[70, 90], 2);
    let back = line.view().reverse(0).unwrap();
    let forth = line.view();
    let mixed = plane.view().reverse(1).unwrap().slice(0, .., -1).unwrap();
    let turned = tensor(DType::F64, &[90, 70], 4);
    let turned = turned.view().transpose().reverse(0).unwrap();
    for inputs in
        [[back.as_operand(), forth.as_operand()], [mixed.as_operand(), turned.as_operand()]]
    {
        let mut writing = Writing::on(&inputs);
        let difference = writing.step(Elementwise::Sub, &[0, 1]);
        let product = writing.step(Elementwise::Mul, &[difference, 1]);
        let tanh = writing.step(Analytic::Tanh, &[product]);
        let axes = (0..inputs[0].shape().rank()).collect::<Vec<usize>>();
        let sum = Reduction::Sum { axes: axes.into(), keep: KeepAxes::Drop };
        let results = vec![RegionResult::Value(product), RegionResult::Reduced(tanh, sum)];
        assert_fused(&writing.finish(results), &inputs);
    }
}

#[test]
fn operands_that_stretch_equal_their_steps() {
    let x = tensor(DType::F32, &[10, 300, 3], 1);
    for extents in [&[300, 3][..], &[10, 1, 3], &[1, 300, 1], &[3], &[1, 1, 1], &[10, 300, 1], &[]]
    {
        let (row, other) = (tensor(DType::F32, extents, 2), tensor(DType::F32, &[10, 1, 1], 3));
        let inputs = [row.as_operand(), x.as_operand(), other.as_operand()];
        let mut writing = Writing::on(&inputs);
        let sum = writing.step(Elementwise::Add, &[1, 0]);
        let product = writing.step(Elementwise::Mul, &[sum, 2]);
        assert_fused(&writing.finish(vec![RegionResult::Value(product)]), &inputs);
    }
}

#[test]
fn what_is_reduced_as_it_is_computed_is_folded_in_the_order_of_the_whole() {
    // Of several blocks in long runs and in rows; of long runs, short runs and rows.
    let shapes: [&[usize]; 5] = [&[20_000], &[2, 9000], &[300, 12], &[10, 12, 20], &[9, 0]];
    for extents in shapes {
        let large = extents.iter().product::<usize>() > 10_000;
        let dtypes = [DType::F64, DType::F32, DType::I32, DType::F16, DType::C64];
        for &dtype in if large { &dtypes[..1] } else { &dtypes } {
            let (x, y) = (tensor(dtype, extents, 1), tensor(dtype, extents, 2));
            let inputs = [x.as_operand(), y.as_operand()];
            for mask in 0..1 << extents.len() {
                let axes: Vec<usize> =
                    (0..extents.len()).filter(|axis| mask >> axis & 1 == 1).collect();
                let (own, keep) = (axes.clone().into(), KeepAxes::Keep);
                let mut rows = vec![Reduction::Sum { axes: own, keep: KeepAxes::Drop }];
                if !dtype.is_complex() && !extents.contains(&0) {
                    rows.push(Reduction::Max { axes: axes.clone().into(), keep });
                    rows.push(Reduction::Argmax { axes: axes.into(), keep });
                }
                for row in rows {
                    let mut writing = Writing::on(&inputs);
                    let product = writing.step(Elementwise::Mul, &[0, 1]);
                    let sum = writing.step(Elementwise::Add, &[product, 0]);
                    let mut results = vec![RegionResult::Reduced(sum, row.clone())];
                    let both = writing.clone();
                    assert_fused(&writing.finish(results.clone()), &inputs);
                    // And where the value is wanted itself.
                    results.insert(0, RegionResult::Value(sum));
                    assert_fused(&both.finish(results), &inputs);
                }
            }
        }
    }
}

#[test]
fn sums_of_squares_equal_their_steps() {
    for dtype in [DType::F64, DType::F16, DType::I8, DType::C32] {
        let x = tensor(dtype, &[100, 200], 1);
        let view = x.view().transpose();
        for input in [x.as_operand(), view.as_operand()] {
            for axes in [vec![0], vec![1], vec![0, 1]] {
                let mut writing = Writing::on(&[input]);
                let square = writing.step(Elementwise::Mul, &[0, 0]);
                let row = Reduction::Sum { axes: axes.into(), keep: KeepAxes::Keep };
                assert_fused(&writing.finish(vec![RegionResult::Reduced(square, row)]), &[input]);
            }
        }
    }
}

#[test]
fn values_of_stretched_operands_alone_stretch_too() {
    let (row, column) = (tensor(DType::F64, &[1, 50], 1), tensor(DType::F64, &[40, 1], 2));
    let inputs = [row.as_operand(), column.as_operand()];
    let mut writing = Writing::on(&inputs);
    let square = writing.step(Elementwise::Mul, &[0, 0]);
    let product = writing.step(Elementwise::Mul, &[square, 1]);
    let sum = Reduction::Sum { axes: [0].into(), keep: KeepAxes::Drop };
    let results = vec![
        RegionResult::Value(square),
        RegionResult::Value(product),
        RegionResult::Reduced(square, sum),
    ];
    let results = assert_fused(&writing.finish(results), &inputs);
    assert_eq!(results[0].shape()[..], [40, 50]);
}

#[test]
fn a_region_of_many_operands_equals_its_steps() {
    let tensors: Vec<Tensor> = (0..90).map(|salt| tensor(DType::F64, &[50, 40], salt)).collect();
    let views: Vec<_> = tensors.iter().map(|x| x.view().reverse(0).unwrap()).collect();
    let inputs: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
    let mut writing = Writing::on(&inputs);
    let negatives: Vec<RegionPlace> =
        (0..90).map(|x| writing.step(Elementwise::Neg, &[x])).collect();
    let sum = negatives[1..]
        .iter()
        .fold(negatives[0], |sum, &x| writing.step(Elementwise::Add, &[sum, x]));
    assert_fused(&writing.finish(vec![RegionResult::Value(sum)]), &inputs);
}

#[test]
fn results_that_go_past_the_caches_equal_their_steps() {
    // An odd number of elements, 16 MiB and more of them, shared out on two threads.
    let extents = [2_097_152 + 77];
    let (x, y) = (tensor(DType::F64, &extents, 1), tensor(DType::F64, &extents, 2));
    let inputs = [x.as_operand(), y.as_operand()];
    let mut writing = Writing::on(&inputs);
    let product = writing.step(Elementwise::Mul, &[0, 1]);
    let sum = writing.step(Elementwise::Add, &[product, 0]);
    let difference = writing.step(Elementwise::Sub, &[sum, 1]);
    let total = Reduction::Sum { axes: [0].into(), keep: KeepAxes::Drop };
    let values = [sum, difference].map(RegionResult::Value);
    let bits = |results: &Results| -> Vec<Vec<u64>> {
        let bits = |x: &Tensor| x.as_slice::<f64>().unwrap().iter().map(|x| x.to_bits()).collect();
        results.iter().map(bits).collect()
    };
    for results in [values.to_vec(), [&values[..], &[RegionResult::Reduced(sum, total)]].concat()] {
        let region = writing.clone().finish(results);
        let expected = bits(&region.run_by_steps(&mut backend(1), &inputs).unwrap());
        for threads in [1, 2] {
            let results = backend(threads).run_region(&region, &mut lent(&inputs)).unwrap();
            assert!(bits(&results) == expected, "{threads} threads");
            let mut given: Vec<Input<'_>> =
                [&x, &y].map(|x| Input::Owned(x.duplicate().unwrap())).into();
            let results = backend(threads).run_region(&region, &mut given).unwrap();
            assert!(bits(&results) == expected, "{threads} threads, over the operands");
        }
    }
}

#[test]
fn the_first_step_without_a_value_is_the_error() {
    let x = tensor(DType::I32, &[3000], 1);
    let mut zeros = vec![1_i32; 3000];
    (zeros[2900], zeros[10]) = (0, 2);
    let zeros = Tensor::from_vec_col_major([3000], zeros).unwrap();
    let inputs = [x.as_operand(), zeros.as_operand()];
    let mut writing = Writing::on(&inputs);
    let quotient = writing.step(Elementwise::Div, &[0, 1]);
    // Zero where the divisor is 1: found in an earlier chunk, but by a later step.
    let one = writing.step(Elementwise::Div, &[1, 1]);
    let less = writing.step(Elementwise::Sub, &[1, one]);
    let rest = writing.step(Elementwise::Rem, &[quotient, less]);
    let row = Reduction::Sum { axes: [0].into(), keep: KeepAxes::Drop };
    let region = writing.finish(vec![RegionResult::Value(rest), RegionResult::Reduced(rest, row)]);
    let expected = region.run_by_steps(&mut backend(1), &inputs).unwrap_err();
    for threads in [1, 2] {
        let error = backend(threads).run_region(&region, &mut lent(&inputs)).unwrap_err();
        assert_eq!(error.to_string(), expected.to_string());
        let Error::NumericalFailure { op: "div", .. } = error else { panic!("{error}") };
    }
}

/// The results of a region of its own, of lent operands, within a session and into given outputs.
#[track_caller]
fn assert_fused_everywhere(region: &Region, inputs: &[Operand<'_>]) {
    let expected = assert_fused(region, inputs);
    let shared = backend(2).run_region_shared(region, inputs).unwrap().unwrap();
    let within = backend(2)
        .with_backend_session(|engine| engine.run_region(region, &mut lent(inputs)).unwrap());
    let mut outs: Vec<Tensor> = region
        .result_metas()
        .iter()
        .map(|meta| Tensor::zeros(meta.dtype, meta.shape.to_vec()).unwrap())
        .collect();
    let mut places: Vec<OperandMut<'_>> =
        outs.iter_mut().map(|out| out.as_operand_mut().unwrap()).collect();
    backend(1).run_region_into(region, &mut lent(inputs), &mut places).unwrap();
    for results in [&shared[..], &within[..], &outs[..]] {
        for (result, expected) in results.iter().zip(&expected) {
            assert_eq!(bits(result), bits(expected));
        }
    }
}

#[test]
fn regions_of_few_elements_equal_their_steps() {
    for dtype in [DType::F64, DType::F32, DType::C64, DType::I8] {
        for extents in [&[][..], &[0], &[1], &[8, 1], &[16, 32], &[511], &[512], &[513]] {
            let (x, y) = (tensor(dtype, extents, 1), tensor(dtype, extents, 2));
            let (one, stretched) = (tensor(dtype, &[1], 5), tensor(dtype, &[1, 1], 6));
            let inputs = [&x, &y, &one].map(AsOperand::as_operand);
            let backwards = match extents.len() {
                0 => x.view(),
                _ => x.view().reverse(0).unwrap(),
            };
            let odd = [backwards.as_operand(), y.as_operand(), stretched.as_operand()];
            for inputs in [inputs, odd] {
                let mut writing = Writing::on(&inputs);
                let product = writing.step(Elementwise::Mul, &[0, 1]);
                let sum = writing.step(Elementwise::Add, &[product, 2]);
                let rest = writing.step(Elementwise::Sub, &[sum, 0]);
                let results = [product, rest].map(RegionResult::Value).to_vec();
                assert_fused_everywhere(&writing.finish(results), &inputs);
            }
        }
    }
}

#[test]
fn a_region_of_few_elements_and_many_operands_equals_its_steps() {
    for count in [2, 20, 29, 30, 31, 60] {
        let tensors: Vec<Tensor> = (0..count).map(|k| tensor(DType::F64, &[16], k)).collect();
        let inputs: Vec<Operand<'_>> = tensors.iter().map(AsOperand::as_operand).collect();
        let mut writing = Writing::on(&inputs);
        let mut last = 0;
        for k in 1..count {
            last = writing.step(Elementwise::Add, &[last, RegionPlace::try_from(k).unwrap()]);
        }
        assert_fused_everywhere(&writing.finish(vec![RegionResult::Value(last)]), &inputs);
    }
}

#[test]
fn the_first_step_without_a_value_is_the_error_of_few_elements_too() {
    let (x, zeros) = (tensor(DType::I32, &[4], 1), tensor(DType::I32, &[], 0));
    let zero = backend(1).sub(&zeros, &zeros).unwrap();
    let inputs = [x.as_operand(), zero.as_operand()];
    let mut writing = Writing::on(&inputs);
    let rest = writing.step(Elementwise::Rem, &[0, 1]);
    let quotient = writing.step(Elementwise::Div, &[rest, 1]);
    let region = writing.finish(vec![RegionResult::Value(quotient)]);
    let error = backend(1).run_region(&region, &mut lent(&inputs)).unwrap_err();
    let Error::NumericalFailure { op: "rem", .. } = error else { panic!("{error}") };
    let wrong = backend(1).run_region(&region, &mut lent(&inputs[..1])).unwrap_err();
    assert!(wrong.validation().is_some());
}

#[test]
fn a_result_takes_the_memory_of_an_operand_that_is_given() {
    for threads in [1, 2] {
        let mut backend: CpuBackend = backend(threads);
        let (x, y) = (tensor(DType::F64, &[10_000], 1), tensor(DType::F64, &[10_000], 2));
        let inputs = [x.as_operand(), y.as_operand()];
        let mut writing = Writing::on(&inputs);
        let product = writing.step(Elementwise::Mul, &[0, 1]);
        // The operand is read again after the result of a step before was written.
        let sum = writing.step(Elementwise::Add, &[product, 0]);
        let region = writing.finish([product, sum].map(RegionResult::Value).to_vec());
        let expected = assert_fused(&region, &inputs);
        let given = backend.add(&x, &tensor(DType::F64, &[], 40)).unwrap();
        let given = backend.sub(&given, &tensor(DType::F64, &[], 40)).unwrap();
        let place = given.as_operand().data();
        let results = backend.run_region(&region, &mut [given.into(), inputs[1].into()]).unwrap();
        assert_eq!(results[0].as_operand().data(), place);
        for (result, expected) in results.iter().zip(&expected) {
            assert_eq!(bits(result), bits(expected));
        }
        // What is shared is left alone.
        let results =
            backend.run_region(&region, &mut [x.clone().into(), inputs[1].into()]).unwrap();
        assert_ne!(results[0].as_operand().data(), x.as_operand().data());
    }
}

#[test]
fn what_is_no_region_is_refused() {
    let meta = Meta::of(&tensor(DType::F64, &[3], 1));
    let step = |primitive: Primitive, operands: &[RegionPlace]| RegionStep {
        primitive,
        operands: operands.iter().copied().collect(),
    };
    let region = |steps: &[RegionStep], results: &[RegionResult]| {
        let refused =
            Region::new(meta.shape.clone(), vec![meta.clone()], steps.to_vec(), results.to_vec());
        refused.map(|_| ()).map_err(|error| error.to_string())
    };
    let neg = step(Elementwise::Neg.into(), &[0]);
    let value = |place| RegionResult::Value(place);
    let sum = Reduction::Sum { axes: [0].into(), keep: KeepAxes::Drop };
    assert!(region(&[], &[]).unwrap_err().contains("has steps"));
    let reduced = step(sum.clone().into(), &[0]);
    assert!(region(&[reduced], &[]).unwrap_err().contains("are elementwise"));
    let later = step(Elementwise::Neg.into(), &[1]);
    assert!(region(&[later], &[]).unwrap_err().contains("values before it"));
    assert!(region(std::slice::from_ref(&neg), &[value(0)]).unwrap_err().contains("of its steps"));
    assert!(
        region(std::slice::from_ref(&neg), &[value(1), value(1)]).unwrap_err().contains("once")
    );
    let twice = [RegionResult::Reduced(1, sum.clone()), RegionResult::Reduced(1, sum)];
    assert!(region(std::slice::from_ref(&neg), &twice).unwrap_err().contains("reduces one"));
    let beyond =
        Region::new(Shape::default(), vec![meta.clone()], vec![neg.clone()], vec![value(1)]);
    assert!(beyond.unwrap_err().to_string().contains("not beyond"));
    let x = tensor(DType::F64, &[4], 1);
    let good = Region::new(
        meta.shape.clone(),
        vec![meta.clone()],
        vec![step(Elementwise::Neg.into(), &[0])],
        vec![value(1)],
    );
    let good = good.unwrap();
    assert!(backend(1).run_region(&good, &mut [x.as_operand().into()]).is_err());
    assert!(backend(1).run_region(&good, &mut []).is_err());
}

#[test]
fn a_session_runs_regions_as_the_backend_does() {
    let x = tensor(DType::F64, &[300], 1);
    let mut writing = Writing::on(&[x.as_operand()]);
    let tanh = writing.step(Analytic::Tanh, &[0]);
    let region = writing.finish(vec![RegionResult::Value(tanh)]);
    let expected = assert_fused(&region, &[x.as_operand()]);
    let results = backend(2).with_backend_session(|engine| {
        engine.run_region(&region, &mut [x.as_operand().into()]).unwrap()
    });
    assert_eq!(bits(&results[0]), bits(&expected[0]));
    let reference = region.plan(|_| "another engine's plan");
    assert_eq!(*reference, "another engine's plan");
}
