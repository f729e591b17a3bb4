//! `tenferro run`: a program, written as text, on NumPy files inside one execution scope.
//!
//! What can be refused is refused first: the text, the number, dtypes and shapes of the inputs, the places of the outputs.
//! Only then are elements read, the program run and its results written.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use tenferro::{
    DType, Tensor, TensorView,
    ops::Meta,
    program::{Argument, Error, Outputs, Passes, Prepared, Program, Template},
};

use crate::{
    failure::Failure,
    machine::Machine,
    npy::{self, Array, Input, Order},
    output::Destination,
    progress::Progress,
    report::{FileReport, RunReport, json},
};

/// Run a program on NumPy files
///
/// PROGRAM is a text file as the library prints programs: typed inputs, a line an operation, `return`. A word in the place
/// of an extent is an axis of any length: that of the files. Each input of the program is read from a .npy file, in order,
/// and each of its results is written to one, named by a -o of its own.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The text of the program
    program: PathBuf,
    /// The inputs, one .npy file each, in the order of the program
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The .npy file to write a result to, once for each result, in order; existing ones are replaced once all results
    /// are complete
    #[arg(short, long = "output", value_name = "FILE")]
    outputs: Vec<PathBuf>,
    /// The order of the elements in the outputs
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    #[command(flatten)]
    machine: Machine,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example, with distance.txt:

  program(a: f64[n], b: f64[n]) {
      d = sub(a, b)
      s = sum_of_squares(d) { axes: [0], keep: Drop }
      r = sqrt(s)
      return r, d
  }

  tenferro run distance.txt a.npy b.npy -o distance.npy -o difference.npy
  tenferro run distance.txt a.npy b.npy -o r.npy -o d.npy --threads 1 --json";

/// Runs the command; the text to print.
pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let template = read(&arguments.program)?;
    let inputs =
        arguments.files.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>, _>>()?;
    let program = fitted(&arguments.program, &template, &inputs)?;
    check_results(arguments, &program)?;
    let destinations = destinations(&arguments.outputs)?;
    let refused = |error| Failure::Program { path: arguments.program.clone(), error };
    let prepared = program.prepare(&Passes::all()).map_err(refused)?;
    let backend = arguments.machine.backend()?;

    let cost = prepared.program().cost();
    let described: Vec<FileReport> = inputs.iter().map(FileReport::of).collect();
    let progress = Progress::new(cost.flops, inputs.iter().map(Input::bytes).sum());
    progress.stage("reading");
    let arrays = inputs.into_iter().map(Input::read).collect::<Result<Vec<Array>, Failure>>()?;
    progress.stage("running");
    let mut operations = backend.clone();
    let done = backend.with_execution_scope(|| -> Result<(Outputs, f64, usize), Failure> {
        let width = backend.scope_width().expect("invariant: a scope of this backend is open");
        let start = Instant::now();
        let results = carry_out(&prepared, &mut operations, &arrays).map_err(refused)?;
        Ok((results, start.elapsed().as_secs_f64(), width))
    });
    let (results, seconds, width) = done.map_err(Failure::Backend)??;
    progress.stage("writing");
    let mut outputs = Vec::new();
    for ((destination, path), result) in
        destinations.into_iter().zip(&arguments.outputs).zip(&results)
    {
        write(destination, result, arguments.order)?;
        outputs.push(FileReport {
            path: path.display().to_string(),
            shape: result.shape().to_vec(),
            dtype: result.dtype().name(),
            order: arguments.order,
        });
    }
    drop(progress);

    let report = RunReport {
        program: arguments.program.display().to_string(),
        inputs: described,
        outputs,
        steps: cost.steps,
        flops: cost.flops,
        peak_bytes: cost.peak_bytes,
        seconds,
        width,
    };
    Ok(if arguments.json { json(&report) } else { report.to_string() })
}

/// The template that a file holds; a program is one without named axes.
fn read(path: &Path) -> Result<Template, Failure> {
    let text =
        fs::read_to_string(path).map_err(|error| Failure::Text { path: path.to_owned(), error })?;
    text.parse().map_err(|error| Failure::Program { path: path.to_owned(), error })
}

/// The program for these inputs, whose extents say how long named axes are.
fn fitted(path: &Path, template: &Template, inputs: &[Input]) -> Result<Program, Failure> {
    let refused = |error| match error {
        Error::PatternMismatch { input, .. } => {
            Failure::ProgramInput { path: inputs[input].path().to_owned(), error }
        }
        error => Failure::Program { path: path.to_owned(), error },
    };
    let meta = |input: &Input| Meta { dtype: input.dtype(), shape: input.shape().clone() };
    let metas: Vec<Meta> = inputs.iter().map(meta).collect();
    let sizes = template.sizes(&metas).map_err(refused)?;
    template.at(&sizes).map_err(refused)
}

/// Refuses more or fewer outputs than the program has results, and results that no file can hold.
fn check_results(arguments: &Arguments, program: &Program) -> Result<(), Failure> {
    let path = &arguments.program;
    let (results, named) = (program.outputs().len(), arguments.outputs.len());
    if results != named {
        return Err(Failure::Outputs { path: path.clone(), results, named });
    }
    let is_foreign = |meta: &Meta| meta.dtype == DType::BF16;
    if let Some(result) = program.output_metas().iter().position(is_foreign) {
        return Err(Failure::ForeignResult { path: path.clone(), result, dtype: DType::BF16 });
    }
    Ok(())
}

/// Checks that every output can be written, and is named once.
fn destinations(paths: &[PathBuf]) -> Result<Vec<Destination>, Failure> {
    for (place, path) in paths.iter().enumerate() {
        if paths[..place].contains(path) {
            let path = path.display();
            return Err(Failure::Usage(format!("{path} is named as the output of two results")));
        }
    }
    paths.iter().map(|path| Destination::check(path)).collect()
}

fn carry_out(
    prepared: &Prepared,
    engine: &mut tenferro::CpuBackend,
    arrays: &[Array],
) -> Result<Outputs, Error> {
    let views: Vec<TensorView<'_>> = arrays.iter().map(Array::view).collect();
    prepared.run(engine, views.iter().map(Argument::from))
}

/// Writes a result; C's order is that of the reversed axes.
fn write(destination: Destination, result: &Tensor, order: Order) -> Result<(), Failure> {
    let reversed = match order {
        Order::C if result.rank() > 1 => {
            Some(result.view().transpose().to_tensor().map_err(Failure::Backend)?)
        }
        _ => None,
    };
    destination.write(|file| npy::write(file, reversed.as_ref().unwrap_or(result), order))
}
