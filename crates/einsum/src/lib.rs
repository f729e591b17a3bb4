//! Einstein summation over any engine.
