//! QR factors as reflectors, in LAPACK's form, and what is done with them.
//!
//! Columns are taken in panels: within one, reflectors are made one by one; what stands right of it meets them all at
//! once. Faer keeps the inverse of LAPACK's `tau`, infinite where a reflector does nothing. No column is skipped, however
//! small it is: the factors of a matrix without full rank are those that LAPACK would give.

use faer::{
    Conj, Mat, MatMut, MatRef, Par, dyn_stack::MemStack, linalg::householder as house, reborrow::*,
    traits::ext::ComplexFieldExt,
};

use tenferro_tensor::Scalar;

use super::{Field, space};

/// Reflectors that are applied at once.
const PANEL: usize = 32;

pub(super) fn geqrf<T: Field>(mut a: MatMut<'_, T>, tau: &mut [T]) {
    let n = a.ncols();
    for start in (0..tau.len()).step_by(PANEL) {
        let end = (start + PANEL).min(tau.len());
        let (left, right) = a.rb_mut().split_at_col_mut(end);
        let mut panel = left.get_mut(start.., start..);
        reduce(panel.rb_mut(), &mut tau[start..end]);
        if end < n {
            let factors = block_factors(panel.rb(), &tau[start..end]);
            apply_adjoint(panel.rb(), factors.as_ref(), right.get_mut(start.., ..));
        }
    }
}

/// The reflectors of one panel, each applied to the columns after its own.
fn reduce<T: Field>(mut panel: MatMut<'_, T>, tau: &mut [T]) {
    for (step, tau) in tau.iter_mut().enumerate() {
        let (left, mut right) = panel.rb_mut().split_at_col_mut(step + 1);
        let mut column = left.col_mut(step).get_mut(step..);
        let mut head = column[0];
        let info = house::make_householder_in_place(&mut head, column.rb_mut().get_mut(1..));
        *tau = T::from_real_impl(&info.tau.recip());
        column[0] = head;
        let tail = column.rb();
        for col in 0..right.ncols() {
            let mut other = right.rb_mut().col_mut(col).get_mut(step..);
            let mut shadow = other[0];
            for row in 1..tail.nrows() {
                shadow = shadow + tail[row].conj() * other[row];
            }
            // The adjoint of a reflector has the conjugate of its tau, which is real here.
            let scaled = shadow * *tau;
            other[0] = other[0] - scaled;
            for row in 1..tail.nrows() {
                other[row] = other[row] - scaled * tail[row];
            }
        }
    }
}

pub(super) fn orgqr<T: Field>(mut a: MatMut<'_, T>, tau: &[T]) {
    let vectors = a.rb().subcols(0, tau.len()).to_owned();
    for col in 0..a.ncols() {
        for row in 0..a.nrows() {
            a[(row, col)] = if row == col { <T as Scalar>::ONE } else { T::default() };
        }
    }
    let factors = block_factors(vectors.as_ref(), tau);
    apply(vectors.as_ref(), factors.as_ref(), a);
}

/// The triangular factors of reflectors, a block of [`PANEL`] beside the other.
pub(super) fn block_factors<T: Field>(vectors: MatRef<'_, T>, tau: &[T]) -> Mat<T> {
    let mut factors = Mat::<T>::zeros(PANEL.min(tau.len()).max(1), tau.len());
    for start in (0..tau.len()).step_by(PANEL) {
        let len = PANEL.min(tau.len() - start);
        let mut factor = factors.as_mut().get_mut(..len, start..start + len);
        for place in 0..len {
            let tau = tau[start + place];
            factor[(place, place)] = if tau == T::default() { T::infinity() } else { tau.recip() };
        }
        let vectors = vectors.get(start.., start..start + len);
        house::upgrade_householder_factor(factor, vectors, len, 1, Par::Seq);
    }
    factors
}

/// `b = Q b`.
pub(super) fn apply<T: Field>(vectors: MatRef<'_, T>, factors: MatRef<'_, T>, b: MatMut<'_, T>) {
    if factors.ncols() == 0 || b.ncols() == 0 {
        return;
    }
    let mut buffer =
        space(house::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(
            vectors.nrows(),
            factors.nrows(),
            b.ncols(),
        ));
    let stack = MemStack::new(&mut buffer);
    house::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        vectors,
        factors,
        Conj::No,
        b,
        Par::Seq,
        stack,
    );
}

/// `b = Q^H b`.
pub(super) fn apply_adjoint<T: Field>(
    vectors: MatRef<'_, T>,
    factors: MatRef<'_, T>,
    b: MatMut<'_, T>,
) {
    if factors.ncols() == 0 || b.ncols() == 0 {
        return;
    }
    let mut buffer =
        space(house::apply_block_householder_sequence_transpose_on_the_left_in_place_scratch::<T>(
            vectors.nrows(),
            factors.nrows(),
            b.ncols(),
        ));
    let stack = MemStack::new(&mut buffer);
    house::apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj(
        vectors,
        factors,
        Conj::Yes,
        b,
        Par::Seq,
        stack,
    );
}
