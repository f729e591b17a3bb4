//! Matrices of complex f64 under plain loops: what residuals are computed with.

use tenferro_tensor::Complex64;

/// A column-major matrix.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    pub(super) rows: usize,
    pub(super) cols: usize,
    elements: Vec<Complex64>,
}

impl Dense {
    pub(super) fn new(
        [rows, cols]: [usize; 2],
        mut element: impl FnMut(usize, usize) -> Complex64,
    ) -> Self {
        let mut elements = Vec::with_capacity(rows * cols);
        for col in 0..cols {
            elements.extend((0..rows).map(|row| element(row, col)));
        }
        Self { rows, cols, elements }
    }

    pub(super) fn identity(extent: usize) -> Self {
        Self::diagonal([extent; 2], &vec![Complex64::ONE; extent])
    }

    pub(super) fn diagonal(extents: [usize; 2], values: &[Complex64]) -> Self {
        Self::new(extents, |row, col| if row == col { values[row] } else { Complex64::ZERO })
    }

    pub(super) fn at(&self, row: usize, col: usize) -> Complex64 {
        self.elements[row + col * self.rows]
    }

    /// The same matrix with some elements replaced.
    pub(super) fn map(&self, element: impl Fn(usize, usize, Complex64) -> Complex64) -> Self {
        Self::new([self.rows, self.cols], |row, col| element(row, col, self.at(row, col)))
    }

    /// The first rows and columns.
    pub(super) fn part(&self, extents: [usize; 2]) -> Self {
        Self::new(extents, |row, col| self.at(row, col))
    }

    pub(super) fn transposed(&self) -> Self {
        Self::new([self.cols, self.rows], |row, col| self.at(col, row))
    }

    pub(super) fn adjoint(&self) -> Self {
        Self::new([self.cols, self.rows], |row, col| self.at(col, row).conj())
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows);
        Self::new([self.rows, other.cols], |row, col| {
            (0..self.cols).map(|inner| self.at(row, inner) * other.at(inner, col)).sum()
        })
    }

    pub(super) fn exchange_rows(&mut self, first: usize, second: usize) {
        for col in 0..self.cols {
            self.elements.swap(first + col * self.rows, second + col * self.rows);
        }
    }

    /// The Frobenius norm.
    pub(super) fn norm(&self) -> f64 {
        self.elements.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt()
    }

    /// The norm of the difference; infinite if the extents differ.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        if (self.rows, self.cols) != (other.rows, other.cols) {
            return f64::INFINITY;
        }
        self.map(|row, col, element| element - other.at(row, col)).norm()
    }

    /// The solution of `self x = right` by elimination, for a positive definite matrix.
    pub(super) fn solve(&self, right: &Self) -> Self {
        let (mut a, mut x) = (self.clone(), right.clone());
        let n = self.rows;
        for step in 0..n {
            for row in (0..n).filter(|&row| row != step) {
                let factor = a.at(row, step) / a.at(step, step);
                let a_before = a.clone();
                for col in 0..n {
                    a.elements[row + col * n] -= factor * a_before.at(step, col);
                }
                for col in 0..x.cols {
                    let above = x.at(step, col);
                    x.elements[row + col * n] -= factor * above;
                }
            }
        }
        x.map(|row, _, element| element / a.at(row, row))
    }
}
