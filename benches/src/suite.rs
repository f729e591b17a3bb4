//! A running suite: measures the cases that are asked for, shows them, and keeps the rows.

use std::path::PathBuf;
use std::process::ExitCode;

use tenferro_bench_worker::{Movement, Task};

use super::peer::Peer;
use super::rows::{merge, read_rows, write_rows};
use super::{Case, Error, Family, Measurement, Mode, Options, Pattern, Plan, Row, measure};

/// A running suite.
///
/// ```
/// use tenferro_benches::{Case, Contender, Options, Suite};
///
/// let options = Options::parse(["--quick".to_owned()])?;
/// let mut suite = Suite::new("doc", options);
/// suite.case("doc/xor/u64/1", 1, |name, threads| Case {
///     name,
///     threads,
///     ours: Contender::repeated("ours", || 1_u64 ^ 2),
///     limit: Contender::repeated("limit", || 3_u64),
///     peers: vec![Contender::repeated("peer", || 1_u64 + 2)],
/// });
/// assert_eq!(suite.finish()?.len(), 1);
/// # Ok::<(), tenferro_benches::Error>(())
/// ```
#[derive(Debug)]
pub struct Suite {
    name: &'static str,
    options: Options,
    rows: Vec<Row>,
    patterns_taken: bool,
    libraries_taken: bool,
    /// Whether a case was asked for.
    ran: bool,
    peers: Vec<Peer>,
    failure: Option<Error>,
}

impl Suite {
    /// A suite without rows yet.
    pub fn new(name: &'static str, options: Options) -> Self {
        let peers = options.peers.iter().cloned().map(Peer::new).collect();
        Self {
            name,
            options,
            rows: Vec::new(),
            patterns_taken: false,
            libraries_taken: false,
            ran: false,
            peers,
            failure: None,
        }
    }

    /// The body of a suite's `main`: reads the command line, runs the cases, writes the rows.
    ///
    /// A refusal goes to the standard error output, with exit code 2.
    pub fn main(name: &'static str, cases: impl FnOnce(&mut Self)) -> ExitCode {
        let run = || {
            let mut suite = Self::new(name, Options::parse(std::env::args().skip(1))?);
            cases(&mut suite);
            suite.finish()
        };
        match run() {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{name}: {error}");
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    eprintln!("  because: {cause}");
                    source = cause.source();
                }
                ExitCode::from(2)
            }
        }
    }

    /// The patterns of the command line, for a suite that runs patterns.
    pub fn patterns(&mut self) -> Option<&[Pattern]> {
        self.patterns_taken = true;
        self.options.patterns.as_deref()
    }

    /// The C libraries of the command line, for a suite that calls them.
    pub fn libraries(&mut self) -> Vec<PathBuf> {
        self.libraries_taken = true;
        self.options.libraries.clone()
    }

    /// Measures the members of a family that are asked for, against the best of its limits, in one run.
    ///
    /// `names` are those of the members' cases; `family` is handed the numbers of the wanted ones.
    pub fn family<'a>(
        &mut self,
        names: &[String],
        threads: usize,
        family: impl FnOnce(&[usize]) -> Family<'a>,
    ) {
        let wanted: Vec<usize> =
            (0..names.len()).filter(|&at| self.options.wants(&names[at], threads)).collect();
        if self.failure.is_some() || wanted.is_empty() {
            return;
        }
        self.ran = true;
        if self.options.mode == Mode::List {
            return wanted.iter().for_each(|&at| println!("{}", names[at]));
        }
        let mut family = family(&wanted);
        if let Mode::Repeat(count) = self.options.mode {
            return family.members.iter_mut().for_each(|(_, member)| _ = member.sample(count));
        }
        for measurement in family.measure(threads, &self.options.plan) {
            self.keep(&measurement);
        }
    }

    /// What the command line says of rounds and samples, for a suite with needs of its own.
    pub fn plan_mut(&mut self) -> &mut Plan {
        &mut self.options.plan
    }

    /// Measures a case if it is asked for; `case` makes the inputs and the contenders.
    ///
    /// Peers in processes of their own are asked whether they have it too.
    pub fn case<'a>(
        &mut self,
        name: &str,
        threads: usize,
        case: impl FnOnce(String, usize) -> Case<'a>,
    ) {
        self.run(name, threads, None, case);
    }

    /// As [`Self::case`], for a case whose name does not say what is moved.
    pub fn moving<'a>(
        &mut self,
        name: &str,
        threads: usize,
        movement: Movement,
        case: impl FnOnce(String, usize) -> Case<'a>,
    ) {
        self.run(name, threads, Some(movement), case);
    }

    /// Makes and prints a figure that is no comparison, if it is asked for. It is not recorded.
    pub fn figure(&mut self, name: &str, threads: usize, make: impl FnOnce() -> String) {
        if self.failure.is_some() || !self.options.wants(name, threads) {
            return;
        }
        self.ran = true;
        match self.options.mode {
            Mode::Measure => println!("{name:<34} {}", make()),
            Mode::List => println!("{name}"),
            Mode::Repeat(_) => {}
        }
    }

    fn run<'a>(
        &mut self,
        name: &str,
        threads: usize,
        movement: Option<Movement>,
        case: impl FnOnce(String, usize) -> Case<'a>,
    ) {
        if self.failure.is_some() || !self.options.wants(name, threads) {
            return;
        }
        self.ran = true;
        match self.options.mode {
            Mode::Measure => {}
            Mode::List => return println!("{name}"),
            Mode::Repeat(count) => {
                case(name.to_owned(), threads).ours.sample(count);
                return;
            }
        }
        let mut case = case(name.to_owned(), threads);
        let task = Task { suite: self.name.to_owned(), case: name.to_owned(), threads, movement };
        for peer in &mut self.peers {
            match peer.contender(&task) {
                Ok(contender) => case.peers.extend(contender),
                Err(error) => {
                    self.failure = Some(error);
                    return;
                }
            }
        }
        self.keep(&measure(case, &self.options.plan));
    }

    /// Shows the rows of a measurement and keeps them; they are recorded at once, so that a run that
    /// is cut short has not been in vain.
    fn keep(&mut self, measurement: &Measurement) {
        if self.rows.is_empty() {
            println!("{}", heading());
        }
        let rows = measurement.rows(self.name);
        for row in &rows {
            println!("{}", line(row, measurement));
        }
        if let Some(path) = &self.options.record {
            let old = if path.exists() { read_rows(path) } else { Ok(Vec::new()) };
            let recorded = old.and_then(|old| write_rows(path, &merge(&old, &rows)));
            if let Err(source) = recorded {
                self.failure = Some(Error::Json { path: path.clone(), source });
            }
        }
        self.rows.extend(rows);
    }

    /// Writes the rows to the file of `--json`, and returns them.
    ///
    /// # Errors
    /// [`Error::NoCase`] if no case ran, [`Error::Json`] if the file cannot be written,
    /// [`Error::Usage`] for patterns that the suite did not ask for, [`Error::Peer`] for a peer that
    /// did not start or answer.
    pub fn finish(self) -> Result<Vec<Row>, Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if self.options.patterns.is_some() && !self.patterns_taken {
            let word = "--patterns".to_owned();
            return Err(Error::Usage { word, problem: "is for the suite `permute`" });
        }
        if !self.options.libraries.is_empty() && !self.libraries_taken {
            let word = "--library".to_owned();
            return Err(Error::Usage {
                word,
                problem: "is for the suites `matmul` and `contention`",
            });
        }
        if !self.ran {
            return Err(Error::NoCase { suite: self.name, filters: self.options.filters });
        }
        if let Some(path) = self.options.json {
            write_rows(&path, &self.rows).map_err(|source| Error::Json { path, source })?;
        }
        Ok(self.rows)
    }
}

fn heading() -> String {
    format!(
        "{:<34}{:>3}{:>13}{:>13}{:>8}  {:<16}{:>13}{:>8}{:>7}{:>7}",
        "case", "T", "ours ns", "limit ns", "x limit", "peer", "peer ns", "x peer", "A/A", "+-"
    )
}

fn line(row: &Row, measurement: &Measurement) -> String {
    format!(
        "{:<34}{:>3}{:>13.1}{:>13.1}{:>8.2}  {:<16}{:>13.1}{:>8.2}{:>7.2}{:>7.3}{}",
        row.case,
        row.threads,
        row.ours_ns,
        row.limit_ns,
        row.limit_ratio,
        row.peer,
        row.peer_ns,
        row.ratio,
        row.aa,
        measurement.noise(),
        if row.counts() { "" } else { "  too noisy to count" }
    )
}
