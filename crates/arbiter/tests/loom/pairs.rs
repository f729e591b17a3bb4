//! Two threads, every interleaving.

use super::bodies::{
    adaptive, adaptive_twice, cancelled, claiming, idle_scope, once, pinned, scope, trying, twice,
    unbounded, wide, wide_scope,
};
use super::check;

#[test]
fn x28_two_threads_exclude_each_other_on_one_cpu() {
    check(1, None, &[twice, once]);
}

#[test]
fn x28_two_threads_conserve_the_width() {
    check(2, None, &[adaptive_twice, adaptive]);
}

#[test]
fn x28_a_wide_request_is_woken_by_narrow_releases() {
    check(2, None, &[twice, wide]);
}

#[test]
fn x28_a_lent_cpu_is_taken_and_taken_back() {
    check(1, None, &[scope, once]);
}

#[test]
fn x28_two_scopes_share_one_cpu() {
    check(1, None, &[scope, scope]);
}

#[test]
fn x28_a_wide_scope_lends_and_resumes() {
    check(2, None, &[wide_scope, adaptive]);
}

#[test]
fn x28_a_cancelled_waiter_leaves_no_trace() {
    check(1, None, &[cancelled, twice]);
}

#[test]
fn x28_a_try_never_blocks_others() {
    check(1, None, &[trying, twice]);
}

#[test]
fn x28_an_unbounded_provider_excludes_scopes() {
    check(1, None, &[scope, unbounded]);
}

#[test]
fn x28_a_provider_has_one_user() {
    check(2, None, &[claiming, claiming]);
}

#[test]
fn x28_a_pinned_cpu_has_one_user() {
    check(2, None, &[pinned, pinned]);
}

#[test]
fn x28_an_idle_scope_that_ends_gives_back_what_is_left() {
    check(1, None, &[idle_scope, twice]);
}
