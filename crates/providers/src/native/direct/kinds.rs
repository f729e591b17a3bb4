//! The kinds of tiles that there are for an instruction set, each a function of its own.
//!
//! One function with all of them keeps what each needs on the stack throughout. A table of them costs a call one load.

use pulp::{
    Simd, WithSimd,
    x86::{V3, V4},
};

use super::tile::{Parts, Spot, tile};

/// Vectors of rows in a tile, at most.
pub(super) const HEIGHT: usize = 3;

/// Columns of parts in a tile, at most.
pub(super) const WIDTH: usize = 8;

/// A kind of tile.
///
/// The caller answers for what [`tile`] asks for, and for the machine having the instructions.
pub(super) type Kind<T> = unsafe fn(&Spot<'_, T>);

/// An instruction set with tiles.
pub(super) trait Tiles: Simd {
    /// One with vectors of half the length, for products that have no more rows than those have lanes; or the same.
    type Half: Tiles;

    /// Columns of parts in a tile, at most: as many sums as there are registers for, beside the rows and an element of the
    /// right operand.
    const MOST: usize;

    /// The instructions.
    ///
    /// # Safety
    /// The machine has them.
    unsafe fn trusted() -> Self;

    /// The tile with `height` vectors of rows and `width` columns of parts.
    #[inline(always)]
    fn tile<T: Parts>(height: usize, width: usize) -> Kind<T> {
        All::<Self, T>::KINDS[height - 1][width - 1]
    }
}

impl Tiles for V4 {
    type Half = V3;

    const MOST: usize = WIDTH;

    #[inline(always)]
    unsafe fn trusted() -> Self {
        // SAFETY: the caller's.
        unsafe { V4::new_unchecked() }
    }
}

impl Tiles for V3 {
    type Half = V3;

    const MOST: usize = 4;

    #[inline(always)]
    unsafe fn trusted() -> Self {
        // SAFETY: the caller's.
        unsafe { V3::new_unchecked() }
    }
}

/// All kinds of tiles of an instruction set, by their vectors of rows and their columns of parts.
struct All<S, T>(std::marker::PhantomData<(S, T)>);

impl<S: Tiles, T: Parts> All<S, T> {
    const KINDS: &'static [[Kind<T>; WIDTH]; HEIGHT] =
        &[Self::of_height::<1>(), Self::of_height::<2>(), Self::of_height::<3>()];

    const fn of_height<const V: usize>() -> [Kind<T>; WIDTH] {
        [
            kind::<S, T, V, 1>,
            kind::<S, T, V, 2>,
            kind::<S, T, V, 3>,
            kind::<S, T, V, 4>,
            kind::<S, T, V, 5>,
            kind::<S, T, V, 6>,
            kind::<S, T, V, 7>,
            kind::<S, T, V, 8>,
        ]
    }
}

/// One tile of `V` vectors of rows and `C` columns of parts.
///
/// # Safety
/// As for [`Kind`].
unsafe fn kind<S: Tiles, T: Parts, const V: usize, const C: usize>(spot: &Spot<'_, T>) {
    // Those that nobody asks for are not compiled: half a complex number, and more sums than there are registers for.
    const { assert!(V <= HEIGHT && C <= WIDTH) };
    if !C.is_multiple_of(T::COUNT) || (V > 1 && C > S::MOST) {
        unreachable!("no product has such a tile");
    }
    // SAFETY: the caller's.
    let simd = unsafe { S::trusted() };
    simd.vectorize(Tile::<T, V, C> { spot });
}

/// A tile as a function that is compiled for an instruction set.
struct Tile<'s, 'b, T: Parts, const V: usize, const C: usize> {
    spot: &'s Spot<'b, T>,
}

impl<T: Parts, const V: usize, const C: usize> WithSimd for Tile<'_, '_, T, V, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: what the caller of the kind of tile answers for.
        unsafe { tile::<S, T, V, C>(simd, self.spot) }
    }
}
