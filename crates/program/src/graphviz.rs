//! A program as a picture, in the language of Graphviz.

use std::fmt::Write;

use crate::{Program, StepKind, Value, display::parameters, error::describe};

impl Program {
    /// The program as a directed graph for Graphviz's `dot`: a box an operation, an edge an operand.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut dot =
            String::from("digraph program {\n    node [shape=box, fontname=monospace];\n");
        let mut node = |number: usize, label: &str, shape: &str| {
            let label = label.replace('\\', "\\\\").replace('"', "\\\"");
            let label = label.replace('\n', "\\n");
            writeln!(dot, "    v{number} [label=\"{label}\", shape={shape}];")
                .expect("invariant: a string takes what is written");
        };
        for (number, spec) in self.inputs().iter().enumerate() {
            let label = format!("{}\n{}", self.name(Value(number)), describe(spec.meta()));
            node(number, &label, "ellipse");
        }
        let first = self.inputs().len();
        for (number, step) in self.steps().iter().enumerate() {
            let (extra, shape) = match step.kind() {
                StepKind::Constant(_) => (String::new(), "ellipse"),
                StepKind::Primitive(primitive) => (parameters(primitive), "box"),
                StepKind::Custom(_) => (String::new(), "box"),
            };
            let label = format!("{}{extra}\n{}", step.name(), describe(step.meta()));
            node(first + number, &label, shape);
        }
        for (number, step) in self.steps().iter().enumerate() {
            for operand in step.operands() {
                writeln!(dot, "    v{} -> v{};", operand.index(), first + number)
                    .expect("invariant: a string takes what is written");
            }
        }
        for (number, output) in self.outputs().iter().enumerate() {
            writeln!(
                dot,
                "    r{number} [label=\"result {number}\", shape=ellipse];\n    v{} -> r{number};",
                output.index()
            )
            .expect("invariant: a string takes what is written");
        }
        dot.push_str("}\n");
        dot
    }
}
