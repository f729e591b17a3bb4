//! Results of the backend: the same at every width, and the right ones for the cases on which libraries went wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Widths, backend, rough, same};
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, Scale, TensorComposite, reference::Reference};
use tenferro_tensor::{
    AsOperand, Comparison, Complex64, Contraction, DType, Error, Factor, KeepAxes, Numerical,
    Result, Scalar, Tensor, TensorAnalytic, TensorDot, TensorElementwise, TensorIndexing,
    TensorReduction, TensorStructural, TensorView, TensorViewMut, Validation, bf16, f16,
};

const DROP: KeepAxes = KeepAxes::Drop;

#[test]
fn x50_elementwise_results_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    let (x, y) = (rough(DType::F64, &[520, 523], 1), rough(DType::F64, &[523, 520], 2));
    let (column, whole) = (rough(DType::F64, &[520, 1], 3), rough(DType::I64, &[520, 523], 4));
    let truth = Tensor::full([520, 523], true).unwrap();
    widths.agree("add", |b| b.add(&x.view(), &y.view().transpose()));
    widths.agree("div", |b| b.div(&x, &column));
    widths.agree("compare", |b| b.compare(&x, &y.view().transpose(), Comparison::Lt));
    widths.agree("select", |b| b.select(&truth, &x, &x));
    widths.agree("convert", |b| b.convert(&x, DType::I32));
    widths.agree("integers", |b| b.mul(&whole, &whole));
    widths.agree("exp", |b| b.exp(&x));
    widths.agree("pow", |b| b.pow(&x, &column));
    widths.agree("transpose", |b| b.transpose(&x, [1, 0]));
    widths.agree("pad", |b| b.pad(&x, &Tensor::scalar(2.0_f64)?, [(1, 2, 1), (0, -3, 0)]));
    widths.agree("concatenate", |b| b.concatenate(&[x.clone(), x.clone()], 1_usize));
}

#[test]
fn x50_a_broadcast_that_makes_much_of_little_is_shared_out() {
    let (column, row) = (rough(DType::F64, &[1024, 1], 1), rough(DType::F64, &[1, 1024], 2));
    Widths::new().agree("outer sum", |backend| backend.add(&column, &row));
}

#[test]
fn x50_reductions_over_all_subsets_of_axes_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    let shapes = [&[70_000][..], &[3, 30_000], &[30_000, 3], &[41, 43, 44]];
    let (mut runs, mut shared_out) = (0, 0);
    for (seed, extents) in shapes.iter().enumerate() {
        let dtypes: &[DType] =
            if extents.len() == 1 { &[DType::F64, DType::C64] } else { &[DType::F64] };
        for &dtype in dtypes {
            let x = rough(dtype, extents, seed as u64);
            for subset in 0..1 << extents.len() {
                let axes: Vec<usize> =
                    (0..extents.len()).filter(|axis| subset >> axis & 1 == 1).collect();
                let what = format!("{dtype} {extents:?} over {axes:?}");
                let sum = widths.are_equal(&what, |b| b.sum(&x, axes.clone(), DROP));
                widths.are_equal(&what, |b| b.prod(&x, axes.clone(), KeepAxes::Keep));
                if dtype == DType::F64 {
                    widths.are_equal(&what, |b| b.max(&x.view().transpose(), axes.clone(), DROP));
                }
                (runs, shared_out) = (runs + 1, shared_out + usize::from(sum));
            }
        }
    }
    // Too few results of too few elements each are not worth sharing; most of these are.
    assert!(shared_out * 3 >= runs * 2, "{shared_out} of {runs}");
    let many = rough(DType::F32, &[300_000], 9);
    widths.agree("f32", |b| b.sum(&many, [0], DROP));
    let halves = rough(DType::F16, &[300_000], 10);
    widths.agree("f16", |b| b.sum(&halves, [0], DROP));
    // Rows of shared elements: whether they are taken to follow each other may not depend on how they are cut.
    let shared = rough(DType::F64, &[6 * 16_000], 11);
    let shared = shared.as_slice::<f64>().unwrap();
    let rows = TensorView::from_slice(shared, &[300, 400, 6], &[1, 38, 16_000], 0).unwrap();
    widths.agree("rows of shared elements", |b| b.sum(&rows, [1], DROP));
}

#[test]
fn x50_products_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    for dtype in [DType::F64, DType::F32, DType::C64, DType::I64, DType::BF16] {
        let (x, y) = (rough(dtype, &[170, 160], 1), rough(dtype, &[160, 165], 2));
        widths.agree(dtype.name(), |b| b.matmul(&x, &y));
    }
    let (x, y) = (rough(DType::F64, &[40, 52, 50], 3), rough(DType::F64, &[40, 50, 51], 4));
    widths.agree("batch", |b| b.matmul(&x, &y));
}

/// A view whose elements are all one, of any size.
fn vast<'a>(one: &'a [f64; 1], extents: &[usize]) -> TensorView<'a> {
    TensorView::from_slice(one, extents, &vec![0; extents.len()], 0).unwrap()
}

fn overflows(result: Result<Tensor>) {
    let error = result.unwrap_err();
    assert!(matches!(error.validation(), Some(Validation::SizeOverflow { .. })), "{error}");
}

#[test]
fn p13_f7_operations_whose_shape_overflows_are_refused_even_when_an_extent_is_zero() {
    let b = &mut backend(2);
    let (one, far) = ([1.0], 1_usize << 40);
    let scalar = Tensor::scalar(0.0_f64).unwrap();
    for rest in [&[][..], &[0]] {
        let shaped = |extents: &[usize]| vast(&one, &[extents, rest].concat());
        let (column, row) = (shaped(&[far, 1]), shaped(&[1, far]));
        overflows(b.add(&column, &row));
        overflows(b.compare(&column, &row, Comparison::Eq));
        overflows(b.maximum(&column, &row));
        overflows(b.pow(&column, &row));
        overflows(b.embed_diagonal(&column, 0_usize, 0_usize));
        overflows(b.dot_general(&column, &row, Contraction::default()));
        overflows(b.broadcast_in_dim(&scalar, [&[far, far], rest].concat(), []));
        let most = shaped(&[1 << 62]);
        overflows(b.concatenate(&[most.clone(), most.clone()], 0_usize));
        let edges = |low, interior| {
            let mut edges = vec![(0, 0, 0); rest.len() + 1];
            edges[0] = (low, 0, interior);
            tenferro_tensor::Padding::from(&edges[..])
        };
        let two = shaped(&[2]);
        overflows(b.pad(&two, &scalar, edges(0, usize::MAX)));
        overflows(b.pad(&two, &scalar, edges(isize::MAX, 0)));
    }
    overflows(b.reshape(&Tensor::zeros(DType::F64, [0]).unwrap(), [far, far, 0]));
    let truth = TensorView::from_slice(&[true], &[far, 1], &[0, 0], 0).unwrap();
    overflows(b.select(&truth, &vast(&one, &[1, far]), &scalar.view()));
    let (lhs, rhs) = (vast(&one, &[far, 0]), vast(&one, &[0, far]));
    overflows(b.matmul(&lhs, &rhs));
    overflows(b.broadcast_in_dim(&scalar, [2; 64], []));
}

#[test]
fn f7_a_result_without_memory_for_it_is_a_typed_error() {
    let b = &mut backend(2);
    let one = [1.0];
    for extents in [&[1 << 50][..], &[1 << 62]] {
        let vast = vast(&one, extents);
        let results = [
            b.neg(&vast),
            b.add(&vast, &vast),
            b.exp(&vast),
            b.transpose(&vast, [0]),
            b.sum(&vast, [], DROP),
        ];
        for result in results {
            assert!(matches!(result.unwrap_err(), Error::OutOfMemory { .. }));
        }
    }
}

#[test]
fn f1_f2_f3_f4_empty_shapes() {
    let b = &mut backend(2);
    let empty = |extents: &[usize]| Tensor::zeros(DType::F64, extents).unwrap();
    assert_eq!(b.add(&empty(&[2, 0]), &empty(&[2, 1])).unwrap().shape()[..], [2, 0]);
    assert!(b.add(&empty(&[5]), &empty(&[0])).is_err());
    for place in 0..3 {
        let mut extents = [4, 5, 6];
        extents[place] = 0;
        let x = empty(&extents);
        assert_eq!(b.exp(&x).unwrap().shape()[..], extents);
        assert_eq!(b.transpose(&x, [2, 0, 1]).unwrap().elements(), 0);
        assert_eq!(floats(&b.sum(&x, [0, 1, 2], DROP).unwrap()), [0.0]);
    }
    let x = empty(&[0, 3]);
    assert_eq!(b.min(&x, [1], DROP).unwrap().shape()[..], [0]);
    assert!(b.min(&x, [0], DROP).is_err() && b.max(&x, [0], DROP).is_err());
    assert_eq!(floats(&b.sum(&x, [0], DROP).unwrap()), [0.0; 3]);
    assert_eq!(floats(&b.prod(&x, [0], DROP).unwrap()), [1.0; 3]);
    assert!(floats(&b.mean(&x, [0], DROP).unwrap()).iter().all(|x| x.is_nan()));
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec_row_major().unwrap()
}

fn row<T: Scalar>(elements: &[T]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

fn matrix(extents: [usize; 2], elements: &[f64]) -> Tensor {
    Tensor::from_vec_row_major(extents, elements.to_vec()).unwrap()
}

/// Leaves blocks full of NaN in the backend's pool, of every size up to some.
fn fill_pool_with_nan(b: &mut CpuBackend) {
    let nan = Tensor::scalar(f64::NAN).unwrap();
    let kept: Vec<Tensor> =
        (1..40).map(|length| b.broadcast_in_dim(&nan, [length], []).unwrap()).collect();
    drop(kept);
}

#[test]
fn f5_a_contraction_over_nothing_is_zeros_in_memory_full_of_nan() {
    let b = &mut backend(1);
    fill_pool_with_nan(b);
    let reused = b.diagnostics().buffers.reused;
    let (x, y) = (
        Tensor::zeros(DType::F64, [3, 2, 0]).unwrap(),
        Tensor::zeros(DType::F64, [3, 0, 3]).unwrap(),
    );
    let product = b.matmul(&x, &y).unwrap();
    assert!(b.diagnostics().buffers.reused > reused);
    assert_eq!((&product.shape()[..], floats(&product)), (&[3, 2, 3][..], vec![0.0; 18]));
    // F6: what is empty is still checked.
    assert!(
        b.matmul(
            &Tensor::zeros(DType::F64, [0, 2]).unwrap(),
            &Tensor::zeros(DType::F64, [3, 2]).unwrap()
        )
        .is_err()
    );
    assert!(
        b.matmul(
            &Tensor::zeros(DType::F64, [0, 2]).unwrap(),
            &Tensor::zeros(DType::F32, [2, 2]).unwrap()
        )
        .is_err()
    );
    // Embedding and padding write what lies between.
    fill_pool_with_nan(b);
    let diagonal = b.embed_diagonal(&row(&[1.0, 2.0]), 0_usize, 1_usize).unwrap();
    assert_eq!(floats(&diagonal), [1.0, 0.0, 0.0, 2.0]);
    let padded = b.pad(&row(&[1.0, 2.0]), &Tensor::scalar(7.0).unwrap(), [(1, 0, 1)]).unwrap();
    assert_eq!(floats(&padded), [7.0, 1.0, 7.0, 2.0]);
}

#[test]
fn f8_f9_slices_and_views_that_cannot_be() {
    let b = &mut backend(1);
    let x = row(&[1.0, 2.0, 3.0]);
    assert!(matches!(
        b.slice(&x, [2], [1], [1]).unwrap_err().validation(),
        Some(Validation::Slice { .. })
    ));
    assert!(b.slice(&x, [0], [3], [0]).is_err());
    assert!(vast(&[1.0], &[1]).broadcast(&[1 << 40, 1 << 40]).is_err());
    assert!(vast(&[1.0], &[1]).broadcast(&[1 << 40, 1 << 40, 0]).is_err());
}

#[test]
fn f10_f12_nan_wins_wherever_threads_split_and_in_a_clamp() {
    let nan = f64::NAN;
    for b in &mut [1, 2, 4].map(backend) {
        assert!(floats(&b.max(&row(&[3.0, nan, 1.0, 5.0]), [0], DROP).unwrap())[0].is_nan());
        let mut long = vec![1.0; 100_000];
        for at in [0, 8191, 8192, 50_000, 99_999] {
            long[at] = nan;
            assert!(floats(&b.max(&row(&long), [0], DROP).unwrap())[0].is_nan());
            assert!(floats(&b.min(&row(&long), [0], DROP).unwrap())[0].is_nan());
            long[at] = 1.0;
        }
        for (x, low, high) in [(1.0, nan, 2.0), (nan, 0.0, 1.0), (1.0, 0.0, nan)] {
            let raised = b.maximum(&row(&[x]), &row(&[low])).unwrap();
            assert!(floats(&b.minimum(&raised, &row(&[high])).unwrap())[0].is_nan());
        }
        let zeros = b.maximum(&row(&[-0.0]), &row(&[0.0])).unwrap();
        assert!(floats(&zeros)[0].is_sign_positive());
    }
}

#[test]
fn f13_p4_integer_division_traps_nowhere() {
    let b = &mut backend(4);
    let minus_one = Tensor::scalar(-1_i32).unwrap();
    let quotient = b.div(&row(&[i32::MIN, 7]), &minus_one).unwrap();
    assert_eq!(quotient.as_slice::<i32>().unwrap(), [i32::MIN, -7]);
    let quotient = b.div(&row(&[i64::MIN]), &row(&[-1_i64])).unwrap();
    assert_eq!(quotient.as_slice::<i64>().unwrap(), [i64::MIN]);
    let long = Tensor::full([200_000], 5_i64).unwrap();
    let mut divisors = vec![1_i64; 200_000];
    divisors[199_999] = 0;
    for divisor in [Tensor::scalar(0_i64).unwrap(), row(&divisors)] {
        let error = b.div(&long, &divisor).unwrap_err();
        let problem = Numerical::DivisionByZero { dtype: DType::I64 };
        assert!(matches!(error, Error::NumericalFailure { problem: p, .. } if p == problem));
    }
    let error = b.pow(&row(&[2_i32]), &minus_one).unwrap_err();
    let problem = Numerical::NegativeExponent { dtype: DType::I32 };
    assert!(matches!(error, Error::NumericalFailure { problem: p, .. } if p == problem));
    assert!(
        b.div(&Tensor::zeros(DType::I32, [0]).unwrap(), &Tensor::scalar(0_i32).unwrap()).is_ok()
    );
}

#[test]
fn f20_f21_leading_dimensions_broadcast_and_reversed_operands_of_products() {
    let b = &mut backend(1);
    let a = matrix([2, 1], &[1.0, 2.0]);
    assert_eq!(floats(&b.matmul(&a.view().transpose(), &row(&[1.0, 2.0]).view()).unwrap()), [5.0]);
    let one = [1.0];
    let ones = vast(&one, &[2]);
    let w = matrix([2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(floats(&b.matmul(&ones, &w.view()).unwrap()), [4.0, 6.0]);
    let v = row(&[1.0, 10.0]);
    for axis in [0, 1] {
        let reversed = w.view().reverse(axis).unwrap();
        let copy = reversed.to_tensor().unwrap();
        assert!(same(&b.matmul(&reversed, &v.view()).unwrap(), &b.matmul(&copy, &v).unwrap()));
        assert!(same(&b.matmul(&v.view(), &reversed).unwrap(), &b.matmul(&v, &copy).unwrap()));
    }
    let backwards = v.view().reverse(0).unwrap();
    assert_eq!(floats(&b.matmul(&backwards, &v.view()).unwrap()), [20.0]);
}

#[test]
fn f22_f23_f25_batches_that_stand_still_odd_strides_and_the_size_eight() {
    let b = &mut backend(4);
    let ones = Tensor::ones(DType::F64, [1, 32, 32]).unwrap();
    let stretched = ones.view().broadcast(&[32, 32, 32]).unwrap();
    let full = Tensor::ones(DType::F64, [32, 32, 32]).unwrap();
    for product in [b.matmul(&stretched, &full.view()), b.matmul(&full.view(), &stretched)] {
        assert_eq!(product.unwrap().as_slice::<f64>().unwrap(), [32.0; 32 * 32 * 32]);
    }
    let elements: Vec<f64> = (0..2048).map(|at| f64::from(at % 7) - 3.0).collect();
    let odd = TensorView::from_slice(&elements, &[1, 2048], &[16384, 1], 0).unwrap();
    let w = rough(DType::F64, &[2048, 5], 1);
    let plain = b.matmul(&odd.to_tensor().unwrap(), &w).unwrap();
    assert!(same(&b.matmul(&odd, &w.view()).unwrap(), &plain));
    let steps: Vec<f64> = [1.0, 2.0, 3.0].repeat(8);
    let product = b.matmul(&Tensor::ones(DType::F64, [3, 8]).unwrap(), &matrix([8, 3], &steps));
    assert_eq!(floats(&product.unwrap()), [8.0, 16.0, 24.0].repeat(3));
}

#[test]
fn f24_a_beta_of_zero_overwrites_nan_in_partial_tiles_and_complex_columns() {
    let b = &mut backend(2);
    for dtype in [DType::F64, DType::F32, DType::C32, DType::C64, DType::F16] {
        for [m, n, k] in [[5, 7, 3], [9, 1, 4], [1, 9, 4], [17, 33, 19], [64, 65, 8], [3, 3, 0]] {
            let (x, y) = (rough(dtype, &[m, k], 1), rough(dtype, &[k, n], 2));
            let product = b.matmul(&x, &y).unwrap();
            let nan = Tensor::full([m, n], f64::NAN).unwrap();
            let mut out = b.convert(&nan, dtype).unwrap();
            let contraction = Contraction::over([1], [0]);
            let (lhs, rhs) = (x.as_operand(), y.as_operand());
            let destination = out.as_operand_mut().unwrap();
            b.contract_into(&contraction, &lhs, &rhs, Scale::ASSIGN, destination).unwrap();
            assert!(same(&out, &product), "{dtype} {m} {n} {k}");
        }
    }
}

#[test]
fn f26_a_permuted_output_is_added_to() {
    let b = &mut backend(1);
    let x = matrix([2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let mut out = matrix([2, 2], &[100.0, 200.0, 300.0, 400.0]);
    // out[j, i] += sum over k of x[i, k] x[k, j]
    let mut view = out.view_mut().unwrap().transpose();
    let contraction = Contraction::over([1], [0]);
    let scale = Scale { alpha: Factor::ONE, beta: Factor::from(2) };
    b.contract_into(&contraction, &x.as_operand(), &x.as_operand(), scale, view.as_operand_mut())
        .unwrap();
    assert_eq!(floats(&out), [207.0, 415.0, 610.0, 822.0]);
}

#[test]
fn f46_long_sums_of_halves_do_not_stall() {
    for b in &mut [1, 4].map(backend) {
        let ones = Tensor::full([4096], f16::ONE).unwrap();
        assert_eq!(b.sum(&ones, [0], DROP).unwrap().get::<f16>(&[]).unwrap().to_f32(), 4096.0);
        let ones = Tensor::full([70_000], bf16::ONE).unwrap();
        assert_eq!(b.sum(&ones, [0], DROP).unwrap().get::<bf16>(&[]).unwrap().to_f32(), 70_144.0);
        let large = Tensor::full([3], f16::from_f32(40_000.0)).unwrap();
        assert_eq!(b.mean(&large, [0], DROP).unwrap().get::<f16>(&[]).unwrap().to_f32(), 40_000.0);
    }
}

#[test]
fn f47_squares_are_not_negative_branch_cuts_hold_and_magnitudes_do_not_overflow() {
    let b = &mut backend(1);
    for constant in [0.1, 1e8 + 0.1, -3.3e-7] {
        let x = Tensor::full([1000], constant).unwrap();
        let mean = b.mean(&x, [0], DROP).unwrap();
        let apart = b.sub(&x, &mean).unwrap();
        let square = b.mul(&apart, &apart).unwrap();
        assert!(floats(&b.mean(&square, [0], DROP).unwrap())[0] >= 0.0);
    }
    let root = b.sqrt(&row(&[Complex64::new(-4.0, -0.0)])).unwrap();
    assert_eq!(root.as_slice::<Complex64>().unwrap(), [Complex64::new(0.0, -2.0)]);
    let size = floats(&b.abs(&row(&[Complex64::new(1e300, 1e300)])).unwrap())[0];
    assert!((size / 1e300 - 2.0_f64.sqrt()).abs() < 1e-15);
}

#[test]
fn x53_f17_nobody_writes_through_elements_that_share_memory() {
    let elements = &mut [0.0; 8];
    for (extents, strides) in [(&[3][..], &[0][..]), (&[2, 2], &[1, 1]), (&[3, 2], &[1, 2])] {
        let error = TensorViewMut::from_slice(elements, extents, strides, 0).err().unwrap();
        assert!(matches!(error.validation(), Some(Validation::OverlappingDestination { .. })));
    }
    // Where no second index is, no stride makes two elements meet.
    assert!(TensorViewMut::from_slice(elements, &[1, 3], &[0, 2], 0).is_ok());
    assert!(TensorViewMut::from_slice(elements, &[0, 3], &[0, 0], 0).is_ok());
}

#[test]
fn x50_a_product_of_matrices_and_vectors_is_bit_equal_in_every_way_to_ask_for_it() {
    let owner = backend(1);
    for dtype in [DType::F32, DType::F64, DType::C64, DType::I32] {
        let (matrix, vector) = (rough(dtype, &[17, 17], 1), rough(dtype, &[17], 2));
        let (flipped, reversed) = (matrix.view().transpose(), vector.view().reverse(0).unwrap());
        let operands = [matrix.view(), flipped, vector.view(), reversed];
        for (lhs, rhs) in operands.iter().flat_map(|lhs| operands.iter().map(move |rhs| (lhs, rhs)))
        {
            let what = format!("{dtype} {} {}", lhs.shape(), rhs.shape());
            let expected = owner.clone().matmul(lhs, rhs).unwrap();
            let truth = Reference.matmul(lhs, rhs).unwrap();
            assert_eq!(expected.shape(), truth.shape(), "{what}");
            assert!(dtype.is_inexact() || same(&expected, &truth), "{what}");
            let mut operations = owner.clone();
            let scoped = owner.with_execution_scope(|| operations.matmul(lhs, rhs)).unwrap();
            assert!(same(&scoped.unwrap(), &expected), "{what} in a scope");
            let session = owner.with_backend_session(|engine| engine.matmul(lhs, rhs)).unwrap();
            assert!(same(&session, &expected), "{what} in a session");
            let contraction = Contraction::over([lhs.shape().rank() - 1], [0]);
            let general = owner.clone().dot_general(lhs, rhs, contraction.clone()).unwrap();
            assert!(same(&general, &expected), "{what} as a contraction");
            let mut out = Tensor::zeros(dtype, &expected.shape()[..]).unwrap();
            let to = out.as_operand_mut().unwrap();
            let (lhs, rhs) = (lhs.as_operand(), rhs.as_operand());
            owner.clone().contract_into(&contraction, &lhs, &rhs, Scale::ASSIGN, to).unwrap();
            assert!(same(&out, &expected), "{what} into an output");
        }
    }
}
