//! Small products on which real libraries went wrong, with answers written down rather than computed.

use tenferro_tensor::{AsOperand, Factor, TensorView, TensorViewMut};

use super::{check::Defect, number::Sample};
use crate::{Outcome, Product, Provider, Sequential};

/// A strided operand of small whole numbers.
struct Written<'a> {
    elements: &'a [i64],
    extents: [usize; 3],
    strides: [isize; 3],
    offset: usize,
}

/// A product and its result in column-major order.
struct Known<'a> {
    name: &'static str,
    lhs: Written<'a>,
    rhs: Written<'a>,
    result: &'a [i64],
}

/// Runs the known products and says what became of each.
pub(super) fn cases<T: Sample>(provider: &dyn Provider) -> Vec<(&'static str, Result<(), Defect>)> {
    let ones = [1; 1024];
    let by_rows = [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3];
    let written =
        |elements, extents, strides, offset| Written { elements, extents, strides, offset };
    let known = [
        Known {
            name: "F20 the transpose of a column times the column",
            lhs: written(&[1, 2], [1, 2, 1], [2, 1, 2], 0),
            rhs: written(&[1, 2], [2, 1, 1], [1, 2, 2], 0),
            result: &[5],
        },
        Known {
            name: "F20 the transpose of a column of leading dimension 1",
            lhs: written(&[1, 2], [1, 2, 1], [1, 1, 1], 0),
            rhs: written(&[1, 2], [2, 1, 1], [1, 1, 1], 0),
            result: &[5],
        },
        Known {
            name: "F21 a broadcast one times a matrix",
            lhs: written(&[1], [1, 2, 1], [0, 0, 0], 0),
            rhs: written(&[1, 3, 2, 4], [2, 2, 1], [1, 2, 4], 0),
            result: &[4, 6],
        },
        Known {
            name: "F21 a matrix that runs backwards times a vector",
            lhs: written(&[4, 3, 2, 1], [2, 2, 1], [-1, -2, -4], 3),
            rhs: written(&[1, 2], [2, 1, 1], [1, 2, 2], 0),
            result: &[7, 10],
        },
        Known {
            name: "F21 a dot product of vectors that run backwards",
            lhs: written(&[3, 2, 1], [1, 3, 1], [7, -1, 3], 2),
            rhs: written(&[6, 5, 4], [3, 1, 1], [-1, 9, 3], 2),
            result: &[32],
        },
        Known {
            name: "F25 ones of 3 by 8 times rows of 1, 2, 3",
            lhs: written(&ones, [3, 8, 1], [1, 3, 24], 0),
            rhs: written(&by_rows, [8, 3, 1], [3, 1, 24], 0),
            result: &[8, 8, 8, 16, 16, 16, 24, 24, 24],
        },
    ];
    let mut verdicts: Vec<_> =
        known.iter().map(|known| (known.name, run::<T>(provider, known))).collect();
    if provider.capabilities().batch {
        let broadcast = Known {
            name: "F22 ones broadcast over the batch times ones",
            lhs: written(&ones, [32, 32, 4], [1, 32, 0], 0),
            rhs: written(&ones, [32, 32, 4], [1, 32, 0], 0),
            result: &[32; 4096],
        };
        verdicts.push((broadcast.name, run::<T>(provider, &broadcast)));
    }
    // A sum that a 16-bit accumulator would lose; 8-bit integers wrap to 0.
    let long = Known {
        name: "F46 a sum of 4096 ones",
        lhs: written(&[1], [1, 4096, 1], [0, 0, 0], 0),
        rhs: written(&[1], [4096, 1, 1], [0, 0, 0], 0),
        result: &[4096],
    };
    verdicts.push((long.name, run::<T>(provider, &long)));
    verdicts
}

/// Runs one known product into an output full of NaN.
fn run<T: Sample>(provider: &dyn Provider, known: &Known<'_>) -> Result<(), Defect> {
    const VALID: &str = "invariant: the suite's operands are valid";
    let convert =
        |written: &Written<'_>| -> Vec<T> { written.elements.iter().map(|&e| whole(e)).collect() };
    let (lhs_elements, rhs_elements) = (convert(&known.lhs), convert(&known.rhs));
    let (m, n) = (known.lhs.extents[0], known.rhs.extents[1]);
    let batch = known.lhs.extents[2];
    let view = |elements, written: &Written<'_>| {
        TensorView::from_slice(elements, &written.extents, &written.strides, written.offset)
            .expect(VALID)
    };
    let (lhs, rhs) = (view(&lhs_elements, &known.lhs), view(&rhs_elements, &known.rhs));
    let mut result = vec![T::poison(); known.result.len()];
    let strides = [1, m.cast_signed(), (m * n).cast_signed()];
    let mut out = TensorViewMut::from_slice(&mut result, &[m, n, batch], &strides, 0).expect(VALID);
    let mut product =
        Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut()).expect(VALID);
    let outcome = provider.product(&mut product, &Sequential).map_err(Defect::Failed)?;
    if let Outcome::Unsupported(reason) = outcome {
        // Only a provider that takes any strides must do all of these.
        let layouts = provider.capabilities().layouts;
        return if layouts == crate::Layouts::Any { Err(Defect::Refused(reason)) } else { Ok(()) };
    }
    for (number, (actual, &expected)) in result.iter().zip(known.result).enumerate() {
        if !actual.same(whole(expected)) {
            return Err(Defect::Wrong {
                index: [number % m, number / m % n, number / (m * n)],
                actual: format!("{actual:?}"),
                expected: expected.to_string(),
                bound: 0.0,
            });
        }
    }
    Ok(())
}

/// A small whole number in the dtype; integers wrap.
fn whole<T: Sample>(value: i64) -> T {
    T::from_factor(Factor::Integer(value)).unwrap_or_else(|| T::sample(value.cast_unsigned()))
}
