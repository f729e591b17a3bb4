//! A raw matrix kernel on plain threads: what a product could cost if nothing stood around it.
//!
//! Each thread multiplies by its own panel of columns with the sequential kernel, as often as it
//! is told, and meets the others only at the beginning and the end. So at two threads the figure
//! holds no synchronisation between products: a limit, and not a way to multiply one matrix.

use std::time::Duration;

use gemm::Parallelism;

use super::on_threads;

/// A column-major product `out = lhs * rhs`, `lhs` being `m` by `k` and `rhs` `k` by `n`.
#[derive(Debug)]
pub struct Product<'a> {
    /// Rows of `lhs` and `out`.
    pub m: usize,
    /// Columns of `rhs` and `out`.
    pub n: usize,
    /// Columns of `lhs`, rows of `rhs`.
    pub k: usize,
    /// `m * k` elements.
    pub lhs: &'a [f64],
    /// `k * n` elements.
    pub rhs: &'a [f64],
    /// `m * n` elements.
    pub out: &'a mut [f64],
}

/// Computes the product `repetitions` times on `threads` threads; the time from start to end.
///
/// The calling thread is one of them, and starting the others is not counted.
///
/// # Panics
/// If a slice has not the length that the extents ask for, if `k` is zero (there is nothing
/// to time), or if `threads` is.
#[inline(never)]
pub fn gemm_f64(product: Product<'_>, threads: usize, repetitions: u64) -> Duration {
    let Product { m, n, k, lhs, rhs, out } = product;
    assert_eq!((lhs.len(), rhs.len(), out.len()), (m * k, k * n, m * n));
    assert!(k > 0);
    let columns = n.div_ceil(threads).max(1);
    let panels = rhs.chunks((k * columns).max(1)).zip(out.chunks_mut((m * columns).max(1)));
    let panels =
        panels.map(|(rhs, out)| Product { m, n: out.len() / m, k, lhs, rhs, out }).collect();
    on_threads(panels, repetitions, multiply)
}

fn multiply(product: &mut Product<'_>) {
    let Product { m, n, k, lhs, rhs, out } = product;
    let (m, n, k) = (*m, *n, *k);
    assert_eq!((lhs.len(), rhs.len(), out.len()), (m * k, k * n, m * n));
    let stride = |extent: usize| isize::try_from(extent).expect("invariant: a slice's extent");
    let (out_stride, lhs_stride, rhs_stride) = (stride(m), stride(m), stride(k));
    // SAFETY: with unit row strides and column strides of `m`, `m` and `k`, the kernel stays
    // inside `m * n`, `m * k` and `k * n` elements, the lengths asserted above; `out` is borrowed
    // exclusively and so overlaps neither operand.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            out_stride,
            1,
            false,
            lhs.as_ptr(),
            lhs_stride,
            1,
            rhs.as_ptr(),
            rhs_stride,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
