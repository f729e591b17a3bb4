//! A tile of a product in registers: some vectors of rows times some columns, summed over the whole of k.
//!
//! The left operand is read as it lies, its rows in one piece; elements of the right one are spread over a vector each,
//! wherever they lie. Nothing is packed. A complex column is two real ones, its real and its imaginary parts: the loop
//! knows real numbers alone, and the parts are put together when the sums are done, which is the cheapest moment.

use std::hint::black_box;

use pulp::{MemMask, Simd};
use tenferro_tensor::{Complex32, Complex64, Conjugation};

use super::super::block::Block;
use crate::arithmetic::{Number, Scale};

/// The real numbers in vectors of an instruction set.
pub(in super::super) trait Real: Copy + Send + Sync + 'static {
    const ONE: Self;
    type Vector<S: Simd>: Copy;
    type Mask<S: Simd>: Copy;

    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// `x * y + z`
    fn fused<S: Simd>(
        simd: S,
        x: Self::Vector<S>,
        y: Self::Vector<S>,
        z: Self::Vector<S>,
    ) -> Self::Vector<S>;
    fn times<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    /// Neighbours in each other's places.
    fn swapped<S: Simd>(simd: S, x: Self::Vector<S>) -> Self::Vector<S>;
    /// The mask of the first `count` lanes.
    fn first<S: Simd>(simd: S, count: usize) -> MemMask<Self::Mask<S>>;
    /// # Safety
    /// The lanes of the mask are valid for reads.
    unsafe fn load<S: Simd>(
        simd: S,
        mask: MemMask<Self::Mask<S>>,
        from: *const Self,
    ) -> Self::Vector<S>;
    /// # Safety
    /// The lanes of the mask are valid for writes.
    unsafe fn store<S: Simd>(
        simd: S,
        mask: MemMask<Self::Mask<S>>,
        to: *mut Self,
        value: Self::Vector<S>,
    );
    fn negated(self) -> Self;
}

macro_rules! real {
    ($ty:ty, $vector:ident, $mask:ident, $complex:ident, $($name:ident)*) => {
        real!(@$ty, $vector, $mask, $complex, $($name,)*);
    };
    (@$ty:ty, $vector:ident, $mask:ident, $complex:ident, $splat:ident, $fused:ident, $times:ident,
     $swapped:ident, $between:ident, $load:ident, $store:ident,) => {
        impl Real for $ty {
            const ONE: Self = 1.0;
            type Vector<S: Simd> = S::$vector;
            type Mask<S: Simd> = S::$mask;
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn fused<S: Simd>(simd: S, x: S::$vector, y: S::$vector, z: S::$vector) -> S::$vector {
                simd.$fused(x, y, z)
            }
            #[inline(always)]
            fn times<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
                simd.$times(x, y)
            }
            #[inline(always)]
            fn swapped<S: Simd>(simd: S, x: S::$vector) -> S::$vector {
                let pairs: S::$complex = pulp::bytemuck::cast(x);
                pulp::bytemuck::cast(simd.$swapped(pairs))
            }
            #[inline(always)]
            fn first<S: Simd>(simd: S, count: usize) -> MemMask<S::$mask> {
                // The mask alone, without the jump table that a mask of a range comes with.
                MemMask::new(simd.$between(0, count as _).mask())
            }
            #[inline(always)]
            unsafe fn load<S: Simd>(
                simd: S,
                mask: MemMask<S::$mask>,
                from: *const Self,
            ) -> S::$vector {
                // SAFETY: the caller's.
                unsafe { simd.$load(mask, from) }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(
                simd: S,
                mask: MemMask<S::$mask>,
                to: *mut Self,
                value: S::$vector,
            ) {
                // SAFETY: the caller's.
                unsafe { simd.$store(mask, to, value) }
            }
            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        }
    };
}

real!(f64, f64s, m64s, c64s, splat_f64s mul_add_e_f64s mul_f64s swap_re_im_c64s mask_between_m64s
    mask_load_ptr_f64s mask_store_ptr_f64s);
real!(f32, f32s, m32s, c32s, splat_f32s mul_add_e_f32s mul_f32s swap_re_im_c32s mask_between_m32s
    mask_load_ptr_f32s mask_store_ptr_f32s);

/// A dtype whose elements are one or two real numbers.
pub(in super::super) trait Parts: Number<Sum = Self> {
    type Part: Real;
    /// How many.
    const COUNT: usize;
    /// The real part, and the imaginary one if there is one.
    fn parts(self) -> [Self::Part; 2];
}

macro_rules! parts {
    ($($real:ty, $complex:ty;)*) => {$(
        impl Parts for $real {
            type Part = $real;
            const COUNT: usize = 1;
            #[inline(always)]
            fn parts(self) -> [$real; 2] { [self, 0.0] }
        }
        impl Parts for $complex {
            type Part = $real;
            const COUNT: usize = 2;
            #[inline(always)]
            fn parts(self) -> [$real; 2] { [self.re, self.im] }
        }
    )*};
}

parts!(f64, Complex64; f32, Complex32;);

/// Does something for each index below a constant, written out: sums stay in registers only if nothing is left of a loop,
/// and the compiler gives up on loops as long as these.
macro_rules! each {
    ($index:ident < $count:expr => $body:block) => {
        each!(@ $index $count, $body 0 1 2 3 4 5 6 7)
    };
    (@ $index:ident $count:expr, $body:block $($number:literal)*) => {
        $(if $number < $count {
            let $index = $number;
            $body
        })*
    };
}

/// Where a tile is: its first element in each matrix, and the steps from there. Rows of the left operand and of the output
/// lie in one piece.
#[derive(Clone, Copy)]
pub(super) struct Spot<'b, T: Parts> {
    pub(super) lhs: *const T,
    pub(super) lhs_col: isize,
    pub(super) rhs: *const T,
    pub(super) rhs_row: isize,
    pub(super) rhs_col: isize,
    pub(super) out: *mut T,
    pub(super) out_col: isize,
    /// The terms of each sum.
    pub(super) k: usize,
    /// The lanes of the last vector of rows.
    pub(super) last: usize,
    /// What becomes of the sums is that of this block; `None` if they are the result.
    pub(super) finish: Option<&'b Block<T>>,
}

/// Columns of the right operand that are reached from the first of them.
const NEAR: usize = 4;

/// How many parts are in a vector.
pub(super) const fn lanes<S: Simd, T: Parts>() -> usize {
    size_of::<<T::Part as Real>::Vector<S>>() / size_of::<T::Part>()
}

/// Computes `V` vectors of rows and `C` columns of parts.
///
/// # Safety
/// All elements of the tile are valid for reads, those of the output for writes, and nobody else's; those are
/// initialised if the block that says what becomes of the sums has a beta that is not zero. `C` is even for complex
/// numbers.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd, T: Parts, const V: usize, const C: usize>(
    simd: S,
    spot: &Spot<'_, T>,
) {
    // A copy, which no store can change.
    let spot = *spot;
    let lanes = lanes::<S, T>();
    let parts = T::COUNT.cast_signed();
    let (mask, whole) = (T::Part::first(simd, spot.last), spot.last == lanes);
    let zero = T::Part::splat(simd, T::default().parts()[0]);
    let mut sums = [[zero; V]; C];
    let mut left = spot.lhs.cast::<T::Part>();
    let left_step = spot.lhs_col * parts;
    // Columns are reached from two of them: from one, their addresses would be made one after the other each time.
    let mut right = [spot.rhs; 2];
    if C > NEAR * T::COUNT {
        right[1] = black_box(spot.rhs.wrapping_offset(NEAR.cast_signed() * spot.rhs_col));
    }
    for _ in 0..spot.k {
        let mut rows = [zero; V];
        each!(v < V => {
            let from = left.wrapping_add(v * lanes);
            // SAFETY: a part of a column of the left operand, masked where it ends.
            rows[v] = unsafe {
                if v + 1 < V {
                    from.cast::<<T::Part as Real>::Vector<S>>().read_unaligned()
                } else {
                    T::Part::load(simd, mask, from)
                }
            };
        });
        each!(c < C => {
            // SAFETY: an element of the right operand.
            let element = unsafe {
                let col = c / T::COUNT;
                let from = right[col / NEAR].wrapping_offset((col % NEAR).cast_signed() * spot.rhs_col);
                from.cast::<T::Part>().wrapping_add(c % T::COUNT).read()
            };
            let element = T::Part::splat(simd, element);
            each!(v < V => { sums[c][v] = T::Part::fused(simd, rows[v], element, sums[c][v]); });
        });
        left = left.wrapping_offset(left_step);
        right = right.map(|from| from.wrapping_offset(spot.rhs_row));
    }
    let finish = spot.finish.map(|block| Finish::<S, T>::new(simd, block));
    // Of the numbers with imaginary parts, by turns: what neither operand's conjugation has to do with.
    let turn = alternating::<S, T>([T::Part::ONE.negated(), T::Part::ONE]);
    each!(c < C => {
        // Of the two columns of parts, the first brings both.
        if c % T::COUNT == 0 && c + T::COUNT <= C {
            let to = spot.out.wrapping_offset((c / T::COUNT).cast_signed() * spot.out_col);
            each!(v < V => {
                let to = to.cast::<T::Part>().wrapping_add(v * lanes);
                let mask = if v + 1 < V || whole { None } else { Some(mask) };
                let imaginary = sums[c + T::COUNT - 1][v];
                // SAFETY: a part of a column of the output; it is read only if beta is not zero, when it is initialised.
                unsafe {
                    match &finish {
                        Some(finish) => finish.write(mask, to, sums[c][v], imaginary),
                        // The sums are the result: nothing is left to decide for each of them.
                        None if T::COUNT == 1 => store::<S, T>(simd, mask, to, sums[c][v]),
                        None => {
                            let turned = T::Part::swapped(simd, imaginary);
                            let sum = T::Part::fused(simd, turned, turn, sums[c][v]);
                            store::<S, T>(simd, mask, to, sum);
                        }
                    }
                }
            });
        }
    });
}

/// Writes a vector, or the lanes of a mask: stores under a mask are slow on some machines.
///
/// # Safety
/// The lanes are valid for writes.
#[inline(always)]
unsafe fn store<S: Simd, T: Parts>(
    simd: S,
    mask: Option<MemMask<<T::Part as Real>::Mask<S>>>,
    to: *mut T::Part,
    value: <T::Part as Real>::Vector<S>,
) {
    // SAFETY: the caller's.
    unsafe {
        match mask {
            None => to.cast::<<T::Part as Real>::Vector<S>>().write_unaligned(value),
            Some(mask) => T::Part::store(simd, mask, to, value),
        }
    }
}

/// What becomes of sums: parts are put together, scaled, and added to what was there.
struct Finish<S: Simd, T: Parts> {
    simd: S,
    /// What the sums with real and with imaginary parts are multiplied with, by turns in neighbouring lanes.
    signs: [<T::Part as Real>::Vector<S>; 2],
    /// Of the factors: the real part in all lanes, and the imaginary one, negated in the lanes of real parts.
    alpha: Scale<[<T::Part as Real>::Vector<S>; 2]>,
    beta: Scale<[<T::Part as Real>::Vector<S>; 2]>,
}

impl<S: Simd, T: Parts> Finish<S, T> {
    #[inline(always)]
    fn new(simd: S, block: &Block<T>) -> Self {
        let one = T::Part::ONE;
        let sign = |negative: bool| if negative { one.negated() } else { one };
        let [left, right] = block.conjugation.map(|one| one == Conjugation::Conjugated);
        let signs = if T::COUNT == 2 {
            [
                alternating::<S, T>([one, sign(left)]),
                alternating::<S, T>([sign(left == right), sign(right)]),
            ]
        } else {
            [T::Part::splat(simd, one); 2]
        };
        let scale = |factor: Scale<T>| match factor {
            Scale::Zero => Scale::Zero,
            Scale::One => Scale::One,
            Scale::By(factor) => {
                let [re, im] = factor.parts();
                let re = T::Part::splat(simd, re);
                let im = if T::COUNT == 2 { alternating::<S, T>([im.negated(), im]) } else { re };
                Scale::By([re, im])
            }
        };
        Self { simd, signs, alpha: scale(block.alpha), beta: scale(block.beta) }
    }

    /// Writes a vector, or the lanes of a mask.
    ///
    /// # Safety
    /// The lanes are valid for writes, and initialised if beta is not zero.
    #[inline(always)]
    unsafe fn write(
        &self,
        mask: Option<MemMask<<T::Part as Real>::Mask<S>>>,
        to: *mut T::Part,
        real: <T::Part as Real>::Vector<S>,
        imaginary: <T::Part as Real>::Vector<S>,
    ) {
        let simd = self.simd;
        let mut sum = real;
        if T::COUNT == 2 {
            let turned = T::Part::times(simd, T::Part::swapped(simd, imaginary), self.signs[1]);
            sum = T::Part::fused(simd, real, self.signs[0], turned);
        }
        if let Scale::By(alpha) = self.alpha {
            sum = self.scaled(alpha, sum);
        }
        // SAFETY: the caller's.
        let old = || unsafe {
            match mask {
                None => to.cast::<<T::Part as Real>::Vector<S>>().read_unaligned(),
                Some(mask) => T::Part::load(simd, mask, to),
            }
        };
        sum = match self.beta {
            Scale::Zero => sum,
            Scale::One => T::Part::fused(simd, old(), T::Part::splat(simd, T::Part::ONE), sum),
            Scale::By(beta) => {
                let old = self.scaled(beta, old());
                T::Part::fused(simd, old, T::Part::splat(simd, T::Part::ONE), sum)
            }
        };
        // SAFETY: the caller's.
        unsafe { store::<S, T>(simd, mask, to, sum) }
    }

    #[inline(always)]
    fn scaled(
        &self,
        [re, im]: [<T::Part as Real>::Vector<S>; 2],
        x: <T::Part as Real>::Vector<S>,
    ) -> <T::Part as Real>::Vector<S> {
        let simd = self.simd;
        let product = T::Part::times(simd, x, re);
        if T::COUNT == 1 {
            return product;
        }
        T::Part::fused(simd, T::Part::swapped(simd, x), im, product)
    }
}

/// Two numbers by turns in the lanes of a vector.
#[inline(always)]
fn alternating<S: Simd, T: Parts>(pair: [T::Part; 2]) -> <T::Part as Real>::Vector<S> {
    /// As many lanes as any instruction set has.
    const LANES: usize = 32;
    const { assert!(size_of::<[T::Part; LANES]>() >= size_of::<<T::Part as Real>::Vector<S>>()) };
    let lanes: [T::Part; LANES] = std::array::from_fn(|lane| pair[lane % 2]);
    // SAFETY: a vector is as many numbers as it has lanes, of which there are enough.
    unsafe { (&raw const lanes).cast::<<T::Part as Real>::Vector<S>>().read_unaligned() }
}
