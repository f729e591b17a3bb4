//! Every rule against finite differences and the adjoint identity, first and second order, in f64 and C64.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Function, Numbers, check};
use tenferro_ad::Variable;
use tenferro_tensor::{
    BatchPosition, Boundary, Combiner, Comparison, Conjugation, Contraction, Convolution,
    ConvolutionAxis, DType, Direction, Error, GatherMode, Gathering, KeepAxes, Placement, Result,
    ScatterMode, SortOrder, Sweep, Tensor, WindowAxis,
};

const REAL: &[DType] = &[DType::F64];
const BOTH: &[DType] = &[DType::F64, DType::C64];

/// How many shapes are drawn for each row and dtype; every third has no elements.
const DRAWS: usize = 6;

/// A function of one operand, with its dtypes and the range of operands.
type Row = (&'static str, &'static [DType], (f64, f64), fn(&Variable) -> Result<Variable>);

fn unary(
    name: &str,
    dtypes: &[DType],
    range: (f64, f64),
    f: impl Fn(&Variable) -> Result<Variable> + 'static,
) {
    let f: Box<Function<'static>> = Box::new(move |xs| f(&xs[0]));
    for &dtype in dtypes {
        let mut numbers = Numbers::of(name);
        for draw in 0..DRAWS {
            let shape = numbers.shape(draw % 3 == 2);
            let x = numbers.tensor(dtype, &shape, range);
            check(&format!("{name} of {dtype} {shape:?}"), &*f, &[x], draw as u64);
        }
    }
}

fn binary(
    name: &str,
    dtypes: &[DType],
    range: (f64, f64),
    f: impl Fn(&Variable, &Variable) -> Result<Variable> + 'static,
) {
    let f: Box<Function<'static>> = Box::new(move |xs| f(&xs[0], &xs[1]));
    for &dtype in dtypes {
        let mut numbers = Numbers::of(name);
        for draw in 0..DRAWS {
            let [lhs, rhs] = numbers.shapes(draw % 3 == 2);
            let inputs = [numbers.tensor(dtype, &lhs, range), numbers.tensor(dtype, &rhs, range)];
            check(&format!("{name} of {dtype} {lhs:?} {rhs:?}"), &*f, &inputs, draw as u64);
        }
    }
}

#[test]
fn arithmetic_has_the_derivatives_of_differences() {
    binary("add", BOTH, (-2.0, 2.0), |x, y| x.add(y));
    binary("sub", BOTH, (-2.0, 2.0), |x, y| x.sub(y));
    binary("mul", BOTH, (-2.0, 2.0), |x, y| x.mul(y));
    binary("div", BOTH, (0.5, 2.0), |x, y| x.div(y));
    binary("pow", BOTH, (0.5, 2.0), |x, y| x.pow(y));
    unary("neg", BOTH, (-2.0, 2.0), Variable::neg);
    unary("conj", BOTH, (-2.0, 2.0), Variable::conj);
    unary("abs", BOTH, (0.5, 2.0), Variable::abs);
    unary("abs of negatives", BOTH, (-2.0, -0.5), Variable::abs);
    unary("sign", &[DType::C64], (0.5, 2.0), Variable::sign);
    unary("x times itself", BOTH, (-2.0, 2.0), |x| x.mul(x));
    unary("x plus a number", BOTH, (-2.0, 2.0), |x| x + 2.0);
    unary("real part", &[DType::C64], (-2.0, 2.0), |x| x.convert(DType::F64));
    unary("real", BOTH, (-2.0, 2.0), Variable::real);
    unary("imag", BOTH, (-2.0, 2.0), Variable::imag);
    binary("complex", REAL, (-2.0, 2.0), |x, y| x.complex(y));
    binary("rem", REAL, (0.6, 0.9), |x, y| (x * 4.0)?.rem(y));
    unary("as complex", REAL, (-2.0, 2.0), |x| x.convert(DType::C64));
}

#[test]
fn choices_have_the_derivatives_of_differences() {
    binary("maximum", REAL, (-2.0, 2.0), |x, y| x.maximum(y));
    binary("minimum", REAL, (-2.0, 2.0), |x, y| x.minimum(y));
    let clamp = |xs: &[Variable]| xs[0].clamp(&xs[1], &xs[2]);
    let inputs = [(&[7][..], (-2.0, 2.0)), (&[], (-0.6, -0.4)), (&[7], (0.4, 0.6))]
        .map(|(shape, range)| Numbers(9).tensor(DType::F64, shape, range));
    check("clamp", &clamp, &inputs, 9);
    binary("select", BOTH, (-2.0, 2.0), |x, y| {
        let chosen = x.abs()?.compare(&y.abs()?, Comparison::Lt)?;
        chosen.select(x, y)
    });
    unary("select one", BOTH, (-2.0, 2.0), |x| {
        let chosen = x.abs()?.compare(&(&x.abs()? * 0.5)?, Comparison::Gt)?;
        chosen.select(x, &(&x.detach() * 0.0)?)
    });
}

#[test]
fn functions_have_the_derivatives_of_differences() {
    let functions: &[Row] = &[
        ("exp", BOTH, (-1.0, 1.0), Variable::exp),
        ("exp2", BOTH, (-1.0, 1.0), Variable::exp2),
        ("expm1", BOTH, (-1.0, 1.0), Variable::expm1),
        ("log", BOTH, (0.5, 2.0), Variable::log),
        ("log2", BOTH, (0.5, 2.0), Variable::log2),
        ("log1p", BOTH, (-0.5, 2.0), Variable::log1p),
        ("sqrt", BOTH, (0.5, 2.0), Variable::sqrt),
        ("rsqrt", BOTH, (0.5, 2.0), Variable::rsqrt),
        ("cbrt", REAL, (0.5, 2.0), Variable::cbrt),
        ("cbrt of negatives", REAL, (-2.0, -0.5), Variable::cbrt),
        ("sin", BOTH, (-2.0, 2.0), Variable::sin),
        ("cos", BOTH, (-2.0, 2.0), Variable::cos),
        ("tan", BOTH, (-1.0, 1.0), Variable::tan),
        ("asin", BOTH, (-0.7, 0.7), Variable::asin),
        ("acos", BOTH, (-0.7, 0.7), Variable::acos),
        ("atan", BOTH, (-0.7, 0.7), Variable::atan),
        ("asin off the axis", &[DType::C64], (1.5, 2.0), Variable::asin),
        ("acos off the axis", &[DType::C64], (-2.0, -1.5), Variable::acos),
        ("sinh", BOTH, (-1.0, 1.0), Variable::sinh),
        ("cosh", BOTH, (-1.0, 1.0), Variable::cosh),
        ("tanh", BOTH, (-0.7, 0.7), Variable::tanh),
        ("asinh", BOTH, (-0.7, 0.7), Variable::asinh),
        ("acosh", BOTH, (1.5, 2.0), Variable::acosh),
        ("acosh on the left", &[DType::C64], (-2.0, -1.5), Variable::acosh),
        ("atanh", BOTH, (-0.7, 0.7), Variable::atanh),
        ("sigmoid", BOTH, (-1.0, 1.0), Variable::sigmoid),
        ("erf", REAL, (-1.0, 1.0), Variable::erf),
        ("erfc", REAL, (-1.0, 1.0), Variable::erfc),
        ("erf_inv", REAL, (-0.7, 0.7), Variable::erf_inv),
    ];
    for &(name, dtypes, range, f) in functions {
        unary(name, dtypes, range, f);
    }
    binary("atan2", REAL, (0.5, 2.0), |y, x| y.atan2(x));
    binary("atan2 on the left", REAL, (-2.0, -0.5), |y, x| y.atan2(x));
}

#[test]
fn the_logarithm_of_gamma_has_one_derivative() {
    let x = Numbers(2).tensor(DType::F64, &[4], (0.5, 4.0));
    common::check_first_order("lgamma", &|xs| xs[0].lgamma(), std::slice::from_ref(&x), 2).unwrap();
    let x = common::ad().variable(x).unwrap();
    let error = x.digamma().unwrap_err();
    assert!(matches!(error, Error::Unsupported { op: "digamma", .. }), "{error}");
}

#[test]
fn reductions_have_the_derivatives_of_differences() {
    let drop = KeepAxes::Drop;
    let keep = KeepAxes::Keep;
    let reduce = |name: &str,
                  dtypes: &[DType],
                  f: fn(&Variable, Vec<usize>, KeepAxes) -> Result<Variable>| {
        let cases: &[(&[usize], &[usize], KeepAxes)] = &[
            (&[5], &[0], drop),
            (&[2, 3], &[0], keep),
            (&[2, 3], &[1], drop),
            (&[3, 2, 2], &[2, 0], drop),
            (&[3, 2, 2], &[0, 1, 2], keep),
            (&[2, 3], &[], drop),
            (&[3, 0], &[0], drop),
        ];
        for &dtype in dtypes {
            for &(shape, axes, keep) in cases {
                let x = Numbers(5).tensor(dtype, shape, (0.5, 2.0));
                let axes = axes.to_vec();
                let what = format!("{name} of {dtype} {shape:?} over {axes:?}");
                check(&what, &move |xs| f(&xs[0], axes.clone(), keep), &[x], 5);
            }
        }
    };
    reduce("sum", BOTH, |x, axes, keep| x.sum(axes, keep));
    reduce("prod", BOTH, |x, axes, keep| x.prod(axes, keep));
    reduce("max", REAL, |x, axes, keep| x.max(axes, keep));
    reduce("min", REAL, |x, axes, keep| x.min(axes, keep));
    reduce("sum of squares", BOTH, |x, axes, keep| x.sum_of_squares(axes, keep));
    reduce("named sum", BOTH, |x, axes, keep| x.reduce(Combiner::Sum, axes, keep));
    reduce("named product", BOTH, |x, axes, keep| x.reduce(Combiner::Prod, axes, keep));
    reduce("named maximum", REAL, |x, axes, keep| x.reduce(Combiner::Max, axes, keep));
    reduce("mean", BOTH, |x, axes, keep| x.mean(axes, keep));
}

#[test]
fn composites_have_the_derivatives_of_differences() {
    let all = |x: &Variable| (0..x.shape().rank()).collect::<Vec<_>>();
    let first = |x: &Variable| (0..x.shape().rank().min(1)).collect::<Vec<_>>();
    unary("logsumexp", REAL, (-2.0, 2.0), move |x| x.logsumexp(first(x), KeepAxes::Drop));
    unary("softmax", REAL, (-2.0, 2.0), move |x| x.softmax(all(x)));
    unary("log_softmax", REAL, (-2.0, 2.0), move |x| x.log_softmax(first(x)));
    unary("norm", BOTH, (0.5, 2.0), move |x| x.norm(first(x), KeepAxes::Keep));
    unary("gelu", REAL, (-2.0, 2.0), Variable::gelu);
    unary("silu", REAL, (-2.0, 2.0), Variable::silu);
    binary("outer", BOTH, (-2.0, 2.0), |x, y| x.outer(y));
    binary("kron", BOTH, (-2.0, 2.0), |x, y| x.kron(y));
    for &dtype in BOTH {
        let mut numbers = Numbers(13);
        let x = numbers.tensor(dtype, &[3, 4], (-2.0, 2.0));
        let var = |xs: &[Variable]| xs[0].var([0], KeepAxes::Drop, 1_usize);
        check("var", &var, std::slice::from_ref(&x), 13);
        let std = |xs: &[Variable]| xs[0].std([1], KeepAxes::Keep, 0_usize);
        check("std", &std, std::slice::from_ref(&x), 13);
    }
    let mut numbers = Numbers(14);
    let inputs = [&[3, 4][..], &[4], &[3, 1]].map(|s| numbers.tensor(DType::F64, s, (-2.0, 2.0)));
    let layer_norm = |xs: &[Variable]| xs[0].layer_norm(&xs[1], &xs[2], [1], 1e-3);
    check("layer_norm", &layer_norm, &inputs, 14);
    check("rms_norm", &|xs| xs[0].rms_norm(&xs[1], [0, 1], 1e-3), &inputs[..2], 14);
}

#[test]
fn sums_over_nothing_have_zero_derivatives() {
    for axes in [vec![1], vec![0, 1]] {
        let x = Numbers(5).tensor(DType::F64, &[3, 0], (0.5, 2.0));
        let other = axes.clone();
        check(
            "empty sum",
            &move |xs| xs[0].sum(other.clone(), KeepAxes::Drop),
            std::slice::from_ref(&x),
            5,
        );
        check("empty product", &move |xs| xs[0].prod(axes.clone(), KeepAxes::Drop), &[x], 5);
    }
}

#[test]
fn movements_have_the_derivatives_of_differences() {
    let one = |name: &str, shape: &[usize], f: fn(&Variable) -> Result<Variable>| {
        for &dtype in BOTH {
            let x = Numbers(3).tensor(dtype, shape, (-2.0, 2.0));
            check(&format!("{name} of {dtype} {shape:?}"), &move |xs| f(&xs[0]), &[x], 3);
        }
    };
    one("transpose", &[2, 3, 4], |x| x.transpose([2, 0, 1]));
    one("reshape", &[2, 3], |x| x.reshape([3, 1, 2]));
    one("broadcast", &[3], |x| x.broadcast_in_dim([2, 3], [1]));
    one("stretch", &[1, 3], |x| x.broadcast_in_dim([3, 4, 2], [1, 0]));
    one("swap", &[2, 3], |x| x.broadcast_in_dim([3, 4, 2], [2, 0]));
    one("broadcast to nothing", &[1, 3], |x| x.broadcast_in_dim([0, 3], [0, 1]));
    one("slice", &[5, 4], |x| x.slice([1, 0], [5, 3], [2, 1]));
    one("empty slice", &[5, 4], |x| x.slice([2, 0], [2, 3], [2, 1]));
    one("diagonal", &[3, 2, 3], |x| x.extract_diagonal(0_usize, 2_usize));
    one("diagonal backwards", &[3, 2, 3], |x| x.extract_diagonal(2_usize, 0_usize));
    one("embedding", &[3, 2], |x| x.embed_diagonal(0_usize, 2_usize));
    one("embedding before", &[3, 2], |x| x.embed_diagonal(1_usize, 0_usize));
    one("reverse", &[2, 3], |x| x.reverse([1]));
    one("tril", &[3, 4, 2], |x| x.tril(0_usize, 1_usize, -1_isize));
    one("triu", &[3, 4, 2], |x| x.triu(0_usize, 1_usize, 1_isize));
    one("sort", &[5], |x| x.abs()?.sort(0_usize, SortOrder::Descending));
    one("own concatenation", &[2, 3], |x| Variable::concatenate(&[x.clone(), x.clone()], 1_usize));
    one("part of a concatenation", &[2, 3], |x| {
        Variable::concatenate(&[(&x.detach() * 0.0)?, x.clone()], 0_usize)
    });
    let pad = |xs: &[Variable]| xs[0].pad(&xs[1], [(1, 2, 1), (-1, 0, 0)]);
    for &dtype in BOTH {
        let mut numbers = Numbers(8);
        let inputs =
            [numbers.tensor(dtype, &[3, 4], (-1.0, 1.0)), numbers.tensor(dtype, &[], (-1.0, 1.0))];
        check("pad", &pad, &inputs, 8);
    }
}

#[test]
fn scans_have_the_derivatives_of_differences() {
    for boundary in [Boundary::Inclusive, Boundary::Exclusive] {
        for direction in [Direction::Forward, Direction::Reverse] {
            let sweep = Sweep { boundary, direction };
            for shape in [&[6][..], &[2, 5], &[0], &[3, 0, 1]] {
                let axis = shape.len() - 1;
                for &dtype in BOTH {
                    let x =
                        std::slice::from_ref(&Numbers(4).tensor(dtype, shape, (0.5, 2.0))).to_vec();
                    let what = format!("of {dtype} {shape:?} {sweep:?}");
                    check(&format!("cumsum {what}"), &move |xs| xs[0].cumsum(axis, sweep), &x, 4);
                    check(&format!("cumprod {what}"), &move |xs| xs[0].cumprod(axis, sweep), &x, 4);
                    if dtype == DType::F64 && boundary == Boundary::Inclusive {
                        check(
                            &format!("cummax {what}"),
                            &move |xs| xs[0].cummax(axis, sweep),
                            &x,
                            4,
                        );
                        check(
                            &format!("cummin {what}"),
                            &move |xs| xs[0].cummin(axis, sweep),
                            &x,
                            4,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn windows_have_the_derivatives_of_differences() {
    let axes = [
        WindowAxis { extent: 3, stride: 2, dilation: 1, low: 1, high: 0 },
        WindowAxis { extent: 2, stride: 1, dilation: 2, low: -1, high: 1 },
    ];
    for &dtype in BOTH {
        for combiner in [Combiner::Sum, Combiner::Prod, Combiner::Max, Combiner::Min] {
            if dtype == DType::C64 && matches!(combiner, Combiner::Max | Combiner::Min) {
                continue;
            }
            for shape in [[6, 5], [7, 4], [0, 5]] {
                let x = Numbers(4).tensor(dtype, &shape, (0.5, 2.0));
                let f = move |xs: &[Variable]| xs[0].reduce_window(combiner, axes);
                check(&format!("{combiner:?} over windows of {dtype} {shape:?}"), &f, &[x], 4);
            }
        }
    }
}

#[test]
fn picking_and_placing_have_the_derivatives_of_differences() {
    let places = |extents: &[usize], places: &[i64]| {
        Tensor::from_vec_col_major(extents.to_vec(), places.to_vec()).unwrap()
    };
    for &dtype in BOTH {
        let mut numbers = Numbers(12);
        let x = numbers.tensor(dtype, &[4, 3], (-1.0, 1.0));
        let rows = Gathering::along(0, &[4, 3]);
        let updates = numbers.tensor(dtype, &[5, 3], (-1.0, 1.0));
        // Repeated indices, and one past the end.
        let inside = places(&[5], &[2, 0, 2, 3, 2]);
        let beyond = places(&[5], &[2, 0, 2, 7, 2]);
        for (indices, mode) in [(&inside, GatherMode::Refuse), (&beyond, GatherMode::Clamp)] {
            let rows = rows.clone();
            let f = move |xs: &[Variable]| xs[0].gather(&xs[1], rows.clone(), mode);
            check(&format!("gather of {dtype}, {mode:?}"), &f, &[x.clone(), indices.clone()], 12);
        }
        for placement in [Placement::Replace, Placement::Combine(Combiner::Sum)] {
            for (indices, mode) in [(&inside, ScatterMode::Refuse), (&beyond, ScatterMode::Drop)] {
                let rows = rows.clone();
                let f = move |xs: &[Variable]| {
                    xs[0].scatter(&xs[1], &xs[2], rows.clone(), placement, mode)
                };
                let inputs = [x.clone(), indices.clone(), updates.clone()];
                check(&format!("scatter of {dtype}, {placement:?}, {mode:?}"), &f, &inputs, 12);
            }
        }
        // Into nothing, where all updates are left out.
        let nothing = numbers.tensor(dtype, &[0], (-1.0, 1.0));
        let updates = numbers.tensor(dtype, &[2], (-1.0, 1.0));
        for placement in [Placement::Replace, Placement::Combine(Combiner::Sum)] {
            let one = Gathering::along(0, &[0]);
            let f = move |xs: &[Variable]| {
                xs[0].scatter(&xs[1], &xs[2], one.clone(), placement, ScatterMode::Drop)
            };
            let inputs = [nothing.clone(), places(&[2], &[0, 1]), updates.clone()];
            check(&format!("scatter of {dtype} into nothing, {placement:?}"), &f, &inputs, 12);
        }

        let elements = places(&[2, 3], &[0, 1, 3, 2, 0, 1]);
        let f = |xs: &[Variable]| {
            xs[0].gather(&xs[1], Gathering::of_elements(2, 0), GatherMode::Refuse)
        };
        check("gather of elements", &f, &[x.clone(), elements], 12);

        let starts = places(&[2], &[1, 9]);
        let f = |xs: &[Variable]| xs[0].dynamic_slice(&xs[1], [2, 2], GatherMode::Clamp);
        check("dynamic slice", &f, &[x.clone(), starts.clone()], 12);
        let update = numbers.tensor(dtype, &[2, 2], (-1.0, 1.0));
        let f = |xs: &[Variable]| xs[0].dynamic_update(&xs[1], &xs[2], GatherMode::Clamp);
        check("dynamic update", &f, &[x, update, starts], 12);
    }
}

#[test]
fn convolutions_have_the_derivatives_of_differences() {
    let moves = ConvolutionAxis { stride: 2, low: 1, high: 2, lhs_dilation: 2, rhs_dilation: 3 };
    let cut = ConvolutionAxis { low: -1, high: 0, ..ConvolutionAxis::VALID };
    let cases: [(&[usize], &[usize], Convolution); 4] = [
        (&[6, 2, 3], &[3, 2, 4], Convolution::valid(1)),
        (&[6, 4, 2], &[2, 2, 6], Convolution { axes: vec![moves], groups: 2 }),
        (&[5, 4, 2, 1], &[2, 3, 2, 2], Convolution { axes: vec![moves, cut], groups: 1 }),
        (&[0, 2, 3], &[1, 2, 4], Convolution::valid(1)),
    ];
    for &dtype in BOTH {
        for (x, kernel, convolution) in &cases {
            let mut numbers = Numbers(3);
            let inputs =
                [numbers.tensor(dtype, x, (-1.0, 1.0)), numbers.tensor(dtype, kernel, (-1.0, 1.0))];
            let own = convolution.clone();
            let f = move |xs: &[Variable]| xs[0].convolve(&xs[1], own.clone());
            check(&format!("{dtype} {x:?} {kernel:?} {convolution:?}"), &f, &inputs, 3);
        }
    }
}

#[test]
fn contractions_have_the_derivatives_of_differences() {
    let batched = Contraction {
        lhs_contracting: [3, 1].into(),
        rhs_contracting: [0, 2].into(),
        lhs_batch: [0].into(),
        rhs_batch: [3].into(),
        ..Contraction::default()
    };
    let shapes: [&[usize]; 2] = [&[2, 3, 2, 4], &[4, 5, 3, 2]];
    for &dtype in BOTH {
        for batch in [BatchPosition::Leading, BatchPosition::Trailing] {
            for lhs in [Conjugation::Plain, Conjugation::Conjugated] {
                for rhs in [Conjugation::Plain, Conjugation::Conjugated] {
                    let contraction = Contraction { batch, lhs, rhs, ..batched.clone() };
                    let what = format!("{dtype} {contraction:?}");
                    let inputs = shapes.map(|shape| Numbers(4).tensor(dtype, shape, (-1.0, 1.0)));
                    let f = move |xs: &[Variable]| xs[0].dot_general(&xs[1], contraction.clone());
                    check(&what, &f, &inputs, 4);
                }
            }
        }
        for (lhs, rhs) in [
            (&[2, 3][..], &[3, 2][..]),
            (&[3], &[3, 2]),
            (&[2, 3], &[3]),
            (&[2, 1, 2, 3], &[4, 3, 1]),
            (&[2, 0], &[0, 3]),
        ] {
            let inputs: [Tensor; 2] =
                [lhs, rhs].map(|shape| Numbers(6).tensor(dtype, shape, (-1.0, 1.0)));
            check("matmul", &|xs: &[Variable]| xs[0].matmul(&xs[1]), &inputs, 6);
        }
        let x = Numbers(7).tensor(dtype, &[3, 3], (-1.0, 1.0));
        check("x times x", &|xs: &[Variable]| xs[0].matmul(&xs[0]), &[x], 7);
    }
}
