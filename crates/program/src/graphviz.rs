//! A program as a picture, in the language of Graphviz.

use std::fmt::Write;

use crate::{
    Program, StepKind, Value,
    error::describe,
    text::{control_parameters, parameters},
};

impl Program {
    /// The program as a directed graph for Graphviz's `dot`: a box an operation, an edge an operand. The bodies of control
    /// flow are drawn inside a frame each.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut drawing = Drawing {
            dot: String::from("digraph program {\n    node [shape=box, fontname=monospace];\n"),
            frames: 0,
        };
        drawing.draw(self, "", 4);
        drawing.dot.push_str("}\n");
        drawing.dot
    }
}

/// A picture so far.
struct Drawing {
    dot: String,
    frames: usize,
}

impl Drawing {
    /// Draws a program, whose nodes' names have a prefix.
    fn draw(&mut self, program: &Program, prefix: &str, indent: usize) {
        for (number, spec) in program.inputs().iter().enumerate() {
            let label = format!("{}\n{}", program.name(Value(number)), describe(spec.meta()));
            self.node(indent, &format!("{prefix}v{number}"), &label, "ellipse");
        }
        // A step's node has the number of its first result, so that steps without results have none of their own.
        let node = |value: Value| match program.origin(value) {
            Some(step) => format!("{prefix}v{}", step.first.0),
            None => format!("{prefix}v{}", value.0),
        };
        for (number, step) in program.steps().iter().enumerate() {
            let (extra, shape) = match step.kind() {
                StepKind::Constant(_) => (String::new(), "ellipse"),
                StepKind::Primitive(primitive) => (parameters(primitive), "box"),
                StepKind::Custom(_) => (String::new(), "box"),
                StepKind::Control(control) => (control_parameters(control), "box3d"),
            };
            let metas: Vec<String> = step.metas().iter().map(describe).collect();
            let label = format!("{}{extra}\n{}", step.name(), metas.join(", "));
            let name = match step.metas().len() {
                0 => format!("{prefix}s{number}"),
                _ => format!("{prefix}v{}", step.first.0),
            };
            self.node(indent, &name, &label, shape);
            for &operand in step.operands() {
                self.line(indent, &format!("{} -> {name};", node(operand)));
            }
            let StepKind::Control(control) = step.kind() else { continue };
            for (part, body) in control.bodies() {
                self.frames += 1;
                let frame = self.frames;
                self.line(indent, &format!("subgraph cluster_{frame} {{"));
                self.line(
                    indent + 4,
                    &format!("label=\"{part} of {}\";", program.name(step.first)),
                );
                self.draw(body, &format!("f{frame}_"), indent + 4);
                self.line(indent, "}");
            }
        }
        for (number, &output) in program.outputs().iter().enumerate() {
            let name = format!("{prefix}r{number}");
            self.node(indent, &name, &format!("result {number}"), "ellipse");
            self.line(indent, &format!("{} -> {name};", node(output)));
        }
    }

    fn node(&mut self, indent: usize, name: &str, label: &str, shape: &str) {
        let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        self.line(indent, &format!("{name} [label=\"{label}\", shape={shape}];"));
    }

    fn line(&mut self, indent: usize, text: &str) {
        writeln!(self.dot, "{:indent$}{text}", "")
            .expect("invariant: a string takes what is written");
    }
}
