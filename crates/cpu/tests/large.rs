//! Results so large that they go past the caches: every element is the one of the plain loop, whatever the width.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Widths, rough};
use tenferro_ops::TensorComposite;
use tenferro_tensor::{
    Complex64, DType, GatherMode, Scalar, Tensor, TensorAnalytic, TensorElementwise,
};

/// No whole number of lines, and more than 16 MiB of any operand.
const COUNT: usize = (17 << 20) / 4 + 5;

fn check<T: Scalar>(
    widths: &mut Widths,
    (one, other): (&Tensor, &Tensor),
    found: impl Fn(&mut tenferro_cpu::CpuBackend) -> tenferro_tensor::Result<Tensor>,
    expected: impl Fn(T, T) -> T,
) {
    widths.agree("a large operation", &found);
    let found = found(&mut samples::backend(2)).unwrap();
    let elements = one.as_slice::<T>().unwrap().iter().zip(other.as_slice::<T>().unwrap());
    for (at, (&found, (&x, &y))) in found.as_slice::<T>().unwrap().iter().zip(elements).enumerate()
    {
        assert_eq!(found, expected(x, y), "element {at}");
    }
}

#[test]
fn x50_large_results_are_whole_at_every_width() {
    let mut widths = Widths::new();
    for dtype in [DType::F32, DType::C64] {
        let (x, y) = (rough(dtype, &[COUNT], 3), rough(dtype, &[COUNT], 4));
        let sum = |b: &mut tenferro_cpu::CpuBackend| b.add(&x, &y);
        match dtype {
            DType::F32 => check::<f32>(&mut widths, (&x, &y), sum, |x, y| x + y),
            _ => check::<Complex64>(&mut widths, (&x, &y), sum, |x, y| x + y),
        }
    }
    let x = rough(DType::F32, &[COUNT], 5);
    widths.agree("a large function", |b| b.sqrt(&x));
}

#[test]
fn x50_large_results_of_picks_have_the_elements_that_indices_name() {
    /// No whole number of lines.
    const COLUMN: usize = 1003;
    let columns = COUNT.div_ceil(COLUMN);
    let mut widths = Widths::new();
    // As many picks as there are elements, and fewer; a clamped index stands for the last.
    for rows in [COLUMN, 2 * COLUMN] {
        let x = rough(DType::F32, &[rows, columns], 6);
        let places: Vec<i64> =
            (0..(COLUMN * columns) as i64).map(|at| at * 7919 % (rows as i64 + 1)).collect();
        let indices = Tensor::from_vec_col_major([COLUMN, columns], places.clone()).unwrap();
        let pick = |b: &mut tenferro_cpu::CpuBackend| {
            b.take_along_axis(&x, &indices, 0_usize, GatherMode::Clamp)
        };
        widths.agree("large picks", pick);
        let found = pick(&mut samples::backend(2)).unwrap();
        let (found, x) = (found.as_slice::<f32>().unwrap(), x.as_slice::<f32>().unwrap());
        for (at, (found, &place)) in found.iter().zip(&places).enumerate() {
            let expected = x[at / COLUMN * rows + (place as usize).min(rows - 1)];
            assert_eq!(found.to_bits(), expected.to_bits(), "element {at} of {rows} rows");
        }
    }
}
