//! The alarm: who watches the time of those that wait without a thread.
//!
//! A thread that sleeps for its own grant looks at the clock itself. A future cannot, so that one thread
//! an arbiter does it for all of them, while there are any: deadlines, the wait limit, the end of
//! the bypass budget, and grants that nobody comes for. It decides nothing else.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::admission::Core;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::sync;
use crate::waiting::{Stage, Watch, Who};

/// How long a grant is kept for a future that was called, unless the bypass budget is longer.
const KEPT: Duration = Duration::from_millis(1);

/// How long the thread stays when no future waits.
const LINGER: Duration = Duration::from_secs(1);

/// When a waiting future is to be looked after.
struct Timing {
    deadline: Option<Instant>,
    limit: Option<Duration>,
    watch: Watch,
    /// Its place among the dates; `None` if it has no deadline and no limit.
    due: Option<Instant>,
}

impl Timing {
    fn next(&self) -> Option<Instant> {
        let look = self.limit.map(|limit| self.watch.next_look(limit));
        [self.deadline, look].into_iter().flatten().min()
    }
}

/// The times of all waiting futures, and whether a thread watches them.
#[derive(Default)]
pub(super) struct Alarm {
    timings: HashMap<u64, Timing>,
    dates: BTreeSet<(Instant, u64)>,
    running: bool,
    /// When the thread wakes by itself.
    planned: Option<Instant>,
}

impl Alarm {
    /// Whether the caller must start the thread. It is taken to be running from here on.
    pub(super) fn must_start(&mut self) -> bool {
        !std::mem::replace(&mut self.running, true)
    }

    /// A future waits no more.
    pub(super) fn forget(&mut self, number: u64) {
        if let Some(timing) = self.timings.remove(&number)
            && let Some(due) = timing.due
        {
            self.dates.remove(&(due, number));
        }
    }

    fn insert(&mut self, number: u64, mut timing: Timing) {
        timing.due = timing.next();
        self.dates.extend(timing.due.map(|due| (due, number)));
        self.timings.insert(number, timing);
    }
}

impl Ledger {
    /// A future begins to wait.
    pub(super) fn set_times(
        &mut self,
        core: &Core,
        number: u64,
        now: Instant,
        deadline: Option<Instant>,
        limit: Option<Duration>,
    ) {
        let watch = Watch::new(core, self, number, now);
        self.alarm.insert(number, Timing { deadline, limit, watch, due: None });
    }

    /// Whether something is due before the alarm's thread wakes by itself; it is to be woken then.
    pub(super) fn needs_earlier_alarm(&mut self, core: &Core) -> bool {
        if self.alarm.timings.is_empty() || !self.alarm.running {
            return false;
        }
        let Some(next) = self.next_date(core) else { return false };
        let earlier = self.alarm.planned.is_none_or(|planned| next < planned);
        if earlier {
            self.alarm.planned = Some(next);
        }
        earlier
    }

    /// When something is due that no thread waits for.
    fn next_date(&self, core: &Core) -> Option<Instant> {
        let due = self.alarm.dates.first().map(|(due, _)| *due);
        let kept = self.kept().map(|(_, _, since)| since + kept_for(core)).min();
        let passed = self.oldest_passed_future().map(|(_, end)| end);
        [due, kept, passed].into_iter().flatten().min()
    }

    /// The oldest request that can be passed, if it is a future's and its budget is not known to be spent.
    fn oldest_passed_future(&self) -> Option<(u64, Instant)> {
        let number = self.oldest_passed()?;
        let waiting = self.queue.get(number)?;
        match waiting.who {
            Who::Future(_) => Some((number, waiting.allowance?.end())),
            Who::Thread(_) => None,
        }
    }

    /// Does what is due.
    fn attend(&mut self, core: &Core, now: Instant) {
        while let Some(&(due, number)) = self.alarm.dates.first()
            && due <= now
        {
            self.look_after(core, number, now);
        }
        if let Some((number, end)) = self.oldest_passed_future()
            && end <= now
        {
            if let Some(waiting) = self.queue.get_mut(number) {
                waiting.allowance = None;
            }
            self.dispatch(core, None);
        }
        if self.take_back(core, |_, since| since + kept_for(core) <= now) {
            self.dispatch(core, None);
        }
    }

    /// Gives up a future whose time is over, or says when to look after it again.
    fn look_after(&mut self, core: &Core, number: u64, now: Instant) {
        self.alarm.dates.pop_first();
        let Some(mut timing) = self.alarm.timings.remove(&number) else { return };
        let late = timing.deadline.is_some_and(|deadline| deadline <= now);
        if late {
            timing.deadline = None;
        }
        let idle = timing.watch.look(core, self, number, now);
        let limit = timing.limit;
        self.alarm.insert(number, timing);
        match self.queue.get(number).map(|waiting| &waiting.stage) {
            Some(Stage::Queued | Stage::Absent) if late => {
                self.give_up(core, number, now, |waited, holders| Error::TimedOut {
                    waited,
                    holders,
                });
            }
            Some(Stage::Queued) if limit.is_some_and(|limit| limit <= idle) => {
                self.give_up(core, number, now, |_, holders| Error::WaitLimit {
                    waited: idle,
                    holders,
                });
            }
            _ => {}
        }
    }

    /// Takes back the grants that nobody came for and that `gone` names by request and date.
    ///
    /// Answers whether there were any: their CPUs are in the pool, for the next dispatch.
    pub(super) fn take_back(&mut self, core: &Core, gone: impl Fn(u64, Instant) -> bool) -> bool {
        let lost: Vec<_> = self.kept().filter(|(number, _, since)| gone(*number, *since)).collect();
        for &(number, slot, _) in &lost {
            let (cpus, _) = self.empty_keeper(slot);
            core.pool().put(cpus);
            self.queue.suspend(number);
        }
        !lost.is_empty()
    }

    /// No thread watches: every future that needs one is refused.
    fn refuse_all(&mut self, core: &Core, error: &io::Error) {
        self.alarm.running = false;
        let numbers: Vec<u64> = self.alarm.timings.keys().copied().collect();
        let now = core.clock().now();
        for number in numbers {
            let queued = self.queue.get(number).map(|waiting| &waiting.stage);
            if matches!(queued, Some(Stage::Queued)) {
                let reason = error.to_string();
                self.give_up(core, number, now, |_, _| Error::NoAlarm { reason });
            }
        }
    }
}

fn kept_for(core: &Core) -> Duration {
    core.policy().bypass.max(KEPT)
}

/// Starts the thread. Without one the futures that wait are refused.
#[cold]
pub(super) fn start(core: &Arc<Core>) {
    let own = Arc::clone(core);
    if let Err(error) = sync::spawn("tenferro-alarm", move || watch(&own)) {
        core.lock().refuse_all(core, &error);
    }
}

/// The thread: until no future has waited for a while.
fn watch(core: &Core) {
    let mut ledger = core.lock();
    let mut leave = None;
    loop {
        ledger.attend(core, core.clock().now());
        if !ledger.alarm.timings.is_empty() {
            leave = None;
        } else if *leave.get_or_insert_with(|| Instant::now() + LINGER) <= Instant::now() {
            ledger.alarm.running = false;
            return;
        }
        let next = ledger.next_date(core);
        ledger.alarm.planned = next;
        let real = next.map(|next| core.clock().real(next));
        ledger = ledger.sleep_for_alarm([real, leave].into_iter().flatten().min());
    }
}
