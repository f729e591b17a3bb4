//! The tenferro program: contract NumPy files and explain this machine.
fn main() {}
