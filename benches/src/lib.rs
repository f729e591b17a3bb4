//! Benchmark suites, limits and peers.
