//! What a command did, for people and for programs.

use std::fmt;

use serde::Serialize;

use crate::npy::{Input, Order};

/// One file: what it holds and how. A path that is no Unicode is shown as well as it can be.
#[derive(Serialize)]
pub(super) struct FileReport {
    pub(super) path: String,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: &'static str,
    pub(super) order: Order,
}

impl FileReport {
    /// An input.
    pub(super) fn of(input: &Input) -> Self {
        Self {
            path: input.path().display().to_string(),
            shape: input.shape().to_vec(),
            dtype: input.dtype().name(),
            order: input.order(),
        }
    }
}

/// What a run of a program did. Its fields are those of `--json`.
#[derive(Serialize)]
pub(super) struct RunReport {
    pub(super) program: String,
    pub(super) inputs: Vec<FileReport>,
    pub(super) outputs: Vec<FileReport>,
    /// Operations that were carried out, loops turn by turn.
    pub(super) steps: usize,
    /// Operations on numbers; complex ones count once.
    pub(super) flops: f64,
    /// The most bytes of intermediate results at once.
    pub(super) peak_bytes: usize,
    /// Seconds of the run, without reading and writing.
    pub(super) seconds: f64,
    /// The grant of the scope, in threads.
    pub(super) width: usize,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.program)?;
        write_files(f, &self.inputs, &self.outputs)?;
        let plural = if self.steps == 1 { "" } else { "s" };
        writeln!(f, "{}, {} step{plural}, width {}", Seconds(self.seconds), self.steps, self.width)
    }
}

/// What a contraction did. Its fields are those of `--json`.
#[derive(Serialize)]
pub(super) struct ContractReport {
    pub(super) subscripts: String,
    pub(super) operands: Vec<FileReport>,
    pub(super) output: FileReport,
    /// Contractions of two operands.
    pub(super) steps: usize,
    /// Operations on real numbers: a multiply-add is 2, a complex one 8.
    pub(super) flops: f64,
    /// Elements of the largest result of a step.
    pub(super) largest_intermediate: usize,
    /// Seconds of the contraction, without reading and writing.
    pub(super) seconds: f64,
    pub(super) gflops: f64,
    /// The widest grant of the scope, in threads.
    pub(super) width: usize,
    pub(super) provider: String,
}

impl fmt::Display for ContractReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subscripts)?;
        write_files(f, &self.operands, std::slice::from_ref(&self.output))?;
        let time = Seconds(self.seconds);
        write!(f, "{time}, {:.2} GFLOP/s, width {}", self.gflops, self.width)?;
        writeln!(f, ", provider {}", self.provider)
    }
}

/// A line a file, with an arrow before those that were written.
fn write_files(
    f: &mut fmt::Formatter<'_>,
    read: &[FileReport],
    written: &[FileReport],
) -> fmt::Result {
    let files = || read.iter().chain(written);
    let shapes: Vec<String> = files().map(|file| tuple(&file.shape)).collect();
    let named = files().map(|file| file.path.chars().count()).max().unwrap_or(0);
    let shaped = shapes.iter().map(String::len).max().unwrap_or(0);
    for (position, file) in files().enumerate() {
        let mark = if position >= read.len() { "->" } else { "  " };
        let (name, shape) = (&file.path, &shapes[position]);
        let (dtype, order) = (file.dtype, &file.order);
        writeln!(f, "{mark} {name:named$}  {shape:shaped$}  {dtype:4}  {order}")?;
    }
    Ok(())
}

/// Extents as Python writes them.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [extent] => format!("({extent},)"),
        _ => {
            let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", extents.join(", "))
        }
    }
}

/// A time in the unit that reads best.
struct Seconds(f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            s if s < 1e-3 => write!(f, "{:.1} us", s * 1e6),
            s if s < 1.0 => write!(f, "{:.2} ms", s * 1e3),
            s => write!(f, "{s:.2} s"),
        }
    }
}

/// A report as one line of JSON.
pub(super) fn json(report: &impl Serialize) -> String {
    let mut text = serde_json::to_string(report).expect("invariant: a report has string keys only");
    text.push('\n');
    text
}
