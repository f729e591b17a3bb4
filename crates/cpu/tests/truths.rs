//! Any and all of truth values: the one element that decides is seen wherever it lies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Widths, backend, same};
use tenferro_ops::reference::Reference;
use tenferro_tensor::{KeepAxes, Tensor, TensorReduction};

const DROP: KeepAxes = KeepAxes::Drop;

/// Truth values that are all alike, but for those at some places.
fn all_but(extents: &[usize], places: &[usize], usual: bool) -> Tensor {
    let mut elements = vec![usual; extents.iter().product()];
    for &place in places {
        elements[place] = !usual;
    }
    Tensor::from_vec_col_major(extents, elements).unwrap()
}

/// Asks both questions along an axis, dense and from a view that runs the other way.
fn check(extents: &[usize], places: &[usize], axis: usize) {
    let mut operations = backend(1);
    for usual in [false, true] {
        let x = all_but(extents, places, usual);
        for view in [x.view(), x.view().reverse(1).unwrap(), x.view().reverse(0).unwrap()] {
            let any = Reference.any(&view, [axis], DROP).unwrap();
            let all = Reference.all(&view, [axis], DROP).unwrap();
            let found = [
                operations.any(&view, [axis], DROP).unwrap(),
                operations.all(&view, [axis], DROP).unwrap(),
            ];
            assert!(same(&any, &found[0]), "any of {extents:?} but {places:?}, axis {axis}");
            assert!(same(&all, &found[1]), "all of {extents:?} but {places:?}, axis {axis}");
        }
    }
}

#[test]
fn one_element_decides_a_run_wherever_it_is() {
    for length in (1..40).chain([63, 64, 255, 256, 257, 300]) {
        for place in 0..length {
            check(&[length, 11], &[3 * length + place], 0);
        }
    }
    for length in [4095, 4096, 4097, 4130, 8191, 8192] {
        for place in [0, 255, 256, 4063, 4064, 4094, length - 33, length - 1] {
            check(&[length, 3], &[length + place], 0);
        }
    }
}

#[test]
fn one_element_decides_a_short_run_and_no_other() {
    for length in 7..=33 {
        for count in [7, 8, 9, 16, 65] {
            for run in [0, 1, 2, 5, 6, count / 2, count - 1] {
                for place in [0, length / 2, length - 1] {
                    check(&[length, count], &[run * length + place], 0);
                }
            }
        }
    }
}

#[test]
fn one_element_decides_a_result_of_rows_and_no_other() {
    for row in [2, 3, 8, 10, 12, 16, 17, 48, 64, 127, 129, 1000] {
        for count in [1, 7, 8, 17, 64, 131] {
            for place in [0, row / 2, row - 1] {
                check(&[row, count], &[place, (count - 1) * row + place / 2], 1);
            }
        }
    }
}

#[test]
fn runs_that_do_not_continue_each_other_are_one_result() {
    let x = all_but(&[50, 6, 4], &[50 * 6 * 3 - 1, 50 * 6 * 2], false);
    let expected = Reference.any(&x, [0, 2], DROP).unwrap();
    assert!(same(&expected, &backend(1).any(&x, [0, 2], DROP).unwrap()));
}

#[test]
fn x50_truths_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    for extents in [[1000, 1500], [10, 150_000], [150_000, 10]] {
        let x = all_but(&extents, &[0, 77_777, 1_499_999], false);
        for axis in [0, 1] {
            widths.agree("any", |b| b.any(&x, [axis], DROP));
            let expected = Reference.any(&x, [axis], DROP).unwrap();
            assert!(same(&expected, &backend(2).any(&x, [axis], DROP).unwrap()));
        }
    }
}
