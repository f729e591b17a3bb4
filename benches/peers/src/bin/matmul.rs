//! Suite `matmul`: products by `auto` and by each provider, against the best raw call of any library in the same run.
//!
//! A case is a call of a provider, on one thread of any size and on more up to 64: a request is made and checked, and the
//! product written into an output that is there. Other cases, and those of `scope`, are calls like a user's, inside
//! an execution scope, which makes its output from a warm pool. Raw calls are those of the crates `gemm`, `nano-gemm` and
//! faer, and of each C library that `--library` names; they write into an output that they are given. The limit is the
//! best of them.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use tenferro_bench_limits::{Element, Kernel, Library, Matrices, fma_f64};
use tenferro_benches::{Contender, Family, Suite, called};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_provider::{Preference, Registry, conformance::Threads};
use tenferro_tensor::{Complex64, Scalar, Tensor};

/// The providers that each backend has.
const BUILT_IN: [&str; 2] = ["native", "naive"];

/// A product's extents `[m, n, k]`, how many there are, and how a case's name says it.
#[derive(Clone, Debug)]
struct Work {
    extents: [usize; 3],
    batch: usize,
    name: String,
}

fn work() -> Vec<Work> {
    let square = |n: usize| Work { extents: [n; 3], batch: 1, name: n.to_string() };
    let skinny = |m: usize, k: usize, n: usize| Work {
        extents: [m, n, k],
        batch: 1,
        name: format!("{m}x{k}x{n}"),
    };
    let batch = |count: usize, n: usize| Work {
        extents: [n; 3],
        batch: count,
        name: format!("{count}of{n}"),
    };
    let mut work: Vec<_> =
        [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048].into_iter().map(square).collect();
    work.extend([
        skinny(2048, 16, 2048),
        skinny(1024, 1024, 32),
        skinny(100_000, 16, 16),
        skinny(16, 100_000, 16),
        skinny(1024, 1024, 1),
        skinny(1024, 1, 1024),
        skinny(1, 1_000_000, 1),
        batch(64, 64),
        batch(1000, 8),
    ]);
    work
}

fn main() -> ExitCode {
    println!("one core's peak: {:.1} GFLOP/s f64", fma_f64(20_000_000).gflops());
    Suite::main("matmul", |suite| {
        let files = suite.libraries();
        // Providers first: they open a library together with what it needs beside it.
        let providers = CpuBackend::builder().provider_path(&files).registry();
        let providers = providers.expect("the providers of this build and the command line");
        let open = |path: PathBuf| Library::open(&path).unwrap_or_else(|error| panic!("{error}"));
        let libraries: Vec<_> = files.into_iter().map(open).map(Arc::new).collect();
        let callers = Callers { providers, libraries };
        for threads in [1, 2] {
            for work in work() {
                cases::<f64>(suite, threads, &work, &callers);
                cases::<f32>(suite, threads, &work, &callers);
                cases::<Complex64>(suite, threads, &work, &callers);
            }
        }
    })
}

/// The longest extent up to which a call of a provider is measured on any number of threads.
const SMALL: usize = 64;

/// Everybody who multiplies.
struct Callers {
    providers: Registry,
    libraries: Vec<Arc<Library>>,
}

/// An element that all sides have.
trait Number: Scalar + Element + faer::traits::ComplexField {}

impl Number for f64 {}
impl Number for f32 {}
impl Number for Complex64 {}

fn cases<T: Number>(suite: &mut Suite, threads: usize, work: &Work, callers: &Callers) {
    let registry = &callers.providers;
    let mut places = vec![("auto".to_owned(), Preference::Auto)];
    let providers = registry.iter().filter(|provider| provider.name() != "naive");
    places.extend(providers.map(|provider| {
        (provider.name().to_owned(), Preference::Only(provider.name().to_owned()))
    }));
    let small = work.batch == 1 && work.extents.iter().all(|&extent| extent <= SMALL);
    let called_at = |place: &str| place != "scope" && (threads == 1 || small);
    if work.batch == 1 && called_at("auto") {
        places.push(("scope".to_owned(), Preference::Auto));
    }
    let name = |place: &str| format!("{place}/{}/{}", T::DTYPE, work.name);
    let names: Vec<_> = places.iter().map(|(place, _)| name(place)).collect();
    suite.family(&names, threads, |wanted| Family {
        members: wanted
            .iter()
            .map(|&at| {
                let (place, preference) = &places[at];
                let member = if called_at(place) {
                    let chain = registry.select(preference).expect("the provider is there");
                    called(
                        chain,
                        Threads::new(threads),
                        Matrices::<T>::new(work.extents, work.batch),
                    )
                } else {
                    scoped::<T>(threads, work, registry, preference.clone())
                };
                (names[at].clone(), member)
            })
            .collect(),
        limits: limits::<T>(threads, work, &callers.libraries),
    });
}

fn tensor<T: Number>(shape: [usize; 3], elements: &[T]) -> Tensor {
    Tensor::from_vec_col_major(shape.to_vec(), elements.to_vec()).expect("as many as the shape has")
}

/// A call like a user's. The scope is open before a sample begins and closes after it.
fn scoped<T: Number>(
    threads: usize,
    work: &Work,
    registry: &Registry,
    preference: Preference,
) -> Contender<'static> {
    let builder = CpuBackend::builder().threads(threads).provider_preference(preference);
    let loaded = registry.iter().rev().filter(|one| !BUILT_IN.contains(&one.name()));
    let owner = loaded
        .fold(builder, |builder, provider| builder.register_provider(provider.clone()))
        .build()
        .expect("a backend of so many threads");
    let mut operations = owner.clone();
    let ([m, n, k], batch) = (work.extents, work.batch);
    let matrices = Matrices::<T>::new([m, n, k], batch);
    let (lhs, rhs) = (tensor([m, k, batch], &matrices.lhs), tensor([k, n, batch], &matrices.rhs));
    let contraction = tenferro_tensor::Contraction {
        lhs_contracting: [1].into(),
        rhs_contracting: [0].into(),
        lhs_batch: [2].into(),
        rhs_batch: [2].into(),
        batch: tenferro_tensor::BatchPosition::Trailing,
        ..Default::default()
    };
    let flat = |tensor: &Tensor, extents: [usize; 2]| {
        Tensor::from_vec_col_major(
            extents.to_vec(),
            tensor.as_slice::<T>().expect("dense").to_vec(),
        )
        .expect("as many as before")
    };
    let flat = (batch == 1).then(|| (flat(&lhs, [m, k]), flat(&rhs, [k, n])));
    let mut multiply = move |count| {
        use tenferro_tensor::TensorDot;
        let start = Instant::now();
        for _ in 0..count {
            let product = match &flat {
                Some((lhs, rhs)) => operations.matmul(black_box(lhs), black_box(rhs)),
                None => {
                    operations.dot_general(black_box(&lhs), black_box(&rhs), contraction.clone())
                }
            };
            black_box(&product.expect("operands that agree"));
        }
        start.elapsed()
    };
    Contender::sampled("scope", move |count| {
        owner.with_execution_scope(|| multiply(count)).expect("no other scope is open")
    })
}

/// The raw calls, each with operands of its own.
fn limits<T: Number>(
    threads: usize,
    work: &Work,
    libraries: &[Arc<Library>],
) -> Vec<Contender<'static>> {
    let matrices = || Matrices::<T>::new(work.extents, work.batch);
    let mut limits = vec![faer_call(threads, matrices())];
    if threads == 1 {
        let kernel = |name: &str, kernel: Kernel| {
            let mut matrices = matrices();
            Contender::repeated(name, move || kernel.multiply(black_box(&mut matrices)))
        };
        limits.push(kernel("raw gemm", Kernel::Gemm));
        if work.extents.iter().all(|&extent| extent <= 64) {
            limits.push(kernel("raw nano-gemm", Kernel::Nano));
        }
    }
    for library in libraries {
        let product = library.product::<T>().expect("the library has all four dtypes");
        let (library, mut matrices) = (Arc::clone(library), matrices());
        let name = format!("raw {}", library.name());
        limits.push(Contender::sampled(name, move |count| {
            library.set_threads(threads);
            let start = Instant::now();
            for _ in 0..count {
                product(black_box(&mut matrices));
            }
            let took = start.elapsed();
            library.set_threads(1);
            took
        }));
    }
    limits
}

/// faer in a pool of its own, which the measuring thread enters once a sample.
fn faer_call<T: Number>(threads: usize, mut matrices: Matrices<T>) -> Contender<'static> {
    let (m, n, k) = (matrices.m, matrices.n, matrices.k);
    let mut multiply = move |par: Par| {
        let matrices = black_box(&mut matrices);
        let operands = matrices.lhs.chunks(m * k).zip(matrices.rhs.chunks(k * n));
        for (out, (lhs, rhs)) in matrices.out.chunks_mut(m * n).zip(operands) {
            matmul(
                MatMut::from_column_major_slice_mut(out, m, n),
                Accum::Replace,
                MatRef::from_column_major_slice(lhs, m, k),
                MatRef::from_column_major_slice(rhs, k, n),
                <T as Element>::ONE,
                par,
            );
        }
    };
    if threads == 1 {
        return Contender::repeated("raw faer", move || multiply(Par::Seq));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("the peer's pool starts");
    Contender::sampled("raw faer", move |count| {
        pool.install(|| {
            let start = Instant::now();
            for _ in 0..count {
                multiply(Par::rayon(threads));
            }
            start.elapsed()
        })
    })
}
