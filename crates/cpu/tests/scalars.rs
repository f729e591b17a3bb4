//! Small operations with a scalar on either side: the bits of the operation on copies of it.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, reference::Reference};
use tenferro_tensor::{
    AsOperand, DType, Elementwise, Primitive, Tensor, TensorElementwise, dispatch,
};

fn rows() -> [Primitive; 6] {
    [
        Elementwise::Add,
        Elementwise::Sub,
        Elementwise::Mul,
        Elementwise::Maximum,
        Elementwise::Div,
        Elementwise::Rem,
    ]
    .map(Primitive::from)
}

#[test]
fn a_scalar_on_either_side_meets_every_element() {
    let mut backend = CpuBackend::with_threads(1).unwrap();
    for dtype in [DType::F64, DType::F32, DType::F16, DType::I32, DType::U8, DType::C64] {
        for extent in [0, 1, 2, 63, 64, 65, 200, 2048, 2049] {
            let elements = (0..extent).map(|place| (place % 13) as f64 + 1.0).collect();
            let x = Tensor::from_vec_col_major([extent], elements).unwrap();
            let x = backend.convert(&x, dtype).unwrap();
            let scalar = backend.convert(&Tensor::scalar(3.0).unwrap(), dtype).unwrap();
            for row in rows() {
                if !row.accepts().contains(dtype) {
                    continue;
                }
                for operands in [[&x, &scalar], [&scalar, &x], [&scalar, &scalar]] {
                    let operands = operands.map(AsOperand::as_operand);
                    let engine: &mut dyn Engine = &mut backend;
                    let result = engine.apply(&row, &operands).unwrap();
                    let expected = {
                        let engine: &mut dyn Engine = &mut Reference;
                        engine.apply(&row, &operands)
                    }
                    .unwrap();
                    assert_eq!(result.shape(), expected.shape());
                    dispatch!(dtype, any T => assert_eq!(
                        result.as_slice::<T>().unwrap(),
                        expected.as_slice::<T>().unwrap(),
                        "{row:?} of {extent} {dtype}",
                    ));
                }
            }
        }
    }
}
