//! A program as text: a line a step, in the order in which they run.

use std::fmt;

use tenferro_tensor::{Primitive, Tensor};

use super::{
    literal,
    tree::{self, Parameter, Tree},
};
use crate::{
    Control, Program, StepKind, Template, Value,
    error::describe,
    template::{Varying, VaryingStep, typed},
};

/// `{:?}` shows constants of up to so many elements.
const SHORT: usize = 8;

/// Whether the elements of long constants are written.
#[derive(Clone, Copy)]
enum Constants {
    Whole,
    Short,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0, Constants::Whole, None)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sample, varying) = self.parts();
        sample.write(f, 0, Constants::Whole, Some(varying))
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sample, varying) = self.parts();
        sample.write(f, 0, Constants::Short, Some(varying))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0, Constants::Short, None)
    }
}

impl Program {
    /// Writes the text, whose lines but the first are indented; of a template, with what varies in its place.
    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        indent: usize,
        constants: Constants,
        varying: Option<&Varying>,
    ) -> fmt::Result {
        let meta = |value: Value| match varying {
            Some(varying) => typed(self.meta(value).dtype, &varying.shapes[value.index()]),
            None => describe(self.meta(value)),
        };
        let result = |value: Value| format!("{}: {}", self.name(value), meta(value));
        let names = |values: &[Value]| {
            values.iter().map(|&value| self.name(value)).collect::<Vec<_>>().join(", ")
        };
        let inputs: Vec<String> = (0..self.inputs().len())
            .map(|number| format!("{}: {}", self.input(number), meta(Value(number))))
            .collect();
        writeln!(f, "program({}) {{", inputs.join(", "))?;
        let inside = indent + 4;
        for (place, step) in self.steps().iter().enumerate() {
            let varying = varying.map(|varying| &varying.steps[place]);
            let results: Vec<String> = step.results().map(result).collect();
            write!(f, "{:inside$}{} = ", "", results.join(", "))?;
            let operands = names(step.operands());
            match (step.kind(), varying) {
                (_, Some(VaryingStep::Constant(number))) => write!(f, "constant {number}")?,
                (_, Some(VaryingStep::Parameters(fields))) => {
                    write!(f, "{}({operands}){}", step.name(), braced(fields.clone()))?;
                }
                (StepKind::Constant(tensor), _) => f.write_str(&constant(tensor, constants))?,
                (StepKind::Primitive(primitive), _) => {
                    write!(f, "{}({operands}){}", step.name(), parameters(primitive))?;
                }
                (StepKind::Custom(_), _) => write!(f, "{}({operands})", step.name())?,
                (StepKind::Control(control), varying) => {
                    let (fields, bodies) = match varying {
                        Some(VaryingStep::Control(fields, bodies)) => {
                            (braced(fields.clone()), Some(bodies))
                        }
                        _ => (control_parameters(control), None),
                    };
                    writeln!(f, "{}({operands}){fields} {{", step.name())?;
                    let deeper = inside + 4;
                    for (place, (name, body)) in control.bodies().into_iter().enumerate() {
                        write!(f, "{:deeper$}{name}: ", "")?;
                        let varying = bodies.map(|bodies| &bodies[place]);
                        body.write(f, deeper, constants, varying)?;
                        writeln!(f)?;
                    }
                    write!(f, "{:inside$}}}", "")?;
                }
            }
            writeln!(f)?;
        }
        let outputs = names(self.outputs());
        writeln!(f, "{:inside$}return{}{outputs}", "", if outputs.is_empty() { "" } else { " " })?;
        write!(f, "{:indent$}}}", "")
    }

    /// What a value is called: an input by its name if that tells it from others, all else by number.
    pub(crate) fn name(&self, value: Value) -> String {
        let named = self.inputs().get(value.index()).and_then(|spec| spec.name());
        let tells = |name: &&str| {
            let same = self.inputs().iter().filter(|spec| spec.name() == Some(*name)).count();
            same == 1 && is_identifier(name)
        };
        match named.filter(tells) {
            Some(name) => name.to_owned(),
            None => format!("%{}", value.index()),
        }
    }

    /// An input as a value, and its name if it is not called by that.
    fn input(&self, number: usize) -> String {
        let called = self.name(Value(number));
        let spec = &self.inputs()[number];
        let named = match spec.name() {
            Some(name) if name != called => format!(" {name:?}"),
            _ => String::new(),
        };
        format!("{called}{named}")
    }
}

/// Whether a name can stand for a value in a text.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(is_in_name)
}

pub(super) fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '.'
}

/// The parameters of a row, in braces; nothing if it has none.
pub(crate) fn parameters(primitive: &Primitive) -> String {
    braced(tree::parameters(primitive))
}

/// The parameters of a row.
pub(crate) fn parameter_tree(primitive: &Primitive) -> Tree {
    Tree::Fields(tree::parameters(primitive))
}

/// The parameters of control flow, in braces; nothing if it has none.
pub(crate) fn control_parameters(control: &Control) -> String {
    match control_tree(control) {
        Tree::Fields(fields) => braced(fields),
        _ => unreachable!("invariant: parameters are fields"),
    }
}

/// The parameters of control flow.
pub(crate) fn control_tree(control: &Control) -> Tree {
    Tree::Fields(match control {
        Control::Call { .. } | Control::Cond { .. } => Vec::new(),
        Control::WhileLoop { carries, .. } => vec![("carries".into(), carries.tree())],
        Control::Scan { carries, sequences, length, direction, .. } => vec![
            ("carries".into(), carries.tree()),
            ("sequences".into(), sequences.tree()),
            ("length".into(), length.tree()),
            ("direction".into(), direction.tree()),
        ],
    })
}

fn braced(fields: Vec<(String, Tree)>) -> String {
    if fields.is_empty() { String::new() } else { format!(" {}", Tree::Fields(fields)) }
}

fn constant(tensor: &Tensor, constants: Constants) -> String {
    match (constants, tensor.elements()) {
        (Constants::Short, elements) if elements > SHORT => {
            format!("constant of {elements} elements")
        }
        _ => format!("constant {}", literal::written(tensor)),
    }
}
