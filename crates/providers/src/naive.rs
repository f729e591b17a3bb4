//! The reference provider: three loops, every number dtype, any strides.
//!
//! It is the answer when nobody else has one, and what others are compared with by eye. It runs on the calling thread,
//! packs nothing and is slow beyond tiny products. Each sum runs over k in order.

use tenferro_provider::{Capabilities, Error, Outcome, Product, Provider, Reason, Workers};
use tenferro_tensor::{DType, dispatch};

use crate::arithmetic::{Number, Scale, Sum, combine};

/// Products by plain loops.
///
/// ```
/// use tenferro_provider::{Provider, Sequential, Product, Outcome};
/// use tenferro_providers::Naive;
/// use tenferro_tensor::{AsOperand, Tensor, TensorViewMut};
///
/// let lhs = Tensor::from_vec_col_major(vec![1, 2, 1], vec![1_u8, 2])?;
/// let rhs = Tensor::from_vec_col_major(vec![2, 1, 1], vec![100_u8, 100])?;
/// let mut wrapped = [0_u8];
/// let mut out = TensorViewMut::from_slice(&mut wrapped, &[1, 1, 1], &[1, 1, 1], 0)?;
/// let mut product = Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut())?;
/// assert_eq!(Naive::new().product(&mut product, &Sequential)?, Outcome::Executed);
/// assert_eq!(wrapped, [44]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Naive {
    capabilities: Capabilities,
}

impl Naive {
    /// The reference provider.
    #[must_use]
    pub fn new() -> Self {
        let numbers = DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Bool);
        let mut capabilities = Capabilities::sequential(numbers);
        capabilities.reference = true;
        Self { capabilities }
    }
}

impl Default for Naive {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for Naive {
    fn name(&self) -> &str {
        "naive"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(&self, request: &mut Product<'_>, _workers: &dyn Workers) -> Result<Outcome, Error> {
        let dtype = request.dtype();
        dispatch!(dtype, number T => { loops::<T>(request); Ok(Outcome::Executed) },
            else Ok(Outcome::Unsupported(Reason::DType(dtype))))
    }
}

/// The whole request in elements of its dtype, `T`.
fn loops<T: Number>(request: &mut Product<'_>) {
    let (lhs, rhs, out) = (request.lhs(), request.rhs(), request.out());
    let (lhs_conjugation, rhs_conjugation) = (request.lhs_conjugation(), request.rhs_conjugation());
    let scales = (Scale::new(request.alpha()), Scale::new(request.beta()));
    let k = request.k();
    let at = |row: usize, col: usize, (row_stride, col_stride): (isize, isize)| {
        row.cast_signed() * row_stride + col.cast_signed() * col_stride
    };
    for batch in 0..request.batch() {
        let (lhs_data, rhs_data) = (lhs.pointer::<T>(batch), rhs.pointer::<T>(batch));
        let out_data = out.pointer::<T>(batch);
        for col in 0..out.cols {
            for row in 0..out.rows {
                let sum = || {
                    (0..k).fold(T::Sum::ZERO, |sum, inner| {
                        let lhs_at = at(row, inner, (lhs.row_stride, lhs.col_stride));
                        let rhs_at = at(inner, col, (rhs.row_stride, rhs.col_stride));
                        // SAFETY: both indices are inside of the operands, which the request keeps readable as `T`.
                        let (x, y) = unsafe {
                            (lhs_data.offset(lhs_at).read(), rhs_data.offset(rhs_at).read())
                        };
                        let x = x.conjugated(lhs_conjugation).widen();
                        sum.plus_product(x, y.conjugated(rhs_conjugation).widen())
                    })
                };
                let out_at = at(row, col, (out.row_stride, out.col_stride));
                // SAFETY: the index is inside of the output, which nobody else reaches.
                let place = unsafe { out_data.offset(out_at) };
                // SAFETY: as above; `combine` reads only with a beta other than 0, when the output is initialised.
                let old = || unsafe { place.read() }.widen();
                let element = T::narrow(combine(scales, sum, old));
                // SAFETY: as above.
                unsafe { place.write(element) };
            }
        }
    }
}
