//! When two programs are the same: the same steps on the same operands, with constants of the same bits.
//!
//! The names of inputs count, since they are printed. Custom operations are the same only if they are one object.

use std::{
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use rustc_hash::FxHasher;
use tenferro_tensor::{Tensor, dispatch};

use crate::{Control, Program, Step, StepKind};

/// What is known of a program, all of whose clones share it.
#[derive(Default)]
pub(super) struct Identity {
    /// Computed when it is first asked for.
    pub(super) fingerprint: OnceLock<u64>,
    /// Shared with a program that was found to be equal, so that those two are compared once: a cache is asked for a
    /// program that was traced again as often as it runs.
    class: OnceLock<Arc<()>>,
}

impl Identity {
    /// Whether the programs are known to be equal.
    fn is(&self, other: &Self) -> bool {
        match (self.class.get(), other.class.get()) {
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            _ => false,
        }
    }

    /// Keeps that the programs are equal, unless each has found another one.
    fn unite(&self, other: &Self) {
        let class = self.class.get_or_init(|| other.class.get().cloned().unwrap_or_default());
        other.class.get_or_init(|| Arc::clone(class));
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        if self.is(other) || self.identity.is(&other.identity) {
            return true;
        }
        let equal = self.fingerprint() == other.fingerprint()
            && self.inputs() == other.inputs()
            && self.outputs() == other.outputs()
            && self.steps() == other.steps();
        if equal {
            self.identity.unite(&other.identity);
        }
        equal
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.fingerprint());
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.operands == other.operands
            && self.metas == other.metas
            && match (&self.kind, &other.kind) {
                (StepKind::Constant(lhs), StepKind::Constant(rhs)) => {
                    // Dtypes and shapes are equal; so are the bits of one and the same memory.
                    with_bytes(lhs, |lhs| {
                        with_bytes(rhs, |rhs| std::ptr::eq(lhs, rhs) || lhs == rhs)
                    })
                }
                (StepKind::Primitive(lhs), StepKind::Primitive(rhs)) => lhs == rhs,
                (StepKind::Custom(lhs), StepKind::Custom(rhs)) => Arc::ptr_eq(lhs, rhs),
                (StepKind::Control(lhs), StepKind::Control(rhs)) => lhs == rhs,
                _ => false,
            }
    }
}

impl Eq for Step {}

impl Hash for Step {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.operands.hash(state);
        self.metas.hash(state);
        match &self.kind {
            StepKind::Constant(tensor) => with_bytes(tensor, |bytes| bytes.hash(state)),
            StepKind::Primitive(primitive) => primitive.hash(state),
            StepKind::Custom(custom) => custom.name().hash(state),
            StepKind::Control(control) => control.hash(state),
        }
    }
}

/// What [`Program::fingerprint`] is computed of.
pub(super) fn fingerprint(program: &Program) -> u64 {
    let mut hasher = FxHasher::default();
    for spec in program.inputs() {
        spec.meta().hash(&mut hasher);
        spec.name().hash(&mut hasher);
    }
    program.steps().hash(&mut hasher);
    program.outputs().hash(&mut hasher);
    hasher.finish()
}

/// Hands on the bytes of a tensor's elements.
pub(super) fn with_bytes<R>(tensor: &Tensor, f: impl FnOnce(&[u8]) -> R) -> R {
    dispatch!(tensor.dtype(), any T => {
        let elements = tensor.as_slice::<T>().expect("invariant: it is asked for its own dtype");
        f(bytemuck::cast_slice(elements))
    })
}

/// Loops and choices are the same if their programs and numbers are.
impl Hash for Control {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
        for (_, body) in self.bodies() {
            body.hash(state);
        }
        match self {
            Control::Call { .. } | Control::Cond { .. } => {}
            Control::WhileLoop { carries, .. } => carries.hash(state),
            Control::Scan { carries, sequences, length, direction, .. } => {
                (carries, sequences, length, direction).hash(state);
            }
        }
    }
}
