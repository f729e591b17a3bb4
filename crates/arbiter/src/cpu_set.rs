//! A set of logical CPUs, by the kernel's numbers.
//!
//! It is a plain value: it does not know which CPUs exist or may be used.
//!
//! Invariant: ranges are inclusive, sorted, and neither overlap nor touch, so equal sets are equal
//! values and a set costs memory by its gaps, not by its highest number.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A set of logical CPU numbers of any size.
///
/// It reads and writes the kernel's list format.
///
/// ```
/// use tenferro_arbiter::CpuSet;
///
/// let set: CpuSet = "0-3,8".parse()?;
/// assert_eq!(set.len(), 5);
/// assert_eq!(set.difference(&CpuSet::from_iter([1, 2])).to_string(), "0,3,8");
/// # Ok::<(), tenferro_arbiter::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    ranges: Vec<(usize, usize)>,
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// The CPUs `0..count`.
    #[must_use]
    pub fn first(count: usize) -> Self {
        Self { ranges: if count == 0 { Vec::new() } else { vec![(0, count - 1)] } }
    }

    /// How many CPUs the set holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges
            .iter()
            .fold(0_usize, |sum, (low, high)| sum.saturating_add((high - low).saturating_add(1)))
    }

    /// Whether the set holds no CPU.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `cpu` is in the set.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        let after = self.ranges.partition_point(|&(low, _)| low <= cpu);
        after > 0 && cpu <= self.ranges[after - 1].1
    }

    /// Adds `cpu`.
    pub fn insert(&mut self, cpu: usize) {
        if !self.contains(cpu) {
            self.ranges.push((cpu, cpu));
            self.normalise();
        }
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranges.iter().flat_map(|&(low, high)| low..=high)
    }

    /// The CPUs in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = Self { ranges: [self.ranges.as_slice(), &other.ranges].concat() };
        union.normalise();
        union
    }

    /// The CPUs in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        let mut ranges = Vec::new();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            if low <= high {
                ranges.push((low, high));
            }
            if a.1 <= b.1 {
                left.next();
            } else {
                right.next();
            }
        }
        Self { ranges }
    }

    /// The CPUs in this set and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        for &(low, high) in &self.ranges {
            let mut next = Some(low);
            for &(cut_low, cut_high) in &other.ranges {
                let Some(start) = next else { break };
                if cut_high < start || cut_low > high {
                    continue;
                }
                if cut_low > start {
                    ranges.push((start, cut_low - 1));
                }
                next = cut_high.checked_add(1).filter(|&after| after <= high);
            }
            if let Some(start) = next {
                ranges.push((start, high));
            }
        }
        Self { ranges }
    }

    /// Whether every CPU of this set is in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Whether no CPU is in both sets.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).is_empty()
    }

    fn normalise(&mut self) {
        self.ranges.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(self.ranges.len());
        for &(low, high) in &self.ranges {
            match merged.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        self.ranges = merged;
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self { ranges: cpus.into_iter().map(|cpu| (cpu, cpu)).collect() };
        set.normalise();
        set
    }
}

impl FromStr for CpuSet {
    type Err = Error;

    /// Reads the kernel's list format: `0-3,8`, empty for no CPU.
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |part: &str| Error::InvalidCpuList { text: text.into(), part: part.into() };
        let mut set = Self::new();
        if text.trim().is_empty() {
            return Ok(set);
        }
        for part in text.split(',').map(str::trim) {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| digits.parse::<usize>().map_err(|_| refuse(part));
            let (low, high) = (number(low)?, number(high)?);
            if low > high || high == usize::MAX {
                return Err(refuse(part));
            }
            set.ranges.push((low, high));
        }
        set.normalise();
        Ok(set)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &(low, high)) in self.ranges.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            if low == high {
                write!(f, "{comma}{low}")?;
            } else {
                write!(f, "{comma}{low}-{high}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}
