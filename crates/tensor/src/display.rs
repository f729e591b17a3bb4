//! Tensors as text, the way NumPy prints arrays: row by row, the last axis innermost.
//!
//! This file lays out brackets, lines and omissions; how one element looks is the business of [`columns`]. Formatting
//! reads elements through a view, takes no lock, and writes as it goes: it never holds more than one element's text.

mod columns;
mod decimal;

use std::fmt;

use smallvec::SmallVec;

use crate::{Scalar, Shape, TensorView, dispatch, list::INLINE_RANK};
use columns::{Columns, Complexes, Integers, Reals, Truths};

/// Tensors with more elements than this are shortened.
const SHOWN_IN_FULL: usize = 1000;
/// How many indices at each end of an axis a shortened tensor shows.
const EDGE: usize = 3;
/// Where lines are broken.
const LINE: usize = 75;
/// Digits after the point, unless a format such as `{:.3}` asks for others.
const FRACTION_DIGITS: usize = 8;

impl fmt::Display for TensorView<'_> {
    /// The elements as NumPy's `str` writes them; `{:.3}` limits floats to 3 digits after the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style { separator: "", indent: 0, line: LINE, lone: Lone::Scalar };
        print(self, f, &style)
    }
}

impl fmt::Debug for TensorView<'_> {
    /// The elements as NumPy's `repr` writes them, with the dtype, and the shape where the elements do not show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OPENING: &str = "tensor(";
        let line = LINE - ")".len();
        let style = Style { separator: ",", indent: OPENING.len(), line, lone: Lone::Element };
        f.write_str(OPENING)?;
        print(self, f, &style)?;
        let elements = self.shape().elements();
        if elements > SHOWN_IN_FULL || (elements == 0 && self.shape()[..] != [0]) {
            write!(f, ", shape={}", self.shape())?;
        }
        write!(f, ", dtype={})", self.dtype())
    }
}

/// What `Display` and `Debug` do differently.
struct Style {
    /// Stands before the space between elements.
    separator: &'static str,
    /// The column at which the outermost bracket stands.
    indent: usize,
    /// The width that lines are kept to.
    line: usize,
    /// How a tensor without axes looks.
    lone: Lone,
}

/// How the one element of a tensor without axes looks.
enum Lone {
    /// As a number of its own: `1.0`.
    Scalar,
    /// As an array would show it: `1.`.
    Element,
}

fn print(view: &TensorView<'_>, f: &mut fmt::Formatter<'_>, style: &Style) -> fmt::Result {
    let digits = f.precision().unwrap_or(FRACTION_DIGITS);
    dispatch!(
        view.dtype(), float T => print_with(view, f, style, Reals::<T>::new(digits)),
        else dispatch!(
            view.dtype(),
            complex T => print_with::<T, _>(view, f, style, Complexes::new(digits)),
            else dispatch!(
                view.dtype(), integer T => print_with::<T, _>(view, f, style, Integers::default()),
                else print_with::<bool, _>(view, f, style, Truths)
            )
        )
    )
}

fn print_with<T: Scalar, C: Columns<T>>(
    view: &TensorView<'_>,
    f: &mut fmt::Formatter<'_>,
    style: &Style,
    mut columns: C,
) -> fmt::Result {
    let mut shown = Shown::new(view.shape());
    if view.shape().elements() == 0 {
        return f.write_str("[]");
    }
    loop {
        columns.measure(shown.element(view));
        if shown.advance().is_none() {
            break;
        }
    }
    let mut text = String::new();
    if view.shape().rank() == 0 {
        let element = shown.element(view);
        match style.lone {
            Lone::Scalar => C::scalar(element, &mut text),
            Lone::Element => columns.element(element, &mut text),
        }
        return f.write_str(text.trim_start());
    }
    let mut page = Page { f, style, rank: view.shape().rank(), column: 0, blanks: 0 };
    page.open(0)?;
    loop {
        text.clear();
        columns.element(shown.element(view), &mut text);
        page.word(&text)?;
        match shown.advance() {
            Some(step) => page.step(&step)?,
            None => return page.close(0),
        }
    }
}

/// The indices that are printed, in row-major order.
struct Shown<'a> {
    shape: &'a Shape,
    index: SmallVec<[usize; INLINE_RANK]>,
    shortened: bool,
}

/// A step from one printed index to the next.
struct Step {
    /// The axis that moved on; those after it start again.
    axis: usize,
    /// Whether indices between the two are left out.
    omits: bool,
}

impl<'a> Shown<'a> {
    fn new(shape: &'a Shape) -> Self {
        Self {
            shape,
            index: SmallVec::from_elem(0, shape.rank()),
            shortened: shape.elements() > SHOWN_IN_FULL,
        }
    }

    /// Moves to the next index; from the last one back to the first, with `None`.
    fn advance(&mut self) -> Option<Step> {
        for axis in (0..self.shape.rank()).rev() {
            let extent = self.shape[axis];
            let omits = self.shortened && extent > 2 * EDGE && self.index[axis] + 1 == EDGE;
            self.index[axis] = if omits { extent - EDGE } else { self.index[axis] + 1 };
            if self.index[axis] < extent {
                return Some(Step { axis, omits });
            }
            self.index[axis] = 0;
        }
        None
    }

    fn element<T: Scalar>(&self, view: &TensorView<'_>) -> T {
        view.get(&self.index).expect("invariant: the index is inside of the view, which holds T")
    }
}

/// Brackets and lines around the elements.
struct Page<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    style: &'a Style,
    rank: usize,
    /// How many characters the line has, `blanks` included.
    column: usize,
    /// Blanks at the end of the line, written only when something follows on it.
    blanks: usize,
}

impl Page<'_, '_> {
    /// Opens the brackets of axis `axis` and those after it.
    fn open(&mut self, axis: usize) -> fmt::Result {
        (axis..self.rank).try_for_each(|_| self.f.write_str("["))?;
        self.column = self.style.indent + self.rank;
        Ok(())
    }

    /// Closes the brackets of axis `axis` and those after it.
    fn close(&mut self, axis: usize) -> fmt::Result {
        self.write_blanks()?;
        (axis..self.rank).try_for_each(|_| self.f.write_str("]"))
    }

    /// Puts what stands between two elements, the second of which is still to come.
    fn step(&mut self, step: &Step) -> fmt::Result {
        if step.axis + 1 == self.rank {
            self.separate()?;
            if step.omits {
                self.word("...")?;
                self.separate()?;
            }
            return Ok(());
        }
        self.close(step.axis + 1)?;
        self.next_block(step.axis)?;
        if step.omits {
            self.f.write_str("...")?;
            self.next_block(step.axis)?;
        }
        self.open(step.axis + 1)
    }

    /// Puts one word on the line, or on the next line where this one is full.
    fn word(&mut self, word: &str) -> fmt::Result {
        let margin = self.style.indent + self.rank;
        // The closing brackets of all axes must still fit.
        let full = self.column + word.chars().count() + self.rank > self.style.line;
        if full && self.column > margin {
            write!(self.f, "\n{:margin$}", "")?;
            (self.column, self.blanks) = (margin, 0);
        }
        self.write_blanks()?;
        let visible = word.trim_end_matches(' ');
        self.f.write_str(visible)?;
        self.column += word.len();
        self.blanks = word.len() - visible.len();
        Ok(())
    }

    fn separate(&mut self) -> fmt::Result {
        if !self.style.separator.is_empty() {
            self.write_blanks()?;
            self.f.write_str(self.style.separator)?;
        }
        self.column += self.style.separator.len() + 1;
        self.blanks += 1;
        Ok(())
    }

    /// Ends a block of axis `axis`: blank lines set off blocks of higher rank.
    fn next_block(&mut self, axis: usize) -> fmt::Result {
        self.f.write_str(self.style.separator)?;
        (axis + 1..self.rank).try_for_each(|_| self.f.write_str("\n"))?;
        write!(self.f, "{:indent$}", "", indent = self.style.indent + axis + 1)
    }

    fn write_blanks(&mut self) -> fmt::Result {
        let blanks = std::mem::take(&mut self.blanks);
        write!(self.f, "{:blanks$}", "")
    }
}
