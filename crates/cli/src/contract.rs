//! `tenferro contract`: one contraction of NumPy files inside one execution scope.
//!
//! What can be refused is refused first, from headers alone: subscripts, shapes, dtypes, the place of the output. Only
//! then are elements read, contracted and written.

use std::{path::PathBuf, time::Instant};

use tenferro::{
    CpuBackend, Shape, Tensor, TensorView,
    arbiter::Recording,
    einsum::{self, Cost, Path, Plan, Subscripts},
    tensor::{AsOperand, Operand},
};

use crate::{
    failure::Failure,
    machine::{Machine, provider},
    npy::{self, Array, Input, Order},
    output::Destination,
    progress::Progress,
    report::{ContractReport, FileReport, json},
};

/// Contract NumPy files by Einstein summation
///
/// Reads .npy files, contracts them inside one execution scope and writes the result as a .npy file. SUBSCRIPTS name the
/// axes of each file and of the result, as in numpy.einsum's explicit form: repeated labels of a file take a diagonal,
/// labels that the result lacks are summed over, "..." stands for the remaining axes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The axes of each file, and after the arrow those of the result: "ij,jk->ik"
    #[arg(allow_hyphen_values = true)]
    subscripts: String,
    /// The arrays, one .npy file an operand
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The .npy file to write; an existing one is replaced once the result is complete
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The order of the elements in the output
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    #[command(flatten)]
    machine: Machine,
    /// Record who holds CPUs and who waits for them, as Chrome trace events that Perfetto opens
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The most operations and waits that a trace file keeps: some 100 MB of memory.
const TRACED: usize = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  tenferro contract \"ij,jk->ik\" a.npy b.npy -o product.npy
  tenferro contract \"ijk,jl,km->ilm\" a.npy b.npy c.npy -o out.npy --threads 2
  tenferro contract \"ii->\" matrix.npy -o trace.npy --json
  tenferro contract \"...ij,...jk->...ik\" a.npy b.npy -o batch.npy --order C
  tenferro contract \"ij,jk->ik\" a.npy b.npy -o product.npy --trace trace.json";

/// Runs the command; the text to print.
pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let subscripts: Subscripts = arguments.subscripts.parse()?;
    let inputs = open(&arguments.files)?;
    let dtype = inputs[0].dtype();
    let plan = plan(&subscripts, &inputs, arguments.order)?;
    let cost = plan.cost(dtype);
    let operands: Vec<FileReport> = inputs.iter().map(FileReport::of).collect();
    let destination = Destination::check(&arguments.output)?;
    let traced = arguments.trace.as_deref().map(Destination::check).transpose()?;
    let backend = arguments.machine.backend()?;

    let bytes = inputs.iter().map(Input::bytes).sum();
    let progress = Progress::new(cost.flops, bytes);
    progress.stage("reading");
    let arrays = inputs.into_iter().map(Input::read).collect::<Result<Vec<Array>, Failure>>()?;
    progress.stage("contracting");
    let recording = traced.as_ref().map(|_| backend.record(TRACED)).transpose();
    let recording = recording.map_err(Failure::Backend)?;
    let done = contract(&backend, &plan, &arrays, &progress)?;
    let trace = recording.map(Recording::finish);
    progress.stage("writing");
    if let (Some(traced), Some(trace)) = (traced, trace) {
        traced.write(|file| trace.write_chrome(file))?;
    }
    destination.write(|file| npy::write(file, &done.result, arguments.order))?;
    drop(progress);

    let provider = provider(&backend, dtype);
    let report = report(arguments, &subscripts, operands, &plan, cost, done, provider);
    Ok(if arguments.json { json(&report) } else { report.to_string() })
}

/// Opens all files and checks that they hold one dtype.
fn open(files: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let inputs = files.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>, _>>()?;
    let first = &inputs[0];
    match inputs.iter().find(|input| input.dtype() != first.dtype()) {
        None => Ok(inputs),
        Some(other) => Err(Failure::MixedDTypes {
            first: first.path().to_owned(),
            first_dtype: first.dtype(),
            path: other.path().to_owned(),
            dtype: other.dtype(),
        }),
    }
}

/// The plan whose result lies in memory as the output wants it.
fn plan(subscripts: &Subscripts, inputs: &[Input], order: Order) -> Result<Plan, Failure> {
    let shapes: Vec<&Shape> = inputs.iter().map(Input::shape).collect();
    let plan = Plan::new(subscripts, &shapes, &Path::LeftToRight)
        .map_err(|error| name_files(error, inputs))?;
    Ok(match order {
        Order::Fortran => plan,
        Order::C => plan.reversed(),
    })
}

/// Says which files the operands of an error are.
fn name_files(error: einsum::Error, inputs: &[Input]) -> Failure {
    let mut operands = match error {
        einsum::Error::LabelCount { operand, .. } => vec![operand],
        einsum::Error::ExtentMismatch { lhs_operand, rhs_operand, .. }
        | einsum::Error::EllipsisMismatch { lhs_operand, rhs_operand, .. } => {
            vec![lhs_operand, rhs_operand]
        }
        other => return Failure::Einsum(other),
    };
    operands.dedup();
    let files: Vec<String> = operands
        .iter()
        .map(|&operand| format!("operand {operand} is {}", inputs[operand].path().display()))
        .collect();
    Failure::Operands { error, files: files.join(", ") }
}

/// A contraction's result and what it took.
struct Done {
    result: Tensor,
    seconds: f64,
    width: usize,
}

/// Contracts the arrays inside one execution scope.
fn contract(
    backend: &CpuBackend,
    plan: &Plan,
    arrays: &[Array],
    progress: &Progress,
) -> Result<Done, Failure> {
    let views: Vec<TensorView<'_>> = arrays.iter().map(Array::view).collect();
    let operands: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
    let dtype = operands[0].dtype();
    let mut operations = backend.clone();
    let done = backend.with_execution_scope(|| -> Result<Done, Failure> {
        let granted = || backend.scope_width().expect("invariant: a scope of this backend is open");
        // Small steps give back what they do not need, so that the widest grant is the one to tell.
        let mut width = granted();
        let start = Instant::now();
        let result = plan.run_watched(&mut operations, &operands, &mut |step| {
            width = width.max(granted());
            progress.advance(step.flops(dtype));
        })?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Done { result, seconds, width })
    });
    done.map_err(Failure::Backend)?
}

fn report(
    arguments: &Arguments,
    subscripts: &Subscripts,
    operands: Vec<FileReport>,
    plan: &Plan,
    cost: Cost,
    done: Done,
    provider: String,
) -> ContractReport {
    let mut shape = plan.shape().to_vec();
    if arguments.order == Order::C {
        shape.reverse();
    }
    ContractReport {
        subscripts: subscripts.to_string(),
        operands,
        output: FileReport {
            path: arguments.output.display().to_string(),
            shape,
            dtype: done.result.dtype().name(),
            order: arguments.order,
        },
        steps: plan.steps().len(),
        flops: cost.flops,
        largest_intermediate: cost.largest_intermediate,
        seconds: done.seconds,
        gflops: cost.flops / done.seconds.max(1e-9) / 1e9,
        width: done.width,
        provider,
    }
}
