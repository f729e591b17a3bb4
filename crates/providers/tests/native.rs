//! What the native provider promises beyond the suite: one result at every width, and no thread where none pays.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tenferro_provider::{
    Chain, Outcome, Product, Provider, Sequential, Workers, conformance::Threads,
    counting::Counting,
};
use tenferro_providers::{Naive, Native};
use tenferro_tensor::{AsOperand, Factor, Tensor, TensorViewMut};

/// Workers that count the jobs that they are given, and run them backwards.
#[derive(Default)]
struct Backwards(AtomicUsize);

impl Workers for Backwards {
    fn width(&self) -> usize {
        2
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        self.0.fetch_add(jobs, Ordering::Relaxed);
        (0..jobs).rev().for_each(job);
    }
}

/// Numbers of a fixed pseudo-random sequence in -1..1.
fn numbers(count: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let step = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    std::iter::repeat_with(step).take(count).collect()
}

/// The product of two batches of fixed numbers.
fn product(
    [m, n, k, batch]: [usize; 4],
    provider: &dyn Provider,
    workers: &dyn Workers,
) -> Vec<f64> {
    let tensor = |shape: [usize; 3]| {
        let elements = numbers(shape.iter().product());
        Tensor::from_vec_col_major(shape.to_vec(), elements).expect("as many as the shape has")
    };
    let (lhs, rhs) = (tensor([m, k, batch]), tensor([k, n, batch]));
    let mut result = vec![f64::NAN; m * n * batch];
    let strides = [1, m.cast_signed(), (m * n).cast_signed()];
    let mut out =
        TensorViewMut::from_slice(&mut result, &[m, n, batch], &strides, 0).expect("it fits");
    let mut product = Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut())
        .expect("extents agree");
    assert_eq!(provider.product(&mut product, workers).expect("it computes"), Outcome::Executed);
    result
}

#[test]
fn x50_native_is_bit_equal_at_every_width() {
    let native = Native::new();
    for extents in [
        [256, 129, 130, 1],
        [130, 600, 65, 1],
        [700, 96, 70, 1],
        [1, 2100, 2050, 1],
        [48, 40, 33, 70],
        [30, 31, 32, 150],
        [64, 64, 64, 20],
        [8, 8, 8, 9000],
        [200, 200, 110, 3],
    ] {
        let one = product(extents, &native, &Sequential);
        let counted = Backwards::default();
        let backwards = product(extents, &native, &counted);
        assert!(counted.0.load(Ordering::Relaxed) > 1, "{extents:?} is worth more than one job");
        let bits = |elements: &[f64]| elements.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&one), bits(&backwards), "{extents:?}");
        for width in [2, 4] {
            let wide = product(extents, &native, &Threads::new(width));
            assert_eq!(bits(&one), bits(&wide), "{extents:?} at width {width}");
        }
    }
}

#[test]
fn native_gives_small_products_no_second_thread() {
    let counted = Backwards::default();
    for extents in [[1, 1, 1, 1], [64, 64, 64, 1], [128, 128, 128, 1], [8, 8, 8, 1000]] {
        product(extents, &Native::new(), &counted);
    }
    assert_eq!(counted.0.load(Ordering::Relaxed), 0);
}

#[test]
fn x45_native_answers_before_naive_is_asked() {
    let naive = Arc::new(Counting::new(Arc::new(Naive::new())));
    let native = Arc::new(Counting::new(Arc::new(Native::new())));
    let chain = Chain::new([native.clone() as Arc<dyn Provider>, naive.clone()]);
    let ones = Tensor::from_vec_col_major(vec![2, 2, 1], vec![1_u16; 4]).unwrap();
    let mut result = [7_u16; 4];
    let mut out = TensorViewMut::from_slice(&mut result, &[2, 2, 1], &[1, 2, 4], 0).unwrap();
    let mut product = Product::new(ones.as_operand(), ones.as_operand(), out.as_operand_mut())
        .unwrap()
        .scaled(Factor::Integer(2), Factor::ONE)
        .unwrap();
    assert_eq!(chain.product(&mut product, &Threads::new(2)).unwrap().name(), "native");
    assert_eq!(result, [11; 4]);
    assert_eq!((native.count(), naive.count()), (1, 0));
    assert_eq!(native.take()[0].width, 2);
}
