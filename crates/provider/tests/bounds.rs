//! Bounds on the threads of a library that counts: set, read back, shared, exclusive, restored.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, mpsc},
    thread,
};

use tenferro_provider::foreign::{CountScope, ThreadControl, ThreadCount};

/// A library with one number of threads for the process, in a module of its own, which writes down what it is set to.
macro_rules! library {
    ($name:ident) => {
        #[allow(dead_code, reason = "each test uses some of it")]
        mod $name {
            use std::{
                ffi::c_int,
                sync::{
                    Mutex,
                    atomic::{AtomicI32, Ordering},
                },
            };

            use tenferro_provider::foreign::{ThreadControl, ThreadCount};

            static THREADS: AtomicI32 = AtomicI32::new(8);
            static WRITTEN: Mutex<Vec<c_int>> = Mutex::new(Vec::new());

            pub(super) extern "C" fn get() -> c_int {
                THREADS.load(Ordering::SeqCst)
            }

            pub(super) extern "C" fn set(threads: c_int) {
                WRITTEN.lock().unwrap().push(threads);
                THREADS.store(threads, Ordering::SeqCst);
            }

            /// What was written so far.
            pub(super) fn written() -> Vec<c_int> {
                WRITTEN.lock().unwrap().clone()
            }

            pub(super) fn control() -> ThreadControl {
                // SAFETY: they are the functions above.
                unsafe { ThreadControl::process(ThreadCount::Int { get, set }) }
            }
        }
    };
}

#[test]
fn x42_the_number_is_set_for_a_call_and_restored_after_it() {
    library!(library);
    let control = library::control();
    assert_eq!((control.scope(), control.threads()), (Some(CountScope::Process), 8));
    for threads in [1, 2, 3] {
        let bounded = control.bound(threads).unwrap();
        assert_eq!(control.threads(), threads.try_into().unwrap());
        drop(bounded);
        assert_eq!(control.threads(), 8);
    }
}

#[test]
fn x42_the_number_is_restored_on_unwinding_and_the_library_can_be_used_again() {
    library!(library);
    let control = library::control();
    for threads in [1, 2, 1, 2] {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _bounded = control.bound(threads).unwrap();
            panic!("in the call");
        }));
        assert!(unwound.is_err());
        assert_eq!(control.threads(), 8);
    }
}

#[test]
fn x42_users_of_one_thread_share_the_setting_the_first_in_sets_and_the_last_out_restores() {
    library!(library);
    let control = library::control();
    let inside = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _bounded = control.bound(1).unwrap();
                // Nobody leaves before all are inside: they do not exclude each other.
                inside.wait();
            });
        }
    });
    assert_eq!(library::written(), [1, 8]);
}

#[test]
fn x42_a_user_of_several_threads_waits_for_those_inside_and_keeps_others_out() {
    library!(library);
    let control = &library::control();
    let (said, heard) = mpsc::channel();
    thread::scope(|scope| {
        let one = control.bound(1).unwrap();
        let several = said.clone();
        scope.spawn(move || {
            let _bounded = control.bound(4).unwrap();
            several.send(("several", library::get())).unwrap();
        });
        // It could have come in by now if nothing held it back; that it has not is no proof, the order below is.
        thread::yield_now();
        said.send(("one", library::get())).unwrap();
        drop(one);
    });
    drop(said);
    assert_eq!(heard.iter().collect::<Vec<_>>(), [("one", 1), ("several", 4)]);
    assert_eq!(library::written(), [1, 8, 4, 8]);
}

#[test]
fn x42_a_library_that_ignores_what_it_is_told_is_not_used_and_what_it_had_is_restored() {
    mod deaf {
        use std::ffi::c_int;

        pub(super) extern "C" fn get() -> c_int {
            8
        }

        pub(super) extern "C" fn set(_: c_int) {}
    }
    // SAFETY: they are the functions above.
    let control =
        unsafe { ThreadControl::process(ThreadCount::Int { get: deaf::get, set: deaf::set }) };
    for threads in [1, 2] {
        let ignored = control.bound(threads).map(drop).unwrap_err();
        assert_eq!((ignored.asked, ignored.answered), (threads, 8));
    }
}

#[test]
fn x42_a_number_of_the_calling_thread_is_set_for_it_alone() {
    mod local {
        use std::{cell::Cell, ffi::c_int};

        thread_local!(static THREADS: Cell<c_int> = const { Cell::new(0) });

        pub(super) extern "C" fn swap(threads: c_int) -> c_int {
            THREADS.replace(threads)
        }

        pub(super) extern "C" fn get() -> c_int {
            // None of its own: the process has 8.
            match THREADS.get() {
                0 => 8,
                own => own,
            }
        }
    }
    // SAFETY: they are the functions above.
    let control = &unsafe { ThreadControl::local(local::swap, local::get) };
    let elsewhere = || thread::scope(|scope| scope.spawn(|| control.threads()).join().unwrap());
    let bounded = control.bound(1).unwrap();
    assert_eq!((control.threads(), elsewhere()), (1, 8));
    drop(bounded);
    assert_eq!(control.threads(), 8);
}

#[test]
fn x42_it_is_found_out_whether_a_number_is_the_process_s_or_the_calling_thread_s() {
    library!(library);
    mod own {
        use std::{cell::Cell, ffi::c_int};

        thread_local!(static THREADS: Cell<c_int> = const { Cell::new(8) });

        pub(super) extern "C" fn set(threads: c_int) {
            THREADS.set(threads);
        }

        pub(super) extern "C" fn get() -> c_int {
            THREADS.get()
        }
    }
    let of_process = ThreadCount::Int { get: library::get, set: library::set };
    let of_thread = ThreadCount::Int { get: own::get, set: own::set };
    assert_eq!((of_process.is_per_thread(), of_thread.is_per_thread()), (false, true));
    let restored: [c_int; 2] = [library::get(), own::get()];
    assert_eq!(restored, [8, 8]);
}
