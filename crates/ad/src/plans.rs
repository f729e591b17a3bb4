//! The plans that a thread has made, so that it makes each once.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{Hash, Hasher},
    sync::Arc,
};

use rustc_hash::{FxBuildHasher, FxHasher};
use smallvec::SmallVec;
use tenferro_ops::{Described, Meta};
use tenferro_tensor::{Primitive, Result};

use crate::{
    emit::{Input, Operation},
    known::Known,
    plan::Plan,
    planner::Planner,
};

/// So many plans are kept. When there are more all are forgotten, which costs each that is used again one derivation.
const MANY: usize = 1024;

/// A plan that holds more elements than this as constants is not kept.
const LARGE: usize = 64;

/// A plan and what it is for.
struct Entry {
    primitive: Primitive,
    operands: Moving,
    plan: Option<Arc<Plan>>,
    /// Where the plans are that were asked for after this one, the last first.
    next: [usize; 2],
}

/// Operands, and whether they have tangents.
type Moving = SmallVec<[(Meta, bool); 2]>;

/// The plans of a thread.
#[derive(Default)]
struct Plans {
    entries: Vec<Entry>,
    /// Places of entries by the hash of what they are for; of two with one hash the last.
    places: HashMap<u64, usize, FxBuildHasher>,
    /// Where the plan is that was asked for last.
    last: usize,
}

thread_local! {
    static PLANS: RefCell<Plans> = RefCell::default();
}

/// The plan of an operation on operands of which these have tangents; `None` if there is nothing to differentiate.
///
/// # Errors
/// That the operation has no rule, or one that does not fit.
pub(super) fn plan(
    operation: Operation<'_>,
    inputs: &[Input<'_>],
    output: &Known<'_>,
) -> Result<Option<Arc<Plan>>> {
    // A custom operation may be gone tomorrow.
    let Operation::Primitive(primitive) = operation else {
        return made(operation, &moving(inputs), output);
    };
    // A thread that ends may still record when its plans are gone: it makes them anew.
    match PLANS.try_with(|plans| plans.borrow_mut().expected(primitive, inputs)) {
        Ok(Some(plan)) => Ok(plan),
        _ => searched(primitive, inputs, output),
    }
}

/// The plan that was made before for what agrees in the hash, or a new one.
#[inline(never)]
fn searched(
    primitive: &Primitive,
    inputs: &[Input<'_>],
    output: &Known<'_>,
) -> Result<Option<Arc<Plan>>> {
    let hash = hash(primitive, inputs);
    let found = PLANS.try_with(|plans| plans.borrow_mut().found(hash, primitive, inputs));
    if let Ok(Some(plan)) = found {
        return Ok(plan);
    }
    let operands = moving(inputs);
    // No borrow is held: a rule may be anything.
    let plan = made(Operation::Primitive(primitive), &operands, output)?;
    let constants = plan.iter().flat_map(|plan| &plan.constants);
    if constants.map(|constant| constant.shape().elements()).sum::<usize>() <= LARGE {
        let entry =
            Entry { primitive: primitive.clone(), operands, plan: plan.clone(), next: [0; 2] };
        _ = PLANS.try_with(|plans| plans.borrow_mut().insert(hash, entry));
    }
    Ok(plan)
}

fn moving(inputs: &[Input<'_>]) -> Moving {
    inputs.iter().map(|(known, node)| (Meta::of(known), node.is_some())).collect()
}

fn made(
    operation: Operation<'_>,
    operands: &Moving,
    output: &Known<'_>,
) -> Result<Option<Arc<Plan>>> {
    Ok(Planner::plan(operation, operands, Meta::of(output))?.map(Arc::new))
}

impl Plans {
    /// The plan that has followed the last one, if it is for this: operations mostly follow each other as they did, and no
    /// hash is as fast as looking.
    fn expected(
        &mut self,
        primitive: &Primitive,
        inputs: &[Input<'_>],
    ) -> Option<Option<Arc<Plan>>> {
        let next = self.entries.get(self.last)?.next;
        next.into_iter().find_map(|place| self.at(place, primitive, inputs))
    }

    /// The plan with this hash, if it is for this.
    fn found(
        &mut self,
        hash: u64,
        primitive: &Primitive,
        inputs: &[Input<'_>],
    ) -> Option<Option<Arc<Plan>>> {
        let place = *self.places.get(&hash)?;
        self.at(place, primitive, inputs)
    }

    /// The plan of this place, if it is for this.
    fn at(
        &mut self,
        place: usize,
        primitive: &Primitive,
        inputs: &[Input<'_>],
    ) -> Option<Option<Arc<Plan>>> {
        let entry = self.entries.get(place).filter(|entry| entry.is_for(primitive, inputs))?;
        let plan = entry.plan.clone();
        self.follow(place);
        Some(plan)
    }

    fn insert(&mut self, hash: u64, entry: Entry) {
        if self.entries.len() >= MANY {
            *self = Self::default();
        }
        let place = *self.places.entry(hash).or_insert(self.entries.len());
        match self.entries.get_mut(place) {
            Some(other) => *other = entry,
            None => self.entries.push(entry),
        }
        self.follow(place);
    }

    /// Remembers that the plan of this place was asked for after the last one.
    fn follow(&mut self, place: usize) {
        if let Some(Entry { next, .. }) = self.entries.get_mut(self.last)
            && next[0] != place
        {
            *next = [place, next[0]];
        }
        self.last = place;
    }
}

impl Entry {
    fn is_for(&self, primitive: &Primitive, inputs: &[Input<'_>]) -> bool {
        let same = |((meta, moves), (known, node)): (&(Meta, bool), &Input<'_>)| {
            *moves == node.is_some() && meta.dtype == known.dtype() && meta.shape == *known.shape()
        };
        self.operands.len() == inputs.len()
            && self.operands.iter().zip(inputs).all(same)
            && self.primitive == *primitive
    }
}

fn hash(primitive: &Primitive, inputs: &[Input<'_>]) -> u64 {
    let mut hasher = FxHasher::default();
    primitive.hash(&mut hasher);
    for (known, node) in inputs {
        (known.dtype(), node.is_some()).hash(&mut hasher);
        known.shape().hash(&mut hasher);
    }
    hasher.finish()
}
