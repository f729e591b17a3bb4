//! Solutions of equations: `getrs`, `trtrs`, `gels`.

use tenferro_tensor::{AsOperand, Complex64};

use super::{
    Number, Stop, agree, broke, call,
    dense::Dense,
    factors::{TRIANGLES, half, is_outside, triangular},
    held::Held,
    solved,
};
use crate::{
    Provider,
    lapack::{Breakdown, Diagonal, Request, Transposition},
};

const OPS: [Transposition; 3] =
    [Transposition::Plain, Transposition::Transposed, Transposition::Adjoint];

fn turned(matrix: &Dense, op: Transposition) -> Dense {
    match op {
        Transposition::Plain => matrix.clone(),
        Transposition::Transposed => matrix.transposed(),
        Transposition::Adjoint => matrix.adjoint(),
    }
}

/// Factors that the suite makes itself: nobody's `getrf` is needed.
pub(super) fn getrs<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    use crate::lapack::Triangle::{Lower, Upper};
    let n = extents[0];
    let (lower, upper) = (triangular::<T>(n, Lower), triangular::<T>(n, Upper));
    let lu = lower.map(|row, col, element| if row > col { element } else { upper.at(row, col) });
    // Each step exchanges its row with the one that is half as far from the end.
    let pivots = Held::<i64>::new([n, 1], |row, _| (row + (n - row) / 2).cast_signed() as i64);
    let mut matrix = half(&lower, Lower, Diagonal::Unit).times(&upper);
    for step in (0..n).rev() {
        matrix.exchange_rows(step, step + (n - step) / 2);
    }
    let lu = Held::<T>::of(&lu);
    for op in OPS {
        let mut b = Held::<T>::sample(31, [n, 3]);
        let right = b.dense();
        let answer = {
            let (lu, pivots, mut b) = (lu.read(), pivots.read_vector(), b.view());
            let request =
                Request::getrs(op, lu.as_operand(), pivots.as_operand(), b.as_operand_mut());
            call(provider, request)
        };
        solved(answer, &[&lu, &pivots, &b])?;
        let solution = b.dense();
        let scale = matrix.norm() * solution.norm();
        agree::<T>("op(a) x - b", &turned(&matrix, op).times(&solution), &right, scale)?;
    }
    Ok(())
}

pub(super) fn trtrs<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let n = extents[0];
    for triangle in TRIANGLES {
        for (op, diagonal) in
            OPS.into_iter().zip([Diagonal::Stored, Diagonal::Unit].into_iter().cycle())
        {
            let stored = triangular::<T>(n, triangle);
            let matrix = half(&stored, triangle, diagonal);
            let a = Held::<T>::hiding(&stored, |row, col| {
                is_outside(triangle, row, col) || (row == col && diagonal == Diagonal::Unit)
            });
            let mut b = Held::<T>::sample(32, [n, 2]);
            let right = b.dense();
            let answer = {
                let (a, mut b) = (a.read(), b.view());
                let request =
                    Request::trtrs(triangle, op, diagonal, a.as_operand(), b.as_operand_mut());
                call(provider, request)
            };
            solved(answer, &[&a, &b])?;
            let solution = b.dense();
            let scale = matrix.norm() * solution.norm();
            agree::<T>("op(a) x - b", &turned(&matrix, op).times(&solution), &right, scale)?;
        }
        if n > 3 {
            let gap = triangular::<T>(n, triangle).map(|row, col, element| {
                if (row, col) == (2, 2) { Complex64::ZERO } else { element }
            });
            let (a, mut b) = (Held::<T>::of(&gap), Held::<T>::sample(33, [n, 1]));
            let answer = {
                let (a, mut b) = (a.read(), b.view());
                let (op, diagonal) = (Transposition::Plain, Diagonal::Stored);
                let request =
                    Request::trtrs(triangle, op, diagonal, a.as_operand(), b.as_operand_mut());
                call(provider, request)
            };
            broke(answer, &[&a, &b], Some(Breakdown::Singular { pivot: 2 }))?;
        }
    }
    Ok(())
}

pub(super) fn gels<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let [m, n] = extents;
    let sample = Held::<T>::sample(34, extents).dense();
    let far = m.max(n).max(1) as f64;
    let sample = sample.map(|row, col, element| {
        element / far + if row == col { Complex64::ONE } else { Complex64::ZERO }
    });
    for op in [Transposition::Plain, Transposition::Adjoint] {
        let mut a = Held::<T>::of(&sample);
        let matrix = turned(&a.dense(), op);
        let right = Held::<T>::sample(35, [matrix.rows, 2]).dense();
        let mut b = Held::<T>::new([m.max(n), 2], |row, col| {
            if row < matrix.rows { T::of(right.at(row, col)) } else { T::poison() }
        });
        let answer = {
            let (mut a, mut b) = (a.view(), b.view());
            call(provider, Request::gels(op, a.as_operand_mut(), b.as_operand_mut()))
        };
        solved(answer, &[&a, &b])?;
        let adjoint = matrix.adjoint();
        // The normal equations do for a matrix that is near to a part of the unit matrix.
        let expected = if matrix.rows >= matrix.cols {
            adjoint.times(&matrix).solve(&adjoint.times(&right))
        } else {
            adjoint.times(&matrix.times(&adjoint).solve(&right))
        };
        let solution = b.dense().part([matrix.cols, 2]);
        agree::<T>("x", &solution, &expected, right.norm().max(1.0))?;
    }
    if m > n && n > 2 {
        let gap = sample.map(|_, col, element| if col == 1 { Complex64::ZERO } else { element });
        let (mut a, mut b) = (Held::<T>::of(&gap), Held::<T>::sample(36, [m, 1]));
        let answer = {
            let (mut a, mut b) = (a.view(), b.view());
            let op = Transposition::Plain;
            call(provider, Request::gels(op, a.as_operand_mut(), b.as_operand_mut()))
        };
        broke(answer, &[&a, &b], Some(Breakdown::Singular { pivot: 1 }))?;
    }
    Ok(())
}
