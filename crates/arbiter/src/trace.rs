//! A finished recording, and how it is written for a trace viewer.
//!
//! Plain data. CPUs are counted, not named, so that a row is a slot: an operation of width 3 takes the three lowest slots
//! that are free when it starts. The format is that of Chrome's trace events, which Perfetto opens too.

use std::io::{self, Write};
use std::time::Duration;

use crate::owner::ExecutionOwner;
use crate::request::Label;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitOutcome {
    /// By a grant.
    Granted,
    /// By its deadline, its wait limit, or because it was cancelled.
    GaveUp,
}

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanKind {
    /// An operation ran.
    Operation {
        /// On so many CPUs.
        width: usize,
        /// Whether it had no CPU of its own.
        overcommitted: bool,
    },
    /// A request waited.
    Wait {
        /// How that ended.
        outcome: WaitOutcome,
    },
}

/// One operation or wait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Span {
    /// What took time.
    pub kind: SpanKind,
    /// The request's name.
    pub label: Label,
    /// The permit; `None` for a wait whose permit is not known yet.
    pub owner: Option<ExecutionOwner>,
    /// Name or number of the thread; empty for a wait that no thread slept for.
    pub thread: String,
    /// When it began, from the start of the recording.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Trace {
    cpus: usize,
    spans: Vec<Span>,
    forgotten: u64,
}

/// Groups of rows.
const CPUS: u32 = 1;
const OVERCOMMITTED: u32 = 2;
const WAITS: u32 = 3;

/// One event of the file: a span in one row.
struct Row<'a> {
    span: &'a Span,
    group: u32,
    row: usize,
}

impl Trace {
    pub(super) fn new(cpus: usize, mut spans: Vec<Span>, forgotten: u64) -> Self {
        spans.sort_by_key(|span| (span.start, span.end));
        Self { cpus, spans, forgotten }
    }

    /// How many CPUs could be used at once.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// Operations and waits, in the order in which they began.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// How many earlier spans were forgotten for the later ones.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Writes Chrome trace events as JSON: one row a CPU slot, then rows of overcommitted operations and of waits.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_chrome(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.rows();
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{")?;
        write!(out, "\"cpus\":{},\"forgotten\":{}}},", self.cpus, self.forgotten)?;
        write!(out, "\"traceEvents\":[")?;
        self.write_names(out, &rows)?;
        for row in &rows {
            writeln!(out, ",")?;
            row.write(out)?;
        }
        writeln!(out, "\n]}}")
    }

    /// Where each span is drawn.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut cpus = Slots(vec![Duration::ZERO; self.cpus]);
        let (mut over, mut waits) = (Slots(Vec::new()), Slots(Vec::new()));
        let mut rows = Vec::with_capacity(self.spans.len());
        for span in &self.spans {
            let (group, taken) = match span.kind {
                SpanKind::Operation { overcommitted: true, .. } => {
                    (OVERCOMMITTED, over.take(1, span))
                }
                SpanKind::Operation { width, .. } => (CPUS, cpus.take(width, span)),
                SpanKind::Wait { .. } => (WAITS, waits.take(1, span)),
            };
            rows.extend(taken.into_iter().map(|row| Row { span, group, row }));
        }
        rows
    }

    fn write_names(&self, out: &mut dyn Write, rows: &[Row<'_>]) -> io::Result<()> {
        let names = [(CPUS, "CPUs"), (OVERCOMMITTED, "without a CPU"), (WAITS, "waiting")];
        for (place, (group, name)) in names.iter().enumerate() {
            let lead = if place == 0 { "\n" } else { ",\n" };
            write!(
                out,
                "{lead}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{group},\"tid\":0,"
            )?;
            write!(out, "\"args\":{{\"name\":\"{name}\"}}}}")?;
            let used = rows.iter().filter(|row| row.group == *group).map(|row| row.row + 1).max();
            let count =
                if *group == CPUS { self.cpus.max(used.unwrap_or(0)) } else { used.unwrap_or(0) };
            let noun = if *group == CPUS { "CPU slot" } else { "row" };
            for row in 0..count {
                write!(
                    out,
                    ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{group},\"tid\":{row},"
                )?;
                write!(out, "\"args\":{{\"name\":\"{noun} {row}\"}}}}")?;
            }
        }
        Ok(())
    }
}

/// When each row of a group is free again.
struct Slots(Vec<Duration>);

impl Slots {
    /// The lowest `count` rows that are free when the span begins; new ones if there are not as many.
    fn take(&mut self, count: usize, span: &Span) -> Vec<usize> {
        let free = self.0.iter().enumerate().filter(|(_, until)| **until <= span.start);
        let mut rows: Vec<usize> = free.map(|(row, _)| row).take(count).collect();
        while rows.len() < count {
            rows.push(self.0.len());
            self.0.push(Duration::ZERO);
        }
        for &row in &rows {
            self.0[row] = span.end;
        }
        rows
    }
}

impl Row<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Span { kind, label, owner, thread, start, end } = self.span;
        let name = match kind {
            SpanKind::Operation { .. } => label.as_str().to_owned(),
            SpanKind::Wait { .. } => format!("wait: {label}"),
        };
        write!(out, "{{\"ph\":\"X\",\"name\":{},", Quoted(&name))?;
        write!(out, "\"pid\":{},\"tid\":{},", self.group, self.row)?;
        write!(out, "\"ts\":{},", Microseconds(*start))?;
        write!(out, "\"dur\":{},\"args\":{{", Microseconds(end.saturating_sub(*start)))?;
        match kind {
            SpanKind::Operation { width, overcommitted } => {
                write!(out, "\"width\":{width},\"overcommitted\":{overcommitted}")?;
            }
            SpanKind::Wait { outcome } => write!(out, "\"outcome\":\"{outcome:?}\"")?,
        }
        if let Some(owner) = owner {
            write!(out, ",\"owner\":\"{owner}\"")?;
        }
        write!(out, ",\"thread\":{}}}}}", Quoted(thread))
    }
}

/// A time in microseconds, exact to the nanosecond.
struct Microseconds(Duration);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanoseconds = self.0.as_nanos();
        write!(f, "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
    }
}

/// A JSON string.
struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
