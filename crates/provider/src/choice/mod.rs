//! Which provider is the fastest here, found out by the calls themselves and remembered.
//!
//! Products fall into classes of dtype, width, shape and size. The first calls of a class are given to its providers in turn
//! and timed, so that nothing is computed for its own sake and no first call waits; then the class is settled and a call
//! costs one more load. The invariants: no lock is held while a provider runs, and a settled class stays as it is until
//! it is reset. [`Choice::calibrate`] settles the usual classes at once.

mod calibrate;
mod class;
mod explain;
mod store;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::atomic::{AtomicU8, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tenferro_tensor::DType;

pub use calibrate::BUDGET;
pub use class::{Class, Form, Span};
pub use explain::Explanation;
pub use store::Store;

use crate::{Chain, Error, Outcome, Product, Provider, Reason, Workers};

/// Timed calls a provider gets in a class.
const ROUNDS: u32 = 5;

/// The fewest timed calls, where calls are long.
const LEAST: u32 = 2;

/// Time spent in a class after which [`LEAST`] calls of each provider do.
const PATIENCE: Duration = Duration::from_millis(200);

/// No class, or one that is not settled.
const OPEN: u8 = u8::MAX;

/// What the calls of a class said of one provider.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Record {
    /// How many calls were timed.
    pub calls: u32,
    /// The fastest one, in nanoseconds for a thousand multiply-add steps.
    pub rate: f64,
    /// Whether it refused, and is not asked again.
    pub refused: bool,
}

impl Record {
    /// The fastest call in thousand million floating-point operations a second, of which a complex step has eight.
    #[must_use]
    pub fn gflops(&self, dtype: DType) -> f64 {
        let thousand_steps = if dtype.is_complex() { 8e3 } else { 2e3 };
        thousand_steps / self.rate
    }

    fn take(&mut self, rate: f64) {
        self.rate = if self.calls == 0 { rate } else { self.rate.min(rate) };
        self.calls += 1;
    }
}

/// What is known of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The class.
    pub class: Class,
    /// The provider that its products go to; `None` while calls are still being compared.
    pub chosen: Option<String>,
    /// The providers in the chain's order, and what was measured.
    pub records: Vec<(String, Record)>,
}

#[derive(Default)]
struct Trial {
    records: Vec<Record>,
    spent: Duration,
}

impl Trial {
    /// The provider to time next: the one with the fewest calls, the most preferred first.
    fn next(&self) -> Option<usize> {
        let open = self.records.iter().enumerate().filter(|(_, record)| !record.refused);
        open.min_by_key(|(_, record)| record.calls).map(|(place, _)| place)
    }

    /// The fastest provider, once enough is known: one call will do of a provider that is the only one left.
    fn verdict(&self) -> Option<usize> {
        let open = || self.records.iter().filter(|record| !record.refused);
        let enough = match open().count() {
            1 => 1,
            _ if self.spent < PATIENCE => ROUNDS,
            _ => LEAST,
        };
        open().all(|record| record.calls >= enough).then(|| self.fastest())?
    }

    fn fastest(&self) -> Option<usize> {
        let open = self.records.iter().enumerate().filter(|(_, r)| !r.refused && r.calls > 0);
        open.min_by(|(_, a), (_, b)| a.rate.total_cmp(&b.rate)).map(|(place, _)| place)
    }
}

/// A provider that is compared with others.
#[derive(Clone, Debug)]
struct Candidate {
    /// Its place in the chain.
    place: u8,
    name: String,
    version: String,
}

/// The choice among the providers of one chain, but for those that are only there to be right.
pub struct Choice {
    /// In the chain's order.
    candidates: Vec<Candidate>,
    /// The place in the chain that each class is settled on, or [`OPEN`].
    settled: Vec<AtomicU8>,
    trials: Mutex<BTreeMap<Class, Trial>>,
    store: Option<Store>,
}

impl Choice {
    /// The choice among these providers; what `store` remembers of them is settled already.
    #[must_use]
    pub fn new<'p>(
        providers: impl IntoIterator<Item = &'p dyn Provider>,
        store: Option<Store>,
    ) -> Self {
        let candidates: Vec<_> = (0..OPEN)
            .zip(providers)
            .filter(|(_, provider)| !provider.capabilities().reference)
            .map(|(place, provider)| {
                let (name, version) = (provider.name().to_owned(), provider.version().to_owned());
                Candidate { place, name, version }
            })
            .collect();
        let settled = (0..Class::COUNT).map(|_| AtomicU8::new(OPEN)).collect();
        // One candidate is nothing to remember.
        let store = store.filter(|_| candidates.len() > 1);
        let choice = Self { candidates, settled, trials: Mutex::default(), store };
        if let Some(store) = &choice.store {
            for entry in store.load(&choice.candidates) {
                choice.remember(entry);
            }
        }
        choice
    }

    /// Every class that was met, in order.
    #[must_use]
    pub fn table(&self) -> Vec<Entry> {
        self.trials.lock().iter().map(|(&class, trial)| self.entry(class, trial)).collect()
    }

    /// Forgets everything that was measured, on disk too.
    ///
    /// # Errors
    /// If the file cannot be removed; what is in memory is forgotten all the same.
    pub fn reset(&self) -> std::io::Result<()> {
        self.trials.lock().clear();
        self.settled.iter().for_each(|place| place.store(OPEN, Ordering::Relaxed));
        self.store.as_ref().map_or(Ok(()), |store| store.remove(&self.candidates))
    }

    /// The file that keeps the table between processes, if one does.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        self.store.as_ref().map(|store| store.file(&self.candidates))
    }

    /// Hands a product to the provider that its class is settled on, or times whose turn it is.
    #[inline]
    pub(super) fn product<'c>(
        &self,
        chain: &'c Chain,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<&'c dyn Provider, Error> {
        let class = Class::of(request, workers.width());
        let place = self.settled[class.index()].load(Ordering::Relaxed);
        if place == OPEN {
            return self.compare(class, chain, request, workers);
        }
        chain.product_from(usize::from(place), request, workers)
    }

    #[cold]
    fn compare<'c>(
        &self,
        class: Class,
        chain: &'c Chain,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<&'c dyn Provider, Error> {
        let work = request.work();
        let turn = if request.is_empty() || work == 0 { None } else { self.turn(class) };
        let Some(turn) = turn else { return chain.product_from(0, request, workers) };
        let place = usize::from(self.candidates[turn].place);
        let start = Instant::now();
        let answer = chain.product_at(place, request, workers)?;
        let took = start.elapsed();
        match answer {
            (provider, Outcome::Executed) => {
                self.note(class, turn, took, work);
                Ok(provider)
            }
            // Somebody else has it now: that says nothing about its speed.
            (_, Outcome::Unsupported(Reason::Held)) => chain.product_from(0, request, workers),
            (_, Outcome::Unsupported(_)) => {
                self.refuse(class, turn);
                self.compare(class, chain, request, workers)
            }
        }
    }

    fn turn(&self, class: Class) -> Option<usize> {
        let mut trials = self.trials.lock();
        let trial = trials.entry(class).or_default();
        trial.records.resize(self.candidates.len(), Record::default());
        trial.next()
    }

    fn note(&self, class: Class, candidate: usize, took: Duration, work: usize) {
        let rate = took.as_nanos() as f64 * 1e3 / work as f64;
        self.update(class, |trial| {
            trial.records[candidate].take(rate);
            trial.spent += took;
        });
    }

    fn refuse(&self, class: Class, candidate: usize) {
        self.update(class, |trial| trial.records[candidate].refused = true);
    }

    /// Changes what is known of a class, and settles it if that is enough.
    fn update(&self, class: Class, change: impl FnOnce(&mut Trial)) {
        let mut trials = self.trials.lock();
        // Gone if somebody has reset everything meanwhile.
        let Some(trial) = trials.get_mut(&class) else { return };
        change(trial);
        let Some(fastest) = trial.verdict() else { return };
        self.settle(class, fastest);
        drop(trials);
        if let Some(store) = &self.store {
            store.save(&self.candidates, &self.table());
        }
    }

    fn settle(&self, class: Class, candidate: usize) {
        let place = self.candidates[candidate].place;
        self.settled[class.index()].store(place, Ordering::Relaxed);
    }

    /// Takes over an entry that an earlier process has made of the same providers.
    fn remember(&self, entry: Entry) {
        let candidate = |name: &str| self.candidates.iter().position(|known| known.name == name);
        let Some(chosen) = entry.chosen.as_deref().and_then(candidate) else { return };
        let unknown = Record { refused: true, ..Record::default() };
        let mut records = vec![unknown; self.candidates.len()];
        for (name, record) in entry.records {
            if let Some(candidate) = candidate(&name) {
                records[candidate] = record;
            }
        }
        self.trials.lock().insert(entry.class, Trial { records, spent: Duration::ZERO });
        self.settle(entry.class, chosen);
    }

    fn entry(&self, class: Class, trial: &Trial) -> Entry {
        let place = self.settled[class.index()].load(Ordering::Relaxed);
        let chosen = self.candidates.iter().find(|candidate| candidate.place == place);
        let names = self.candidates.iter().map(|candidate| candidate.name.clone());
        Entry {
            class,
            chosen: chosen.map(|candidate| candidate.name.clone()),
            records: names.zip(trial.records.iter().copied()).collect(),
        }
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice")
            .field("candidates", &self.candidates)
            .field("table", &self.table())
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
