//! Solutions of equations from factors, from triangular matrices, and by least squares.

use faer::{Conj, MatMut, MatRef, Par, linalg::triangular_solve as solve, reborrow::*};
use tenferro_provider::lapack::{Breakdown, Diagonal, Transposition, Triangle};

use super::{
    Done, Field,
    reflectors::{apply, apply_adjoint, block_factors, geqrf},
};

/// The first place of the diagonal that holds a 0.
pub(super) fn first_zero<T: Field>(a: MatRef<'_, T>) -> Option<usize> {
    (0..a.nrows().min(a.ncols())).find(|&place| a[(place, place)] == T::default())
}

pub(super) fn getrs<T: Field>(
    op: Transposition,
    lu: MatRef<'_, T>,
    pivots: &[i64],
    mut b: MatMut<'_, T>,
) -> Done {
    let exchange = |b: &mut MatMut<'_, T>, step: usize| {
        let pivot = usize::try_from(pivots[step]).expect("invariant: pivots were checked");
        for col in 0..b.ncols() {
            let (upper, lower) = (b[(step, col)], b[(pivot, col)]);
            (b[(step, col)], b[(pivot, col)]) = (lower, upper);
        }
    };
    let (lower, upper) = ((Triangle::Lower, Diagonal::Unit), (Triangle::Upper, Diagonal::Stored));
    if op == Transposition::Plain {
        (0..pivots.len()).for_each(|step| exchange(&mut b, step));
        triangular(lower, op, lu, b.rb_mut());
        triangular(upper, op, lu, b);
    } else {
        triangular(upper, op, lu, b.rb_mut());
        triangular(lower, op, lu, b.rb_mut());
        (0..pivots.len()).rev().for_each(|step| exchange(&mut b, step));
    }
    Ok(())
}

pub(super) fn trtrs<T: Field>(
    triangle: Triangle,
    op: Transposition,
    diagonal: Diagonal,
    a: MatRef<'_, T>,
    b: MatMut<'_, T>,
) -> Done {
    if diagonal == Diagonal::Stored
        && let Some(pivot) = first_zero(a)
    {
        return Err(Breakdown::Singular { pivot });
    }
    triangular((triangle, diagonal), op, a, b);
    Ok(())
}

/// `b = op(a)^-1 b` for one half of `a`.
fn triangular<T: Field>(
    (triangle, diagonal): (Triangle, Diagonal),
    op: Transposition,
    a: MatRef<'_, T>,
    b: MatMut<'_, T>,
) {
    let (a, triangle) = match (op, triangle) {
        (Transposition::Plain, triangle) => (a, triangle),
        (_, Triangle::Lower) => (a.transpose(), Triangle::Upper),
        (_, Triangle::Upper) => (a.transpose(), Triangle::Lower),
    };
    let conj = if op == Transposition::Adjoint { Conj::Yes } else { Conj::No };
    match (triangle, diagonal) {
        (Triangle::Lower, Diagonal::Stored) => {
            solve::solve_lower_triangular_in_place_with_conj(a, conj, b, Par::Seq);
        }
        (Triangle::Lower, Diagonal::Unit) => {
            solve::solve_unit_lower_triangular_in_place_with_conj(a, conj, b, Par::Seq);
        }
        (Triangle::Upper, Diagonal::Stored) => {
            solve::solve_upper_triangular_in_place_with_conj(a, conj, b, Par::Seq);
        }
        (Triangle::Upper, Diagonal::Unit) => {
            solve::solve_unit_upper_triangular_in_place_with_conj(a, conj, b, Par::Seq);
        }
    }
}

pub(super) fn gels<T: Field>(op: Transposition, a: MatMut<'_, T>, b: MatMut<'_, T>) -> Done {
    let adjoint = op != Transposition::Plain;
    if a.nrows() >= a.ncols() {
        return tall(a, adjoint, b);
    }
    // A wide matrix is the adjoint of a tall one.
    let mut turned = a.rb().adjoint().to_owned();
    tall(turned.as_mut(), !adjoint, b)
}

/// Least squares for a tall matrix, or least solutions for its adjoint.
fn tall<T: Field>(mut a: MatMut<'_, T>, adjoint: bool, mut b: MatMut<'_, T>) -> Done {
    let (m, n) = a.shape();
    let mut tau = vec![T::default(); n];
    geqrf(a.rb_mut(), &mut tau);
    if let Some(pivot) = first_zero(a.rb()) {
        return Err(Breakdown::Singular { pivot });
    }
    let factors = block_factors(a.rb(), &tau);
    let upper = a.rb().get(..n, ..n);
    let half = (Triangle::Upper, Diagonal::Stored);
    if adjoint {
        triangular(half, Transposition::Adjoint, upper, b.rb_mut().get_mut(..n, ..));
        for col in 0..b.ncols() {
            for row in n..m {
                b[(row, col)] = T::default();
            }
        }
        apply(a.rb(), factors.as_ref(), b);
    } else {
        apply_adjoint(a.rb(), factors.as_ref(), b.rb_mut());
        triangular(half, Transposition::Plain, upper, b.get_mut(..n, ..));
    }
    Ok(())
}
