//! Reads programs from text: what is printed, and what people write.
//!
//! Every step is recorded as a trace records it, so that what is read fits together. The dtypes and shapes of results may be
//! left out, but those of constants.

use std::{collections::HashMap, str::FromStr, sync::Arc};

use tenferro_ops::{Builder, CustomOp, Meta};
use tenferro_tensor::Shape;

use super::{
    literal,
    problem::Problem,
    reader::{Reader, Result, Wrong, wrong},
    tree::{self, Given, Tree},
};
use crate::{
    Control, Error, Program, Spec, StepKind, Template, Value,
    recording::{Recording, Results},
    template::{Sizes, fit, scalar},
};

/// Reads programs, with operations that are not in the vocabulary.
///
/// ```
/// use tenferro_program::{Parser, Program};
///
/// let program = Parser::default().parse("program(x: f64[2], y: f64[2]) {
///     ## Lines may be annotated, and types left out.
///     z = mul(x, y)
///     s = sum(z) { axes: [0], keep: Drop }
///     return s, z
/// }")?;
/// let again: Program = program.to_string().parse()?;
/// assert_eq!(again.to_string(), program.to_string());
/// # Ok::<(), tenferro_program::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parser {
    custom: Vec<Arc<dyn CustomOp>>,
}

impl Parser {
    /// The parser that knows a custom operation by its name.
    #[must_use]
    pub fn custom(mut self, op: Arc<dyn CustomOp>) -> Self {
        self.custom.push(op);
        self
    }

    /// The program that a text says.
    ///
    /// # Errors
    /// [`Error::Parse`] with the line and column of what is wrong.
    pub fn parse(&self, text: &str) -> crate::Result<Program> {
        self.at(text, Sizes::none())
    }

    /// The template that a text says: the words in the types of the inputs are named axes.
    ///
    /// # Errors
    /// [`Error::Parse`] with the line and column of what is wrong; as [`Template::trace`].
    pub fn template(&self, text: &str) -> crate::Result<Template> {
        let mut reader = Reader::new(text, &self.custom, Sizes::none());
        let axes = reader.axes().map_err(|wrong| located(text, wrong))?;
        let template = fit(&axes.into(), |sizes| self.at(text, sizes.clone()));
        template.map_err(|error| match error {
            // What does not fit at the first sizes is a mistake in the text.
            Error::AtSizes { source, .. } if matches!(*source, Error::Parse { .. }) => *source,
            error => error,
        })
    }

    /// The program that a text says if its axes have these sizes.
    fn at(&self, text: &str, sizes: Sizes) -> crate::Result<Program> {
        let mut reader = Reader::new(text, &self.custom, sizes);
        let program = reader.program().and_then(|program| {
            reader.space();
            match reader.rest().is_empty() {
                true => Ok(program),
                false => Err(reader.expected("the end of the text")),
            }
        });
        program.map_err(|wrong| located(text, wrong))
    }
}

/// A problem with the line and column where it is.
fn located(text: &str, (problem, at): Wrong) -> Error {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Error::Parse { line, column, problem: *problem }
}

impl FromStr for Template {
    type Err = Error;

    /// As [`Parser::template`], without custom operations.
    fn from_str(text: &str) -> crate::Result<Template> {
        Parser::default().template(text)
    }
}

impl FromStr for Program {
    type Err = Error;

    /// As [`Parser::parse`], without custom operations.
    fn from_str(text: &str) -> crate::Result<Program> {
        Parser::default().parse(text)
    }
}

/// The names of values so far.
type Names = HashMap<String, Value>;

impl<'t> Reader<'t> {
    /// The words among the extents of the inputs, each once.
    fn axes(&mut self) -> Result<Vec<Arc<str>>> {
        self.word("program")?;
        let mut axes: Vec<Arc<str>> = Vec::new();
        self.list('(', ')', |reader| {
            reader.name()?;
            if reader.peek() == Some('"') {
                reader.string()?;
            }
            reader.token(':')?;
            reader.identifier("a dtype")?;
            reader.token('[')?;
            while !matches!(reader.peek(), Some(']') | None) {
                match reader.identifier("an axis") {
                    Ok(axis) if axes.iter().all(|own| **own != *axis) => axes.push(axis.into()),
                    Ok(_) => {}
                    // A number, an operator or a comma.
                    Err(_) => reader.at += reader.rest().chars().next().map_or(0, char::len_utf8),
                }
            }
            reader.token(']')
        })?;
        Ok(axes)
    }

    fn program(&mut self) -> Result<Program> {
        self.deeper(|reader| {
            reader.word("program")?;
            let mut names = Names::new();
            let mut specs = Vec::new();
            reader.list('(', ')', |reader| {
                let (name, at) = reader.name()?;
                let mut spec_name = (!name.starts_with('%')).then(|| name.clone());
                if reader.peek() == Some('"') {
                    spec_name = Some(reader.string()?);
                }
                reader.token(':')?;
                let spec = Spec::of(&reader.meta()?);
                specs.push(match spec_name {
                    Some(name) => spec.named(&name),
                    None => spec,
                });
                define(&mut names, name, Value(specs.len() - 1), at)
            })?;
            let mut recording = Recording::new(specs);
            reader.token('{')?;
            while !reader.is_word("return") {
                reader.step(&mut recording, &mut names)?;
            }
            reader.word("return")?;
            let mut outputs = Vec::new();
            while reader.peek() != Some('}') {
                if !outputs.is_empty() {
                    reader.token(',')?;
                }
                outputs.push(reader.value(&names)?);
            }
            reader.token('}')?;
            Ok(recording.finish(outputs))
        })
    }

    /// `name: type, .. = operation(operands) { parameters } { bodies }`
    fn step(&mut self, recording: &mut Recording, names: &mut Names) -> Result<()> {
        let mut results: Vec<(String, Option<Meta>, usize)> = Vec::new();
        while self.peek() != Some('=') {
            if !results.is_empty() {
                self.token(',')?;
            }
            let (name, at) = self.name()?;
            let meta = if self.peek() == Some(':') {
                self.token(':')?;
                Some(self.meta()?)
            } else {
                None
            };
            results.push((name, meta, at));
        }
        self.token('=')?;
        self.space();
        let at = self.at;
        let op = self.identifier("an operation")?;
        let values = match (&op[..], &results[..]) {
            ("constant", [(_, Some(meta), _)]) => {
                let tensor = self.constant(meta)?;
                Results::from_elem(recording.constant(tensor), 1)
            }
            ("constant", _) => {
                return Err(
                    self.expected_at("one result with dtype and shape before a constant", at)
                );
            }
            _ => self.operation(&op, at, recording, names)?,
        };
        if values.len() != results.len() {
            let (actual, names) = (values.len(), results.len());
            return Err(wrong(Problem::Results { op, actual, names }, at));
        }
        for (value, (name, written, at)) in values.into_iter().zip(results) {
            let actual = recording.meta(&value);
            if let Some(written) = written.filter(|written| *written != actual) {
                let (actual, written) = (Box::new(actual), Box::new(written));
                return Err(wrong(Problem::Type { actual, written }, at));
            }
            define(names, name, value, at)?;
        }
        Ok(())
    }

    fn operation(
        &mut self,
        op: &str,
        at: usize,
        recording: &mut Recording,
        names: &Names,
    ) -> Result<Results> {
        let mut operands: Vec<Value> = Vec::new();
        self.list('(', ')', |reader| {
            operands.push(reader.value(names)?);
            Ok(())
        })?;
        self.space();
        let parameters_at = self.at;
        if let Some(custom) = self.custom.iter().find(|custom| custom.name() == op) {
            let metas: Vec<Meta> = operands.iter().map(|value| recording.meta(value)).collect();
            let meta = custom.infer(&metas).map_err(|error| wrong(error.into(), at))?;
            let kind = StepKind::Custom(Arc::clone(custom));
            return Ok(Results::from_elem(recording.push_one(kind, &operands, meta), 1));
        }
        if matches!(op, "call" | "cond" | "while_loop" | "scan") {
            let control = self.control(op, parameters_at)?;
            return recording.control(control, &operands).map_err(|error| wrong(error.into(), at));
        }
        // A body is no parameter, but a row without parameters may be followed by the next step only.
        let fields = if self.peek() == Some('{') { self.fields()? } else { Vec::new() };
        match tree::primitive(op, &fields) {
            None => Err(wrong(Problem::UnknownOperation { name: op.to_owned() }, at)),
            Some(Err(reason)) => {
                Err(wrong(Problem::Parameter { op: op.to_owned(), reason }, parameters_at))
            }
            Some(Ok(primitive)) => {
                let operands: Vec<&Value> = operands.iter().collect();
                let result = recording.emit(primitive, &operands);
                Ok(Results::from_elem(result.map_err(|error| wrong(error.into(), at))?, 1))
            }
        }
    }

    /// The parameters and bodies of control flow.
    fn control(&mut self, op: &str, at: usize) -> Result<Control> {
        let refused = |reason: String| wrong(Problem::Parameter { op: op.to_owned(), reason }, at);
        let has_parameters = matches!(op, "while_loop" | "scan");
        let fields = if has_parameters { self.fields()? } else { Vec::new() };
        let given = Given::new(&fields);
        let bodies = |reader: &mut Self, names: &[&str]| -> Result<Vec<Program>> {
            reader.token('{')?;
            let mut bodies = Vec::new();
            for name in names {
                reader.space();
                if !reader.is_word(name) {
                    return Err(reader.expected("`name: program`, for each of the bodies in order"));
                }
                reader.at += name.len();
                reader.token(':')?;
                bodies.push(reader.program()?);
            }
            reader.token('}')?;
            Ok(bodies)
        };
        let pop = |bodies: &mut Vec<Program>| bodies.pop().expect("invariant: one a name");
        Ok(match op {
            "call" => Control::Call { body: pop(&mut bodies(self, &["body"])?) },
            "cond" => {
                let mut bodies = bodies(self, &["on_true", "on_false"])?;
                let on_false = pop(&mut bodies);
                Control::Cond { on_true: pop(&mut bodies), on_false }
            }
            "while_loop" => {
                let carries = given.take("carries").map_err(refused)?;
                given.finish(&["carries"]).map_err(refused)?;
                let mut bodies = bodies(self, &["condition", "body"])?;
                let body = pop(&mut bodies);
                Control::WhileLoop { condition: pop(&mut bodies), body, carries }
            }
            _ => {
                let carries = given.take("carries").map_err(refused)?;
                let sequences = given.take("sequences").map_err(refused)?;
                let length = given.take("length").map_err(refused)?;
                let direction = given.take("direction").map_err(refused)?;
                let names = ["carries", "sequences", "length", "direction"];
                given.finish(&names).map_err(refused)?;
                let body = pop(&mut bodies(self, &["body"])?);
                Control::Scan { body, carries, sequences, length, direction }
            }
        })
    }

    fn value(&mut self, names: &Names) -> Result<Value> {
        let (name, at) = self.name()?;
        match names.get(&name) {
            Some(value) => Ok(*value),
            None => Err(wrong(Problem::UnknownValue { name }, at)),
        }
    }

    /// `dtype[extents]`
    fn meta(&mut self) -> Result<Meta> {
        self.space();
        let at = self.at;
        let name = self.identifier("a dtype")?;
        let dtype = tree::dtype(&name).ok_or_else(|| self.expected_at("a dtype", at))?;
        let mut extents: Vec<usize> = Vec::new();
        self.list('[', ']', |reader| {
            reader.space();
            let at = reader.at;
            let extent = reader.expression()?;
            let extent =
                usize::try_from(extent).map_err(|_| reader.expected_at("an extent", at))?;
            extents.push(extent);
            Ok(())
        })?;
        match Shape::new(&extents) {
            Ok(shape) => Ok(Meta { dtype, shape }),
            Err(problem) => Err(wrong(problem.of("program").into(), at)),
        }
    }

    /// The elements of a constant.
    fn constant(&mut self, meta: &Meta) -> Result<tenferro_tensor::Tensor> {
        self.space();
        let start = self.at;
        let end = match meta.shape.rank() {
            // To the end of the line, or of the program.
            0 => self.rest().find(['\n', '}', '#', ';']),
            _ => self.rest().find(']').map(|end| end + 1),
        };
        self.at += end.unwrap_or(self.rest().len());
        let text = self.text[start..self.at].trim_end();
        let inside = match meta.shape.rank() {
            0 => text,
            _ => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
                Some(inside) => inside,
                None => return Err(self.expected_at("elements in brackets", start)),
            },
        };
        let mut elements: Vec<&str> = Vec::new();
        let (mut depth, mut from) = (0_usize, 0);
        for (place, letter) in inside.char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    elements.push(inside[from..place].trim());
                    from = place + 1;
                }
                _ => {}
            }
        }
        let last = inside[from..].trim();
        if !last.is_empty() {
            elements.push(last);
        }
        match literal::read(meta, &elements) {
            Ok(Ok(tensor)) => Ok(tensor),
            Ok(Err(error)) => Err(wrong(error.into(), start)),
            Err(Some(place)) => {
                if let Some(tensor) = self.extent_constant(meta, start) {
                    return Ok(tensor);
                }
                let text = elements[place].to_owned();
                Err(wrong(Problem::Element { text, dtype: meta.dtype }, start))
            }
            Err(None) => {
                let (expected, actual) = (meta.shape.elements(), elements.len());
                Err(wrong(Problem::Elements { expected, actual }, start))
            }
        }
    }

    /// The constant that is a number made of sizes of axes, if one stands between `start` and here.
    fn extent_constant(&self, meta: &Meta, start: usize) -> Option<tenferro_tensor::Tensor> {
        if meta.shape.rank() > 0 || self.sizes.is_empty() {
            return None;
        }
        let text = &self.text[start..self.at];
        let mut reader = Reader::new(text, &[], self.sizes.clone());
        let number = reader.expression().ok()?;
        reader.space();
        if reader.rest().is_empty() { scalar(meta.dtype, number) } else { None }
    }

    /// `{ name: tree, .. }`
    fn fields(&mut self) -> Result<Vec<(String, Tree)>> {
        let mut fields = Vec::new();
        self.list('{', '}', |reader| {
            let name = reader.identifier("the name of a parameter")?;
            reader.token(':')?;
            fields.push((name, reader.tree()?));
            Ok(())
        })?;
        Ok(fields)
    }

    fn tree(&mut self) -> Result<Tree> {
        self.deeper(|reader| {
            Ok(match reader.peek() {
                Some('[') => {
                    let mut items = Vec::new();
                    reader.list('[', ']', |reader| {
                        items.push(reader.tree()?);
                        Ok(())
                    })?;
                    Tree::List(items)
                }
                Some('{') => Tree::Fields(reader.fields()?),
                Some('-' | '0'..='9') => Tree::Number(reader.expression()?),
                _ if reader.is_axis() => Tree::Number(reader.expression()?),
                _ => Tree::Word(reader.identifier("a parameter")?),
            })
        })
    }
}

fn define(names: &mut Names, name: String, value: Value, at: usize) -> Result<()> {
    match names.insert(name.clone(), value) {
        None => Ok(()),
        Some(_) => Err(wrong(Problem::TakenName { name }, at)),
    }
}
