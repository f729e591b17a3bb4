//! Products of one row by one column: a dot product each, of any strides but zero and any conjugation.
//!
//! It serves what gemm cannot say, and it is where a library that returns complex results in another way than CBLAS
//! has it is found out.

use tenferro_tensor::Conjugation;

use super::{
    functions::{BlasFunctions, Element, Integer, Vector},
    scale::{Scale, combine},
};
use crate::{Matrix, Product};

/// A batch of dot products.
pub(super) struct Dots<T, I> {
    lhs: Matrix,
    rhs: Matrix,
    out: Matrix,
    batch: usize,
    steps: [I; 2],
    count: I,
    conjugation: [Conjugation; 2],
    scales: (Scale<T>, Scale<T>),
}

impl<T: Element<I>, I: Integer> Dots<T, I> {
    /// The request, if it is one row by one column with strides that a dot product takes.
    pub(super) fn of(request: &mut Product<'_>) -> Option<Self> {
        let one = request.m() == 1 && request.n() == 1 && request.k() > 1;
        if !one {
            return None;
        }
        let (lhs, rhs, out) = (request.lhs(), request.rhs(), request.out());
        let strides = [lhs.col_stride, rhs.row_stride];
        if strides.contains(&0) {
            return None;
        }
        Some(Self {
            lhs,
            rhs,
            out,
            batch: request.batch(),
            steps: [I::of(strides[0])?, I::of(strides[1])?],
            count: I::of(isize::try_from(request.k()).ok()?)?,
            conjugation: [request.lhs_conjugation(), request.rhs_conjugation()],
            scales: (Scale::new(request.alpha()), Scale::new(request.beta())),
        })
    }

    /// Computes all of them.
    pub(super) fn compute(&self, functions: &BlasFunctions<I>) {
        let last = self.lhs.cols - 1;
        for batch in 0..self.batch {
            // BLAS walks backwards from the end that lies lowest in memory.
            let first = |stride: isize| if stride < 0 { last } else { 0 };
            let x = Vector {
                data: self.lhs.place::<T>([0, first(self.lhs.col_stride), batch]).cast_const(),
                step: self.steps[0],
                conjugation: self.conjugation[0],
            };
            let y = Vector {
                data: self.rhs.place::<T>([first(self.rhs.row_stride), 0, batch]).cast_const(),
                step: self.steps[1],
                conjugation: self.conjugation[1],
            };
            let place = self.out.place::<T>([0, 0, batch]);
            // SAFETY: the request vouches for both vectors.
            let sum = || unsafe { T::dot(functions, self.count, x, y) };
            // SAFETY: the element is inside of the output; `combine` reads it only with a beta other than 0.
            let element = combine(self.scales, sum, || unsafe { place.read() });
            // SAFETY: as above; nobody else reaches the output.
            unsafe { place.write(element) };
        }
    }
}
