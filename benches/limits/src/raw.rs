//! Raw kernels of crates on the calling thread, for each dtype that they share.

use num_complex::Complex;

use gemm::Parallelism;

/// An element of the kernels here.
pub trait Element: Copy + Send + Sync + 'static {
    /// BLAS's letter.
    const LETTER: char;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// An element with this real part, and a part of it as imaginary one.
    fn of(value: f64) -> Self;

    /// Multiplies two column-major matrices by the crate `nano-gemm`, its plan made anew.
    ///
    /// # Safety
    /// The pointers must be to as many elements as matrices of the extents `[m, n, k]` have, the first to some that are
    /// nobody else's.
    unsafe fn nano(extents: [usize; 3], out: *mut Self, lhs: *const Self, rhs: *const Self);
}

macro_rules! element {
    ($($ty:ty, $letter:literal, $zero:expr, $one:expr, $of:expr, $plan:ident;)*) => {
        $(impl Element for $ty {
            const LETTER: char = $letter;
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            fn of(value: f64) -> Self {
                $of(value)
            }

            #[inline(always)]
            unsafe fn nano([m, n, k]: [usize; 3], out: *mut Self, lhs: *const Self, rhs: *const Self) {
                let stride = |extent: usize| extent.cast_signed();
                let plan = nano_gemm::Plan::<$ty>::$plan(m, n, k);
                // SAFETY: the caller says that the pointers are to column-major matrices of these extents.
                unsafe {
                    plan.execute_unchecked(
                        m, n, k, out, 1, stride(m), lhs, 1, stride(m), rhs, 1, stride(k),
                        Self::ZERO, Self::ONE, false, false,
                    );
                }
            }
        })*
    };
}

element! {
    f64, 'd', 0.0, 1.0, |value| value, new_colmajor_lhs_and_dst_f64;
    f32, 's', 0.0, 1.0, |value: f64| value as f32, new_colmajor_lhs_and_dst_f32;
    Complex<f64>, 'z', Complex::new(0.0, 0.0), Complex::new(1.0, 0.0),
        |value: f64| Complex::new(value, 0.5 - value / 2.0), new_colmajor_lhs_and_dst_c64;
}

/// Column-major operands of some products.
#[derive(Clone, Debug)]
pub struct Matrices<T> {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// The extent that is summed over.
    pub k: usize,
    /// How many products.
    pub batch: usize,
    /// `[m, k, batch]`.
    pub lhs: Vec<T>,
    /// `[k, n, batch]`.
    pub rhs: Vec<T>,
    /// `[m, n, batch]`.
    pub out: Vec<T>,
}

impl<T: Element> Matrices<T> {
    /// Operands of these extents, with elements in -1..1.
    pub fn new([m, n, k]: [usize; 3], batch: usize) -> Self {
        let wave =
            |count: usize, step: f64| (0..count).map(move |at| T::of((at as f64 * step).sin()));
        let lhs = wave(m * k * batch, 0.37).collect();
        let rhs = wave(k * n * batch, 0.73).collect();
        Self { m, n, k, batch, lhs, rhs, out: vec![T::ZERO; m * n * batch] }
    }

    /// The first elements of the operands of one product.
    ///
    /// # Panics
    /// If there is no such product.
    pub(super) fn at(&mut self, batch: usize) -> [*mut T; 3] {
        assert!(batch < self.batch);
        let (m, n, k) = (self.m, self.n, self.k);
        assert!(self.lhs.len() >= m * k * self.batch && self.rhs.len() >= k * n * self.batch);
        assert!(self.out.len() >= m * n * self.batch);
        let (lhs, rhs) = (self.lhs.as_ptr().cast_mut(), self.rhs.as_ptr().cast_mut());
        let out = self.out.as_mut_ptr();
        [
            lhs.wrapping_add(m * k * batch),
            rhs.wrapping_add(k * n * batch),
            out.wrapping_add(m * n * batch),
        ]
    }
}

/// Who multiplies on the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The crate `gemm`.
    Gemm,
    /// The crate `nano-gemm`, its plan made anew for each call.
    Nano,
}

impl Kernel {
    /// Multiplies.
    #[inline(never)]
    pub fn multiply<T: Element>(self, matrices: &mut Matrices<T>) {
        let extents = [matrices.m, matrices.n, matrices.k];
        for batch in 0..matrices.batch {
            let [lhs, rhs, out] = matrices.at(batch);
            // SAFETY: the pointers are to as many elements as column-major matrices of these extents have; nobody
            // else reaches the output.
            unsafe {
                match self {
                    Kernel::Nano => T::nano(extents, out, lhs, rhs),
                    Kernel::Gemm => packed(extents, out, lhs, rhs),
                }
            }
        }
    }
}

/// # Safety
/// The pointers are to column-major matrices of these extents, the first to one that is nobody else's.
unsafe fn packed<T: Element>([m, n, k]: [usize; 3], out: *mut T, lhs: *const T, rhs: *const T) {
    let stride = |extent: usize| extent.cast_signed();
    // SAFETY: as the caller says; the strides are those of column-major matrices.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out,
            stride(m),
            1,
            false,
            lhs,
            stride(m),
            1,
            rhs,
            stride(k),
            1,
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
