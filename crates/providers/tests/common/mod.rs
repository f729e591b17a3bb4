//! Real libraries for tests, libraries compiled for tests, and requests to make of them.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(dead_code, reason = "each test uses some of it")]

use std::{env, path::PathBuf, process::Command, sync::Arc};

use tempfile::TempDir;
use tenferro_provider::{
    Outcome, Product, Provider, Workers,
    foreign::{ForeignProvider, Threading},
    lapack::{Request, Triangle, Vectors},
};
use tenferro_providers::loaded::{Found, Library, SearchPath};
use tenferro_tensor::{AsOperand, Tensor, TensorViewMut};

/// The libraries that are there.
pub(super) fn libraries() -> Vec<Found> {
    let Some(folder) = env::var_os("TENFERRO_TEST_LIBRARIES") else {
        eprintln!("SKIPPED: no libraries; `cargo xtask test --providers` runs this on real ones");
        return Vec::new();
    };
    let found = SearchPath::from_iter([folder]).libraries();
    assert!(!found.is_empty(), "the folder of libraries has none");
    found
}

/// A library as a provider, with its own threads or with the caller's.
pub(super) fn load(found: &Found, threading: Threading) -> Arc<ForeignProvider> {
    let library = Library::at(&found.path).called(&found.name).threading(threading);
    library.load(&SearchPath::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Every library that is there, with its own threads or with the caller's.
pub(super) fn providers(threading: Threading) -> Vec<Arc<ForeignProvider>> {
    libraries().iter().map(|found| load(found, threading)).collect()
}

/// Compiles a file of this folder with these definitions into `lib{name}.so`, whose folder lives as long as it is held.
pub(super) fn compiled(source: &str, name: &str, definitions: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("lib{name}.so"));
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&file).arg(source);
    cc.args(definitions.iter().map(|definition| format!("-D{definition}")));
    let status =
        cc.status().unwrap_or_else(|error| panic!("the C compiler `cc` is needed: {error}"));
    assert!(status.success(), "cc failed");
    (folder, file)
}

/// The square of a matrix of ones.
pub(super) fn square_of_ones(n: usize, provider: &dyn Provider, workers: &dyn Workers) -> Vec<f64> {
    let ones = Tensor::from_vec_col_major(vec![n, n, 1], vec![1.0_f64; n * n]).unwrap();
    let mut result = vec![f64::NAN; n * n];
    let strides = [1, n.cast_signed(), (n * n).cast_signed()];
    let mut out = TensorViewMut::from_slice(&mut result, &[n, n, 1], &strides, 0).unwrap();
    let mut product =
        Product::new(ones.as_operand(), ones.as_operand(), out.as_operand_mut()).unwrap();
    assert_eq!(provider.product(&mut product, workers).unwrap(), Outcome::Executed);
    result
}

/// The eigenvalues of the second difference of `n` points, ascending, and how far the vectors are from orthonormal.
pub(super) fn second_difference(
    n: usize,
    provider: &dyn Provider,
    workers: &dyn Workers,
) -> (Vec<f64>, f64) {
    let mut matrix = vec![0.0; n * n];
    for place in 0..n {
        matrix[place * (n + 1)] = 2.0;
        if place + 1 < n {
            matrix[place * (n + 1) + 1] = -1.0;
        }
    }
    let mut values = vec![0.0; n];
    {
        let mut a =
            TensorViewMut::from_slice(&mut matrix, &[n, n], &[1, n.cast_signed()], 0).unwrap();
        let mut values = TensorViewMut::from_slice(&mut values, &[n], &[1], 0).unwrap();
        let (a, values) = (a.as_operand_mut(), values.as_operand_mut());
        let mut request = Request::syevd(Triangle::Lower, Vectors::Computed, a, values).unwrap();
        assert_eq!(provider.lapack(&mut request, workers).unwrap(), Outcome::Executed);
    }
    let column = |col: usize| &matrix[col * n..(col + 1) * n];
    let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let distance = |(i, j): (usize, usize)| {
        let dot: f64 = column(i).iter().zip(column(j)).map(|(x, y)| x * y).sum();
        (dot - f64::from(u8::from(i == j))).abs()
    };
    (values, pairs.map(distance).fold(0.0, f64::max))
}

/// What [`second_difference`] should find.
pub(super) fn second_difference_values(n: usize) -> Vec<f64> {
    let angle = |k: usize| k as f64 * std::f64::consts::PI / (n + 1) as f64;
    (1..=n).map(|k| 2.0 - 2.0 * angle(k).cos()).collect()
}
