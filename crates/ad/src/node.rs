//! A place on the tape: the result of an operation, and what it takes to pass a gradient of it on.
//!
//! Nodes own what they were computed from and nothing owns them but later nodes and variables, so that what nobody needs
//! is freed. A node's number is above those of all it came from, which is the order of a backward sweep.

use std::{
    cell::Cell,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use smallvec::SmallVec;
use tenferro_ops::Meta;
use tenferro_tensor::{Result, Tensor};

use crate::{
    Variable,
    function::Applied,
    known::Known,
    plan::{Kept, Plan},
    remains::{Remains, drop_all},
};

/// A value that has a gradient.
pub(super) struct Node {
    number: u64,
    source: Source,
    /// Made when the first is added: most nodes have none, and every sweep asks.
    hooks: OnceLock<Box<Hooks>>,
}

/// The first number that no thread has taken.
static FREE: AtomicU64 = AtomicU64::new(0);

/// How many numbers a thread takes at a time: nodes of one thread are numbered without asking the others.
const TAKEN: u64 = 1 << 10;

thread_local! {
    static NUMBERS: Cell<Range<u64>> = const { Cell::new(0..0) };
}

/// A number above `above`, and above all that this thread was given before.
fn number(above: u64) -> u64 {
    let mut numbers = NUMBERS.take();
    if numbers.is_empty() || numbers.start <= above {
        // Whoever comes from another thread's node has seen it, and so are all of its numbers taken.
        let first = FREE.fetch_add(TAKEN, Ordering::Relaxed) + 1;
        numbers = first..first + TAKEN;
    }
    let number = numbers.start;
    NUMBERS.set(number + 1..numbers.end);
    number
}

/// Where a value comes from.
pub(super) enum Source {
    /// Nowhere: it is differentiated by. Sweeps of `backward` add to the gradient.
    Leaf(Meta, Mutex<Accumulated>),
    /// An operation.
    Operation(Recorded),
    /// A function with a rule of its own, of which this is the result of that place.
    Result(Arc<Node>, usize, Meta),
    /// All results of such a function, the first of which is like this.
    Function(Box<Applied>, Meta),
}

/// What sweeps have added to a leaf.
#[derive(Clone, Default)]
pub(super) struct Accumulated {
    pub(super) sum: Option<Tensor>,
    /// How often the sum was put there.
    changes: u64,
}

impl Accumulated {
    /// What was there before, for the caller to drop without the lock: memory of a tensor may be lent by user code.
    fn put(&mut self, sum: Option<Tensor>) -> Option<Tensor> {
        self.changes += 1;
        std::mem::replace(&mut self.sum, sum)
    }
}

/// An operation on the tape.
pub(super) struct Recorded {
    pub(super) plan: Arc<Plan>,
    /// The nodes of the operands that have one, until they are handed on.
    pub(super) operands: Operands,
    /// What the plan wants kept.
    pub(super) kept: Kept,
}

pub(super) type Operands = SmallVec<[Option<Arc<Node>>; 2]>;

/// The hooks of a node.
pub(super) type Hooks = Mutex<Vec<Hook>>;

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
        Self::new(Source::Leaf(Meta::of(value), Mutex::default()), 0)
    }

    pub(super) fn operation(recorded: Recorded) -> Self {
        let operands = recorded.operands.iter().flatten();
        let above = operands.map(|operand| operand.number).max();
        Self::new(Source::Operation(recorded), above.unwrap_or(0))
    }

    pub(super) fn function(applied: Applied, meta: Meta) -> Self {
        let above = applied.nodes().map(Node::number).max();
        Self::new(Source::Function(Box::new(applied), meta), above.unwrap_or(0))
    }

    pub(super) fn result(of: Arc<Node>, place: usize, meta: Meta) -> Self {
        let above = of.number;
        Self::new(Source::Result(of, place, meta), above)
    }

    #[inline]
    fn new(source: Source, above: u64) -> Self {
        Self { number: number(above), source, hooks: OnceLock::new() }
    }

    pub(super) fn meta(&self) -> &Meta {
        match &self.source {
            Source::Operation(recorded) => &recorded.plan.meta,
            Source::Leaf(meta, _) | Source::Result(_, _, meta) | Source::Function(_, meta) => meta,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn has_hooks(&self) -> bool {
        self.hooks.get().is_some()
    }

    pub(super) fn add_hook(&self, hook: Hook) {
        lock(self.hooks.get_or_init(Box::default)).push(hook);
    }

    /// What is called with the gradient, in order. Taken out, so that no lock is held while one runs.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        self.hooks.get().map_or_else(Vec::new, |hooks| lock(hooks).clone())
    }

    pub(super) fn accumulated(&self) -> Accumulated {
        match &self.source {
            Source::Leaf(_, accumulated) => lock(accumulated).clone(),
            _ => Accumulated::default(),
        }
    }

    pub(super) fn clear_gradient(&self) {
        if let Source::Leaf(_, accumulated) = &self.source {
            let _before = lock(accumulated).put(None);
        }
    }

    /// Puts a sum in the place of what it was made of; `false` if something else is there by now.
    pub(super) fn replace_gradient(&self, before: &Accumulated, sum: Tensor) -> bool {
        let Source::Leaf(_, accumulated) = &self.source else { return true };
        let mut accumulated = lock(accumulated);
        if accumulated.changes != before.changes {
            return false;
        }
        let _before = accumulated.put(Some(sum));
        drop(accumulated);
        true
    }

    /// The nodes of an operation's operands.
    pub(super) fn operands(&self) -> Operands {
        match &self.source {
            Source::Operation(recorded) => recorded.operands.clone(),
            _ => Operands::new(),
        }
    }

    /// The same, taken out.
    pub(super) fn take_operands(&mut self) -> Operands {
        match &mut self.source {
            Source::Operation(recorded) => std::mem::take(&mut recorded.operands),
            _ => Operands::new(),
        }
    }

    /// Whether a drop of the node can drop no other one.
    fn is_last(&self) -> bool {
        let is_last = match &self.source {
            Source::Leaf(..) => true,
            Source::Operation(recorded) => {
                recorded.operands.is_empty() && recorded.kept.iter().all(Known::is_plain)
            }
            Source::Result(..) | Source::Function(..) => false,
        };
        is_last && !self.has_hooks()
    }

    /// Hands out what may hold other nodes.
    fn take_apart(&mut self, out: &mut dyn FnMut(Remains)) {
        if let Some(hooks) = self.hooks.take() {
            out(Remains::Hooks(hooks));
        }
        if let Source::Operation(recorded) = &mut self.source {
            if !recorded.kept.iter().all(Known::is_plain) {
                out(Remains::Kept(std::mem::take(&mut recorded.kept)));
            }
            recorded.operands.drain(..).flatten().for_each(|node| out(Remains::Node(node)));
            return;
        }
        let leaf = Source::Leaf(self.meta().clone(), Mutex::default());
        match std::mem::replace(&mut self.source, leaf) {
            Source::Leaf(..) | Source::Operation(_) => {}
            Source::Result(of, ..) => out(Remains::Node(of)),
            Source::Function(applied, _) => out(Remains::Function(applied)),
        }
    }
}

impl Drop for Node {
    /// A long chain is taken apart link by link, not by recursion.
    fn drop(&mut self) {
        if !self.is_last() {
            drop_all(|out| self.take_apart(out));
        }
    }
}

/// No user code runs under these locks, so that a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
