//! The built-in providers: naive and native.
