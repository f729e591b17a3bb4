//! Bugs to seed into the arbiter's protocol, each with the model that must catch it.
//!
//! A mutation is a replacement of text that occurs once in a file, so that it stops applying, loudly, when the
//! protocol's code changes under it. Here is only the table; what is done with it is in `scratch`.

use super::super::step::Failure;
use super::Checker;

/// A bug.
pub(super) struct Mutation {
    pub(super) name: &'static str,
    /// What is wrong with the mutated protocol.
    pub(super) about: &'static str,
    /// The file, below the arbiter's folder.
    pub(super) file: &'static str,
    /// What stands there once.
    from: &'static str,
    to: &'static str,
    pub(super) checker: Checker,
    /// The model that must fail.
    pub(super) model: &'static str,
}

impl Mutation {
    /// The mutated text of the file.
    pub(super) fn apply(&self, text: &str) -> Result<String, Failure> {
        match text.matches(self.from).count() {
            1 => Ok(text.replace(self.from, self.to)),
            found => Err(Failure::Red(format!(
                "mutation `{}`: its text occurs {found} times in {}, not once; write it anew in \
                 xtask/src/model/mutation.rs",
                self.name, self.file
            ))),
        }
    }
}

pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "lost-wake-up",
        about: "the end of an operation does not see that a waiter marked its seat",
        file: "src/home.rs",
        from: "Err(found) if found.is_wanted() => return",
        to: "Err(found) if found.is_wanted() && found.is_fixed() => return",
        checker: Checker::Loom,
        model: "x28_two_threads_exclude_each_other_on_one_cpu",
    },
    Mutation {
        name: "open-pool",
        about: "the pool word is not closed while a request waits",
        file: "src/dispatch.rs",
        from: "                core.pool().close();\n",
        to: "",
        checker: Checker::Loom,
        model: "x28_nobody_passes_a_waiter_that_it_would_delay",
    },
    Mutation {
        name: "silent-give-up",
        about: "a request that gives up does not let those behind it run",
        file: "src/waiting.rs",
        from: "        self.refuse(number, error(waited, holders));\n        self.dispatch(core, None);\n",
        to: "        self.refuse(number, error(waited, holders));\n",
        checker: Checker::Loom,
        model: "x28_a_waiter_that_gives_up_lets_those_behind_it_run",
    },
    Mutation {
        name: "silent-end",
        about: "a thread that ends does not serve those whom it passed",
        file: "src/admission.rs",
        from: "        ledger.unregister(seat.slot());\n        ledger.dispatch(self, None);\n",
        to: "        ledger.unregister(seat.slot());\n",
        checker: Checker::Loom,
        model: "x28_a_thread_that_ends_gives_its_cpus_to_the_waiter_it_passed",
    },
    Mutation {
        name: "kept-twice",
        about: "the CPUs that a thread keeps for its turn are given back to the pool as well",
        file: "src/admission.rs",
        from: "let freed = before.tokens() - after.spare();",
        to: "let freed = before.tokens();",
        checker: Checker::Loom,
        model: "x28_a_thread_that_ends_gives_its_cpus_to_the_waiter_it_passed",
    },
    Mutation {
        name: "minted-cpu",
        about: "an overcommitted operation gives back a CPU that it never had",
        file: "src/seat.rs",
        from: "if self.is_over() { 0 } else { self.active() }",
        to: "self.active()",
        checker: Checker::Loom,
        model: "x28_two_scopes_share_one_cpu",
    },
    Mutation {
        name: "relaxed-exchange",
        about: "the seat's exchange orders nothing, so that holders do not see each other's writes",
        file: "src/seat.rs",
        from: "            .compare_exchange(expected.0, next.0, Ordering::AcqRel, Ordering::Acquire)",
        to: "            .compare_exchange(expected.0, next.0, Ordering::Relaxed, Ordering::Relaxed)",
        checker: Checker::Loom,
        model: "x28_a_lent_cpu_is_taken_and_taken_back",
    },
    Mutation {
        name: "kept-in-panic",
        about: "a permit that a panic drops is not released",
        file: "src/permit.rs",
        from: "        if let Some(home) = self.home.take() {\n            home.note_end();\n",
        to: "        if std::thread::panicking() {\n            std::mem::forget(self.home.take());\n        }\n        \
             if let Some(home) = self.home.take() {\n            home.note_end();\n",
        checker: Checker::Shuttle,
        model: "x28_a_panic_releases_what_its_thread_holds",
    },
];

#[cfg(test)]
mod tests {
    use super::super::super::Workspace;
    use super::*;

    #[test]
    fn every_mutation_applies_to_the_sources_as_they_are() {
        let arbiter = Workspace::find().root().join("crates/arbiter");
        for mutation in MUTATIONS {
            let text = std::fs::read_to_string(arbiter.join(mutation.file)).unwrap();
            assert_ne!(mutation.apply(&text).unwrap(), text);
            let models = arbiter.join("tests").join(mutation.checker.name());
            let exists = std::fs::read_dir(models).unwrap().any(|file| {
                let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
                text.contains(&format!("fn {}()", mutation.model))
            });
            assert!(exists, "no model is called {}", mutation.model);
        }
    }
}
