//! What the rows were measured on: processor, memory, system and compiler.
//!
//! No name of a host and no path is noted.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine, as the page shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) cpus: usize,
    pub(super) vectors: String,
    pub(super) caches: String,
    pub(super) memory: String,
    pub(super) huge_pages: String,
    pub(super) system: String,
    pub(super) compiler: String,
    pub(super) day: String,
}

const FILE: &str = "performance/machine.json";

/// Notes this machine.
pub(super) fn write(docs: &Path) -> Result<(), Box<dyn Error>> {
    let path = docs.join(FILE);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, serde_json::to_string_pretty(&Machine::this())? + "\n")?;
    Ok(())
}

/// The machine that was noted.
pub(super) fn read(docs: &Path) -> Result<Machine, Box<dyn Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(docs.join(FILE))?)?)
}

impl Machine {
    fn this() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpu = text("/proc/cpuinfo");
        Self {
            processor: processor(&cpu),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            vectors: vectors(&field(&cpu, "flags")),
            caches: caches(),
            memory: field(&text("/proc/meminfo"), "MemTotal"),
            huge_pages: chosen(&text("/sys/kernel/mm/transparent_hugepage/enabled")),
            system: says("uname", &["-sr"]),
            compiler: says("rustc", &["--version"]),
            day: says("date", &["+%Y-%m-%d"]),
        }
    }
}

/// What a program prints, or nothing if it cannot be run.
fn says(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first value of a field in a text of lines `name : value`.
fn field(text: &str, name: &str) -> String {
    let found = text.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        (own.trim() == name).then(|| value.trim().to_owned())
    });
    found.unwrap_or_default()
}

fn processor(cpu: &str) -> String {
    let [name, family, model] = ["model name", "cpu family", "model"].map(|name| field(cpu, name));
    format!("{name}, family {family}, model {model}")
}

/// The instruction sets of interest among the processor's flags.
fn vectors(flags: &str) -> String {
    let known = ["sse2", "avx2", "fma", "avx512f", "avx512_fp16", "asimd"];
    let has = |name: &&str| flags.split_whitespace().any(|flag| flag == *name);
    known.into_iter().filter(has).collect::<Vec<_>>().join(", ")
}

/// The caches of the first CPU.
fn caches() -> String {
    let read = |index: usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
    };
    let one = |index| {
        let kind = read(index, "type").filter(|kind| kind != "Instruction")?;
        let unit = if kind == "Data" { "d" } else { "" };
        Some(format!("L{}{unit} {}", read(index, "level")?, read(index, "size")?))
    };
    (0..5).filter_map(one).collect::<Vec<_>>().join(", ")
}

/// The word in brackets.
fn chosen(text: &str) -> String {
    let word = text.split('[').nth(1).and_then(|rest| rest.split(']').next());
    word.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_flags_and_brackets_are_read() {
        let cpu =
            "cpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Some CPU\nflags\t: fpu avx2 fma\n";
        assert_eq!(processor(cpu), "Some CPU, family 6, model 207");
        assert_eq!(vectors(&field(cpu, "flags")), "avx2, fma");
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(field(cpu, "absent"), "");
    }
}
