//! X3: what a recording shows, and what its trace file says.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use common::{arbiter, await_waiters, strict_arbiter, with_watchdog};
use serde_json::Value;
use tenferro_arbiter::{Arbiter, Error, Label, Request, Span, SpanKind, Trace, WaitOutcome};

fn operations(trace: &Trace) -> impl Iterator<Item = (&Span, usize)> {
    trace.spans().iter().filter_map(|span| match span.kind {
        SpanKind::Operation { width, overcommitted: false } => Some((span, width)),
        _ => None,
    })
}

/// The most CPUs that recorded operations used at once.
fn most_in_use(trace: &Trace) -> usize {
    let mut changes: Vec<(Duration, bool, usize)> = Vec::new();
    for (span, width) in operations(trace) {
        changes.extend([(span.start, true, width), (span.end, false, width)]);
    }
    // At the same moment, ends come first.
    changes.sort_unstable();
    let mut used = 0;
    let in_use = changes.into_iter().map(|(_, begins, width)| {
        used = if begins { used + width } else { used - width };
        used
    });
    in_use.max().unwrap_or(0)
}

fn events(trace: &Trace) -> Vec<Value> {
    let mut text = Vec::new();
    trace.write_chrome(&mut text).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    value["traceEvents"].as_array().unwrap().clone()
}

/// Mixed work of several threads, recorded from before its start to after its end.
fn record_mixed_work(cpus: usize) -> Trace {
    let arbiter = Arc::new(strict_arbiter(cpus));
    let recording = arbiter.record(1 << 16).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let arbiter = Arc::clone(&arbiter);
            thread::spawn(move || {
                for round in 0..50 {
                    let request = Request::new(1 + (i + round) % cpus..=cpus);
                    let permit = arbiter.acquire(&request.label(Label::new(&"mixed"))).unwrap();
                    thread::yield_now();
                    permit.lend();
                    thread::yield_now();
                    permit.resume_up_to(1 + round % cpus);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    recording.finish()
}

#[test]
fn x3_recorded_operations_never_use_more_cpus_than_there_are() {
    with_watchdog(|| {
        let trace = record_mixed_work(3);
        assert_eq!(trace.forgotten(), 0);
        assert_eq!(trace.cpus(), 3);
        let all = |span: &&Span| matches!(span.kind, SpanKind::Operation { .. });
        assert_eq!(trace.spans().iter().filter(all).count(), 4 * 50 * 2);
        assert!(trace.spans().iter().all(|span| span.start <= span.end));
        let most = most_in_use(&trace);
        assert!((1..=3).contains(&most), "{most} of 3 CPUs in use");
    });
}

#[test]
fn x3_a_recorded_wait_ends_before_its_operation_begins() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(1));
        let recording = arbiter.record(100).unwrap();
        let holder = arbiter.acquire(&Request::one_thread().label(Label::new(&"first"))).unwrap();
        let second = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || drop(arbiter.acquire(&Request::one_thread().label(Label::new(&"second"))))
        });
        await_waiters(&*arbiter, 1);
        let refused = arbiter.acquire_timeout(&Request::one_thread(), Duration::ZERO);
        assert!(matches!(refused, Err(Error::TimedOut { .. })));
        drop(holder);
        second.join().unwrap();
        let trace = recording.finish();
        let waits: Vec<_> = trace
            .spans()
            .iter()
            .filter_map(|span| match span.kind {
                SpanKind::Wait { outcome } => Some((span, outcome)),
                _ => None,
            })
            .collect();
        assert_eq!(waits.len(), 2);
        let granted = waits.iter().find(|(_, outcome)| *outcome == WaitOutcome::Granted).unwrap().0;
        assert_eq!(granted.label.as_str(), "second");
        let (operation, _) = operations(&trace).find(|(s, _)| s.owner == granted.owner).unwrap();
        assert!(granted.end <= operation.start);
        let (first, _) = operations(&trace).find(|(s, _)| s.label.as_str() == "first").unwrap();
        assert!(first.end <= operation.start && granted.start <= first.end);
        let gave_up = waits.iter().filter(|(_, outcome)| *outcome == WaitOutcome::GaveUp);
        assert_eq!(gave_up.count(), 1);
    });
}

#[test]
fn x3_a_trace_file_has_a_row_for_each_cpu_and_no_overlap_in_a_row() {
    with_watchdog(|| {
        let trace = record_mixed_work(3);
        let events = events(&trace);
        let named = |group: u64| {
            let names = events.iter().filter(|e| e["ph"] == "M" && e["name"] == "thread_name");
            names.filter(|e| e["pid"] == group).count()
        };
        assert_eq!(named(1), 3, "a row a CPU");
        let mut rows = std::collections::BTreeMap::<(u64, u64), Vec<(f64, f64)>>::new();
        for event in events.iter().filter(|event| event["ph"] != "M") {
            assert_eq!(event["ph"], "X", "a complete event: it has its end");
            let (ts, dur) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            assert!(ts >= 0.0 && dur >= 0.0);
            let row = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            rows.entry(row).or_default().push((ts, ts + dur));
        }
        for ((group, row), mut spans) in rows {
            assert!(group != 1 || row < 3, "row {row} of 3 CPUs");
            spans.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let overlap = spans.windows(2).find(|pair| pair[0].1 > pair[1].0 + 0.0005);
            assert!(overlap.is_none(), "{overlap:?} in row {row} of group {group}");
        }
        let drawn: usize = operations(&trace).map(|(_, width)| width).sum();
        let holds = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == 1);
        assert_eq!(holds.count(), drawn);
    });
}

#[test]
fn x3_an_operation_that_still_runs_ends_with_the_recording() {
    let arbiter = arbiter(2);
    let recording = arbiter.record(8).unwrap();
    let running = arbiter.acquire(&Request::up_to(2)).unwrap();
    let lent = arbiter.admit_now(&Request::one_thread()).unwrap();
    lent.lend();
    let trace = recording.finish();
    assert_eq!(
        operations(&trace).map(|(span, _)| span.owner).collect::<Vec<_>>(),
        [Some(running.owner())]
    );
    assert_eq!(trace.spans().len(), 2, "the overcommitted one has ended");
}

#[test]
fn x3_a_recording_is_bounded_and_keeps_the_latest() {
    let arbiter = arbiter(1);
    let recording = arbiter.record(10).unwrap();
    let mut last = None;
    for _ in 0..1000 {
        let permit = arbiter.acquire(&Request::one_thread()).unwrap();
        last = Some(permit.owner());
    }
    let trace = recording.finish();
    assert_eq!((trace.spans().len(), trace.forgotten()), (10, 990));
    assert_eq!(trace.spans()[9].owner, last);
}

#[test]
fn x3_an_arbiter_has_one_recording_at_a_time_and_none_after_it() {
    let arbiter = arbiter(1);
    let before = arbiter.acquire(&Request::one_thread()).unwrap();
    let recording = arbiter.record(10).unwrap();
    assert!(matches!(arbiter.record(10), Err(Error::Recording)));
    drop(before);
    assert!(recording.finish().spans().is_empty(), "what began before is not recorded");
    drop(arbiter.acquire(&Request::one_thread()).unwrap());
    let recording = arbiter.record(10).unwrap();
    assert!(recording.finish().spans().is_empty());
    drop(arbiter.record(10).unwrap());
    assert!(arbiter.record(10).is_ok(), "a dropped recording is over");
}
