//! What a program costs, read off its shapes.

use std::fmt;

use tenferro_ops::Meta;
use tenferro_tensor::{Dot, Primitive};

use crate::{Program, Step, StepKind};

/// The cost of one run of a program, as far as shapes tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Operations on numbers: one an element of an elementwise result or of a reduction's operand, two a product and sum
    /// of a contraction. Complex ones count once.
    pub flops: f64,
    /// Bytes of all operands read and all results written.
    pub bytes: f64,
    /// Steps that compute something.
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
    /// The cost of one run.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let first = self.inputs().len();
        let mut last_use: Vec<usize> = vec![0; first + self.steps().len()];
        for (place, step) in self.steps().iter().enumerate() {
            step.operands().iter().for_each(|operand| last_use[operand.0] = place);
        }
        for output in self.outputs() {
            last_use[output.0] = usize::MAX;
        }
        let mut alive = 0;
        for (place, step) in self.steps().iter().enumerate() {
            if matches!(step.kind(), StepKind::Constant(_)) {
                continue;
            }
            cost.steps += 1;
            cost.flops += self.flops(step);
            cost.bytes += size(step.meta()) as f64;
            cost.bytes += step.operands().iter().map(|&x| size(self.meta(x)) as f64).sum::<f64>();
            alive += size(step.meta());
            cost.peak_bytes = cost.peak_bytes.max(alive);
            let mut operands = step.operands().to_vec();
            operands.sort_unstable();
            operands.dedup();
            for operand in operands {
                let computed = operand.0.checked_sub(first).is_some_and(|origin| {
                    !matches!(self.steps()[origin].kind(), StepKind::Constant(_))
                });
                if computed && last_use[operand.0] == place {
                    alive -= size(self.meta(operand));
                }
            }
            if last_use[first + place] == 0 {
                // Nobody uses it: dropped at once.
                alive -= size(step.meta());
            }
        }
        cost
    }

    fn flops(&self, step: &Step) -> f64 {
        let elements = step.meta().shape.elements() as f64;
        let operand = |place: usize| self.meta(step.operands()[place]).shape.elements() as f64;
        match step.kind() {
            StepKind::Constant(_) | StepKind::Custom(_) => 0.0,
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

fn size(meta: &Meta) -> usize {
    meta.shape.elements() * meta.dtype.size()
}
