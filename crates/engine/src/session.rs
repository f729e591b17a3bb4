//! A session: one admitted operation in which a closure runs many.

use tenferro_ops::{Engine, Input, Inputs, LaneJob, Region, Results, Scale};
use tenferro_scope::{Breadth, GrantedWorkers};
use tenferro_tensor::{
    Contraction, Exponentials, Operand, OperandMut, Primitive, Result, Tensor, Vocabulary,
};

use crate::{CpuEngine, error::refused, kernel::ExponentialPlan, lanes::Failures};

/// An engine under a grant that is held: its operations are not admitted one by one.
struct Session<'s> {
    engine: &'s CpuEngine,
    workers: GrantedWorkers<'s>,
}

impl CpuEngine {
    /// Runs `work` with an engine that holds one permit for the domain's full width, in one entry.
    ///
    /// # Errors
    /// What the domain refuses, in the name of the session.
    pub fn with_session<R: Send>(
        &self,
        work: impl FnOnce(&mut dyn Engine) -> R + Send,
    ) -> Result<R> {
        const OP: &str = "session";
        let entry = self.domain().admit(Breadth::Session).map_err(|e| refused(OP, e))?;
        entry
            .run(|guard| work(&mut Session { engine: self, workers: guard.workers() }))
            .map_err(|e| refused(OP, e))
    }
}

impl Vocabulary for Session<'_> {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.engine.run(&self.workers, primitive, inputs)
    }

    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Operand<'_>,
    ) -> Result<Option<Tensor>> {
        let Some(plan) = ExponentialPlan::new(exponentials, x) else { return Ok(None) };
        plan.compute(&self.engine.grant(&self.workers), x).map(Some)
    }
}

impl Engine for Session<'_> {
    fn apply_into(
        &mut self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        out: OperandMut<'_>,
    ) -> Result<()> {
        self.engine.run_into(&self.workers, primitive, inputs, out)
    }

    fn contract_into(
        &mut self,
        contraction: &Contraction,
        lhs: &Operand<'_>,
        rhs: &Operand<'_>,
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        self.engine.run_contraction(&self.workers, contraction, &[*lhs, *rhs], scale, out)
    }

    /// The session's width is divided: each lane is a session of its own under the same grant.
    fn run_lanes(&mut self, jobs: usize, job: &LaneJob<'_>) -> Result<()> {
        let failures = Failures::default();
        let lane = |workers| Session { engine: self.engine, workers };
        let results = self
            .workers
            .map_lanes(jobs, lane, |session, index| failures.watch(index, || job(session, index)));
        results.into_iter().collect()
    }

    fn donate(&mut self, primitive: &Primitive, inputs: Inputs<'_>) -> Result<Tensor> {
        self.engine.run_donated(&self.workers, primitive, inputs)
    }

    fn run_region(&mut self, region: &Region, inputs: &mut [Input<'_>]) -> Result<Results> {
        self.engine.run_fused(&self.workers, region, inputs)
    }

    fn run_region_into(
        &mut self,
        region: &Region,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        self.engine.run_fused_into(&self.workers, region, inputs, outs)
    }
}
