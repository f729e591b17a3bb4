//! Rows of the tables, read from the text of a macro.
//!
//! A row is `[Variant] method(operand: Type, ..) [parameter: Type, ..] -> Result, [dtypes,] "documentation";`, and a
//! family `Family Trait "about" { rows }`.

/// A family of the vocabulary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) about: String,
    pub(super) rows: Vec<Row>,
}

/// An operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) method: String,
    /// The names of the operands; one that starts with `many ` stands for any number.
    pub(super) operands: Vec<String>,
    /// Names and types of the parameters.
    pub(super) parameters: Vec<(String, String)>,
    /// The type of the result, as the table has it.
    pub(super) result: String,
    /// The class of dtypes; composites have none.
    pub(super) accepts: Option<String>,
    pub(super) about: String,
}

/// The families of the vocabulary table.
pub(super) fn families(source: &str) -> Result<Vec<Family>, String> {
    let mut text = Text::after(source, "$($($args)*)?")?;
    let mut families = Vec::new();
    while !text.eat("}") {
        let (name, owner) = (text.word()?, text.word()?);
        let about = text.literal()?;
        text.need("{")?;
        let mut rows = Vec::new();
        while !text.eat("}") {
            text.word()?;
            rows.push(text.row(Class::Named)?);
        }
        families.push(Family { name, owner, about, rows });
    }
    Ok(families)
}

/// The rows of the table of composites.
pub(super) fn composites(source: &str) -> Result<Vec<Row>, String> {
    let mut text = Text::after(source, "$($($args)*)?")?;
    let mut rows = Vec::new();
    while !text.eat("}") {
        rows.push(text.row(Class::None)?);
    }
    Ok(rows)
}

/// Whether rows of a table name a class of dtypes.
#[derive(Clone, Copy)]
enum Class {
    Named,
    None,
}

/// What is left to read.
struct Text<'t>(&'t str);

impl<'t> Text<'t> {
    /// What follows a mark.
    fn after(source: &'t str, mark: &str) -> Result<Self, String> {
        let at = source.find(mark).ok_or_else(|| format!("no table: `{mark}` is not there"))?;
        Ok(Self(&source[at + mark.len()..]))
    }

    /// Skips a token if it is next.
    fn eat(&mut self, token: &str) -> bool {
        self.0 = self.0.trim_start();
        match self.0.strip_prefix(token) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(self.problem(&format!("`{token}`"))) }
    }

    fn problem(&self, expected: &str) -> String {
        let near: String = self.0.chars().take(60).collect();
        format!("expected {expected} before `{near}`")
    }

    fn word(&mut self) -> Result<String, String> {
        self.0 = self.0.trim_start();
        let end = self.0.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (word, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        if word.is_empty() {
            return Err(self.problem("a word"));
        }
        self.0 = rest;
        Ok(word.to_owned())
    }

    /// What stands before an end mark, which is skipped.
    fn until(&mut self, end: &str) -> Result<&'t str, String> {
        let (before, rest) =
            self.0.split_once(end).ok_or_else(|| self.problem(&format!("a later `{end}`")))?;
        self.0 = rest;
        Ok(before.trim())
    }

    /// A string literal, in which `\n` and `\"` are the only escapes.
    fn literal(&mut self) -> Result<String, String> {
        self.need("\"")?;
        let mut value = String::new();
        let mut letters = self.0.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.0 = &self.0[at + 1..];
                    return Ok(value);
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, escaped)) => value.push(escaped),
                    None => break,
                },
                other => value.push(other),
            }
        }
        Err(self.problem("the end of a string"))
    }

    fn row(&mut self, class: Class) -> Result<Row, String> {
        let method = self.word()?;
        self.need("(")?;
        let operands = list(self.until(")")?).map(|operand| named(operand).0).collect();
        let parameters =
            if self.eat("[") { list(self.until("]")?).map(named).collect() } else { Vec::new() };
        self.need("->")?;
        let result = self.until(",")?.to_owned();
        let accepts = match class {
            Class::Named => Some(self.until(",")?.to_owned()),
            Class::None => None,
        };
        let about = self.literal()?;
        self.need(";")?;
        Ok(Row { method, operands, parameters, result, accepts, about })
    }
}

/// The entries of a list.
fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// The name and the type of an entry.
fn named(entry: &str) -> (String, String) {
    let (name, kind) = entry.split_once(':').unwrap_or((entry, ""));
    let kind = kind.trim().replace("$crate::composite::", "").replace("$crate::", "");
    (name.trim().to_owned(), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        $($($args)*)?

        Elementwise TensorElementwise "On each \"element\"." {
            Add add(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                "The sum.\n\nAfter somebody.";
            Join join(many parts: Part) [axis: usize, other: $crate::Ties] -> $crate::Tensor, Any,
                "All; of them.";
        }
    }
    "#;

    #[test]
    fn a_table_is_read_as_the_macro_reads_it() {
        let families = families(TABLE).unwrap();
        assert_eq!(families.len(), 1);
        let family = &families[0];
        assert_eq!((&family.name[..], &family.owner[..]), ("Elementwise", "TensorElementwise"));
        assert_eq!(family.about, "On each \"element\".");
        let [add, join] = &family.rows[..] else { panic!("{family:?}") };
        assert_eq!(add.operands, ["lhs", "rhs"]);
        assert_eq!(add.about, "The sum.\n\nAfter somebody.");
        assert_eq!(join.operands, ["many parts"]);
        let parameters = [("axis".into(), "usize".into()), ("other".into(), "Ties".into())];
        assert_eq!(join.parameters, parameters);
        assert_eq!(join.accepts.as_deref(), Some("Any"));
    }

    #[test]
    fn what_is_no_row_is_said() {
        let broken = TABLE.replace("-> Lhs::Same", "Lhs::Same");
        assert!(families(&broken).unwrap_err().contains("expected `->`"));
        assert!(families("nothing").unwrap_err().contains("no table"));
    }
}
