//! Words, numbers and lists of a text, with the place where something else had to stand.
//!
//! It knows no operation: what a program is made of is the parser's.

use std::sync::Arc;

use tenferro_ops::CustomOp;

use super::{print::is_in_name, problem::Problem};
use crate::template::Sizes;

/// How deep programs and parameters may be nested.
const DEPTH: usize = 100;

pub(super) type Result<T> = std::result::Result<T, Wrong>;

/// A problem and the byte at which it is.
pub(super) type Wrong = (Box<Problem>, usize);

/// A place in a text.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    depth: usize,
    pub(super) custom: &'t [Arc<dyn CustomOp>],
    /// Of the named axes of a template.
    pub(super) sizes: Sizes,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, custom: &'t [Arc<dyn CustomOp>], sizes: Sizes) -> Self {
        Self { text, at: 0, depth: 0, custom, sizes }
    }

    /// Items with commas between them, and perhaps one after the last.
    pub(super) fn list(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.token(open)?;
        while self.peek() != Some(close) {
            item(self)?;
            if self.peek() != Some(close) {
                self.token(',')?;
            }
        }
        self.token(close)
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH {
            return Err(wrong(Problem::Depth { limit: DEPTH }, self.at));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Passes over white space and annotations, which `#` begins.
    pub(super) fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest().chars().next()
    }

    pub(super) fn token(&mut self, token: char) -> Result<()> {
        if self.peek() == Some(token) {
            self.at += token.len_utf8();
            return Ok(());
        }
        Err(self.expected(match token {
            '(' => "`(`",
            ')' => "`)`",
            '[' => "`[`",
            ']' => "`]`",
            '{' => "`{`",
            '}' => "`}`",
            ':' => "`:`",
            '=' => "`=`",
            _ => "`,`",
        }))
    }

    /// The length of the name that starts here.
    pub(super) fn name_length(&mut self) -> usize {
        self.space();
        let rest = self.rest();
        rest.find(|letter| !is_in_name(letter)).unwrap_or(rest.len())
    }

    pub(super) fn is_word(&mut self, word: &str) -> bool {
        let length = self.name_length();
        self.rest()[..length] == *word
    }

    /// Passes over the word that has to stand here.
    pub(super) fn word(&mut self, expected: &'static str) -> Result<()> {
        if !self.is_word(expected) {
            return Err(self.expected(match expected {
                "program" => "`program`",
                _ => "`return`",
            }));
        }
        self.at += expected.len();
        Ok(())
    }

    pub(super) fn identifier(&mut self, expected: &'static str) -> Result<String> {
        let length = self.name_length();
        if length == 0 || self.rest().starts_with(|letter: char| letter.is_ascii_digit()) {
            return Err(self.expected(expected));
        }
        let name = self.rest()[..length].to_owned();
        self.at += length;
        Ok(name)
    }

    /// The name of a value, and where it stands.
    pub(super) fn name(&mut self) -> Result<(String, usize)> {
        let is_numbered = self.peek() == Some('%');
        let at = self.at;
        if !is_numbered {
            return Ok((self.identifier("the name of a value")?, at));
        }
        self.at += 1;
        let length = {
            let rest = self.rest();
            rest.find(|letter| !is_in_name(letter)).unwrap_or(rest.len())
        };
        self.at += length;
        Ok((self.text[at..self.at].to_owned(), at))
    }

    pub(super) fn number(&mut self) -> Result<i128> {
        self.space();
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let length = rest.len() - digits.len()
            + digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        match rest[..length].parse() {
            Ok(number) => {
                self.at += length;
                Ok(number)
            }
            Err(_) => Err(self.expected("a whole number")),
        }
    }

    /// Whether the name of an axis starts here.
    pub(super) fn is_axis(&mut self) -> bool {
        let length = self.name_length();
        self.sizes.get(&self.rest()[..length]).is_some()
    }

    /// Sums of products of numbers and sizes of axes: `2*n + 1`.
    pub(super) fn expression(&mut self) -> Result<i128> {
        self.space();
        let start = self.at;
        let overflow = |reader: &Self| reader.expected_at("a number of less digits", start);
        let mut sum = self.product()?;
        loop {
            let sign = match self.peek() {
                Some('+') => 1,
                Some('-') => -1,
                _ => return Ok(sum),
            };
            self.at += 1;
            let product = self.product()?.checked_mul(sign);
            sum = product
                .and_then(|product| sum.checked_add(product))
                .ok_or_else(|| overflow(self))?;
        }
    }

    pub(super) fn product(&mut self) -> Result<i128> {
        self.space();
        let start = self.at;
        let mut product: i128 = 1;
        loop {
            let factor = if self.is_axis() {
                let length = self.name_length();
                let size = self.sizes.get(&self.rest()[..length]);
                self.at += length;
                size.expect("invariant: it is an axis") as i128
            } else {
                self.number()?
            };
            let next = product.checked_mul(factor);
            product = next.ok_or_else(|| self.expected_at("a number of less digits", start))?;
            if self.peek() != Some('*') {
                return Ok(product);
            }
            self.at += 1;
        }
    }

    /// A text in quotation marks, as Rust writes it.
    pub(super) fn string(&mut self) -> Result<String> {
        let start = self.at;
        let mut text = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += place + 1;
                    return Ok(text);
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, '0')) => text.push('\0'),
                    Some((_, 'u')) => {
                        let code: String = letters
                            .by_ref()
                            .skip(1)
                            .map(|(_, letter)| letter)
                            .take_while(|&letter| letter != '}')
                            .collect();
                        let letter = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                        match letter {
                            Some(letter) => text.push(letter),
                            None => return Err(self.expected_at("a text", start)),
                        }
                    }
                    Some((_, letter)) => text.push(letter),
                    None => break,
                },
                letter => text.push(letter),
            }
        }
        Err(self.expected_at("a text that ends with a quotation mark", start))
    }

    pub(super) fn expected(&mut self, expected: &'static str) -> Wrong {
        self.space();
        self.expected_at(expected, self.at)
    }

    pub(super) fn expected_at(&self, expected: &'static str, at: usize) -> Wrong {
        let rest = &self.text[at..];
        let length = rest.find(|letter| !is_in_name(letter)).unwrap_or(rest.len());
        let found = match rest.chars().next() {
            None => "the end of the text".to_owned(),
            Some(letter) if length == 0 => format!("`{letter}`"),
            Some(_) => format!("`{}`", &rest[..length]),
        };
        wrong(Problem::Expected { expected, found }, at)
    }
}

pub(super) fn wrong(problem: Problem, at: usize) -> Wrong {
    (Box::new(problem), at)
}
