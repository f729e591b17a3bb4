//! Which threads of the process run while a library computes: none but the caller's unless it was granted more.
//!
//! It has a process of its own, because it looks at all of the process's threads.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use common::{libraries, load, second_difference, square_of_ones};
use tenferro_provider::{Provider, Sequential, Workers, foreign::Threading};

/// Workers that claim a width and run nothing on it: threads beside the caller's are the library's own.
struct Grant(usize);

impl Workers for Grant {
    fn width(&self) -> usize {
        self.0
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}

/// How long each thread of this process has been on a CPU, in nanoseconds; `None` if the system does not say.
fn times() -> Option<BTreeMap<String, u64>> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").ok()? {
        let task = task.ok()?;
        // A thread that has ended meanwhile is no longer of interest.
        let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
        let time = text.split_whitespace().next()?.parse().ok()?;
        times.insert(task.file_name().into_string().ok()?, time);
    }
    (!times.is_empty()).then_some(times)
}

/// How many threads have run, beside the calling one and one that looks at all of them meanwhile.
fn others_that_ran(work: impl FnOnce()) -> usize {
    let done = AtomicBool::new(false);
    let ready = Barrier::new(2);
    thread::scope(|scope| {
        let caller = own_name();
        let (done, ready) = (&done, &ready);
        let watcher = scope.spawn(move || {
            let (watcher, before) = (own_name(), times().unwrap());
            ready.wait();
            let mut ran = BTreeSet::new();
            // Once more after the end; threads that a library starts for a call are seen during it.
            loop {
                let last = done.load(Ordering::Acquire);
                let now = times().unwrap();
                ran.extend(now.into_iter().filter(|(task, time)| before.get(task) != Some(time)));
                if last {
                    break;
                }
            }
            let tasks: BTreeSet<String> = ran.into_iter().map(|(task, _)| task).collect();
            tasks.into_iter().filter(|task| *task != caller && *task != watcher).count()
        });
        ready.wait();
        work();
        done.store(true, Ordering::Release);
        watcher.join().unwrap()
    })
}

/// The calling thread's name in the system's list.
fn own_name() -> String {
    let link = fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Waits until threads that look out for more work have gone to sleep.
fn settle() {
    let limit = Instant::now() + Duration::from_secs(20);
    while others_that_ran(|| thread::sleep(Duration::from_millis(50))) > 0 {
        assert!(Instant::now() < limit, "threads of a library do not go to sleep");
    }
}

fn compute(provider: &dyn Provider, workers: &dyn Workers) {
    assert!(square_of_ones(700, provider, workers).iter().all(|&sum| sum == 700.0));
    if !provider.capabilities().lapack.is_empty() {
        second_difference(150, provider, workers);
    }
}

#[test]
fn x42_a_library_computes_on_no_more_threads_than_it_was_granted() {
    if times().is_none() {
        eprintln!("SKIPPED: this system does not say how long threads have run");
        return;
    }
    // All of these before any of the others, whose threads stay.
    for found in libraries() {
        let provider = load(&found, Threading::Workers);
        settle();
        for workers in [&Grant(1), &Grant(2)] {
            let others = others_that_ran(|| compute(&*provider, workers));
            assert_eq!(others, 0, "{} on the caller's threads", found.name);
        }
    }
    let two = thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2);
    for found in libraries() {
        let provider = load(&found, Threading::Library);
        settle();
        let others = others_that_ran(|| compute(&*provider, &Sequential));
        assert_eq!(others, 0, "{} with a grant of one", found.name);
        let own = provider.threading() == Threading::Library;
        let others = others_that_ran(|| compute(&*provider, &Grant(2)));
        println!("{}: {others} threads beside the caller's, own threads: {own}", found.name);
        assert!(others <= 1, "{} ran {others} threads beside the caller's", found.name);
        assert!(!own || !two || others == 1, "{} did not use its threads", found.name);
        settle();
        let others = others_that_ran(|| compute(&*provider, &Sequential));
        assert_eq!(others, 0, "{} with a grant of one, afterwards", found.name);
    }
}
