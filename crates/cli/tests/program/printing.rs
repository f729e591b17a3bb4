//! What is printed, where, and what happens when nobody reads it.

use std::{path::Path, process::Stdio};

use crate::command::{finished, folder, program, run, succeed};

const CONTRACT: [&str; 6] = ["contract", "ij,j->i", "x.npy", "v.npy", "-o", "out.npy"];

/// The report with what differs between runs and machines written over.
fn stable(report: &str) -> String {
    let (shapes, last) = report.trim_end().rsplit_once('\n').unwrap();
    let (_, rest) = last.split_once(" GFLOP/s, width ").unwrap();
    let (_, provider) = rest.split_once(", provider ").unwrap();
    assert!(!provider.is_empty());
    format!("{shapes}\nTIME, RATE GFLOP/s, width WIDTH, provider NAME")
}

#[test]
fn the_report_shows_shapes_dtypes_orders_time_rate_width_and_provider() {
    let folder = folder();
    insta::assert_snapshot!(stable(&succeed(folder.path(), &CONTRACT)), @"
    ij,j->i
       x.npy    (2, 3)  f64   C
       v.npy    (3,)    f64   C
    -> out.npy  (2,)    f64   F
    TIME, RATE GFLOP/s, width WIDTH, provider NAME
    ");
}

#[test]
fn json_is_one_line_with_the_same_facts() {
    let folder = folder();
    let out = succeed(folder.path(), &[&CONTRACT[..], &["--json", "--threads", "1"]].concat());
    assert_eq!(out.matches('\n').count(), 1);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["subscripts"], "ij,j->i");
    assert_eq!(report["operands"][0]["shape"], serde_json::json!([2, 3]));
    assert_eq!(report["operands"][1]["order"], "C");
    assert_eq!(report["output"]["path"], "out.npy");
    assert_eq!(report["output"]["dtype"], "f64");
    assert_eq!(report["flops"], 12.0);
    assert_eq!(report["steps"], 1);
    assert_eq!(report["width"], 1);
    assert!(report["seconds"].as_f64().unwrap() > 0.0);
    assert!(report["gflops"].as_f64().unwrap() > 0.0);
    assert!(report["provider"].is_string());
}

#[test]
fn a_named_provider_is_the_one_reported() {
    let folder = folder();
    let out = succeed(folder.path(), &[&CONTRACT[..], &["--json", "--provider", "naive"]].concat());
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["provider"], "naive");
}

#[test]
fn a_pipe_gets_no_escape_codes_and_no_progress() {
    let folder = folder();
    let finished = run(folder.path(), &CONTRACT);
    assert!(!finished.out.contains('\u{1b}'));
    assert_eq!(finished.err, "");
    for arguments in [&["--help"][..], &["contract", "--help"], &["doctor"], &["--version"]] {
        let out = succeed(folder.path(), arguments);
        assert!(!out.contains('\u{1b}') && !out.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_shows_a_command_to_copy() {
    let out = succeed(Path::new("."), &["contract", "--help"]);
    assert!(out.contains("tenferro contract \"ij,jk->ik\" a.npy b.npy -o product.npy"), "{out}");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = folder();
    for arguments in [&CONTRACT[..], &["doctor"], &["--help"]] {
        let mut command = program(folder.path(), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let finished = finished(child.wait_with_output().unwrap());
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
    assert!(folder.path().join("out.npy").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_a_failure() {
    let folder = folder();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let finished = finished(program(folder.path(), &CONTRACT).stdout(full).output().unwrap());
    assert_eq!(finished.code, Some(2));
    insta::assert_snapshot!(finished.err, @"error: standard output: No space left on device (os error 28)");
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_no_unicode_is_read_written_and_reported() {
    use std::os::unix::ffi::OsStrExt;

    let folder = folder();
    let name = |bytes| std::ffi::OsStr::from_bytes(bytes);
    std::fs::rename(folder.path().join("x.npy"), folder.path().join(name(b"\xff.npy"))).unwrap();
    for form in [&["--json"][..], &[]] {
        let mut command = program(folder.path(), &["contract", "ij->ji"]);
        command.arg(name(b"\xff.npy")).arg("-o").arg(name(b"\xfe.npy")).args(form);
        let finished = finished(command.output().unwrap());
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        assert!(finished.out.contains("\u{fffd}.npy"), "{}", finished.out);
    }
    assert!(folder.path().join(name(b"\xfe.npy")).exists());
}
