//! Settles the usual classes at once, on products made for it.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use tenferro_tensor::{AsOperand, DType, Scalar, Tensor, TensorViewMut, dispatch};

use super::{Choice, Class, OPEN};
use crate::{Chain, Error, Product, Sequential, Workers};

/// The dtypes that are worth it.
const DTYPES: [DType; 4] = [DType::F64, DType::F32, DType::C64, DType::C32];

/// The extents of square products, small ones first.
const EXTENTS: [usize; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The most that calibration takes, but for the call that runs when the time is up.
pub const BUDGET: Duration = Duration::from_secs(15);

impl Choice {
    /// Compares the providers of `chain` on square products of the usual dtypes and sizes, on one thread and on all of
    /// `workers`, until every class is settled or `budget` is spent; says how many classes are settled then.
    ///
    /// # Errors
    /// What a provider fails with.
    pub fn calibrate(
        &self,
        chain: &Chain,
        workers: &dyn Workers,
        budget: Duration,
    ) -> Result<usize, Error> {
        let end = Instant::now() + budget;
        let all: [&dyn Workers; 2] = [&Sequential, workers];
        let spans = if workers.width() > 1 { &all[..] } else { &all[..1] };
        for extent in EXTENTS {
            for dtype in DTYPES {
                for &workers in spans {
                    let class = Class::new(dtype, [extent; 3], 1, workers.width());
                    dispatch!(dtype, inexact T => self.settle_by::<T>(class, extent, chain, workers, end)?, else ());
                }
            }
        }
        let settled = self.settled.iter();
        Ok(settled.filter(|place| place.load(Ordering::Relaxed) != OPEN).count())
    }

    /// Multiplies until the class is settled or the time is up.
    fn settle_by<T: Scalar>(
        &self,
        class: Class,
        extent: usize,
        chain: &Chain,
        workers: &dyn Workers,
        end: Instant,
    ) -> Result<(), Error> {
        const VALID: &str = "invariant: the extents are those of the elements";
        // Nothing to settle if every candidate has refused.
        let open = || {
            self.settled[class.index()].load(Ordering::Relaxed) == OPEN
                && self.turn(class).is_some()
        };
        if Instant::now() >= end || !open() {
            return Ok(());
        }
        let ones = vec![T::ONE; extent * extent];
        let shape = vec![extent, extent, 1];
        let ones = Tensor::from_vec_col_major(shape, ones).expect(VALID);
        let mut elements = vec![T::ONE; extent * extent];
        let columns = extent.cast_signed();
        let strides = [1, columns, columns * columns];
        let mut out = TensorViewMut::from_slice(&mut elements, &[extent, extent, 1], &strides, 0)
            .expect(VALID);
        while Instant::now() < end && open() {
            let (lhs, rhs) = (ones.as_operand(), ones.as_operand());
            let mut request = Product::new(lhs, rhs, out.as_operand_mut())?;
            self.product(chain, &mut request, workers)?;
        }
        Ok(())
    }
}
