//! The words after a command's name, taken one by one.
//!
//! Not a parser of declared options: each command takes what it knows, and [`Arguments::finish`]
//! refuses what is left, so that a misspelt option is never ignored.

use super::Failure;

/// The words that no one has taken yet.
#[derive(Debug)]
pub(super) struct Arguments {
    words: Vec<String>,
    passed_on: Vec<String>,
}

impl Arguments {
    /// Splits the words at the first `--`.
    pub(super) fn new(mut words: Vec<String>) -> Self {
        let passed_on = match words.iter().position(|word| word == "--") {
            Some(at) => words.drain(at..).skip(1).collect(),
            None => Vec::new(),
        };
        Self { words, passed_on }
    }

    /// Whether `--help` or `-h` stands before any `--`.
    pub(super) fn asks_for_help(&self) -> bool {
        self.words.iter().any(|word| word == "--help" || word == "-h")
    }

    /// Takes a flag such as `--quick`; true if it was there.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// Takes an option with a value, written `--name value` or `--name=value`.
    pub(super) fn option(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let joined = format!("{name}=");
        if let Some(at) = self.words.iter().position(|word| word.starts_with(&joined)) {
            return Ok(Some(self.words.remove(at).split_off(joined.len())));
        }
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        self.words.remove(at);
        if at < self.words.len() && !self.words[at].starts_with("--") {
            return Ok(Some(self.words.remove(at)));
        }
        Err(Failure::Usage(format!("`{name}` needs a value")))
    }

    /// Takes a word that is not an option if it is the next one.
    pub(super) fn word(&mut self, name: &str) -> bool {
        let next = self.words.iter().position(|word| !word.starts_with('-'));
        let at = next.filter(|&at| self.words[at] == name);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// Takes the next word that is not an option.
    pub(super) fn positional(&mut self) -> Option<String> {
        let at = self.words.iter().position(|word| !word.starts_with('-'))?;
        Some(self.words.remove(at))
    }

    /// The words after `--`, once every word before it was taken.
    pub(super) fn finish(self) -> Result<Vec<String>, Failure> {
        match self.words.first() {
            None => Ok(self.passed_on),
            Some(word) => Err(Failure::Usage(format!(
                "`{word}` is not understood here; `--help` lists what is, and words for the \
                 program underneath go after `--`"
            ))),
        }
    }

    /// Like [`Self::finish`], for a command that passes nothing on.
    pub(super) fn finish_alone(self) -> Result<(), Failure> {
        match self.finish()?.first() {
            None => Ok(()),
            Some(word) => Err(Failure::Usage(format!("nothing takes `-- {word}` here"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn options_are_taken_in_both_spellings_and_any_place() {
        let mut given = arguments("--json a.json small --quick");
        assert_eq!(given.option("--json").unwrap().as_deref(), Some("a.json"));
        assert!(given.flag("--quick"));
        assert!(!given.flag("--quick"));
        assert!(!given.word("reduce") && given.word("small"));
        assert_eq!(given.positional(), None);
        given.finish_alone().unwrap();

        let mut given = arguments("--json=b.json");
        assert_eq!(given.option("--json").unwrap().as_deref(), Some("b.json"));
        assert_eq!(given.option("--json").unwrap(), None);
    }

    #[test]
    fn an_option_without_its_value_is_refused() {
        assert!(arguments("--json").option("--json").is_err());
        assert!(arguments("--json --quick").option("--json").is_err());
    }

    #[test]
    fn words_after_the_dashes_are_kept_as_they_are() {
        let given = arguments("-- --quick -p x -- y");
        assert!(!given.asks_for_help());
        assert_eq!(given.finish().unwrap(), ["--quick", "-p", "x", "--", "y"]);
    }

    #[test]
    fn a_word_that_no_one_took_is_refused() {
        assert!(arguments("--quik").finish().is_err());
        assert!(arguments("-- --quick").finish_alone().is_err());
    }
}
