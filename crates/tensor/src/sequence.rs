//! Tensors of evenly spaced numbers: `arange` and `linspace`.
//!
//! Each element is computed from its position, not from its neighbour, so that errors do not add up.

use crate::{
    Accepts, DType, DTypeClass, Error, Factor, Result, Scalar, Shape, Tensor, Uninit, dispatch,
    error::Validation,
};

impl Tensor {
    /// The numbers `start`, `start + step`, .. before `stop`, as many as `ceil((stop - start) / step)`.
    ///
    /// Integers are exact. For floats the rounding of that quotient decides whether the last number is there, as with
    /// NumPy's `arange`; where the count matters, [`Tensor::linspace`] takes it.
    ///
    /// # Errors
    /// [`Validation::MeaninglessDType`] for complex numbers and bool; [`Validation::Rule`] if `step` is zero, if a number
    /// is not finite, or if numbers are not whole or leave an integer dtype; [`Validation::SizeOverflow`];
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// use tenferro_tensor::{DType, Tensor};
    ///
    /// let down = Tensor::arange(DType::I32, 5, 0, -2)?;
    /// assert_eq!(down.as_slice::<i32>()?, &[5, 3, 1]);
    /// assert_eq!(Tensor::arange(DType::F64, 0, 1, 0.25)?.elements(), 4);
    /// # Ok::<(), tenferro_tensor::Error>(())
    /// ```
    pub fn arange(
        dtype: DType,
        start: impl Into<Factor>,
        stop: impl Into<Factor>,
        step: impl Into<Factor>,
    ) -> Result<Self> {
        let range = [start.into(), stop.into(), step.into()];
        match dtype.class() {
            DTypeClass::Float => arange_real(dtype, range),
            DTypeClass::Signed | DTypeClass::Unsigned => arange_integer(dtype, range),
            DTypeClass::Complex | DTypeClass::Boolean => {
                let expected = Accepts::Real.description();
                Err(Validation::MeaninglessDType { dtype, expected }.of("arange"))
            }
        }
    }

    /// `count` evenly spaced numbers from `start` to `stop`, both included; `start` alone for one.
    ///
    /// # Errors
    /// [`Validation::MeaninglessDType`] unless the dtype is a real or complex float; [`Validation::Rule`] if a bound has
    /// an imaginary part that the dtype has not; [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    ///
    /// ```
    /// use tenferro_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::linspace(DType::F64, -1, 1, 5)?;
    /// assert_eq!(x.as_slice::<f64>()?, &[-1.0, -0.5, 0.0, 0.5, 1.0]);
    /// # Ok::<(), tenferro_tensor::Error>(())
    /// ```
    pub fn linspace(
        dtype: DType,
        start: impl Into<Factor>,
        stop: impl Into<Factor>,
        count: usize,
    ) -> Result<Self> {
        const OP: &str = "linspace";
        let (start, stop) = (start.into().as_complex(), stop.into().as_complex());
        let refused =
            Validation::MeaninglessDType { dtype, expected: Accepts::Inexact.description() };
        if !dtype.is_complex() && (start.im != 0.0 || stop.im != 0.0) {
            return Err(broken(OP, "the bounds of real numbers have no imaginary part"));
        }
        let shape = Shape::new(&[count]).map_err(|p| p.of(OP))?;
        let last = count.saturating_sub(1);
        let step = (stop - start) / (last as f64);
        let number = |at: usize| match at {
            0 => start,
            at if at == last => stop,
            at => start + step * (at as f64),
        };
        dispatch!(
            dtype,
            inexact T => filled(OP, shape, |at| {
                T::from_factor(Factor::Complex(number(at)))
                    .expect("invariant: the imaginary part was checked")
            }),
            else Err(refused.of(OP))
        )
    }
}

fn arange_real(dtype: DType, range: [Factor; 3]) -> Result<Tensor> {
    const OP: &str = "arange";
    let [Some(start), Some(stop), Some(step)] = range.map(Factor::as_real) else {
        return Err(broken(OP, "real numbers have no imaginary part"));
    };
    if ![start, stop, step].iter().all(|number| number.is_finite()) {
        return Err(broken(OP, "start, stop and step must be finite"));
    }
    if step == 0.0 {
        return Err(broken(OP, "the step must not be zero"));
    }
    // A quotient that is negative or too large saturates; the latter is no shape.
    let count = ((stop - start) / step).ceil() as usize;
    let shape = Shape::new(&[count]).map_err(|p| p.of(OP))?;
    dispatch!(
        dtype,
        float T => filled(OP, shape, |at| {
            T::from_factor(Factor::Real(start + step * (at as f64)))
                .expect("invariant: a float holds any real factor")
        }),
        else unreachable!("invariant: the dtype is a float")
    )
}

fn arange_integer(dtype: DType, range: [Factor; 3]) -> Result<Tensor> {
    const OP: &str = "arange";
    let [Some(start), Some(stop), Some(step)] = range.map(Factor::as_integer) else {
        return Err(broken(OP, "start, stop and step of an integer dtype must be whole numbers"));
    };
    if step == 0 {
        return Err(broken(OP, "the step must not be zero"));
    }
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = distance.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
    let shape =
        Shape::new(&[usize::try_from(count).unwrap_or(usize::MAX)]).map_err(|p| p.of(OP))?;
    let number = move |at: usize| start + step * at as i128;
    dispatch!(
        dtype,
        integer T => {
            let ends = [0, shape.elements().saturating_sub(1)].map(number);
            if shape.elements() > 0 && !ends.iter().all(|&end| T::try_from(end).is_ok()) {
                return Err(broken(OP, "the numbers leave the range of the dtype"));
            }
            filled(OP, shape, |at| {
                T::try_from(number(at)).expect("invariant: the first and the last number fit")
            })
        },
        else unreachable!("invariant: the dtype is an integer")
    )
}

/// The tensor whose elements, in column-major order, are what `element` makes of their position.
fn filled<T: Scalar>(
    op: &'static str,
    shape: Shape,
    element: impl Fn(usize) -> T,
) -> Result<Tensor> {
    let mut positions = 0..shape.elements();
    Ok(Uninit::allocate(op, T::DTYPE, shape)?
        .filled(|| element(positions.next().expect("invariant: as many positions as places"))))
}

fn broken(op: &'static str, rule: &'static str) -> Error {
    Validation::Rule { rule }.of(op)
}
