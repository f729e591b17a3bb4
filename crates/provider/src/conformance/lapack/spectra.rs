//! Singular values and eigenvalues: `gesdd`, `gesvd`, `syevd`, `geev`.

use tenferro_tensor::Complex64;

use super::{
    Number, Stop, agree, call,
    dense::Dense,
    factors::{TRIANGLES, is_outside},
    held::Held,
    in_order, orthonormal, solved,
};
use crate::{
    Provider,
    lapack::{Driver, Request, Vectors},
};

pub(super) fn gesdd<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    singular::<T>(provider, Driver::DivideAndConquer, extents)
}

pub(super) fn gesvd<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    singular::<T>(provider, Driver::QrIteration, extents)
}

fn singular<T: Number>(
    provider: &dyn Provider,
    driver: Driver,
    extents: [usize; 2],
) -> Result<(), Stop> {
    let [m, n] = extents;
    let least = m.min(n);
    let matrix = Held::<T>::sample(41, extents).dense();
    let mut alone = Held::<T::Real>::place([least, 1]);
    let mut a = Held::<T>::of(&matrix);
    let answer = {
        let (mut a, mut values) = (a.view(), alone.vector());
        call(provider, Request::gesvd(driver, a.as_operand_mut(), values.as_operand_mut(), None))
    };
    solved(answer, &[&a, &alone])?;
    for counts in [[least, least], [m, n]] {
        let mut a = Held::<T>::of(&matrix);
        let mut values = Held::<T::Real>::place([least, 1]);
        let (mut u, mut vh) = (Held::<T>::place([m, counts[0]]), Held::<T>::place([counts[1], n]));
        let answer = {
            let (mut a, mut values) = (a.view(), values.vector());
            let (mut u, mut vh) = (u.view(), vh.view());
            let vectors = Some((u.as_operand_mut(), vh.as_operand_mut()));
            let (a, values) = (a.as_operand_mut(), values.as_operand_mut());
            call(provider, Request::gesvd(driver, a, values, vectors))
        };
        solved(answer, &[&a, &values, &u, &vh])?;
        let (u, vh, entries) = (u.dense(), vh.dense(), values.entries());
        in_order("singular values", entries.windows(2).map(|pair| pair[0].re >= pair[1].re))?;
        in_order("signs of singular values", entries.iter().map(|value| value.re >= 0.0))?;
        orthonormal::<T>("u^H u - 1", &u)?;
        orthonormal::<T>("v^H v - 1", &vh.adjoint())?;
        let product = u.times(&Dense::diagonal(counts, &entries)).times(&vh);
        agree::<T>("u s vh - a", &product, &matrix, matrix.norm())?;
        agree::<T>("values without vectors", &alone.dense(), &values.dense(), matrix.norm())?;
    }
    Ok(())
}

pub(super) fn syevd<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let n = extents[0];
    let sample = Held::<T>::sample(42, extents).dense();
    let matrix = sample.map(|row, col, element| (element + sample.at(col, row).conj()) / 2.0);
    let matrix = Held::<T>::of(&matrix).dense();
    for triangle in TRIANGLES {
        let mut spectra = Vec::new();
        for vectors in [Vectors::Computed, Vectors::Omitted] {
            let mut a = Held::<T>::hiding(&matrix, |row, col| is_outside(triangle, row, col));
            let mut values = Held::<T::Real>::place([n, 1]);
            let answer = {
                let (mut a, mut values) = (a.view(), values.vector());
                let (a, values) = (a.as_operand_mut(), values.as_operand_mut());
                call(provider, Request::syevd(triangle, vectors, a, values))
            };
            solved(answer, &[&a, &values])?;
            let entries = values.entries();
            in_order("eigenvalues", entries.windows(2).map(|pair| pair[0].re <= pair[1].re))?;
            spectra.push(values.dense());
            if vectors == Vectors::Computed {
                let columns = a.dense();
                orthonormal::<T>("v^H v - 1", &columns)?;
                let scaled = columns.times(&Dense::diagonal([n; 2], &entries));
                agree::<T>("a v - v w", &matrix.times(&columns), &scaled, matrix.norm())?;
            }
        }
        agree::<T>("values without vectors", &spectra[1], &spectra[0], matrix.norm())?;
    }
    Ok(())
}

pub(super) fn geev<T: Number>(provider: &dyn Provider, extents: [usize; 2]) -> Result<(), Stop> {
    let n = extents[0];
    let matrix = Held::<T>::sample(43, extents).dense();
    for [with_left, with_right] in [[true, true], [false, true], [true, false], [false, false]] {
        let mut a = Held::<T>::of(&matrix);
        let mut values = Held::<T::Complex>::place([n, 1]);
        let mut left = with_left.then(|| Held::<T::Complex>::place([n; 2]));
        let mut right = with_right.then(|| Held::<T::Complex>::place([n; 2]));
        let answer = {
            let (mut a, mut values) = (a.view(), values.vector());
            let mut left = left.as_mut().map(Held::view);
            let mut right = right.as_mut().map(Held::view);
            let request = Request::geev(
                a.as_operand_mut(),
                values.as_operand_mut(),
                left.as_mut().map(|left| left.as_operand_mut()),
                right.as_mut().map(|right| right.as_operand_mut()),
            );
            call(provider, request)
        };
        solved(answer, &[&a, &values])?;
        let entries = values.entries();
        let trace: Complex64 = (0..n).map(|place| matrix.at(place, place)).sum();
        let sum = Dense::new([1, 1], |_, _| entries.iter().sum());
        agree::<T>(
            "sum of values - trace",
            &sum,
            &Dense::new([1, 1], |_, _| trace),
            matrix.norm() * (n as f64).max(1.0),
        )?;
        if let Some(right) = &right {
            solved(Ok(super::Answer::Done), &[right])?;
            let columns = right.dense();
            unit_lengths::<T>(&columns)?;
            let scaled = columns.times(&Dense::diagonal([n; 2], &entries));
            agree::<T>("a v - v w", &matrix.times(&columns), &scaled, matrix.norm())?;
        }
        if let Some(left) = &left {
            solved(Ok(super::Answer::Done), &[left])?;
            let rows = left.dense().adjoint();
            unit_lengths::<T>(&left.dense())?;
            let scaled = Dense::diagonal([n; 2], &entries).times(&rows);
            agree::<T>("u^H a - w u^H", &rows.times(&matrix), &scaled, matrix.norm())?;
        }
    }
    Ok(())
}

fn unit_lengths<T: Number>(columns: &Dense) -> Result<(), Stop> {
    let length =
        |col: usize| (0..columns.rows).map(|row| columns.at(row, col).norm_sqr()).sum::<f64>();
    let lengths = Dense::new([1, columns.cols], |_, col| Complex64::new(length(col).sqrt(), 0.0));
    let ones = Dense::new([1, columns.cols], |_, _| Complex64::ONE);
    agree::<T>("length of vectors", &lengths, &ones, 1.0)
}
