//! A sound provider of four dtypes that can be broken in one way.

use tenferro_provider::{Capabilities, Error, Matrix, Outcome, Product, Provider, Reason, Workers};
use tenferro_tensor::{Complex32, Complex64, Conjugation, DType, Scalar};

/// One way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    ReadsOutput,
    ReadsInputs,
    TrustsUnitStrides,
    IgnoresConjugation,
    TouchesBeforeRefusing,
    WritesBeside,
    Panics,
    Fails,
    SplitsTheSum,
    IgnoresBatch,
}

pub(super) struct Sound {
    pub(super) capabilities: Capabilities,
    fault: Fault,
}

impl Sound {
    pub(super) fn new() -> Self {
        Self::with(Fault::None)
    }

    pub(super) fn with(fault: Fault) -> Self {
        let dtypes = [DType::F64, DType::F32, DType::C32, DType::C64];
        Self { capabilities: Capabilities::sequential(dtypes), fault }
    }
}

impl Provider for Sound {
    fn name(&self) -> &str {
        "sound"
    }

    fn version(&self) -> &str {
        "0"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        match self.fault {
            Fault::Panics => panic!("deliberately"),
            Fault::Fails => {
                return Err(Error::Failed { provider: "sound".into(), source: "broken".into() });
            }
            _ => {}
        }
        let capabilities = &self.capabilities;
        if request.batch() > 1 && !capabilities.batch {
            return Ok(Outcome::Unsupported(Reason::Batch));
        }
        let conjugated = Conjugation::Conjugated;
        if !capabilities.conjugation
            && [request.lhs_conjugation(), request.rhs_conjugation()].contains(&conjugated)
        {
            return Ok(Outcome::Unsupported(Reason::Conjugation));
        }
        if capabilities.layouts == tenferro_provider::Layouts::Leading {
            let matrices = [request.lhs(), request.rhs(), request.out()];
            if matrices.iter().any(|matrix| matrix.order().is_none()) {
                return Ok(Outcome::Unsupported(Reason::Strides));
            }
        }
        match request.dtype() {
            DType::F64 => self.loops::<f64>(request, workers),
            DType::F32 => self.loops::<f32>(request, workers),
            DType::C32 => self.loops::<Complex32>(request, workers),
            DType::C64 => self.loops::<Complex64>(request, workers),
            other => {
                if self.fault == Fault::TouchesBeforeRefusing && !request.is_empty() {
                    let byte = request.out().data.as_ptr();
                    // SAFETY: the output has a first element, which has a first byte.
                    unsafe { byte.write(byte.read() ^ 1) };
                }
                Ok(Outcome::Unsupported(Reason::DType(other)))
            }
        }
    }
}

/// Arithmetic of the four dtypes.
trait Number: Scalar + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    fn conjugate(self) -> Self;
}

macro_rules! number {
    ($($ty:ty: $conjugate:expr),*) => {
        $(impl Number for $ty {
            fn conjugate(self) -> Self { ($conjugate)(self) }
        })*
    };
}

number!(f64: |x| x, f32: |x| x, Complex32: |x: Complex32| x.conj(), Complex64: |x: Complex64| x.conj());

impl Sound {
    fn loops<T: Number>(
        &self,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<Outcome, Error> {
        let (lhs, rhs, out) = (request.lhs(), request.rhs(), request.out());
        let conjugations = [request.lhs_conjugation(), request.rhs_conjugation()];
        let (alpha, beta) = (request.alpha_as::<T>(), request.beta_as::<T>());
        for batch in 0..request.batch() {
            for (row, col) in (0..out.cols).flat_map(|col| (0..out.rows).map(move |row| (row, col)))
            {
                let terms = (0..request.k()).map(|inner| {
                    let x = self.read::<T>(&lhs, [row, inner, batch], conjugations[0]);
                    x * self.read::<T>(&rhs, [inner, col, batch], conjugations[1])
                });
                let place = address::<T>(&out, [row, col, batch]);
                let mut element = T::default();
                if !request.alpha().is_zero() || self.fault == Fault::ReadsInputs {
                    element = alpha * self.sum(terms, workers.width());
                }
                if !request.beta().is_zero() || self.fault == Fault::ReadsOutput {
                    // SAFETY: the suite's outputs are initialised.
                    element = element + beta * unsafe { place.read() };
                }
                // SAFETY: the index is inside of the output.
                unsafe { place.write(element) };
            }
        }
        let forward =
            [out.row_stride, out.col_stride, out.batch_stride].iter().all(|&stride| stride > 0);
        if self.fault == Fault::WritesBeside && forward && !request.is_empty() {
            // SAFETY: the suite keeps guard elements before each output.
            unsafe { address::<T>(&out, [0; 3]).sub(1).write(T::ONE) };
        }
        Ok(Outcome::Executed)
    }

    fn read<T: Number>(&self, matrix: &Matrix, index: [usize; 3], conjugation: Conjugation) -> T {
        let mut matrix = *matrix;
        let mut index = index;
        if self.fault == Fault::IgnoresBatch {
            index[2] = 0;
        }
        if self.fault == Fault::TrustsUnitStrides && matrix.rows == 1 && matrix.row_stride != 1 {
            // Takes a row for a column because of a stride that means nothing.
            matrix.col_stride = matrix.row_stride.signum();
        }
        // SAFETY: the index is inside of the operand, or among its guards.
        let element = unsafe { address::<T>(&matrix, index).read() };
        match conjugation {
            Conjugation::Conjugated if self.fault != Fault::IgnoresConjugation => {
                element.conjugate()
            }
            _ => element,
        }
    }

    /// The sum of the terms; in `width` parts if that is the fault.
    fn sum<T: Number>(&self, terms: impl Iterator<Item = T>, width: usize) -> T {
        let parts = if self.fault == Fault::SplitsTheSum { width } else { 1 };
        let mut sums = vec![T::default(); parts];
        for (number, term) in terms.enumerate() {
            sums[number % parts] = sums[number % parts] + term;
        }
        sums.into_iter().fold(T::default(), |total, sum| total + sum)
    }
}

fn address<T>(matrix: &Matrix, [row, col, batch]: [usize; 3]) -> *mut T {
    let offset = row.cast_signed() * matrix.row_stride + col.cast_signed() * matrix.col_stride;
    matrix.pointer::<T>(batch).wrapping_offset(offset)
}
