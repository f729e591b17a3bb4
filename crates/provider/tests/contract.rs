//! Workers, matrices and capabilities.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering},
};

use tenferro_provider::{
    Capabilities, DTypes, Exclusion, Matrix, Order, Reentrancy, Sequential, ThreadOwnership,
    Workers,
    conformance::Threads,
    lapack::{Routine, Routines},
};
use tenferro_tensor::DType;

fn matrix([rows, cols]: [usize; 2], [row_stride, col_stride]: [isize; 2]) -> Matrix {
    let data = NonNull::dangling();
    Matrix { data, rows, cols, row_stride, col_stride, batch_stride: 0 }
}

#[test]
fn workers_run_each_job_once() {
    let all: [&dyn Workers; 4] =
        [&Sequential, &Threads::new(1), &Threads::new(2), &Threads::new(7)];
    for workers in all {
        for jobs in [0, 1, 2, 100] {
            let counts: Vec<_> = (0..jobs).map(|_| AtomicUsize::new(0)).collect();
            workers.run(jobs, &|job| _ = counts[job].fetch_add(1, Ordering::Relaxed));
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn workers_rethrow_the_payload_of_a_job_when_all_have_stopped() {
    for workers in [&Sequential as &dyn Workers, &Threads::new(3)] {
        let running = AtomicUsize::new(0);
        let payload = catch_unwind(AssertUnwindSafe(|| {
            workers.run(50, &|job| {
                running.fetch_add(1, Ordering::SeqCst);
                if job == 10 {
                    running.fetch_sub(1, Ordering::SeqCst);
                    panic!("job ten");
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }))
        .unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"job ten"));
        assert_eq!(running.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn f20_f23_a_leading_dimension_is_never_too_short_and_unit_strides_mean_nothing() {
    let order = |extents, strides| matrix(extents, strides).order();
    assert_eq!(order([3, 4], [1, 3]), Some((Order::ColumnMajor, 3)));
    assert_eq!(order([3, 4], [1, 5]), Some((Order::ColumnMajor, 5)));
    assert_eq!(order([3, 4], [4, 1]), Some((Order::RowMajor, 4)));
    assert_eq!(order([3, 4], [9, 1]), Some((Order::RowMajor, 9)));
    // One column, whatever its second stride says.
    assert_eq!(order([3, 1], [1, -7]), Some((Order::ColumnMajor, 3)));
    assert_eq!(order([3, 1], [1, 1]), Some((Order::ColumnMajor, 3)));
    // One row with holes is a row of a column-major matrix; a column with holes the same, transposed.
    assert_eq!(order([1, 3], [16_384, 2]), Some((Order::ColumnMajor, 2)));
    assert_eq!(order([3, 1], [2, 0]), Some((Order::RowMajor, 2)));
    assert_eq!(order([1, 1], [0, 0]), Some((Order::ColumnMajor, 1)));
    // No rows: nothing is read, but a leading dimension must still be valid.
    assert_eq!(order([0, 4], [1, 1]), Some((Order::ColumnMajor, 1)));
    // Backwards, broadcast, overlapping, and no axis in one piece.
    for strides in [[-1, 3], [1, -3], [0, 1], [1, 0], [1, 2], [2, 6]] {
        assert_eq!(order([3, 4], strides), None, "{strides:?}");
    }
}

#[test]
fn x22_exclusion_follows_from_who_owns_the_threads() {
    let mut capabilities = Capabilities::sequential([DType::F64]);
    let mut exclusion = |threads, reentrancy, width| {
        (capabilities.threads, capabilities.reentrancy) = (threads, reentrancy);
        capabilities.exclusion(width)
    };
    use Reentrancy::{Concurrent, Exclusive};
    use ThreadOwnership::{BoundedPerCall, Caller, PerThread, ProcessWide};
    for threads in [Caller, BoundedPerCall, PerThread, ProcessWide] {
        assert_eq!(exclusion(threads, Exclusive, 1), Exclusion::Free);
    }
    for threads in [Caller, BoundedPerCall, PerThread] {
        assert_eq!(exclusion(threads, Concurrent, 2), Exclusion::Free);
        assert_eq!(exclusion(threads, Exclusive, 2), Exclusion::Provider);
    }
    assert_eq!(exclusion(ProcessWide, Concurrent, 2), Exclusion::Process);
    assert_eq!(exclusion(ProcessWide, Exclusive, 2), Exclusion::Process);
}

#[test]
fn x40_sets_hold_what_was_put_in() {
    for &dtype in DType::ALL {
        let set: DTypes = [dtype].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [dtype]);
    }
    assert_eq!(DTypes::default().to_string(), "");
    for &routine in Routine::ALL {
        let set: Routines = [routine, routine].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [routine]);
    }
    assert_eq!(Routines::all().iter().collect::<Vec<_>>(), Routine::ALL);
    assert!(Capabilities::sequential([]).lapack.is_empty());
}
