//! The bits of an element, as bitcasts see them.

use tenferro_tensor::{DType, Scalar, Validation, dtypes};

/// An element as the bits that stand for it.
pub trait Pattern: Scalar {
    /// The bits, zeros above; the real part of a complex number is lower.
    #[must_use]
    fn pattern(self) -> u128;

    /// The element of these bits, without regard to those above its width. A bool is true for any but 0.
    #[must_use]
    fn from_pattern(bits: u128) -> Self;
}

macro_rules! pattern {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex [$($C:ident: $complex:ty = $_c:literal),*]
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean [$($B:ident: $boolean:ty = $_b:literal),*]
    ) => {
        $(pattern!($float, |x| x.to_bits().into(), |bits| Self::from_bits(bits as _));)*
        $(pattern!($half, |x| x.to_bits().into(), |bits| Self::from_bits(bits as _));)*
        $(pattern!(
            $complex,
            |x| x.re.pattern() | x.im.pattern() << (4 * size_of::<Self>()),
            |bits| Self::new(
                Pattern::from_pattern(bits),
                Pattern::from_pattern(bits >> (4 * size_of::<Self>()))
            )
        );)*
        $(pattern!($signed, |x| x.cast_unsigned().into(), |bits| bits as _);)*
        $(pattern!($unsigned, |x| x.into(), |bits| bits as _);)*
        $(pattern!($boolean, |x| x.into(), |bits| bits != 0);)*
    };
    ($ty:ty, |$x:ident| $pattern:expr, |$bits:ident| $element:expr) => {
        impl Pattern for $ty {
            #[inline]
            fn pattern(self) -> u128 {
                let $x = self;
                $pattern
            }

            #[inline]
            fn from_pattern($bits: u128) -> Self {
                $element
            }
        }
    };
}

dtypes!(pattern,);

/// Whether the bits of one dtype are those of another.
///
/// # Errors
/// [`Validation::Bitcast`] if the sizes differ or only the target is bool.
pub(crate) fn check_bitcast(from: DType, to: DType) -> Result<(), Validation> {
    let makes_bool = to == DType::Bool && from != DType::Bool;
    if from.size() != to.size() || makes_bool {
        return Err(Validation::Bitcast { from, to });
    }
    Ok(())
}
