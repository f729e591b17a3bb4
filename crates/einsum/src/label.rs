//! The names that subscripts give to axes.
//!
//! A label is a name and nothing else: which extent it stands for is decided when subscripts meet operands.

use std::fmt;

/// The name of an axis in subscripts.
///
/// ```
/// use tenferro_einsum::Label;
/// assert_eq!(Label::from('i').to_string(), "i");
/// assert_eq!(Label::from(300).to_string(), "#300");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// A character: any but white space, comma, dot, parentheses and the characters of an arrow.
    Char(char),
    /// A number, for networks with more axes than characters that read well. Not the same label as any character.
    Number(u32),
    /// `...`: the axes that have no label of their own. They align right and broadcast.
    Ellipsis,
}

impl Label {
    /// Whether a character can be a label.
    pub(super) fn accepts(character: char) -> bool {
        !character.is_whitespace() && !",.()->→".contains(character)
    }
}

impl From<char> for Label {
    fn from(character: char) -> Self {
        Label::Char(character)
    }
}

impl From<u32> for Label {
    fn from(number: u32) -> Self {
        Label::Number(number)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Char(character) => write!(f, "{character}"),
            Label::Number(number) => write!(f, "#{number}"),
            Label::Ellipsis => f.write_str("..."),
        }
    }
}
