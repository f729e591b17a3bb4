//! A progress bar for people who wait: on a terminal only, and only for long work.
//!
//! Standard error carries it. In a pipe, and for work that ends before anyone could read a bar, there is none.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work from which on a bar is shown: about a second on one core.
const LONG_FLOPS: f64 = 5e9;
/// Bytes of files from which on a bar is shown.
const LONG_BYTES: u64 = 256 << 20;

/// How far a command is.
pub(super) struct Progress {
    bar: ProgressBar,
    flops: f64,
}

impl Progress {
    /// Progress through this much work. Nothing is drawn unless it is long and standard error a terminal.
    pub(super) fn new(flops: f64, bytes: u64) -> Self {
        let long = flops >= LONG_FLOPS || bytes >= LONG_BYTES;
        let target = if long { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        let style = ProgressStyle::with_template("{spinner} {msg} [{bar:40}] {elapsed}");
        bar.set_style(style.expect("invariant: the template is valid").progress_chars("=> "));
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self { bar, flops: flops.max(1.0) }
    }

    /// Says what is being done.
    pub(super) fn stage(&self, stage: &'static str) {
        self.bar.set_message(stage);
    }

    /// Says that so many more of the operations are done.
    pub(super) fn advance(&self, flops: f64) {
        self.bar.inc((1000.0 * flops / self.flops) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
