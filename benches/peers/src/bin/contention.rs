//! Suite `contention`: the same work by one, two, four and eight callers on a few CPUs.
//!
//! Each caller is a thread with a backend of its own, of a budget of one or two threads, and all
//! callers together do the same number of jobs, which they draw one by one. The limit is those jobs by raw kernels on plain
//! threads in the best schedule there is: as many threads as can run, each doing job after job. The
//! peer is what happens without arbitration: faer, and parallel sums, on one shared rayon pool.
//!
//! A case is called `work/k-callers/budget`. With eight callers of one thread, two such callers
//! with the same jobs, those of four callers each, are a peer too: they fill the CPUs, so that six more should change nothing.
//!
//! `fairness` is no comparison: eight equal callers run for two seconds, and the CPU time of the one
//! that got most is printed over that of the one that got least.
//!
//! For each C library that a `--library` names there are cases of products by its provider, such as
//! `mkl-gemm64/2-callers/2`. Their limit is the library itself in the best schedule, one thread a
//! call; the peer is the library as each caller would use it alone, with as many threads as its
//! budget. Set `KMP_BLOCKTIME=0`, or the threads of MKL's peer spin into the next contender's turn.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use tenferro_bench_limits::{Kernel, Library, Matrices, add_fresh, on_threads, sum};
use tenferro_benches::{Case, Contender, Suite, scattered};
use tenferro_cpu::{CpuBackend, loaded};
use tenferro_ops::TensorComposite;
use tenferro_provider::{Preference, Provider};
use tenferro_tensor::{KeepAxes, Tensor, TensorElementwise, TensorReduction};

/// Callers, each number a divisor of the last.
const CALLERS: [usize; 4] = [1, 2, 4, 8];
/// Jobs of an operation that is timed, over all callers.
const JOBS: u64 = 8;

fn main() -> ExitCode {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cpus).build_global();
    pool.expect("nobody has used the shared pool yet");
    Suite::main("contention", |suite| {
        let least = suite.plan_mut().sample;
        suite.figure("fairness/8-callers/1", 1, fairness);
        let foreigners: Vec<_> = suite.libraries().iter().map(|path| Foreign::open(path)).collect();
        for budget in [1, 2] {
            for foreign in &foreigners {
                for n in [64, 256] {
                    for callers in [2, 4] {
                        let name = format!("{}-gemm{n}/{callers}-callers/{budget}", foreign.name());
                        suite.plan_mut().sample = least.max(sample(callers));
                        suite.case(&name, budget, |name, threads| {
                            foreign.case(name, threads, n, callers, cpus)
                        });
                    }
                }
            }
            for work in WORKS {
                for callers in CALLERS {
                    let name = format!("{}/{callers}-callers/{budget}", work.name);
                    suite.plan_mut().sample = least.max(sample(callers));
                    suite.case(&name, budget, |name, threads| {
                        case(name, threads, work, callers, cpus)
                    });
                }
            }
        }
    })
}

/// How long a sample of so many callers is: several long turns of each, on two CPUs. Of a shorter one the start of the
/// callers' threads, which are strangers to the arbiter until their first turn is over, is a good part.
fn sample(callers: usize) -> Duration {
    Duration::from_millis(50) * u32::try_from(callers).expect("invariant: a few callers")
}

/// One job of a caller, repeated; what it works on is in it.
type Job = Box<dyn FnMut() + Send>;

/// A kind of work: how ours, raw kernels and the shared pool do one job of it.
struct Work {
    name: &'static str,
    ours: fn(budget: usize) -> Job,
    raw: fn() -> Job,
    shared: fn(budget: usize) -> Job,
    /// Whether one job can use more than one thread.
    wide: bool,
}

const WORKS: &[Work] = &[
    Work {
        name: "gemm64",
        ours: |budget| repeated(16, products(budget, 64)),
        raw: || repeated(16, raw_products(64)),
        shared: |budget| repeated(16, shared_products(budget, 64)),
        wide: true,
    },
    Work {
        name: "gemm256",
        ours: |budget| products(budget, 256),
        raw: || raw_products(256),
        shared: |budget| shared_products(budget, 256),
        wide: true,
    },
    Work { name: "chain", ours: chains, raw: raw_chains, shared: |_| raw_chains(), wide: false },
    Work { name: "sum", ours: sums, raw: raw_sums, shared: shared_sums, wide: true },
    Work {
        name: "mixed",
        ours: |budget| {
            let all = [products(budget, 64), products(budget, 256), chains(budget), sums(budget)];
            in_turn(all)
        },
        raw: || in_turn([raw_products(64), raw_products(256), raw_chains(), raw_sums()]),
        shared: |budget| {
            let products = |n| shared_products(budget, n);
            in_turn([products(64), products(256), raw_chains(), shared_sums(budget)])
        },
        wide: true,
    },
];

fn case(
    name: String,
    threads: usize,
    work: &'static Work,
    callers: usize,
    cpus: usize,
) -> Case<'static> {
    let jobs = |callers: usize| (0..callers).map(|_| (work.ours)(threads)).collect();
    let shared = (0..callers).map(|_| (work.shared)(threads)).collect();
    let mut peers = vec![called("shared pool", shared)];
    if callers == CALLERS[CALLERS.len() - 1] && threads == 1 {
        peers.push(in_schedule("two callers", jobs(callers), 2));
    }
    let runnable = if work.wide { callers * threads } else { callers };
    let limit = best_schedule(work, callers, runnable.min(cpus));
    Case { name, threads, ours: called("ours", jobs(callers)), limit, peers }
}

/// For how long callers are compared.
const WHILE: Duration = Duration::from_secs(2);

/// CPU time of equal callers, each with products of its own.
fn fairness() -> String {
    let callers = CALLERS[CALLERS.len() - 1];
    let gate = Barrier::new(callers);
    let times: Vec<Option<u64>> = std::thread::scope(|scope| {
        let own = |_| {
            scope.spawn(|| {
                let mut job = products(1, 64);
                gate.wait();
                let (begin, end) = (cpu_time(), Instant::now() + WHILE);
                while Instant::now() < end {
                    job();
                }
                Some(cpu_time()? - begin?)
            })
        };
        let threads: Vec<_> = (0..callers).map(own).collect();
        threads.into_iter().map(|thread| thread.join().expect("a caller's jobs succeed")).collect()
    });
    let Some(times) = times.into_iter().collect::<Option<Vec<u64>>>() else {
        return "this system does not tell a thread's CPU time".to_owned();
    };
    let (least, most) = (times.iter().min().copied(), times.iter().max().copied());
    let [least, most] = [least, most].map(|ns| ns.unwrap_or_default() as f64 / 1e6);
    format!("CPU time {least:.1} to {most:.1} ms in {WHILE:?}: {:.3} x", most / least)
}

/// The calling thread's CPU time in nanoseconds, where the system tells it.
fn cpu_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// A C library: its provider, and itself.
struct Foreign {
    provider: Arc<dyn Provider>,
    library: Arc<Library>,
}

impl Foreign {
    /// Opens the library at this path.
    fn open(path: &Path) -> Self {
        // The provider first: it opens a library together with what it needs beside it.
        let builder = CpuBackend::builder().library(loaded::Library::at(path));
        let registry = builder.registry().unwrap_or_else(|error| panic!("{error}"));
        // What the builder was given is preferred to everything else.
        let provider = registry.iter().next().expect("invariant: there is always a provider");
        let library = Library::open(path).unwrap_or_else(|error| panic!("{error}"));
        Self { provider: provider.clone(), library: Arc::new(library) }
    }

    fn name(&self) -> &str {
        self.provider.name()
    }

    fn case(
        &self,
        name: String,
        threads: usize,
        n: usize,
        callers: usize,
        cpus: usize,
    ) -> Case<'static> {
        // As in the cases of the other works.
        let times = if n < 128 { 16 } else { 1 };
        let all =
            |job: &dyn Fn() -> Job, count| (0..count).map(|_| repeated(times, job())).collect();
        let ours = called("ours", all(&|| self.products(threads, n), callers));
        let unarbitrated = called("unarbitrated", all(&|| self.raw_products(threads, n), callers));
        let runnable = (callers * threads).min(cpus);
        let limit =
            in_best_schedule(all(&|| self.raw_products(1, n), callers.max(runnable)), runnable);
        Case { name, threads, ours, limit, peers: vec![unarbitrated] }
    }

    /// A product of two square matrices by the provider, each admitted by itself.
    fn products(&self, budget: usize, n: usize) -> Job {
        let builder =
            CpuBackend::builder().threads(budget).register_provider(self.provider.clone());
        let preference = Preference::Only(self.name().to_owned());
        let backend = builder.provider_preference(preference).build();
        products_by(backend.expect("a backend of so many threads with this provider"), n)
    }

    /// The same by the library itself, which is told how many threads to use before each product.
    fn raw_products(&self, threads: usize, n: usize) -> Job {
        let (library, mut matrices) = (self.library.clone(), Matrices::<f64>::new([n, n, n], 1));
        let product = library.product::<f64>().expect("a library with products of f64");
        Box::new(move || {
            library.set_threads(threads);
            product(black_box(&mut matrices));
        })
    }
}

/// Each caller on a thread of its own, until they have done all jobs together.
///
/// They draw jobs from one number. With a fixed share for each, those who are done first would leave CPUs idle at
/// the end of every sample.
fn called(name: &str, mut callers: Vec<Job>) -> Contender<'static> {
    Contender::sampled(name, move |count| {
        let left = AtomicU64::new(count * JOBS);
        let draw = || left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
        on_threads(callers.iter_mut().collect(), 1, |job| {
            while draw() {
                job();
            }
        })
    })
}

/// The callers' jobs one caller after the other, shared out to plain threads.
fn best_schedule(work: &Work, callers: usize, threads: usize) -> Contender<'static> {
    in_best_schedule((0..callers.max(threads)).map(|_| (work.raw)()).collect(), threads)
}

/// The same for jobs that are at hand.
fn in_best_schedule(callers: Vec<Job>, threads: usize) -> Contender<'static> {
    in_schedule("best schedule", callers, threads)
}

/// Jobs of callers on so many threads, each with its part of the callers, one caller's jobs after the other's.
fn in_schedule(name: &str, mut callers: Vec<Job>, threads: usize) -> Contender<'static> {
    let each = JOBS / callers.len() as u64;
    Contender::sampled(name, move |count| {
        let own = callers.len() / threads;
        on_threads(callers.chunks_mut(own).collect(), 1, |jobs| {
            for job in &mut **jobs {
                (0..count * each).for_each(|_| job());
            }
        })
    })
}

fn repeated(times: usize, mut job: Job) -> Job {
    Box::new(move || (0..times).for_each(|_| job()))
}

fn in_turn(mut jobs: [Job; 4]) -> Job {
    Box::new(move || jobs.iter_mut().for_each(|job| job()))
}

fn backend(budget: usize) -> CpuBackend {
    CpuBackend::builder()
        .threads(budget)
        .provider_preference(Preference::Only("native".to_owned()))
        .build()
        .expect("a backend of so many threads with the native provider")
}

fn tensor(extents: &[usize]) -> Tensor {
    let elements = scattered(extents.iter().product(), -1.0, 1.0);
    Tensor::from_vec_col_major(extents, elements).expect("invariant: so many elements")
}

/// A product of two square matrices, each admitted by itself.
fn products(budget: usize, n: usize) -> Job {
    products_by(backend(budget), n)
}

/// The same by a given backend.
fn products_by(mut operations: CpuBackend, n: usize) -> Job {
    let (lhs, rhs) = (tensor(&[n, n]), tensor(&[n, n]));
    Box::new(move || {
        let product = operations.matmul(black_box(&lhs), black_box(&rhs));
        black_box(&product.expect("operands that agree"));
    })
}

/// By the faster of the kernels: what is packed first pays off beyond the first-level cache.
fn raw_products(n: usize) -> Job {
    let kernel = if n <= 64 { Kernel::Nano } else { Kernel::Gemm };
    let mut matrices = Matrices::<f64>::new([n, n, n], 1);
    Box::new(move || kernel.multiply(black_box(&mut matrices)))
}

fn shared_products(budget: usize, n: usize) -> Job {
    let matrix = || Mat::from_fn(n, n, |row, column| ((row * n + column) as f64 * 0.37).sin());
    let (lhs, rhs, mut out) = (matrix(), matrix(), Mat::zeros(n, n));
    let par = if budget > 1 { Par::rayon(budget) } else { Par::Seq };
    Box::new(move || {
        matmul(&mut out, Accum::Replace, black_box(&lhs), black_box(&rhs), 1.0, par);
    })
}

/// Additions that depend on each other.
const LINKS: usize = 100;
/// Elements of each addition.
const LINK: usize = 1000;

/// A chain in an execution scope.
fn chains(budget: usize) -> Job {
    let owner = backend(budget);
    let mut operations = owner.clone();
    let x = tensor(&[LINK]);
    Box::new(move || {
        let chain = owner.with_execution_scope(|| {
            let mut y = operations.add(&x, black_box(&x))?;
            for _ in 1..LINKS {
                y = operations.add(&y, black_box(&x))?;
            }
            Ok::<_, tenferro_cpu::Error>(y)
        });
        black_box(&chain.expect("no other scope is open").expect("operands of one shape"));
    })
}

fn raw_chains() -> Job {
    let x = scattered(LINK, -1.0, 1.0);
    Box::new(move || {
        let mut y = add_fresh(&x, black_box(&x));
        for _ in 1..LINKS {
            y = add_fresh(&y, black_box(&x));
        }
        black_box(&y);
    })
}

const TERMS: usize = 1_000_000;

fn sums(budget: usize) -> Job {
    let mut operations = backend(budget);
    let x = tensor(&[TERMS]);
    Box::new(move || {
        let total = operations.sum(black_box(&x), [0], KeepAxes::Drop);
        black_box(&total.expect("an axis that is there"));
    })
}

fn raw_sums() -> Job {
    let x = scattered(TERMS, -1.0, 1.0);
    Box::new(move || {
        black_box(sum(black_box(&x[..])));
    })
}

fn shared_sums(budget: usize) -> Job {
    if budget == 1 {
        return raw_sums();
    }
    let x = scattered(TERMS, -1.0, 1.0);
    Box::new(move || {
        let parts = black_box(&x[..]).par_chunks(TERMS.div_ceil(2 * budget));
        black_box(parts.map(sum).sum::<f64>());
    })
}
