//! The embedded provider: pure Rust, every number dtype, always there.
//!
//! A request is cut for the threads that there are (`grid`); each piece is computed on one of them, in a way that is chosen
//! for the whole. Floats and complex numbers go to our own kernel on operands as they lie (`direct`), and if they are worth
//! packing to the crate `gemm` (`large`); 16-bit floats, integers, and small outputs without rows or columns in one piece to
//! plain loops (`columns`); a float's product with a vector to `vector`. The caller's workers are the only threads. All of
//! this folder's unsafe code relies on one promise: a block's addresses are valid.

mod block;
mod columns;
#[cfg(target_arch = "x86_64")]
mod direct;
#[cfg(not(target_arch = "x86_64"))]
#[path = "indirect.rs"]
mod direct;
mod grid;
mod isa;
mod large;
mod vector;

use tenferro_provider::{Capabilities, Error, Outcome, Product, Provider, Reason, Workers, lapack};
use tenferro_tensor::{DType, dispatch};

use self::{
    block::{Block, Request},
    direct::Parts,
    grid::{Grid, Piece},
};
use crate::{
    arithmetic::{Number, Scale, combine},
    linalg,
};

/// Products in pure Rust, split over the caller's workers.
///
/// Results are bit-equal for every width. 16-bit floats accumulate in f32, integers wrap.
///
/// ```
/// use tenferro_provider::{Provider, Sequential, Product};
/// use tenferro_providers::Native;
/// use tenferro_tensor::{AsOperand, Tensor, TensorViewMut};
///
/// let lhs = Tensor::from_vec_row_major(vec![2, 2, 1], vec![1.0_f64, 2.0, 3.0, 4.0])?;
/// let rhs = Tensor::from_vec_col_major(vec![2, 1, 1], vec![1.0_f64, 10.0])?;
/// let mut result = [f64::NAN; 2];
/// let mut out = TensorViewMut::from_slice(&mut result, &[2, 1, 1], &[1, 2, 2], 0)?;
/// let mut product = Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut())?;
/// let _ = Native::new().product(&mut product, &Sequential)?;
/// assert_eq!(result, [21.0, 43.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Native {
    capabilities: Capabilities,
}

impl Native {
    /// The embedded provider.
    #[must_use]
    pub fn new() -> Self {
        let numbers = DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Bool);
        let mut capabilities = Capabilities::sequential(numbers);
        capabilities.lapack = linalg::routines();
        Self { capabilities }
    }
}

impl Default for Native {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for Native {
    fn name(&self) -> &str {
        "native"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        let dtype = request.dtype();
        dispatch!(dtype, number T => {
                if !T::smallest(request, workers) {
                    compute::<T>(request, workers);
                }
                Ok(Outcome::Executed)
            },
            else Ok(Outcome::Unsupported(Reason::DType(dtype))))
    }

    fn lapack(
        &self,
        request: &mut lapack::Request<'_>,
        _workers: &dyn Workers,
    ) -> Result<Outcome, Error> {
        linalg::execute(request)
    }
}

/// A dtype with kernels.
trait Computed: Number {
    /// How each of so many products is computed, of which this is one.
    fn way(whole: &Block<Self>, batch: usize) -> Way;

    /// Computes a block that has elements, whose k and alpha are not zero.
    fn block(way: Way, block: &Block<Self>);

    /// Computes a request that is small enough to be asked for first; `false` if it has to go another way.
    #[inline(always)]
    fn smallest(request: &mut Product<'_>, workers: &dyn Workers) -> bool {
        let _ = (request, workers);
        false
    }

    /// Computes a block that is a whole request, in one call: the smallest take no longer than a few.
    fn whole(block: &Block<Self>) {
        Self::block(Self::way(block, 1), block);
    }
}

/// The whole request in elements of its dtype, `T`.
#[inline(never)]
fn compute<T: Computed>(product: &mut Product<'_>, workers: &dyn Workers) {
    if product.is_empty() {
        return;
    }
    let (m, n, k, batch) = (product.m(), product.n(), product.k(), product.batch());
    let reads = k > 0 && !product.alpha().is_zero();
    let grid = Grid::new([m, n, k], batch, || workers.width());
    if grid.is_none() && batch == 1 {
        let block = Block::whole(product);
        return if reads { T::whole(&block) } else { scale(&block) };
    }
    let request = Request::<T>::new(product);
    let whole = Piece { rows: 0..m, cols: 0..n, batch: 0..batch };
    // Chosen once, so that it does not depend on how the request is cut.
    let way = T::way(&request.block(&whole, 0), batch);
    let compute = |piece: &Piece| {
        for batch in piece.batch.clone() {
            let block = request.block(piece, batch);
            if reads { T::block(way, &block) } else { scale(&block) }
        }
    };
    match grid {
        Some(grid) if reads => workers.run(grid.jobs(), &|job| compute(&grid.piece(job))),
        _ => compute(&whole),
    }
}

/// `out = beta * out`: what is left of a product without terms.
fn scale<T: Number>(block: &Block<T>) {
    for col in 0..block.n {
        for row in 0..block.m {
            let place = block.out.at(row, col);
            // SAFETY: the place is inside of the output; it is read only with a beta other than 0.
            let old = || unsafe { place.read() }.widen();
            let element = T::narrow(combine((Scale::Zero, block.beta), || unreachable!(), old));
            // SAFETY: as above.
            unsafe { place.write(element) };
        }
    }
}

/// How a request is computed.
#[derive(Clone, Copy)]
struct Way {
    /// The transposed product is the better one.
    transposed: bool,
    kernel: Kernel,
}

/// Who computes it.
#[derive(Clone, Copy)]
enum Kernel {
    Vector,
    Direct,
    Large,
    Columns,
}

/// Whether the output's rows, rather than its columns, lie in one piece.
#[inline]
fn lies<T: Number>(block: &Block<T>) -> bool {
    block.out.col.unsigned_abs() < block.out.row.unsigned_abs()
}

/// The best way to compute a request of a dtype that the crates have.
#[inline(always)]
fn float_way<T: Parts>(whole: &Block<T>, batch: usize) -> Way {
    if whole.m == 1 || whole.n == 1 {
        let transposed = whole.n != 1;
        let standing = if transposed { whole.transposed() } else { *whole };
        if vector::fits(&standing) {
            return Way { transposed, kernel: Kernel::Vector };
        }
    }
    let transposed = lies(whole);
    let turned;
    let block = if transposed {
        turned = whole.transposed();
        &turned
    } else {
        whole
    };
    let kernel = if direct::fits(block, batch) {
        Kernel::Direct
    } else if columns::fits(block) {
        Kernel::Columns
    } else {
        Kernel::Large
    };
    Way { transposed, kernel }
}

/// Computes a block of a dtype that the crates have.
#[inline(always)]
fn float<T: Parts>(way: Way, block: &Block<T>) {
    let turned;
    let block = if way.transposed {
        turned = block.transposed();
        &turned
    } else {
        block
    };
    match way.kernel {
        Kernel::Vector => isa::run(vector::Vector(*block)),
        Kernel::Direct => direct::product(block),
        Kernel::Large => large::product(*block),
        Kernel::Columns => isa::run(columns::Columns(*block)),
    }
}

macro_rules! computed {
    ($($kind:ident [$($variant:ident: $ty:ty = $name:literal),*])*) => {
        $($(computed!(@$kind $ty);)*)*
    };
    (@float $ty:ty) => {
        impl Computed for $ty {
            fn way(whole: &Block<Self>, batch: usize) -> Way {
                float_way(whole, batch)
            }

            fn block(way: Way, block: &Block<Self>) {
                float(way, block);
            }

            #[inline(always)]
            fn smallest(request: &mut Product<'_>, workers: &dyn Workers) -> bool {
                direct::plain::<Self>(request, workers)
            }

            fn whole(block: &Block<Self>) {
                float(float_way(block, 1), block);
            }
        }
    };
    (@complex $ty:ty) => { computed!(@float $ty); };
    (@boolean $ty:ty) => {};
    (@$kind:ident $ty:ty) => {
        impl Computed for $ty {
            fn way(whole: &Block<Self>, _: usize) -> Way {
                Way { transposed: lies(whole), kernel: Kernel::Columns }
            }

            fn block(way: Way, block: &Block<Self>) {
                let block = if way.transposed { block.transposed() } else { *block };
                isa::run(columns::Columns(block));
            }
        }
    };
}

tenferro_tensor::dtypes!(computed,);
