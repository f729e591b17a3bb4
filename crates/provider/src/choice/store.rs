//! The table of choices on disk: a small text file for one CPU and one set of providers and their versions.
//!
//! A file is named by what it holds for, and says it again inside; one that says something else is ignored and in time
//! written over. Whatever goes wrong with it costs a new calibration, never an error: the table is a memory of
//! measurements, which can be made again.

use std::{
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

use super::{Candidate, Class, Entry, Record};

const FORMAT: &str = "tenferro choices 1";

/// A folder for the choices that were made on one CPU, a file for each set of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
    cpu: String,
}

impl Store {
    /// Files in `folder` for the choices on `cpu`, the name of the model.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, cpu: impl Into<String>) -> Self {
        Self { folder: folder.into(), cpu: cpu.into().replace('\n', " ") }
    }

    /// Where the choices among these providers are, or will be.
    pub(super) fn file(&self, candidates: &[Candidate]) -> PathBuf {
        // FNV-1a: the same in every process and every version.
        let hash = self.head(candidates).bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        self.folder.join(format!("choices-{hash:016x}.txt"))
    }

    /// The lines that must agree for a file to be believed.
    fn head(&self, candidates: &[Candidate]) -> String {
        let providers: Vec<_> =
            candidates.iter().map(|known| format!("{} {}", known.name, known.version)).collect();
        let providers = providers.join("; ").replace('\n', " ");
        format!("{FORMAT}\ncpu: {}\nproviders: {providers}\n", self.cpu)
    }

    /// The entries of a file that is about these providers; none if there is no such file.
    pub(super) fn load(&self, candidates: &[Candidate]) -> Vec<Entry> {
        let text = fs::read_to_string(self.file(candidates)).unwrap_or_default();
        let body = text.strip_prefix(&self.head(candidates)).unwrap_or_default();
        body.lines().filter_map(parse).collect()
    }

    /// Writes the settled entries. A file that cannot be written is left alone.
    pub(super) fn save(&self, candidates: &[Candidate], table: &[Entry]) {
        let mut text = self.head(candidates);
        for entry in table {
            let Some(chosen) = &entry.chosen else { continue };
            let measured = entry.records.iter().filter(|(_, record)| !record.refused);
            let rates: Vec<_> = measured
                .map(|(name, record)| format!("{name}={}/{}", record.rate, record.calls))
                .collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {chosen}: {}", entry.class, rates.join(" "));
        }
        let _ = self.replace(&self.file(candidates), &text);
    }

    /// Puts a whole file in place, so that no reader sees a part of one.
    fn replace(&self, file: &Path, text: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let thread = std::thread::current().id();
        let name = format!("{}.{}.{thread:?}", file.display(), std::process::id());
        fs::write(&name, text)?;
        fs::rename(&name, file)
    }

    /// Removes the choices among these providers; no file is no error.
    pub(super) fn remove(&self, candidates: &[Candidate]) -> io::Result<()> {
        match fs::remove_file(self.file(candidates)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn parse(line: &str) -> Option<Entry> {
    let mut parts = line.splitn(3, ": ");
    let class = Class::parse(parts.next()?)?;
    let chosen = Some(parts.next()?.to_owned());
    let record = |word: &str| {
        let (name, numbers) = word.split_once('=')?;
        let (rate, calls) = numbers.split_once('/')?;
        let record =
            Record { calls: calls.parse().ok()?, rate: rate.parse().ok()?, refused: false };
        Some((name.to_owned(), record))
    };
    let records = parts.next()?.split_whitespace().map(record).collect::<Option<Vec<_>>>()?;
    Some(Entry { class, chosen, records })
}
