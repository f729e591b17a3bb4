//! Floats as the real numbers that they are made of.

use tenferro_tensor::{Complex64, DType, Tensor};

/// The parts of all elements: one of a real number, two of a complex one.
pub fn parts(x: &Tensor) -> Vec<f64> {
    match x.dtype() {
        DType::F64 => x.to_vec_col_major::<f64>().unwrap(),
        DType::C64 => {
            let elements = x.to_vec_col_major::<Complex64>().unwrap();
            elements.iter().flat_map(|z| [z.re, z.im]).collect()
        }
        other => panic!("no parts of {other}"),
    }
}

/// The tensor that is made of such parts.
pub fn from_parts(dtype: DType, extents: &[usize], parts: Vec<f64>) -> Tensor {
    match dtype {
        DType::F64 => Tensor::from_vec_col_major(extents, parts).unwrap(),
        DType::C64 => {
            let pairs = parts.as_chunks().0.iter();
            let elements = pairs.map(|&[re, im]| Complex64::new(re, im)).collect();
            Tensor::from_vec_col_major(extents, elements).unwrap()
        }
        other => panic!("no parts of {other}"),
    }
}

/// A tensor some way along a direction.
pub fn moved(x: &Tensor, along: &Tensor, by: f64) -> Tensor {
    let moved = parts(x).into_iter().zip(parts(along)).map(|(x, u)| x + by * u);
    from_parts(x.dtype(), x.shape(), moved.collect())
}
