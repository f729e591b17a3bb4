//! Tensors on CPUs whose threads are arbitrated: the crate to add.
