//! The contract that BLAS-like providers keep, and the registry that finds them.
//!
//! A [`Provider`] computes a [`Product`], or what [`lapack`] has, with the [`Workers`] that the caller was granted; a [`Registry`] knows
//! providers by name and makes the [`Chain`] in which they are asked. This crate has no kernel, starts no thread (but
//! for a test) and loads no library; it says how those that do are talked to. With the feature of its name, `foreign` makes
//! providers of libraries in other languages, and `conformance` tells whether a provider listens.

#![deny(unsafe_code)]

mod capabilities;
mod chain;
pub mod choice;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod counting;
mod error;
#[cfg(feature = "foreign")]
#[allow(unsafe_code, reason = "it calls functions of other languages")]
pub mod foreign;
#[allow(unsafe_code, reason = "it copies elements of checked requests")]
mod gram;
mod group;
pub mod lapack;
mod matrix;
mod product;
mod provider;
mod registry;
#[allow(unsafe_code, reason = "it copies elements of checked requests")]
mod triangle;
mod workers;

pub use capabilities::{
    Capabilities, DTypes, Determinism, Exclusion, Fork, Layouts, Reentrancy, ThreadOwnership,
};
pub use chain::Chain;
pub use error::Error;
pub use matrix::{Matrix, Order};
pub use product::Product;
pub use provider::{Outcome, Provider, Reason};
pub use registry::{Preference, Registry, RegistryBuilder};
pub use triangle::Side;
pub use workers::{ClaimUse, Sequential, Workers};
