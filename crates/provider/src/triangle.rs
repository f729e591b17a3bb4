//! Products with a triangular matrix, and those of which only a triangle is wanted: half the work of a whole product.
//!
//! The triangle is cut into rectangles, which are products like any other, and blocks on the diagonal, which are computed by
//! a copy. Every provider can do that. How it is cut depends on the extents alone.

use std::ptr::NonNull;

use tenferro_tensor::{DType, dispatch};

use crate::{Chain, Error, Matrix, Product, Workers, lapack::Triangle};

/// Rows and columns of a block on the diagonal. Smaller ones waste less work and make slower products.
const BLOCK: usize = 96;

/// Which matrix of a product has one triangle that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The left operand: its other triangle counts as zeros and is not read.
    Lhs,
    /// The right operand: its other triangle counts as zeros and is not read.
    Rhs,
    /// The result: its other triangle is neither read nor written.
    Out,
}

impl Chain {
    /// Computes a product of which one triangle of the matrix `side` counts. A matrix need not be square: its diagonal
    /// begins at its first element.
    ///
    /// ```
    /// # use tenferro_provider::Chain;
    /// use tenferro_provider::{Product, Sequential, Side, lapack::Triangle};
    /// use tenferro_tensor::{AsOperand, Tensor, TensorViewMut};
    ///
    /// # fn lower(chain: &Chain) -> Result<(), Box<dyn std::error::Error>> {
    /// let lower = Tensor::from_vec_row_major(vec![2, 2, 1], vec![1.0, f64::NAN, 2.0, 3.0])?;
    /// let column = Tensor::from_vec_col_major(vec![2, 1, 1], vec![1.0, 10.0])?;
    /// let mut result = [0.0; 2];
    /// let mut out = TensorViewMut::from_slice(&mut result, &[2, 1, 1], &[1, 2, 2], 0)?;
    /// let mut product =
    ///     Product::new(lower.as_operand(), column.as_operand(), out.as_operand_mut())?;
    /// chain.triangular(&mut product, Side::Lhs, Triangle::Lower, &Sequential)?;
    /// assert_eq!(result, [1.0, 32.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`Chain::product`]; what the output holds then is not known.
    pub fn triangular(
        &self,
        request: &mut Product<'_>,
        side: Side,
        triangle: Triangle,
        workers: &dyn Workers,
    ) -> Result<(), Error> {
        if request.is_empty() {
            return Ok(());
        }
        let plan = Plan::new(request, side, triangle);
        let mut rectangles = plan.rectangles();
        if side == Side::Out {
            // Nothing that is written is in two blocks, so that all of them are one group.
            let diagonal = Diagonal::new(&plan, !request.beta().is_zero());
            rectangles.extend(diagonal.products(&plan));
            self.group(&mut rectangles, workers)?;
            diagonal.copy_back(&plan);
            return Ok(());
        }
        if !plan.is_whole() {
            self.group(&mut rectangles, workers)?;
        }
        if request.alpha().is_zero() {
            return Ok(());
        }
        let diagonal = Diagonal::new(&plan, true);
        self.group(&mut diagonal.products(&plan), workers)
    }
}

/// How a product is cut along the triangle's diagonal.
struct Plan<'r, 'a> {
    request: &'r Product<'a>,
    side: Side,
    triangle: Triangle,
    block: usize,
}

/// A range of one extent.
type Span = std::ops::Range<usize>;

impl<'r, 'a> Plan<'r, 'a> {
    fn new(request: &'r Product<'a>, side: Side, triangle: Triangle) -> Self {
        let half = matches!(request.dtype(), DType::F16 | DType::BF16);
        let sums = request.k() > 0 && !request.alpha().is_zero();
        // Sums in two steps would be rounded twice.
        let block = if half && sums && side != Side::Out { usize::MAX } else { BLOCK };
        Self { request, side, triangle, block }
    }

    /// Whether the whole operand is one block.
    fn is_whole(&self) -> bool {
        self.block == usize::MAX
    }

    fn extents(&self) -> [usize; 3] {
        [self.request.m(), self.request.n(), self.request.k()]
    }

    /// The matrix of which a triangle counts.
    fn matrix(&self) -> Matrix {
        let [lhs, rhs, out] = self.request.matrices();
        match self.side {
            Side::Lhs => lhs,
            Side::Rhs => rhs,
            Side::Out => out,
        }
    }

    /// The spans of the axis along which the triangle is cut into panels: one that is no sum.
    fn panels(&self) -> impl Iterator<Item = Span> {
        let [m, n, _] = self.extents();
        let (extent, block) = (if self.side == Side::Lhs { m } else { n }, self.block);
        let count = extent.div_ceil(block);
        (0..count).map(move |number| {
            let start = number * block;
            start..extent.min(start.saturating_add(block))
        })
    }

    /// What is on the other axis of the triangle beside a panel: whole elements, and the block on the diagonal.
    fn beside(&self, panel: &Span) -> (Span, Span) {
        let [m, _, k] = self.extents();
        let extent = if self.side == Side::Out { m } else { k };
        if self.is_whole() {
            return (0..0, 0..extent);
        }
        let [start, end] = [panel.start.min(extent), panel.end.min(extent)];
        // Panels are rows of the left operand, and columns of the others.
        let before = (self.side == Side::Lhs) == (self.triangle == Triangle::Lower);
        (if before { 0..start } else { end..extent }, start..end)
    }

    /// The products of whole elements. The scaling of what was there is theirs, with or without a sum.
    fn rectangles(&self) -> Vec<Product<'a>> {
        let ([m, n, _], request) = (self.extents(), self.request);
        let rectangle = |panel: Span| {
            let (whole, _) = self.beside(&panel);
            match self.side {
                Side::Lhs => request.part(panel, 0..n, whole),
                Side::Rhs => request.part(0..m, panel, whole),
                Side::Out => request.part(whole, panel, 0..request.k()),
            }
        };
        self.panels().map(rectangle).collect()
    }
}

/// The blocks on the diagonal, copied so that what does not count is zeros.
struct Diagonal {
    /// The panel and the rest of each block's place.
    places: Vec<(Span, Span)>,
    copies: Vec<Matrix>,
    /// What the copies lie in.
    _memory: Vec<u128>,
}

impl Diagonal {
    /// Room for the blocks; with `reads` what counts of them is copied.
    fn new(plan: &Plan<'_, '_>, reads: bool) -> Self {
        let (size, batch) = (plan.request.dtype().size(), plan.request.batch());
        let mut places = Vec::new();
        let mut elements = 0;
        for panel in plan.panels() {
            let (_, block) = plan.beside(&panel);
            if !block.is_empty() {
                elements += panel.len() * block.len() * batch;
                places.push((panel, block));
            }
        }
        let mut memory = vec![0_u128; (elements * size).div_ceil(size_of::<u128>())];
        let start = NonNull::new(memory.as_mut_ptr())
            .expect("invariant: a vector has a place")
            .cast::<u8>();
        let mut offset = 0;
        let copies = places.iter().map(|(panel, block)| {
            let extents = [panel.len(), block.len()];
            // Panels are rows of the left operand.
            let [rows, cols] =
                if plan.side == Side::Lhs { extents } else { [extents[1], extents[0]] };
            let each = rows * cols;
            // SAFETY: the block is inside of the memory, whose length is that of all blocks.
            let data = unsafe { start.add(offset * size) };
            offset += each * batch;
            Matrix {
                data,
                rows,
                cols,
                row_stride: 1,
                col_stride: rows.cast_signed(),
                batch_stride: each.cast_signed(),
            }
        });
        let diagonal = Self { copies: copies.collect(), places, _memory: memory };
        if reads {
            diagonal.copy(plan, |original, copy| [original, copy]);
        }
        diagonal
    }

    /// The products of the blocks.
    fn products<'a>(&self, plan: &Plan<'_, 'a>) -> Vec<Product<'a>> {
        let ([m, n, k], request) = (plan.extents(), plan.request);
        let places = self.places.iter().zip(&self.copies);
        places
            .map(|((panel, block), &copy)| {
                let (panel, block) = (panel.clone(), block.clone());
                let product = match plan.side {
                    Side::Lhs => request.part(panel, 0..n, block).with_lhs(copy),
                    Side::Rhs => request.part(0..m, panel, block).with_rhs(copy),
                    Side::Out => return request.part(block, panel, 0..k).with_out(copy),
                };
                if plan.is_whole() { product } else { product.adding() }
            })
            .collect()
    }

    /// Writes what counts of the blocks into the result.
    fn copy_back(&self, plan: &Plan<'_, '_>) {
        self.copy(plan, |original, copy| [copy, original]);
    }

    fn copy(&self, plan: &Plan<'_, '_>, direction: fn(Matrix, Matrix) -> [Matrix; 2]) {
        let (matrix, dtype) = (plan.matrix(), plan.request.dtype());
        for ((panel, _), &copy) in self.places.iter().zip(&self.copies) {
            let place = [panel.start; 2];
            let block = matrix.part(place, [copy.rows, copy.cols], dtype.size());
            let [from, to] = direction(block, copy);
            dispatch!(dtype, any T => {
                // SAFETY: both have as many rows, columns and matrices, of this dtype. What counts of an input is
                // initialised, and of an output that is read; nobody else has the output or the copies.
                unsafe { copy_triangle::<T>(&from, &to, plan.triangle, plan.request.batch()) }
            });
        }
    }
}

/// Copies the elements of a triangle.
///
/// # Safety
/// Both matrices have these elements, of type `T`; those of `from` are initialised, and those of `to` nobody else's.
unsafe fn copy_triangle<T: Copy>(from: &Matrix, to: &Matrix, triangle: Triangle, batch: usize) {
    for number in 0..batch {
        for col in 0..from.cols {
            let rows = match triangle {
                Triangle::Lower => col.min(from.rows)..from.rows,
                Triangle::Upper => 0..from.rows.min(col + 1),
            };
            for row in rows {
                // SAFETY: the caller's.
                unsafe {
                    let place = [row, col, number];
                    to.place::<T>(place).write(from.place::<T>(place).read());
                }
            }
        }
    }
}
