//! Operands of any strides as chunks of elements that lie next to each other.
//!
//! Loops know dense elements only. What is dense is handed to them where it lies; a chunk of anything else is copied to
//! a buffer in the first-level cache before the loop, or from there after it. Chunks follow the output's column-major
//! order, so that an element meets the same partners whatever the strides, and end where a long run does, because a
//! chunk in one run of stride 1 needs no copy.

use std::{mem::MaybeUninit, ops::Range, ptr::NonNull};

use tenferro_tensor::{Operand, OperandMut, Shape};

use super::{
    copy,
    isa::Places,
    walk::{Axis, Walk},
};

/// The most elements of a chunk.
pub(super) const CHUNK: usize = 512;
/// The bytes of a cache line.
const LINE: usize = 64;
/// The size of the largest element.
const LARGEST: usize = 16;
/// The longest run that is repeated in a buffer, so that a chunk from anywhere in it has half of the buffer at least.
const LONGEST_PERIOD: usize = CHUNK / 2;
/// Runs of at least so many elements make chunks of their own.
const LONG_RUN: usize = 64;

/// How many bytes before they are read elements of large operands are asked for, at least: what is asked for any later
/// has not come when it is read, where chunks are short.
const AHEAD: usize = 2 << 10;

/// A chunk of one operand.
#[repr(C, align(64))]
struct Buffer([MaybeUninit<u8>; CHUNK * LARGEST]);

impl Buffer {
    const fn new() -> Self {
        Self([MaybeUninit::uninit(); CHUNK * LARGEST])
    }

    fn place(&mut self) -> NonNull<u8> {
        NonNull::from(&mut self.0).cast()
    }
}

/// Where chunks of one operand are copied to.
pub(super) struct Copied {
    place: NonNull<u8>,
    /// Of which element the buffer holds how many copies, where it holds nothing else.
    one: Option<(isize, usize)>,
}

impl Copied {
    pub(super) fn to(place: NonNull<u8>) -> Self {
        Self { place, one: None }
    }
}

/// The operands of an elementwise operation, walked in the order of the output.
pub(super) struct Streams {
    out: Stream,
    inputs: [Stream; 3],
    count: usize,
    elements: usize,
}

/// How one operand is walked.
pub(super) struct Stream {
    data: NonNull<u8>,
    size: usize,
    way: Way,
}

enum Way {
    /// Where it lies.
    Dense,
    /// Dense, but written by the operation: read before it is.
    Overwritten,
    /// One element for all.
    Constant,
    /// By these axes.
    Strided(Walk<1>),
    /// A short run, again and again.
    Periodic(Axis<1>),
}

// SAFETY: the streams stand for borrows of plain elements; parts write disjoint elements of the output.
unsafe impl Sync for Streams {}

impl Streams {
    /// The streams of inputs that broadcast to the output.
    pub(super) fn new(inputs: &[Operand<'_>], out: &mut OperandMut<'_>) -> Self {
        let (shape, to) = (out.shape(), out.data());
        let strides = out.strides_or_dense();
        let dense = out.strides().is_none();
        let way = if dense { Way::Dense } else { Way::Strided(Walk::new(shape, [&strides])) };
        let input = |place: usize| match inputs.get(place) {
            Some(input) => Stream::of(input, shape, input.data() == to),
            None => Stream { data: NonNull::dangling(), size: 0, way: Way::Dense },
        };
        Self {
            out: Stream { data: to, size: out.dtype().size(), way },
            inputs: std::array::from_fn(input),
            count: inputs.len(),
            elements: shape.elements(),
        }
    }

    /// Calls `body(out, inputs, length)` for chunks that make up `range`, in order, until it answers `false`.
    ///
    /// What `body` writes to `out` becomes the output's, if `writes` is [`Writes::All`]; else it must not write.
    pub(super) fn chunks(
        &self,
        range: Range<usize>,
        writes: Writes,
        mut body: impl FnMut(NonNull<u8>, &Places, usize) -> bool,
    ) {
        let mut buffers: [Buffer; 4] = [const { Buffer::new() }; 4];
        let [out_buffer, buffers @ ..] = &mut buffers;
        let most = range.len().min(CHUNK);
        let mut copies = buffers.each_mut().map(|buffer| Copied::to(buffer.place()));
        for (stream, copy) in self.inputs[..self.count].iter().zip(&copies) {
            stream.prepare(most, copy);
        }
        let mut at = range.start;
        while at < range.end {
            let length = self.chunk(at, most.min(range.end - at));
            let mut places = [NonNull::dangling(); 3];
            for (place, (stream, copy)) in
                self.inputs[..self.count].iter().zip(&mut copies).enumerate()
            {
                places[place] = stream.read(at, length, copy);
            }
            let (to, direct) = match self.out.direct(at, length) {
                Some(place) => (place, true),
                None => (out_buffer.place(), false),
            };
            if !body(to, &places, length) {
                return;
            }
            if !direct && writes == Writes::All {
                self.out.write(at, length, to);
            }
            at += length;
        }
    }

    /// The most elements from `at`, up to `most`, that end no later than the shortest long run there.
    fn chunk(&self, at: usize, most: usize) -> usize {
        let streams = self.inputs[..self.count].iter().chain([&self.out]);
        streams.fold(most, |most, stream| stream.most(at, most))
    }

    pub(super) fn elements(&self) -> usize {
        self.elements
    }
}

/// Whether the loop over chunks writes the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// Every element.
    All,
    /// It only looks at the inputs.
    Nothing,
}

impl Stream {
    /// The stream of an operand in a shape that it broadcasts to; `overwritten` says that it is dense and lies where the
    /// operation writes.
    pub(super) fn of(input: &Operand<'_>, shape: &Shape, overwritten: bool) -> Self {
        let (data, size) = (input.data(), input.dtype().size());
        let stretched = input.shape().elements() != shape.elements();
        let way = if input.shape().elements() == 1 {
            Way::Constant
        } else if input.strides().is_some() || stretched {
            let walk = Self::walk(input, shape);
            match walk.axes() {
                [run, Axis { strides: [0], .. }] if run.extent <= LONGEST_PERIOD => {
                    Way::Periodic(*run)
                }
                _ => Way::Strided(walk),
            }
        } else if overwritten {
            Way::Overwritten
        } else {
            Way::Dense
        };
        Self { data, size, way }
    }

    /// The walk over an operand in a shape that it broadcasts to: strides of 0 where it stretches.
    fn walk(input: &Operand<'_>, shape: &Shape) -> Walk<1> {
        let missing = shape.rank() - input.shape().rank();
        let strides = input.strides_or_dense();
        Walk::merging(shape.iter().enumerate().map(|(axis, &extent)| {
            let own = axis.checked_sub(missing).filter(|&own| input.shape()[own] == extent);
            Axis { extent, strides: [own.map_or(0, |own| strides[own])] }
        }))
    }

    /// How many elements of a buffer chunks of up to `most` need; none where all lie next to each other.
    pub(super) fn buffered(&self, most: usize) -> usize {
        match &self.way {
            Way::Dense => 0,
            Way::Periodic(run) => CHUNK.min(most + run.extent),
            Way::Overwritten | Way::Constant | Way::Strided(_) => most,
        }
    }

    /// The most elements from `at`, up to `most`, that end no later than a long run there.
    pub(super) fn most(&self, at: usize, most: usize) -> usize {
        match &self.way {
            Way::Strided(walk) if walk.axes()[0].extent >= LONG_RUN => {
                let extent = walk.axes()[0].extent;
                most.min(extent - at % extent)
            }
            Way::Periodic(run) => most.min(CHUNK - at % run.extent),
            _ => most,
        }
    }

    /// Fills the buffer of an operand of which all chunks are the same, but for where they begin.
    pub(super) fn prepare(&self, most: usize, copy: &Copied) {
        let buffer = copy.place;
        match &self.way {
            Way::Constant => copy_run(self.size, self.data, 0, buffer, 1, most),
            Way::Periodic(Axis { extent, strides: [stride] }) => {
                let end = CHUNK.min(most + extent);
                for start in (0..end).step_by(*extent) {
                    // SAFETY: the start is inside of the buffer.
                    let to = unsafe { buffer.add(start * self.size) };
                    copy_run(self.size, self.data, *stride, to, 1, (*extent).min(end - start));
                }
            }
            Way::Dense | Way::Overwritten | Way::Strided(_) => {}
        }
    }

    /// Where the elements from `at` lie next to each other, if they do.
    #[inline]
    fn direct(&self, at: usize, length: usize) -> Option<NonNull<u8>> {
        let offset = match &self.way {
            Way::Dense => at.cast_signed(),
            Way::Overwritten | Way::Constant | Way::Periodic(_) => return None,
            Way::Strided(walk) => {
                let first = walk.axes()[0];
                if first.strides != [1] || at % first.extent + length > first.extent {
                    return None;
                }
                let [offset] = walk.offsets(at);
                offset
            }
        };
        // SAFETY: the walk reaches offsets of elements only.
        Some(unsafe { self.data.offset(offset * self.size.cast_signed()) })
    }

    /// Asks for as many elements as the chunk of `length` from `at` has, of one that will follow it, where they lie next
    /// to each other.
    #[inline]
    pub(super) fn prefetch_after(&self, at: usize, length: usize) {
        let (Way::Dense | Way::Overwritten) = &self.way else { return };
        let bytes = length * self.size;
        let first = self.data.as_ptr().cast_const().wrapping_add(at * self.size + bytes.max(AHEAD));
        for line in (0..bytes).step_by(LINE) {
            copy::stream::prefetch(first.wrapping_add(line));
        }
    }

    /// The elements from `at`, next to each other: where they lie, or in the buffer, which [`Stream::prepare`] has seen.
    #[inline]
    pub(super) fn read(&self, at: usize, length: usize, copied: &mut Copied) -> NonNull<u8> {
        if let Some(place) = self.direct(at, length) {
            return place;
        }
        let to = copied.place;
        let mut done = 0;
        let mut copy = |offset: isize, stride: isize, length: usize| {
            // SAFETY: the offsets are those of elements, and a chunk fits the buffer.
            unsafe {
                let from = self.data.offset(offset * self.size.cast_signed());
                copy_run(self.size, from, stride, to.add(done * self.size), 1, length);
            }
            done += length;
        };
        match &self.way {
            Way::Strided(walk) => {
                let ([stride], mut one) = (walk.strides(), None);
                for ([offset], run) in walk.runs(at..at + length) {
                    if stride == 0 && run == length {
                        // Chunks of a long run are of one element.
                        if copied.one.is_some_and(|(of, count)| of == offset && count >= length) {
                            return to;
                        }
                        one = Some((offset, length));
                    }
                    copy(offset, stride, run);
                }
                copied.one = one;
            }
            Way::Dense | Way::Overwritten => copy(at.cast_signed(), 1, length),
            Way::Constant => {}
            // SAFETY: the chunk's first element is one of the first run's in the buffer.
            Way::Periodic(run) => return unsafe { to.add(at % run.extent * self.size) },
        }
        to
    }

    /// Moves elements from `from`, where they lie next to each other, to their places.
    fn write(&self, at: usize, length: usize, from: NonNull<u8>) {
        let Way::Strided(walk) = &self.way else { return };
        let ([stride], mut done) = (walk.strides(), 0);
        for ([offset], length) in walk.runs(at..at + length) {
            // SAFETY: the offsets are those of elements, and the chunk's elements are at `from`.
            unsafe {
                let to = self.data.offset(offset * self.size.cast_signed());
                copy_run(self.size, from.add(done * self.size), 1, to, stride, length);
            }
            done += length;
        }
    }
}

/// Copies elements of `size` bytes from and to places that are strides apart.
pub(super) fn copy_run(
    size: usize,
    from: NonNull<u8>,
    step: isize,
    to: NonNull<u8>,
    out_step: isize,
    length: usize,
) {
    // SAFETY: callers have `length` elements of this size at both places, which do not overlap.
    unsafe {
        match size {
            1 => copy_elements::<u8>(from, step, to, out_step, length),
            2 => copy_elements::<u16>(from, step, to, out_step, length),
            4 => copy_elements::<u32>(from, step, to, out_step, length),
            8 => copy_elements::<u64>(from, step, to, out_step, length),
            _ => copy_elements::<[u64; 2]>(from, step, to, out_step, length),
        }
    }
}

/// # Safety
/// There must be `length` elements of the size of `T` at both places, the strides apart, which do not overlap.
unsafe fn copy_elements<T: Copy>(
    from: NonNull<u8>,
    step: isize,
    to: NonNull<u8>,
    out_step: isize,
    length: usize,
) {
    let (source, target) = (from.cast::<T>(), to.cast::<T>());
    // SAFETY: the caller says so. A complex number is aligned as its parts are, and not as a `T`.
    unsafe {
        match (step, out_step) {
            (1, 1) => to.copy_from_nonoverlapping(from, length * size_of::<T>()),
            (0, 1) => {
                let value = source.read_unaligned();
                for at in 0..length {
                    target.add(at).write_unaligned(value);
                }
            }
            _ => {
                for at in 0..length.cast_signed() {
                    let value = source.offset(at * step).read_unaligned();
                    target.offset(at * out_step).write_unaligned(value);
                }
            }
        }
    }
}
