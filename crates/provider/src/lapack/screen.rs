//! Looks for elements that are infinite or NaN, in the part of a matrix that a routine reads.
//!
//! LAPACK may loop or crash on such elements; that is found out before a call, by one pass over what is read.

use std::ops::Range;

use tenferro_tensor::{AsOperand, Complex32, Complex64, DType, Operand, Scalar};

/// An element of a LAPACK dtype.
trait Element: Scalar {
    fn is_finite(self) -> bool;
}

macro_rules! elements {
    (float [$($float:ident: $f:ty = $_f:literal),*] half $_h:tt complex [$($complex:ident: $c:ty = $_c:literal),*] $($_rest:tt)*) => {
        /// The dtypes that LAPACK has.
        pub(super) const DTYPES: &[DType] = &[$(DType::$float,)* $(DType::$complex,)*];

        /// The first element, by rows and columns, that is not finite among the rows that `read` names for each column.
        pub(super) fn first_wild(matrix: &Operand<'_>, read: impl Fn(usize) -> Range<usize>) -> Option<[usize; 2]> {
            match matrix.dtype() {
                $(DType::$float => scan::<$f>(matrix, read),)*
                $(DType::$complex => scan::<$c>(matrix, read),)*
                // Pivots are integers.
                _ => None,
            }
        }
    };
}

tenferro_tensor::dtypes!(elements,);

macro_rules! finite {
    ($($ty:ty),*) => {
        $(impl Element for $ty {
            #[inline(always)]
            fn is_finite(self) -> bool { <$ty>::is_finite(self) }
        })*
    };
}

finite!(f32, f64, Complex32, Complex64);

fn scan<T: Element>(
    matrix: &Operand<'_>,
    read: impl Fn(usize) -> Range<usize>,
) -> Option<[usize; 2]> {
    let extents = matrix.shape();
    let cols = extents.get(1).copied().unwrap_or(1);
    (0..cols).find_map(|col| {
        let rows = read(col);
        let start = rows.start;
        let part =
            |view: tenferro_tensor::TensorView<'_>| -> tenferro_tensor::Result<Option<usize>> {
                let bounds =
                    |range: &Range<usize>| range.start.cast_signed()..range.end.cast_signed();
                let mut view = view.slice(0, bounds(&rows), 1)?;
                if extents.rank() > 1 {
                    view = view.slice(1, bounds(&(col..col + 1)), 1)?;
                }
                let column = view.as_operand();
                let column = column.as_slice::<T>().expect("invariant: a column lies in one piece");
                // Without a branch an element, which the compiler turns into vectors; a place is looked for after that.
                let finite = column.iter().fold(true, |all, element| all & element.is_finite());
                Ok(if finite {
                    None
                } else {
                    column.iter().position(|element| !element.is_finite())
                })
            };
        let place = part(matrix.view()).expect("invariant: rows and columns are the matrix's own");
        place.map(|row| [start + row, col])
    })
}
