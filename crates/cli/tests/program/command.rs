//! Running the program, and files for it.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The program with these arguments, in `folder`, away from the test's own standard streams.
pub(super) fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenferro"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).env("RUST_BACKTRACE", "1");
    command
}

/// What a finished run of the program left.
pub(super) struct Finished {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

pub(super) fn run(folder: &Path, arguments: &[&str]) -> Finished {
    finished(program(folder, arguments).output().unwrap())
}

pub(super) fn finished(output: Output) -> Finished {
    Finished {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the program, which must succeed in silence.
pub(super) fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let finished = run(folder, arguments);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{arguments:?}");
    finished.out
}

/// The one line that the program fails with.
pub(super) fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let Finished { code, out, err } = run(folder, arguments);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
    let line = err.strip_suffix('\n').unwrap();
    assert!(!line.contains(['\n', '\r', '\u{1b}']), "{err}");
    line.strip_prefix("error: ").unwrap().to_owned()
}

pub(super) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A folder with `x.npy`, the f64 matrix [[1, 2, 3], [4, 5, 6]] in C's order, and `v.npy`, the vector [1, 10, 100].
pub(super) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let matrix = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0_f64];
    write(&folder.path().join("x.npy"), "<f8", "(2, 3)", &bytes(&matrix));
    write(&folder.path().join("v.npy"), "<f8", "(3,)", &bytes(&[1.0, 10.0, 100.0]));
    folder
}

pub(super) fn bytes(elements: &[f64]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes()).collect()
}

/// Writes a version 1 file in C's order, without a check that its parts fit each other.
pub(super) fn write(path: &Path, descr: &str, shape: &str, data: &[u8]) {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    raw(path, 1, &dictionary, data);
}

/// Writes a file of this version with any header text.
pub(super) fn raw(path: &Path, version: u8, header: &str, data: &[u8]) {
    let field = if version == 1 { 2 } else { 4 };
    let before = 8 + field;
    let length = (before + header.len() + 1).next_multiple_of(64) - before;
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(b"\x93NUMPY").unwrap();
    file.write_all(&[version, 0]).unwrap();
    file.write_all(&(length as u32).to_le_bytes()[..field]).unwrap();
    file.write_all(format!("{header:<width$}\n", width = length - 1).as_bytes()).unwrap();
    file.write_all(data).unwrap();
}
