//! Who holds CPUs: an identity, not a handle. It grants nothing.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers handed to a thread at once, so that naming a permit touches no shared word.
const BLOCK: u64 = 1 << 20;

static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

/// The identity of one admitted execution, unique in the process.
///
/// A permit carries it and diagnostics show it; lanes and engine workers of one scope inherit it.
///
/// ```
/// use tenferro_arbiter::ExecutionOwner;
///
/// assert_ne!(ExecutionOwner::unique(), ExecutionOwner::unique());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionOwner(u64);

impl ExecutionOwner {
    /// A new identity, for an execution that holds no permit.
    #[must_use]
    pub fn unique() -> Self {
        Self(OwnerNumbers::block())
    }

    /// The number, for records and traces.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(super) const fn from_raw(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Debug for ExecutionOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExecutionOwner({self})")
    }
}

impl fmt::Display for ExecutionOwner {
    /// `block.number`: the block belongs to one thread's seat.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / BLOCK, self.0 % BLOCK)
    }
}

/// A thread's own supply of identities.
#[derive(Debug)]
pub(super) struct OwnerNumbers {
    next: Cell<u64>,
}

impl OwnerNumbers {
    pub(super) fn new() -> Self {
        Self { next: Cell::new(Self::block()) }
    }

    #[inline]
    pub(super) fn draw(&self) -> ExecutionOwner {
        let number = self.next.get();
        let next = number + 1;
        self.next.set(if next.is_multiple_of(BLOCK) { Self::block() } else { next });
        ExecutionOwner(number)
    }

    fn block() -> u64 {
        NEXT_BLOCK.fetch_add(1, Ordering::Relaxed) * BLOCK
    }
}
