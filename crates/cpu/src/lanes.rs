//! Lanes of a backend: its scope divided among threads, and batches of jobs over them.
//!
//! The division is the domain's; here it meets clones of the backend and the error of tensors.

use tenferro_engine::refused;
use tenferro_scope::{Lane, LaneCount};

use crate::{CpuBackend, Result};

impl CpuBackend {
    /// Runs `body` once in each of some lanes, at the same time, and returns what they returned, in their order.
    ///
    /// The width of the scope that is open on this thread is divided among the lanes; if none is open, one is opened
    /// for the time. Each lane has a thread of its own, the calling one among them, and a clone of this backend whose
    /// operations share the scope's permit and use at most the width of the lane. Results of operations do not depend on
    /// that width.
    ///
    /// Lanes may be divided again, and a lane may run a session; it cannot open a scope, because it is in one.
    ///
    /// # Errors
    /// [`Error::BackendSource`](crate::Error::BackendSource) with
    /// [`TooManyLanes`](tenferro_scope::Error::TooManyLanes) if there are fewer CPUs than
    /// [`LaneCount::Exactly`] asks for, or for 0 lanes; else as [`CpuBackend::with_execution_scope`]. No lane has run
    /// then.
    ///
    /// # Panics
    /// If a lane does: with the payload of the first, after all have stopped.
    ///
    /// ```
    /// use tenferro_cpu::{CpuBackend, LaneCount};
    /// use tenferro_tensor::{Tensor, TensorElementwise};
    ///
    /// let backend = CpuBackend::new()?;
    /// let x = Tensor::from_vec_col_major(vec![2], vec![1.0_f64, 3.0])?;
    /// let sums = backend.with_lanes(LaneCount::UpTo(2), |backend, _| backend.add(&x, &x))?;
    /// for sum in sums {
    ///     assert_eq!(sum?.as_slice::<f64>()?, &[2.0, 6.0]);
    /// }
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn with_lanes<R: Send>(
        &self,
        lanes: LaneCount,
        body: impl Fn(&mut CpuBackend, Lane) -> R + Sync,
    ) -> Result<Vec<R>> {
        self.domain()
            .with_lanes(lanes, |lane| body(&mut self.clone(), lane))
            .map_err(|error| refused("with_lanes", error))
    }

    /// Runs `work` for each of some independent `jobs`, each in the next lane that is free, and returns the results in
    /// the order of the jobs.
    ///
    /// There are as many lanes as there are CPUs granted and jobs for them. A lane is started once and not for each
    /// job. It costs the start of a thread, some 10 to 30 microseconds: a batch that takes less than that is better
    /// done in a plain loop.
    ///
    /// # Errors
    /// As [`CpuBackend::with_lanes`]. An error of `work` is a result like any other.
    ///
    /// # Panics
    /// If a job does, after the running ones have ended; jobs not started by then are left out.
    ///
    /// ```
    /// use tenferro_cpu::{CpuBackend, Result};
    /// use tenferro_tensor::{Tensor, TensorElementwise};
    ///
    /// let backend = CpuBackend::new()?;
    /// let vector = |x| Tensor::from_vec_col_major(vec![2], vec![x, 2.0 * x]);
    /// let jobs = [vector(1.0_f64)?, vector(2.0)?, vector(3.0)?];
    /// let squares: Result<Vec<Tensor>> =
    ///     backend.map_lanes(&jobs, |backend, x| backend.mul(x, x))?.into_iter().collect();
    /// assert_eq!(squares?[2].as_slice::<f64>()?, &[9.0, 36.0]);
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn map_lanes<T: Sync, R: Send>(
        &self,
        jobs: &[T],
        work: impl Fn(&mut CpuBackend, &T) -> R + Sync,
    ) -> Result<Vec<R>> {
        self.domain()
            .map_lanes(jobs.len(), |_| self.clone(), |backend, index| work(backend, &jobs[index]))
            .map_err(|error| refused("map_lanes", error))
    }
}
