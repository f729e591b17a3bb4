//! The same work on plain threads that meet only at the beginning and the end.
//!
//! No pool and no queue: the figure is what several threads could do if nothing had to hand work
//! from one to the other. Starting the threads is not counted.

use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Repeats `work` on each part, a thread a part; the time from the first to the last.
///
/// The calling thread takes the last part; without parts nothing is done.
pub fn on_threads<P: Send>(
    mut parts: Vec<P>,
    repetitions: u64,
    work: impl Fn(&mut P) + Sync,
) -> Duration {
    let Some(mut own) = parts.pop() else { return Duration::ZERO };
    let gate = Barrier::new(parts.len() + 1);
    let repeat = |part: &mut P| (0..repetitions).for_each(|_| work(part));
    std::thread::scope(|scope| {
        for mut part in parts {
            let (gate, repeat) = (&gate, &repeat);
            scope.spawn(move || {
                gate.wait();
                repeat(&mut part);
            });
        }
        gate.wait();
        let start = Instant::now();
        repeat(&mut own);
        start
    })
    .elapsed()
}
