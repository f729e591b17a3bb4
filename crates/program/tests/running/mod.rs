//! Running a program on real numbers.

use tenferro_ops::reference::Reference;
use tenferro_program::{Argument, Passes, Program};
use tenferro_tensor::Tensor;

/// A tensor of these elements, column by column.
pub(crate) fn real(extents: &[usize], elements: &[f64]) -> Tensor {
    Tensor::from_vec_col_major(extents.to_vec(), elements.to_vec()).unwrap()
}

/// The results of a program, which its passes do not change.
pub(crate) fn run(program: &Program, inputs: &[Tensor]) -> Vec<Vec<f64>> {
    let [plain, optimised] = [Passes::none(), Passes::all()].map(|passes| {
        let prepared = program.prepare(&passes).unwrap();
        let arguments = inputs.iter().map(Argument::from);
        let results = prepared.run(&mut Reference, arguments).unwrap();
        results.iter().map(|x| x.to_vec_col_major::<f64>().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(plain, optimised, "passes change results:\n{program}");
    plain
}
