//! The words on the pipe, and a peer that speaks them.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tenferro_bench_worker::{Movement, Operation, Reply, Request, Task, serve_on};

fn task(case: &str) -> Task {
    Task { suite: "small".to_owned(), case: case.to_owned(), threads: 1, movement: None }
}

#[test]
fn requests_and_replies_are_written_as_the_other_languages_read_them() {
    let movement = Movement { shape: vec![2, 3], strides: vec![1, 2], permutation: vec![1, 0] };
    let prepare = Request::Prepare(Task { movement: Some(movement), ..task("pattern/p") });
    let written = [
        (
            serde_json::to_string(&prepare),
            r#"{"prepare":{"suite":"small","case":"pattern/p","threads":1,"movement":{"shape":[2,3],"strides":[1,2],"permutation":[1,0]}}}"#,
        ),
        (serde_json::to_string(&Request::Sample(12)), r#"{"sample":12}"#),
        (serde_json::to_string(&Request::Release), r#""release""#),
        (
            serde_json::to_string(&Reply::Hello { name: "a".to_owned(), version: "1".to_owned() }),
            r#"{"hello":{"name":"a","version":"1"}}"#,
        ),
        (serde_json::to_string(&Reply::Prepared(false)), r#"{"prepared":false}"#),
        (serde_json::to_string(&Reply::Took(7)), r#"{"took":7}"#),
        (serde_json::to_string(&Reply::Released), r#""released""#),
    ];
    for (found, expected) in written {
        assert_eq!(found.unwrap(), expected);
    }
    let plain: Request =
        serde_json::from_str(r#"{"prepare":{"suite":"small","case":"c","threads":1}}"#).unwrap();
    assert_eq!(plain, Request::Prepare(task("c")));
}

#[test]
fn a_movement_of_a_dense_source_says_how_many_elements_it_moves() {
    let of = |shape: &[usize], strides: &[isize]| {
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        Movement { permutation: (0..shape.len()).rev().collect(), shape, strides }.dense()
    };
    assert_eq!((of(&[2, 3], &[1, 2]), of(&[], &[])), (Some(6), Some(1)));
    for strides in [[3, 1], [1, 4], [-1, 2]] {
        assert_eq!(of(&[2, 3], &strides), None);
    }
    assert_eq!(of(&[1 << 14, 1 << 14], &[1, 1 << 14]), None);
}

#[test]
fn a_peer_prepares_samples_and_releases() {
    let requests = [
        Request::Sample(1),
        Request::Prepare(task("known")),
        Request::Sample(5),
        Request::Release,
        Request::Prepare(task("unknown")),
        Request::Sample(1),
    ];
    let lines: Vec<String> =
        requests.iter().map(|request| serde_json::to_string(request).unwrap() + "\n").collect();
    let done = Rc::new(Cell::new(0));
    let counter = Rc::clone(&done);
    let prepare = move |task: &Task| -> Option<Operation> {
        let counter = Rc::clone(&counter);
        (task.case == "known").then(|| Operation::repeated(move || counter.set(counter.get() + 1)))
    };
    let mut replies = Vec::new();
    serve_on(lines.concat().as_bytes(), &mut replies, "library", "1.2", prepare).unwrap();

    let replies = String::from_utf8(replies).unwrap();
    let replies: Vec<Reply> =
        replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies[0], Reply::Hello { name: "library".to_owned(), version: "1.2".to_owned() });
    assert!(matches!(replies[1], Reply::Failed(_)));
    assert_eq!(replies[2], Reply::Prepared(true));
    assert!(matches!(replies[3], Reply::Took(_)));
    assert_eq!(replies[4..6], [Reply::Released, Reply::Prepared(false)]);
    assert!(matches!(replies[6], Reply::Failed(_)));
    assert_eq!((replies.len(), done.get()), (7, 5));
}

#[test]
fn an_operation_may_keep_the_time_itself() {
    let requests = [Request::Prepare(task("known")), Request::Sample(5)]
        .map(|request| serde_json::to_string(&request).unwrap() + "\n");
    let sampled = |_: &Task| Some(Operation::sampled(|count| Duration::from_nanos(count * 7)));
    let mut replies = Vec::new();
    serve_on(requests.concat().as_bytes(), &mut replies, "library", "1.2", sampled).unwrap();

    let last = String::from_utf8(replies).unwrap().lines().last().map(str::to_owned);
    assert_eq!(last.as_deref(), Some(r#"{"took":35}"#));
}

#[test]
fn a_line_that_is_no_request_ends_the_peer_with_an_error() {
    let nothing = |_: &Task| None;
    assert!(serve_on(&b"frobnicate\n"[..], Vec::new(), "library", "1", nothing).is_err());
}
