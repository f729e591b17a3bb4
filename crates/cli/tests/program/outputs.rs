//! The output is written whole or not at all, and what was there is never lost.

use std::{fs, path::Path};

use crate::{
    array::Array,
    command::{bytes, folder, refusal, succeed, write},
};

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_existing_output_outlives_every_failure() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("out.npy"), "precious").unwrap();
    write(&folder.join("flag.npy"), "|b1", "(2,)", &[1, 2]);
    for arguments in [
        &["contract", "ij,jk->ik", "x.npy", "v.npy", "-o", "out.npy"][..],
        &["contract", "ij", "x.npy", "-o", "out.npy"],
        &["contract", "ij->ij", "gone.npy", "-o", "out.npy"],
        &["contract", "i->i", "flag.npy", "-o", "out.npy"],
        &["contract", "ij->ij", "x.npy", "-o", "out.npy", "--threads", "0"],
        &["contract", "ij->ij", "x.npy", "-o", "out.npy", "--provider", "none"],
    ] {
        refusal(folder, arguments);
        assert_eq!(fs::read_to_string(folder.join("out.npy")).unwrap(), "precious");
    }
    assert_eq!(names(folder), ["flag.npy", "out.npy", "v.npy", "x.npy"]);
}

#[test]
fn a_failure_leaves_no_file_behind() {
    let folder = folder();
    refusal(folder.path(), &["contract", "ij,jk->ik", "x.npy", "v.npy", "-o", "out.npy"]);
    assert_eq!(names(folder.path()), ["v.npy", "x.npy"]);
}

#[test]
fn a_result_replaces_the_output_and_leaves_nothing_else() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("out.npy"), "old").unwrap();
    succeed(folder, &["contract", "ij,j->i", "x.npy", "v.npy", "-o", "out.npy"]);
    assert_eq!(Array::read(&folder.join("out.npy")).real(), [321.0, 654.0]);
    assert_eq!(names(folder), ["out.npy", "v.npy", "x.npy"]);
}

#[test]
fn an_input_may_be_the_output() {
    let folder = folder();
    let folder = folder.path();
    // Large enough to be mapped.
    let n = 800_000;
    let elements: Vec<f64> = (0..n).map(f64::from).collect();
    write(&folder.join("long.npy"), "<f8", &format!("({n},)"), &bytes(&elements));
    succeed(folder, &["contract", "i,i->i", "long.npy", "long.npy", "-o", "long.npy"]);
    let squares: Vec<f64> = elements.iter().map(|x| x * x).collect();
    assert_eq!(Array::read(&folder.join("long.npy")).real(), squares);
}

#[test]
fn large_files_are_read_right_in_either_byte_order() {
    let folder = folder();
    let folder = folder.path();
    let elements: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    let big: Vec<u8> = elements.iter().flat_map(|element| element.to_be_bytes()).collect();
    write(&folder.join("big.npy"), ">f8", "(1000, 1000)", &big);
    write(&folder.join("little.npy"), "<f8", "(1000, 1000)", &bytes(&elements));
    let column: Vec<f64> = (0..1000).map(|row| f64::from(row) * 1e6 + 499_500.0).collect();
    for name in ["big.npy", "little.npy"] {
        succeed(folder, &["contract", "ij->i", name, "-o", "out.npy"]);
        assert_eq!(Array::read(&folder.join("out.npy")).real(), column, "{name}");
    }
}

#[test]
fn what_cannot_be_an_output_is_refused_and_kept() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("sub")).unwrap();
    fs::write(folder.join("locked.npy"), "locked").unwrap();
    let mut permissions = fs::metadata(folder.join("locked.npy")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(folder.join("locked.npy"), permissions).unwrap();
    let to = |output| refusal(folder, &["contract", "ij->ji", "x.npy", "-o", output]);
    insta::assert_snapshot!(to("sub"), @"sub: cannot write: it is a directory");
    insta::assert_snapshot!(to("none/out.npy"), @"none/out.npy: cannot write: the folder does not exist");
    insta::assert_snapshot!(to("locked.npy"), @"locked.npy: cannot write: it exists and is read-only");
    insta::assert_snapshot!(to(".."), @"..: cannot write: it is a directory");
    assert_eq!(fs::read_to_string(folder.join("locked.npy")).unwrap(), "locked");
    assert!(names(&folder.join("sub")).is_empty());
    assert_eq!(names(folder), ["locked.npy", "sub", "v.npy", "x.npy"]);
}

#[cfg(unix)]
mod unix {
    use std::{
        io::Write,
        os::unix::fs::{PermissionsExt, symlink},
        process::Stdio,
    };

    use crate::command::{finished, program};

    use super::*;

    #[test]
    fn a_folder_that_takes_no_file_is_said_so() {
        let folder = folder();
        let to = |output| refusal(folder.path(), &["contract", "ij->ji", "x.npy", "-o", output]);
        insta::assert_snapshot!(to("x.npy/out.npy"), @"x.npy/out.npy: cannot write: Not a directory (os error 20)");
        insta::assert_snapshot!(to("/dev/null"), @"/dev/null: cannot write: it exists and is no regular file");
    }

    #[test]
    fn an_output_has_the_permissions_of_an_ordinary_file_or_those_it_had() {
        let folder = folder();
        let folder = folder.path();
        let mode = |name| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
        fs::write(folder.join("ordinary"), "").unwrap();
        fs::write(folder.join("private.npy"), "").unwrap();
        fs::set_permissions(folder.join("private.npy"), fs::Permissions::from_mode(0o600)).unwrap();
        for name in ["new.npy", "private.npy"] {
            succeed(folder, &["contract", "ij->ji", "x.npy", "-o", name]);
        }
        assert_eq!(mode("new.npy"), mode("ordinary"));
        assert_eq!(mode("private.npy"), 0o600);
    }

    #[test]
    fn a_symbolic_link_is_written_through() {
        let folder = folder();
        let folder = folder.path();
        fs::create_dir(folder.join("sub")).unwrap();
        fs::write(folder.join("sub/real.npy"), "old").unwrap();
        symlink("sub/real.npy", folder.join("link.npy")).unwrap();
        succeed(folder, &["contract", "ij->", "x.npy", "-o", "link.npy"]);
        assert_eq!(Array::read(&folder.join("sub/real.npy")).real(), [21.0]);
        assert!(fs::symlink_metadata(folder.join("link.npy")).unwrap().is_symlink());
        assert_eq!(names(&folder.join("sub")), ["real.npy"]);
    }

    /// Pipes `content` into a contraction of what comes through standard input.
    fn piped(folder: &Path, content: &[u8]) -> String {
        let arguments = ["contract", "ij->ji", "/dev/stdin", "-o", "out.npy"];
        let mut command = program(folder, &arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        finished(child.wait_with_output().unwrap()).err
    }

    #[test]
    fn an_array_may_come_through_a_pipe() {
        let folder = folder();
        let folder = folder.path();
        let content = fs::read(folder.join("x.npy")).unwrap();
        assert_eq!(piped(folder, &content), "");
        assert_eq!(Array::read(&folder.join("out.npy")).real(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        insta::assert_snapshot!(piped(folder, &content[..content.len() - 1]), @"error: /dev/stdin: ends before the 48 bytes of elements that its header promises");
        let more = [&content[..], b"more"].concat();
        insta::assert_snapshot!(piped(folder, &more), @"error: /dev/stdin: has 4 bytes after its array; it is damaged or holds several arrays: save one array to a file");
    }
}

#[test]
fn x3_a_trace_shows_the_operations_on_cpu_slots_and_each_has_its_end() {
    let folder = folder();
    let folder = folder.path();
    succeed(
        folder,
        &["contract", "ij,j->i", "x.npy", "v.npy", "-o", "out.npy", "--trace", "t.json"],
    );
    assert_eq!(names(folder), ["out.npy", "t.json", "v.npy", "x.npy"]);
    let text = fs::read_to_string(folder.join("t.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(trace["otherData"]["forgotten"], 0);
    let cpus = trace["otherData"]["cpus"].as_u64().unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let holds: Vec<_> = events.iter().filter(|e| e["ph"] == "X" && e["pid"] == 1).collect();
    assert!(!holds.is_empty(), "{text}");
    for hold in holds {
        assert!(hold["tid"].as_u64().unwrap() < cpus, "{hold}");
        assert!(hold["dur"].as_f64().unwrap() >= 0.0, "{hold}");
        assert_eq!(hold["name"], "scope");
    }
}
