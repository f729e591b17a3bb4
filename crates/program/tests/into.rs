//! Runs into given outputs: what they hold afterwards, and what is refused before anything runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use tenferro_ops::reference::Reference;
use tenferro_program::{Argument, Error, Passes, Prepared, Spec, trace};
use tenferro_tensor::{AsOperand, DType, OperandMut, Shape, Tensor};

fn real(extents: &[usize], elements: &[f64]) -> Tensor {
    Tensor::from_vec_col_major(extents.to_vec(), elements.to_vec()).unwrap()
}

/// `x + y`, `x` itself, and a constant.
fn prepared() -> Prepared {
    let specs = [Spec::new(DType::F64, [2, 2]).unwrap(), Spec::new(DType::F64, [2, 2]).unwrap()];
    let program = trace(&specs, |xs| {
        let seven = xs[0].constant(real(&[1], &[7.0]));
        vec![&xs[0] + &xs[1], xs[0].clone(), seven]
    });
    program.unwrap().prepare(&Passes::all()).unwrap()
}

#[test]
fn results_are_written_into_outputs_of_any_strides() {
    let (x, y) = (real(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), real(&[2, 2], &[10.0; 4]));
    let mut sum = real(&[2, 4], &[0.0; 8]);
    let (mut same, mut seven) = (real(&[2, 2], &[f64::NAN; 4]), real(&[1], &[0.0]));
    {
        // Every other column, from the last to the first.
        let mut columns = sum.view_mut().unwrap().slice(1, 0.., 2).unwrap().reverse(1).unwrap();
        let mut outputs = [
            columns.as_operand_mut(),
            same.as_operand_mut().unwrap(),
            seven.as_operand_mut().unwrap(),
        ];
        let arguments = vec![(&x).into(), y.into()];
        prepared().run_into(&mut Reference, arguments, &mut outputs).unwrap();
    }
    assert_eq!(sum.as_slice::<f64>().unwrap(), [13.0, 14.0, 0.0, 0.0, 11.0, 12.0, 0.0, 0.0]);
    assert_eq!(same.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(seven.as_slice::<f64>().unwrap(), [7.0]);
}

#[test]
fn outputs_that_do_not_fit_are_refused_before_anything_is_written() {
    let x = real(&[2, 2], &[1.0; 4]);
    let refusal = |tensors: &mut [Tensor]| {
        let mut outputs: Vec<OperandMut<'_>> =
            tensors.iter_mut().map(|tensor| tensor.as_operand_mut().unwrap()).collect();
        let arguments = vec![(&x).into(), (&x).into()];
        prepared().run_into(&mut Reference, arguments, &mut outputs).unwrap_err()
    };
    let mut tensors = [real(&[2, 2], &[5.0; 4]), real(&[2, 2], &[5.0; 4]), real(&[2], &[5.0; 2])];
    assert_snapshot!(refusal(&mut tensors[..2]), @"the program has 3 results and was given 2 outputs");
    assert_snapshot!(refusal(&mut tensors), @"output 2 is f64[2] and the result is f64[1]");
    for tensor in &tensors {
        assert!(tensor.as_slice::<f64>().unwrap().iter().all(|element| *element == 5.0));
    }
}

#[test]
fn outputs_that_share_elements_are_refused() {
    const WIDE: Option<&[isize]> = Some(&[2, 6]);
    let mut memory = real(&[12], &[1.0; 12]);
    let mut view = memory.view_mut().unwrap();
    let mut operand = view.as_operand_mut();
    let (first, shape) = (operand.data(), Shape::new(&[2, 2]).unwrap());
    // What no safe call makes: operands over the same memory.
    let at = |offset: usize, strides: Option<&'static [isize]>| {
        // SAFETY: inside of `memory`, which outlives the operand. Only outputs without a common element are written.
        unsafe { OperandMut::from_raw(first.add(8 * offset), DType::F64, &shape, strides) }
    };
    let other = real(&[2, 2], &[1.0; 4]);
    let refusal = |sum: OperandMut<'_>, same: OperandMut<'_>, x: Option<OperandMut<'_>>| {
        let mut seven = real(&[1], &[0.0]);
        let x = x.as_ref().map_or(other.as_operand(), |x| x.as_operand().unwrap());
        let arguments = vec![Argument::Lent(x), (&other).into()];
        let mut outputs = [sum, same, seven.as_operand_mut().unwrap()];
        prepared().run_into(&mut Reference, arguments, &mut outputs)
    };
    let error = refusal(at(0, None), at(3, None), None).unwrap_err();
    assert!(matches!(error, Error::Overlap { output: 1, .. }), "{error:?}");
    assert_snapshot!(error, @"output 1 shares elements with output 0; give it memory of its own");
    assert_snapshot!(refusal(at(0, None), at(4, None), Some(at(7, None))).unwrap_err(), @"output 1 shares elements with input 0; give it memory of its own");
    // Between each other's elements: 0 2 6 8 and 1 3 7 9; then 0 2 6 8 and 2 4 8 10.
    refusal(at(0, WIDE), at(1, WIDE), None).unwrap();
    assert_snapshot!(refusal(at(0, WIDE), at(2, WIDE), None).unwrap_err(), @"output 1 shares elements with output 0; give it memory of its own");
}
