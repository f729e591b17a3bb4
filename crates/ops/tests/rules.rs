//! What the rules refuse, word for word, and the shapes they give.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use tenferro_ops::{Described, Meta, Op, infer, infer_contraction};
use tenferro_tensor::{
    Analytic, BatchPosition, Comparison, Contraction, DType, Dot, Elementwise, Indexing, KeepAxes,
    Primitive, Reduction, Shape, Structural,
};

fn meta(dtype: DType, extents: &[usize]) -> Meta {
    Meta { dtype, shape: Shape::new(extents).unwrap() }
}

fn f64s(extents: &[usize]) -> Meta {
    meta(DType::F64, extents)
}

fn refusal(primitive: impl Into<Primitive>, inputs: &[Meta]) -> String {
    infer(&primitive.into(), inputs).unwrap_err().to_string()
}

fn shape(primitive: impl Into<Primitive>, inputs: &[Meta]) -> Vec<usize> {
    infer(&primitive.into(), inputs).unwrap().shape.to_vec()
}

#[test]
fn operands_are_counted() {
    let one = f64s(&[2]);
    insta::assert_snapshot!(refusal(Elementwise::Add, std::slice::from_ref(&one)), @"add: operands has 1 entries where 2 are needed");
    insta::assert_snapshot!(refusal(Analytic::Exp, &[one.clone(), one]), @"exp: operands has 2 entries where 1 are needed");
    insta::assert_snapshot!(refusal(Structural::Concatenate { axis: 0 }, &[]), @"concatenate: needs at least one operand");
}

#[test]
fn dtypes_are_never_promoted() {
    let mixed = [f64s(&[2]), meta(DType::F32, &[2])];
    for row in
        [Elementwise::Add, Elementwise::Maximum, Elementwise::Compare { relation: Comparison::Eq }]
    {
        let text = refusal(row, &mixed);
        assert!(text.ends_with("dtypes f64 and f32 differ; convert one of them first"), "{text}");
    }
    insta::assert_snapshot!(refusal(Analytic::Pow, &mixed), @"pow: dtypes f64 and f32 differ; convert one of them first");
    insta::assert_snapshot!(refusal(Structural::Concatenate { axis: 0 }, &mixed), @"concatenate: dtypes f64 and f32 differ; convert one of them first");
    let pad = Structural::Pad { padding: [(1, 0, 0)].into() };
    insta::assert_snapshot!(refusal(pad, &[f64s(&[2]), meta(DType::I8, &[])]), @"pad: dtypes f64 and i8 differ; convert one of them first");
}

#[test]
fn dtypes_without_meaning_are_refused() {
    let truth = meta(DType::Bool, &[2]);
    let complex = meta(DType::C64, &[2]);
    let integers = meta(DType::I32, &[2]);
    insta::assert_snapshot!(refusal(Elementwise::Add, &[truth.clone(), truth.clone()]), @"add: not defined for bool; it needs numbers");
    insta::assert_snapshot!(refusal(Elementwise::Maximum, &[complex.clone(), complex.clone()]), @"maximum: not defined for c64; it needs integers or real floats");
    insta::assert_snapshot!(refusal(Analytic::Sqrt, &[integers]), @"sqrt: not defined for i32; it needs real or complex floats");
    let less = Elementwise::Compare { relation: Comparison::Lt };
    insta::assert_snapshot!(refusal(less.clone(), &[complex.clone(), complex.clone()]), @"compare: not defined for c64; complex numbers have no order, compare them with eq or ne");
    assert_eq!(infer(&less.into(), &[truth.clone(), truth.clone()]).unwrap().dtype, DType::Bool);
    let max = Reduction::Max { axes: [0].into(), keep: KeepAxes::Drop };
    insta::assert_snapshot!(refusal(max, std::slice::from_ref(&complex)), @"max: not defined for c64; it needs integers or real floats");
    let dot = Dot::DotGeneral { contraction: Contraction::over([0], [0]) };
    insta::assert_snapshot!(refusal(dot, &[truth.clone(), truth]), @"dot_general: not defined for bool; it needs numbers");
    insta::assert_snapshot!(refusal(Elementwise::Select, &[f64s(&[]), f64s(&[]), f64s(&[])]), @"select: the tensor holds f64, not bool; convert it first");
}

#[test]
fn shapes_broadcast_from_the_right() {
    let add = |lhs: &[usize], rhs: &[usize]| shape(Elementwise::Add, &[f64s(lhs), f64s(rhs)]);
    assert_eq!(add(&[2, 1, 3], &[4, 1]), [2, 4, 3]);
    assert_eq!(add(&[], &[2, 0]), [2, 0]);
    assert_eq!(add(&[2, 1], &[2, 0]), [2, 0]);
    insta::assert_snapshot!(refusal(Elementwise::Add, &[f64s(&[5]), f64s(&[0])]), @"add: shapes (5,) and (0,) do not broadcast");
    insta::assert_snapshot!(refusal(Analytic::Pow, &[f64s(&[2, 3]), f64s(&[2])]), @"pow: shapes (2, 3) and (2,) do not broadcast");
    let select = [meta(DType::Bool, &[3]), f64s(&[2, 1]), f64s(&[4, 1, 1])];
    assert_eq!(shape(Elementwise::Select, &select), [4, 2, 3]);
}

proptest! {
    #[test]
    fn elementwise_shapes_are_axis_by_axis_the_extent_that_is_not_one(
        lhs in prop::collection::vec(0..3_usize, 0..4),
        rhs in prop::collection::vec(0..3_usize, 0..4),
    ) {
        let rank = lhs.len().max(rhs.len());
        let padded = |extents: &[usize]| [vec![1; rank - extents.len()], extents.to_vec()].concat();
        let expected: Option<Vec<usize>> = padded(&lhs)
            .into_iter()
            .zip(padded(&rhs))
            .map(|pair| match pair {
                (1, other) | (other, 1) => Some(other),
                (left, right) => (left == right).then_some(left),
            })
            .collect();
        let result = infer(&Elementwise::Add.into(), &[f64s(&lhs), f64s(&rhs)]);
        prop_assert_eq!(result.ok().map(|meta| meta.shape.to_vec()), expected);
    }
}

#[test]
fn complex_numbers_have_real_magnitudes() {
    for (dtype, real) in
        [(DType::C32, DType::F32), (DType::C64, DType::F64), (DType::I8, DType::I8)]
    {
        assert_eq!(infer(&Elementwise::Abs.into(), &[meta(dtype, &[2])]).unwrap().dtype, real);
    }
}

#[test]
fn reductions_name_each_axis_once() {
    let sum = |axes: &[usize]| Reduction::Sum { axes: axes.into(), keep: KeepAxes::Drop };
    let x = [f64s(&[2, 3, 4])];
    assert_eq!(shape(sum(&[2, 0]), &x), [3]);
    assert_eq!(shape(sum(&[]), &x), [2, 3, 4]);
    let keep = Reduction::Prod { axes: [1].into(), keep: KeepAxes::Keep };
    assert_eq!(shape(keep, &x), [2, 1, 4]);
    insta::assert_snapshot!(refusal(sum(&[3]), &x), @"sum: axis 3 does not exist in shape (2, 3, 4)");
    insta::assert_snapshot!(refusal(sum(&[0, 1, 0]), &x), @"sum: axis 0 is named twice");
    let max = |axes: &[usize]| Reduction::Max { axes: axes.into(), keep: KeepAxes::Drop };
    insta::assert_snapshot!(refusal(max(&[0]), &[f64s(&[0, 3])]), @"max: no maximum over axis 0 of shape (0, 3), which is empty");
    insta::assert_snapshot!(refusal(max(&[5]), &[f64s(&[0, 3])]), @"max: axis 5 does not exist in shape (0, 3)");
    assert_eq!(shape(max(&[1]), &[f64s(&[0, 3])]), [0]);
}

#[test]
fn transposes_name_every_axis() {
    let transpose = |axes: &[usize]| Structural::Transpose { permutation: axes.into() };
    let x = [f64s(&[2, 3, 4])];
    assert_eq!(shape(transpose(&[2, 0, 1]), &x), [4, 2, 3]);
    insta::assert_snapshot!(refusal(transpose(&[0, 1]), &x), @"transpose: permutation has 2 entries where 3 are needed");
    insta::assert_snapshot!(refusal(transpose(&[0, 1, 1]), &x), @"transpose: axis 1 is named twice");
    insta::assert_snapshot!(refusal(transpose(&[0, 1, 3]), &x), @"transpose: axis 3 does not exist in shape (2, 3, 4)");
}

#[test]
fn reshapes_keep_the_number_of_elements() {
    let reshape = |extents: &[usize]| Structural::Reshape { extents: extents.into() };
    assert_eq!(shape(reshape(&[6, 1]), &[f64s(&[2, 3])]), [6, 1]);
    assert_eq!(shape(reshape(&[7, 0]), &[f64s(&[0, 3])]), [7, 0]);
    assert_eq!(shape(reshape(&[]), &[f64s(&[1, 1])]), [0; 0]);
    insta::assert_snapshot!(refusal(reshape(&[4]), &[f64s(&[2, 3])]), @"reshape: shape (4,) needs 4 elements, but there are 6");
}

#[test]
fn broadcast_in_dim_places_each_axis() {
    let stretch = |extents: &[usize], axes: &[usize]| Structural::BroadcastInDim {
        extents: extents.into(),
        axes: axes.into(),
    };
    let x = [f64s(&[1, 3])];
    assert_eq!(shape(stretch(&[3, 5, 2], &[1, 0]), &x), [3, 5, 2]);
    insta::assert_snapshot!(refusal(stretch(&[2, 3], &[0]), &x), @"broadcast_in_dim: axes has 1 entries where 2 are needed");
    insta::assert_snapshot!(refusal(stretch(&[2, 3], &[0, 2]), &x), @"broadcast_in_dim: axis 2 does not exist in shape (2, 3)");
    insta::assert_snapshot!(refusal(stretch(&[3, 3], &[1, 1]), &x), @"broadcast_in_dim: axis 1 is named twice");
    insta::assert_snapshot!(refusal(stretch(&[2, 4], &[0, 1]), &x), @"broadcast_in_dim: shapes (1, 3) and (2, 4) do not broadcast");
}

#[test]
fn concatenation_agrees_but_for_its_axis() {
    let along = |axis| Structural::Concatenate { axis };
    let parts = [f64s(&[2, 3]), f64s(&[2, 0]), f64s(&[2, 1])];
    assert_eq!(shape(along(1), &parts), [2, 4]);
    insta::assert_snapshot!(refusal(along(0), &parts), @"concatenate: other axes: extents 3 and 0 differ in shapes (2, 3) and (2, 0)");
    insta::assert_snapshot!(refusal(along(2), &parts), @"concatenate: axis 2 does not exist in shape (2, 3)");
    insta::assert_snapshot!(refusal(along(0), &[f64s(&[2]), f64s(&[2, 1])]), @"concatenate: shapes (2,) and (2, 1) differ");
}

#[test]
fn padding_counts_edges_and_gaps() {
    let pad = |axes: &[(isize, isize, usize)]| Structural::Pad { padding: axes.into() };
    let value = f64s(&[]);
    let padded = |n: usize, axis| shape(pad(&[axis]), &[f64s(&[n]), value.clone()]);
    assert_eq!(padded(3, (1, 2, 1)), [8]);
    assert_eq!(padded(0, (1, 2, 9)), [3]);
    assert_eq!(padded(4, (-1, -3, 0)), [0]);
    let x = f64s(&[4]);
    insta::assert_snapshot!(refusal(pad(&[(-3, -2, 0)]), &[x.clone(), value.clone()]), @"pad: negative padding removes more elements than the axis has");
    insta::assert_snapshot!(refusal(pad(&[]), &[x.clone(), value.clone()]), @"pad: padding has 0 entries where 1 are needed");
    insta::assert_snapshot!(refusal(pad(&[(0, 0, 0)]), &[x.clone(), f64s(&[1])]), @"pad: shapes () and (1,) differ");
    insta::assert_snapshot!(refusal(pad(&[(0, 0, usize::MAX)]), &[x, value]), @"pad: shape (18446744073709551615,) has more elements than can be addressed");
}

#[test]
fn f8_slices_stay_inside_and_run_forward() {
    let slice = |start: usize, limit: usize, stride: usize| Indexing::Slice {
        starts: [start].into(),
        limits: [limit].into(),
        strides: [stride].into(),
    };
    let x = [f64s(&[5])];
    assert_eq!(shape(slice(1, 5, 3), &x), [2]);
    assert_eq!(shape(slice(5, 5, 1), &x), [0]);
    assert_eq!(shape(slice(0, 5, usize::MAX), &x), [1]);
    insta::assert_snapshot!(refusal(slice(3, 2, 1), &x), @"slice: slice 3..2 with stride 1 of axis 0 with extent 5: the start must not be past the limit");
    insta::assert_snapshot!(refusal(slice(0, 5, 0), &x), @"slice: slice 0..5 with stride 0 of axis 0 with extent 5: the stride must be at least 1");
    insta::assert_snapshot!(refusal(slice(0, 6, 1), &x), @"slice: slice 0..6 with stride 1 of axis 0 with extent 5: the limit must not be past the extent");
    let short = Indexing::Slice { starts: [0].into(), limits: [1].into(), strides: [].into() };
    insta::assert_snapshot!(refusal(short, &x), @"slice: strides has 0 entries where 1 are needed");
}

#[test]
fn diagonals_join_and_split_axes() {
    let extract = |first, second| Indexing::ExtractDiagonal { first, second };
    assert_eq!(shape(extract(0, 2), &[f64s(&[3, 4, 3])]), [3, 4]);
    assert_eq!(shape(extract(2, 0), &[f64s(&[3, 4, 3])]), [4, 3]);
    insta::assert_snapshot!(refusal(extract(0, 1), &[f64s(&[3, 4])]), @"extract_diagonal: diagonal: extents 3 and 4 differ in shapes (3, 4) and (3, 4)");
    insta::assert_snapshot!(refusal(extract(1, 1), &[f64s(&[3, 4])]), @"extract_diagonal: axis 1 is named twice");
    let embed = |axis, new_axis| Indexing::EmbedDiagonal { axis, new_axis };
    assert_eq!(shape(embed(0, 2), &[f64s(&[3, 4])]), [3, 4, 3]);
    assert_eq!(shape(embed(1, 0), &[f64s(&[3, 4])]), [4, 3, 4]);
    insta::assert_snapshot!(refusal(embed(2, 0), &[f64s(&[3, 4])]), @"embed_diagonal: axis 2 does not exist in shape (3, 4)");
    insta::assert_snapshot!(refusal(embed(0, 3), &[f64s(&[3, 4])]), @"embed_diagonal: axis 3 does not exist in shape (3, 4)");
}

#[test]
fn f6_contractions_are_checked_even_when_empty() {
    let matrix = Contraction::over([1], [0]);
    let refused = |contraction: &Contraction, lhs: &Meta, rhs: &Meta| {
        let direct = infer_contraction(contraction, lhs, rhs).unwrap_err().to_string();
        let row = Dot::DotGeneral { contraction: contraction.clone() };
        assert_eq!(direct, refusal(row, &[lhs.clone(), rhs.clone()]));
        direct
    };
    insta::assert_snapshot!(refused(&matrix, &f64s(&[0, 3]), &f64s(&[2, 4])), @"dot_general: contracted axes: extents 3 and 2 differ in shapes (0, 3) and (2, 4)");
    insta::assert_snapshot!(refused(&matrix, &f64s(&[0, 3]), &meta(DType::F32, &[3, 4])), @"dot_general: dtypes f64 and f32 differ; convert one of them first");
    let batched =
        Contraction { lhs_batch: [0].into(), rhs_batch: [0].into(), ..Contraction::over([2], [1]) };
    insta::assert_snapshot!(refused(&batched, &f64s(&[2, 0, 3]), &f64s(&[4, 3, 0])), @"dot_general: batch axes: extents 2 and 4 differ in shapes (2, 0, 3) and (4, 3, 0)");
    insta::assert_snapshot!(refused(&Contraction::over([0, 1], [0]), &f64s(&[2, 2]), &f64s(&[2])), @"dot_general: rhs_contracting has 1 entries where 2 are needed");
    insta::assert_snapshot!(refused(&Contraction::over([2], [0]), &f64s(&[2, 2]), &f64s(&[2])), @"dot_general: axis 2 does not exist in shape (2, 2)");
    let twice = Contraction { lhs_batch: [1].into(), rhs_batch: [1].into(), ..matrix };
    insta::assert_snapshot!(refused(&twice, &f64s(&[2, 2]), &f64s(&[2, 2])), @"dot_general: axis 1 is named twice");
}

#[test]
fn contractions_order_batch_left_right_or_batch_last() {
    let leading =
        Contraction { lhs_batch: [2].into(), rhs_batch: [0].into(), ..Contraction::over([0], [2]) };
    let (lhs, rhs) = (f64s(&[7, 3, 5]), f64s(&[5, 4, 7]));
    assert_eq!(infer_contraction(&leading, &lhs, &rhs).unwrap().shape[..], [5, 3, 4]);
    let trailing = Contraction { batch: BatchPosition::Trailing, ..leading };
    assert_eq!(infer_contraction(&trailing, &lhs, &rhs).unwrap().shape[..], [3, 4, 5]);
}

#[test]
fn an_op_infers_as_its_primitive() {
    let op = Op::from(Analytic::Exp);
    assert_eq!(op.name(), "exp");
    assert_eq!(op.infer(&[f64s(&[2])]).unwrap().dtype(), DType::F64);
}
