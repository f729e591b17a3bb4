//! Requests made of operands with one axis or two: which matrices they are, and what is refused.

use tenferro_provider::{Error, Product};
use tenferro_tensor::{AsOperand, DType, Tensor, Validation};

/// The extents `[m, n, k]` of a product of such operands over an axis each, or why it is none.
fn request(
    [lhs, rhs, out]: [(DType, &[usize]); 3],
    over: [usize; 2],
) -> Result<[usize; 3], Validation> {
    let zeros = |(dtype, extents)| Tensor::zeros(dtype, extents).expect("few");
    let (lhs, rhs, mut out) = (zeros(lhs), zeros(rhs), zeros(out));
    let out = out.as_operand_mut().expect("nobody else has it");
    match Product::of_two(lhs.as_operand(), rhs.as_operand(), out, over) {
        Ok(product) => Ok([product.m(), product.n(), product.k()]),
        Err(Error::InvalidProduct(problem)) => Err(problem),
        Err(other) => panic!("{other}"),
    }
}

fn extents(
    lhs: &[usize],
    rhs: &[usize],
    out: &[usize],
    over: [usize; 2],
) -> Result<[usize; 3], Validation> {
    request([lhs, rhs, out].map(|extents| (DType::F64, extents)), over)
}

#[test]
fn matrices_come_with_their_axes_in_either_order() {
    assert_eq!(extents(&[2, 3], &[3, 4], &[2, 4], [1, 0]), Ok([2, 4, 3]));
    assert_eq!(extents(&[3, 2], &[3, 4], &[2, 4], [0, 0]), Ok([2, 4, 3]));
    assert_eq!(extents(&[3, 2], &[4, 3], &[2, 4], [0, 1]), Ok([2, 4, 3]));
}

#[test]
fn a_vector_is_a_row_on_the_left_and_a_column_on_the_right() {
    assert_eq!(extents(&[3], &[3, 4], &[4], [0, 0]), Ok([1, 4, 3]));
    assert_eq!(extents(&[3], &[4, 3], &[4], [0, 1]), Ok([1, 4, 3]));
    assert_eq!(extents(&[2, 3], &[3], &[2], [1, 0]), Ok([2, 1, 3]));
    assert_eq!(extents(&[3], &[3], &[], [0, 0]), Ok([1, 1, 3]));
    assert_eq!(extents(&[0], &[0], &[], [0, 0]), Ok([1, 1, 0]));
}

#[test]
fn the_matrices_of_vectors_lie_where_their_elements_do() {
    let steps: Vec<f64> = (0..6).map(f64::from).collect();
    let x = Tensor::from_vec_col_major(vec![6], steps).expect("six");
    let every_other = x.view().slice(0, .., -2).expect("inside");
    let mut out = Tensor::zeros(DType::F64, [0_usize; 0]).expect("one");
    let out = out.as_operand_mut().expect("nobody else has it");
    let product = Product::of_two(every_other.as_operand(), every_other.as_operand(), out, [0, 0]);
    let product = product.expect("two vectors");
    let (lhs, rhs) = (product.lhs(), product.rhs());
    assert_eq!(lhs.data, every_other.as_operand().data());
    assert_eq!(lhs.transposed(), rhs);
    assert_eq!((lhs.col_stride, rhs.row_stride), (-2, -2));
}

#[test]
fn what_does_not_fit_is_said_of_the_operand() {
    let refused = |lhs: &[usize], rhs: &[usize], out: &[usize], over| {
        extents(lhs, rhs, out, over).expect_err("it does not fit").to_string()
    };
    let said = refused(&[3], &[4, 5], &[5], [0, 0]);
    assert!(said.contains("contracted axis"), "{said}");
    let said = refused(&[3], &[3, 5], &[4], [0, 0]);
    assert!(said.contains("columns of the result"), "{said}");
    let said = refused(&[2, 3], &[3], &[3], [1, 0]);
    assert!(said.contains("rows of the result"), "{said}");
    let said = refused(&[3], &[3, 5], &[1, 5], [0, 0]);
    assert!(said.contains("the shape of out"), "{said}");
    let said = refused(&[3], &[3, 5], &[5], [1, 0]);
    assert!(said.contains("the shape of lhs"), "{said}");
    let said = refused(&[2, 3], &[3, 5, 1], &[2, 5], [1, 0]);
    assert!(said.contains("the shape of rhs"), "{said}");
    let said = refused(&[], &[3], &[], [0, 0]);
    assert!(said.contains("the shape of lhs"), "{said}");
}

#[test]
fn operands_of_several_dtypes_or_of_truth_values_make_no_product() {
    let vectors = |dtypes: [DType; 3]| {
        let [lhs, rhs, out] = dtypes;
        request([(lhs, &[3]), (rhs, &[3]), (out, &[])], [0, 0])
    };
    let (f64, f32) = (DType::F64, DType::F32);
    assert!(matches!(vectors([f64, f32, f64]), Err(Validation::DTypeMismatch { .. })));
    assert!(matches!(vectors([f64, f64, f32]), Err(Validation::DTypeMismatch { .. })));
    assert!(matches!(vectors([DType::Bool; 3]), Err(Validation::MeaninglessDType { .. })));
}
