//! Factorisations and inverses: `getrf`, `potrf`, `geqrf`, `orgqr`, `trtri`.

use tenferro_tensor::Complex64;

use super::{Number, Stop, agree, broke, call, dense::Dense, held::Held, orthonormal, solved};
use crate::{
    Provider,
    conformance::Defect,
    lapack::{Breakdown, Diagonal, Request, Triangle},
};

pub(super) const TRIANGLES: [Triangle; 2] = [Triangle::Lower, Triangle::Upper];

/// Whether an element is in the other half.
pub(super) fn is_outside(triangle: Triangle, row: usize, col: usize) -> bool {
    match triangle {
        Triangle::Lower => row < col,
        Triangle::Upper => row > col,
    }
}

/// One half of a matrix, zeros in the other and, if unit, ones on the diagonal.
pub(super) fn half(matrix: &Dense, triangle: Triangle, diagonal: Diagonal) -> Dense {
    matrix.map(|row, col, element| match diagonal {
        Diagonal::Unit if row == col => Complex64::ONE,
        _ if is_outside(triangle, row, col) => Complex64::ZERO,
        _ => element,
    })
}

/// A well-conditioned triangular matrix.
pub(super) fn triangular<T: Number>(extent: usize, triangle: Triangle) -> Dense {
    let sample = Held::<T>::sample(21, [extent; 2]).dense();
    let shrunk =
        sample.map(
            |row, col, element| {
                if row == col { element * 0.25 + 2.0 } else { element / extent as f64 }
            },
        );
    half(&Held::<T>::of(&shrunk).dense(), triangle, Diagonal::Stored)
}

pub(super) fn getrf<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    lu::<T>(provider, Held::sample(22, extents), None)?;
    if extents[0] == extents[1] && extents[0] > 2 {
        // A column of zeros is met with exactly, however rows are exchanged.
        let gap = Held::<T>::sample(23, extents).dense();
        let gap = gap.map(|_, col, element| if col == 1 { Complex64::ZERO } else { element });
        lu::<T>(provider, Held::of(&gap), Some(Breakdown::Singular { pivot: 1 }))?;
    }
    Ok(())
}

/// The factors of `a` and what they should break with: they must be factors in any case.
fn lu<T: Number>(
    provider: &dyn Provider,
    mut a: Held<T>,
    expected: Option<Breakdown>,
) -> Result<(), Stop> {
    let matrix = a.dense();
    let least = matrix.rows.min(matrix.cols);
    let mut pivots = Held::<i64>::place([least, 1]);
    let answer = {
        let (mut a, mut pivots) = (a.view(), pivots.vector());
        call(provider, Request::getrf(a.as_operand_mut(), pivots.as_operand_mut()))
    };
    broke(answer, &[&a, &pivots], expected)?;
    let factors = a.dense();
    let lower = half(&factors, Triangle::Lower, Diagonal::Unit).part([matrix.rows, least]);
    let upper = half(&factors, Triangle::Upper, Diagonal::Stored).part([least, matrix.cols]);
    let mut product = lower.times(&upper);
    for step in (0..least).rev() {
        let pivot = usize::try_from(pivots.get(step, 0)).unwrap_or(usize::MAX);
        if !(step..matrix.rows).contains(&pivot) {
            return Err(Defect::Disorder { what: "row exchanges" }.into());
        }
        product.exchange_rows(step, pivot);
    }
    agree::<T>("P L U - a", &product, &matrix, matrix.norm())?;
    // Rows are exchanged so that factors stay small, by the sum of both parts in LAPACK.
    let largest = (0..least).flat_map(|col| (col + 1..matrix.rows).map(move |row| (row, col)));
    let largest = largest.map(|(row, col)| lower.at(row, col).norm()).fold(0.0, f64::max);
    let bound = 1.5;
    if largest > bound {
        return Err(Defect::Residual { what: "size of L", distance: largest, bound }.into());
    }
    Ok(())
}

pub(super) fn potrf<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let n = extents[0];
    let sample = Held::<T>::sample(24, extents).dense();
    let gram = sample.times(&sample.adjoint()).map(|row, col, element| {
        if row == col { Complex64::new(element.re + n as f64, 0.0) } else { element }
    });
    for triangle in TRIANGLES {
        cholesky::<T>(provider, triangle, &gram, None)?;
        if n > 2 {
            let dented =
                gram.map(
                    |row, col, element| {
                        if (row, col) == (1, 1) { Complex64::new(-1.0, 0.0) } else { element }
                    },
                );
            let expected = Breakdown::NotPositiveDefinite { pivot: 1 };
            cholesky::<T>(provider, triangle, &dented, Some(expected))?;
        }
    }
    Ok(())
}

fn cholesky<T: Number>(
    provider: &dyn Provider,
    triangle: Triangle,
    matrix: &Dense,
    expected: Option<Breakdown>,
) -> Result<(), Stop> {
    let mut a = Held::<T>::hiding(matrix, |row, col| is_outside(triangle, row, col));
    let answer = call(provider, Request::potrf(triangle, a.view().as_operand_mut()));
    broke(answer, &[&a], expected)?;
    keeps_half(&a, triangle)?;
    if expected.is_some() {
        return Ok(());
    }
    let factor = half(&a.dense(), triangle, Diagonal::Stored);
    let product = match triangle {
        Triangle::Lower => factor.times(&factor.adjoint()),
        Triangle::Upper => factor.adjoint().times(&factor),
    };
    let exact = Held::<T>::of(matrix).dense();
    agree::<T>("L L^H - a", &product, &exact, exact.norm())
}

/// Whether the half that must not be written still holds poison.
fn keeps_half<T: Number>(a: &Held<T>, triangle: Triangle) -> Result<(), Stop> {
    let n = a.dense().rows;
    let mut outside = (0..n).flat_map(|col| (0..n).map(move |row| (row, col)));
    match outside
        .find(|&(row, col)| is_outside(triangle, row, col) && !a.get(row, col).same(T::poison()))
    {
        None => Ok(()),
        Some(_) => Err(Defect::Disorder { what: "the half that must not be written" }.into()),
    }
}

pub(super) fn geqrf<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let mut a = Held::<T>::sample(25, extents);
    let matrix = a.dense();
    let tau = reflectors(provider, &mut a)?;
    let factors = a.dense();
    // R from the top, then one reflector after the other, the last first.
    let mut product = half(&factors, Triangle::Upper, Diagonal::Stored);
    for (step, &tau) in tau.entries().iter().enumerate().rev() {
        let vector = Dense::new([extents[0], 1], |row, _| match row.cmp(&step) {
            std::cmp::Ordering::Less => Complex64::ZERO,
            std::cmp::Ordering::Equal => Complex64::ONE,
            std::cmp::Ordering::Greater => factors.at(row, step),
        });
        let shadow = vector.adjoint().times(&product);
        product =
            product.map(|row, col, element| element - tau * vector.at(row, 0) * shadow.at(0, col));
    }
    agree::<T>("Q R - a", &product, &matrix, matrix.norm())
}

/// The factors of a matrix, in place, and their `tau`.
fn reflectors<T: Number>(provider: &dyn Provider, a: &mut Held<T>) -> Result<Held<T>, Stop> {
    let matrix = a.dense();
    let mut tau = Held::<T>::place([matrix.rows.min(matrix.cols), 1]);
    let answer = {
        let (mut a, mut tau) = (a.view(), tau.vector());
        call(provider, Request::geqrf(a.as_operand_mut(), tau.as_operand_mut()))
    };
    solved(answer, &[a, &tau])?;
    Ok(tau)
}

/// Reflectors of the provider's own `geqrf`, which must be there to make sense of them.
pub(super) fn orgqr<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let [m, n] = extents;
    let mut a = Held::<T>::sample(26, extents);
    let matrix = a.dense();
    let tau = reflectors(provider, &mut a)?;
    let upper = half(&a.dense(), Triangle::Upper, Diagonal::Stored).part([n, n]);
    for cols in [n, m, n / 2] {
        // More columns than reflectors, as many, or fewer. What is not a reflector is not read.
        let used = n.min(cols);
        let part = Held::<T>::hiding(&a.dense(), |row, col| row <= col);
        let mut q =
            Held::<T>::new(
                [m, cols],
                |row, col| {
                    if col < used { part.get(row, col) } else { T::poison() }
                },
            );
        let used = Held::<T>::new([used, 1], |row, _| tau.get(row, 0));
        let answer = {
            let (mut q, tau) = (q.view(), used.read_vector());
            let tau = tenferro_tensor::AsOperand::as_operand(&tau);
            call(provider, Request::orgqr(q.as_operand_mut(), tau))
        };
        solved(answer, &[&q, &used])?;
        let q = q.dense();
        orthonormal::<T>("Q^H Q - 1", &q)?;
        if cols >= n {
            agree::<T>("Q R - a", &q.part([m, n]).times(&upper), &matrix, matrix.norm())?;
        }
    }
    Ok(())
}

pub(super) fn trtri<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let n = extents[0];
    for triangle in TRIANGLES {
        for diagonal in [Diagonal::Stored, Diagonal::Unit] {
            let unread = |row: usize, col: usize| {
                is_outside(triangle, row, col) || (row == col && diagonal == Diagonal::Unit)
            };
            let stored = triangular::<T>(n, triangle);
            let matrix = half(&stored, triangle, diagonal);
            let mut a = Held::<T>::hiding(&stored, unread);
            let answer =
                call(provider, Request::trtri(triangle, diagonal, a.view().as_operand_mut()));
            solved(answer, &[&a])?;
            keeps_half(&a, triangle)?;
            let inverse = half(&a.dense(), triangle, diagonal);
            let scale = matrix.norm() * inverse.norm();
            agree::<T>("a x - 1", &matrix.times(&inverse), &Dense::identity(n), scale)?;
        }
        if n > 3 {
            let gap = triangular::<T>(n, triangle).map(|row, col, element| {
                if (row, col) == (2, 2) { Complex64::ZERO } else { element }
            });
            let mut a = Held::<T>::of(&gap);
            let answer = call(
                provider,
                Request::trtri(triangle, Diagonal::Stored, a.view().as_operand_mut()),
            );
            broke(answer, &[&a], Some(Breakdown::Singular { pivot: 2 }))?;
        }
    }
    Ok(())
}
