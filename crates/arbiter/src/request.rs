//! What a caller asks for. A request is plain data: it can be kept and used any number of times.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::cpu_set::CpuSet;

/// The name under which diagnostics and errors show a request.
///
/// It is one pointer, so that it costs a store to leave it where diagnostics find it.
///
/// ```
/// use tenferro_arbiter::Label;
///
/// const MATMUL: Label = Label::new(&"matmul");
/// assert_eq!(MATMUL.as_str(), "matmul");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label(&'static &'static str);

impl Label {
    /// A label from a promoted constant, as in `Label::new(&"matmul")`.
    #[must_use]
    pub const fn new(name: &'static &'static str) -> Self {
        Self(name)
    }

    /// The text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    pub(super) fn as_ptr(self) -> *mut &'static str {
        std::ptr::from_ref(self.0).cast_mut()
    }
}

impl Default for Label {
    fn default() -> Self {
        Self::new(&"operation")
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The name of a provider in the eyes of the arbiter: equal keys are the same library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderKey(pub u64);

/// How far a provider's use excludes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimKind {
    /// Each call runs on one thread, under a setting that other one-thread users share.
    SharedOneThread,
    /// Not reentrant, or runs on several threads under a process-wide setting: one user at a time.
    Exclusive,
    /// Runs on threads that it neither bounds nor isolates: nothing else may use a CPU meanwhile.
    Unbounded,
}

/// A use of a provider that other uses may conflict with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProviderClaim {
    /// Which provider.
    pub key: ProviderKey,
    /// How far it excludes others.
    pub kind: ClaimKind,
}

impl ProviderClaim {
    /// A claim of `kind` on the provider named `key`.
    #[must_use]
    pub const fn new(key: ProviderKey, kind: ClaimKind) -> Self {
        Self { key, kind }
    }

    /// Whether the two uses may not overlap, apart from the CPUs they take.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.key == other.key
            && (self.kind, other.kind) != (ClaimKind::SharedOneThread, ClaimKind::SharedOneThread)
    }
}

/// Whether a request's CPUs are counted or taken by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusivity {
    /// CPUs are accounting: the thread may run on any CPU of its set.
    Shared,
    /// Every CPU of the set, for a domain whose workers are pinned to them.
    Exclusive,
}

/// What a caller needs: where, how wide, how exclusively, and which provider.
///
/// A floating request (no CPU set, no claim) allocates nothing.
///
/// Ask for the width that the operation gains from, one for a small operation: whoever asks for more
/// CPUs than are at hand looks for them under a lock.
///
/// ```
/// use tenferro_arbiter::{CpuSet, Label, Request};
///
/// let narrow = Request::one_thread();
/// let wide = Request::new(1..=8).label(Label::new(&"matmul"));
/// let pinned = Request::exclusive(CpuSet::from_iter([2, 3]));
/// assert_eq!((pinned.min(), pinned.max()), (2, 2));
/// # let _ = (narrow, wide);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    cpus: Option<CpuSet>,
    min: usize,
    max: usize,
    exclusivity: Exclusivity,
    provider: Option<ProviderClaim>,
    label: Label,
    /// In place of the policy's; `Some(None)` is for ever.
    wait_limit: Option<Option<Duration>>,
    /// Floating with a sane width: the fast path may serve it without looking further.
    floating: bool,
}

impl Request {
    /// A floating request for `min..=max` CPUs. The range is checked on admission.
    #[inline]
    #[must_use]
    pub const fn new(width: RangeInclusive<usize>) -> Self {
        let (min, max) = (*width.start(), *width.end());
        Self {
            cpus: None,
            min,
            max,
            exclusivity: Exclusivity::Shared,
            provider: None,
            label: Label::new(&"operation"),
            wait_limit: None,
            floating: 1 <= min && min <= max,
        }
    }

    /// A floating request for one CPU.
    #[inline]
    #[must_use]
    pub const fn one_thread() -> Self {
        Self::new(1..=1)
    }

    /// A floating request for one CPU or more, up to `max`.
    #[inline]
    #[must_use]
    pub const fn up_to(max: usize) -> Self {
        Self::new(1..=max)
    }

    /// A pinned domain's request: every CPU of `cpus`, and nobody else on them.
    #[must_use]
    pub fn exclusive(cpus: CpuSet) -> Self {
        let width = cpus.len();
        let mut request = Self::new(width..=width).on(cpus);
        request.exclusivity = Exclusivity::Exclusive;
        request
    }

    /// Restricts the request to `cpus`; it still shares them.
    #[must_use]
    pub fn on(mut self, cpus: CpuSet) -> Self {
        self.cpus = Some(cpus);
        self.floating = false;
        self
    }

    /// Adds a use of a provider, which the permit keeps until it is dropped.
    #[must_use]
    pub const fn with_provider(mut self, claim: ProviderClaim) -> Self {
        self.provider = Some(claim);
        self.floating = false;
        self
    }

    /// How long the request waits while no holder runs an operation, whatever the policy says; `None` is for ever.
    #[must_use]
    pub const fn wait_limit(mut self, limit: Option<Duration>) -> Self {
        self.wait_limit = Some(limit);
        self
    }

    /// Names the request in diagnostics.
    #[inline]
    #[must_use]
    pub const fn label(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// The CPUs that may be used; `None` means all of the arbiter's.
    #[must_use]
    pub const fn cpus(&self) -> Option<&CpuSet> {
        self.cpus.as_ref()
    }

    /// The fewest CPUs that are of use.
    #[must_use]
    pub const fn min(&self) -> usize {
        self.min
    }

    /// The most CPUs that would be used.
    #[must_use]
    pub const fn max(&self) -> usize {
        self.max
    }

    /// Whether the CPU set is taken by name.
    #[must_use]
    pub const fn exclusivity(&self) -> Exclusivity {
        self.exclusivity
    }

    /// The provider to be used, if it needs arbitration.
    #[must_use]
    pub const fn provider(&self) -> Option<ProviderClaim> {
        self.provider
    }

    /// The name shown by diagnostics.
    #[must_use]
    pub const fn name(&self) -> Label {
        self.label
    }

    /// How long it waits under a policy of this limit.
    pub(super) fn wait_limit_or(&self, policy: Option<Duration>) -> Option<Duration> {
        self.wait_limit.unwrap_or(policy)
    }

    #[inline]
    pub(super) const fn is_floating(&self) -> bool {
        self.floating
    }
}
