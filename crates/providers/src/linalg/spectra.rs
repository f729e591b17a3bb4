//! Singular values and eigenvalues, with their vectors.

use faer::{
    Mat, MatMut, MatRef, Par,
    diag::DiagMut,
    dyn_stack::MemStack,
    linalg::{
        evd::{self, ComputeEigenvectors, EvdError},
        svd::{self, ComputeSvdVectors},
    },
    reborrow::*,
    traits::ext::ComplexFieldExt,
};
use tenferro_provider::lapack::{Breakdown, Triangle, Vectors};
use tenferro_tensor::{Complex32, Complex64, Scalar};

use super::{Done, Field, space};

/// Values, left vectors, right vectors; vectors only where they were asked for.
type Spectrum<C> = (Vec<C>, Option<Mat<C>>, Option<Mat<C>>);

/// Eigenvalues of general matrices, which real and complex ones have different algorithms for.
pub(super) trait Eigen: Scalar {
    /// Values and vectors of a matrix that is not empty.
    fn eigen(a: MatRef<'_, Self>, wanted: [bool; 2]) -> Result<Spectrum<Self::Complex>, EvdError>;
}

fn wish(wanted: bool) -> ComputeEigenvectors {
    if wanted { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No }
}

macro_rules! eigen {
    ($($real:ty, $complex:ty;)*) => {
        $(impl Eigen for $complex {
            fn eigen(a: MatRef<'_, Self>, wanted: [bool; 2]) -> Result<Spectrum<Self>, EvdError> {
                let n = a.nrows();
                let [mut left, mut right] = wanted.map(|wanted| wanted.then(|| Mat::zeros(n, n)));
                let mut values = vec![Self::default(); n];
                let [with_left, with_right] = wanted.map(wish);
                let mut buffer =
                    space(evd::evd_scratch::<Self>(n, with_left, with_right, Par::Seq, Default::default()));
                evd::evd_cplx::<$real>(
                    a,
                    DiagMut::from_slice_mut(&mut values),
                    left.as_mut().map(|left| left.as_mut()),
                    right.as_mut().map(|right| right.as_mut()),
                    Par::Seq,
                    MemStack::new(&mut buffer),
                    Default::default(),
                )?;
                Ok((values, left, right))
            }
        }

        impl Eigen for $real {
            fn eigen(a: MatRef<'_, Self>, wanted: [bool; 2]) -> Result<Spectrum<$complex>, EvdError> {
                let n = a.nrows();
                let [mut left, mut right] =
                    wanted.map(|wanted| wanted.then(|| Mat::<Self>::zeros(n, n)));
                let (mut re, mut im) = (vec![Self::default(); n], vec![Self::default(); n]);
                let [with_left, with_right] = wanted.map(wish);
                let mut buffer =
                    space(evd::evd_scratch::<Self>(n, with_left, with_right, Par::Seq, Default::default()));
                evd::evd_real::<Self>(
                    a,
                    DiagMut::from_slice_mut(&mut re),
                    DiagMut::from_slice_mut(&mut im),
                    left.as_mut().map(|left| left.as_mut()),
                    right.as_mut().map(|right| right.as_mut()),
                    Par::Seq,
                    MemStack::new(&mut buffer),
                    Default::default(),
                )?;
                let paired = |columns: Option<Mat<Self>>| columns.map(|columns| {
                    let mut unpacked = Mat::<$complex>::zeros(n, n);
                    let mut col = 0;
                    while col < n {
                        let pair = im[col] != 0.0;
                        for row in 0..n {
                            let second = if pair { columns[(row, col + 1)] } else { 0.0 };
                            let value = <$complex>::new(columns[(row, col)], second);
                            unpacked[(row, col)] = value;
                            if pair {
                                unpacked[(row, col + 1)] = value.conj();
                            }
                        }
                        col += if pair { 2 } else { 1 };
                    }
                    unpacked
                });
                let (left, right) = (paired(left), paired(right));
                let values = re.iter().zip(&im).map(|(&re, &im)| <$complex>::new(re, im)).collect();
                Ok((values, left, right))
            }
        })*
    };
}

eigen! { f32, Complex32; f64, Complex64; }

pub(super) fn general<T: Field>(
    a: MatMut<'_, T>,
    values: &mut [<T as Scalar>::Complex],
    left: Option<MatMut<'_, <T as Scalar>::Complex>>,
    right: Option<MatMut<'_, <T as Scalar>::Complex>>,
) -> Done {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    let spectrum = T::eigen(a.rb(), [left.is_some(), right.is_some()]);
    let (found, found_left, found_right) =
        spectrum.map_err(|_| Breakdown::NotConverged { unconverged: n })?;
    values.copy_from_slice(&found);
    for (to, from) in [(left, found_left), (right, found_right)] {
        if let (Some(mut to), Some(from)) = (to, from) {
            for col in 0..n {
                let scale = from.col(col).norm_l2().recip();
                for row in 0..n {
                    to[(row, col)] = from[(row, col)].mul_real(&scale);
                }
            }
        }
    }
    Ok(())
}

pub(super) fn hermitian<T: Field>(
    triangle: Triangle,
    vectors: Vectors,
    mut a: MatMut<'_, T>,
    values: &mut [<T as Scalar>::Real],
) -> Done {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    let wanted = vectors == Vectors::Computed;
    let mut columns = wanted.then(|| Mat::<T>::zeros(n, n));
    let mut found = vec![T::default(); n];
    let mut buffer =
        space(evd::self_adjoint_evd_scratch::<T>(n, wish(wanted), Par::Seq, Default::default()));
    // The lower half of the transpose is the upper half; it is the conjugate of the matrix, as its vectors are.
    let read = match triangle {
        Triangle::Lower => a.rb(),
        Triangle::Upper => a.rb().transpose(),
    };
    evd::self_adjoint_evd(
        read,
        DiagMut::from_slice_mut(&mut found),
        columns.as_mut().map(|columns| columns.as_mut()),
        Par::Seq,
        MemStack::new(&mut buffer),
        Default::default(),
    )
    .map_err(|_| Breakdown::NotConverged { unconverged: n })?;
    for (value, found) in values.iter_mut().zip(&found) {
        *value = found.real();
    }
    if let Some(columns) = columns {
        for col in 0..n {
            for row in 0..n {
                let element = columns[(row, col)];
                a[(row, col)] = if triangle == Triangle::Upper { element.conj() } else { element };
            }
        }
    }
    Ok(())
}

pub(super) fn singular<T: Field>(
    a: MatMut<'_, T>,
    values: &mut [<T as Scalar>::Real],
    vectors: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
) -> Done {
    let (m, n) = a.shape();
    let (mut u, mut vh) = vectors.unzip();
    if values.is_empty() {
        // Any orthonormal vectors will do.
        for mut matrix in [u, vh].into_iter().flatten() {
            for place in 0..matrix.nrows().min(matrix.ncols()) {
                matrix[(place, place)] = <T as Scalar>::ONE;
            }
        }
        return Ok(());
    }
    let wanted = |count: Option<usize>| match count {
        None => ComputeSvdVectors::No,
        Some(count) if count == values.len() => ComputeSvdVectors::Thin,
        Some(_) => ComputeSvdVectors::Full,
    };
    let with_u = wanted(u.as_ref().map(|u| u.ncols()));
    let with_v = wanted(vh.as_ref().map(|vh| vh.nrows()));
    let mut v = vh.as_ref().map(|vh| Mat::<T>::zeros(n, vh.nrows()));
    let mut found = vec![T::default(); values.len()];
    let mut buffer =
        space(svd::svd_scratch::<T>(m, n, with_u, with_v, Par::Seq, Default::default()));
    svd::svd(
        a.rb(),
        DiagMut::from_slice_mut(&mut found),
        u.as_mut().map(|u| u.rb_mut()),
        v.as_mut().map(|v| v.as_mut()),
        Par::Seq,
        MemStack::new(&mut buffer),
        Default::default(),
    )
    .map_err(|_| Breakdown::NotConverged { unconverged: values.len() })?;
    for (value, found) in values.iter_mut().zip(&found) {
        *value = found.real();
    }
    if let (Some(vh), Some(v)) = (&mut vh, v) {
        vh.copy_from(v.adjoint());
    }
    Ok(())
}
