//! A peer in a process of its own, as a contender of any case that it has.
//!
//! The protocol is that of `tenferro-bench-worker`. A process is started for each number of
//! threads, because some libraries settle it when they start; between its turns it waits on its
//! pipe. Whether a peer has a case is the peer's answer: no suite knows which peers there are.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use tenferro_bench_worker::{Reply, Request, Task};

use super::{Contender, Error};

/// The variable that tells a peer how many threads it may use.
const THREADS: &str = "TENFERRO_BENCH_THREADS";

/// A peer that is started by a command.
#[derive(Debug)]
pub(super) struct Peer {
    command: Vec<String>,
    processes: BTreeMap<usize, Rc<RefCell<Process>>>,
}

impl Peer {
    pub(super) fn new(command: Vec<String>) -> Self {
        Self { command, processes: BTreeMap::new() }
    }

    /// The peer as a contender, if it has the case.
    pub(super) fn contender(&mut self, task: &Task) -> Result<Option<Contender<'static>>, Error> {
        let failed = |source| Error::Peer { command: self.command.join(" "), source };
        let process = match self.processes.get(&task.threads) {
            Some(process) => Rc::clone(process),
            None => {
                let process = Process::start(&self.command, task.threads).map_err(failed)?;
                let process = Rc::new(RefCell::new(process));
                self.processes.insert(task.threads, Rc::clone(&process));
                process
            }
        };
        let reply = process.borrow_mut().ask(&Request::Prepare(task.clone())).map_err(failed)?;
        let (name, version) = {
            let process = process.borrow();
            (process.name.clone(), process.version.clone())
        };
        match reply {
            Reply::Prepared(false) => Ok(None),
            Reply::Prepared(true) => {
                let prepared = Prepared(process);
                let contender = Contender::sampled(name, move |count| prepared.sample(count));
                Ok(Some(contender.of_version(version)))
            }
            other => Err(failed(unexpected(&other))),
        }
    }
}

/// A case that a process holds in its memory until this is dropped.
struct Prepared(Rc<RefCell<Process>>);

impl Prepared {
    /// # Panics
    /// If the process ends or refuses: a half-measured case is worth nothing.
    fn sample(&self, count: u64) -> Duration {
        let mut process = self.0.borrow_mut();
        match process.ask(&Request::Sample(count)) {
            Ok(Reply::Took(ns)) => Duration::from_nanos(ns),
            Ok(other) => panic!("peer {}: {}", process.name, unexpected(&other)),
            Err(error) => panic!("peer {}: {error}", process.name),
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // A process that has ended holds no memory either, and its next case tells so.
        let _ = self.0.borrow_mut().ask(&Request::Release);
    }
}

/// A running peer; it ends when its input is closed.
#[derive(Debug)]
struct Process {
    name: String,
    version: String,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    child: Child,
}

impl Process {
    fn start(command: &[String], threads: usize) -> io::Result<Self> {
        let [program, arguments @ ..] = command else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        for name in [THREADS, "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"] {
            command.env(name, threads.to_string());
        }
        // Threads that spin after their work would take the next contender's CPU.
        command.envs([("KMP_BLOCKTIME", "0"), ("OMP_WAIT_POLICY", "PASSIVE")]);
        let mut child = command.spawn()?;
        let requests = child.stdin.take();
        let replies = child.stdout.take().expect("invariant: the output is a pipe");
        let mut process = Self {
            name: String::new(),
            version: String::new(),
            requests,
            replies: BufReader::new(replies),
            child,
        };
        match process.hear()? {
            Reply::Hello { name, version } => {
                (process.name, process.version) = (name, version);
                Ok(process)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, request: &Request) -> io::Result<Reply> {
        let requests = self.requests.as_mut().expect("invariant: open until dropped");
        requests.write_all((serde_json::to_string(request)? + "\n").as_bytes())?;
        requests.flush()?;
        self.hear()
    }

    fn hear(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process has ended"));
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.requests.take());
        // Nobody is left to tell about a peer that ended badly.
        let _ = self.child.wait();
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    let why = match reply {
        Reply::Failed(why) => format!("the peer failed: {why}"),
        other => format!("an answer out of turn: {other:?}"),
    };
    io::Error::other(why)
}
