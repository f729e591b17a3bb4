//! Products of the shapes that hurt: values as the naive provider has them, operands used as they lie, one region of threads.
//!
//! Elements are small whole numbers, so that every sum is exact in every dtype and in any order.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use tenferro_cpu::CpuBackend;
use tenferro_provider::Preference;
use tenferro_tensor::{
    AsOperand, BatchPosition, Complex64, Conjugation, Contraction, Scalar, Tensor, TensorDot,
    TensorView, bf16, f16,
};

/// How an operand lies under its two axes.
#[derive(Clone, Copy, Debug)]
enum Lie {
    Plain,
    Transposed,
    RowsReversed,
    ColsReversed,
    /// With as many rows between columns as fill pages, so that all columns meet in the same places of a cache.
    Aliased,
}

const LIES: [Lie; 5] =
    [Lie::Plain, Lie::Transposed, Lie::RowsReversed, Lie::ColsReversed, Lie::Aliased];

/// Elements that a view of a matrix lies in.
struct Held {
    tensor: Tensor,
    lie: Lie,
    rows: isize,
}

impl Held {
    fn new<T: Scalar>([rows, cols]: [usize; 2], lie: Lie, element: fn(usize) -> T) -> Self {
        let shape = match lie {
            Lie::Transposed => vec![cols, rows],
            Lie::Aliased => vec![rows.next_multiple_of(1024), cols],
            _ => vec![rows, cols],
        };
        let count = shape.iter().product();
        let elements: Vec<T> = (0..count).map(element).collect();
        let tensor = Tensor::from_vec_col_major(shape, elements).unwrap();
        Self { tensor, lie, rows: rows.cast_signed() }
    }

    fn view(&self) -> TensorView<'_> {
        let view = self.tensor.as_operand().view();
        match self.lie {
            Lie::Plain => view,
            Lie::Transposed => view.transpose(),
            Lie::RowsReversed => view.reverse(0).unwrap(),
            Lie::ColsReversed => view.reverse(1).unwrap(),
            Lie::Aliased => view.slice(0, 0..self.rows, 1).unwrap(),
        }
    }
}

fn only(provider: &str) -> CpuBackend {
    let preference = Preference::Only(provider.to_owned());
    CpuBackend::builder().threads(1).provider_preference(preference).build().unwrap()
}

fn taken(backend: &CpuBackend) -> u64 {
    let buffers = backend.diagnostics().buffers;
    buffers.fresh + buffers.reused
}

/// Multiplies natively and by plain loops; the native way takes memory for its result alone.
fn agree<T: Scalar>(
    [m, n, k]: [usize; 3],
    lies: [Lie; 2],
    conjugation: [Conjugation; 2],
    element: fn(usize) -> T,
) {
    let (mut native, mut naive) = (only("native"), only("naive"));
    let lhs = Held::new([m, k], lies[0], element);
    let rhs = Held::new([k, n], lies[1], element);
    let [left, right] = conjugation;
    let contraction = Contraction { lhs: left, rhs: right, ..Contraction::over([1], [0]) };
    let before = taken(&native);
    let result = native.dot_general(&lhs.view(), &rhs.view(), contraction.clone()).unwrap();
    assert_eq!(taken(&native) - before, 1, "[{m}, {n}, {k}] {lies:?}: an operand was copied");
    let expected = naive.dot_general(&lhs.view(), &rhs.view(), contraction.clone()).unwrap();
    assert_eq!(
        result.as_slice::<T>().unwrap(),
        expected.as_slice::<T>().unwrap(),
        "[{m}, {n}, {k}] {lies:?} {conjugation:?} {}",
        T::DTYPE
    );
}

fn small(number: usize) -> i32 {
    (number * 7 % 9).cast_signed() as i32 - 4
}

fn real(number: usize) -> f64 {
    f64::from(small(number))
}

fn complex(number: usize) -> Complex64 {
    Complex64::new(real(number), real(number + 3))
}

const PLAIN: [Conjugation; 2] = [Conjugation::Plain; 2];

#[test]
fn vectors_skinny_and_outer_products_are_multiplied_as_they_lie() {
    for extents in [
        // Matrix times column, row times matrix, outer product, inner product.
        [300, 1, 70],
        [1, 300, 70],
        [70, 60, 1],
        [1, 1, 3000],
        [1, 1, 5],
        // Tall, flat, deep.
        [2000, 3, 4],
        [3, 2000, 4],
        [5, 6, 3000],
        [600, 1, 700],
    ] {
        for lhs in LIES {
            for rhs in LIES {
                agree(extents, [lhs, rhs], PLAIN, real);
            }
        }
    }
}

#[test]
fn views_of_every_kind_are_multiplied_without_a_copy_in_every_size() {
    for n in [2, 7, 33, 70] {
        for lhs in LIES {
            for rhs in LIES {
                agree([n, n + 1, n + 2], [lhs, rhs], PLAIN, |number| real(number) as f32);
            }
        }
    }
}

#[test]
fn conjugated_operands_are_multiplied_without_a_copy() {
    use Conjugation::{Conjugated, Plain};
    for conjugation in [[Conjugated, Plain], [Plain, Conjugated], [Conjugated, Conjugated]] {
        for lies in [[Lie::Plain, Lie::Plain], [Lie::Transposed, Lie::RowsReversed]] {
            for extents in [[40, 30, 50], [5, 4, 3], [60, 1, 40], [1, 60, 40], [1, 1, 100]] {
                agree(extents, lies, conjugation, complex);
            }
        }
    }
}

#[test]
fn a_matrix_times_its_own_transpose_needs_one_operand() {
    let (mut native, mut naive) = (only("native"), only("naive"));
    for (m, k) in [(3, 5), (64, 20), (150, 160)] {
        let a = Held::new([m, k], Lie::Plain, real);
        let contraction = Contraction::over([1], [1]);
        let gram = native.dot_general(&a.view(), &a.view(), contraction.clone()).unwrap();
        let expected = naive.dot_general(&a.view(), &a.view(), contraction.clone()).unwrap();
        assert_eq!(gram.as_slice::<f64>().unwrap(), expected.as_slice::<f64>().unwrap());
    }
}

#[test]
fn integers_wrap_and_small_floats_add_up_in_f32() {
    for extents in [[70, 40, 50], [1, 1, 1000], [90, 1, 33]] {
        let lies = [Lie::Transposed, Lie::ColsReversed];
        agree(extents, lies, PLAIN, |number| small(number).wrapping_mul(1_000_003));
        agree(extents, lies, PLAIN, |number| i64::from(small(number)).wrapping_mul(1 << 61));
        agree(extents, lies, PLAIN, |number| f16::from_f32(real(number) as f32));
        agree(extents, lies, PLAIN, |number| bf16::from_f32(real(number) as f32));
    }
    // Sums of 4096 ones: f16 itself has no number between 2048 and 2050.
    let ones = |shape: Vec<usize>| {
        let count = shape.iter().product();
        Tensor::from_vec_col_major(shape, vec![f16::ONE; count]).unwrap()
    };
    let (row, column) = (ones(vec![1, 4096]), ones(vec![4096, 1]));
    let sum = only("native").dot_general(&row, &column, Contraction::over([1], [0])).unwrap();
    assert_eq!(sum.as_slice::<f16>().unwrap()[0].to_f32(), 4096.0);
}

#[test]
fn x34_a_batch_is_one_region_of_threads_however_many_products_it_has() {
    common::watchdog(|| {
        let (mut backend, _) = common::backend(2, 2);
        let tensor = |shape: [usize; 3]| {
            let count = shape.iter().product();
            Tensor::from_vec_col_major(shape.to_vec(), (0..count).map(real).collect::<Vec<_>>())
                .unwrap()
        };
        let contraction = Contraction {
            lhs_batch: [2].into(),
            rhs_batch: [2].into(),
            batch: BatchPosition::Trailing,
            ..Contraction::over([1], [0])
        };
        for (regions, [n, batch]) in [[64, 64], [8, 10_000], [130, 3]].into_iter().enumerate() {
            let (lhs, rhs) = (tensor([n, n, batch]), tensor([n, n, batch]));
            let result = backend.dot_general(&lhs, &rhs, contraction.clone()).unwrap();
            assert_eq!(backend.domain().fan_outs(), 1 + regions as u64);
            if batch < 100 {
                let expected = only("naive").dot_general(&lhs, &rhs, contraction.clone()).unwrap();
                assert_eq!(result.as_slice::<f64>().unwrap(), expected.as_slice::<f64>().unwrap());
            }
        }
    });
}
