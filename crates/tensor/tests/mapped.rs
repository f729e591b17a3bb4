//! Tensors over mapped files.
#![cfg(feature = "mmap")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;

use insta::assert_snapshot;
use tenferro_tensor::{DType, Tensor};

/// A file with 16 bytes before the elements, and its tensor's elements.
fn file() -> (std::fs::File, Vec<f64>) {
    let elements: Vec<f64> = (0..3000).map(f64::from).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 16]).unwrap();
    elements.iter().for_each(|element| file.write_all(&element.to_ne_bytes()).unwrap());
    (file, elements)
}

#[test]
fn a_mapped_file_is_read_without_a_copy_and_never_written() {
    let (file, elements) = file();
    let mut mapped = Tensor::from_mapped_file(DType::F64, [3, 1000], &file, 16).unwrap();
    let again = Tensor::from_mapped_file(DType::F64, [3000], &file, 16).unwrap();
    drop(file);
    assert_eq!(mapped.as_slice::<f64>().unwrap(), elements);
    mapped.as_mut_slice::<f64>().unwrap()[0] = -1.0;
    assert_eq!(mapped.get::<f64>(&[0, 0]).unwrap(), -1.0);
    assert_eq!(again.as_slice::<f64>().unwrap(), elements);
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let (file, _) = file();
    let refused = |dtype, extents: &[usize], offset| {
        Tensor::from_mapped_file(dtype, extents, &file, offset).unwrap_err().to_string()
    };
    assert_snapshot!(refused(DType::F64, &[3, 1001], 16), @"from_mapped_file: shape (3, 1001) needs 3003 elements, but there are 3000");
    assert_snapshot!(refused(DType::F64, &[1], 1 << 40), @"from_mapped_file: shape (1,) needs 1 elements, but there are 0");
    assert_snapshot!(refused(DType::F64, &[3], 12), @"from_lender: the data are not aligned for the dtype");
    assert_snapshot!(refused(DType::F64, &[0, 3], 16), @"from_mapped_file: nothing to map for an empty tensor");
    assert_snapshot!(refused(DType::Bool, &[3], 16), @"from_mapped_file: not defined for bool; bytes of a file may not be truth values; read them instead");
    assert_snapshot!(refused(DType::I8, &[usize::MAX, 2], 0), @"from_mapped_file: shape (18446744073709551615, 2) has more elements than can be addressed");
}
