//! Every row of the vocabulary, for every dtype, in any layout: rule, functions and reference agree.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;

use calls::{Call, Dice, ROWS, call};
use proptest::prelude::*;
use tenferro_ops::{
    Meta, infer,
    reference::Reference,
    scalar::{
        Binary, Cast, CombinerVisitor, ElementwiseVisitor, Reducer, ReductionVisitor, Ternary,
        Unary, visit_analytic, visit_combiner, visit_elementwise, visit_reduction,
    },
};
use tenferro_tensor::{
    AsOperand, DType, Error, Operand, Primitive, Scalar, Shape, Tensor, TensorView, Validation,
    Vocabulary, Windowed, dispatch,
};

/// A tensor of small numbers, zero among them.
fn tensor(dtype: DType, extents: &[usize]) -> Tensor {
    let elements = extents.iter().product::<usize>();
    dispatch!(dtype, any T => {
        let values = (0..elements).map(|at| <T as Cast>::from_i64((at * 7 % 5) as i64 - 1)).collect();
        Tensor::from_vec_col_major(extents, values).unwrap()
    })
}

/// A tensor of numbers that are mostly below another.
fn indices(dtype: DType, extents: &[usize], below: usize, dice: &mut Dice) -> Tensor {
    let elements = extents.iter().product::<usize>();
    dispatch!(dtype, any T => {
        let values = (0..elements).map(|_| <T as Cast>::from_i64(dice.index(below))).collect();
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
    #![proptest_config(ProptestConfig { cases: 6000, ..ProptestConfig::default() })]

    #[test]
    fn x53_the_result_is_what_the_rule_says_in_every_layout(
        row in proptest::sample::select(ROWS),
        dtype in proptest::sample::select(DType::ALL),
        extents in prop::collection::vec(0..4_usize, 0..4),
        seed: u64,
        ways in prop::collection::vec(0..4_usize, 3),
    ) {
        let Call { primitive, operands } = call(row, &extents, &mut Dice(seed));
        let mut dice = Dice(seed);
        let inputs: Vec<Tensor> = operands
            .iter()
            .map(|wanted| match wanted.below {
                Some(below) => indices(wanted.dtype.unwrap_or(dtype), &wanted.extents, below, &mut dice),
                None => tensor(wanted.dtype.unwrap_or(dtype), &wanted.extents),
            })
            .collect();
        let metas: Vec<Meta> = inputs.iter().map(Meta::of).collect();
        let rule = infer(&primitive, &metas);
        let operands: Vec<Operand<'_>> = inputs.iter().map(AsOperand::as_operand).collect();
        let result = Reference.apply(&primitive, &operands);
        match (&rule, &result) {
            (Ok(meta), Ok(tensor)) => prop_assert_eq!(meta, &Meta::of(tensor)),
            (Ok(_), Err(Error::NumericalFailure { .. })) => prop_assert!(dtype.is_integer()),
            // Indices are looked at while computing.
            (Ok(_), Err(error)) if matches!(error.validation(), Some(Validation::IndexOutOfRange { .. })) => {}
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

    fn convert(self, _from: DType, to: DType) -> DType {
        to
    }

    fn bitcast(self, _from: DType, to: DType) -> DType {
        to
    }
}

impl ReductionVisitor for OutDType {
    type Output = DType;

    fn reduce<T: Scalar, R: Reducer<T>>(self, _reducer: R) -> DType {
        R::Out::DTYPE
    }
}

impl CombinerVisitor for OutDType {
    type Output = DType;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, _reducer: R) -> DType {
        R::Out::DTYPE
    }
}

#[test]
fn functions_exist_exactly_where_rules_accept() {
    for (&row, seed) in ROWS.iter().flat_map(|row| (0..60).map(move |seed| (row, seed))) {
        for &dtype in DType::ALL {
            let Call { primitive, operands } = call(row, &[], &mut Dice(seed));
            let function = match &primitive {
                Primitive::Elementwise(row) => visit_elementwise(row, dtype, OutDType),
                Primitive::Analytic(row) => visit_analytic(row, dtype, OutDType),
                // Those without a reducer look for a place.
                Primitive::Reduction(row) => {
                    visit_reduction(row, dtype, OutDType).map(|dtype| dtype.unwrap_or(DType::I64))
                }
                Primitive::Windowed(Windowed::ReduceWindow { combiner, .. }) => {
                    visit_combiner(*combiner, dtype, OutDType)
                }
                Primitive::Scan(_)
                | Primitive::Structural(_)
                | Primitive::Indexing(_)
                | Primitive::Sorting(_)
                | Primitive::Dot(_) => continue,
            };
            let inputs: Vec<Meta> = operands
                .iter()
                .map(|wanted| Meta {
                    dtype: wanted.dtype.unwrap_or(dtype),
                    shape: Shape::default(),
                })
                .collect();
            let rule = infer(&primitive, &inputs).map(|meta| meta.dtype);
            let function = function.map_err(|problem| problem.of(primitive.name()));
            assert_eq!(format!("{rule:?}"), format!("{function:?}"), "{primitive:?} {dtype}");
        }
    }
}
