//! A backend that chooses among its providers: it says what it chose, keeps it, and forgets it when told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::{path::PathBuf, sync::Arc, time::Duration};

use common::ones;
use tenferro_cpu::{CpuBackend, CpuBackendBuilder};
use tenferro_ops::TensorComposite;
use tenferro_provider::{Capabilities, Error, Outcome, Preference, Product, Provider, Workers};
use tenferro_providers::Naive;

/// The plain loops after a nap, as somebody who hopes to be chosen and never is.
struct Rival {
    loops: Naive,
    capabilities: Capabilities,
}

impl Provider for Rival {
    fn name(&self) -> &str {
        "rival"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        std::thread::sleep(Duration::from_millis(5));
        self.loops.product(request, workers)
    }
}

fn backend(folder: Option<PathBuf>) -> CpuBackend {
    builder().calibration_folder(folder).build().unwrap()
}

fn builder() -> CpuBackendBuilder {
    let loops = Naive::new();
    let mut capabilities = loops.capabilities().clone();
    capabilities.reference = false;
    CpuBackend::builder()
        .threads(1)
        .provider_preference(Preference::Auto)
        .register_provider(Arc::new(Rival { loops, capabilities }))
}

#[test]
fn x41_a_backend_chooses_by_its_own_products_and_remembers_across_backends() {
    let folder = std::env::temp_dir().join(format!("tenferro-choices-{}", std::process::id()));
    let mut first = backend(Some(folder.clone()));
    assert_eq!(first.choices(), []);
    for _ in 0..12 {
        assert_eq!(
            first.matmul(&ones(100), &ones(100)).unwrap().as_slice::<f64>().unwrap()[0],
            100.0
        );
    }
    let explained = first.explain_choice("dgemm 100 100 100", 1).unwrap();
    assert_eq!(explained.chosen.as_deref(), Some("native"), "{explained}");
    assert!(first.diagnostics().to_string().contains("choice: f64 single square 6: native"));
    assert!(first.choices_file().unwrap().exists());
    // Somebody who was not there has the same table.
    let second = backend(Some(folder.clone()));
    assert_eq!(second.choices(), first.choices());
    second.reset_choices().unwrap();
    assert_eq!(second.choices(), []);
    assert!(!first.choices_file().unwrap().exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn x41_calibration_chooses_at_once_and_keeps_nothing_if_nothing_is_to_be_kept() {
    let backend = backend(None);
    assert_eq!(backend.choices_file(), None);
    assert_eq!(backend.calibrate(Duration::ZERO).unwrap(), 0);
    let settled = backend.calibrate(Duration::from_millis(300)).unwrap();
    let chosen = backend.choices().iter().filter(|entry| entry.chosen.is_some()).count();
    assert!(settled > 0);
    assert_eq!(chosen, settled);
    assert_eq!(backend.explain_choice("nonsense", 1), None);
}

#[test]
fn x41_a_backend_without_a_choice_has_nothing_to_settle_or_explain() {
    let backend = CpuBackend::with_threads(1).unwrap();
    assert_eq!(backend.calibrate(Duration::from_secs(10)).unwrap(), 0);
    assert_eq!(backend.explain_choice("dgemm 8 8 8", 1), None);
    assert_eq!((backend.choices(), backend.choices_file()), (Vec::new(), None));
    backend.reset_choices().unwrap();
}
