//! How much is measured: rounds, and the length of a sample.

use std::time::Duration;

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Rounds; each samples ours twice, the limit and every peer.
    pub rounds: usize,
    /// The time that one sample should take; a longer operation is done once.
    pub sample: Duration,
    /// The time for which each contender runs before it is calibrated.
    pub warm_up: Duration,
}

impl Plan {
    /// For figures to be quoted: 51 rounds of 2 ms samples.
    pub fn full() -> Self {
        Self { rounds: 51, sample: Duration::from_millis(2), warm_up: Duration::from_millis(200) }
    }

    /// For a quick look: 21 rounds of 1 ms samples.
    pub fn quick() -> Self {
        Self { rounds: 21, sample: Duration::from_millis(1), warm_up: Duration::from_millis(20) }
    }
}
