//! Operations, their shape and dtype rules, and the reference engine.
