//! Every row of the vocabulary, for every dtype, in any layout: rule, functions and reference agree.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use tenferro_ops::{
    Meta, infer,
    reference::Reference,
    scalar::{
        Binary, Cast, ElementwiseVisitor, Reducer, ReductionVisitor, Ternary, Unary,
        visit_analytic, visit_elementwise, visit_reduction,
    },
};
use tenferro_tensor::{
    Analytic, AsOperand, BatchPosition, Comparison, Conjugation, Contraction, DType, Dot,
    Elementwise, Error, Indexing, Indices, KeepAxes, Operand, Primitive, Reduction, Scalar, Shape,
    Structural, Tensor, TensorView, Vocabulary, dispatch, vocabulary,
};

const RELATIONS: [Comparison; 6] = [
    Comparison::Eq,
    Comparison::Ne,
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
];

/// The number of rows that [`call`] knows.
const ROWS: usize = 26;

/// A call of row `row` on an operand of `shape`; `dice` decides parameters, which need not be valid.
fn call(row: usize, shape: &[usize], dice: &[usize]) -> (Primitive, Vec<Vec<usize>>) {
    let rank = shape.len();
    let die = |place: usize, sides: usize| dice[place % dice.len()] % sides.max(1);
    let keep = if die(0, 2) == 0 { KeepAxes::Drop } else { KeepAxes::Keep };
    let axes: Indices = (0..rank).filter(|&axis| die(axis + 1, 2) == 0).collect();
    let permutation: Indices = {
        let mut left: Vec<usize> = (0..rank).collect();
        (0..rank).map(|place| left.remove(die(place, left.len()))).collect()
    };
    let x = shape.to_vec();
    // Fits by broadcasting: some extents become 1, some leading axes are missing.
    let fitting: Vec<usize> = shape[die(3, rank + 1)..]
        .iter()
        .enumerate()
        .map(|(axis, &extent)| if die(axis + 4, 2) == 0 { 1 } else { extent })
        .collect();
    match row {
        0 => (Elementwise::Add.into(), vec![x, fitting]),
        1 => (Elementwise::Sub.into(), vec![fitting, x]),
        2 => (Elementwise::Mul.into(), vec![x, fitting]),
        3 => (Elementwise::Div.into(), vec![x, fitting]),
        4 => (Elementwise::Neg.into(), vec![x]),
        5 => (Elementwise::Abs.into(), vec![x]),
        6 => (Elementwise::Sign.into(), vec![x]),
        7 => (Elementwise::Conj.into(), vec![x]),
        8 => (Elementwise::Maximum.into(), vec![x, fitting]),
        9 => (Elementwise::Minimum.into(), vec![x, fitting]),
        10 => (Elementwise::Compare { relation: RELATIONS[die(0, 6)] }.into(), vec![x, fitting]),
        11 => (Elementwise::Select.into(), vec![fitting.clone(), x, fitting]),
        12 => {
            let dtype = DType::ALL[die(0, DType::ALL.len())];
            (Elementwise::Convert { dtype }.into(), vec![x])
        }
        13 => (Analytic::Exp.into(), vec![x]),
        14 => (Analytic::Log.into(), vec![x]),
        15 => (Analytic::Sqrt.into(), vec![x]),
        16 => (Analytic::Tanh.into(), vec![x]),
        17 => (Analytic::Pow.into(), vec![x, fitting]),
        18 => {
            let row = match die(7, 4) {
                0 => Reduction::Sum { axes, keep },
                1 => Reduction::Prod { axes, keep },
                2 => Reduction::Max { axes, keep },
                _ => Reduction::Min { axes, keep },
            };
            (row.into(), vec![x])
        }
        19 => (Structural::Transpose { permutation }.into(), vec![x]),
        20 => {
            let mut extents: Vec<usize> = permutation.iter().map(|&axis| shape[axis]).collect();
            extents.insert(die(1, rank + 1), 1);
            (Structural::Reshape { extents: extents.into() }.into(), vec![x])
        }
        21 => {
            let extents: Vec<usize> =
                (0..=rank).map(|axis| if axis < rank { die(axis, 3) } else { 2 }).collect();
            let mut own = x.clone();
            for (axis, &to) in permutation.iter().enumerate() {
                own[axis] = if die(axis + 2, 2) == 0 { 1 } else { extents[to] };
            }
            let row = Structural::BroadcastInDim { extents: extents.into(), axes: permutation };
            (row.into(), vec![own])
        }
        22 => {
            let axis = die(0, rank + 1);
            let mut other = x.clone();
            if let Some(extent) = other.get_mut(axis) {
                *extent = die(1, 4);
            }
            (Structural::Concatenate { axis }.into(), vec![x.clone(), other, x])
        }
        23 => {
            let edge = |place| die(place, 5) as isize - 2;
            let axes: Vec<_> =
                (0..rank).map(|axis| (edge(axis), edge(axis + 3), die(axis + 5, 3))).collect();
            (Structural::Pad { padding: (&axes[..]).into() }.into(), vec![x, vec![]])
        }
        24 => {
            let starts: Indices = (0..rank).map(|axis| die(axis, shape[axis] + 1)).collect();
            let limits: Indices = (0..rank).map(|axis| die(axis + 3, shape[axis] + 1)).collect();
            let strides: Indices =
                (0..rank).map(|axis| die(axis + 5, 3) + usize::from(die(2, 5) > 0)).collect();
            match die(7, 3) {
                0 => (Indexing::Slice { starts, limits, strides }.into(), vec![x]),
                1 => {
                    let (first, second) = (die(0, rank), die(1, rank));
                    (Indexing::ExtractDiagonal { first, second }.into(), vec![x])
                }
                _ => {
                    let (axis, new_axis) = (die(0, rank), die(1, rank + 1));
                    (Indexing::EmbedDiagonal { axis, new_axis }.into(), vec![x])
                }
            }
        }
        25 => {
            let split = die(0, axes.len() + 1);
            let contraction = Contraction {
                lhs_contracting: axes[..split].into(),
                rhs_contracting: axes[..split].iter().map(|axis| permutation[*axis]).collect(),
                lhs_batch: axes[split..].into(),
                rhs_batch: axes[split..].iter().map(|axis| permutation[*axis]).collect(),
                batch: [BatchPosition::Leading, BatchPosition::Trailing][die(1, 2)],
                lhs: [Conjugation::Plain, Conjugation::Conjugated][die(2, 2)],
                rhs: [Conjugation::Plain, Conjugation::Conjugated][die(3, 2)],
            };
            let mut other = x.clone();
            for (axis, &to) in permutation.iter().enumerate() {
                other[to] = shape[axis];
            }
            (Dot::DotGeneral { contraction }.into(), vec![x, other])
        }
        _ => unreachable!("no such row"),
    }
}

/// A tensor of small numbers, zero among them.
fn tensor(dtype: DType, extents: &[usize]) -> Tensor {
    let elements = extents.iter().product::<usize>();
    dispatch!(dtype, any T => {
        let values = (0..elements).map(|at| <T as Cast>::from_i64((at * 7 % 5) as i64 - 1)).collect();
        Tensor::from_vec_col_major(extents, values).unwrap()
    })
}

/// How to see the elements of a tensor in their first order.
type Looked = Box<dyn Fn(&Tensor) -> TensorView<'_>>;

/// The same elements in another layout: transposed or reversed storage, or every other element of a larger one.
fn scattered(tensor: &Tensor, way: usize) -> (Tensor, Looked) {
    let rank = tensor.rank();
    let elements = tensor.elements();
    match way % 4 {
        1 if rank > 0 => {
            let stored = tensor.view().transpose().to_tensor().unwrap();
            (stored, Box::new(|stored| stored.view().transpose()))
        }
        2 if rank > 0 => {
            let stored = tensor.view().reverse(0).unwrap().to_tensor().unwrap();
            (stored, Box::new(|stored| stored.view().reverse(0).unwrap()))
        }
        3 => {
            let mut extents = tensor.shape().to_vec();
            extents.push(2);
            let copies = [tensor.clone(), tensor.clone()];
            let stored = tensor_of_two(&copies, elements, &extents);
            let shape = tensor.shape().clone();
            (
                stored,
                Box::new(move |stored| {
                    let view = stored.view().slice(shape.rank(), 1.., 1).unwrap();
                    view.reshape(&shape).unwrap()
                }),
            )
        }
        _ => (tensor.clone(), Box::new(Tensor::view)),
    }
}

fn tensor_of_two(copies: &[Tensor; 2], elements: usize, extents: &[usize]) -> Tensor {
    dispatch!(copies[0].dtype(), any T => {
        let mut both: Vec<T> = Vec::with_capacity(2 * elements);
        for copy in copies {
            both.extend_from_slice(copy.as_slice::<T>().unwrap());
        }
        Tensor::from_vec_col_major(extents, both).unwrap()
    })
}

fn same_bits(lhs: &Tensor, rhs: &Tensor) -> bool {
    dispatch!(lhs.dtype(), any T => {
        format!("{:?}", lhs.as_slice::<T>().unwrap()) == format!("{:?}", rhs.as_slice::<T>().unwrap())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn x53_the_result_is_what_the_rule_says_in_every_layout(
        row in 0..ROWS,
        dtype in proptest::sample::select(DType::ALL),
        extents in prop::collection::vec(0..4_usize, 0..4),
        dice in prop::collection::vec(0..1000_usize, 9),
        ways in prop::collection::vec(0..4_usize, 3),
    ) {
        let (primitive, shapes) = call(row, &extents, &dice);
        let selects = primitive == Elementwise::Select.into();
        let inputs: Vec<Tensor> = shapes
            .iter()
            .enumerate()
            .map(|(place, extents)| tensor(if selects && place == 0 { DType::Bool } else { dtype }, extents))
            .collect();
        let metas: Vec<Meta> = inputs.iter().map(Meta::of).collect();
        let rule = infer(&primitive, &metas);
        let operands: Vec<Operand<'_>> = inputs.iter().map(AsOperand::as_operand).collect();
        let result = Reference.apply(&primitive, &operands);
        match (&rule, &result) {
            (Ok(meta), Ok(tensor)) => prop_assert_eq!(meta, &Meta::of(tensor)),
            (Ok(_), Err(Error::NumericalFailure { .. })) => prop_assert!(dtype.is_integer()),
            (Err(rule), Err(error)) => prop_assert_eq!(rule.to_string(), error.to_string()),
            _ => prop_assert!(false, "{:?}: rule {:?}, result {:?}", primitive, rule, result),
        }
        let stored: Vec<_> = inputs.iter().zip(&ways).map(|(input, &way)| scattered(input, way)).collect();
        let views: Vec<TensorView<'_>> = stored.iter().map(|(tensor, view)| view(tensor)).collect();
        let operands: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
        match (Reference.apply(&primitive, &operands), result) {
            (Ok(strided), Ok(dense)) => prop_assert!(same_bits(&strided, &dense), "{strided} {dense}"),
            (Err(strided), Err(dense)) => prop_assert_eq!(strided.to_string(), dense.to_string()),
            (strided, dense) => prop_assert!(false, "{strided:?} {dense:?}"),
        }
    }
}

macro_rules! names {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        &[$($(stringify!($method),)*)*]
    };
}

#[test]
fn no_row_of_the_table_is_left_out_above() {
    let table: &[&str] = vocabulary!(names);
    let mut drawn = BTreeSet::new();
    for row in 0..ROWS {
        for first in 0..20 {
            let (primitive, _) = call(row, &[2, 2], &[first]);
            drawn.insert(primitive.name());
        }
    }
    assert_eq!(drawn, table.iter().copied().collect::<BTreeSet<_>>());
}

/// Says which dtype a row's function returns.
struct OutDType;

impl ElementwiseVisitor for OutDType {
    type Output = DType;

    fn unary<T: Scalar, F: Unary<T>>(self, _function: F) -> DType {
        F::Out::DTYPE
    }

    fn binary<T: Scalar, F: Binary<T>>(self, _function: F) -> DType {
        F::Out::DTYPE
    }

    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(self, _function: F) -> DType {
        F::Out::DTYPE
    }
}

impl ReductionVisitor for OutDType {
    type Output = DType;

    fn reduce<T: Scalar, R: Reducer<T>>(self, _reducer: R) -> DType {
        T::DTYPE
    }
}

#[test]
fn functions_exist_exactly_where_rules_accept() {
    for row in 0..=18 {
        for die in 0..30 {
            for &dtype in DType::ALL {
                let (primitive, shapes) = call(row, &[], &[die]);
                let function = match &primitive {
                    Primitive::Elementwise(row) => visit_elementwise(row, dtype, OutDType),
                    Primitive::Analytic(row) => visit_analytic(row, dtype, OutDType),
                    Primitive::Reduction(row) => visit_reduction(row, dtype, OutDType),
                    other => panic!("{other:?}"),
                };
                let selects = primitive == Elementwise::Select.into();
                let inputs: Vec<Meta> = (0..shapes.len())
                    .map(|place| if selects && place == 0 { DType::Bool } else { dtype })
                    .map(|dtype| Meta { dtype, shape: Shape::default() })
                    .collect();
                let rule = infer(&primitive, &inputs).map(|meta| meta.dtype);
                let function = function.map_err(|problem| problem.of(primitive.name()));
                assert_eq!(format!("{rule:?}"), format!("{function:?}"), "{primitive:?} {dtype}");
            }
        }
    }
}
