//! How long a request waits, as its caller says. Plain data: it waits for nothing itself.

use std::time::{Duration, Instant};

use crate::cancel::CancelToken;

/// What ends a wait early, beside the wait limit: a deadline, a [`CancelToken`], both or neither.
///
/// ```
/// use std::time::Duration;
/// use tenferro_arbiter::{Arbiter, CancelToken, CpuSet, Error, FairArbiter, Patience, Request};
///
/// let arbiter = FairArbiter::new(CpuSet::first(1))?;
/// let token = CancelToken::new();
/// let patience = Patience::at_most(Duration::from_secs(1)).unless(&token);
/// let permit = arbiter.acquire_within(&Request::one_thread(), &patience)?;
/// token.cancel();
/// let refused = arbiter.acquire_within(&Request::one_thread(), &patience);
/// assert!(matches!(refused, Err(Error::Cancelled { .. })));
/// # drop(permit);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Patience {
    deadline: Option<Instant>,
    token: Option<CancelToken>,
}

impl Patience {
    /// No deadline and no token: the wait limit alone ends a wait.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self { deadline: None, token: None }
    }

    /// Until `deadline`.
    #[must_use]
    pub const fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), token: None }
    }

    /// For `timeout` from now. One too long for the clock sets no deadline.
    #[must_use]
    pub fn at_most(timeout: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(timeout), token: None }
    }

    /// Also ends when `token` is cancelled, and never begins if it is already.
    #[must_use]
    pub fn unless(mut self, token: &CancelToken) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// The deadline, if there is one.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn token(&self) -> Option<&CancelToken> {
        self.token.as_ref()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.token.as_ref().is_some_and(CancelToken::is_cancelled)
    }
}
