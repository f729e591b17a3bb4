//! What is refused, and in which words.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use tenferro_einsum::{Error, Label, Path, Plan, Subscripts, einsum};
use tenferro_ops::reference::Reference;
use tenferro_tensor::{AsOperand, DType, Operand, Shape, Tensor};

fn unread(subscripts: &str) -> String {
    subscripts.parse::<Subscripts>().unwrap_err().to_string()
}

fn unplanned(subscripts: &str, shapes: &[&[usize]], path: &Path) -> String {
    let shapes: Vec<Shape> = shapes.iter().map(|shape| Shape::new(shape).unwrap()).collect();
    let shapes: Vec<&Shape> = shapes.iter().collect();
    Plan::new(subscripts, &shapes, path).unwrap_err().to_string()
}

fn unbound(subscripts: &str, shapes: &[&[usize]]) -> String {
    unplanned(subscripts, shapes, &Path::LeftToRight)
}

#[test]
fn subscripts_without_an_arrow_are_refused() {
    assert_snapshot!(unread("ij,jk"), @r#"subscripts "ij,jk" have no arrow; say what the result keeps, as in "ij,jk->ik", or nothing to sum over all: "ij->""#);
    assert_snapshot!(unread(""), @r#"subscripts "" have no arrow; say what the result keeps, as in "ij,jk->ik", or nothing to sum over all: "ij->""#);
}

#[test]
fn characters_that_are_no_labels_are_refused() {
    assert_snapshot!(unread("ij,(jk)->ik"), @r#"'(' at character 3 of subscripts "ij,(jk)->ik" is no label; write inputs separated by commas, one arrow "->" and "..." for axes without a label"#);
    assert_snapshot!(unread("i.j->ij"), @r#"'.' at character 1 of subscripts "i.j->ij" is no label; write inputs separated by commas, one arrow "->" and "..." for axes without a label"#);
    assert_snapshot!(unread("i->i->i"), @r#"'-' at character 4 of subscripts "i->i->i" is no label; write inputs separated by commas, one arrow "->" and "..." for axes without a label"#);
    assert_snapshot!(unread("ij->i,j"), @r#"',' at character 5 of subscripts "ij->i,j" is no label; write inputs separated by commas, one arrow "->" and "..." for axes without a label"#);
    assert_snapshot!(unread("ij→ji"), @r#"'→' at character 2 of subscripts "ij→ji" is no label; write inputs separated by commas, one arrow "->" and "..." for axes without a label"#);
    let comma = Subscripts::new(vec![vec![Label::Char(',')]], vec![]).unwrap_err();
    assert_snapshot!(comma, @"',' is no label; take another character or a number");
}

#[test]
fn labels_of_the_output_must_be_in_an_operand() {
    assert_snapshot!(unread("ij->ik"), @"label k of the output is in no operand; only a label of an operand has an extent");
    let number = Subscripts::new(vec![vec![Label::from(1)]], vec![Label::from(2)]).unwrap_err();
    assert_snapshot!(number, @"label #2 of the output is in no operand; only a label of an operand has an extent");
}

#[test]
fn a_term_has_one_ellipsis() {
    assert_snapshot!(unread("...i...->i"), @"operand 0 has more than one ellipsis; one stands for all axes without a label");
    assert_snapshot!(unread("...i->...i..."), @"the output has more than one ellipsis; one stands for all axes without a label");
}

#[test]
fn operands_must_be_as_many_as_subscripts() {
    assert_snapshot!(unbound("ij,jk->ik", &[&[2, 3]]), @r#"subscripts "ij,jk->ik" are for 2 operands, but there are 1"#);
    assert_snapshot!(unbound("ij->ij", &[]), @"there are no operands; einsum needs at least one");
    assert_snapshot!(Subscripts::new(vec![], vec![]).unwrap_err(), @"there are no operands; einsum needs at least one");
}

#[test]
fn every_axis_needs_a_label() {
    assert_snapshot!(unbound("ij,jk->ik", &[&[2, 3], &[3]]), @r#"operand 1 has rank 1, but its subscripts "jk" are for exactly 2; every axis needs a label, or an ellipsis"#);
    assert_snapshot!(unbound("i...j->...", &[&[2]]), @r#"operand 0 has rank 1, but its subscripts "i...j" are for at least 2; every axis needs a label, or an ellipsis"#);
    assert_snapshot!(unbound("->", &[&[2]]), @r#"operand 0 has rank 1, but its subscripts "" are for exactly 0; every axis needs a label, or an ellipsis"#);
}

#[test]
fn a_label_has_one_extent() {
    assert_snapshot!(unbound("ij,jk->ik", &[&[2, 3], &[4, 5]]), @"label j has extent 3 in operand 0 and 4 in operand 1; a label has one extent everywhere, only an ellipsis broadcasts");
    assert_snapshot!(unbound("ii->i", &[&[2, 1]]), @"label i has extent 2 in operand 0 and 1 in operand 0; a label has one extent everywhere, only an ellipsis broadcasts");
}

#[test]
fn ellipses_broadcast_or_are_refused() {
    assert_snapshot!(unbound("...i,...i->...", &[&[4, 2, 3], &[5, 1, 3]]), @"axis 2 from the last of the ellipsis has extent 4 in operand 0 and 5 in operand 1; they must agree or be 1");
    assert_snapshot!(unbound("...i->i", &[&[4, 2, 3]]), @r#"the ellipsis stands for axes (2) that the output does not keep; write "..." in the output, or labels to sum them"#);
}

#[test]
fn paths_name_pairs_of_what_is_left() {
    let shapes: [&[usize]; 3] = [&[2, 3], &[3, 4], &[4, 2]];
    let path =
        |pairs: &[(usize, usize)]| unplanned("ij,jk,kl->il", &shapes, &Path::Pairs(pairs.to_vec()));
    assert_snapshot!(path(&[(0, 1)]), @"the path has 1 steps, but 3 operands are contracted in 2");
    assert_snapshot!(path(&[(0, 1), (0, 2)]), @"step 1 of the path names positions 0 and 2, but 2 operands are left then; it needs two different ones of them");
    assert_snapshot!(path(&[(1, 1), (0, 1)]), @"step 0 of the path names positions 1 and 1, but 3 operands are left then; it needs two different ones of them");
}

#[test]
fn operands_have_one_dtype_and_the_shapes_of_the_plan() {
    let (x, y) = (Tensor::zeros(DType::F64, [2]).unwrap(), Tensor::zeros(DType::F32, [2]).unwrap());
    let operands = [x.as_operand(), x.as_operand(), y.as_operand()];
    let mixed = einsum(&mut Reference, "i,i,i->", &operands, &Path::LeftToRight).unwrap_err();
    assert_snapshot!(mixed, @"operand 0 holds f64 and operand 2 holds f32; convert one of them first");
    let shape = Shape::new(&[3]).unwrap();
    let plan = Plan::new("i->", &[&shape], &Path::default()).unwrap();
    let other = plan.run(&mut Reference, &[x.as_operand()]).unwrap_err();
    assert_snapshot!(other, @"operand 0 does not have the shape that the plan was made for; make a plan for these operands");
    let none: [Operand<'_>; 0] = [];
    assert!(matches!(plan.run(&mut Reference, &none), Err(Error::OtherShape { operand: 0 })));
}

#[test]
fn a_refusal_keeps_its_type_as_a_tensor_error() {
    let refusal = "i".parse::<Subscripts>().unwrap_err();
    let tenferro_tensor::Error::BackendSource { op: "einsum", source } = refusal.into() else {
        panic!("not a source");
    };
    assert!(matches!(source.downcast_ref::<Error>(), Some(Error::NoArrow { .. })));
}
