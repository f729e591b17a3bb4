//! Figures that are no times of contenders: instructions of an operation, and what builds cost.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The instructions of one operation of a case, as callgrind counted them.
#[derive(Debug, Deserialize)]
struct Instructions {
    case: String,
    instructions: f64,
}

/// What a build took.
#[derive(Debug, Deserialize)]
struct Build {
    build: String,
    wall_s: f64,
    cpu_s: f64,
}

/// The table of a suite's instructions; nothing if they were not counted.
pub(super) fn instructions(folder: &Path, suite: &str) -> io::Result<String> {
    let rows: Vec<Instructions> = lines(&folder.join(format!("{suite}.instructions.jsonl")))?;
    if rows.is_empty() {
        return Ok(String::new());
    }
    let mut text = format!(
        "\nInstructions of ours for one operation, by `cargo xtask bench {suite} --callgrind`; valgrind knows no AVX-512, \
         so these are of the kernels for AVX2.\n\n| case | instructions |\n|---|---|\n"
    );
    for Instructions { case, instructions } in rows {
        text += &format!("| {case} | {instructions:.0} |\n");
    }
    Ok(text)
}

/// The section of builds; nothing if there is no figure and no word about them.
pub(super) fn builds(folder: &Path) -> io::Result<String> {
    let rows: Vec<Build> = lines(&folder.join("build.jsonl"))?;
    let words = fs::read_to_string(folder.join("build-time.md")).unwrap_or_default();
    if rows.is_empty() && words.is_empty() {
        return Ok(String::new());
    }
    let mut text = String::from("\n## Build time\n\n");
    if !rows.is_empty() {
        text += "Release builds by `cargo xtask bench build --record`. CPU time is that of all compilers together; wall time \
                 is longer where the machine had other work.\n\n| build | CPU | wall |\n|---|---|---|\n";
    }
    for Build { build, wall_s, cpu_s } in &rows {
        text += &format!("| {build} | {cpu_s:.1} s | {wall_s:.1} s |\n");
    }
    if !words.is_empty() {
        text += &format!("{}{}\n", if rows.is_empty() { "" } else { "\n" }, words.trim());
    }
    Ok(text)
}

/// The rows of a file, none if there is no such file.
fn lines<Row: DeserializeOwned>(path: &Path) -> io::Result<Vec<Row>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path)?;
    text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_tables_and_words_follow_them() {
        let folder = std::env::temp_dir().join(format!("tenferro-counts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(instructions(&folder, "small").unwrap(), "");
        assert_eq!(builds(&folder).unwrap(), "");
        let row = r#"{"case":"scope/add/f64/2","instructions":321.4}"#;
        fs::write(folder.join("small.instructions.jsonl"), row).unwrap();
        let row = r#"{"build":"clean/tenferro-cpu","wall_s":60.04,"cpu_s":101.0}"#;
        fs::write(folder.join("build.jsonl"), row).unwrap();
        fs::write(folder.join("build-time.md"), "Words.\n").unwrap();
        let (counted, built) = (instructions(&folder, "small").unwrap(), builds(&folder).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        assert!(counted.ends_with("|---|---|\n| scope/add/f64/2 | 321 |\n"), "{counted}");
        assert!(
            built.ends_with("| clean/tenferro-cpu | 101.0 s | 60.0 s |\n\nWords.\n"),
            "{built}"
        );
    }
}
