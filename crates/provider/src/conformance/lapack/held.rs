//! Operands of LAPACK requests among guards, which remember what they held before.

use tenferro_tensor::{Complex64, TensorView, TensorViewMut};

use super::{
    super::number::{Sample, random},
    Kept, Number,
    dense::Dense,
};

/// Elements before the first and after the last one.
const EDGE: usize = 3;

/// Elements between two columns.
const GAP: usize = 2;

const VALID: &str = "invariant: the suite's operands are valid";

/// A matrix, or a vector as a matrix of one column, with room between its columns.
pub(super) struct Held<T> {
    extents: [usize; 2],
    elements: Vec<T>,
    before: Vec<T>,
}

impl<T: Sample> Held<T> {
    /// A matrix of these elements among guards that are poison.
    pub(super) fn new(extents: [usize; 2], mut element: impl FnMut(usize, usize) -> T) -> Self {
        let leading = extents[0] + GAP;
        let mut elements = vec![T::poison(); 2 * EDGE + leading * extents[1].max(1)];
        for col in 0..extents[1] {
            for row in 0..extents[0] {
                elements[EDGE + row + col * leading] = element(row, col);
            }
        }
        Self { extents, before: elements.clone(), elements }
    }

    /// A place for results, full of poison.
    pub(super) fn place(extents: [usize; 2]) -> Self {
        Self::new(extents, |_, _| T::poison())
    }

    pub(super) fn view(&mut self) -> TensorViewMut<'_> {
        let strides = [1, (self.extents[0] + GAP).cast_signed()];
        TensorViewMut::from_slice(&mut self.elements, &self.extents, &strides, EDGE).expect(VALID)
    }

    /// The only column, as a vector.
    pub(super) fn vector(&mut self) -> TensorViewMut<'_> {
        TensorViewMut::from_slice(&mut self.elements, &self.extents[..1], &[1], EDGE).expect(VALID)
    }

    pub(super) fn read(&self) -> TensorView<'_> {
        let strides = [1, (self.extents[0] + GAP).cast_signed()];
        TensorView::from_slice(&self.elements, &self.extents, &strides, EDGE).expect(VALID)
    }

    pub(super) fn read_vector(&self) -> TensorView<'_> {
        TensorView::from_slice(&self.elements, &self.extents[..1], &[1], EDGE).expect(VALID)
    }

    pub(super) fn get(&self, row: usize, col: usize) -> T {
        self.elements[EDGE + row + col * (self.extents[0] + GAP)]
    }

    fn inside(&self, at: usize) -> Option<[usize; 2]> {
        let leading = self.extents[0] + GAP;
        let (row, col) = (at.checked_sub(EDGE)? % leading, (at - EDGE) / leading);
        (row < self.extents[0] && col < self.extents[1]).then_some([row, col])
    }

    fn changes(&self) -> impl Iterator<Item = usize> {
        let pairs = self.elements.iter().zip(&self.before);
        pairs.enumerate().filter(|(_, (now, then))| !now.same(**then)).map(|(at, _)| at)
    }
}

impl<T: Sample> Kept for Held<T> {
    fn guard(&self) -> Option<isize> {
        let outside = self.changes().find(|&at| self.inside(at).is_none());
        outside.map(|at| at.cast_signed() - EDGE.cast_signed())
    }

    fn changed(&self) -> Option<[usize; 2]> {
        self.changes().find_map(|at| self.inside(at))
    }
}

impl<T: Sample<Exact = Complex64>> Held<T> {
    /// What is there now.
    pub(super) fn dense(&self) -> Dense {
        Dense::new(self.extents, |row, col| self.get(row, col).exact())
    }

    /// The entries of the only column.
    pub(super) fn entries(&self) -> Vec<Complex64> {
        (0..self.extents[0]).map(|row| self.get(row, 0).exact()).collect()
    }
}

impl<T: Number> Held<T> {
    /// Pseudo-random numbers; each `salt` has its own.
    pub(super) fn sample(salt: u64, extents: [usize; 2]) -> Self {
        Self::new(extents, |row, col| T::sample(random(salt, row + col * extents[0])))
    }

    /// The matrix nearest to this one.
    pub(super) fn of(matrix: &Dense) -> Self {
        Self::new([matrix.rows, matrix.cols], |row, col| T::of(matrix.at(row, col)))
    }

    /// The same, with poison where `unread` says.
    pub(super) fn hiding(matrix: &Dense, unread: impl Fn(usize, usize) -> bool) -> Self {
        Self::new([matrix.rows, matrix.cols], |row, col| {
            if unread(row, col) { T::poison() } else { T::of(matrix.at(row, col)) }
        })
    }
}
