//! Bad input: one line on standard error, exit code 2, nothing written.

use std::{fs, path::Path};

use insta::assert_snapshot;

use crate::command::{bytes, fixtures, folder, raw, refusal, write};

/// The refusal of a file that holds this.
fn junk(content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.npy"), content).unwrap();
    read(folder.path(), "a.npy")
}

/// The refusal of a header text that two f64 follow.
fn header(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    raw(&folder.path().join("a.npy"), 1, text, &bytes(&[1.0, 2.0]));
    read(folder.path(), "a.npy")
}

fn read(folder: &Path, name: &str) -> String {
    let line = refusal(folder, &["contract", "i->i", name, "-o", "out.npy"]);
    assert!(!folder.join("out.npy").exists());
    line
}

#[test]
fn files_that_are_no_arrays() {
    assert_snapshot!(read(folder().path(), "gone.npy"), @"gone.npy: no such file");
    assert_snapshot!(read(folder().path(), "."), @".: is a directory");
    assert_snapshot!(junk(b""), @"a.npy: is empty; it should be a NumPy array file (.npy)");
    assert_snapshot!(junk(b"i"), @"a.npy: is not a NumPy array file (.npy): it does not begin with \\x93NUMPY");
    assert_snapshot!(junk(&[0xff; 300]), @"a.npy: is not a NumPy array file (.npy): it does not begin with \\x93NUMPY");
    assert_snapshot!(junk(b"\x93NUMPY"), @"a.npy: is cut short inside of its header");
    assert_snapshot!(junk(b"\x93NUMPY\x01\x00\x05"), @"a.npy: is cut short inside of its header");
    assert_snapshot!(junk(b"\x93NUMPY\x01\x00\x76\x00{'descr"), @"a.npy: is cut short inside of its header");
    assert_snapshot!(junk(b"\x93NUMPY\x04\x00\x76\x00\x00\x00{}"), @"a.npy: has format version 4.0; versions 1.0, 2.0 and 3.0 can be read");
    assert_snapshot!(junk(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"), @"a.npy: has a header of 4294967295 bytes; NumPy's are far shorter");
    assert_snapshot!(read(&fixtures(), "archive.npz"), @"archive.npz: is an archive of arrays (.npz); unpack it and name the .npy files in it");
}

#[test]
fn headers_that_are_damaged() {
    assert_snapshot!(header("{'descr': '<f8', 'fortran_order': False, "), @"a.npy: has a damaged header: it is not a dictionary as NumPy writes it");
    assert_snapshot!(header("{'descr': '<f8', 'shape': (2,)}"), @"a.npy: has a damaged header: dict is missing key 'fortran_order'");
    assert_snapshot!(header("{'descr': '<f8', 'fortran_order': 1, 'shape': (2,)}"), @"a.npy: has a damaged header: 'fortran_order' value is not a bool");
    assert_snapshot!(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}"), @"a.npy: has a damaged header: it is not a dictionary as NumPy writes it");
    assert_snapshot!(header("{'descr': 'float', 'fortran_order': False, 'shape': (2,)}"), @"a.npy: has a damaged header: invalid type string: Invalid type-string");
    assert_snapshot!(header("{'descr': '<f8, 'fortran_order': False, 'shape': (2,)}"), @"a.npy: has a damaged header: it is not a dictionary as NumPy writes it");
    assert_snapshot!(header("import os"), @"a.npy: has a damaged header: it is not a dictionary as NumPy writes it");
    assert_snapshot!(header(&"(".repeat(5000)), @"a.npy: has a damaged header: its brackets are nested too deeply");
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}";
    assert_snapshot!(header(huge), @"a.npy: has a shape with more elements than can be addressed");
    let hidden = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}";
    assert_snapshot!(header(hidden), @"a.npy: has a shape with more elements than can be addressed");
    let digits =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},)}}", "9".repeat(400));
    assert_snapshot!(header(&digits), @"a.npy: has a shape with more elements than can be addressed");
}

#[test]
fn files_whose_elements_do_not_fit_the_header() {
    let folder = folder();
    let folder = folder.path();
    write(&folder.join("short.npy"), "<f8", "(3,)", &bytes(&[1.0, 2.0])[..15]);
    assert_snapshot!(read(folder, "short.npy"), @"short.npy: is cut short: its header promises 24 bytes of elements, and there are 15");
    write(&folder.join("long.npy"), "<f8", "(1,)", &bytes(&[1.0, 2.0]));
    assert_snapshot!(read(folder, "long.npy"), @"long.npy: has 8 bytes after its array; it is damaged or holds several arrays: save one array to a file");
    write(&folder.join("flags.npy"), "|b1", "(3,)", &[0, 1, 7]);
    assert_snapshot!(read(folder, "flags.npy"), @"flags.npy: has a damaged element: invalid value for bool: 7");
}

#[test]
fn dtypes_that_are_not_shared() {
    let fixtures = fixtures();
    assert_snapshot!(read(&fixtures, "objects.npy"), @"objects.npy: holds Python objects, which are no numbers; save it with a numeric dtype");
    assert_snapshot!(read(&fixtures, "records.npy"), @"records.npy: holds records; save each field as an array of its own");
    assert_snapshot!(read(&fixtures, "dates.npy"), @"dates.npy: holds dtype '<M8[D]', which Tenferro does not have; convert it with astype to bool, int8 to int64, uint8 to uint64, float16, float32, float64, complex64 or complex128");
    assert_snapshot!(read(&fixtures, "longdouble.npy"), @"longdouble.npy: holds dtype '<f16', which Tenferro does not have; convert it with astype to bool, int8 to int64, uint8 to uint64, float16, float32, float64, complex64 or complex128");
    assert_snapshot!(read(&fixtures, "text.npy"), @"text.npy: holds dtype '<U2', which Tenferro does not have; convert it with astype to bool, int8 to int64, uint8 to uint64, float16, float32, float64, complex64 or complex128");
}

#[test]
fn subscripts_that_do_not_fit_the_files() {
    let folder = folder();
    let contract = |subscripts, files: &[&str]| {
        refusal(folder.path(), &[&["contract", subscripts], files, &["-o", "out.npy"]].concat())
    };
    assert_snapshot!(contract("ij,jk", &["x.npy", "v.npy"]), @r#"subscripts "ij,jk" have no arrow; say what the result keeps, as in "ij,jk->ik", or nothing to sum over all: "ij->""#);
    assert_snapshot!(contract("ij,jk->ik", &["x.npy", "v.npy"]), @r#"operand 1 has rank 1, but its subscripts "jk" are for exactly 2; every axis needs a label, or an ellipsis (operand 1 is v.npy)"#);
    assert_snapshot!(contract("ij,i->j", &["x.npy", "v.npy"]), @"label i has extent 2 in operand 0 and 3 in operand 1; a label has one extent everywhere, only an ellipsis broadcasts (operand 0 is x.npy, operand 1 is v.npy)");
    assert_snapshot!(contract("ij,j->i", &["x.npy"]), @r#"subscripts "ij,j->i" are for 2 operands, but there are 1"#);
    assert_snapshot!(contract("ij->ik", &["x.npy"]), @"label k of the output is in no operand; only a label of an operand has an extent");
    assert_snapshot!(contract("i.j->ij", &["x.npy"]), @r#"'.' at character 1 of subscripts "i.j->ij" is no label; write inputs separated by commas, one arrow "->" and "..." for axes without a label"#);
}

#[test]
fn dtypes_that_differ() {
    let folder = folder();
    write(&folder.path().join("w.npy"), "<f4", "(3,)", &[0; 12]);
    let line = refusal(folder.path(), &["contract", "ij,j->i", "x.npy", "w.npy", "-o", "out.npy"]);
    assert_snapshot!(line, @"x.npy holds f64 and w.npy holds f32; convert one of them first, in NumPy with astype");
}

#[test]
fn settings_that_nobody_can_have() {
    let folder = folder();
    let with = |settings: &[&str]| {
        refusal(
            folder.path(),
            &[&["contract", "ij->i", "x.npy", "-o", "out.npy"], settings].concat(),
        )
    };
    assert_snapshot!(with(&["--threads", "0"]), @"a domain needs at least one thread; ask for 1 or more");
    let provider = with(&["--provider", "abacus"]);
    assert!(provider.starts_with("provider `abacus`") && provider.contains("naive"), "{provider}");
    assert_snapshot!(with(&["--threads", "many"]), @"invalid value 'many' for '--threads <N>': invalid digit found in string; see --help");
    assert_snapshot!(with(&["--threads", "-1"]), @"unexpected argument '-1' found; see --help");
    assert_snapshot!(with(&["--order", "K"]), @"invalid value 'K' for '--order <ORDER>' [possible values: F, C]; see --help");
    assert_snapshot!(with(&["--speed"]), @"unexpected argument '--speed' found; see --help");
}

#[test]
fn commands_that_are_incomplete() {
    let here = Path::new(".");
    assert_snapshot!(refusal(here, &[]), @"a command is needed: contract, run, doctor, providers; see --help");
    assert_snapshot!(refusal(here, &["expand"]), @"unrecognized subcommand 'expand'; see --help");
    assert_snapshot!(refusal(here, &["contract"]), @"the following required arguments were not provided: --output <FILE> <SUBSCRIPTS> <FILE>...; see --help");
    assert_snapshot!(refusal(here, &["contract", "ij->ij", "x.npy"]), @"the following required arguments were not provided: --output <FILE>; see --help");
    assert_snapshot!(refusal(here, &["contract", "ij->ij", "-o", "x.npy"]), @"the following required arguments were not provided: <FILE>...; see --help");
}

#[test]
fn a_name_with_a_line_end_still_makes_one_line() {
    assert_snapshot!(read(folder().path(), "a\nb\u{1b}[1m.npy"), @r#"a\nb\u{1b}[1m.npy: no such file"#);
}
