//! Three threads, every interleaving within a number of preemptions.

use super::bodies::{adaptive, once, scope, unbounded, wide, wide_cancelled};
use super::check;

#[test]
fn x28_three_threads_exclude_each_other_on_one_cpu() {
    check(1, Some(3), &[once, once, once]);
}

#[test]
fn x28_three_threads_with_a_wide_request() {
    check(2, Some(3), &[wide, once, scope]);
}

#[test]
fn x28_three_threads_with_a_cancelled_wide_request() {
    check(2, Some(3), &[wide_cancelled, once, once]);
}

#[test]
fn x28_three_threads_adapt_their_widths() {
    check(2, Some(2), &[adaptive, once, adaptive]);
}

#[test]
fn x28_three_threads_with_an_unbounded_provider() {
    check(2, Some(2), &[unbounded, once, scope]);
}
