//! A place on the tape: a tangent, and the linear step that it came from.
//!
//! Nodes own what they were computed from and nothing owns them but later nodes and variables, so that what nobody needs
//! is freed. A node's number is above those of all it came from, which is the order of a backward sweep.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use smallvec::SmallVec;
use tenferro_ops::{Described, Meta};
use tenferro_tensor::{Elementwise, Primitive, Result, Tensor};

use crate::{Variable, function::Applied, recorder::Recorded};

/// A tangent on the tape.
pub(super) struct Node {
    meta: Meta,
    number: u64,
    step: Step,
    /// Made when the first is added: most nodes have none, and every sweep asks.
    hooks: OnceLock<Mutex<Vec<Hook>>>,
}

/// The last number that a node was given. Whoever makes a node has seen those that it comes from, and so their numbers are
/// lower without any order between threads.
static LAST: AtomicU64 = AtomicU64::new(0);

/// Where a tangent comes from.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every node is a linear step, whose parts are inline to spare an allocation"
)]
pub(super) enum Step {
    /// Nowhere: what is differentiated by. Sweeps of `backward` add to the gradient.
    Leaf(Mutex<Option<Tensor>>),
    /// A linear primitive.
    Linear(Primitive, Edges),
    /// A function with a rule of its own, of which this is the result of that place.
    Result(Arc<Node>, usize),
    /// All results of such a function.
    Function(Box<Applied>),
}

/// The operands of a linear step: what is known, and tangents.
pub(super) type Edges = SmallVec<[Recorded<'static>; 2]>;

/// What nodes came from, of which few have many.
pub(super) type Parents = SmallVec<[Arc<Node>; 4]>;

/// What is called with a gradient on its way.
#[derive(Clone)]
pub(super) struct Hook(Arc<Call>);

type Call = dyn Fn(&Variable) -> Result<Variable> + Send + Sync;

impl Hook {
    pub(super) fn new(
        hook: impl Fn(&Variable) -> Result<Variable> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(hook))
    }

    /// What takes the gradient's place.
    pub(super) fn call(&self, gradient: &Variable) -> Result<Variable> {
        self.0(gradient)
    }
}

impl Node {
    pub(super) fn leaf(value: &Tensor) -> Self {
        Self::new(Meta::of(value), Step::Leaf(Mutex::new(None)))
    }

    #[inline]
    pub(super) fn linear(primitive: Primitive, edges: Edges, meta: Meta) -> Self {
        Self::new(meta, Step::Linear(primitive, edges))
    }

    pub(super) fn function(applied: Applied, meta: Meta) -> Self {
        Self::new(meta, Step::Function(Box::new(applied)))
    }

    pub(super) fn result(of: Arc<Node>, place: usize, meta: Meta) -> Self {
        Self::new(meta, Step::Result(of, place))
    }

    #[inline]
    fn new(meta: Meta, step: Step) -> Self {
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        Self { meta, number, step, hooks: OnceLock::new() }
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.meta
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn step(&self) -> &Step {
        &self.step
    }

    pub(super) fn add_hook(&self, hook: Hook) {
        lock(self.hooks.get_or_init(Mutex::default)).push(hook);
    }

    /// Whether a gradient that is the same along axes need not be stretched: a multiplication or division by all elements
    /// of a factor stretches it, and no hook sees it.
    pub(super) fn takes_narrow(&self) -> bool {
        let is_factor = |edge: &Recorded<'_>| {
            !matches!(edge, Recorded::Linear(_)) && *edge.shape() == self.meta.shape
        };
        match &self.step {
            Step::Linear(Primitive::Elementwise(Elementwise::Mul | Elementwise::Div), edges) => {
                self.hooks.get().is_none() && edges.iter().any(is_factor)
            }
            _ => false,
        }
    }

    /// What is called with the gradient, in order. Taken out, so that no lock is held while one runs.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        self.hooks.get().map_or_else(Vec::new, |hooks| lock(hooks).clone())
    }

    pub(super) fn gradient(&self) -> Option<Tensor> {
        match &self.step {
            Step::Leaf(gradient) => lock(gradient).clone(),
            _ => None,
        }
    }

    pub(super) fn clear_gradient(&self) {
        if let Step::Leaf(gradient) = &self.step {
            *lock(gradient) = None;
        }
    }

    /// Puts the gradient back that was taken for adding to it, unless another sweep was faster: then there is one to add.
    pub(super) fn put_gradient(&self, sum: Tensor) -> Option<[Tensor; 2]> {
        let Step::Leaf(gradient) = &self.step else { return None };
        let mut gradient = lock(gradient);
        match gradient.take() {
            None => {
                *gradient = Some(sum);
                None
            }
            Some(other) => Some([other, sum]),
        }
    }

    /// Takes the nodes out that this one came from.
    fn take_parents(&mut self, into: &mut Parents) {
        match &mut self.step {
            Step::Leaf(_) => {}
            Step::Linear(_, edges) => {
                while let Some(edge) = edges.pop() {
                    if let Recorded::Linear(node) = edge {
                        into.push(node.into_owned());
                    }
                }
            }
            Step::Result(..) => {
                let leaf = Step::Leaf(Mutex::new(None));
                if let Step::Result(of, _) = std::mem::replace(&mut self.step, leaf) {
                    into.push(of);
                }
            }
            Step::Function(applied) => applied.take_nodes(into),
        }
    }
}

impl Drop for Node {
    /// A long chain is taken apart link by link, not by recursion.
    fn drop(&mut self) {
        let mut owned = Parents::new();
        self.take_parents(&mut owned);
        while let Some(node) = owned.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                node.take_parents(&mut owned);
            }
        }
    }
}

/// No user code runs under these locks, so that a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
