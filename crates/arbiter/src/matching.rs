//! Whether widths restricted to CPU sets fit beside each other: a bipartite matching.
//!
//! It is pure arithmetic over sets: it knows no seat and no waiter.

use std::collections::HashMap;

use crate::cpu_set::CpuSet;

/// CPUs given out one by one, each to a demand that may use it.
pub(super) struct Matching<'a> {
    cpus: &'a CpuSet,
    demands: Vec<CpuSet>,
    /// Which demand has a CPU.
    taken: HashMap<usize, usize>,
}

impl<'a> Matching<'a> {
    /// No demand yet on `cpus`.
    pub(super) fn new(cpus: &'a CpuSet) -> Self {
        Self { cpus, demands: Vec::new(), taken: HashMap::new() }
    }

    /// Gives up to `width` CPUs of `set` to a new demand; answers how many there are.
    ///
    /// Earlier demands keep their number of CPUs, not the CPUs themselves.
    pub(super) fn place(&mut self, set: &CpuSet, width: u32) -> u32 {
        let demand = self.demands.len();
        self.demands.push(set.intersection(self.cpus));
        (0..width).take_while(|_| self.augment(demand, &mut CpuSet::new())).count() as u32
    }

    /// Finds a CPU for one more thread of `demand`, moving others where that helps (Kuhn's step).
    fn augment(&mut self, demand: usize, visited: &mut CpuSet) -> bool {
        let candidates = self.demands[demand].difference(visited);
        for cpu in candidates.iter() {
            if visited.contains(cpu) {
                continue;
            }
            visited.insert(cpu);
            let holder = self.taken.get(&cpu).copied();
            if holder.is_none_or(|other| other != demand && self.augment(other, visited)) {
                self.taken.insert(cpu, demand);
                return true;
            }
        }
        false
    }
}
