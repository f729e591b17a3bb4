//! `tenferro providers` with what is there everywhere, and with a library that is not.

use std::path::Path;

use crate::command::{refusal, succeed};

#[test]
fn the_list_has_what_is_there_and_says_why_the_rest_is_not() {
    let out = succeed(Path::new("."), &["providers", "list"]);
    assert!(out.starts_with("native "), "{out}");
    assert!(out.contains("\nnaive "), "{out}");
    assert!(out.contains("mkl is not there\n"), "{out}");
}

#[test]
fn the_list_is_there_for_programs() {
    let out = succeed(Path::new("."), &["providers", "list", "naive", "--json"]);
    assert_eq!(out.matches('\n').count(), 1);
    let list: serde_json::Value = serde_json::from_str(&out).unwrap();
    let providers = list["providers"].as_array().unwrap();
    assert_eq!(providers.len(), 1);
    assert_eq!(providers[0]["name"], "naive");
    assert_eq!(list["absent"], serde_json::json!([]));
}

#[test]
fn a_named_provider_is_tested_alone() {
    let out = succeed(Path::new("."), &["providers", "test", "naive"]);
    assert_eq!(out.matches('\n').count(), 1);
    assert!(out.starts_with("naive ") && out.contains("products"), "{out}");
}

#[test]
fn a_provider_that_is_not_there_is_named_with_the_places_that_were_searched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let line = refusal(Path::new("."), &["providers", "test", "blis-of-nowhere", "--path", path]);
    assert!(line.contains("`blis-of-nowhere`") && line.contains(path), "{line}");
    let line = refusal(Path::new("."), &["providers", "test", "atlas"]);
    assert!(line.contains("`atlas`") && line.contains("native"), "{line}");
}

#[test]
fn a_choice_is_explained_before_and_without_measuring() {
    let explain = |product| succeed(Path::new("."), &["providers", "explain", product]);
    let text = explain("dgemm 64 64 64");
    assert!(text.starts_with("class f64 ") && text.contains("square 6: not met yet"), "{text}");
    assert!(explain("c64 8 8 8 1000").contains("batched"));
    let line = refusal(Path::new("."), &["providers", "explain", "a product"]);
    assert!(line.contains("`a product`") && line.contains("dgemm 64 64 64"), "{line}");
}

#[test]
fn choices_are_forgotten_where_there_are_none_too() {
    let out = succeed(Path::new("."), &["providers", "calibrate", "--reset"]);
    assert!(out.starts_with("forgotten"), "{out}");
}

#[test]
fn a_command_is_needed() {
    let line = refusal(Path::new("."), &["providers"]);
    assert!(line.starts_with("a command is needed: list, test"), "{line}");
}
