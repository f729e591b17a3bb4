//! Size classes of blocks: four to each power of two, so that at most a fifth of a block is unused.

/// The sizes of one block: a class number, and the bytes that a block of it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) number: usize,
    pub(super) bytes: usize,
}

/// The smallest block.
const SMALLEST: usize = 64;

/// How many classes there are for blocks of up to `bytes` bytes.
pub(super) const fn classes_up_to(bytes: usize) -> usize {
    Class::holding(bytes).number + 1
}

impl Class {
    /// The smallest class whose blocks hold `bytes` bytes.
    ///
    /// Class `4 d + q` holds `(4 + q) / 4` times `64 * 2^d` bytes. Sizes beyond half of the address space have no
    /// class of their own and get one that no allocator can serve.
    #[inline]
    pub(super) const fn holding(bytes: usize) -> Self {
        if bytes <= SMALLEST {
            return Self { number: 0, bytes: SMALLEST };
        }
        if bytes > isize::MAX as usize / 2 {
            return Self { number: 4 * (usize::BITS as usize), bytes };
        }
        // The quarter of the power of two below, in which `bytes - 1` lies, gives the class above it.
        let last = bytes - 1;
        let doubling = last.ilog2() - SMALLEST.ilog2();
        let quarter = (SMALLEST / 4) << doubling;
        let above = last / quarter + 1;
        Self { number: 4 * doubling as usize + above - 4, bytes: above * quarter }
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn classes_hold_what_they_are_asked_for_and_waste_at_most_a_fifth() {
        let mut before = Class::holding(0);
        for bytes in 65..70_000 {
            let class = Class::holding(bytes);
            assert!(
                class.bytes >= bytes && (class.bytes - bytes) * 5 <= class.bytes,
                "{bytes}: {class:?}"
            );
            assert!(class.number == before.number || class.number == before.number + 1);
            assert_eq!(class.number == before.number, class.bytes == before.bytes);
            before = class;
        }
    }

    #[test]
    fn a_class_holds_its_own_size() {
        for shift in 6..40 {
            let class = Class::holding(1 << shift);
            assert_eq!((class.bytes, class.number), (1 << shift, 4 * (shift - 6)));
        }
    }
}
