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
}

/// Operands, and whether they have tangents.
type Moving = SmallVec<[(Meta, bool); 2]>;

thread_local! {
    /// By the hash of what they are for; of two with one hash the last.
    static PLANS: RefCell<HashMap<u64, Entry, FxBuildHasher>> = RefCell::default();
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
    let operands = || -> Moving {
        inputs.iter().map(|(known, node)| (Meta::of(known), node.is_some())).collect()
    };
    let made =
        |operands: &Moving| Ok(Planner::plan(operation, operands, Meta::of(output))?.map(Arc::new));
    // A custom operation may be gone tomorrow.
    let Operation::Primitive(primitive) = operation else { return made(&operands()) };

    let hash = hash(primitive, inputs);
    // A thread that ends may still record when its plans are gone: it makes them anew.
    let found = PLANS.try_with(|plans| {
        let plans = plans.borrow();
        let entry = plans.get(&hash)?;
        entry.is_for(primitive, inputs).then(|| entry.plan.clone())
    });
    if let Ok(Some(plan)) = found {
        return Ok(plan);
    }
    let operands = operands();
    // No borrow is held: a rule may be anything.
    let plan = made(&operands)?;
    let constants = plan.iter().flat_map(|plan| &plan.constants);
    if constants.map(|constant| constant.shape().elements()).sum::<usize>() <= LARGE {
        let entry = Entry { primitive: primitive.clone(), operands, plan: plan.clone() };
        _ = PLANS.try_with(|plans| {
            let mut plans = plans.borrow_mut();
            if plans.len() >= MANY {
                plans.clear();
            }
            plans.insert(hash, entry);
        });
    }
    Ok(plan)
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
