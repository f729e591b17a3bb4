//! Products of different shapes at once: one region of threads for all of them.
//!
//! A group asks no more of a provider than single products do. A product that would keep the others' threads waiting gets
//! all threads for itself; all others are shared out, each on one thread. How a product is computed does not depend on which of
//! both it is, as far as its provider's determinism goes.

use std::ops::Range;

use parking_lot::Mutex;

use crate::{Chain, ClaimUse, Error, Product, Workers};

/// Multiply-add steps from which a group is worth more than one thread: about 128^3.
const PAYS: usize = 1 << 21;

/// Pieces of a group for each thread, so that nobody waits long for the last one.
const PIECES: usize = 4;

impl Chain {
    /// Computes products that do not depend on each other, in any order and possibly at the same time.
    ///
    /// ```
    /// use tenferro_provider::{Preference, Product, Sequential};
    /// # use tenferro_provider::Chain;
    /// use tenferro_tensor::{AsOperand, Tensor, TensorViewMut};
    ///
    /// # fn products(chain: &Chain) -> Result<(), Box<dyn std::error::Error>> {
    /// let row = Tensor::from_vec_col_major(vec![1, 2, 1], vec![3.0_f64, 4.0])?;
    /// let (mut square, mut outer) = ([0.0], [0.0; 4]);
    /// let mut square = TensorViewMut::from_slice(&mut square, &[1, 1, 1], &[1, 1, 1], 0)?;
    /// let mut outer = TensorViewMut::from_slice(&mut outer, &[2, 2, 1], &[1, 2, 4], 0)?;
    /// let column = row.view().permute(&[1, 0, 2])?;
    /// let (row, column) = (row.as_operand(), column.as_operand());
    /// let mut group = [
    ///     Product::new(row, column, square.as_operand_mut())?,
    ///     Product::new(column, row, outer.as_operand_mut())?,
    /// ];
    /// chain.group(&mut group, &Sequential)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`Chain::product`], that of the first product that failed. What other products' outputs hold then is not known.
    pub fn group(&self, requests: &mut [Product<'_>], workers: &dyn Workers) -> Result<(), Error> {
        let (width, work) = (workers.width(), total(requests));
        if width == 1 || work < PAYS || requests.len() < 2 {
            return requests.iter_mut().try_for_each(|one| self.product(one, workers).map(drop));
        }
        let fair = (work / width).max(1);
        let (mut large, mut small) = (Vec::new(), Vec::new());
        for request in requests {
            if request.work() >= fair { large.push(request) } else { small.push(request) }
        }
        large.into_iter().try_for_each(|one| self.product(one, workers).map(drop))?;
        self.shared_out(small, workers)
    }

    /// Runs products in one region, each on one thread.
    fn shared_out(
        &self,
        requests: Vec<&mut Product<'_>>,
        workers: &dyn Workers,
    ) -> Result<(), Error> {
        let pieces = pieces(&requests, PIECES * workers.width());
        let mut rest = requests.into_iter();
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|piece| Mutex::new(rest.by_ref().take(piece.len()).collect::<Vec<_>>()))
            .collect();
        let problem = Mutex::new(None);
        let alone = Alone(workers);
        workers.run(pieces.len(), &|job| {
            let done = pieces[job]
                .lock()
                .iter_mut()
                .try_for_each(|one| self.product(one, &alone).map(drop));
            if let Err(error) = done {
                problem.lock().get_or_insert(error);
            }
        });
        problem.into_inner().map_or(Ok(()), Err)
    }
}

fn total(requests: &[Product<'_>]) -> usize {
    requests.iter().fold(0, |sum, request| sum.saturating_add(request.work()))
}

/// Neighbours that make about `most` pieces of as much work each.
fn pieces(requests: &[&mut Product<'_>], most: usize) -> Vec<Range<usize>> {
    let work = requests.iter().fold(0_usize, |sum, request| sum.saturating_add(request.work()));
    let each = work / most + 1;
    let (mut pieces, mut start, mut taken) = (Vec::new(), 0, 0_usize);
    for (place, request) in requests.iter().enumerate() {
        taken = taken.saturating_add(request.work());
        if taken >= each || place + 1 == requests.len() {
            pieces.push(start..place + 1);
            (start, taken) = (place + 1, 0);
        }
    }
    pieces
}

/// One of several threads that compute for the same caller.
struct Alone<'w>(&'w dyn Workers);

impl Workers for Alone<'_> {
    fn width(&self) -> usize {
        1
    }

    fn claim_use(&self) -> ClaimUse {
        match self.0.claim_use() {
            ClaimUse::Nothing => ClaimUse::Nothing,
            ClaimUse::OneThread | ClaimUse::Whole => ClaimUse::OneThread,
        }
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}
