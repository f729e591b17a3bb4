//! What the machine can do: the limits that our code is measured against.
//!
//! Plain loops, copies, chains of fused multiply-adds, and raw matrix kernels on plain threads,
//! compiled with the flags of everything else. No Tenferro crate is used here, and no function is
//! inlined into its caller: a limit is one call, as an operation of ours is.

mod chains;
mod library;
mod loops;
mod raw;
mod threads;

pub use chains::{Peak, fma_f32, fma_f64};
pub use library::{Library, LibraryError};
pub use loops::{
    add_fresh, add_into, add_repeatedly, any_bit, copy, cross_entropy, cross_entropy_gradient,
    empty_call, exchange_twice, fill, map_into, muladd_into, sum, sum_of_squares, tanh_layer,
    triad, zip_into,
};
pub use raw::{Element, Kernel, Matrices};
pub use threads::on_threads;
