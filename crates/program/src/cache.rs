//! Prepared programs, kept for the next time.
//!
//! One mutex guards the table. It is held to look up, to enter, and to take out what was used longest ago; never while a
//! program is prepared, and not while one is dropped. Who does not find a program enters a *flight* for it and prepares it;
//! others who want the same one meanwhile wait for the flight to land. Where it ends without a program, by an error or a panic,
//! each of them tries for itself.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use tenferro_ops::{Engine, Meta};

use crate::{Argument, Outputs, Passes, Prepared, Program, Result, Template};

/// A bounded table of prepared programs, shared by threads: each program is prepared once for each shape.
///
/// The key of a program is its content; that of a template its content and the sizes of its named axes. The table
/// forgets what was used longest ago.
///
/// ```
/// use tenferro_program::{Cache, Spec, trace};
/// use tenferro_tensor::DType;
///
/// let program = trace(&[Spec::new(DType::F64, [3])?], |xs| xs[0].exp())?;
/// let cache = Cache::new(16);
/// let first = cache.prepare(&program)?;
/// let again = cache.prepare(&program)?;
/// assert!(std::sync::Arc::ptr_eq(&first, &again));
/// assert_eq!((cache.counters().preparations, cache.counters().hits), (1, 1));
/// # Ok::<(), tenferro_program::Error>(())
/// ```
#[derive(Debug)]
pub struct Cache {
    capacity: NonZeroUsize,
    passes: Passes,
    table: Mutex<Table>,
}

/// What a [`Cache`] has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCounters {
    /// Programs that were there.
    pub hits: u64,
    /// Preparations that began, as nobody had the program.
    pub preparations: u64,
    /// Waits for a preparation that somebody else had begun.
    pub waits: u64,
    /// Preparations that ended without a program.
    pub failures: u64,
    /// Programs that were forgotten for others.
    pub evictions: u64,
}

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<Key, Entry>,
    /// Counts uses; the age of an entry is told by it.
    clock: u64,
    counters: CacheCounters,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Program(Program),
    Template(Template, Vec<usize>),
}

#[derive(Debug)]
enum Entry {
    Ready { prepared: Arc<Prepared>, used: u64 },
    Flying(Arc<Flight>),
}

/// A preparation that has begun.
#[derive(Debug)]
struct Flight {
    /// Who prepares.
    pilot: ThreadId,
    state: Mutex<Landing>,
    landed: Condvar,
}

#[derive(Clone, Debug)]
enum Landing {
    Awaited,
    Ready(Arc<Prepared>),
    Failed,
}

/// What a look into the table gave.
enum Found {
    Ready(Arc<Prepared>),
    /// Somebody prepares it.
    Awaited(Arc<Flight>),
    /// This thread has to.
    Missing(Arc<Flight>),
    /// This thread does so already: a custom operation asks for the program that it is a step of.
    Own,
}

impl Cache {
    /// Room for so many programs, prepared with all passes.
    ///
    /// # Panics
    /// If the capacity is 0.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self::with_passes(capacity, Passes::all())
    }

    /// Room for so many programs, prepared with these passes.
    ///
    /// # Panics
    /// If the capacity is 0.
    #[must_use]
    pub fn with_passes(capacity: usize, passes: Passes) -> Self {
        let capacity = NonZeroUsize::new(capacity).expect("a cache has room for a program");
        Self { capacity, passes, table: Mutex::default() }
    }

    /// The program, prepared now or before.
    ///
    /// # Errors
    /// As [`Program::prepare`].
    pub fn prepare(&self, program: &Program) -> Result<Arc<Prepared>> {
        self.get(&Key::Program(program.clone()), || program.prepare(&self.passes))
    }

    /// The program that a template is for inputs of these dtypes and shapes, prepared now or before.
    ///
    /// # Errors
    /// As [`Template::sizes`], [`Template::at`] and [`Program::prepare`].
    pub fn prepare_for(&self, template: &Template, inputs: &[Meta]) -> Result<Arc<Prepared>> {
        let sizes = template.sizes(inputs)?;
        let key = Key::Template(template.clone(), sizes.clone());
        self.get(&key, || template.at(&sizes)?.prepare(&self.passes))
    }

    /// Runs a template on these inputs, as [`Prepared::run`] does its program.
    ///
    /// # Errors
    /// As [`Cache::prepare_for`] and [`Prepared::run`].
    pub fn run(
        &self,
        engine: &mut dyn Engine,
        template: &Template,
        arguments: Vec<Argument<'_>>,
    ) -> Result<Outputs> {
        let inputs: Vec<Meta> =
            arguments.iter().map(|argument| Meta::of(&argument.operand())).collect();
        self.prepare_for(template, &inputs)?.run(engine, arguments)
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> CacheCounters {
        self.table().counters
    }

    /// How many programs are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table().ready()
    }

    /// Whether no program is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, key: &Key, prepare: impl Fn() -> Result<Prepared>) -> Result<Arc<Prepared>> {
        loop {
            let found = self.table().find(key);
            match found {
                Found::Ready(prepared) => return Ok(prepared),
                Found::Own => return prepare().map(Arc::new),
                Found::Awaited(flight) => match flight.wait() {
                    Landing::Ready(prepared) => return Ok(prepared),
                    Landing::Awaited | Landing::Failed => {}
                },
                Found::Missing(flight) => {
                    // Lands the flight also if `prepare` panics.
                    let mut arrival = Arrival { cache: self, key, flight, prepared: None };
                    let prepared = Arc::new(prepare()?);
                    arrival.prepared = Some(Arc::clone(&prepared));
                    return Ok(prepared);
                }
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing that can panic runs while the table is being changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn find(&mut self, key: &Key) -> Found {
        self.clock += 1;
        match self.entries.get_mut(key) {
            Some(Entry::Ready { prepared, used }) => {
                self.counters.hits += 1;
                *used = self.clock;
                Found::Ready(Arc::clone(prepared))
            }
            Some(Entry::Flying(flight)) if flight.pilot == thread::current().id() => Found::Own,
            Some(Entry::Flying(flight)) => {
                self.counters.waits += 1;
                Found::Awaited(Arc::clone(flight))
            }
            None => {
                self.counters.preparations += 1;
                let flight = Arc::new(Flight {
                    pilot: thread::current().id(),
                    state: Mutex::new(Landing::Awaited),
                    landed: Condvar::new(),
                });
                self.entries.insert(key.clone(), Entry::Flying(Arc::clone(&flight)));
                Found::Missing(flight)
            }
        }
    }

    fn ready(&self) -> usize {
        self.entries.values().filter(|entry| matches!(entry, Entry::Ready { .. })).count()
    }

    /// Takes out the program that was used longest ago.
    fn evict(&mut self) -> Option<(Key, Entry)> {
        let age = |(key, entry)| match entry {
            &Entry::Ready { used, .. } => Some((used, key)),
            Entry::Flying(_) => None,
        };
        let (_, oldest) = self.entries.iter().filter_map(age).min_by_key(|(used, _)| *used)?;
        let oldest: Key = Key::clone(oldest);
        self.counters.evictions += 1;
        self.entries.remove_entry(&oldest)
    }
}

impl Flight {
    fn wait(&self) -> Landing {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let awaited = |state: &mut Landing| matches!(state, Landing::Awaited);
        let state = self.landed.wait_while(state, awaited).unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }
}

/// The end of a preparation, with a program or without.
struct Arrival<'c> {
    cache: &'c Cache,
    key: &'c Key,
    flight: Arc<Flight>,
    prepared: Option<Arc<Prepared>>,
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let mut forgotten = Vec::new();
        let landing = {
            let mut table = self.cache.table();
            match self.prepared.take() {
                Some(prepared) => {
                    while table.ready() >= self.cache.capacity.get() {
                        forgotten.extend(table.evict());
                    }
                    let used = table.clock;
                    let ready = Entry::Ready { prepared: Arc::clone(&prepared), used };
                    table.entries.insert(self.key.clone(), ready);
                    Landing::Ready(prepared)
                }
                None => {
                    table.counters.failures += 1;
                    table.entries.remove(self.key);
                    Landing::Failed
                }
            }
        };
        *self.flight.state.lock().unwrap_or_else(PoisonError::into_inner) = landing;
        self.flight.landed.notify_all();
        // Constants may be large; they are dropped without the table.
        drop(forgotten);
    }
}
