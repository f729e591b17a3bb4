//! The vocabulary against what NumPy and SciPy compute: a fixture for every row and every composite.
//!
//! `fixtures/vocabulary.py` made the values of most rows and says how its lines are read; the rest has files of its own,
//! each with a test that reads it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::str::FromStr;

use tenferro_ops::{TensorComposite, composites, reference::Reference};
use tenferro_tensor::{
    Boundary, Combiner, Comparison, Complex32, Complex64, Contraction, Convolution, DType,
    Direction, GatherMode, Gathering, KeepAxes, Padding, Placement, Scalar, ScatterMode, SortOrder,
    Sweep, Tensor, TensorDot, TensorElementwise, TensorIndexing, TensorReduction, TensorScan,
    TensorSorting, TensorStructural, TensorWindowed, Ties, Window, WindowAxis, bf16, dispatch, f16,
    vocabulary,
};

const VOCABULARY: &str = include_str!("fixtures/vocabulary.txt");

macro_rules! row_names {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => { &[$($(stringify!($method),)*)*] };
}

macro_rules! composite_names {
    ($($function:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $doc:literal;)*) => {
        &[$(stringify!($function),)*]
    };
}

const ROWS: &[&str] = vocabulary!(row_names);
const COMPOSITES: &[&str] = composites!(composite_names);

fn list<T: FromStr<Err: Debug>>(field: &str) -> Vec<T> {
    field.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn dtype(name: &str) -> DType {
    *DType::ALL.iter().find(|dtype| dtype.name() == name).unwrap()
}

fn tensor(field: &str) -> Tensor {
    let [name, extents, elements] = field.split(':').collect::<Vec<_>>().try_into().unwrap();
    let extents = list::<usize>(extents);
    fn made<T: Scalar>(extents: Vec<usize>, elements: Vec<T>) -> Tensor {
        Tensor::from_vec_row_major(extents, elements).unwrap()
    }
    let halves = |make: fn(f64) -> f16| list(elements).into_iter().map(make).collect::<Vec<_>>();
    let pairs = || {
        let parts = elements.split_whitespace().map(|pair| pair.split_once(',').unwrap());
        parts.map(|(re, im)| (re.parse::<f64>().unwrap(), im.parse::<f64>().unwrap()))
    };
    match dtype(name) {
        DType::F64 => made(extents, list::<f64>(elements)),
        DType::F32 => made(extents, list::<f32>(elements)),
        DType::F16 => made(extents, halves(f16::from_f64)),
        DType::BF16 => made(extents, list(elements).into_iter().map(bf16::from_f64).collect()),
        DType::C64 => made(extents, pairs().map(|(re, im)| Complex64::new(re, im)).collect()),
        DType::C32 => {
            let narrow = |(re, im)| Complex32::new(re as f32, im as f32);
            made(extents, pairs().map(narrow).collect())
        }
        DType::I8 => made(extents, list::<i8>(elements)),
        DType::I16 => made(extents, list::<i16>(elements)),
        DType::I32 => made(extents, list::<i32>(elements)),
        DType::I64 => made(extents, list::<i64>(elements)),
        DType::U8 => made(extents, list::<u8>(elements)),
        DType::U16 => made(extents, list::<u16>(elements)),
        DType::U32 => made(extents, list::<u32>(elements)),
        DType::U64 => made(extents, list::<u64>(elements)),
        DType::Bool => made(extents, list::<bool>(elements)),
    }
}

fn combiner(name: &str) -> Combiner {
    match name {
        "sum" => Combiner::Sum,
        "prod" => Combiner::Prod,
        "max" => Combiner::Max,
        "min" => Combiner::Min,
        "and" => Combiner::And,
        "or" => Combiner::Or,
        "xor" => Combiner::Xor,
        other => panic!("no combiner {other}"),
    }
}

fn relation(name: &str) -> Comparison {
    match name {
        "eq" => Comparison::Eq,
        "ne" => Comparison::Ne,
        "lt" => Comparison::Lt,
        "le" => Comparison::Le,
        "gt" => Comparison::Gt,
        "ge" => Comparison::Ge,
        other => panic!("no relation {other}"),
    }
}

fn sweep(name: &str) -> Sweep {
    match name {
        "forward" => Sweep::default(),
        "reverse" => Direction::Reverse.into(),
        "exclusive" => Boundary::Exclusive.into(),
        other => panic!("no sweep {other}"),
    }
}

fn order(name: &str) -> SortOrder {
    match name {
        "ascending" => SortOrder::Ascending,
        "descending" => SortOrder::Descending,
        other => panic!("no order {other}"),
    }
}

/// Parameters: words, and lists that `/` separates.
struct Parameters<'l> {
    text: &'l str,
}

impl<'l> Parameters<'l> {
    fn word(&self, at: usize) -> &'l str {
        self.text.split_whitespace().nth(at).unwrap()
    }

    fn number(&self, at: usize) -> usize {
        self.word(at).parse().unwrap()
    }

    fn lists(&self) -> Vec<Vec<usize>> {
        self.text.split('/').map(list).collect()
    }

    /// The numbers from word `start` on, as many in one as `N`.
    fn groups<const N: usize, T: FromStr<Err: Debug> + Copy>(&self, start: usize) -> Vec<[T; N]> {
        let words: Vec<&str> = self.text.split_whitespace().skip(start).collect();
        words.chunks(N).map(|group| std::array::from_fn(|at| group[at].parse().unwrap())).collect()
    }
}

fn computed(row: &str, given: &Parameters<'_>, x: &[Tensor]) -> Tensor {
    let engine = &mut Reference;
    let drop = KeepAxes::Drop;
    match row {
        "add" => engine.add(&x[0], &x[1]),
        "sub" => engine.sub(&x[0], &x[1]),
        "mul" => engine.mul(&x[0], &x[1]),
        "div" => engine.div(&x[0], &x[1]),
        "rem" => engine.rem(&x[0], &x[1]),
        "neg" => engine.neg(&x[0]),
        "abs" => engine.abs(&x[0]),
        "sign" => engine.sign(&x[0]),
        "conj" => engine.conj(&x[0]),
        "real" => engine.real(&x[0]),
        "imag" => engine.imag(&x[0]),
        "complex" => engine.complex(&x[0], &x[1]),
        "maximum" => engine.maximum(&x[0], &x[1]),
        "minimum" => engine.minimum(&x[0], &x[1]),
        "clamp" => engine.clamp(&x[0], &x[1], &x[2]),
        "and" => engine.and(&x[0], &x[1]),
        "or" => engine.or(&x[0], &x[1]),
        "xor" => engine.xor(&x[0], &x[1]),
        "not" => engine.not(&x[0]),
        "shift_left" => engine.shift_left(&x[0], &x[1]),
        "shift_right_arithmetic" => engine.shift_right_arithmetic(&x[0], &x[1]),
        "shift_right_logical" => engine.shift_right_logical(&x[0], &x[1]),
        "popcount" => engine.popcount(&x[0]),
        "leading_zeros" => engine.leading_zeros(&x[0]),
        "floor" => engine.floor(&x[0]),
        "ceil" => engine.ceil(&x[0]),
        "round" if given.text == "even" => engine.round(&x[0], Ties::Even),
        "round" => engine.round(&x[0], Ties::Away),
        "is_finite" => engine.is_finite(&x[0]),
        "is_nan" => engine.is_nan(&x[0]),
        "next_after" => engine.next_after(&x[0], &x[1]),
        "compare" => engine.compare(&x[0], &x[1], relation(given.text)),
        "select" => engine.select(&x[0], &x[1], &x[2]),
        "convert" => engine.convert(&x[0], dtype(given.text)),
        "bitcast" => engine.bitcast(&x[0], dtype(given.text)),
        "argmax" => engine.argmax(&x[0], [given.number(0)], drop),
        "argmin" => engine.argmin(&x[0], [given.number(0)], drop),
        "sum_of_squares" => engine.sum_of_squares(&x[0], [given.number(0)], drop),
        "all" => engine.all(&x[0], [given.number(0)], drop),
        "any" => engine.any(&x[0], [given.number(0)], drop),
        "reduce" => engine.reduce(&x[0], combiner(given.word(0)), [given.number(1)], drop),
        "cumsum" => engine.cumsum(&x[0], given.number(0), sweep(given.word(1))),
        "cumprod" => engine.cumprod(&x[0], given.number(0), sweep(given.word(1))),
        "cummax" => engine.cummax(&x[0], given.number(0), sweep(given.word(1))),
        "cummin" => engine.cummin(&x[0], given.number(0), sweep(given.word(1))),
        "sort" => engine.sort(&x[0], given.number(0), order(given.word(1))),
        "argsort" => engine.argsort(&x[0], given.number(0), order(given.word(1))),
        "arg_top" => engine.arg_top(&x[0], given.number(0), given.number(1), SortOrder::Ascending),
        "sum_as" => engine.sum_as(&x[0], dtype(given.word(0)), [given.number(1)], drop),
        "prod_as" => engine.prod_as(&x[0], dtype(given.word(0)), [given.number(1)], drop),
        "cumsum_as" => {
            engine.cumsum_as(&x[0], dtype(given.word(0)), given.number(1), Sweep::default())
        }
        "cumprod_as" => {
            engine.cumprod_as(&x[0], dtype(given.word(0)), given.number(1), Sweep::default())
        }
        "one_hot" => engine.one_hot(&x[0], given.number(0), given.number(1), dtype(given.word(2))),
        "take" => engine.take(&x[0], &x[1], given.number(0), GatherMode::Refuse),
        "take_along_axis" => {
            engine.take_along_axis(&x[0], &x[1], given.number(0), GatherMode::Refuse)
        }
        _ => return moved(row, given, x),
    }
    .unwrap()
}

/// As [`computed`], for rows whose parameters are lists.
fn moved(row: &str, given: &Parameters<'_>, x: &[Tensor]) -> Tensor {
    let engine = &mut Reference;
    match row {
        "reduce_window" => {
            let of = |[extent, stride, dilation]: [usize; 3]| WindowAxis {
                stride,
                dilation,
                ..WindowAxis::of(extent)
            };
            let window: Window = given.groups(1).into_iter().map(of).collect::<Vec<_>>().into();
            engine.reduce_window(&x[0], combiner(given.word(0)), window)
        }
        "transpose" => engine.transpose(&x[0], list(given.text)),
        "reshape" => engine.reshape(&x[0], list(given.text)),
        "concatenate" => engine.concatenate(x, given.number(0)),
        "reverse" => engine.reverse(&x[0], list(given.text)),
        "broadcast_in_dim" => {
            let [extents, axes] = given.lists().try_into().unwrap();
            engine.broadcast_in_dim(&x[0], extents, axes)
        }
        "pad" => {
            let of = |[low, high, interior]: [isize; 3]| (low, high, interior.unsigned_abs());
            let padding: Vec<_> = given.groups(0).into_iter().map(of).collect();
            engine.pad(&x[0], &x[1], Padding::from(&padding[..]))
        }
        "tril" | "triu" => {
            let (rows, columns) = (given.number(0), given.number(1));
            let offset: isize = given.word(2).parse().unwrap();
            if row == "tril" {
                engine.tril(&x[0], rows, columns, offset)
            } else {
                engine.triu(&x[0], rows, columns, offset)
            }
        }
        "iota" => {
            let [name, extents, axis] =
                given.text.split('/').collect::<Vec<_>>().try_into().unwrap();
            engine.iota(dtype(name), list::<usize>(extents), list::<usize>(axis)[0])
        }
        "slice" => {
            let [starts, limits, strides] = given.lists().try_into().unwrap();
            engine.slice(&x[0], starts, limits, strides)
        }
        "extract_diagonal" => engine.extract_diagonal(&x[0], given.number(0), given.number(1)),
        "embed_diagonal" => engine.embed_diagonal(&x[0], given.number(0), given.number(1)),
        "dynamic_slice" => engine.dynamic_slice(&x[0], &x[1], list(given.text), GatherMode::Refuse),
        "dynamic_update" => engine.dynamic_update(&x[0], &x[1], &x[2], GatherMode::Refuse),
        "gather" => {
            let gathering = Gathering::along(given.number(0), x[0].shape());
            engine.gather(&x[0], &x[1], gathering, GatherMode::Refuse)
        }
        "scatter" => {
            let placement = match given.text {
                "replace" => Placement::Replace,
                name => combiner(name).into(),
            };
            let gathering = Gathering::along(0, x[0].shape());
            engine.scatter(&x[0], &x[1], &x[2], gathering, placement, ScatterMode::Refuse)
        }
        "dot_general" => {
            let [lhs, rhs, lhs_batch, rhs_batch] = given.lists().try_into().unwrap();
            let (lhs_batch, rhs_batch) = (lhs_batch.into(), rhs_batch.into());
            let contraction = Contraction { lhs_batch, rhs_batch, ..Contraction::over(lhs, rhs) };
            engine.dot_general(&x[0], &x[1], contraction)
        }
        "convolve" => engine.convolve(&x[0], &x[1], Convolution::valid(2)),
        other => panic!("no row {other}"),
    }
    .unwrap()
}

/// Every digit of the elements, so that NaN equals NaN and zeros differ.
fn digits(x: &Tensor) -> String {
    dispatch!(x.dtype(), any T => format!("{:?}", x.to_vec_row_major::<T>().unwrap()))
}

/// Elements as pairs of a real and an imaginary part.
fn parts(x: &Tensor) -> Vec<[f64; 2]> {
    let wide = Reference.convert(x, DType::C64).unwrap();
    wide.to_vec_row_major::<Complex64>().unwrap().iter().map(|z| [z.re, z.im]).collect()
}

/// Whether a row's complex values are computed by several rounded steps, whose order is a library's own.
fn is_rounded(row: &str, result: &Tensor, operands: &[Tensor]) -> bool {
    let is_complex = |x: &Tensor| matches!(x.dtype(), DType::C32 | DType::C64);
    matches!(row, "mul" | "div" | "abs" | "sign")
        && (is_complex(result) || operands.iter().any(is_complex))
}

#[test]
fn rows_are_what_numpy_and_scipy_compute() {
    for line in VOCABULARY.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let tensors: Vec<Tensor> = fields[2..].iter().map(|field| tensor(field)).collect();
        let (expected, operands) = tensors.split_last().unwrap();
        let actual = computed(fields[0], &Parameters { text: fields[1] }, operands);
        assert_eq!(
            (actual.dtype(), actual.shape()),
            (expected.dtype(), expected.shape()),
            "{line}"
        );
        if is_rounded(fields[0], expected, operands) {
            let unit = if matches!(operands[0].dtype(), DType::C32) { 1.2e-7 } else { 2.3e-16 };
            for (actual, expected) in parts(&actual).iter().zip(parts(expected)) {
                let size = expected[0].hypot(expected[1]);
                let off = (actual[0] - expected[0]).hypot(actual[1] - expected[1]);
                assert!(off <= 4.0 * unit * size, "{actual:?} in {line}");
            }
        } else {
            assert_eq!(digits(&actual), digits(expected), "{line}");
        }
    }
}

#[test]
fn every_row_and_composite_has_values_that_another_library_computed() {
    let mut covered: BTreeSet<&str> = BTreeSet::from(["matmul"]);
    for file in [
        VOCABULARY,
        include_str!("fixtures/reduce.txt"),
        include_str!("fixtures/special.txt"),
        include_str!("fixtures/composite.txt"),
    ] {
        covered.extend(file.lines().map(|line| line.split(';').next().unwrap()));
    }
    // Those with a parameter in their name.
    let has = |name: &str| covered.iter().any(|own| own.trim_end_matches(['0', '1']) == name);
    let missing: Vec<&&str> = ROWS
        .iter()
        .chain(COMPOSITES)
        .filter(|name| !covered.contains(*name) && !has(name))
        .collect();
    assert!(missing.is_empty(), "no fixture of {missing:?}");
}
