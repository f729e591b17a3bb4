//! Elements that are moved and not looked at: plain bits of 1, 2, 4, 8 or 16 bytes.

use tenferro_tensor::DType;

/// Bits that are moved as one, aligned at most as the elements are that they stand for.
pub(super) trait Bits: Copy + Send + Sync + 'static {}
impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}
impl Bits for [u32; 2] {}
impl Bits for [u64; 2] {}

/// A loop that is generic over the width of elements.
pub(super) trait BitsVisitor {
    /// Runs the loop for elements that are moved as `B`.
    fn visit<B: Bits>(self);
}

/// Runs a loop for elements of `dtype`.
pub(super) fn visit_bits(dtype: DType, visitor: impl BitsVisitor) {
    match dtype.size() {
        1 => visitor.visit::<u8>(),
        2 => visitor.visit::<u16>(),
        4 => visitor.visit::<u32>(),
        // Aligned as its components are, not as a `u64` is.
        8 if dtype == DType::C32 => visitor.visit::<[u32; 2]>(),
        8 => visitor.visit::<u64>(),
        _ => visitor.visit::<[u64; 2]>(),
    }
}
