//! LU and Cholesky factors, and inverses of triangular matrices.

use faer::{
    Mat, MatMut, Par,
    dyn_stack::MemStack,
    linalg::{
        cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch},
        lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch},
        triangular_inverse as inverse,
    },
    reborrow::*,
    traits::ext::ComplexFieldExt,
};
use tenferro_provider::lapack::{Breakdown, Diagonal, Triangle};

use super::{Done, Field, solutions::first_zero, space};

pub(super) fn getrf<T: Field>(mut a: MatMut<'_, T>, pivots: &mut [i64]) -> Done {
    let (m, n) = a.shape();
    if pivots.is_empty() {
        return Ok(());
    }
    let before = a.to_owned();
    let (mut order, mut inverse) = (vec![0_usize; m], vec![0_usize; m]);
    let mut buffer = space(lu_in_place_scratch::<usize, T>(m, n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut buffer);
    lu_in_place(a.rb_mut(), &mut order, &mut inverse, Par::Seq, stack, Default::default());
    let whole = |place: usize| {
        let pivot = &a[(place, place)];
        pivot.is_finite() && *pivot != T::default()
    };
    if (0..pivots.len()).all(whole) {
        exchanges(&order, pivots);
        return Ok(());
    }
    // A pivot of 0 made the library divide by it.
    a.copy_from(&before);
    plain_lu(a.rb_mut(), pivots);
    first_zero(a.rb()).map_or(Ok(()), |pivot| Err(Breakdown::Singular { pivot }))
}

/// The row exchanges, one a step, that lead to an order of rows.
fn exchanges(order: &[usize], pivots: &mut [i64]) {
    let mut rows: Vec<usize> = (0..order.len()).collect();
    let mut places = rows.clone();
    for (step, pivot) in pivots.iter_mut().enumerate() {
        let place = places[order[step]];
        places.swap(rows[step], rows[place]);
        rows.swap(step, place);
        *pivot = i64::try_from(place).expect("invariant: a matrix in memory has fewer rows");
    }
}

/// LU factors a column at a time, going on after a pivot of 0.
fn plain_lu<T: Field>(mut a: MatMut<'_, T>, pivots: &mut [i64]) {
    let (m, n) = a.shape();
    for (step, pivot) in pivots.iter_mut().enumerate() {
        let size = |row: usize| a[(row, step)].abs1();
        let largest =
            (step + 1..m).fold(step, |best, row| if size(row) > size(best) { row } else { best });
        *pivot = i64::try_from(largest).expect("invariant: a matrix in memory has fewer rows");
        for col in 0..n {
            let (upper, lower) = (a[(step, col)], a[(largest, col)]);
            (a[(step, col)], a[(largest, col)]) = (lower, upper);
        }
        let divisor = a[(step, step)];
        if divisor == T::default() {
            continue;
        }
        for row in step + 1..m {
            let factor = a[(row, step)] * divisor.recip();
            a[(row, step)] = factor;
            for col in step + 1..n {
                let above = a[(step, col)];
                a[(row, col)] = a[(row, col)] - factor * above;
            }
        }
    }
}

pub(super) fn potrf<T: Field>(triangle: Triangle, a: MatMut<'_, T>) -> Done {
    let n = a.nrows();
    // With a = U^H U, the transpose of U is the lower factor of the transpose of a.
    let a = match triangle {
        Triangle::Lower => a,
        Triangle::Upper => a.transpose_mut(),
    };
    if n == 0 {
        return Ok(());
    }
    let mut buffer = space(cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut buffer);
    match cholesky_in_place(a, Default::default(), Par::Seq, stack, Default::default()) {
        Ok(_) => Ok(()),
        Err(LltError::NonPositivePivot { index }) => {
            Err(Breakdown::NotPositiveDefinite { pivot: index })
        }
    }
}

pub(super) fn trtri<T: Field>(
    triangle: Triangle,
    diagonal: Diagonal,
    mut a: MatMut<'_, T>,
) -> Done {
    let n = a.nrows();
    if diagonal == Diagonal::Stored
        && let Some(pivot) = first_zero(a.rb())
    {
        return Err(Breakdown::Singular { pivot });
    }
    let mut inverted = Mat::<T>::zeros(n, n);
    let (to, from) = (inverted.as_mut(), a.rb());
    match (triangle, diagonal) {
        (Triangle::Lower, Diagonal::Stored) => inverse::invert_lower_triangular(to, from, Par::Seq),
        (Triangle::Upper, Diagonal::Stored) => inverse::invert_upper_triangular(to, from, Par::Seq),
        (Triangle::Lower, Diagonal::Unit) => {
            inverse::invert_unit_lower_triangular(to, from, Par::Seq);
        }
        (Triangle::Upper, Diagonal::Unit) => {
            inverse::invert_unit_upper_triangular(to, from, Par::Seq);
        }
    }
    let unit = usize::from(diagonal == Diagonal::Unit);
    for col in 0..n {
        let rows = match triangle {
            Triangle::Lower => col + unit..n,
            Triangle::Upper => 0..col + 1 - unit,
        };
        for row in rows {
            a[(row, col)] = inverted[(row, col)];
        }
    }
    Ok(())
}
