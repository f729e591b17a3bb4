//! Why an admission was refused.

use std::fmt::Write as _;
use std::time::Duration;

use crate::cpu_set::CpuSet;
use crate::snapshot::HolderInfo;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a request was refused, or a CPU list could not be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The width range is empty or starts at zero.
    #[error(
        "a request for {min} to {max} CPUs: ask for at least one, and no more than the maximum"
    )]
    InvalidWidth {
        /// The fewest CPUs asked for.
        min: usize,
        /// The most CPUs asked for.
        max: usize,
    },
    /// The request needs more CPUs than it could ever be given.
    #[error("a request needs {min} CPUs of {limit}: lower its minimum, or widen its CPU set")]
    TooWide {
        /// The fewest CPUs asked for.
        min: usize,
        /// The CPUs there are for it.
        limit: usize,
    },
    /// A CPU set without a CPU.
    #[error("the CPU set is empty: name at least one CPU, or none at all for every allowed one")]
    EmptyCpuSet,
    /// More CPUs than an arbiter can count.
    #[error("{cpus} CPUs are more than an arbiter counts ({limit}): bound its capacity")]
    TooManyCpus {
        /// The CPUs asked for.
        cpus: usize,
        /// The most an arbiter counts.
        limit: usize,
    },
    /// A CPU set that names CPUs which the arbiter does not govern.
    #[error("CPUs {foreign} are not among the allowed ones ({allowed}): choose from those")]
    ForeignCpus {
        /// The CPUs that are not allowed.
        foreign: CpuSet,
        /// The arbiter's CPUs.
        allowed: CpuSet,
    },
    /// A text that is not a CPU list.
    #[error("\"{text}\" is not a CPU list, because of \"{part}\": write it as in 0-3,8")]
    InvalidCpuList {
        /// The whole text.
        text: String,
        /// The part that is wrong.
        part: String,
    },
    /// The request cannot run now, and was not to wait.
    #[error("{} cannot be had at once{}: wait with `acquire`, or ask again later", count(*.min), held_by(.holders))]
    WouldBlock {
        /// The fewest CPUs asked for.
        min: usize,
        /// Who is in the way.
        holders: Vec<HolderInfo>,
    },
    /// The deadline passed first.
    #[error("no admission within {waited:.3?}{}: allow more time, or let the holders finish", held_by(.holders))]
    TimedOut {
        /// How long the request waited.
        waited: Duration,
        /// Who is in the way.
        holders: Vec<HolderInfo>,
    },
    /// The request's token was cancelled.
    #[error(
        "the request was cancelled after it had waited {waited:.3?}: ask again with a new token if it is \
         still needed"
    )]
    Cancelled {
        /// How long the request waited.
        waited: Duration,
    },
    /// A future had to wait, and there is no thread to watch its time.
    #[error(
        "a future cannot wait without the thread that watches its time, which could not be started \
         ({reason}): wait on a thread of your own, with `acquire`"
    )]
    NoAlarm {
        /// What the system said.
        reason: String,
    },
    /// A future that was made before a fork was polled in the child.
    #[error(
        "a future from before a fork was polled after it, where nobody can answer it: ask again in this \
         process"
    )]
    Forked,
    /// A recording is under way already.
    #[error("the arbiter is recorded already: finish that recording first")]
    Recording,
    /// The arbiter is not one that records.
    #[error("this arbiter does not record: ask the `FairArbiter` underneath it")]
    NotRecorded,
    /// Holders kept the request waiting without running an operation.
    #[error(
        "no admission: for {waited:.3?} no holder ran an operation{}: end the holding scope or permit, \
         do not wait inside it for this thread, or raise the wait limit",
        held_by(.holders)
    )]
    WaitLimit {
        /// The time in which nothing ran.
        waited: Duration,
        /// Who is in the way.
        holders: Vec<HolderInfo>,
    },
}

/// `1 CPU`, `2 CPUs`.
fn count(cpus: usize) -> String {
    format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" })
}

/// `; held by "scope" (2 CPUs, idle, for 1.2s, thread main)`, or nothing.
fn held_by(holders: &[HolderInfo]) -> String {
    let mut text = String::new();
    for (i, holder) in holders.iter().enumerate() {
        let lead = if i == 0 { "; held by " } else { ", " };
        write!(text, "{lead}{holder}").expect("invariant: writing to a String does not fail");
    }
    text
}
