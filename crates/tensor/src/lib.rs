//! Column-major dense tensors, strided views and the vocabulary of operations.
//!
//! This crate is the ground floor: data types, shapes, layouts, storage, tensors, views, errors, and the one table
//! from which every operation of the product is generated. It knows no kernel, no thread and no engine.
//!
//! ```
//! use tenferro_tensor::{DType, Tensor};
//!
//! let x = Tensor::from_vec_row_major(vec![2, 3], vec![1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! assert_eq!(x.dtype(), DType::F64);
//! assert_eq!(x.as_slice::<f64>()?, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! assert_eq!(x.to_string(), "[[1. 2. 3.]\n [4. 5. 6.]]");
//! # Ok::<(), tenferro_tensor::Error>(())
//! ```

mod construct;
mod display;
mod dtype;
mod error;
mod factor;
mod gather;
mod gathering;
mod layout;
mod list;
#[cfg(feature = "mmap")]
mod mapped;
#[cfg(feature = "ndarray")]
mod ndarray;
mod offsets;
mod operand;
mod pages;
mod params;
mod random;
mod scalar;
mod sequence;
mod shape;
mod storage;
mod table;
mod tensor;
mod typed;
mod uninit;
mod view;
mod vocabulary;
mod window;

pub use dtype::{DType, DTypeClass};
pub use error::{Dims, Error, Numerical, Result, Validation};
pub use factor::Factor;
pub use gathering::{GatherMode, Gathering, Placement, ScatterMode};
pub use layout::Layout;
pub use operand::{AsOperand, FromTensor, Operand, OperandMut, Operate};
pub use params::{
    AxisPadding, BatchPosition, Boundary, Combiner, Comparison, Conjugation, Contraction,
    Direction, ExponentialForm, Exponentials, Indices, KeepAxes, Padding, SortOrder, Sweep, Ties,
};
pub use random::Distribution;
pub use scalar::Scalar;
pub use shape::Shape;
pub use storage::{Access, Block, Recycle};
pub use tensor::Tensor;
pub use typed::TypedTensor;
pub use uninit::Uninit;
pub use view::{TensorView, TensorViewMut};
pub use vocabulary::{
    Accepts, Analytic, Dot, Elementwise, Indexing, Primitive, Reduction, Scan, Sorting, Structural,
    TensorAnalytic, TensorDot, TensorElementwise, TensorIndexing, TensorReduction, TensorScan,
    TensorSorting, TensorStructural, TensorWindowed, Vocabulary, Windowed,
};
pub use window::{Convolution, ConvolutionAxis, Window, WindowAxis};

/// The 16-bit floats of the dtype table.
pub use half::{bf16, f16};
/// The complex scalars of the dtype table: two `f32` or two `f64`.
pub use num_complex::{Complex32, Complex64};
