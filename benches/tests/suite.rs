//! A suite as a program uses it: filters, the file of rows, refusals.

use std::fs;
use std::time::Duration;

use tenferro_benches::{Case, Contender, Error, Options, Row, Suite};

fn constant(name: &str, ns: u64) -> Contender<'static> {
    Contender::sampled(name, move |count| Duration::from_nanos(count * ns))
}

fn suite(words: &[&str]) -> Suite {
    let words = words.iter().map(|word| (*word).to_owned());
    let mut suite = Suite::new("test", Options::parse(words).expect("options of a suite"));
    for size in [2, 64] {
        suite.case(&format!("place/op/f64/{size}"), 1, |name, threads| Case {
            name,
            threads,
            ours: constant("ours", 30),
            limit: constant("loop", 20),
            peers: vec![constant("a", 60), constant("b", 15)],
        });
    }
    suite
}

#[test]
fn each_case_makes_a_row_a_peer_and_filters_choose_cases() {
    let rows = suite(&["--quick"]).finish().unwrap();
    let cases: Vec<_> = rows.iter().map(|row| (row.case.as_str(), row.peer.as_str())).collect();
    let (two, many) = ("place/op/f64/2", "place/op/f64/64");
    assert_eq!(cases, [(two, "a"), (two, "b"), (many, "a"), (many, "b")]);
    assert_eq!(suite(&["--quick", "/64"]).finish().unwrap().len(), 2);
}

#[test]
fn the_file_of_rows_holds_one_json_object_a_line() {
    let path = std::env::temp_dir().join(format!("tenferro-benches-{}.json", std::process::id()));
    let rows = suite(&["--quick", "--json", path.to_str().unwrap()]).finish().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let read: Vec<Row> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, rows);
}

#[test]
fn a_filter_without_a_case_and_an_unwritable_file_are_refused() {
    assert!(matches!(suite(&["--quick", "nothing"]).finish(), Err(Error::NoCase { .. })));
    let nowhere = ["--quick", "--json", "/nonexistent-folder/rows.json"];
    assert!(matches!(suite(&nowhere).finish(), Err(Error::Json { .. })));
}
