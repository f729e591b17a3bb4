//! X20 and X21: how wide a permit is, alone and among others.

use std::sync::mpsc;
use std::thread;

use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Request};

#[test]
fn x21_alone_a_caller_gets_its_maximum() {
    let arbiter = FairArbiter::new(CpuSet::first(4)).unwrap();
    assert_eq!(arbiter.acquire(&Request::new(1..=3)).unwrap().width(), 3);
    assert_eq!(arbiter.acquire(&Request::up_to(9)).unwrap().width(), 4);
    assert_eq!(arbiter.acquire(&Request::one_thread()).unwrap().width(), 1);
    assert_eq!(arbiter.acquire(&Request::new(4..=4)).unwrap().width(), 4);
}

#[test]
fn x20_two_one_thread_requests_on_two_free_cpus_never_wait() {
    let arbiter = FairArbiter::new(CpuSet::first(2)).unwrap();
    let (sender, receiver) = mpsc::channel();
    let mine = arbiter.acquire(&Request::one_thread()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..1000 {
                drop(arbiter.acquire(&Request::one_thread()).unwrap());
            }
            sender.send(()).unwrap();
        });
        receiver.recv_timeout(std::time::Duration::from_secs(20)).expect("nothing to wait for");
    });
    assert_eq!(mine.width(), 1);
    assert_eq!(arbiter.snapshot().statistics.waits, 0);
}
