//! Transposing small squares of elements in registers.
//!
//! A square is read by rows and written by columns. Its side is as many elements as a register holds, so that every
//! load and store is a whole register. Elements are plain bits; which instructions there are is found at run time.

use std::ptr;

use super::tile::Part;

/// Bits that are moved as one, aligned or not.
pub(super) trait Bits: Copy + Send + Sync + 'static {
    /// Copies tiles with the widest squares that the machine has.
    ///
    /// # Safety
    /// As for [`Part::copy`].
    unsafe fn copy(part: Part<'_, Self>);
}

/// A way to transpose a square.
pub(super) trait Square<T> {
    /// How many elements a side has.
    const SIDE: usize;
    /// Whether a side is a cache line, which can be written past the caches.
    const IS_LINE: bool = false;

    /// Writes element `j` of row `i`, which begins at `rows[i]`, to place `i` of the column at `columns[j]`.
    ///
    /// # Safety
    /// There must be `SIDE` rows and columns, each of `SIDE` elements that can be read and written, and the machine
    /// must have the instructions.
    unsafe fn transpose(from: *const T, rows: &[[isize; 2]], to: *mut T, columns: &[[isize; 2]]);

    /// As [`Square::transpose`], past the caches if a side is a line.
    ///
    /// # Safety
    /// As for [`Square::transpose`]; if a side is a line, every column must begin at one.
    #[inline(always)]
    unsafe fn stream(from: *const T, rows: &[[isize; 2]], to: *mut T, columns: &[[isize; 2]]) {
        // SAFETY: the caller keeps to the same.
        unsafe { Self::transpose(from, rows, to, columns) };
    }
}

/// One element at a time.
pub(super) struct Single;

impl<T: Copy> Square<T> for Single {
    const SIDE: usize = 1;

    #[inline(always)]
    unsafe fn transpose(from: *const T, rows: &[[isize; 2]], to: *mut T, columns: &[[isize; 2]]) {
        // SAFETY: the caller says that the element is there on both sides.
        unsafe {
            let element = ptr::read_unaligned(from.offset(rows[0][1]));
            ptr::write_unaligned(to.offset(columns[0][0]), element);
        }
    }
}

/// Sizes whose elements are moved with one kind of square on every machine of the target.
macro_rules! baseline {
    ($($bits:ty: $Square:ty,)*) => {
        $(impl Bits for $bits {
            unsafe fn copy(part: Part<'_, Self>) {
                // SAFETY: the caller keeps to the same; the instructions are everywhere.
                unsafe { part.copy::<$Square>() };
            }
        })*
    };
}

baseline! { [u64; 2]: Single, }

#[cfg(not(target_arch = "x86_64"))]
baseline! { u8: Single, u16: Single, u32: Single, u64: Single, }

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Registers of 128, 256 and 512 bits.

    use std::{arch::x86_64::*, array};

    use super::{super::plan::LINE, Bits, Part, Square};

    /// Registers of 128 bits, which every x86-64 has.
    struct Xmm;
    /// Registers of 256 bits.
    struct Ymm;
    /// Registers of 512 bits.
    struct Zmm;

    /// A square whose rows are interleaved, the upper half with the lower, as often as the side has bits.
    macro_rules! interleaved {
        ($($Registers:ident $feature:literal $bits:ty, $side:literal, $low:ident, $high:ident, $load:ident
            $(, transpose $store:ident)? $(, stream $stream:ident)?;)*) => {
            $(impl Square<$bits> for $Registers {
                const SIDE: usize = $side;
                $(
                    const IS_LINE: bool = $side * size_of::<$bits>() == LINE;
                    interleaved!(@way stream, $feature $bits, $side, $low, $high, $load, $stream);
                )?
                $(interleaved!(@way transpose, $feature $bits, $side, $low, $high, $load, $store);)?
            })*
        };
        (@way $way:ident, $feature:literal $bits:ty, $side:literal, $low:ident, $high:ident, $load:ident, $store:ident) => {
            #[inline(always)]
            unsafe fn $way(
                from: *const $bits,
                rows: &[[isize; 2]],
                to: *mut $bits,
                columns: &[[isize; 2]],
            ) {
                const HALF: usize = $side / 2;

                #[inline]
                #[target_feature(enable = $feature)]
                unsafe fn square(
                    from: *const $bits,
                    rows: &[[isize; 2]; $side],
                    to: *mut $bits,
                    columns: &[[isize; 2]; $side],
                ) {
                    // SAFETY: the caller says that rows and columns are there.
                    unsafe {
                        let mut lines: [_; $side] =
                            array::from_fn(|i| $load(from.offset(rows[i][1]).cast()));
                        let mut left = $side;
                        while left > 1 {
                            lines = array::from_fn(|i| {
                                let (upper, lower) = (lines[i / 2], lines[i / 2 + HALF]);
                                if i % 2 == 0 { $low(upper, lower) } else { $high(upper, lower) }
                            });
                            left /= 2;
                        }
                        for (line, column) in lines.into_iter().zip(columns) {
                            $store(to.offset(column[0]).cast(), line);
                        }
                    }
                }

                let rows = rows[..$side].try_into().expect("invariant: a side of rows");
                let columns = columns[..$side].try_into().expect("invariant: a side of columns");
                // SAFETY: the caller says that rows and columns are there, and the instructions.
                unsafe { square(from, rows, to, columns) };
            }
        };
    }

    interleaved! {
        Xmm "sse2" u8, 16, _mm_unpacklo_epi8, _mm_unpackhi_epi8, _mm_loadu_si128, transpose _mm_storeu_si128;
        Xmm "sse2" u16, 8, _mm_unpacklo_epi16, _mm_unpackhi_epi16, _mm_loadu_si128, transpose _mm_storeu_si128;
        Xmm "sse2" u32, 4, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_loadu_si128, transpose _mm_storeu_si128;
        Xmm "sse2" u64, 2, _mm_unpacklo_epi64, _mm_unpackhi_epi64, _mm_loadu_si128, transpose _mm_storeu_si128;
        Ymm "avx2" u64, 4, low_64_of_256, high_64_of_256, _mm256_loadu_si256, transpose _mm256_storeu_si256;
        Zmm "avx512f" u64, 8, low_64, high_64, _mm512_loadu_si512, transpose _mm512_storeu_si512, stream _mm512_stream_si512;
        Zmm "avx512f" u32, 16, low_32, high_32, _mm512_loadu_si512, transpose _mm512_storeu_si512, stream _mm512_stream_si512;
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn low_64_of_256(upper: __m256i, lower: __m256i) -> __m256i {
        let (even, odd) =
            (_mm256_unpacklo_epi64(upper, lower), _mm256_unpackhi_epi64(upper, lower));
        _mm256_permute2x128_si256::<0x20>(even, odd)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn high_64_of_256(upper: __m256i, lower: __m256i) -> __m256i {
        let (even, odd) =
            (_mm256_unpacklo_epi64(upper, lower), _mm256_unpackhi_epi64(upper, lower));
        _mm256_permute2x128_si256::<0x31>(even, odd)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn low_64(upper: __m512i, lower: __m512i) -> __m512i {
        let order = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
        _mm512_permutex2var_epi64(upper, order, lower)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn high_64(upper: __m512i, lower: __m512i) -> __m512i {
        let order = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
        _mm512_permutex2var_epi64(upper, order, lower)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn low_32(upper: __m512i, lower: __m512i) -> __m512i {
        let order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        _mm512_permutex2var_epi32(upper, order, lower)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn high_32(upper: __m512i, lower: __m512i) -> __m512i {
        let order = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        _mm512_permutex2var_epi32(upper, order, lower)
    }

    #[target_feature(enable = "avx2")]
    unsafe fn copy_avx2<T: Bits>(part: Part<'_, T>)
    where
        Ymm: Square<T>,
    {
        // SAFETY: the caller keeps to the same, and has found the instructions.
        unsafe { part.copy::<Ymm>() };
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn copy_avx512<T: Bits>(part: Part<'_, T>)
    where
        Zmm: Square<T>,
    {
        // SAFETY: the caller keeps to the same, and has found the instructions.
        unsafe { part.copy::<Zmm>() };
    }

    baseline! { u8: Xmm, u16: Xmm, }

    impl Bits for u32 {
        unsafe fn copy(part: Part<'_, Self>) {
            // SAFETY: the caller keeps to the same, and the instructions are there.
            unsafe {
                if is_x86_feature_detected!("avx512f") {
                    copy_avx512(part);
                } else {
                    part.copy::<Xmm>();
                }
            }
        }
    }

    impl Bits for u64 {
        unsafe fn copy(part: Part<'_, Self>) {
            // SAFETY: the caller keeps to the same, and the instructions are there.
            unsafe {
                if is_x86_feature_detected!("avx512f") {
                    copy_avx512(part);
                } else if is_x86_feature_detected!("avx2") {
                    copy_avx2(part);
                } else {
                    part.copy::<Xmm>();
                }
            }
        }
    }
}
