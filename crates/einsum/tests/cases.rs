//! Inputs on which einsum goes wrong in the field, and the rules of labels.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_einsum::{Label, Path, Result, Subscripts, einsum};
use tenferro_ops::reference::Reference;
use tenferro_tensor::{AsOperand, DType, Operand, Scalar, Tensor};

fn row_major<T: Scalar>(shape: &[usize], elements: impl IntoIterator<Item = T>) -> Tensor {
    Tensor::from_vec_row_major(shape, elements.into_iter().collect()).unwrap()
}

fn arange(shape: &[usize]) -> Tensor {
    row_major(shape, (0..shape.iter().product::<usize>()).map(|i| i as f64))
}

fn run(subscripts: &str, operands: &[&Tensor]) -> Result<Tensor> {
    let operands: Vec<Operand<'_>> = operands.iter().map(|x| x.as_operand()).collect();
    einsum(&mut Reference, subscripts, &operands, &Path::LeftToRight)
}

fn values(subscripts: &str, operands: &[&Tensor]) -> (Vec<usize>, Vec<f64>) {
    let result = run(subscripts, operands).unwrap();
    (result.shape().to_vec(), result.to_vec_row_major().unwrap())
}

#[test]
fn f27_a_thrice_repeated_label_takes_the_space_diagonal() {
    let x = row_major(&[2, 2, 2], [1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 4.0]);
    assert_eq!(values("iii->i", &[&x]), (vec![2], vec![1.0, 4.0]));
    assert_eq!(values("iii->", &[&x]), (vec![], vec![5.0]));
}

#[test]
fn f28_transposed_and_repeated_labels_pair_the_right_axes() {
    let (a, b) = (arange(&[2, 3]), arange(&[3, 2]));
    // sum over a, b of (3a + b)(2b + a)
    let expected = (0..2).flat_map(|i| (0..3).map(move |j| ((3 * i + j) * (2 * j + i)) as f64));
    assert_eq!(values("ab,ba->", &[&a, &b]), (vec![], vec![expected.sum()]));
    let c = arange(&[2, 3, 2]);
    let expected = (0..2_usize)
        .map(|k| {
            (0..2)
                .flat_map(|i| (0..3).map(move |j| ((6 * i + 2 * j + k) * (2 * j + i)) as f64))
                .sum()
        })
        .collect();
    assert_eq!(values("abc,ba->c", &[&c, &b]), (vec![2], expected));
    assert_eq!(values("iij->i", &[&arange(&[2, 2, 3])]), (vec![2], vec![3.0, 30.0]));
}

#[test]
fn f29_a_label_does_not_broadcast() {
    let (long, short) = (arange(&[2]), arange(&[1]));
    for (subscripts, operands) in
        [("i,i->", [&long, &short]), ("i,i->i", [&long, &short]), ("i,i->i", [&short, &long])]
    {
        let error = run(subscripts, &operands).unwrap_err();
        assert!(matches!(error, tenferro_einsum::Error::ExtentMismatch { .. }), "{error}");
    }
    assert!(run("ii->i", &[&arange(&[2, 1])]).is_err());
}

#[test]
fn f30_empty_operands_give_empty_results_on_every_path() {
    let (x, a, b) = (arange(&[1, 1, 0]), arange(&[1]), arange(&[1]));
    let operands = [x.as_operand(), a.as_operand(), b.as_operand()];
    for pairs in [[(0, 1), (0, 1)], [(1, 2), (0, 1)], [(0, 2), (0, 1)], [(2, 0), (1, 0)]] {
        let path = Path::Pairs(pairs.to_vec());
        let result = einsum(&mut Reference, "abc,a,b->c", &operands, &path).unwrap();
        assert_eq!(&result.shape()[..], [0]);
    }
    assert_eq!(values("abc,a,b->", &[&x, &a, &b]), (vec![], vec![0.0]));
    assert_eq!(values("ij,jk->ik", &[&arange(&[2, 0]), &arange(&[0, 2])]).1, vec![0.0; 4]);
}

#[test]
fn f31_ellipses_between_labels_and_operands_without_axes() {
    let (a, b) = (arange(&[2, 1, 3]), arange(&[3, 2]));
    assert_eq!(
        values("i...k,k...j->i...j", &[&a, &b]),
        (vec![2, 1, 2], vec![10.0, 13.0, 28.0, 40.0])
    );
    let two = Tensor::scalar(2.0_f64).unwrap();
    assert_eq!(values(",ij->ij", &[&two, &b]).1, vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(values("i,i->", &[&arange(&[3]), &arange(&[3])]), (vec![], vec![5.0]));
    assert_eq!(values("->", &[&two]), (vec![], vec![2.0]));
}

#[test]
fn p11_repeated_labels_of_the_output_embed_a_diagonal() {
    let x = arange(&[3]);
    assert_eq!(
        values("i->ii", &[&x]),
        (vec![3, 3], vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0])
    );
    let m = row_major(&[2, 2], [1.0, 2.0, 3.0, 4.0]);
    // result[i, j, k] = m[i, j] where k == i
    assert_eq!(
        values("ij->iji", &[&m]),
        (vec![2, 2, 2], vec![1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0])
    );
    assert_eq!(values("ii->ii", &[&m]).1, vec![1.0, 0.0, 0.0, 4.0]);
    let cube = values("i->iii", &[&row_major(&[2], [5.0, 7.0])]).1;
    assert_eq!(cube, vec![5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0]);
}

#[test]
fn p11_labels_are_any_characters_and_spaces_are_ignored() {
    let (a, b) = (arange(&[2, 3]), arange(&[3, 2]));
    let expected = values("ij,jk->ik", &[&a, &b]);
    for subscripts in [" i j , jk ->\tik ", "αβ,βγ->αγ", "🦀é,é7->🦀7", "Ii,iJ->IJ", "\"',';->\";"]
    {
        assert_eq!(values(subscripts, &[&a, &b]), expected, "{subscripts}");
    }
}

#[test]
fn p11_numbers_name_hundreds_of_axes() {
    // A chain of 300 matrices, each the same rotation by a quarter turn: 300 of them are the identity.
    let turn = row_major(&[2, 2], [0.0, -1.0, 1.0, 0.0]);
    let inputs = (0..300_u32).map(|i| vec![Label::from(i), Label::from(i + 1)]).collect();
    let chain = Subscripts::new(inputs, vec![Label::from(0), Label::from(300)]).unwrap();
    let operands = vec![turn.as_operand(); 300];
    let result = einsum(&mut Reference, &chain, &operands, &Path::LeftToRight).unwrap();
    assert_eq!(result.to_vec_row_major::<f64>().unwrap(), [1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn truth_values_take_and_for_products_and_or_for_sums() {
    let a = row_major(&[2, 3], [true, false, true, false, false, true]);
    let b = row_major(&[3, 2], [true, false, true, true, false, false]);
    let result = run("ij,jk->ik", &[&a, &b]).unwrap();
    assert_eq!(result.dtype(), DType::Bool);
    assert_eq!(result.to_vec_row_major::<bool>().unwrap(), [true, false, false, false]);
    // More than 256 and more than 2^16 true terms do not wrap to false.
    let many = Tensor::ones(DType::Bool, [1 << 17]).unwrap();
    assert!(run("i,i->", &[&many, &many]).unwrap().get::<bool>(&[]).unwrap());
    assert_eq!(run("ij->j", &[&a]).unwrap().as_slice::<bool>().unwrap(), [true, false, true]);
    assert_eq!(run("ij->ji", &[&a]).unwrap().dtype(), DType::Bool);
}

#[test]
fn p13_an_intermediate_too_large_to_address_is_refused_before_anything_runs() {
    let wide = Tensor::zeros(DType::F64, [1 << 16]).unwrap();
    let operands = [&wide; 4];
    let error = run("a,b,c,d->abcd", &operands).unwrap_err();
    insta::assert_snapshot!(error, @"einsum: shape (65536, 65536, 65536, 65536) has more elements than can be addressed");
}

#[test]
fn complex_products_do_not_conjugate() {
    use tenferro_tensor::Complex64;
    let i = Tensor::scalar(Complex64::new(0.0, 1.0)).unwrap();
    let product = run(",->", &[&i, &i]).unwrap();
    assert_eq!(product.get::<Complex64>(&[]).unwrap(), Complex64::new(-1.0, 0.0));
}
