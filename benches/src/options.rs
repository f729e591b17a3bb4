//! The command line of a suite: `[--quick] [--json FILE] [--patterns FILE] [--peer COMMAND] [--library FILE] [--threads N] [PART-OF-A-CASE-NAME ...]`.

use std::path::PathBuf;

use super::{Error, Pattern, Plan};

/// What a suite's command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What is done with the cases.
    pub mode: Mode,
    /// How much is measured.
    pub plan: Plan,
    /// Where the rows go besides the screen.
    pub json: Option<PathBuf>,
    /// A file whose rows are brought up to date.
    pub record: Option<PathBuf>,
    /// The patterns of permutation to run instead of the built-in ones.
    pub patterns: Option<Vec<Pattern>>,
    /// C libraries whose raw calls and providers take part.
    pub libraries: Vec<PathBuf>,
    /// Commands that start peers in processes of their own.
    pub peers: Vec<Vec<String>>,
    /// The number of threads of the cases to run; with none, every case runs.
    pub threads: Option<usize>,
    /// Parts of case names; with none, every case runs.
    pub filters: Vec<String>,
}

/// What is done with the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are measured.
    Measure,
    /// Their names are printed.
    List,
    /// Ours is done so often, alone and untimed, for a program that counts instructions.
    Repeat(u64),
}

impl Options {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// [`Error::Usage`] for an unknown option and for one without its value; what
    /// [`Pattern::read`] refuses.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let mut options = Self {
            mode: Mode::Measure,
            plan: Plan::full(),
            json: None,
            record: None,
            patterns: None,
            libraries: Vec::new(),
            peers: Vec::new(),
            threads: None,
            filters: Vec::new(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => options.plan = Plan::quick(),
                "--list" => options.mode = Mode::List,
                "--repeat" => {
                    let count = value(word.clone(), &mut words)?.parse();
                    let problem = "needs a number";
                    let count = count.map_err(|_| Error::Usage { word, problem })?;
                    options.mode = Mode::Repeat(count);
                }
                "--threads" => {
                    let count = value(word.clone(), &mut words)?.parse();
                    let problem = "needs a number";
                    options.threads = Some(count.map_err(|_| Error::Usage { word, problem })?);
                }
                "--json" => options.json = Some(value(word, &mut words)?.into()),
                "--library" => options.libraries.push(value(word, &mut words)?.into()),
                "--record" => options.record = Some(value(word, &mut words)?.into()),
                "--patterns" => {
                    options.patterns = Some(Pattern::read(value(word, &mut words)?.as_ref())?);
                }
                "--peer" => {
                    let command = value(word.clone(), &mut words)?;
                    let problem = "needs a JSON list of strings, the peer's command";
                    let command = serde_json::from_str(&command);
                    options.peers.push(command.map_err(|_| Error::Usage { word, problem })?);
                }
                option if option.starts_with('-') => {
                    return Err(Error::Usage { word, problem: "is no option of a suite" });
                }
                _ => options.filters.push(word),
            }
        }
        Ok(options)
    }

    /// Whether a case on so many threads is asked for.
    pub fn wants(&self, case: &str, threads: usize) -> bool {
        self.threads.is_none_or(|wanted| wanted == threads)
            && (self.filters.is_empty() || self.filters.iter().any(|part| case.contains(part)))
    }
}

/// The word after an option.
fn value(word: String, words: &mut impl Iterator<Item = String>) -> Result<String, Error> {
    words.next().ok_or(Error::Usage { word, problem: "needs a value" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_and_filters_are_read_in_any_order() {
        let options = parse("scope/ --quick --json a.json /64").unwrap();
        assert_eq!(options.plan, Plan::quick());
        assert_eq!(options.json, Some(PathBuf::from("a.json")));
        assert!(options.wants("scope/add/f64/2", 1) && options.wants("standalone/add/f64/64", 2));
        assert!(!options.wants("standalone/add/f64/2", 1));
        assert!(parse("").unwrap().wants("anything", 8));
        let one = parse("--threads 1 scope/").unwrap();
        assert!(one.wants("scope/add/f64/2", 1) && !one.wants("scope/add/f64/2", 2));
        let options = parse(r#"--peer ["a","b"] --peer ["c"]"#).unwrap();
        assert_eq!(options.peers, [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]]);
    }

    #[test]
    fn cases_can_be_listed_and_repeated_instead() {
        assert_eq!(parse("").unwrap().mode, Mode::Measure);
        assert_eq!(parse("--list").unwrap().mode, Mode::List);
        assert_eq!(parse("--repeat 70").unwrap().mode, Mode::Repeat(70));
    }

    #[test]
    fn both_plans_have_at_least_21_rounds() {
        assert!(Plan::quick().rounds >= 21 && Plan::full().rounds >= 21);
    }

    #[test]
    fn unknown_options_and_a_missing_file_are_refused() {
        for line in [
            "--quik",
            "-q",
            "--json",
            "--patterns",
            "--peer",
            "--peer python",
            "--repeat",
            "--repeat x",
            "--threads",
            "--threads x",
            "--library",
        ] {
            assert!(matches!(parse(line), Err(Error::Usage { .. })), "{line}");
        }
        assert!(matches!(parse("--patterns /nonexistent"), Err(Error::Patterns { .. })));
    }
}
