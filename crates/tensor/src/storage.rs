//! The memory of tensors: one block for the bookkeeping and the data.
//!
//! A [`Block`] has one owner and no element type. A `Storage` is a block that tensors share by counting; its head also
//! says which dtype and shape lie there, so that a tensor is one pointer and an operation moves no more than that. When
//! the last share is gone the block goes back to the recycler that it names, or to the system. Storage never looks at
//! elements.

use std::{
    alloc::{self, Layout},
    any::Any,
    mem::ManuallyDrop,
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering, fence},
};

use crate::{DType, Shape, pages};

/// The alignment of data: a cache line, and the widest vector register.
const ALIGNMENT: usize = 64;

/// Takes back blocks whose last tensor is gone.
///
/// A recycler is a static: a block may outlive every backend. What tells pools apart is the block's [`Block::tag`].
pub trait Recycle: Sync + 'static {
    /// Takes the block. Called on whichever thread dropped the last tensor; must not block on a running kernel.
    fn recycle(&self, block: Block);
}

/// Whether lent data may be written by whoever owns them alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Never written; a write copies first. A mapped file is read-only.
    ReadOnly,
    /// Written through a unique handle.
    ReadWrite,
}

/// The head of every allocation; the data follow it, or lie with `lender`.
#[repr(C, align(64))]
struct Header {
    /// How many `Storage` handles exist; meaningless while a `Block` owns the allocation.
    references: AtomicUsize,
    /// Bytes behind `data`.
    capacity: usize,
    data: NonNull<u8>,
    tag: u32,
    access: Access,
    /// What a storage holds; without meaning in a block.
    dtype: DType,
    recycler: Option<&'static dyn Recycle>,
    /// Keeps adopted data alive; `None` where the data follow the header.
    lender: Option<Box<dyn Any + Send + Sync>>,
    /// The extents of what a storage holds; of rank 0 in a block.
    shape: Shape,
}

/// A block of memory with one owner, to become a tensor's storage.
pub struct Block(NonNull<Header>);

// SAFETY: a block is uniquely owned memory; its recycler is `Sync` and its lender `Send + Sync`.
unsafe impl Send for Block {}
// SAFETY: `&Block` reads immutable fields only.
unsafe impl Sync for Block {}

impl Block {
    /// A block for at least `capacity` bytes, aligned to 64; `None` if the allocator has no memory for it.
    #[must_use]
    pub fn allocate(capacity: usize) -> Option<Self> {
        let layout = Self::layout(capacity)?;
        // SAFETY: the layout holds at least the header, so it is not of size zero.
        let memory = NonNull::new(unsafe { alloc::alloc(layout) })?;
        pages::prefer_large(memory, layout.size());
        let header = memory.cast::<Header>();
        // SAFETY: the allocation is aligned for and at least as large as the header; data start right behind it.
        unsafe {
            let data = header.add(1).cast::<u8>();
            header.write(Header {
                references: AtomicUsize::new(1),
                capacity,
                data,
                tag: 0,
                access: Access::ReadWrite,
                dtype: DType::U8,
                recycler: None,
                lender: None,
                shape: Shape::default(),
            });
        }
        Some(Self(header))
    }

    /// A block whose data are the elements of `lender`, which is kept until the block is dropped.
    ///
    /// Used to adopt a `Vec` or a mapped file without copying.
    ///
    /// # Safety
    /// `data` must be valid for reads of `capacity` bytes, and nothing may write there, for as long as `lender` lives,
    /// wherever it is moved. With [`Access::ReadWrite`], `data` must be valid for writes too, and nobody may reach them
    /// through `lender`.
    #[must_use]
    pub unsafe fn lent(
        data: NonNull<u8>,
        capacity: usize,
        access: Access,
        lender: Box<dyn Any + Send + Sync>,
    ) -> Option<Self> {
        let mut block = Self::allocate(0)?;
        let header = block.header_mut();
        header.data = data;
        header.capacity = capacity;
        header.access = access;
        header.lender = Some(lender);
        Some(block)
    }

    /// The bytes that the block holds.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> usize {
        self.header().capacity
    }

    /// What the recycler wrote on the block.
    #[must_use]
    #[inline]
    pub fn tag(&self) -> u32 {
        self.header().tag
    }

    /// The block, to be returned to `recycler` with `tag` when its last tensor is dropped.
    #[must_use]
    pub fn homed(mut self, recycler: &'static dyn Recycle, tag: u32) -> Self {
        let header = self.header_mut();
        header.recycler = Some(recycler);
        header.tag = tag;
        self
    }

    /// Whether the data are somebody else's: as aligned as their owner left them, and perhaps read-only.
    ///
    /// A lent block makes no [`Uninit`](crate::Uninit); a pool that gets one back drops it.
    #[must_use]
    pub fn is_lent(&self) -> bool {
        self.header().lender.is_some()
    }

    /// The first byte of the data, aligned to 64 unless lent.
    #[must_use]
    #[inline]
    pub fn data(&self) -> NonNull<u8> {
        self.header().data
    }

    fn layout(capacity: usize) -> Option<Layout> {
        Layout::from_size_align(capacity.checked_add(size_of::<Header>())?, ALIGNMENT).ok()
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a block owns an initialised header.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn header_mut(&mut self) -> &mut Header {
        // SAFETY: a block owns an initialised header, and `&mut self` makes the borrow unique.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let lender = self.header_mut().lender.take();
        let own = if lender.is_some() { 0 } else { self.capacity() };
        let layout = Self::layout(own).expect("invariant: the layout was valid when allocated");
        // SAFETY: the allocation was made with this layout and has no other owner; a block's shape is inline, and the
        // remaining fields need no drop.
        unsafe { alloc::dealloc(self.0.as_ptr().cast(), layout) };
        drop(lender);
    }
}

/// A block with elements of one dtype and shape, shared by the tensors that count it.
pub(crate) struct Storage(NonNull<Header>);

// SAFETY: as for `Block`; the count is atomic, and data are written only through a unique handle.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Storage {
    /// The block as the one handle on elements of this dtype and shape.
    #[inline]
    pub(crate) fn new(block: Block, dtype: DType, shape: &Shape) -> Self {
        let mut storage = Self(ManuallyDrop::new(block).0);
        let header = storage.header_mut();
        // A recycled block carries whatever count it ended with.
        *header.references.get_mut() = 1;
        header.dtype = dtype;
        header.shape.clone_from(shape);
        storage
    }

    /// The same elements under another shape of as many: a head of its own, which keeps this storage alive. The elements
    /// are shared, so neither writes them. `None` if the allocator has no memory for the head.
    pub(crate) fn reshaped(&self, shape: &Shape) -> Option<Self> {
        let (data, capacity) = (self.data(), self.header().capacity);
        // SAFETY: the clone in the box keeps the data, and a storage that is shared is never written.
        let block =
            unsafe { Block::lent(data, capacity, Access::ReadOnly, Box::new(self.clone())) };
        Some(Self::new(block?, self.dtype(), shape))
    }

    #[inline]
    pub(crate) fn dtype(&self) -> DType {
        self.header().dtype
    }

    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        &self.header().shape
    }

    #[inline]
    pub(crate) fn data(&self) -> NonNull<u8> {
        self.header().data
    }

    /// Whether the data may be made another result's: this is the only handle, and they are the block's own.
    pub(crate) fn is_reusable(&self) -> bool {
        self.is_unique() && self.header().lender.is_none()
    }

    /// Whether the data may be written through this handle: it is the only one, and they are not read-only.
    pub(crate) fn is_writable(&self) -> bool {
        self.header().access == Access::ReadWrite && self.is_unique()
    }

    #[inline]
    fn is_unique(&self) -> bool {
        // Acquire pairs with the Release of a dropped handle: its reads happened before our writes.
        self.header().references.load(Ordering::Acquire) == 1
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a handle keeps the header alive; it is only borrowed mutably before it is shared.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn header_mut(&mut self) -> &mut Header {
        // SAFETY: only called while this is the one handle.
        unsafe { self.0.as_mut() }
    }
}

impl Clone for Storage {
    fn clone(&self) -> Self {
        let handles = self.header().references.fetch_add(1, Ordering::Relaxed);
        // Handles that are forgotten, not dropped, could wrap the count, and the data would be freed in use.
        if handles > isize::MAX.unsigned_abs() {
            std::process::abort();
        }
        Self(self.0)
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        // A unique handle needs no read-modify-write: nobody else can make it shared.
        if !self.is_unique() {
            if self.header().references.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        let mut block = Block(self.0);
        let header = block.header_mut();
        if !header.shape.is_inline() {
            header.shape = Shape::default();
        }
        match header.recycler {
            Some(recycler) => recycler.recycle(block),
            None => drop(block),
        }
    }
}
