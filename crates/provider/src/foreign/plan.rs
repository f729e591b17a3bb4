//! A request in the words of gemm: which way round, which operations, which leading dimensions.
//!
//! It is made before anything is written and reads no element. Its invariant: whatever it says can be called with
//! integers of the library's width, for each product of the batch and each piece of it.

use tenferro_tensor::Conjugation;

use super::{
    cut::Piece,
    functions::{BlasFunctions, Element, Gemm, Integer, Operation},
};
use crate::{Matrix, Order, Product, Reason};

/// An operand as gemm reads it.
#[derive(Clone, Copy)]
struct Side<I> {
    matrix: Matrix,
    operation: Operation,
    leading: I,
}

/// A request whose pieces gemm can compute. Matrices are those of the request, transposed if the result is row-major.
pub(super) struct Plan<T, I> {
    lhs: Side<I>,
    rhs: Side<I>,
    out: Matrix,
    leading: I,
    alpha: T,
    beta: T,
}

// SAFETY: the matrices are borrowed by the product for longer than the jobs run; inputs are only read, and jobs write
// disjoint pieces of the output.
unsafe impl<T, I> Sync for Plan<T, I> {}

impl<T: Element<I>, I: Integer> Plan<T, I> {
    /// The request in gemm's words, or why there are none.
    pub(super) fn new(request: &mut Product<'_>) -> Result<Self, Reason> {
        let (lhs, rhs, out) = (request.lhs(), request.rhs(), request.out());
        let conjugation = [request.lhs_conjugation(), request.rhs_conjugation()];
        let factors = [request.alpha_as(), request.beta_as()];
        Self::oriented([lhs, rhs, out], conjugation, factors).or_else(|reason| {
            // out^T = rhs^T lhs^T; the reason of the way that the request came is the one to tell.
            let transposed = [rhs.transposed(), lhs.transposed(), out.transposed()];
            let [first, second] = conjugation;
            Self::oriented(transposed, [second, first], factors).map_err(|_| reason)
        })
    }

    fn oriented(
        [lhs, rhs, out]: [Matrix; 3],
        conjugation: [Conjugation; 2],
        [alpha, beta]: [T; 2],
    ) -> Result<Self, Reason> {
        for extent in [out.rows, out.cols, lhs.cols] {
            integer::<I>(extent)?;
        }
        let Some((Order::ColumnMajor, leading)) = out.order() else {
            return Err(Reason::Strides);
        };
        Ok(Self {
            lhs: Side::new(lhs, conjugation[0])?,
            rhs: Side::new(rhs, conjugation[1])?,
            out,
            leading: integer(leading)?,
            alpha,
            beta,
        })
    }

    /// Rows and columns of the result, this way round.
    pub(super) fn extents(&self) -> [usize; 2] {
        [self.out.rows, self.out.cols]
    }

    /// Computes a piece.
    pub(super) fn compute(&self, functions: &BlasFunctions<I>, piece: &Piece) {
        const FITS: &str = "invariant: parts of extents that fit do";
        let k = self.lhs.matrix.cols;
        let extents = [piece.rows.len(), piece.cols.len(), k];
        for batch in piece.batch.clone() {
            let call = Gemm {
                operations: [self.lhs.operation, self.rhs.operation],
                extents: extents.map(|extent| integer(extent).expect(FITS)),
                alpha: self.alpha,
                a: self.lhs.matrix.place::<T>([piece.rows.start, 0, batch]),
                b: self.rhs.matrix.place::<T>([0, piece.cols.start, batch]),
                beta: self.beta,
                c: self.out.place::<T>([piece.rows.start, piece.cols.start, batch]),
                leading: [self.lhs.leading, self.rhs.leading, self.leading],
            };
            // SAFETY: the request vouches for the matrices; the operations and leading dimensions are those of their
            // strides, and the piece lies inside.
            unsafe { T::gemm(functions, &call) };
        }
    }
}

impl<I: Integer> Side<I> {
    fn new(matrix: Matrix, conjugation: Conjugation) -> Result<Self, Reason> {
        let conjugated = conjugation == Conjugation::Conjugated;
        let (operation, leading) = match matrix.order().ok_or(Reason::Strides)? {
            (Order::ColumnMajor, leading) if !conjugated => (Operation::Plain, leading),
            (Order::RowMajor, leading) if conjugated => (Operation::ConjugateTransposed, leading),
            (Order::RowMajor, leading) => (Operation::Transposed, leading),
            // Conjugation comes with transposition only: does it read as the transpose of a transpose?
            (Order::ColumnMajor, _) => match matrix.transposed().order() {
                Some((Order::ColumnMajor, leading)) => (Operation::ConjugateTransposed, leading),
                _ => return Err(Reason::Conjugation),
            },
        };
        Ok(Self { matrix, operation, leading: integer(leading)? })
    }
}

fn integer<I: Integer>(value: usize) -> Result<I, Reason> {
    isize::try_from(value).ok().and_then(I::of).ok_or(Reason::Extent(value))
}
