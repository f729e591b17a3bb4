//! Rules about Rust files.
//!
//! A word in a string literal breaks no rule; a word in a comment or a documentation example
//! does.

use super::super::source::Source;
use super::repository::Repository;

const MAX_LINES: usize = 700;

/// Words that mark unfinished work.
const UNFINISHED: &[&str] =
    &["#[ignore", "todo!(", "unimplemented!(", "dbg!(", "FIXME", "XXX", "TODO"];

/// Packages, by folder, whose job includes unsafe code: storage, atomics, the calling of BLAS,
/// kernels, and the limits that time raw kernels.
const MAY_BE_UNSAFE: &[&str] = &[
    "crates/tensor",
    "crates/arbiter",
    "crates/provider",
    "crates/providers",
    "crates/providers-linked",
    "crates/engine",
    "benches/limits",
];

pub(super) fn module_doc(repository: &Repository, breaches: &mut Vec<String>) {
    for source in &repository.sources {
        if !source.text.starts_with("//!") {
            breaches.push(format!("{}:1 does not begin with `//!`", source.path));
        }
    }
}

pub(super) fn file_length(repository: &Repository, breaches: &mut Vec<String>) {
    for source in &repository.sources {
        let lines = source.text.lines().count();
        if lines > MAX_LINES {
            breaches.push(format!("{} has {lines} lines", source.path));
        }
    }
}

pub(super) fn unfinished(repository: &Repository, breaches: &mut Vec<String>) {
    for source in &repository.sources {
        for word in UNFINISHED {
            report(source, &source.without_strings, word, breaches);
        }
    }
}

pub(super) fn doc_hidden(repository: &Repository, breaches: &mut Vec<String>) {
    for source in &repository.sources {
        report(source, &source.code, "doc(hidden)", breaches);
    }
}

pub(super) fn allow_reason(repository: &Repository, breaches: &mut Vec<String>) {
    for source in &repository.sources {
        for opening in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
            for (at, _) in source.code.match_indices(opening) {
                let attribute = &source.code[at..];
                let end = attribute.find(")]").unwrap_or(attribute.len());
                if !attribute[..end].contains("reason =") {
                    let line = source.line_of(at);
                    breaches.push(format!("{}:{line} has no reason: `{opening}`", source.path));
                }
            }
        }
    }
}

pub(super) fn forbid_unsafe(repository: &Repository, breaches: &mut Vec<String>) {
    let folders = repository.packages.iter().map(|package| package.folder.as_str());
    for folder in folders.filter(|folder| !MAY_BE_UNSAFE.contains(folder)) {
        let roots = repository
            .sources
            .iter()
            .filter(|source| source.path.strip_prefix(folder).is_some_and(is_crate_root));
        for source in roots {
            if !source.code.contains("#![forbid(unsafe_code)]") {
                breaches.push(format!("{} does not forbid unsafe code", source.path));
            }
        }
    }
}

/// Whether a file, given by its path below the package's folder, is the root of a crate.
fn is_crate_root(path: &str) -> bool {
    let program = path.strip_prefix("/src/bin/");
    matches!(path, "/src/lib.rs" | "/src/main.rs")
        || program.is_some_and(|name| !name.contains('/') || name.ends_with("/main.rs"))
}

/// A breach for every whole word `word` in `text`, which is one of the source's blanked texts.
fn report(source: &Source, text: &str, word: &str, breaches: &mut Vec<String>) {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_name = |c: char| c.is_alphanumeric();
    for (at, _) in text.match_indices(word) {
        let before = word.starts_with(is_name) && joins(text[..at].chars().next_back());
        let after = word.ends_with(is_name) && joins(text[at + word.len()..].chars().next());
        if !before && !after {
            breaches.push(format!("{}:{} says `{word}`", source.path, source.line_of(at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::workspace::Member;
    use super::*;

    fn breaches(rule: fn(&Repository, &mut Vec<String>), path: &str, text: &str) -> Vec<String> {
        let folder = path.split("/src/").next().unwrap_or_default().to_owned();
        let repository = Repository {
            sources: vec![Source::new(path, text)],
            packages: vec![Member { folder, ..Member::default() }],
            ..Repository::default()
        };
        let mut found = Vec::new();
        rule(&repository, &mut found);
        found
    }

    const PATH: &str = "crates/scope/src/lib.rs";

    #[test]
    fn a_file_without_module_doc_is_found() {
        assert_eq!(breaches(module_doc, PATH, "//! A noun.\n"), Vec::<String>::new());
        assert_eq!(breaches(module_doc, PATH, "// No.\n").len(), 1);
        assert_eq!(breaches(module_doc, PATH, "").len(), 1);
    }

    #[test]
    fn a_file_of_701_lines_is_found() {
        assert_eq!(breaches(file_length, PATH, &"\n".repeat(700)), Vec::<String>::new());
        assert_eq!(breaches(file_length, PATH, &"\n".repeat(701)).len(), 1);
    }

    #[test]
    fn each_unfinished_word_is_found_in_code_and_comments_but_not_in_strings() {
        for word in UNFINISHED {
            let code = format!("fn f() {{}}\n// {word} x");
            let found = breaches(unfinished, PATH, &code);
            assert_eq!(found, [format!("{PATH}:2 says `{word}`")]);
            let string = format!("const X: &str = \"{word}\";");
            assert_eq!(breaches(unfinished, PATH, &string), Vec::<String>::new());
        }
        assert_eq!(breaches(unfinished, PATH, "// XXXL, mytodo!(), TODOS"), Vec::<String>::new());
    }

    #[test]
    fn a_hidden_item_is_found() {
        assert_eq!(breaches(doc_hidden, PATH, "#[doc(hidden)]\npub fn f() {}").len(), 1);
        assert_eq!(breaches(doc_hidden, PATH, "#[doc = \"doc(hidden)\"]"), Vec::<String>::new());
    }

    #[test]
    fn an_allow_without_reason_is_found_also_over_lines() {
        let with = "#[allow(\n    dead_code,\n    reason = \"a port (of the board)\"\n)]";
        assert_eq!(breaches(allow_reason, PATH, with), Vec::<String>::new());
        for without in ["#[allow(dead_code)]", "#![allow(\n a,\n b\n)]", "#[expect(unused)]"] {
            assert_eq!(breaches(allow_reason, PATH, without).len(), 1, "{without}");
        }
        let other = "#[allow(dead_code)]\n#[deprecated(reason = \"x\")]";
        assert_eq!(breaches(allow_reason, PATH, other).len(), 1);
    }

    #[test]
    fn a_root_that_does_not_forbid_unsafe_code_is_found() {
        let forbids = "//! A.\n#![forbid(unsafe_code)]";
        assert_eq!(breaches(forbid_unsafe, PATH, forbids), Vec::<String>::new());
        assert_eq!(breaches(forbid_unsafe, PATH, "//! #![forbid(unsafe_code)]").len(), 1);
        assert_eq!(breaches(forbid_unsafe, "crates/cli/src/main.rs", "").len(), 1);
        assert_eq!(breaches(forbid_unsafe, "benches/src/bin/small.rs", "").len(), 1);
        assert_eq!(breaches(forbid_unsafe, "crates/scope/src/part.rs", ""), Vec::<String>::new());
        assert_eq!(breaches(forbid_unsafe, "crates/engine/src/lib.rs", ""), Vec::<String>::new());
    }
}
