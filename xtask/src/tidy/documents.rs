//! Rules about Markdown files: that they are there, and that what they name still is.

use std::collections::BTreeSet;

use super::super::operations::{COMPOSITES, PAGE, TABLE, written};
use super::repository::{Document, Repository};

/// Files that every reader looks for.
const TOP_LEVEL: &[&str] =
    &["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT", "deny.toml"];

/// Where the path of a backticked word must begin for the word to be taken as a path.
const FOLDERS: &[&str] =
    &["crates/", "docs/", "benches/", "xtask/", "examples/", ".ci/", ".cargo/"];

pub(super) fn top_level(repository: &Repository, breaches: &mut Vec<String>) {
    for name in TOP_LEVEL.iter().filter(|name| !repository.paths.contains(**name)) {
        breaches.push(format!("{name} is missing"));
    }
}

pub(super) fn crates_described(repository: &Repository, breaches: &mut Vec<String>) {
    const PAGE: &str = "docs/architecture.md";
    let Some(page) = repository.documents.iter().find(|document| document.path == PAGE) else {
        return;
    };
    let name_char = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    let words: BTreeSet<&str> = page.text.split(|c| !name_char(c)).collect();
    for package in &repository.packages {
        let (name, folder) = (package.name.as_str(), package.folder.as_str());
        if folder.starts_with("crates/") && !words.contains(name) && !words.contains(folder) {
            breaches.push(format!("{PAGE} names neither `{name}` nor `{folder}`"));
        }
    }
}

pub(super) fn task_names(repository: &Repository, breaches: &mut Vec<String>) {
    const CALL: &str = "cargo xtask ";
    for (document, number, line) in lines(repository) {
        for (at, _) in line.match_indices(CALL) {
            let rest = &line[at + CALL.len()..];
            let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let name = rest.split(|c| !letter(c)).next().unwrap_or_default();
            let placeholder = name.is_empty() || name.starts_with('-');
            let placeholder = placeholder || name.chars().all(|c| c.is_ascii_uppercase());
            if !placeholder && !repository.tasks.contains(&name) {
                breaches.push(format!("{}:{number} names `{CALL}{name}`", document.path));
            }
        }
    }
}

pub(super) fn operations_page(repository: &Repository, breaches: &mut Vec<String>) {
    let source = |path: &str| repository.sources.iter().find(|source| source.path == path);
    let (Some(table), Some(composites)) = (source(TABLE), source(COMPOSITES)) else { return };
    match written(&table.text, &composites.text) {
        Ok(text) => {
            let page = repository.documents.iter().find(|document| document.path == PAGE);
            if page.is_none_or(|page| page.text != text) {
                breaches.push(format!("{PAGE} is not what its tables say"));
            }
        }
        Err(problem) => breaches.push(problem),
    }
}

pub(super) fn links(repository: &Repository, breaches: &mut Vec<String>) {
    let mut fenced = false;
    for (document, number, line) in lines(repository) {
        // Between fences is code, in which the same characters index and call.
        let fence = line.trim_start().starts_with("```");
        fenced = if number == 1 { fence } else { fenced != fence };
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', ' ', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let known = resolve(folder, target)
                .is_some_and(|path| path.is_empty() || repository.paths.contains(&path));
            if !known {
                breaches.push(format!("{}:{number} links to `{target}`", document.path));
            }
        }
    }
}

pub(super) fn paths(repository: &Repository, breaches: &mut Vec<String>) {
    for (document, number, line) in lines(repository) {
        // The odd pieces between backticks are the quoted ones.
        for word in line.split('`').skip(1).step_by(2) {
            let path = word.trim_end_matches('/');
            let is_path = FOLDERS.iter().any(|folder| word.starts_with(folder))
                && !word.contains(|c: char| c.is_whitespace() || "*<>{}$X".contains(c));
            if is_path && !repository.paths.contains(path) && !path.contains("/target") {
                breaches.push(format!("{}:{number} names `{word}`", document.path));
            }
        }
    }
}

pub(super) fn test_names(repository: &Repository, breaches: &mut Vec<String>) {
    let texts = || repository.sources.iter().map(|source| source.text.as_str());
    let tests: BTreeSet<&str> = texts().flat_map(functions).collect();
    for (document, number, line) in lines(repository) {
        let words = line.split('`').skip(1).step_by(2);
        for word in words.filter(|word| is_test_name(word) && !tests.contains(word)) {
            breaches.push(format!("{}:{number} names the test `{word}`", document.path));
        }
    }
}

/// The names of the functions in a source file.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices("fn ").map(move |(at, start)| {
        let rest = &text[at + start.len()..];
        rest.split(|c| !word(c)).next().unwrap_or_default()
    })
}

/// Whether a word names the promise (`x10_`) or the case (`f49_`) that a test keeps, and more.
fn is_test_name(word: &str) -> bool {
    let Some((number, rest)) = word.split_once('_') else { return false };
    let digits = number.strip_prefix(['x', 'f']).unwrap_or_default();
    let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) && rest.chars().all(name)
}

/// Every line of every document but the change log, which speaks of the past.
fn lines(repository: &Repository) -> impl Iterator<Item = (&Document, usize, &str)> {
    let current = |document: &&Document| document.path != "CHANGELOG.md";
    repository.documents.iter().filter(current).flat_map(|document| {
        document.text.lines().enumerate().map(move |(at, line)| (document, at + 1, line))
    })
}

/// A relative link seen from `folder`; `None` if it leads out of the repository.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::super::source::Source;
    use super::super::super::workspace::Member;
    use super::*;

    fn breaches(rule: fn(&Repository, &mut Vec<String>), path: &str, text: &str) -> Vec<String> {
        let document = Document { path: path.to_owned(), text: text.to_owned() };
        let present = ["docs", "docs/a.md", "crates", "crates/cpu", "README.md"];
        let repository = Repository {
            documents: vec![document],
            paths: present.iter().map(|path| (*path).to_owned()).collect(),
            packages: vec![Member {
                name: "tenferro-cpu".to_owned(),
                folder: "crates/cpu".to_owned(),
                ..Member::default()
            }],
            tasks: vec!["test", "ci"],
            ..Repository::default()
        };
        let mut found = Vec::new();
        rule(&repository, &mut found);
        found
    }

    #[test]
    fn missing_top_level_files_are_found() {
        let found = breaches(top_level, "README.md", "");
        assert!(found.contains(&"CHANGELOG.md is missing".to_owned()));
        assert!(!found.contains(&"README.md is missing".to_owned()));
    }

    #[test]
    fn a_crate_that_the_architecture_page_does_not_name_is_found() {
        let page = "docs/architecture.md";
        for good in ["`crates/cpu` is", "tenferro-cpu: a"] {
            assert_eq!(breaches(crates_described, page, good), Vec::<String>::new());
        }
        for bad in ["`crates/cpus` is", "tenferro-cpu-x", ""] {
            assert_eq!(breaches(crates_described, page, bad).len(), 1, "{bad}");
        }
        assert_eq!(breaches(crates_described, "README.md", ""), Vec::<String>::new());
    }

    #[test]
    fn a_command_that_does_not_exist_is_found() {
        let good = "run `cargo xtask test`, cargo xtask ci --only fmt, cargo xtask --help, \
                    `cargo xtask COMMAND`";
        assert_eq!(breaches(task_names, "README.md", good), Vec::<String>::new());
        let bad = "x\n`cargo xtask tests` now";
        assert_eq!(
            breaches(task_names, "README.md", bad),
            ["README.md:2 names `cargo xtask tests`"]
        );
    }

    #[test]
    fn a_link_to_nowhere_is_found_and_seen_from_its_own_folder() {
        let good = "[a](a.md#part) [b](../README.md) [c](https://example.org) [d](#here) [e](..)";
        assert_eq!(breaches(links, "docs/b.md", good), Vec::<String>::new());
        for bad in ["[a](b.md)", "[a](../../README.md)", "[a](docs/a.md)"] {
            assert_eq!(breaches(links, "docs/b.md", bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn code_between_fences_has_no_links() {
        let text = "```text\nfused[5](%3)\n```\n[a](b.md)";
        assert_eq!(breaches(links, "docs/b.md", text), ["docs/b.md:4 links to `b.md`"]);
    }

    #[test]
    fn a_backticked_path_that_is_gone_is_found() {
        let good = "`crates/cpu`, `crates/cpu/`, `crates/*/src`, `crates/NAME X`, crates/gone";
        assert_eq!(breaches(paths, "README.md", good), Vec::<String>::new());
        assert_eq!(breaches(paths, "README.md", "`crates/gone`").len(), 1);
    }

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let code = "#[test]\nfn x10_one_entry() {}";
        let source = Source::new("crates/cpu/tests/a.rs", code);
        let text = "`x10_one_entry`, `x11_gone`, `f64`, `x1`, x12_plain, `x_axis`";
        let document = Document { path: "README.md".to_owned(), text: text.to_owned() };
        let repository = Repository {
            documents: vec![document],
            sources: vec![source],
            ..Repository::default()
        };
        let mut found = Vec::new();
        test_names(&repository, &mut found);
        assert_eq!(found, ["README.md:1 names the test `x11_gone`"]);
    }

    #[test]
    fn the_change_log_may_name_what_is_gone() {
        assert_eq!(breaches(paths, "CHANGELOG.md", "`crates/gone`"), Vec::<String>::new());
    }
}
