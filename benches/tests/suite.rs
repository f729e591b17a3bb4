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
fn a_run_that_is_cut_short_has_recorded_what_it_measured() {
    let path = std::env::temp_dir().join(format!("tenferro-record-{}.json", std::process::id()));
    drop(suite(&["--quick", "--record", path.to_str().unwrap()]));
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(text.lines().count(), 4);
}

#[test]
fn a_filter_without_a_case_and_an_unwritable_file_are_refused() {
    assert!(matches!(suite(&["--quick", "nothing"]).finish(), Err(Error::NoCase { .. })));
    let nowhere = ["--quick", "--json", "/nonexistent-folder/rows.json"];
    assert!(matches!(suite(&nowhere).finish(), Err(Error::Json { .. })));
}

#[test]
fn a_peer_that_does_not_start_ends_the_suite_with_its_command() {
    let refused = suite(&["--quick", "--peer", r#"["/nonexistent/peer","x"]"#]).finish();
    let Err(Error::Peer { command, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(command, "/nonexistent/peer x");
}

#[test]
fn a_peer_in_a_process_takes_part_in_the_cases_that_it_has() {
    // A peer in the shell: it has the case of size 64 only, and an operation takes it 60 ns.
    let script = r#"
        echo '{"hello": {"name": "shell", "version": "1"}}'
        while read -r line; do
            case "$line" in
                *prepare*f64/64*) echo '{"prepared": true}';;
                *prepare*) echo '{"prepared": false}';;
                *sample*) count="${line#*:}"; echo "{\"took\": $((60 * ${count%\}}))}";;
                *) echo '"released"';;
            esac
        done"#;
    let command = serde_json::to_string(&["sh", "-c", script]).unwrap();
    let rows = suite(&["--quick", "--peer", &command]).finish().unwrap();
    let found: Vec<_> = rows.iter().filter(|row| row.peer == "shell").collect();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].case.as_str(), found[0].ratio), ("place/op/f64/64", 0.5));
    assert_eq!(found[0].peer_version.as_deref(), Some("1"));
}

#[test]
fn repeating_does_ours_so_often_and_measures_nothing() {
    let words = ["--repeat", "70"].map(str::to_owned);
    let mut suite = Suite::new("test", Options::parse(words).unwrap());
    let done = std::cell::Cell::new(0);
    suite.case("place/op/f64/1", 1, |name, threads| Case {
        name,
        threads,
        ours: Contender::sampled("ours", |count| {
            done.set(done.get() + count);
            Duration::ZERO
        }),
        limit: constant("loop", 20),
        peers: Vec::new(),
    });
    assert!(suite.finish().unwrap().is_empty());
    assert_eq!(done.get(), 70);
}
