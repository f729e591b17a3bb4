//! A program as text: a line a step, in the order in which they run.

use std::fmt;

use tenferro_tensor::{Primitive, Tensor};

use crate::{Control, Program, StepKind, Value, error::describe};

/// Constants of up to so many elements are printed whole.
const SHORT: usize = 8;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Program {
    /// Writes the text, whose lines but the first are indented.
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        let typed = |value: Value| format!("{}: {}", self.name(value), describe(self.meta(value)));
        let names = |values: &[Value]| {
            values.iter().map(|&value| self.name(value)).collect::<Vec<_>>().join(", ")
        };
        let inputs: Vec<String> = (0..self.inputs().len()).map(|n| typed(Value(n))).collect();
        writeln!(f, "program({}) {{", inputs.join(", "))?;
        let inside = indent + 4;
        for step in self.steps() {
            let results: Vec<String> = step.results().map(typed).collect();
            write!(f, "{:inside$}{} = ", "", results.join(", "))?;
            let operands = names(step.operands());
            match step.kind() {
                StepKind::Constant(tensor) => f.write_str(&constant(tensor))?,
                StepKind::Primitive(primitive) => {
                    write!(f, "{}({operands}){}", step.name(), parameters(primitive))?;
                }
                StepKind::Custom(_) => write!(f, "{}({operands})", step.name())?,
                StepKind::Control(control) => {
                    writeln!(f, "{}({operands}){} {{", step.name(), control_parameters(control))?;
                    let deeper = inside + 4;
                    for (name, body) in control.bodies() {
                        write!(f, "{:deeper$}{name}: ", "")?;
                        body.write(f, deeper)?;
                        writeln!(f)?;
                    }
                    write!(f, "{:inside$}}}", "")?;
                }
            }
            writeln!(f)?;
        }
        writeln!(f, "{:inside$}return {}", "", names(self.outputs()))?;
        write!(f, "{:indent$}}}", "")
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Program {
    /// What a value is called: an input by its name if it has one, all else by number.
    pub(super) fn name(&self, value: Value) -> String {
        let named = self.inputs().get(value.index()).and_then(|spec| spec.name());
        named.map_or_else(|| format!("%{}", value.index()), str::to_owned)
    }
}

/// The parameters of a row, in braces; nothing if it has none.
pub(super) fn parameters(primitive: &Primitive) -> String {
    // `Family(Variant { parameters })`, of which the names are said already.
    let debug = format!("{primitive:?}").replace("Indices([", "[").replace("])", "]");
    match (debug.find('{'), debug.rfind('}')) {
        (Some(from), Some(to)) => format!(" {}", &debug[from..=to]),
        _ => String::new(),
    }
}

/// The parameters of control flow, in braces; nothing if it has none.
pub(super) fn control_parameters(control: &Control) -> String {
    match control {
        Control::Call { .. } | Control::Cond { .. } => String::new(),
        Control::WhileLoop { carries, .. } => format!(" {{ carries: {carries} }}"),
        Control::Scan { carries, sequences, length, direction, .. } => format!(
            " {{ carries: {carries}, sequences: {sequences}, length: {length}, direction: {direction:?} }}"
        ),
    }
}

fn constant(tensor: &Tensor) -> String {
    let elements = tensor.elements();
    if elements > SHORT {
        return format!("constant of {elements} elements");
    }
    let shown = tensor.to_string();
    format!("constant {}", shown.split_whitespace().collect::<Vec<_>>().join(" "))
}
