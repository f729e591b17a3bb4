//! The CPU backend: builder, execution scopes, sessions and diagnostics.
