//! Subscripts: which labels the axes of operands and output have.
//!
//! Made of text or of lists of labels, and checked for what can be checked without operands: in every value at hand the
//! labels are allowed ones, a term has at most one ellipsis and the output has no label of its own.

use std::{borrow::Cow, fmt, str::FromStr};

use crate::{Error, Label, Result, error::Term};

/// The labels of operands and output.
///
/// ```
/// use tenferro_einsum::{Label, Subscripts};
///
/// let text: Subscripts = "ij, jk -> ik".parse()?;
/// let [i, j, k] = ['i', 'j', 'k'].map(Label::from);
/// assert_eq!(text, Subscripts::new(vec![vec![i, j], vec![j, k]], vec![i, k])?);
/// # Ok::<(), tenferro_einsum::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subscripts {
    inputs: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl Subscripts {
    /// The subscripts with these labels: one list an operand, and one for the output.
    ///
    /// # Errors
    /// [`Error::NoOperands`], [`Error::BadLabel`], [`Error::ManyEllipses`], [`Error::UnknownOutputLabel`].
    pub fn new(inputs: Vec<Vec<Label>>, output: Vec<Label>) -> Result<Self> {
        if inputs.is_empty() {
            return Err(Error::NoOperands);
        }
        for (position, labels) in inputs.iter().enumerate() {
            check(Term::Operand(position), labels)?;
        }
        check(Term::Output, &output)?;
        let unknown = output.iter().find(|&&label| {
            label != Label::Ellipsis && !inputs.iter().any(|labels| labels.contains(&label))
        });
        match unknown {
            Some(&label) => Err(Error::UnknownOutputLabel { label }),
            None => Ok(Self { inputs, output }),
        }
    }

    /// The labels of each operand.
    #[must_use]
    pub fn inputs(&self) -> &[Vec<Label>] {
        &self.inputs
    }

    /// The labels of the output.
    #[must_use]
    pub fn output(&self) -> &[Label] {
        &self.output
    }
}

/// Refuses labels that a term cannot have.
fn check(term: Term, labels: &[Label]) -> Result<()> {
    for &label in labels {
        if let Label::Char(character) = label
            && !Label::accepts(character)
        {
            return Err(Error::BadLabel { character });
        }
    }
    if labels.iter().filter(|&&label| label == Label::Ellipsis).count() > 1 {
        return Err(Error::ManyEllipses { term });
    }
    Ok(())
}

impl FromStr for Subscripts {
    type Err = Error;

    /// Reads the explicit form: terms of operands separated by commas, an arrow, the term of the output.
    fn from_str(text: &str) -> Result<Self> {
        if !text.contains("->") {
            // A misspelt arrow is named as what it is.
            let stray = text.chars().position(|c| "->→".contains(c));
            return Err(match stray {
                Some(position) => bad_character(text, position),
                None => Error::NoArrow { text: text.to_owned() },
            });
        }
        let characters: Vec<char> = text.chars().collect();
        let mut terms = vec![Vec::new()];
        let mut arrow = false;
        let mut position = 0;
        while let Some(&character) = characters.get(position) {
            let rest = &characters[position..];
            let term = terms.last_mut().expect("invariant: there is always a last term");
            position += match character {
                _ if character.is_whitespace() => 1,
                ',' if !arrow => {
                    terms.push(Vec::new());
                    1
                }
                '-' if !arrow && rest.starts_with(&['-', '>']) => {
                    arrow = true;
                    terms.push(Vec::new());
                    2
                }
                '.' if rest.starts_with(&['.', '.', '.']) => {
                    term.push(Label::Ellipsis);
                    3
                }
                _ if Label::accepts(character) => {
                    term.push(Label::Char(character));
                    1
                }
                _ => return Err(bad_character(text, position)),
            };
        }
        let output = terms.pop().expect("invariant: the arrow made a last term");
        Self::new(terms, output)
    }
}

fn bad_character(text: &str, position: usize) -> Error {
    let character =
        text.chars().nth(position).expect("invariant: the position is one of the text's");
    Error::BadCharacter { text: text.to_owned(), character, position }
}

impl fmt::Display for Subscripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, labels) in self.inputs.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            write_labels(f, labels)?;
        }
        f.write_str("->")?;
        write_labels(f, &self.output)
    }
}

fn write_labels(f: &mut fmt::Formatter<'_>, labels: &[Label]) -> fmt::Result {
    labels.iter().try_for_each(|label| write!(f, "{label}"))
}

/// What can be taken as subscripts: text, or [`Subscripts`] made before.
pub trait AsSubscripts {
    /// The subscripts, read now if they are text.
    ///
    /// # Errors
    /// What [`Subscripts`] refuses to read.
    fn as_subscripts(&self) -> Result<Cow<'_, Subscripts>>;
}

impl AsSubscripts for Subscripts {
    fn as_subscripts(&self) -> Result<Cow<'_, Subscripts>> {
        Ok(Cow::Borrowed(self))
    }
}

impl AsSubscripts for str {
    fn as_subscripts(&self) -> Result<Cow<'_, Subscripts>> {
        self.parse().map(Cow::Owned)
    }
}

impl AsSubscripts for String {
    fn as_subscripts(&self) -> Result<Cow<'_, Subscripts>> {
        self.as_str().as_subscripts()
    }
}
