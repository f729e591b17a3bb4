//! Writing a tensor as a NumPy file.

use std::io::{self, Write};

use npyz::{AutoSerialize, WriteOptions, WriterBuilder};
use tenferro::tensor::{self, DType, Error, Scalar, Tensor, dispatch};

use super::Order;

/// Writes a tensor as an array in this order.
///
/// The elements are written as they lie: for C's order the tensor has the axes of the array in reverse order.
pub(crate) fn write(writer: &mut impl Write, tensor: &Tensor, order: Order) -> io::Result<()> {
    let dtype = tensor.dtype();
    dispatch!(dtype, integer T => elements::<T>(writer, tensor, order), else
    dispatch!(dtype, complex T => elements::<T>(writer, tensor, order), else
        match dtype {
            DType::F64 => elements::<f64>(writer, tensor, order),
            DType::F32 => elements::<f32>(writer, tensor, order),
            DType::F16 => elements::<tensor::f16>(writer, tensor, order),
            DType::Bool => elements::<bool>(writer, tensor, order),
            other => Err(io::Error::other(format!("NumPy has no dtype {other}"))),
        }))
}

fn elements<T: Scalar + AutoSerialize>(
    writer: &mut impl Write,
    tensor: &Tensor,
    order: Order,
) -> io::Result<()> {
    let mut shape: Vec<u64> = tensor.shape().iter().map(|&extent| extent as u64).collect();
    // Both orders are one for fewer than two axes; NumPy then says C.
    let order = match order {
        Order::Fortran if shape.len() > 1 => npyz::Order::Fortran,
        _ => {
            shape.reverse();
            npyz::Order::C
        }
    };
    let options = WriteOptions::<T>::new().default_dtype().shape(&shape).order(order);
    let mut array = options.writer(writer).begin_nd()?;
    let elements = tensor.as_slice::<T>().map_err(|error: Error| io::Error::other(error))?;
    array.extend(elements.iter().copied())?;
    array.finish()
}
