//! `tenferro run`: programs on files.

use std::{fs, path::Path};

use insta::assert_snapshot;

use crate::{
    array::Array,
    command::{bytes, folder, refusal, succeed, write},
};

const PROGRAM: &str = "\
program(x: f64[2, 3], v: f64[3]) {
    # A product, and each row's weight.
    product = dot_general(x, v) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
    twice = add(x, x)
    rows = sum(x) { axes: [1], keep: Drop }
    return product, twice, rows
}
";

/// The usual folder, with this program.
fn folder_with(program: &str) -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("program.txt"), program).unwrap();
    folder
}

const RUN: [&str; 10] = [
    "run",
    "program.txt",
    "x.npy",
    "v.npy",
    "-o",
    "product.npy",
    "-o",
    "twice.npy",
    "--output",
    "rows.npy",
];

#[test]
fn every_result_goes_to_a_file_of_its_own() {
    let folder = folder_with(PROGRAM);
    let out = succeed(folder.path(), &RUN);
    let (report, last) = out.trim_end().rsplit_once('\n').unwrap();
    assert_snapshot!(report, @r"
    program.txt
       x.npy        (2, 3)  f64   C
       v.npy        (3,)    f64   C
    -> product.npy  (2,)    f64   F
    -> twice.npy    (2, 3)  f64   F
    -> rows.npy     (2,)    f64   F
    ");
    assert!(last.contains(", 3 steps, width "), "{last}");
    let read = |name: &str| Array::read(&folder.path().join(name));
    assert_eq!(read("product.npy").real(), [321.0, 654.0]);
    assert_eq!(read("twice.npy").real(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert!(read("twice.npy").fortran);
    assert_eq!(read("rows.npy").real(), [6.0, 15.0]);

    let c =
        succeed(folder.path(), &[&RUN[..], &["--order", "C", "--json", "--threads", "1"]].concat());
    assert_eq!(c.matches('\n').count(), 1);
    let report: serde_json::Value = serde_json::from_str(&c).unwrap();
    assert_eq!(report["steps"], 3);
    assert_eq!(report["outputs"][1]["shape"], serde_json::json!([2, 3]));
    assert_eq!(report["width"], 1);
    assert!(!read("twice.npy").fortran);
    assert_eq!(read("twice.npy").real(), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}

#[test]
fn loops_and_choices_run_as_they_are_written() {
    // Powers of two until one is larger than the limit.
    let folder = folder_with(
        "program(limit: f64[1]) {
            bound = reshape(limit) { extents: [] }
            one: f64[] = constant 1.0
            power = while_loop(one, bound) { carries: 1 } {
                condition: program(x: f64[], bound: f64[]) {
                    more = compare(x, bound) { relation: Lt }
                    return more
                }
                body: program(x: f64[], bound: f64[]) {
                    next = add(x, x)
                    return next
                }
            }
            return power
        }",
    );
    write(&folder.path().join("limit.npy"), "<f8", "(1,)", &bytes(&[1000.0]));
    succeed(folder.path(), &["run", "program.txt", "limit.npy", "-o", "power.npy"]);
    assert_eq!(Array::read(&folder.path().join("power.npy")).real(), [1024.0]);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let folder = folder_with(PROGRAM);
    let here = folder.path();
    fs::write(here.join("broken.txt"), "program(x: f64[2, 3]) {\n    y = exq(x)\n    return y\n}")
        .unwrap();
    fs::write(
        here.join("half.txt"),
        "program(x: f64[2, 3]) {\n    y = convert(x) { dtype: bf16 }\n    return y\n}",
    )
    .unwrap();
    fs::write(here.join("division.txt"), "program(x: f64[2, 3]) {\n    y = convert(x) { dtype: i64 }\n    z = sub(y, y)\n    w = div(y, z)\n    return w\n}").unwrap();
    fs::write(here.join("noise.txt"), [0xff, 0xfe, 0x00]).unwrap();
    let one = |program: &str| refusal(here, &["run", program, "x.npy", "-o", "product.npy"]);
    assert_snapshot!(one("gone.txt"), @"gone.txt: no such file");
    assert_snapshot!(one("."), @".: is a directory");
    assert_snapshot!(one("noise.txt"), @"noise.txt: is no text (UTF-8)");
    assert_snapshot!(one("broken.txt"), @"broken.txt: line 2, column 9: there is no operation `exq`; give the parser custom ones with `Parser::custom`");
    assert_snapshot!(one("half.txt"), @"half.txt: result 0 holds bf16, which NumPy does not have; let the program convert it");
    assert_snapshot!(one("division.txt"), @"division.txt: div: division of i64 by zero");
    assert_snapshot!(one("program.txt"), @"program.txt: the program has 2 inputs and was given 1");
    assert_snapshot!(refusal(here, &["run", "program.txt", "v.npy", "x.npy", "-o", "product.npy"]), @"v.npy: input 0 is f64[3] and it has to be f64[2, 3]");
    assert_snapshot!(refusal(here, &RUN[..8]), @"program.txt: the program has 3 results and 2 outputs are named; give -o once for each result, in order");
    assert_snapshot!(refusal(here, &[&RUN[..8], &["-o", "product.npy"]].concat()), @"product.npy is named as the output of two results; see --help");
    assert_snapshot!(refusal(here, &[&RUN[..8], &["-o", "no/rows.npy"]].concat()), @"no/rows.npy: cannot write: the folder does not exist");
    fs::write(here.join("any.txt"), "program(x: f64[n, k], v: f64[n]) {\n    return v\n}").unwrap();
    assert_snapshot!(refusal(here, &["run", "any.txt", "x.npy", "v.npy", "-o", "rows.npy"]), @"any.txt: axis `n` is 2 in input 0 and 3 in input 1; give it one size");
    assert_snapshot!(refusal(here, &["run"]), @"the following required arguments were not provided: <PROGRAM>; see --help");
    for name in ["product.npy", "twice.npy", "rows.npy"] {
        assert!(!here.join(name).exists());
    }
}

#[test]
fn help_shows_a_program_to_copy() {
    let help = succeed(Path::new("."), &["run", "--help"]);
    let program: String = help
        .lines()
        .skip_while(|line| !line.contains("program(a: f64[n]"))
        .take_while(|line| !line.contains("tenferro run"))
        .collect::<Vec<_>>()
        .join("\n");
    let folder = folder_with(&program);
    write(&folder.path().join("a.npy"), "<f8", "(3,)", &bytes(&[1.0, 2.0, 2.0]));
    write(&folder.path().join("b.npy"), "<f8", "(3,)", &bytes(&[0.0, 0.0, 0.0]));
    succeed(folder.path(), &["run", "program.txt", "a.npy", "b.npy", "-o", "r.npy", "-o", "d.npy"]);
    assert_eq!(Array::read(&folder.path().join("r.npy")).real(), [3.0]);
}
