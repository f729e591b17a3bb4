//! Cancelling waits from any thread. A token ends waits, never operations.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use crate::admission::Core;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Ends waits for CPUs, from any thread.
///
/// Clones are the same token. It may be given to any number of requests, through
/// [`Patience::unless`](crate::Patience::unless). Once cancelled it stays so: requests that wait
/// end with [`Cancelled`](crate::Error::Cancelled) and leave the queue, later ones are refused at
/// once. A request that was granted first keeps its permit.
///
/// ```
/// use tenferro_arbiter::CancelToken;
///
/// let token = CancelToken::new();
/// token.clone().cancel();
/// assert!(token.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cancelled: AtomicU64,
    waits: Mutex<BTreeMap<Wait, Weak<Core>>>,
}

/// One waiting request: its arbiter's address and its number.
type Wait = (usize, u64);

fn wait(core: &Arc<Core>, number: u64) -> Wait {
    (Arc::as_ptr(core).addr(), number)
}

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waits that have the token, and refuses those to come.
    ///
    /// It wakes them and does not wait for them.
    pub fn cancel(&self) {
        let waits = {
            let mut waits = self.shared.waits.lock();
            self.shared.cancelled.store(1, Ordering::Release);
            std::mem::take(&mut *waits)
        };
        // Without the token's lock: an arbiter's is taken, and its waiters take the token's.
        for ((_, number), core) in waits {
            if let Some(core) = core.upgrade() {
                core.cancel(number);
            }
        }
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Acquire) != 0
    }

    /// Adds a request that waits; answers whether the token still allows it.
    pub(super) fn watch(&self, core: &Arc<Core>, number: u64) -> bool {
        let mut waits = self.shared.waits.lock();
        let allowed = !self.is_cancelled();
        if allowed {
            waits.insert(wait(core, number), Arc::downgrade(core));
        }
        allowed
    }

    /// Removes a request that waits no more.
    pub(super) fn forget(&self, core: &Arc<Core>, number: u64) {
        self.shared.waits.lock().remove(&wait(core, number));
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
