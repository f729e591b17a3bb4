//! Libraries compiled here: a whole one becomes a provider, and one with a defect is refused by name.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;
use tenferro_provider::foreign::{ForeignProvider, IntegerWidth};
use tenferro_provider::{Error, conformance};
use tenferro_providers::loaded::{Library, LoadError, SearchPath};

/// The library with these definitions.
fn compiled(name: &str, definitions: &[&str]) -> (TempDir, PathBuf) {
    common::compiled("cblas.c", name, definitions)
}

fn load(file: &Path) -> Result<Arc<ForeignProvider>, LoadError> {
    Library::at(file).single_threaded().load(&SearchPath::default())
}

/// What the refusal of a library with this definition says.
fn refusal(name: &str, definition: &str) -> LoadError {
    let (_folder, file) = compiled(name, &[definition]);
    let refused = load(&file).map(|provider| provider.library().clone()).err();
    let refused = refused.unwrap_or_else(|| panic!("{definition} was accepted"));
    assert!(refused.to_string().contains(name), "it is not named: {refused}");
    refused
}

/// The product that shows a defect, and the defect.
fn failure(name: &str, definition: &str) -> String {
    match refusal(name, definition) {
        LoadError::Refused(Error::Refused { name: refused, failure, .. }) => {
            assert_eq!(refused, format!("lib{name}"));
            failure.to_string()
        }
        other => panic!("it was refused for another reason: {other}"),
    }
}

#[test]
fn x43_a_library_without_defects_passes_and_keeps_the_contract() {
    let (_folder, file) = compiled("whole", &[]);
    let provider = load(&file).unwrap_or_else(|error| panic!("{error}"));
    let report = conformance::run(&*provider).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.executed > 2_000, "{report:?}");
}

#[test]
fn x43_integers_of_64_bits_are_found_out_and_keep_the_contract() {
    for definitions in [vec!["INTEGER=long"], vec!["INTEGER=long", "NAME(name)=name##64_"]] {
        let (_folder, file) = compiled("wide", &definitions);
        let library = Library::at(&file).single_threaded().integers(IntegerWidth::Ilp64);
        let provider =
            library.load(&SearchPath::default()).unwrap_or_else(|error| panic!("{error}"));
        conformance::run(&*provider).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn x43_a_wrong_transposed_product_of_a_unit_extent_is_refused() {
    let failure = failure("transposer", "TRANSPOSED_UNIT");
    let unit = ["m 1 ", "n 1 ", "k 1 "].iter().any(|extent| failure.contains(extent));
    assert!(unit, "{failure}");
}

#[test]
fn x43_an_output_that_is_read_though_beta_is_zero_is_refused() {
    let failure = failure("reader", "BETA_READS");
    assert!(failure.contains("NaN"), "{failure}");
}

#[test]
fn x43_complex_results_in_another_convention_are_refused() {
    let failure = failure("returner", "COMPLEX_RETURN");
    assert!(failure.contains("c32") || failure.contains("c64"), "{failure}");
}

#[test]
fn x43_a_missing_function_is_refused() {
    let refused = refusal("misser", "MISSING_ZGEMM");
    let LoadError::Function { missing, .. } = &refused else { panic!("{refused}") };
    assert_eq!(missing.name, "cblas_zgemm");
}

#[test]
fn x43_integers_that_are_narrower_than_the_names_say_are_refused() {
    let refused = refusal("narrow", "NAME(name)=name##64_");
    let LoadError::Integers { expected, found, .. } = &refused else { panic!("{refused}") };
    assert_eq!((*expected, *found), (IntegerWidth::Ilp64, IntegerWidth::Lp64));
    assert!(refused.to_string().contains("libnarrow.so"), "{refused}");
}

#[test]
fn x43_integers_other_than_the_caller_asked_for_are_refused() {
    let (_folder, file) = compiled("other", &["INTEGER=long"]);
    let library = Library::at(&file).single_threaded().integers(IntegerWidth::Lp64);
    let refused = library.load(&SearchPath::default()).map(drop).unwrap_err();
    assert!(matches!(refused, LoadError::Integers { .. }), "{refused}");
}

#[test]
fn x42_a_library_whose_threads_nobody_can_bound_is_refused_unless_it_is_said_to_have_none() {
    let (_folder, file) = compiled("unknown", &[]);
    let refused = Library::at(&file).load(&SearchPath::default()).map(drop).unwrap_err();
    assert!(matches!(refused, LoadError::Threads { .. }), "{refused}");
    assert!(refused.to_string().contains("libunknown.so"), "{refused}");
}
