//! Elementwise operations: a kernel for the row, operands for the kernel, and threads for both.
//!
//! Operands are broadcast by strides of 0. A dense operation is one call of the kernel's loop, or one for each part of
//! a fan-out; what is strided goes through `stream.rs` by the chunk.

use std::{
    mem::MaybeUninit,
    ops::Range,
    ptr::NonNull,
    sync::atomic::{AtomicBool, Ordering},
};

use tenferro_tensor::{
    Analytic, Elementwise, Numerical, Operand, OperandMut, Primitive, Result, Validation,
};

use super::{
    Grant,
    copy::stream,
    function::Kernel,
    isa::Places,
    share::ask,
    stream::{Streams, Writes},
};

pub(super) use super::function::ANALYTIC_COST;

/// Up to so many elements nothing is shared out, whatever the function.
pub(super) const FEW: usize = 2048;
/// Operands that are walked across their memory are copied first if they have more elements than this.
const MANY: usize = 1 << 15;

/// Computes an elementwise row.
pub(super) fn elementwise(
    grant: &Grant<'_>,
    row: &Elementwise,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
) -> Result<()> {
    // The branches of a select say its dtype, not the predicate.
    let dtype = inputs[inputs.len() - 1].dtype();
    let mut kernel = Kernel::empty();
    let found = kernel.elementwise(row, dtype);
    run(grant, &kernel, found, inputs, out, &|| Primitive::Elementwise(row.clone()).name())
}

/// Computes an analytic row.
pub(super) fn analytic(
    grant: &Grant<'_>,
    row: &Analytic,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
) -> Result<()> {
    let mut kernel = Kernel::empty();
    let found = kernel.analytic(row, inputs[0].dtype());
    run(grant, &kernel, found, inputs, out, &|| Primitive::Analytic(row.clone()).name())
}

fn run(
    grant: &Grant<'_>,
    kernel: &Kernel,
    found: std::result::Result<(), Validation>,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
    name: &dyn Fn() -> &'static str,
) -> Result<()> {
    found.map_err(|problem| problem.of(name()))?;
    match general(grant, kernel, inputs, out, name)? {
        Some(failure) => Err(failure.of(name())),
        None => Ok(()),
    }
}

/// Computes a small operation of dense operands, of which one may be a scalar and the others have the shape of `like`,
/// into memory for as many elements as that has, if it is one and cannot fail.
///
/// Where this applies is less than a microsecond of work, so that every step is measurable: what an operation could
/// need is not even prepared.
#[inline]
pub(crate) fn small(
    primitive: &Primitive,
    inputs: &[Operand<'_>],
    like: usize,
    allocate: impl FnOnce() -> Option<NonNull<u8>>,
) -> Option<()> {
    let like = inputs.get(like)?;
    let elements = like.shape().elements();
    let mut scalar = None;
    for (place, input) in inputs.iter().enumerate() {
        if input.shape().elements() != elements
            && (input.shape().rank() != 0 || scalar.replace(place).is_some())
        {
            return None;
        }
    }
    if elements > FEW || !inputs.iter().all(|x| x.strides().is_none()) {
        return None;
    }
    let mut kernel = Kernel::empty();
    let found = match primitive {
        Primitive::Elementwise(row) => kernel.elementwise(row, like.dtype()),
        Primitive::Analytic(row) => kernel.analytic(row, like.dtype()),
        _ => return None,
    };
    if found.is_err() || kernel.check.is_some() {
        return None;
    }
    let out = allocate()?;
    match scalar {
        // SAFETY: every operand has so many elements next to each other; the caller has checked the dtypes, and what it
        // allocated holds as many of the result's.
        None => unsafe { (kernel.run)(out, &places(inputs, 0), elements, kernel.word) },
        // SAFETY: as above, but for the one that has one element.
        Some(scalar) => unsafe { with_scalar(&kernel, inputs, scalar, out, elements) },
    }
    Some(())
}

/// Runs a kernel whose operand `scalar` has one element, by chunks that meet copies of it.
///
/// # Safety
/// The kernel must be for the operands' dtypes, `out` be for `elements` elements, and the others have as many next to each
/// other.
#[inline(never)]
unsafe fn with_scalar(
    kernel: &Kernel,
    inputs: &[Operand<'_>],
    scalar: usize,
    out: NonNull<u8>,
    elements: usize,
) {
    const CHUNK: usize = 64;
    /// Copies of the largest element.
    #[repr(C, align(64))]
    struct Copies([MaybeUninit<u8>; CHUNK * 16]);
    let mut copies = Copies([const { MaybeUninit::uninit() }; CHUNK * 16]);
    let copies = NonNull::from(&mut copies.0).cast::<u8>();
    let (one, size) = (inputs[scalar].data(), inputs[scalar].dtype().size());
    // SAFETY: the copies are aligned and have room for so many elements of any size.
    unsafe {
        match size {
            1 => repeat::<u8>(one, copies, elements.min(CHUNK)),
            2 => repeat::<u16>(one, copies, elements.min(CHUNK)),
            4 => repeat::<u32>(one, copies, elements.min(CHUNK)),
            8 => repeat::<u64>(one, copies, elements.min(CHUNK)),
            _ => repeat::<[u64; 2]>(one, copies, elements.min(CHUNK)),
        }
    }
    for start in (0..elements).step_by(CHUNK) {
        let places: Places = std::array::from_fn(|place| match inputs.get(place) {
            Some(_) if place == scalar => copies,
            // SAFETY: the others have elements there.
            Some(input) => unsafe { input.data().add(start * input.dtype().size()) },
            None => NonNull::dangling(),
        });
        // SAFETY: the caller says that there are so many elements, of the result as of the operands; the result has the
        // size of the operands, since it has their dtype.
        unsafe {
            let out = out.add(start * size);
            (kernel.run)(out, &places, CHUNK.min(elements - start), kernel.word);
        }
    }
}

/// Writes copies of one element, given as bits of its size.
///
/// # Safety
/// There must be an element of that size at `one`, and room for `count` of them at `copies`, aligned for the bits.
unsafe fn repeat<Bits: Copy>(one: NonNull<u8>, copies: NonNull<u8>, count: usize) {
    let copies = copies.cast::<Bits>();
    // SAFETY: the caller says so; an element of two parts is aligned as its parts are, hence the unaligned read.
    unsafe {
        let bits = one.cast::<Bits>().read_unaligned();
        for at in 0..count {
            copies.add(at).write(bits);
        }
    }
}

/// Whether every operand is one run in the same order, and none is the output: none has strides, and as they broadcast
/// to the output, those with as many elements differ from it by axes of extent 1 at most.
fn is_dense(inputs: &[Operand<'_>], out: &mut OperandMut<'_>) -> bool {
    let (elements, data) = (out.shape().elements(), out.data());
    out.strides().is_none()
        && inputs
            .iter()
            .all(|x| x.strides().is_none() && x.shape().elements() == elements && x.data() != data)
}

/// The first elements of inputs, so many elements further.
#[inline(always)]
fn places(inputs: &[Operand<'_>], at: usize) -> Places {
    // Each made where it stays: an array that is filled and moved is read before its parts have been written.
    [place(inputs, 0, at), place(inputs, 1, at), place(inputs, 2, at)]
}

#[inline(always)]
fn place(inputs: &[Operand<'_>], place: usize, at: usize) -> NonNull<u8> {
    match inputs.get(place) {
        // SAFETY: callers stay inside of the operands.
        Some(input) => unsafe { input.data().add(at * input.dtype().size()) },
        None => NonNull::dangling(),
    }
}

/// Any operation: dense or by the chunk, shared out where that pays, and asked first whether it fails.
fn general(
    grant: &Grant<'_>,
    kernel: &Kernel,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
    name: &dyn Fn() -> &'static str,
) -> Result<Option<Numerical>> {
    let size = out.dtype().size();
    let cost = inputs.iter().map(|x| x.dtype().size()).sum::<usize>() + size + kernel.extra_cost;
    if is_dense(inputs, out) {
        return Ok(dense(grant, kernel, inputs, out, cost));
    }
    let mut packed = smallvec::SmallVec::<[_; 3]>::new();
    for input in inputs {
        packed.push(if crosses_memory(input) { Some(grant.packed(name(), input)?) } else { None });
    }
    let operands: smallvec::SmallVec<[Operand<'_>; 3]> = inputs
        .iter()
        .zip(&packed)
        .map(|(&input, packed)| {
            packed.as_ref().map_or(input, tenferro_tensor::AsOperand::as_operand)
        })
        .collect();
    let streams = Streams::new(&operands, out);
    if let Some(check) = kernel.check {
        let failed = AtomicBool::new(false);
        grant.share(streams.elements(), cost, |range| {
            streams.chunks(range, Writes::Nothing, |_, inputs, length| {
                // SAFETY: a chunk has so many elements of every input.
                let found = unsafe { (check.finds)(inputs, length, kernel.word) };
                failed.fetch_or(found, Ordering::Relaxed);
                !found
            });
        });
        if failed.into_inner() {
            return Ok(Some(check.failure));
        }
    }
    grant.share(streams.elements(), cost, |range| {
        streams.chunks(range, Writes::All, |out, inputs, length| {
            // SAFETY: a chunk has so many elements of every operand, and the output's are no input's.
            unsafe { (kernel.run)(out, inputs, length, kernel.word) };
            true
        });
    });
    Ok(None)
}

/// Whether neighbours in the result's order lie far apart, so that a chunk of few elements would fetch many cache lines
/// that later chunks fetch again.
fn crosses_memory(input: &Operand<'_>) -> bool {
    input.shape().elements() > MANY
        && input.strides().is_some_and(|strides| {
            let first = input.shape().iter().zip(strides).find(|(extent, _)| **extent > 1);
            first.is_some_and(|(_, stride)| stride.unsigned_abs() > 2)
        })
}

/// A dense operation, by the part.
fn dense(
    grant: &Grant<'_>,
    kernel: &Kernel,
    inputs: &[Operand<'_>],
    out: &mut OperandMut<'_>,
    cost: usize,
) -> Option<Numerical> {
    let elements = out.shape().elements();
    if let Some(check) = kernel.check {
        let failed = AtomicBool::new(false);
        grant.share(elements, cost, |range| {
            // SAFETY: the range is inside of every input.
            let found =
                unsafe { (check.finds)(&places(inputs, range.start), range.len(), kernel.word) };
            failed.fetch_or(found, Ordering::Relaxed);
        });
        if failed.into_inner() {
            return Some(check.failure);
        }
    }
    let (target, size) = (super::share::Target::<u8>::new(out.data()), out.dtype().size());
    let streamed = stream::EXISTS && elements * size >= stream::RESULT_FROM;
    grant.share(elements, cost, |range| {
        // SAFETY: the range is inside of every operand, and no other part has it; no input is the output.
        unsafe {
            let out = target.at((range.start * size).cast_signed());
            if streamed {
                run_streamed(kernel, inputs, out, size, range);
            } else {
                (kernel.run)(out, &places(inputs, range.start), range.len(), kernel.word);
            }
        }
    });
    None
}

/// How many bytes before they are needed inputs are asked for.
const AHEAD: usize = 2048;

/// Runs a kernel over dense operands by the stage, from which results of `size` bytes go to `out` past the caches.
///
/// # Safety
/// The range must be inside of every input, and as many results have room at `out`, which no input overlaps.
unsafe fn run_streamed(
    kernel: &Kernel,
    inputs: &[Operand<'_>],
    out: NonNull<u8>,
    size: usize,
    range: Range<usize>,
) {
    let stage = if kernel.extra_cost > 0 { stream::SHORT_STAGE } else { stream::STAGE };
    // SAFETY: the caller has so many elements everywhere, and the kernel writes as many as it is asked for.
    unsafe {
        stream::staged(out.as_ptr(), (range.len(), size), stage, |at, stage, length| {
            let inputs_there = places(inputs, range.start + at);
            for (input, place) in inputs.iter().zip(inputs_there) {
                ask(place.as_ptr().wrapping_add(AHEAD), length * input.dtype().size());
            }
            (kernel.run)(stage, &inputs_there, length, kernel.word);
        });
    }
    stream::finish();
}
