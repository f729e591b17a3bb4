//! Recording: the operations and waits of an arbiter, with their times, while somebody wants to see them.
//!
//! It decides nothing. While nothing is recorded, a transition pays for one look at a flag. A recording is bounded:
//! it keeps the latest spans and counts those it forgot. Invariant: an operation's span lies within the time in
//! which its CPUs were its own, so that the widths of spans that overlap sum to no more than the CPUs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::admission::Core;
use crate::error::{Error, Result};
use crate::home::ThreadRecord;
use crate::ledger::Entry;
use crate::owner::ExecutionOwner;
use crate::request::Label;
use crate::trace::{Span, SpanKind, Trace, WaitOutcome};

/// An arbiter's recorder.
#[derive(Default)]
pub(super) struct Recorder {
    on: AtomicBool,
    /// The moment that the times on seats count from.
    epoch: OnceLock<Instant>,
    log: Mutex<Option<Log>>,
}

/// What was recorded so far.
struct Log {
    start: Instant,
    spans: VecDeque<Record>,
    most: usize,
    forgotten: u64,
}

/// A span whose times are moments.
struct Record {
    kind: SpanKind,
    label: Label,
    owner: Option<ExecutionOwner>,
    thread: Option<Arc<ThreadRecord>>,
    start: Instant,
    end: Instant,
}

impl Record {
    fn span(self, since: Instant) -> Span {
        let thread = self.thread.map_or_else(String::new, |thread| thread.name().to_owned());
        Span {
            kind: self.kind,
            label: self.label,
            owner: self.owner,
            thread,
            start: self.start.saturating_duration_since(since),
            end: self.end.saturating_duration_since(since),
        }
    }
}

/// Who waited, and how it ended.
pub(super) struct Waited {
    pub(super) label: Label,
    pub(super) owner: Option<ExecutionOwner>,
    pub(super) thread: Option<Arc<ThreadRecord>>,
    pub(super) since: Instant,
    pub(super) outcome: WaitOutcome,
}

impl Recorder {
    /// Whether anything is recorded. The only thing that the fast path asks.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    fn begin(&self, now: Instant, most: usize) -> Result<()> {
        self.epoch.get_or_init(|| now);
        let mut log = self.log.lock();
        if log.is_some() {
            return Err(Error::Recording);
        }
        let spans = VecDeque::new();
        *log = Some(Log { start: now, spans, most: most.max(1), forgotten: 0 });
        self.on.store(true, Relaxed);
        Ok(())
    }

    fn end(&self) -> Option<Log> {
        self.on.store(false, Relaxed);
        self.log.lock().take()
    }

    /// A moment, as a seat notes it; never 0.
    pub(super) fn mark(&self, now: Instant) -> u64 {
        let epoch = *self.epoch.get_or_init(|| now);
        now.saturating_duration_since(epoch).as_nanos() as u64 + 1
    }

    /// The moment that a seat noted.
    fn moment(&self, mark: u64) -> Option<Instant> {
        Some(*self.epoch.get()? + Duration::from_nanos(mark.checked_sub(1)?))
    }

    /// An operation ended that had started at `mark`.
    pub(super) fn operated(
        &self,
        mark: u64,
        end: Instant,
        kind: SpanKind,
        (owner, label): (ExecutionOwner, Label),
        thread: Arc<ThreadRecord>,
    ) {
        let Some(start) = self.moment(mark) else { return };
        let (owner, thread) = (Some(owner), Some(thread));
        self.push(Record { kind, label, owner, thread, start, end });
    }

    /// A wait ended.
    pub(super) fn waited(&self, waited: Waited, end: Instant) {
        let Waited { label, owner, thread, since, outcome } = waited;
        let kind = SpanKind::Wait { outcome };
        self.push(Record { kind, label, owner, thread, start: since, end });
    }

    fn push(&self, record: Record) {
        let mut log = self.log.lock();
        // What began before the recording is none of its business.
        let Some(log) = log.as_mut().filter(|log| log.start <= record.start) else { return };
        if log.spans.len() == log.most {
            log.spans.pop_front();
            log.forgotten += 1;
        }
        log.spans.push_back(record);
    }

    /// The operation that runs on a seat, as far as it is sure to have run.
    fn running(&self, core: &Core, entry: &Entry) -> Option<Record> {
        // First the time, then the seat: whatever is seen there has run until then at least.
        let now = core.clock().now();
        let (mark, word) = (entry.seat.started(), entry.seat.latest());
        let start = self.moment(mark).filter(|start| *start <= now)?;
        if !word.is_held() || word.active() == 0 || entry.seat.started() != mark {
            return None;
        }
        Some(Record {
            kind: SpanKind::Operation {
                width: word.active() as usize,
                overcommitted: word.is_over(),
            },
            label: entry.seat.label(),
            owner: Some(entry.seat.owner()),
            thread: Some(Arc::clone(&entry.thread)),
            start,
            end: now,
        })
    }
}

/// A recording of an arbiter's operations and waits, until it is finished or dropped.
///
/// It is bounded in memory: it keeps the latest spans, about 100 bytes each.
///
/// ```
/// use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Request};
///
/// let arbiter = FairArbiter::new(CpuSet::first(2))?;
/// let recording = arbiter.record(1 << 16)?;
/// drop(arbiter.acquire(&Request::up_to(2))?);
/// let trace = recording.finish();
/// assert_eq!(trace.spans().len(), 1);
/// let mut file = Vec::new();
/// trace.write_chrome(&mut file).expect("a Vec takes everything");
/// # Ok::<(), tenferro_arbiter::Error>(())
/// ```
#[must_use = "what is recorded is lost when this is dropped"]
pub struct Recording {
    core: Arc<Core>,
}

impl Recording {
    pub(super) fn start(core: &Arc<Core>, spans: usize) -> Result<Self> {
        core.recorder().begin(core.clock().now(), spans)?;
        Ok(Self { core: Arc::clone(core) })
    }

    /// Ends the recording. An operation that still runs ends in it now.
    #[must_use]
    pub fn finish(self) -> Trace {
        let (core, recorder) = (&self.core, self.core.recorder());
        let ledger = core.lock();
        let running: Vec<Record> =
            ledger.entries().filter_map(|e| recorder.running(core, e)).collect();
        drop(ledger);
        let log = recorder.end().expect("invariant: a recording is ended once");
        let start = log.start;
        let running = running.into_iter().filter(|record| start <= record.start);
        // An operation may have ended, and been recorded as such, since it was seen running.
        let ended = |record: &Record| {
            let same = |other: &Record| other.owner == record.owner && other.start == record.start;
            log.spans.iter().any(same)
        };
        let running: Vec<Record> = running.filter(|record| !ended(record)).collect();
        let spans = log.spans.into_iter().chain(running).map(|record| record.span(start));
        Trace::new(core.capacity() as usize, spans.collect(), log.forgotten)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.core.recorder().end();
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}
