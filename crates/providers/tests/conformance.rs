//! The conformance suite over the built-in providers.

use std::sync::Arc;

use tenferro_provider::{Chain, Provider, conformance, counting::Counting};
use tenferro_providers::{Naive, Native};
use tenferro_tensor::DType;

#[test]
fn x46_naive_keeps_the_contract() {
    let report = conformance::run(&Naive::new()).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.unsupported, 0);
    assert!(report.executed > 10_000);
}

#[test]
fn x46_a_counting_provider_keeps_the_contract_and_sees_each_call() {
    let counting = Counting::new(Arc::new(Naive::new()));
    let report = conformance::Suite::quick().run(&counting).unwrap();
    assert!(report.executed > 1_000);
    assert_eq!(counting.count(), report.executed + 3 * report.swept);
}

#[test]
fn x46_native_keeps_the_contract() {
    let report = conformance::run(&Native::new()).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.unsupported, 0);
    assert!(report.executed > 10_000);
}

#[test]
fn x46_what_is_composed_of_built_in_products_is_right() {
    let naive: Arc<dyn Provider> = Arc::new(Naive::new());
    let native: Arc<dyn Provider> = Arc::new(Native::new());
    for chain in [Chain::new([naive.clone()]), Chain::new([native, naive])] {
        let right = conformance::composed(&chain).unwrap_or_else(|failure| panic!("{failure}"));
        let [numbers, complex] = [DType::ALL.len() - 1, 2];
        assert_eq!(right, 62 * numbers + 3 * complex);
    }
}

#[test]
fn x46_native_keeps_the_contract_where_it_changes_kernels() {
    // Around the largest of plain loops, one tile and more, a left operand packed for many columns, and sums in pieces.
    let own = [(16, 15, 17, 1), (24, 8, 21, 2), (41, 40, 39, 1), (50, 128, 20, 1), (18, 5, 530, 1)];
    let own = own.map(|(m, n, k, batch)| conformance::Extents::new(m, n, k, batch));
    let quick = conformance::Suite::quick();
    let fewer = quick.run(&Native::new()).unwrap_or_else(|failure| panic!("{failure}"));
    let report =
        quick.with_extents(own).run(&Native::new()).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.unsupported, 0);
    assert!(report.executed > fewer.executed && report.swept > fewer.swept);
}

#[test]
#[cfg(feature = "linalg")]
fn x46_native_with_linalg_does_every_routine() {
    use tenferro_provider::lapack::Routine;
    let report = conformance::Suite::quick().run(&Native::new());
    let report = report.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.unsupported_routines, 0);
    assert!(report.solved >= 4 * 6 * Routine::ALL.len());
}

#[test]
fn x45_a_provider_without_routines_refuses_each_untouched() {
    let report = conformance::Suite::quick().run(&Naive::new()).unwrap();
    assert_eq!(report.solved, 0);
    // Four shapes of twelve routines in four dtypes; some need nothing and have no case.
    assert_eq!(report.unsupported_routines, 4 * 4 * 12);
}
