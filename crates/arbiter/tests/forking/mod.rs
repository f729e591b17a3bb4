//! Forks in processes of their own, for the tests of each crate that must live through one.

use std::process::Command;

const WITHIN: &str = "TENFERRO_TEST_FORKS";

/// Runs `body` in a process of its own.
pub(crate) fn in_a_process(test: &str, body: impl FnOnce()) {
    if std::env::var_os(WITHIN).is_some() {
        return body();
    }
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WITHIN, "1")
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Forks; the child runs `child` for at most `seconds`, and the parent learns whether it came to its end.
pub(crate) fn fork(seconds: u32, child: impl FnOnce()) {
    // SAFETY: the child runs code that allocates, which the C libraries that we run on allow, and ends without
    // returning to the test's harness; a child that hangs is ended by its alarm.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: it sets a timer and touches no memory of ours.
        unsafe { libc::alarm(seconds) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: it ends the process at once.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result, and `pid` is our child.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!((waited, status), (pid, 0), "the child failed or hung");
}
