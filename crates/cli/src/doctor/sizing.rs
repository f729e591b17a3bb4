//! Why the number of threads is what it is, in words.

use tenferro::arbiter::Sizing;

/// The chosen number, and which of the bounds decided.
pub(super) fn decision(sizing: &Sizing) -> String {
    let budget = sizing.budget();
    let allowed = sizing.cpus().len();
    let quota = sizing.quota().map(|quota| quota.cpus.ceil() as usize);
    let mut bounds = vec![(allowed, format!("{allowed} allowed {}", plural(allowed, "CPU")))];
    if let (Some(rounded), Some(quota)) = (quota, sizing.quota()) {
        bounds.push((rounded, format!("{rounded} by the quota of {:.2}, rounded up", quota.cpus)));
    }
    if let Some(cap) = sizing.cap() {
        bounds.push((cap, format!("{cap} by the cap")));
    }
    let least: Vec<&str> = bounds
        .iter()
        .filter(|(bound, _)| *bound <= budget)
        .map(|(_, text)| text.as_str())
        .collect();
    let others: Vec<&str> =
        bounds.iter().filter(|(bound, _)| *bound > budget).map(|(_, text)| text.as_str()).collect();
    let mut text = format!("{budget}: {}", least.join(" and "));
    if !others.is_empty() {
        text.push_str(&format!(", less than {}", others.join(" and ")));
    }
    text
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tenferro::arbiter::{AllowedCpus, CpuSet};

    use super::*;

    /// A machine without a cgroup.
    fn sizing(cpus: usize, cap: Option<usize>) -> Sizing {
        let nowhere = Path::new("/nonexistent");
        Sizing::new(AllowedCpus::read_from(nowhere, CpuSet::first(cpus)), cap)
    }

    #[test]
    fn the_least_bound_decides_and_is_named() {
        assert_eq!(decision(&sizing(8, None)), "8: 8 allowed CPUs");
        assert_eq!(decision(&sizing(1, None)), "1: 1 allowed CPU");
        assert_eq!(decision(&sizing(8, Some(3))), "3: 3 by the cap, less than 8 allowed CPUs");
        assert_eq!(decision(&sizing(8, Some(8))), "8: 8 allowed CPUs and 8 by the cap");
    }
}
