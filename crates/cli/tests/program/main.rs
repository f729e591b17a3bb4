//! The program as its users meet it: the real binary, real files, real pipes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod array;
mod command;
mod doctor;
mod numpy;
mod outputs;
mod printing;
mod providers;
mod refusals;
mod running;
