//! Contractions whose operands are multiplied as they lie: matrices, vectors, and batches whose axis is the last.
//!
//! Most products are of this kind, and a small one takes less time than the lists would in which axes are grouped. So
//! their axes are never listed: what they are is read off the contraction, and what fits off the shapes. Nor is a request
//! moved once it is made, which would wait for what was just written.

use tenferro_ops::Scale;
use tenferro_provider::Product;
use tenferro_tensor::{
    BatchPosition, Conjugation, Contraction, DType, Operand, OperandMut, Result, Shape,
};

use super::{
    Grant,
    dot::{execute, multiply, refusal},
};

/// Such a contraction of two operands.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    contraction: &'a Contraction,
    lhs: Operand<'a>,
    rhs: Operand<'a>,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Two matrices or vectors, summed over one axis each.
    Two([usize; 2]),
    /// `[m, k, batch]` and `[k, n, batch]`.
    Batch,
}

impl<'a> Plain<'a> {
    /// The contraction as a plain one, if it is; `None` says nothing.
    #[inline]
    pub(crate) fn of(contraction: &'a Contraction, inputs: &[Operand<'a>]) -> Option<Self> {
        let &[lhs, rhs] = inputs else { return None };
        let Contraction { lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, .. } =
            contraction;
        let (&[left], &[right]) = (&lhs_contracting[..], &rhs_contracting[..]) else { return None };
        let ranks = [lhs.shape().rank(), rhs.shape().rank()];
        let kind = match (&lhs_batch[..], &rhs_batch[..]) {
            ([], []) if ranks[0] <= 2 && ranks[1] <= 2 && left < ranks[0] && right < ranks[1] => {
                Kind::Two([left, right])
            }
            ([2], [2])
                if ranks == [3; 2]
                    && [left, right] == [1, 0]
                    && contraction.batch == BatchPosition::Trailing =>
            {
                Kind::Batch
            }
            _ => return None,
        };
        Some(Self { contraction, lhs, rhs, kind })
    }

    /// The shape of the result, if the operands fit; the rules say why they do not.
    #[inline]
    pub(crate) fn shape(&self) -> Option<Shape> {
        let (lhs, rhs) = (self.lhs, self.rhs);
        if lhs.dtype() != rhs.dtype() || lhs.dtype() == DType::Bool {
            return None;
        }
        let fitting = |k: usize, rows: usize, extents: &[usize]| {
            if k == rows { Shape::new(extents).ok() } else { None }
        };
        match (self.kind, &lhs.shape()[..], &rhs.shape()[..]) {
            (Kind::Two([left, right]), &[l0, l1], &[r0, r1]) => {
                let ([k, m], [rows, n]) = (turned([l0, l1], left), turned([r0, r1], right));
                fitting(k, rows, &[m, n])
            }
            (Kind::Two([left, _]), &[l0, l1], &[rows]) => {
                let [k, m] = turned([l0, l1], left);
                fitting(k, rows, &[m])
            }
            (Kind::Two([_, right]), &[k], &[r0, r1]) => {
                let [rows, n] = turned([r0, r1], right);
                fitting(k, rows, &[n])
            }
            (Kind::Two(_), &[k], &[rows]) => fitting(k, rows, &[]),
            (Kind::Batch, &[m, k, batch], &[rows, n, other]) if batch == other => {
                fitting(k, rows, &[m, n, batch])
            }
            _ => None,
        }
    }

    /// The dtype of the operands and of the result.
    #[inline]
    pub(crate) fn dtype(&self) -> DType {
        self.lhs.dtype()
    }

    /// `out = alpha * contraction(lhs, rhs) + beta * out`, for operands and an output that fit.
    #[inline(always)]
    pub(crate) fn multiply(
        &self,
        grant: &Grant<'_>,
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        let mut product = match self.kind {
            Kind::Two(over) => Product::of_two(self.lhs, self.rhs, out, over),
            Kind::Batch => Product::new(self.lhs, self.rhs, out),
        };
        let conjugations = [self.contraction.lhs, self.contraction.rhs];
        match &mut product {
            Ok(product) if conjugations == [Conjugation::Plain; 2] && scale == Scale::ASSIGN => {
                execute(grant, product)
            }
            _ => multiply(grant, self.contraction, scale, product.map_err(refusal)?),
        }
    }
}

/// The extents of a matrix, that of the axis `over` first.
#[inline]
fn turned([first, second]: [usize; 2], over: usize) -> [usize; 2] {
    if over == 0 { [first, second] } else { [second, first] }
}
