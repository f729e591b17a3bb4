//! Products of a matrix with its own transpose: half of the result is computed, and the other half is its mirror image.

use tenferro_tensor::{Complex32, Complex64, DType, dispatch};

use crate::{Chain, Error, Matrix, Product, Side, Workers, lapack::Triangle};

/// Rows from which half a product is computed and mirrored: with fewer, the blocks on the diagonal are most of it.
const ROWS: usize = 256;

/// Terms from which it is: with few, a product is made of stores, and those are as many as before.
const TERMS: usize = 64;

/// Rows and columns that are mirrored together, which the nearest cache holds.
const TILE: usize = 16;

/// Whether a product is a matrix times its own transpose, conjugated or not, and large enough to compute by half.
#[inline]
fn is_worthwhile(request: &Product<'_>) -> bool {
    let [lhs, rhs, _] = request.matrices();
    lhs.data == rhs.data && is_gram(request, &lhs, &rhs)
}

#[cold]
fn is_gram(request: &Product<'_>, lhs: &Matrix, rhs: &Matrix) -> bool {
    lhs.transposed() == *rhs
        && request.m() >= ROWS
        && request.k() >= TERMS
        && request.beta().is_zero()
        // What is above the diagonal is the conjugate of what is below only if the factor is its own.
        && (!is_hermitian(request) || request.alpha().as_complex().im == 0.0)
}

/// Whether the result is the conjugate of its transpose, rather than its transpose.
fn is_hermitian(request: &Product<'_>) -> bool {
    request.lhs_conjugation() != request.rhs_conjugation()
}

impl Chain {
    /// Computes a product in the way that takes the least work: one of a matrix and its own transpose by half.
    ///
    /// Such a product is found by its addresses, and the result is its own mirror image to the last bit.
    ///
    /// # Errors
    /// As for [`Chain::product`]; if not a single provider does the product, the output is untouched.
    #[inline]
    pub fn execute(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<(), Error> {
        if is_worthwhile(request) {
            return self.gram(request, workers);
        }
        self.product(request, workers).map(drop)
    }

    #[cold]
    fn gram(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<(), Error> {
        self.triangular(request, Side::Out, Triangle::Lower, workers)?;
        let (out, batch) = (request.out(), request.batch());
        let hermitian = is_hermitian(request);
        // SAFETY: the result is square, of this dtype, written on and below the diagonal, and nobody else's.
        unsafe {
            match request.dtype() {
                DType::C32 if hermitian => mirror(&out, batch, |x: Complex32| x.conj()),
                DType::C64 if hermitian => mirror(&out, batch, |x: Complex64| x.conj()),
                dtype => dispatch!(dtype, any T => mirror(&out, batch, |x: T| x)),
            }
        }
        Ok(())
    }
}

/// Writes what is above the diagonal from what is below it.
///
/// # Safety
/// The matrices are square and valid for reads on and below their diagonals, and for writes, of elements `T`.
unsafe fn mirror<T: Copy>(matrix: &Matrix, batch: usize, turned: impl Fn(T) -> T) {
    let extent = matrix.rows;
    let tiles = (0..extent).step_by(TILE);
    for number in 0..batch {
        for (first_col, first_row) in
            tiles.clone().flat_map(|col| (0..=col).step_by(TILE).map(move |row| (col, row)))
        {
            for col in first_col..extent.min(first_col + TILE) {
                for row in first_row..col.min(first_row + TILE) {
                    let (to, from) = ([row, col, number], [col, row, number]);
                    let (to, from) = (matrix.place::<T>(to), matrix.place::<T>(from));
                    // SAFETY: the caller's; the two elements are not one.
                    unsafe { to.write(turned(from.read())) };
                }
            }
        }
    }
}
