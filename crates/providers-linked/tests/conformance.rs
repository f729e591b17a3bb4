//! The linked library keeps the contract, and a backend computes with it.

#![cfg(any(
    feature = "openblas",
    feature = "mkl-static",
    feature = "blis",
    feature = "netlib",
    feature = "accelerate"
))]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_provider::{Provider, conformance, foreign::Threading};
use tenferro_tensor::Tensor;

/// Some libraries have one number of threads for the process: whoever looks at it is alone, as is whoever sets it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn x46_the_linked_library_keeps_the_contract() {
    let _alone = alone();
    for threading in [Threading::Workers, Threading::Library] {
        let linked = tenferro_providers_linked::provider(threading).unwrap();
        println!("{} {} {:?}", linked.name(), linked.version(), linked.capabilities());
        let report = conformance::run(&*linked).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.executed > 2_000, "{report:?}");
        assert_eq!(report.solved > 300, !cfg!(feature = "blis"), "{report:?}");
    }
}

#[test]
fn x41_a_backend_computes_with_the_linked_library_and_its_settings_are_restored() {
    let _alone = alone();
    let linked = tenferro_providers_linked::provider(Threading::Library).unwrap();
    let (library, name) = (linked.library().clone(), linked.name().to_owned());
    let before = library.threads.threads();
    let backend = CpuBackend::builder().threads(2).register_provider(linked).provider(&name);
    let mut backend = backend.build().unwrap();
    let ones = Tensor::from_vec_col_major(vec![300, 300], vec![1.0_f64; 300 * 300]).unwrap();
    let product = backend.matmul(&ones, &ones).unwrap();
    assert!(product.as_slice::<f64>().unwrap().iter().all(|&sum| sum == 300.0));
    assert_eq!(backend.diagnostics().providers[0].name, name);
    drop(backend);
    assert_eq!(library.threads.threads(), before);
}

#[test]
fn x40_there_is_one_library_however_often_it_is_asked_for() {
    let _alone = alone();
    let [first, second] = [Threading::Workers, Threading::Library]
        .map(|threading| tenferro_providers_linked::provider(threading).unwrap());
    assert!(Arc::ptr_eq(first.library(), second.library()));
}
