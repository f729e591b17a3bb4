//! An end for tests that would hang, for those of each crate.

use std::{panic::resume_unwind, sync::mpsc, thread, time::Duration};

/// How long a test may take on a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `body` on a thread of its own and panics if it hangs.
pub(crate) fn with_watchdog<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        let _ = done.send(body());
    });
    match finished.recv_timeout(PATIENCE) {
        Ok(result) => result,
        // The sender is dropped without a message: the body panicked.
        Err(mpsc::RecvTimeoutError::Disconnected) => resume_unwind(worker.join().unwrap_err()),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test hangs"),
    }
}
