//! Work space of a routine: its size is asked for, found out before anything is written.

use super::{super::functions::Integer, Stop, functions::Routines};

/// Memory of a routine that nobody else reads.
pub(super) struct Space<T>(Vec<T>);

impl<T: Copy + Default> Space<T> {
    /// As many elements as a formula says, and one at least.
    pub(super) fn of(len: usize) -> Self {
        Self(vec![T::default(); len.max(1)])
    }

    pub(super) fn pointer(&mut self) -> *mut T {
        self.0.as_mut_ptr()
    }

    /// What a routine has written into it.
    pub(super) fn elements(&self) -> &[T] {
        &self.0
    }

    /// The number of elements, in the library's integers.
    pub(super) fn len<I: Integer>(&self) -> Result<I, Stop> {
        integer(self.0.len())
    }
}

/// Asks a routine how much it wants, and makes as much; `routine` is called with a length of -1, then with the space.
///
/// The routine reads and writes no more of the space than the length says, and of a length of -1 one element: whoever
/// calls it in the closure relies on that.
pub(super) fn asked<T, I>(mut routine: impl FnMut(*mut T, *const I, *mut I)) -> Result<(), Stop>
where
    T: Routines<I>,
    I: Integer,
{
    let (mut answer, mut info) = (T::default(), I::ZERO);
    routine(&raw mut answer, &I::MINUS_ONE, &raw mut info);
    judge(info)?;
    let mut space = Space::<T>::of(size(answer.size())?);
    let len = space.len::<I>()?;
    routine(space.pointer(), &raw const len, &raw mut info);
    judge(info)
}

/// What a routine says of itself: nothing, that an argument is wrong, or where it broke down.
pub(super) fn judge<I: Integer>(info: I) -> Result<(), Stop> {
    match info.get() {
        0 => Ok(()),
        argument @ ..0 => Err(Stop::Argument(argument.unsigned_abs())),
        place => Err(Stop::Broke(usize::try_from(place).unwrap_or(usize::MAX))),
    }
}

/// A size in the words of a float; one that no library can have meant is an overflow of its integers.
pub(super) fn size(answer: f64) -> Result<usize, Stop> {
    const MOST: f64 = (1_u64 << 52) as f64;
    if (0.0..MOST).contains(&answer) {
        return Ok(answer.ceil() as usize);
    }
    Err(Stop::Extent(usize::MAX))
}

/// A number in the library's integers.
pub(super) fn integer<I: Integer>(value: usize) -> Result<I, Stop> {
    isize::try_from(value).ok().and_then(I::of).ok_or(Stop::Extent(value))
}
