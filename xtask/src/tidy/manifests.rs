//! Rules about the packages' Cargo.toml files.
//!
//! Read line by line and not as TOML: our manifests keep an entry to a line, and a rule that
//! sees the text sees what a reader sees.

use super::repository::{Document, Repository};

pub(super) fn workspace_version(repository: &Repository, breaches: &mut Vec<String>) {
    for manifest in &repository.manifests {
        for (number, line) in own_versions(&manifest.text) {
            breaches.push(format!("{}:{number} has its own version: {line}", manifest.path));
        }
    }
}

pub(super) fn workspace_lints(repository: &Repository, breaches: &mut Vec<String>) {
    for manifest in &repository.manifests {
        if !takes_workspace_lints(manifest) {
            breaches.push(format!("{} does not take the workspace's lints", manifest.path));
        }
    }
}

/// The dependency entries that do not refer to the workspace, with their line numbers.
fn own_versions(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    // A dependency may be a table of its own: `[dependencies.name]` with its header's line.
    let mut table: Option<(usize, &str)> = None;
    let mut in_list = false;
    for (at, line) in text.lines().enumerate() {
        let entry = line.split('#').next().unwrap_or_default().trim();
        if let Some(header) = entry.strip_prefix('[') {
            found.extend(table.take());
            let (list, named) = dependency_section(header.trim_end_matches(']'));
            in_list = list;
            table = named.then_some((at + 1, entry));
        } else if table.is_some() && is_workspace(entry) {
            table = None;
        } else if in_list && !entry.is_empty() && !is_workspace(entry) {
            found.push((at + 1, entry));
        }
    }
    found.extend(table);
    found
}

/// Whether a header opens a list of dependencies, or the table of a single one.
fn dependency_section(header: &str) -> (bool, bool) {
    let Some(at) = header.find("dependencies") else { return (false, false) };
    match &header[at + "dependencies".len()..] {
        "" => (true, false),
        rest => (false, rest.starts_with('.')),
    }
}

fn is_workspace(entry: &str) -> bool {
    let entry: String = entry.split_whitespace().collect();
    entry.contains("workspace=true")
}

fn takes_workspace_lints(manifest: &Document) -> bool {
    let mut lines = manifest.text.lines().map(str::trim).skip_while(|line| *line != "[lints]");
    lines.next().is_some() && lines.take_while(|line| !line.starts_with('[')).any(is_workspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(rule: fn(&Repository, &mut Vec<String>), text: &str) -> Vec<String> {
        let manifest = Document { path: "crates/a/Cargo.toml".to_owned(), text: text.to_owned() };
        let repository = Repository { manifests: vec![manifest], ..Repository::default() };
        let mut found = Vec::new();
        rule(&repository, &mut found);
        found
    }

    #[test]
    fn a_dependency_with_a_version_of_its_own_is_found_in_every_section() {
        for section in [
            "dependencies",
            "dev-dependencies",
            "build-dependencies",
            "target.'cfg(loom)'.dependencies",
        ] {
            for entry in ["x = \"1\"", "x = { version = \"1\" }", "x = { path = \"../x\" }"] {
                let text = format!("[{section}]\na.workspace = true\n{entry}\n");
                let found = breaches(workspace_version, &text);
                assert_eq!(found, [format!("crates/a/Cargo.toml:3 has its own version: {entry}")]);
            }
        }
        let table = "[dependencies.x]\nversion = \"1\"\n[lints]\nworkspace = true\n";
        assert_eq!(breaches(workspace_version, table).len(), 1);
    }

    #[test]
    fn references_to_the_workspace_pass() {
        let text = "[package]\nversion.workspace = true\nname = \"a\"\n\n[dependencies] # ours\n\
                    x.workspace = true\n# a note\ny = { workspace = true, optional = true }\n\n\
                    [dev-dependencies.z]\nworkspace = true\n\n[features]\ny = [\"dep:y\"]\n";
        assert_eq!(breaches(workspace_version, text), Vec::<String>::new());
    }

    #[test]
    fn a_package_without_the_lints_is_found() {
        let with = "[lints]\nworkspace = true\n";
        assert_eq!(breaches(workspace_lints, with), Vec::<String>::new());
        for without in ["", "[lints]\n[dependencies]\na.workspace = true\n"] {
            assert_eq!(breaches(workspace_lints, without).len(), 1, "{without}");
        }
    }
}
