//! A schedule as text: what runs in one go, on what, and where results lie.

use std::fmt;

use super::{Read, Schedule, Stage, Unit, Work};
use crate::{
    Prepared, Program, Step, StepKind, Value,
    error::describe,
    text::{control_parameters, parameters},
};

/// Prints what runs: a line a unit, the steps of a fused region within braces. `in #2` is the slot of a result, `give` says
/// that an operand may be written over, `as` under which extents it is read, and `at once` what runs over lanes.
impl fmt::Display for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Prepared {
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        let program = self.program();
        let inputs: Vec<String> = program
            .inputs()
            .iter()
            .enumerate()
            .map(|(input, spec)| {
                format!("{}: {}", program.name(Value(input)), describe(spec.meta()))
            })
            .collect();
        writeln!(f, "prepared({}) {{", inputs.join(", "))?;
        let inside = indent + 4;
        write_units(f, program, self.schedule(), inside)?;
        let outputs: Vec<String> =
            program.outputs().iter().map(|&value| program.name(value)).collect();
        writeln!(
            f,
            "{:inside$}return{}{}",
            "",
            if outputs.is_empty() { "" } else { " " },
            outputs.join(", ")
        )?;
        write!(f, "{:indent$}}}", "")
    }
}

fn write_units(
    f: &mut fmt::Formatter<'_>,
    program: &Program,
    schedule: &Schedule,
    inside: usize,
) -> fmt::Result {
    let mut units = schedule.units.iter();
    for stage in &schedule.stages {
        let (count, indent) = match *stage {
            Stage::InOrder(count) => (count, inside),
            Stage::AtOnce(count) => {
                writeln!(f, "{:inside$}at once {{", "")?;
                (count, inside + 4)
            }
        };
        for unit in units.by_ref().take(count) {
            write!(f, "{:indent$}", "")?;
            write_unit(f, program, unit, indent)?;
        }
        if let Stage::AtOnce(_) = stage {
            writeln!(f, "{:inside$}}}", "")?;
        }
    }
    Ok(())
}

fn write_unit(
    f: &mut fmt::Formatter<'_>,
    program: &Program,
    unit: &Unit,
    indent: usize,
) -> fmt::Result {
    let results = unit.names.writes.iter().zip(&unit.writes).map(|(&value, slot)| {
        let typed = format!("{}: {}", program.name(value), describe(program.meta(value)));
        match slot {
            Some(slot) => format!("{typed} in #{slot}"),
            None => typed,
        }
    });
    write!(f, "{} = ", results.collect::<Vec<_>>().join(", "))?;
    let reads = unit
        .names
        .reads
        .iter()
        .zip(&unit.reads)
        .map(|(&value, read)| operand(program, value, read));
    let operands = reads.collect::<Vec<_>>().join(", ");
    let step = |number: &usize| &program.steps()[*number];
    match &unit.work {
        Work::Region(region) => {
            let extents: Vec<String> = region.shape().iter().map(usize::to_string).collect();
            writeln!(f, "fused[{}]({operands}) {{", extents.join(", "))?;
            for number in &unit.steps {
                writeln!(f, "{:1$}{2}", "", indent + 4, line(program, step(number)))?;
            }
            writeln!(f, "{:indent$}}}", "")
        }
        Work::Control(control, bodies) => {
            writeln!(f, "{}({operands}){} {{", control.name(), control_parameters(control))?;
            for ((name, _), body) in control.bodies().iter().zip(bodies) {
                write!(f, "{:1$}{name}: ", "", indent + 4)?;
                body.write(f, indent + 4)?;
                writeln!(f)?;
            }
            writeln!(f, "{:indent$}}}", "")
        }
        Work::Branch(schedule) => {
            writeln!(f, "branch({operands}) {{")?;
            write_units(f, program, schedule, indent + 4)?;
            writeln!(f, "{:indent$}}}", "")
        }
        Work::Primitive(primitive) => {
            writeln!(f, "{}({operands}){}", primitive.name(), parameters(primitive))
        }
        Work::Custom(_) => writeln!(f, "{}({operands})", step(&unit.steps[0]).name()),
    }
}

fn operand(program: &Program, value: Value, read: &Read) -> String {
    let given = if read.given { "give " } else { "" };
    let name = program.name(value);
    match &read.shape {
        None => format!("{given}{name}"),
        Some(shape) => {
            let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("{given}{name} as [{}]", extents.join(", "))
        }
    }
}

/// A step as the program prints it.
fn line(program: &Program, step: &Step) -> String {
    let names: Vec<String> = step.operands().iter().map(|&value| program.name(value)).collect();
    let parameters = match step.kind() {
        StepKind::Primitive(primitive) => parameters(primitive),
        _ => String::new(),
    };
    let (name, meta) = (program.name(step.first), describe(step.meta()));
    format!("{name}: {meta} = {}({}){parameters}", step.name(), names.join(", "))
}
