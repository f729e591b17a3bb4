//! How a prepared program runs: units in order, each one step or a fused region, and where every value lies.
//!
//! Made once, when a program is prepared. Nothing here changes what is computed: a region gives the bits of its steps, a
//! view those of its copy, and what is written over was read for the last time.

mod fusion;
mod lanes;
mod print;
mod run;
mod seen;
mod slots;

use std::collections::HashMap;

use smallvec::SmallVec;
use tenferro_ops::{Meta, Op, Region, RegionPlace, RegionResult, RegionStep};
use tenferro_tensor::{Primitive, Reduction, Shape, Tensor};

use self::{
    fusion::{Group, is_whole},
    seen::{Seen, Views},
};
use crate::{Control, Pass, Passes, Prepared, Program, Result, Step, StepKind, Value};

/// A program, ready to run.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) units: Vec<Unit>,
    /// How many units run next, one after the other or, where that pays, at the same time.
    pub(super) stages: Vec<Stage>,
    /// How many tensors exist at once, inputs and constants not counted.
    pub(super) slots: usize,
    pub(super) constants: Vec<Tensor>,
    pub(super) outputs: Vec<Output>,
    /// The numbers of the outputs that the results of the last units are, a list a unit: nothing reads these results, and so
    /// they can be written into given outputs.
    pub(super) last: Vec<SmallVec<[usize; 2]>>,
    /// The inputs that are read under other extents, which only dense ones can be.
    pub(super) viewed: Vec<usize>,
    /// The inputs that nothing reads.
    pub(super) unread: Vec<usize>,
}

/// Units that follow each other in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// So many, each after the one before.
    InOrder(usize),
    /// So many that do not depend on each other, over the lanes of the engine.
    AtOnce(usize),
}

/// What runs in one go.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) work: Work,
    pub(super) reads: SmallVec<[Read; 4]>,
    /// The slots of the results; `None` for one that nobody wants.
    pub(super) writes: SmallVec<[Option<usize>; 2]>,
    /// What is not needed afterwards and was not given away.
    pub(super) frees: SmallVec<[Place; 4]>,
    /// Whether an operand is given away.
    pub(super) gives: bool,
    /// The numbers of the steps.
    steps: Vec<usize>,
    /// The values that are read and written, as the program calls them.
    names: Names,
}

#[derive(Debug)]
struct Names {
    reads: Vec<Value>,
    writes: Vec<Value>,
}

/// What a unit does.
#[allow(
    clippy::large_enum_variant,
    reason = "primitives, the most of them, are looked at in every run"
)]
#[derive(Debug)]
pub(super) enum Work {
    Primitive(Primitive),
    Custom(Op),
    Region(Region),
    Control(Control, Vec<Prepared>),
    /// Units that follow each other, in a lane of their own.
    Branch(Box<Schedule>),
}

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Argument(usize),
    Constant(usize),
    Slot(usize),
}

/// An operand of a unit.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) place: Place,
    /// The extents under which it is read, if they are not its own.
    pub(super) shape: Option<Shape>,
    /// Whether it is given away, for a result to be written over it.
    pub(super) given: bool,
}

/// A result of the program.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) place: Place,
    /// Whether a later result is the same value.
    pub(super) again: bool,
}

/// The values that go into a schedule and that come out of it.
struct Border {
    inputs: Vec<Value>,
    outputs: Vec<Value>,
}

/// A unit before values have places.
struct Draft {
    work: Work,
    reads: Vec<Seen>,
    writes: Vec<Value>,
    steps: Vec<usize>,
}

impl Schedule {
    pub(super) fn new(program: &Program, passes: &Passes) -> Result<Self> {
        let (views, groups) = match passes.fusion {
            Pass::On => {
                let views = Views::of(program);
                let groups = fusion::groups(program, &views);
                (views, groups)
            }
            Pass::Off => (Views::none(program), Vec::new()),
        };
        let drafts = drafts(program, passes, &views, groups)?;
        let order = match passes.lanes {
            Pass::On => lanes::ordered(program, drafts, passes.buffers),
            Pass::Off => lanes::one_by_one(program, drafts),
        };
        let border = Border {
            inputs: (0..program.inputs().len()).map(Value).collect(),
            outputs: program.outputs().to_vec(),
        };
        Ok(slots::placed(program, &border, order, passes.buffers))
    }
}

/// The units in no order.
fn drafts(
    program: &Program,
    passes: &Passes,
    views: &Views,
    groups: Vec<Group>,
) -> Result<Vec<Draft>> {
    let mut is_grouped = vec![false; program.steps().len()];
    let mut drafts = Vec::new();
    let outside = Outside::of(program, views, &groups);
    for group in &groups {
        for &step in group.steps.iter().chain(&group.reduction) {
            is_grouped[step] = true;
        }
    }
    let mut alone = Vec::new();
    for (number, step) in program.steps().iter().enumerate() {
        let is_constant = matches!(step.kind(), StepKind::Constant(_));
        if is_constant || is_grouped[number] || (views.is_view(step) && !outside.reads(step.first))
        {
            continue;
        }
        alone.push(number);
    }
    for group in groups {
        drafts.push(region(program, views, &outside, group)?);
    }
    for number in alone {
        let step = &program.steps()[number];
        let is_fusable = fusion::fusable(step).is_some();
        if is_fusable && !fills(program, views, step) {
            let group = Group { steps: vec![number], reduction: None };
            drafts.push(region(program, views, &outside, group)?);
            continue;
        }
        let read = |&operand: &Value| {
            if is_fusable { views.broadcasts(operand) } else { views.read(operand) }
        };
        let work = match step.kind() {
            StepKind::Constant(_) => unreachable!("invariant: constants are no units"),
            StepKind::Primitive(primitive) => Work::Primitive(primitive.clone()),
            StepKind::Custom(custom) => Work::Custom(Op::Custom(custom.clone())),
            StepKind::Control(control) => {
                let bodies = control.bodies().into_iter();
                let bodies = bodies.map(|(_, body)| Prepared::new(body.clone(), passes));
                Work::Control(control.clone(), bodies.collect::<Result<_>>()?)
            }
        };
        drafts.push(Draft {
            work,
            reads: step.operands().iter().map(read).collect(),
            writes: step.results().collect(),
            steps: vec![number],
        });
    }
    Ok(drafts)
}

/// Whether what an elementwise step reads has all of its extents, so that the step by itself gives its whole result.
fn fills(program: &Program, views: &Views, step: &Step) -> bool {
    let mut shape = Shape::default();
    for &operand in step.operands() {
        let seen = views.broadcasts(operand);
        let own = seen.shape.as_ref().unwrap_or(&program.meta(seen.origin).shape);
        match shape.broadcast(own) {
            Ok(both) => shape = both,
            Err(_) => return false,
        }
    }
    shape == step.meta().shape
}

/// Which values are read by others than the steps of their own group.
struct Outside(Vec<bool>);

impl Outside {
    fn of(program: &Program, views: &Views, groups: &[Group]) -> Self {
        let mut group_of: Vec<Option<usize>> = vec![None; program.values()];
        let mut group_of_step: Vec<Option<usize>> = vec![None; program.steps().len()];
        for (number, group) in groups.iter().enumerate() {
            for &step in group.steps.iter().chain(&group.reduction) {
                group_of_step[step] = Some(number);
            }
            for &step in &group.steps {
                group_of[program.steps()[step].first.0] = Some(number);
            }
        }
        let mut read = vec![false; program.values()];
        for output in program.outputs() {
            read[output.0] = true;
        }
        // Backwards, so that what only an unread view reads is not read.
        for (number, step) in program.steps().iter().enumerate().rev() {
            if views.is_view(step) && !read[step.first.0] {
                continue;
            }
            let shape = fusion::fusable(step);
            for &operand in step.operands() {
                let seen = match shape {
                    Some(_) => views.broadcasts(operand),
                    None => views.read(operand),
                };
                let origin = seen.origin.0;
                let is_inside = group_of_step[number].is_some()
                    && group_of_step[number] == group_of[origin]
                    && shape.is_none_or(|shape| is_whole(program, &seen, shape));
                read[origin] |= !is_inside;
            }
        }
        Self(read)
    }

    fn reads(&self, value: Value) -> bool {
        self.0[value.0]
    }
}

/// The fused region of a group.
fn region(program: &Program, views: &Views, outside: &Outside, group: Group) -> Result<Draft> {
    let steps: Vec<&Step> = group.steps.iter().map(|&step| &program.steps()[step]).collect();
    let shape = &steps[0].meta().shape;
    let mut inputs: Vec<Seen> = Vec::new();
    let mut place_of: HashMap<(Value, Option<Shape>), usize> = HashMap::new();
    let members: HashMap<Value, usize> =
        steps.iter().enumerate().map(|(place, step)| (step.first, place)).collect();
    let member =
        |seen: &Seen| members.get(&seen.origin).filter(|_| is_whole(program, seen, shape)).copied();
    for step in &steps {
        for &operand in step.operands() {
            let seen = views.broadcasts(operand);
            if member(&seen).is_none() {
                place_of.entry((seen.origin, seen.shape.clone())).or_insert_with(|| {
                    inputs.push(seen);
                    inputs.len() - 1
                });
            }
        }
    }
    let count = inputs.len();
    let narrow = |place: usize| {
        RegionPlace::try_from(place).expect("invariant: a group has few steps, and so few operands")
    };
    let place = |operand: Value| {
        let seen = views.broadcasts(operand);
        narrow(match member(&seen) {
            Some(member) => count + member,
            None => place_of[&(seen.origin, seen.shape)],
        })
    };
    let region_steps = steps.iter().map(|step| RegionStep {
        primitive: primitive(step).clone(),
        operands: step.operands().iter().map(|&operand| place(operand)).collect(),
    });
    let region_steps: Vec<RegionStep> = region_steps.collect();
    let mut results = Vec::new();
    let mut writes = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if outside.reads(step.first) {
            results.push(RegionResult::Value(narrow(count + number)));
            writes.push(step.first);
        }
    }
    if let Some(reduction) = group.reduction {
        let step = &program.steps()[reduction];
        results.push(RegionResult::Reduced(place(step.operands()[0]), reduction_of(step).clone()));
        writes.push(step.first);
    }
    let meta = |seen: &Seen| {
        let meta = program.meta(seen.origin);
        let shape = seen.shape.as_ref().unwrap_or(&meta.shape);
        Meta { dtype: meta.dtype, shape: shape.clone() }
    };
    let metas = inputs.iter().map(meta).collect();
    let region = Region::new(shape.clone(), metas, region_steps, results)?;
    let mut numbers = group.steps;
    numbers.extend(group.reduction);
    Ok(Draft { work: Work::Region(region), reads: inputs, writes, steps: numbers })
}

fn primitive(step: &Step) -> &Primitive {
    match step.kind() {
        StepKind::Primitive(primitive) => primitive,
        _ => unreachable!("invariant: primitives are fused, and nothing else"),
    }
}

fn reduction_of(step: &Step) -> &Reduction {
    match primitive(step) {
        Primitive::Reduction(row) => row,
        _ => unreachable!("invariant: it was found among the reductions"),
    }
}
