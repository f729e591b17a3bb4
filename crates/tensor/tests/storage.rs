//! Who owns the elements: sharing, copying, adoption, lending and the way back to a pool.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use std::{
    ptr::NonNull,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tenferro_tensor::{
    Access, Block, DType, Error, Layout, Operand, OperandMut, Recycle, Shape, Tensor, TensorView,
    TensorViewMut, TypedTensor, Uninit, Validation, dispatch,
};

fn shape(extents: &[usize]) -> Shape {
    Shape::new(extents).unwrap()
}

fn start(tensor: &Tensor) -> *const f64 {
    tensor.as_slice::<f64>().unwrap().as_ptr()
}

/// Counts what comes back, and keeps the blocks for the test to look at.
struct Pool {
    calls: AtomicUsize,
    blocks: Mutex<Vec<Block>>,
}

impl Pool {
    const fn new() -> Pool {
        Pool { calls: AtomicUsize::new(0), blocks: Mutex::new(Vec::new()) }
    }

    fn tensor(&'static self, elements: usize, tag: u32) -> Tensor {
        let blocks = |bytes| Some(Block::allocate(bytes)?.homed(self, tag));
        let place = Uninit::with_blocks("test", DType::F64, shape(&[elements]), blocks).unwrap();
        let mut next = 0.0;
        place.filled(|| {
            next += 1.0;
            next
        })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Recycle for Pool {
    fn recycle(&self, block: Block) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.blocks.lock().unwrap().push(block);
    }
}

/// Counts how often it is dropped, and lends its bytes.
struct Lender {
    data: Box<[f64]>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Lender {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_clone_shares_and_a_duplicate_copies() {
    let x = Tensor::from_vec_col_major([3], vec![1.0, 2.0, 3.0]).unwrap();
    assert_eq!(start(&x.clone()), start(&x));
    assert_eq!(start(&x.reshaped([3, 1]).unwrap()), start(&x));
    let copy = x.duplicate().unwrap();
    assert_ne!(start(&copy), start(&x));
    assert_eq!(copy.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0]);
    let typed = x.clone().typed::<f64>().unwrap();
    assert_eq!(typed.clone().as_slice().as_ptr(), start(&x));
    assert_eq!(start(&typed.into_tensor()), start(&x));
}

#[test]
fn a_write_to_a_shared_tensor_leaves_the_other_as_it_was() {
    let mut x = Tensor::from_vec_col_major([2], vec![1.0, 2.0]).unwrap();
    let unshared = start(&x);
    x.as_mut_slice::<f64>().unwrap()[0] = 5.0;
    assert_eq!(start(&x), unshared, "a lone owner writes in place");
    let mut y = x.clone();
    y.as_mut_slice::<f64>().unwrap()[1] = 7.0;
    let mut z = x.clone();
    z.view_mut().unwrap().set(&[0], -1.0).unwrap();
    let mut w = x.clone();
    w.as_operand_mut().unwrap().fill(|| 0.0);
    assert_eq!(x.as_slice::<f64>().unwrap(), [5.0, 2.0]);
    assert_eq!(y.as_slice::<f64>().unwrap(), [5.0, 7.0]);
    assert_eq!(z.as_slice::<f64>().unwrap(), [-1.0, 2.0]);
    assert_eq!(w.as_slice::<f64>().unwrap(), [0.0, 0.0]);
    drop((y, z, w));
    x.as_mut_slice::<f64>().unwrap()[0] = 6.0;
    assert_eq!(start(&x), unshared, "the last owner writes in place again");
    assert!(x.as_mut_slice::<f32>().is_err());
}

#[test]
fn a_long_vector_is_adopted_and_a_short_one_copied() {
    let long = vec![1.5_f64; 1000];
    let address = long.as_ptr();
    let mut x = Tensor::from_vec_col_major([10, 100], long).unwrap();
    assert_eq!(start(&x), address);
    x.as_mut_slice::<f64>().unwrap()[999] = 2.5;
    assert_eq!(start(&x), address, "an adopted vector is written in place");
    assert_eq!(x.get::<f64>(&[9, 99]).unwrap(), 2.5);
    let short = vec![1.5_f64; 8];
    let address = short.as_ptr();
    assert_ne!(start(&Tensor::from_vec_col_major([8], short).unwrap()), address);
}

#[test]
fn a_block_returns_to_its_pool_once_when_the_last_owner_is_gone() {
    static POOL: Pool = Pool::new();
    let pool = &POOL;
    let x = pool.tensor(4, 7);
    let address = start(&x).cast::<u8>();
    let (y, z) = (x.clone(), x.reshaped([2, 2]).unwrap());
    drop(x);
    drop(z);
    assert_eq!(pool.calls(), 0);
    drop(y);
    assert_eq!(pool.calls(), 1);
    let block = pool.blocks.lock().unwrap().pop().unwrap();
    assert_eq!((block.tag(), block.data().as_ptr().cast_const()), (7, address));
    assert!(block.capacity() >= 32 && !block.is_lent());
    // Taken again, the block counts its owners from one.
    let again = Uninit::with_blocks("test", DType::F64, shape(&[4]), |_| Some(block)).unwrap();
    let mut again = again.filled(|| 0.0);
    assert_eq!(start(&again).cast::<u8>(), address);
    again.as_mut_slice::<f64>().unwrap()[0] = 1.0;
    assert_eq!(start(&again).cast::<u8>(), address);
    drop(again);
    assert_eq!(pool.calls(), 2);
}

#[test]
fn many_threads_that_drop_one_tensor_return_its_block_once() {
    static POOL: Pool = Pool::new();
    let pool = &POOL;
    for round in 1..=200 {
        let x = pool.tensor(3, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let share = x.clone();
                scope.spawn(move || {
                    let sum: f64 = share.clone().as_slice::<f64>().unwrap().iter().sum();
                    assert_eq!(sum, 6.0);
                });
            }
            drop(x);
        });
        assert_eq!(pool.calls(), round);
    }
}

#[test]
fn a_shared_tensor_that_is_copied_for_writing_gives_up_its_share() {
    static POOL: Pool = Pool::new();
    let pool = &POOL;
    let x = pool.tensor(2, 0);
    let mut y = x.clone();
    y.as_mut_slice::<f64>().unwrap()[0] = 9.0;
    drop(x);
    assert_eq!(pool.calls(), 1);
    drop(y);
    assert_eq!(pool.calls(), 1, "the copy came from the system");
}

#[test]
fn an_unfinished_result_returns_its_memory_to_the_pool() {
    static POOL: Pool = Pool::new();
    let pool = &POOL;
    let blocks = |bytes| Some(Block::allocate(bytes)?.homed(pool, 0));
    drop(Uninit::with_blocks("test", DType::F64, shape(&[2]), blocks).unwrap());
    assert_eq!(pool.calls(), 1);
}

#[test]
fn lent_memory_is_never_written_and_given_back_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let lender = Box::new(Lender { data: vec![1.0, 2.0, 3.0].into(), drops: Arc::clone(&drops) });
    let address = lender.data.as_ptr();
    let data = NonNull::slice_from_raw_parts(NonNull::from(&lender.data[..]).cast::<u8>(), 24);
    // SAFETY: the boxed elements do not move with the lender and are not written.
    let mut x = unsafe { Tensor::from_lender(DType::F64, [3], data, lender) }.unwrap();
    assert_eq!(start(&x), address);
    let y = x.clone();
    x.as_mut_slice::<f64>().unwrap()[0] = 8.0;
    assert_ne!(start(&x), address, "a write copies read-only elements, even of a lone owner");
    assert_eq!(y.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    let mut lone = y;
    lone.view_mut().unwrap().set(&[1], 0.5).unwrap();
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    assert_eq!(lone.as_slice::<f64>().unwrap(), [1.0, 0.5, 3.0]);
}

#[test]
fn lent_memory_must_fit_the_dtype_and_the_shape() {
    let lend = |skip: usize, bytes: usize, extents: [usize; 1]| {
        let lender = Box::new(vec![0_u64; 4]);
        let data = NonNull::from(&lender[..]).cast::<u8>();
        // SAFETY: the vector's elements do not move with it, are not written, and any bytes are floats.
        unsafe {
            let data = NonNull::slice_from_raw_parts(data.add(skip), bytes);
            Tensor::from_lender(DType::F64, extents, data, lender)
        }
    };
    let problem = |result: Result<Tensor, Error>| match result.unwrap_err() {
        Error::Validation { problem, .. } => *problem,
        other => panic!("{other}"),
    };
    assert_eq!(lend(8, 24, [3]).unwrap().as_slice::<f64>().unwrap(), [0.0; 3]);
    assert!(matches!(problem(lend(0, 24, [4])), Validation::ElementCount { .. }));
    assert!(matches!(problem(lend(0, 28, [3])), Validation::Rule { .. }));
    assert!(matches!(problem(lend(4, 24, [3])), Validation::Rule { .. }));
}

#[test]
#[should_panic(expected = "own memory")]
fn a_result_is_not_made_of_lent_memory() {
    let lender = Box::new(vec![0_u8; 64]);
    let data = NonNull::from(&lender[..]).cast::<u8>();
    // SAFETY: the vector's elements do not move with it and are not written.
    let block = unsafe { Block::lent(data, 64, Access::ReadOnly, lender) };
    let _ = Uninit::with_blocks("test", DType::F64, shape(&[8]), |_| block);
}

#[test]
fn memory_that_is_not_there_is_a_typed_error() {
    let out_of_memory = |result: Result<Tensor, Error>, expected: usize| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { bytes, .. } if bytes == expected), "{error}");
    };
    out_of_memory(Tensor::zeros(DType::F64, [1 << 62]), usize::MAX);
    out_of_memory(Tensor::zeros(DType::U8, [isize::MAX as usize]), isize::MAX as usize);
    out_of_memory(Tensor::zeros(DType::C64, [1 << 58]), 1 << 62);
    let starved = Uninit::with_blocks("test", DType::F64, shape(&[2]), |_| None);
    out_of_memory(starved.map(|place| place.filled(|| 0.0)), 16);
    let one = Tensor::scalar(1.0).unwrap();
    let endless = one.view().broadcast(&[1 << 60]).unwrap();
    out_of_memory(endless.to_tensor(), 1 << 63);
    let listed = endless.to_vec_row_major::<f64>().unwrap_err();
    assert!(matches!(listed, Error::OutOfMemory { op: "to_vec_row_major", .. }));
    let small = Uninit::with_blocks("test", DType::F64, shape(&[9]), |_| Block::allocate(71));
    out_of_memory(small.map(|place| place.filled(|| 0.0)), 72);
}

#[test]
fn x53_an_empty_tensor_of_any_dtype_has_an_aligned_empty_slice() {
    for &dtype in DType::ALL {
        let mut x = Tensor::zeros(dtype, [3, 0, 2]).unwrap();
        dispatch!(dtype, any T => {
            assert!(x.as_slice::<T>().unwrap().is_empty());
            assert!(x.as_slice::<T>().unwrap().as_ptr().is_aligned());
            assert!(x.as_mut_slice::<T>().unwrap().is_empty());
            assert!(x.to_vec_row_major::<T>().unwrap().is_empty());
            let vector: Vec<T> = Vec::new();
            assert_eq!(Tensor::from_vec_col_major([0], vector.clone()).unwrap().elements(), 0);
            assert_eq!(Tensor::from_vec_row_major([2, 0], vector).unwrap().elements(), 0);
        });
        assert_eq!(x.duplicate().unwrap().shape(), x.shape());
    }
}

#[test]
fn data_are_aligned_to_a_cache_line() {
    for bytes in [0, 1, 63, 64, 65, 4096] {
        let block = Block::allocate(bytes).unwrap();
        assert!(block.data().addr().get().is_multiple_of(64));
        assert!(block.capacity() >= bytes);
    }
    assert!(Block::allocate(usize::MAX).is_none());
    assert!(Block::allocate(isize::MAX as usize - 64).is_none());
}

#[test]
fn tensors_and_views_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Tensor>();
    crosses::<TypedTensor<f64>>();
    crosses::<TensorView<'_>>();
    crosses::<TensorViewMut<'_>>();
    crosses::<Operand<'_>>();
    crosses::<Block>();
    crosses::<Uninit>();
    crosses::<Shape>();
    crosses::<Layout>();
    crosses::<Error>();
    fn moves<T: Send>() {}
    moves::<OperandMut<'_>>();
}
