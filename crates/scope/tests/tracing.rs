//! X3: what subscribers of `tracing` are told, under the feature of that name.

#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::{Arc, Mutex};

use tenferro_arbiter::{CpuSet, FairArbiter};
use tenferro_scope::{Breadth, DomainConfig, ResourceDomain, WaitLimit};
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

/// Notes every span that begins and ends, by name.
#[derive(Clone, Default)]
struct Notes {
    names: Arc<Mutex<Vec<&'static str>>>,
    story: Arc<Mutex<Vec<String>>>,
}

impl Notes {
    fn note(&self, verb: &str, id: &Id) {
        let name = self.names.lock().unwrap()[id.into_u64() as usize - 1];
        self.story.lock().unwrap().push(format!("{verb}{name}"));
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut names = self.names.lock().unwrap();
        names.push(span.metadata().name());
        Id::from_u64(names.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        self.note("+", id);
    }

    fn exit(&self, id: &Id) {
        self.note("-", id);
    }
}

#[test]
fn x3_subscribers_are_told_of_scopes_operations_and_admissions() {
    let notes = Notes::default();
    tracing::subscriber::with_default(notes.clone(), || {
        let domain = ResourceDomain::managed(DomainConfig {
            width: 1,
            cpus: Some(CpuSet::first(1)),
            arbiter: Arc::new(FairArbiter::new(CpuSet::first(2)).unwrap()),
            provider: None,
            wait_limit: WaitLimit::Policy,
        });
        let domain = domain.unwrap();
        let operate = || domain.admit(Breadth::Narrow).unwrap().run(|guard| guard.width()).unwrap();
        // Restricted to some CPUs, every admission takes the lock.
        domain.with_execution_scope(|| (operate(), operate())).unwrap();
        operate();
        domain.install(|| ()).unwrap();
    });
    let story = notes.story.lock().unwrap().join(" ");
    assert_eq!(
        story,
        "+admission -admission +execution +operation -operation +operation -operation -execution \
         +admission -admission +operation -operation +admission -admission +execution -execution"
    );
}
