//! Eight threads with mixed requests: nothing is oversubscribed, lost or stuck.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{Calls, assert_all_returned, block_on, poll_once, with_watchdog};
use tenferro_arbiter::{
    Arbiter, CancelToken, ClaimKind, CpuSet, Error, FairArbiter, Patience, Policy, ProviderClaim,
    ProviderKey, Request, ResourcePermit,
};

const THREADS: u64 = 8;
const ROUNDS: u64 = 3000;

/// What an outside observer believes to be in use.
#[derive(Default)]
struct Books {
    cpus: AtomicI64,
    pinned: AtomicU64,
    reserved: AtomicI64,
    provider: AtomicI64,
    unbounded: AtomicI64,
    overcommits: AtomicU64,
}

struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn operate(books: &Books, permit: &ResourcePermit, n: i64, random: &mut Xorshift) {
    let width = permit.width() as i64;
    assert!(width >= 1);
    if permit.is_overcommitted() {
        assert_eq!(width, 1);
        books.overcommits.fetch_add(1, SeqCst);
        return;
    }
    let used = books.cpus.fetch_add(width, SeqCst) + width;
    assert!(used <= n, "{used} of {n} CPUs in use");
    for _ in 0..random.below(200) {
        std::hint::spin_loop();
    }
    if random.below(8) == 0 {
        thread::yield_now();
    }
    books.cpus.fetch_sub(width, SeqCst);
}

fn floating(arbiter: &dyn Arbiter, books: &Books, n: i64, random: &mut Xorshift) {
    let min = 1 + random.below(2);
    let request = Request::new(min as usize..=(min + random.below(n as u64)) as usize);
    let outcome = match random.below(4) {
        0 => arbiter.try_acquire(&request),
        1 => arbiter.acquire_timeout(&request, Duration::from_micros(random.below(300))),
        _ => arbiter.acquire(&request),
    };
    match outcome {
        Ok(permit) => operate(books, &permit, n, random),
        Err(Error::WouldBlock { .. } | Error::TimedOut { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A request as a future: polled to its end, or dropped after its first poll.
fn future(arbiter: &dyn Arbiter, books: &Books, n: i64, random: &mut Xorshift) {
    let request = Request::new(1..=1 + random.below(n as u64) as usize);
    let token = CancelToken::new();
    let patience = match random.below(3) {
        0 => Patience::unlimited().unless(&token),
        1 => Patience::at_most(Duration::from_micros(random.below(2000))),
        _ => Patience::unlimited(),
    };
    let mut future = arbiter.acquire_async(&request, &patience);
    if random.below(3) == 0 {
        let ready = poll_once(&mut future, &Calls::new()).is_ready();
        thread::yield_now();
        token.cancel();
        if ready || random.below(2) == 0 {
            return;
        }
    }
    match block_on(future) {
        Ok(permit) => operate(books, &permit, n, random),
        Err(Error::TimedOut { .. } | Error::Cancelled { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

fn scope(arbiter: &dyn Arbiter, books: &Books, n: i64, random: &mut Xorshift) {
    let permit = arbiter.acquire(&Request::up_to(n as usize)).unwrap();
    operate(books, &permit, n, random);
    for _ in 0..random.below(20) {
        permit.lend();
        match random.below(3) {
            0 => thread::yield_now(),
            1 => drop(arbiter.admit_now(&Request::one_thread()).unwrap()),
            _ => {}
        }
        permit.resume_up_to(1 + random.below(n as u64) as usize);
        operate(books, &permit, n, random);
    }
    if random.below(2) == 0 {
        permit.lend();
    }
}

fn pinned(arbiter: &dyn Arbiter, books: &Books, n: i64, random: &mut Xorshift) {
    let low = random.below(n as u64 - 1) as usize;
    let set = CpuSet::from_iter(low..(low + 2).min(n as usize));
    let mask: u64 = set.iter().map(|cpu| 1 << cpu).sum();
    let permit = arbiter.acquire(&Request::exclusive(set.clone())).unwrap();
    assert_eq!(permit.width(), set.len());
    assert_eq!(books.pinned.fetch_or(mask, SeqCst) & mask, 0, "a pinned CPU was taken twice");
    books.reserved.fetch_add(set.len() as i64, SeqCst);
    operate(books, &permit, n, random);
    permit.lend();
    thread::yield_now();
    assert_eq!(permit.resume(), set.len());
    operate(books, &permit, n, random);
    books.reserved.fetch_sub(set.len() as i64, SeqCst);
    books.pinned.fetch_and(!mask, SeqCst);
}

fn restricted(arbiter: &dyn Arbiter, books: &Books, n: i64, random: &mut Xorshift) {
    let set = CpuSet::from_iter((0..2).map(|_| random.below(n as u64) as usize));
    let permit = arbiter.acquire(&Request::up_to(2).on(set.clone())).unwrap();
    assert!(permit.width() <= set.len());
    operate(books, &permit, n, random);
    permit.lend();
    thread::yield_now();
    permit.resume();
    operate(books, &permit, n, random);
}

fn claiming(arbiter: &dyn Arbiter, books: &Books, n: i64, random: &mut Xorshift) {
    let kind = match random.below(8) {
        0 => ClaimKind::Unbounded,
        1..=3 => ClaimKind::SharedOneThread,
        _ => ClaimKind::Exclusive,
    };
    let claim = ProviderClaim::new(ProviderKey(7), kind);
    let permit = arbiter.acquire(&Request::up_to(2).with_provider(claim)).unwrap();
    let shared = kind == ClaimKind::SharedOneThread;
    let mine = if shared { 1 } else { 1000 };
    let users = books.provider.fetch_add(mine, SeqCst) + mine;
    assert!(users == 1000 || (shared && users < 1000), "{users}: the provider's users overlap");
    if kind == ClaimKind::Unbounded {
        assert_eq!(books.cpus.load(SeqCst), 0, "beside an unbounded provider");
        books.unbounded.fetch_add(1, SeqCst);
    }
    operate(books, &permit, n, random);
    books.provider.fetch_sub(mine, SeqCst);
}

fn work(arbiter: &dyn Arbiter, books: &Books, n: i64, seed: u64) {
    let mut random = Xorshift(seed);
    for _ in 0..ROUNDS {
        match random.below(15) {
            0..=4 => floating(arbiter, books, n, &mut random),
            5..=6 => scope(arbiter, books, n, &mut random),
            7 => pinned(arbiter, books, n, &mut random),
            8 => restricted(arbiter, books, n, &mut random),
            9..=10 => claiming(arbiter, books, n, &mut random),
            11..=13 => future(arbiter, books, n, &mut random),
            _ => {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let permit = arbiter.acquire(&Request::one_thread()).unwrap();
                    std::panic::resume_unwind(Box::new(permit.width()));
                }));
                assert_eq!(outcome.unwrap_err().downcast_ref::<usize>(), Some(&1));
            }
        }
    }
}

fn stress(n: usize, bypass: Duration) {
    let policy = Policy { bypass, ..Policy::default() };
    let arbiter = Arc::new(FairArbiter::with_policy(CpuSet::first(n), policy).unwrap());
    let books = Arc::new(Books::default());
    let threads: Vec<_> = (0..THREADS)
        .map(|i| {
            let (arbiter, books) = (Arc::clone(&arbiter), Arc::clone(&books));
            thread::spawn(move || work(&*arbiter, &books, n as i64, 0x9e37_79b9 + i * 7919))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let snapshot = arbiter.snapshot();
    assert_eq!(snapshot.free, n, "every thread is gone: {snapshot:#?}");
    assert!(books.overcommits.load(SeqCst) <= snapshot.statistics.overcommits);
    assert!(books.unbounded.load(SeqCst) > 0);
    assert_all_returned(&*arbiter);
}

#[test]
fn x21_widths_are_conserved_under_mixed_load_on_two_cpus() {
    with_watchdog(|| stress(2, Duration::from_millis(1)));
}

#[test]
fn x21_widths_are_conserved_under_mixed_load_on_five_cpus() {
    with_watchdog(|| stress(5, Duration::from_millis(1)));
}

#[test]
fn x21_widths_are_conserved_without_a_bypass_budget() {
    with_watchdog(|| stress(3, Duration::ZERO));
}
