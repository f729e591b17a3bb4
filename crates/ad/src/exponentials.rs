//! Exponentials and their sums in one go through memory, as they are in a prepared program.
//!
//! The values come from a region of the engine; what becomes of derivatives is said by the rules of its steps, which do
//! not ask for the value that the region keeps to itself.

use tenferro_ops::{Meta, Region, RegionResult, RegionStep};
use tenferro_tensor::{Analytic, Elementwise, Indices, KeepAxes, Primitive, Reduction, Result};

use crate::{
    Autodiff, Variable,
    emit::{Mode, Operation, highest, mode, node, record, recorded},
    known::Known,
    level::Level,
    variable::Derivative,
};

/// Up to so many elements the steps one by one take no longer.
const FEW: usize = 1 << 14;

/// The exponentials of what `x` is above `shift`, and their sums over axes, which are kept; `None` if they are made step
/// by step.
pub(super) fn and_sums(
    autodiff: &Autodiff,
    x: &Variable,
    shift: &Variable,
    axes: &Indices,
) -> Result<Option<[Variable; 2]>> {
    let level = highest(&[x, shift]);
    let is_plain =
        |level| x.is_lowest(level) && !shift.is_tracked() && mode(&[x], level) == Mode::Reverse;
    if x.value().elements() <= FEW || !level.is_none_or(is_plain) {
        return Ok(None);
    }
    let rows = Rows {
        shift: Elementwise::Sub.into(),
        exp: Analytic::Exp.into(),
        sum: Reduction::Sum { axes: axes.clone(), keep: KeepAxes::Keep },
    };
    let values = rows.computed(autodiff, [x, shift])?;
    match level {
        None => Ok(Some(values)),
        Some(level) => rows.recorded(autodiff, level, [x, shift], values).map(Some),
    }
}

const MOVES: &str = "invariant: floats that are differentiated have a tangent";

/// The steps.
struct Rows {
    shift: Primitive,
    exp: Primitive,
    sum: Reduction,
}

impl Rows {
    /// The exponentials and their sums, constants to every level.
    fn computed(&self, autodiff: &Autodiff, inputs: [&Variable; 2]) -> Result<[Variable; 2]> {
        let step = |row: &Primitive, operands: &[u16]| RegionStep {
            primitive: row.clone(),
            operands: operands.iter().copied().collect(),
        };
        let region = Region::new(
            inputs[0].shape().clone(),
            inputs.map(|input| Meta::of(input.value())).into(),
            vec![step(&self.shift, &[0, 1]), step(&self.exp, &[2])],
            vec![RegionResult::Value(3), RegionResult::Reduced(3, self.sum.clone())],
        )?;
        let results = autodiff.run_region(&region, &inputs.map(Variable::operand))?;
        let [exponentials, sums] =
            results.into_inner().expect("invariant: a region has its results");
        Ok([autodiff.constant(exponentials), autodiff.constant(sums)])
    }

    /// The same with their nodes at the one level that differentiates.
    fn recorded(
        &self,
        autodiff: &Autodiff,
        level: Level,
        [x, shift]: [&Variable; 2],
        [exponentials, sums]: [Variable; 2],
    ) -> Result<[Variable; 2]> {
        let shifted = Meta::of(x.value());
        let operands = [(Known::plain(x), node(x, level)), (Known::plain(shift), None)];
        let row = Operation::Primitive(&self.shift);
        let at = recorded(autodiff, row, &operands, &Known::Unseen(&shifted))?;

        let operands = [(Known::Unseen(&shifted), at.as_ref())];
        let row = Operation::Primitive(&self.exp);
        let at = recorded(autodiff, row, &operands, &Known::plain(&exponentials))?;
        let Some(at) = at else { unreachable!("{MOVES}") };
        let exponentials = exponentials.clone().tracked(level, Derivative::Node(at));

        let sum = Primitive::from(self.sum.clone());
        let sum = Operation::Primitive(&sum);
        let known = |_| Known::plain(&exponentials);
        let at = record(autodiff, sum, &[&exponentials], known, &Known::plain(&sums), level)?;
        let sums = match at {
            Some(at) => sums.tracked(level, at),
            None => sums,
        };
        Ok([exponentials, sums])
    }
}
