//! Results so large that they go past the caches: every element is the one of the plain loop, whatever the width.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Widths, rough};
use tenferro_tensor::{Complex64, DType, Scalar, Tensor, TensorAnalytic, TensorElementwise};

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
