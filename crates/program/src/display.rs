//! A program as text: a line a step, in the order in which they run.

use std::fmt;

use tenferro_tensor::{Primitive, Tensor};

use crate::{Program, StepKind, Value, error::describe};

/// Constants of up to so many elements are printed whole.
const SHORT: usize = 8;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<String> = self
            .inputs()
            .iter()
            .enumerate()
            .map(|(number, spec)| {
                format!("{}: {}", self.name(Value(number)), describe(spec.meta()))
            })
            .collect();
        writeln!(f, "program({}) {{", inputs.join(", "))?;
        for (number, step) in self.steps().iter().enumerate() {
            let value = Value(self.inputs().len() + number);
            let operands: Vec<String> =
                step.operands().iter().map(|&operand| self.name(operand)).collect();
            let operation = match step.kind() {
                StepKind::Constant(tensor) => constant(tensor),
                StepKind::Primitive(primitive) => {
                    format!("{}({}){}", step.name(), operands.join(", "), parameters(primitive))
                }
                StepKind::Custom(_) => format!("{}({})", step.name(), operands.join(", ")),
            };
            writeln!(f, "    {}: {} = {operation}", self.name(value), describe(step.meta()))?;
        }
        let outputs: Vec<String> = self.outputs().iter().map(|&output| self.name(output)).collect();
        writeln!(f, "    return {}", outputs.join(", "))?;
        write!(f, "}}")
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

fn constant(tensor: &Tensor) -> String {
    let elements = tensor.elements();
    if elements > SHORT {
        return format!("constant of {elements} elements");
    }
    let shown = tensor.to_string();
    format!("constant {}", shown.split_whitespace().collect::<Vec<_>>().join(" "))
}
