//! The suite finds what it is there to find: each provider here is broken in one way, but the first.

mod broken;

use broken::{Fault, Sound};
use tenferro_provider::{
    Layouts,
    conformance::{self, Defect, Suite},
};
use tenferro_tensor::DType;

/// The defect that the quick suite and the full one find in a provider with this fault.
#[track_caller]
fn defect(fault: Fault) -> Defect {
    let provider = Sound::with(fault);
    let quick = Suite::quick().run(&provider).expect_err("it is broken");
    let full = conformance::run(&provider).expect_err("it is broken");
    assert_eq!(full.provider, "sound");
    assert_eq!(std::mem::discriminant(&*quick.defect), std::mem::discriminant(&*full.defect));
    *full.defect
}

#[test]
fn x46_a_sound_provider_passes() {
    let report = conformance::run(&Sound::new()).unwrap();
    // What it does not claim, three products for each other dtype, it may refuse.
    assert_eq!(report.unsupported, 3 * (DType::ALL.len() - 1 - 4));
    assert!(report.executed > 2_000 && report.swept > 0);
}

#[test]
fn x46_what_is_not_claimed_may_be_refused() {
    let mut provider = Sound::new();
    provider.capabilities.layouts = Layouts::Leading;
    provider.capabilities.conjugation = false;
    provider.capabilities.batch = false;
    assert!(conformance::run(&provider).unwrap().unsupported > 1_000);
}

#[test]
fn x32_a_claim_that_does_not_hold_is_found() {
    let mut provider = Sound::new();
    provider.capabilities.dtypes = [DType::F64, DType::U8].into_iter().collect();
    let failure = conformance::run(&provider).unwrap_err();
    assert!(matches!(*failure.defect, Defect::Refused(_)), "{failure}");
}

#[test]
fn f24_reading_the_output_at_beta_zero_is_found() {
    assert!(matches!(defect(Fault::ReadsOutput), Defect::Wrong { .. }));
}

#[test]
fn p6_reading_the_inputs_at_alpha_zero_is_found() {
    assert!(matches!(defect(Fault::ReadsInputs), Defect::Wrong { .. }));
}

#[test]
fn f23_trusting_the_stride_of_a_unit_axis_is_found() {
    assert!(matches!(defect(Fault::TrustsUnitStrides), Defect::Wrong { .. }));
}

#[test]
fn x46_ignoring_conjugation_is_found() {
    assert!(matches!(defect(Fault::IgnoresConjugation), Defect::Wrong { .. }));
}

#[test]
fn x45_touching_the_output_before_unsupported_is_found() {
    assert!(matches!(defect(Fault::TouchesBeforeRefusing), Defect::Touched { .. }));
}

#[test]
fn x46_writing_beside_the_output_is_found() {
    assert!(matches!(defect(Fault::WritesBeside), Defect::Guard { .. }));
}

#[test]
fn x46_a_panic_is_found() {
    assert!(matches!(defect(Fault::Panics), Defect::Panicked(text) if text == "deliberately"));
}

#[test]
fn x46_an_error_is_found() {
    assert!(matches!(defect(Fault::Fails), Defect::Failed(_)));
}

#[test]
fn x50_results_that_depend_on_the_width_are_found() {
    assert!(matches!(defect(Fault::SplitsTheSum), Defect::WidthDependent { .. }));
}

#[test]
fn f22_ignoring_a_batch_stride_of_zero_is_found() {
    assert!(matches!(defect(Fault::IgnoresBatch), Defect::Wrong { .. }));
}

#[test]
fn x46_a_failure_says_which_product_and_what_is_wrong() {
    let failure = Suite::quick().run(&Sound::with(Fault::ReadsInputs)).unwrap_err();
    let text = failure.to_string();
    let (head, tail) = text.split_once(": element").unwrap();
    assert!(head.starts_with("provider `sound` breaks its contract: f64 m "), "{text}");
    assert!(head.contains("alpha Integer(0)"), "{text}");
    assert!(tail.contains("is NaN, not"), "{text}");
}
