//! General contractions as batched matrix products.
//!
//! The axes of each operand are grouped into rows, columns and batch. Where strides can walk a group as one axis the
//! operand is used as it lies; otherwise it is packed into memory of the pool first. Those that are [`Plain`] skip all of
//! it. The products are a provider's.

use smallvec::SmallVec;
use tenferro_ops::Scale;
use tenferro_provider::{self as provider, Product};
use tenferro_tensor::{
    AsOperand, BatchPosition, Contraction, Error, Layout, Operand, OperandMut, Result, Shape,
    Tensor, TensorView, Uninit,
};

use super::{Grant, Plain, copy, structure::layout_of};
use crate::schedule::Mode;

const OP: &str = "dot_general";

type Axes = SmallVec<[usize; 6]>;

/// `out = alpha * contraction(lhs, rhs) + beta * out`, for operands and an output that fit.
pub(crate) fn contract(
    grant: &Grant<'_>,
    contraction: &Contraction,
    inputs: &[Operand<'_>],
    scale: Scale,
    out: OperandMut<'_>,
) -> Result<()> {
    if let Some(plain) = Plain::of(contraction, inputs) {
        return plain.multiply(grant, scale, out);
    }
    let groups = Groups::new(contraction, &inputs[0], &inputs[1]);
    let lhs = Side::new(
        grant,
        &inputs[0],
        [&groups.lhs_free, &groups.lhs_contracting, &groups.lhs_batch],
    )?;
    let rhs = Side::new(
        grant,
        &inputs[1],
        [&groups.rhs_contracting, &groups.rhs_free, &groups.rhs_batch],
    )?;
    let work = Matrices { grant, contraction, lhs: &lhs, rhs: &rhs };
    let (m, n, batch) = (lhs.extent(0), rhs.extent(1), lhs.extent(2));
    let to = layout_of(&out).transposed(&groups.result_order(contraction.batch)).ok();
    let to = to.and_then(|layout| layout.reshaped(&[m, n, batch]).ok());
    let scattered = contraction.batch == BatchPosition::Leading && batch > 1 && m * n > 1;
    match to {
        // A result whose products lie interleaved is written in one piece and moved, unless what is there counts.
        Some(to) if !scattered || !scale.beta.is_zero() => work.multiply(scale, out, &to),
        _ => work.multiply_apart(&groups, scale, out),
    }
}

/// Hands a product to a provider, conjugated as the contraction says.
#[inline(never)]
pub(super) fn multiply(
    grant: &Grant<'_>,
    contraction: &Contraction,
    scale: Scale,
    product: Product<'_>,
) -> Result<()> {
    let mut product = product
        .conjugating(contraction.lhs, contraction.rhs)
        .scaled(scale.alpha, scale.beta)
        .map_err(refusal)?;
    execute(grant, &mut product)
}

/// Hands a product to a provider.
#[inline]
pub(super) fn execute(grant: &Grant<'_>, product: &mut Product<'_>) -> Result<()> {
    let granted = grant.workers();
    let workers = match Mode::of(&granted, grant.providers, product.work()) {
        Mode::Sequential => granted.alone(),
        Mode::Outer | Mode::Inner => granted,
    };
    grant.providers.execute(product, &workers).map_err(refusal)
}

/// The axes of both operands by their role.
struct Groups {
    lhs_free: Axes,
    lhs_contracting: Axes,
    lhs_batch: Axes,
    rhs_free: Axes,
    rhs_contracting: Axes,
    rhs_batch: Axes,
}

impl Groups {
    fn new(contraction: &Contraction, lhs: &Operand<'_>, rhs: &Operand<'_>) -> Self {
        let free = |rank: usize, contracting: &[usize], batch: &[usize]| {
            (0..rank).filter(|axis| !contracting.contains(axis) && !batch.contains(axis)).collect()
        };
        // The order of the sum is ours to choose: the one in which the left operand is most likely one piece.
        let strides = lhs.strides_or_dense();
        let mut pairs: SmallVec<[(usize, usize); 6]> = contraction
            .lhs_contracting
            .iter()
            .copied()
            .zip(contraction.rhs_contracting.iter().copied())
            .collect();
        pairs.sort_by_key(|&(axis, _)| strides[axis].unsigned_abs());
        Self {
            lhs_free: free(
                lhs.shape().rank(),
                &contraction.lhs_contracting,
                &contraction.lhs_batch,
            ),
            rhs_free: free(
                rhs.shape().rank(),
                &contraction.rhs_contracting,
                &contraction.rhs_batch,
            ),
            lhs_contracting: pairs.iter().map(|pair| pair.0).collect(),
            rhs_contracting: pairs.iter().map(|pair| pair.1).collect(),
            lhs_batch: SmallVec::from_slice(&contraction.lhs_batch),
            rhs_batch: SmallVec::from_slice(&contraction.rhs_batch),
        }
    }

    /// The permutation that puts the result's axes into the order rows, columns, batch.
    fn result_order(&self, batch: BatchPosition) -> Axes {
        let (batches, free) = (self.lhs_batch.len(), self.lhs_free.len() + self.rhs_free.len());
        match batch {
            BatchPosition::Trailing => (0..free + batches).collect(),
            BatchPosition::Leading => (batches..free + batches).chain(0..batches).collect(),
        }
    }

    /// The extents of the result in the order rows, columns, batch.
    fn result_extents(&self, lhs: &Side<'_>, rhs: &Side<'_>) -> Axes {
        let of = |side: &Side<'_>, axes: &Axes| -> Axes {
            axes.iter().map(|&axis| side.shape[axis]).collect()
        };
        let mut extents = of(lhs, &self.lhs_free);
        extents.extend(of(rhs, &self.rhs_free));
        extents.extend(of(lhs, &self.lhs_batch));
        extents
    }
}

/// One operand as a batch of matrices.
struct Side<'a> {
    /// The operand's own extents.
    shape: Shape,
    matrices: TensorView<'a>,
    /// What the matrices lie in, if they had to be packed.
    _packed: Option<Tensor>,
}

impl<'a> Side<'a> {
    fn new(grant: &Grant<'_>, operand: &Operand<'a>, groups: [&Axes; 3]) -> Result<Self> {
        let shape = operand.shape();
        let extent = |axes: &Axes| axes.iter().map(|&axis| shape[axis]).product::<usize>();
        let extents = groups.map(extent);
        let order: Axes = groups.into_iter().flatten().copied().collect();
        let ordered = operand.view().permute(&order)?;
        if let Ok(matrices) = ordered.clone().reshape(&extents) {
            return Ok(Self { shape: shape.clone(), matrices, _packed: None });
        }
        let packed = grant.packed(OP, &ordered.as_operand())?;
        let layout = Layout::column_major(Shape::new(&extents).map_err(|problem| problem.of(OP))?);
        // SAFETY: the tensor is dense, has as many elements as the layout, and is kept beside the view, unwritten.
        let matrices =
            unsafe { TensorView::from_raw(packed.as_operand().data(), packed.dtype(), layout) };
        Ok(Self { shape: shape.clone(), matrices, _packed: Some(packed) })
    }

    fn extent(&self, axis: usize) -> usize {
        self.matrices.shape()[axis]
    }
}

/// Two batches of matrices to be multiplied.
struct Matrices<'a> {
    grant: &'a Grant<'a>,
    contraction: &'a Contraction,
    lhs: &'a Side<'a>,
    rhs: &'a Side<'a>,
}

impl Matrices<'_> {
    /// Multiplies into the elements of `out` under the layout `to`, which has the axes rows, columns and batch.
    fn multiply(&self, scale: Scale, mut out: OperandMut<'_>, to: &Layout) -> Result<()> {
        // SAFETY: the layout was derived from the output's own and reaches each of its elements once.
        let out = unsafe { out.relaid(0, to) };
        let (lhs, rhs) = (self.lhs.matrices.as_operand(), self.rhs.matrices.as_operand());
        let product = Product::new(lhs, rhs, out).map_err(refusal)?;
        multiply(self.grant, self.contraction, scale, product)
    }

    /// Multiplies into memory of its own and moves the result to `out`.
    fn multiply_apart(&self, groups: &Groups, scale: Scale, mut out: OperandMut<'_>) -> Result<()> {
        let order = groups.result_order(self.contraction.batch);
        let extents = groups.result_extents(self.lhs, self.rhs);
        let shape = Shape::new(&extents).map_err(|problem| problem.of(OP))?;
        let mut apart: Uninit = self.grant.allocate(OP, out.dtype(), shape.clone())?;
        // The output with its axes in the order of the products.
        let ordered = layout_of(&out).transposed(&order).map_err(|problem| problem.of(OP))?;
        // SAFETY: the layout is the output's own with its axes in another order.
        let out = unsafe { out.relaid(0, &ordered) };
        if !scale.beta.is_zero() {
            let before = out.as_operand().expect("invariant: an output that counts was written");
            copy::copy(self.grant, &before, apart.as_operand_mut());
        }
        let products = [self.lhs.extent(0), self.rhs.extent(1), self.lhs.extent(2)];
        let to =
            Layout::column_major(shape).reshaped(&products).map_err(|problem| problem.of(OP))?;
        self.multiply(scale, apart.as_operand_mut(), &to)?;
        // SAFETY: the products wrote every element.
        let apart = unsafe { apart.assume_init() };
        copy::copy(self.grant, &apart.as_operand(), out);
        Ok(())
    }
}

/// A provider's refusal as a tensor error.
#[cold]
pub(super) fn refusal(error: provider::Error) -> Error {
    match error {
        provider::Error::InvalidProduct(problem) => problem.of(OP),
        unsupported @ provider::Error::Unsupported { .. } => {
            Error::Unsupported { op: OP, reason: unsupported.to_string().into() }
        }
        other => Error::BackendSource { op: OP, source: Box::new(other) },
    }
}
