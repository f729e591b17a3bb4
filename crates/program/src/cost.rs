//! What a program costs, read off its shapes.

use std::fmt;

use tenferro_ops::Meta;
use tenferro_tensor::{Dot, Primitive};

use crate::{Control, Program, Step, StepKind, Value};

/// The cost of one run of a program, as far as shapes tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Operations on numbers: one an element of an elementwise result or of a reduction's operand, two a product and sum
    /// of a contraction. Complex ones count once.
    pub flops: f64,
    /// Bytes of all operands read and all results written.
    pub bytes: f64,
    /// Steps that compute something, as often as they run.
    pub steps: usize,
    /// The most bytes of results that exist at once, inputs and constants not counted.
    pub peak_bytes: usize,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps, {:.3e} flop, {:.3e} bytes moved, {:.3e} bytes at most of intermediate results",
            self.steps, self.flops, self.bytes, self.peak_bytes as f64
        )
    }
}

impl Program {
    /// The cost of one run. A choice counts as its dearer branch, a loop without a known end as one turn.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let mut last_use: Vec<Option<usize>> = vec![None; self.values()];
        for (place, step) in self.steps().iter().enumerate() {
            step.operands().iter().for_each(|operand| last_use[operand.0] = Some(place));
        }
        for output in self.outputs() {
            last_use[output.0] = Some(usize::MAX);
        }
        let mut alive = 0;
        for (place, step) in self.steps().iter().enumerate() {
            if matches!(step.kind(), StepKind::Constant(_)) {
                continue;
            }
            let own = self.step_cost(step);
            cost.steps += own.steps;
            cost.flops += own.flops;
            cost.bytes += own.bytes;
            alive += step.metas().iter().map(size).sum::<usize>();
            cost.peak_bytes = cost.peak_bytes.max(alive + own.peak_bytes);
            let mut operands = step.operands().to_vec();
            operands.sort_unstable();
            operands.dedup();
            let computed = |operand: &Value| {
                self.origin(*operand)
                    .is_some_and(|origin| !matches!(origin.kind(), StepKind::Constant(_)))
            };
            let dropped = operands.into_iter().filter(computed);
            // What nobody uses is dropped at once.
            for value in dropped.chain(step.results().filter(|result| last_use[result.0].is_none()))
            {
                if last_use[value.0].is_none_or(|last| last == place) {
                    alive -= size(self.meta(value));
                }
            }
        }
        cost
    }

    /// The cost of a step; its peak is that of intermediate results inside it.
    pub(super) fn step_cost(&self, step: &Step) -> Cost {
        let StepKind::Control(control) = step.kind() else {
            let read: f64 = step.operands().iter().map(|&x| size(self.meta(x)) as f64).sum();
            let bytes = read + size(step.meta()) as f64;
            return Cost { flops: self.flops(step), bytes, steps: 1, peak_bytes: 0 };
        };
        match control {
            Control::Call { body } => body.cost(),
            Control::Cond { on_true, on_false } => {
                let (lhs, rhs) = (on_true.cost(), on_false.cost());
                Cost {
                    flops: lhs.flops.max(rhs.flops),
                    bytes: lhs.bytes.max(rhs.bytes),
                    steps: lhs.steps.max(rhs.steps),
                    peak_bytes: lhs.peak_bytes.max(rhs.peak_bytes),
                }
            }
            Control::WhileLoop { condition, body, .. } => {
                let (condition, body) = (condition.cost(), body.cost());
                Cost {
                    flops: condition.flops + body.flops,
                    bytes: condition.bytes + body.bytes,
                    steps: condition.steps + body.steps,
                    peak_bytes: condition.peak_bytes.max(body.peak_bytes),
                }
            }
            Control::Scan { body, length, .. } => {
                let body = body.cost();
                let times = *length as f64;
                Cost {
                    flops: times * body.flops,
                    bytes: times * body.bytes,
                    steps: length * body.steps,
                    peak_bytes: body.peak_bytes,
                }
            }
        }
    }

    fn flops(&self, step: &Step) -> f64 {
        let elements = step.meta().shape.elements() as f64;
        let operand = |place: usize| self.meta(step.operands()[place]).shape.elements() as f64;
        match step.kind() {
            StepKind::Constant(_) | StepKind::Custom(_) | StepKind::Control(_) => 0.0,
            StepKind::Primitive(primitive) => match primitive {
                Primitive::Elementwise(_) | Primitive::Analytic(_) => elements,
                Primitive::Reduction(_) | Primitive::Scan(_) => operand(0),
                Primitive::Dot(Dot::DotGeneral { contraction }) => {
                    let lhs = self.meta(step.operands()[0]);
                    let summed: usize =
                        contraction.lhs_contracting.iter().map(|&axis| lhs.shape[axis]).product();
                    2.0 * elements * summed as f64
                }
                Primitive::Dot(Dot::Convolve { .. }) => {
                    let kernel = &self.meta(step.operands()[1]).shape;
                    let results = kernel[kernel.rank() - 1].max(1) as f64;
                    2.0 * elements * operand(1) / results
                }
                Primitive::Windowed(_)
                | Primitive::Structural(_)
                | Primitive::Indexing(_)
                | Primitive::Sorting(_) => 0.0,
            },
        }
    }
}

/// The bytes of a value.
pub(super) fn size(meta: &Meta) -> usize {
    meta.shape.elements() * meta.dtype.size()
}
