//! The Rust types that elements can have. Arithmetic on them belongs to `ops`.

use std::fmt;

use bytemuck::NoUninit;

use crate::{DType, Factor};

pub(super) mod sealed {
    /// Keeps [`Scalar`](super::Scalar) to the types of the dtype table.
    pub trait Sealed {}
}

/// A Rust type of the dtype table.
///
/// Sealed: the table in `dtype.rs` implements it for all of its rows and nothing else.
pub trait Scalar:
    sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + NoUninit + Send + Sync + 'static
{
    /// The type of a complex number's components, and of `|x|`; other types are their own.
    type Real: Scalar;

    /// The type of complex numbers with components of this type; types that are no components are their own.
    type Complex: Scalar;

    /// The dtype of this type.
    const DTYPE: DType;

    /// One in this type; `true` for bool.
    const ONE: Self;

    /// A factor in this type; `None` if the type cannot hold it. Floats round, all else is exact.
    fn from_factor(factor: Factor) -> Option<Self>;
}
