//! What runs the work of a domain: our pools, or the caller's.
//!
//! An executor is asked twice: to *enter* once a scope or standalone operation, and to *fan out* an operation inside
//! of it. It takes no permits; the domain has acquired them. The executors of external domains are not trusted: the
//! domain audits what they run, see `audit.rs`.

/// Why an executor's call cannot count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorFault {
    /// The executor returned without running the job.
    #[error("it returned without running the job; an executor must run what it is given")]
    NotRun,
    /// A job was run again.
    #[error("it ran job {index} twice; an executor must run each job once")]
    RunTwice {
        /// The job.
        index: usize,
    },
    /// A job was run that does not exist.
    #[error("it ran job {index} of {jobs}; an executor must run jobs 0 to {jobs} only")]
    IndexOutOfRange {
        /// The job that was run.
        index: usize,
        /// How many jobs there are.
        jobs: usize,
    },
    /// The executor returned while jobs had not been run.
    #[error(
        "it returned with {missing} of {jobs} jobs not run; an executor must run all of them before it returns"
    )]
    ReturnedEarly {
        /// How many were not run.
        missing: usize,
        /// How many jobs there are.
        jobs: usize,
    },
    /// A managed executor left the calling thread.
    #[error(
        "it ran the job on another thread; a managed executor must enter on the calling one, declare it external"
    )]
    OtherThread,
    /// The executor's threads stayed in the parent of this process.
    #[error(
        "its threads stayed in the parent when this process was forked; build a new backend here, or keep to \
         operations on one thread"
    )]
    Forked,
    /// The executor does not take work now.
    #[error("it refused: {reason}")]
    Refused {
        /// Why, in the executor's words.
        reason: String,
    },
}

/// What is known of the CPUs that an executor's threads run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Threads float over the CPUs that the process may use.
    #[default]
    Floating,
    /// The executor says that its threads stay on its CPU set.
    Declared,
    /// The threads' affinity was set and read back.
    Verified,
}

/// What an executor can do. These are facts: what is missing is refused before any output is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorCapabilities {
    /// The most threads that take part in one fan-out, the caller included.
    pub width: usize,
    /// What is known of the CPUs of its threads.
    pub affinity: Affinity,
}

/// Runs the work of a domain.
pub trait Executor: Send + Sync {
    /// The name that diagnostics and errors show.
    fn name(&self) -> &'static str;

    /// What this executor can do.
    fn capabilities(&self) -> ExecutorCapabilities;

    /// Runs `job` once, for `width` threads, and returns when it is done.
    ///
    /// A managed executor runs it on the calling thread; an external one may run it on a thread of its own.
    ///
    /// # Errors
    /// [`ExecutorFault::Refused`] if the executor takes no work now; `job` was not run then.
    fn enter(&self, width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault>;

    /// Runs `job(i)` once for each `i < jobs`, on at most `width` threads, and returns when all are done.
    ///
    /// Called inside of [`Executor::enter`]. If jobs panic, the first payload is rethrown after all have stopped.
    fn fan_out(&self, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync));

    /// Whether the threads for a fan-out are there.
    ///
    /// # Errors
    /// Why they are not; nothing is fanned out then.
    fn ready(&self) -> Result<(), ExecutorFault> {
        Ok(())
    }

    /// Whether the calling thread is one of this executor's own workers.
    fn is_worker(&self) -> bool {
        false
    }
}
