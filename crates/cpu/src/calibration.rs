//! Where choices of providers are remembered, and for which CPU.
//!
//! This is the one place that reads the environment for them; everything below is told.

use std::{env, fs, path::PathBuf};

/// The folder of choices unless a builder says another: `tenferro` in `XDG_CACHE_HOME`, or in `.cache` of `HOME`.
pub(super) fn default_folder() -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("tenferro"))
}

/// The model of this machine's CPU, as exactly as the system says it.
pub(super) fn cpu_model() -> String {
    const FIELDS: [&str; 4] = ["model name", "cpu family", "model", "stepping"];
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name)
    };
    let words: Vec<_> = FIELDS.into_iter().filter_map(field).map(|(_, value)| value).collect();
    if words.is_empty() { env::consts::ARCH.to_owned() } else { words.join(" ") }
}
