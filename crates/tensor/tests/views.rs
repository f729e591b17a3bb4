//! Views against a naive oracle: the elements that an index-by-index copy of each step holds.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use std::collections::HashSet;

use proptest::{prelude::*, sample::Index};
use tenferro_tensor::{Error, Shape, Tensor, TensorView, TensorViewMut, Validation};

/// A dense copy that knows what each step means, index by index.
#[derive(Clone, Debug, PartialEq)]
struct Oracle {
    extents: Vec<usize>,
    elements: Vec<i64>,
}

impl Oracle {
    fn counting(extents: &[usize]) -> Self {
        let elements = extents.iter().product::<usize>() as i64;
        Self { extents: extents.to_vec(), elements: (0..elements).collect() }
    }

    fn get(&self, index: &[usize]) -> i64 {
        let strides = Shape::new(&self.extents).unwrap().column_major_strides();
        let at: isize = index.iter().zip(&strides).map(|(&at, &stride)| at as isize * stride).sum();
        self.elements[at as usize]
    }

    /// The oracle of other extents whose element at an index is this one's at `source(index)`.
    fn gathered(&self, extents: Vec<usize>, source: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let count = extents.iter().product();
        let mut index = vec![0; extents.len()];
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(self.get(&source(&index)));
            for (at, &extent) in index.iter_mut().zip(&extents) {
                *at = (*at + 1) % extent;
                if *at > 0 {
                    break;
                }
            }
        }
        Self { extents, elements }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Slice { axis: Index, start: isize, limit: isize, step: isize },
    Reverse { axis: Index },
    Permute { keys: Vec<u8> },
    Broadcast { leading: usize, stretched: usize },
    Diagonal { first: Index, second: Index },
    Reshape { first: Index },
    InsertAxis { axis: Index },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (any::<Index>(), -6..6_isize, -6..6_isize, prop::sample::select(vec![-3, -2, -1, 1, 2, 3]))
            .prop_map(|(axis, start, limit, step)| Step::Slice { axis, start, limit, step }),
        any::<Index>().prop_map(|axis| Step::Reverse { axis }),
        prop::collection::vec(any::<u8>(), 8).prop_map(|keys| Step::Permute { keys }),
        (0..2_usize, 0..3_usize)
            .prop_map(|(leading, stretched)| Step::Broadcast { leading, stretched }),
        (any::<Index>(), any::<Index>())
            .prop_map(|(first, second)| Step::Diagonal { first, second }),
        any::<Index>().prop_map(|first| Step::Reshape { first }),
        any::<Index>().prop_map(|axis| Step::InsertAxis { axis }),
    ];
    prop::collection::vec(step, 0..7)
}

/// The steps that readable and writable views share, done to a view and to its oracle.
macro_rules! apply {
    ($step:expr, $view:ident, $oracle:ident) => {{
        let extents = $oracle.extents.clone();
        let rank = extents.len();
        match $step {
            Step::Slice { axis, start, limit, step } if rank > 0 => {
                let axis = axis.index(rank);
                let extent = extents[axis] as isize;
                let cut = |bound: isize| {
                    (if bound < 0 { bound + extent } else { bound }).clamp(0, extent)
                };
                let mut picked: Vec<usize> =
                    (cut(*start)..cut(*limit)).map(|at| at as usize).collect();
                if *step < 0 {
                    picked.reverse();
                }
                let picked: Vec<usize> = picked.into_iter().step_by(step.unsigned_abs()).collect();
                let mut sliced = extents.clone();
                sliced[axis] = picked.len();
                $oracle = $oracle.gathered(sliced, |index| {
                    let mut index = index.to_vec();
                    index[axis] = picked[index[axis]];
                    index
                });
                $view = $view.slice(axis, *start..*limit, *step).unwrap();
            }
            Step::Reverse { axis } if rank > 0 => {
                let axis = axis.index(rank);
                $oracle = $oracle.gathered(extents.clone(), |index| {
                    let mut index = index.to_vec();
                    index[axis] = extents[axis] - 1 - index[axis];
                    index
                });
                $view = $view.reverse(axis).unwrap();
            }
            Step::Permute { keys } => {
                let mut permutation: Vec<usize> = (0..rank).collect();
                permutation.sort_by_key(|&axis| keys[axis % keys.len()]);
                let permuted = permutation.iter().map(|&axis| extents[axis]).collect();
                $oracle = $oracle.gathered(permuted, |index| {
                    let mut source = vec![0; rank];
                    for (&axis, &at) in permutation.iter().zip(index) {
                        source[axis] = at;
                    }
                    source
                });
                $view = $view.permute(&permutation).unwrap();
            }
            Step::Diagonal { first, second } if rank > 1 => {
                let (first, second) = (first.index(rank), second.index(rank));
                if first == second || extents[first] != extents[second] {
                    continue;
                }
                let mut kept = extents.clone();
                kept.remove(second);
                $oracle = $oracle.gathered(kept, |index| {
                    let along = index[if first > second { first - 1 } else { first }];
                    let mut index = index.to_vec();
                    index.insert(second, along);
                    index
                });
                $view = $view.diagonal(first, second).unwrap();
            }
            Step::Reshape { first } => {
                let elements = $oracle.elements.len();
                let divisors: Vec<usize> = (1..=elements).filter(|d| elements % d == 0).collect();
                let wanted = match divisors.is_empty() {
                    true => vec![0, 3],
                    false => {
                        let first = divisors[first.index(divisors.len())];
                        vec![first, 1, elements / first]
                    }
                };
                // Which reshapes need a copy is tested exhaustively on layouts.
                if $view.layout().reshaped(&wanted).is_err() {
                    continue;
                }
                $view = $view.reshape(&wanted).unwrap();
                $oracle.extents = wanted;
            }
            Step::InsertAxis { axis } if rank < 8 => {
                let axis = axis.index(rank + 1);
                $oracle.extents.insert(axis, 1);
                $view = $view.insert_axis(axis).unwrap();
            }
            _ => continue,
        }
    }};
}

fn stretch<'a>(
    view: TensorView<'a>,
    oracle: &Oracle,
    leading: usize,
    stretched: usize,
) -> (TensorView<'a>, Oracle) {
    let own = &oracle.extents;
    let tail = own.iter().map(|&extent| if extent == 1 { stretched } else { extent });
    let extents: Vec<usize> = std::iter::repeat_n(2, leading).chain(tail).collect();
    let gathered = oracle.gathered(extents.clone(), |index| {
        index[leading..].iter().zip(own).map(|(&at, &extent)| at.min(extent - 1)).collect()
    });
    (view.broadcast(&extents).unwrap(), gathered)
}

fn agrees(view: &TensorView<'_>, oracle: &Oracle) {
    assert_eq!(&view.shape()[..], &oracle.extents[..]);
    assert_eq!(view.to_vec_col_major::<i64>().unwrap(), oracle.elements);
    let copy = view.to_tensor().unwrap();
    assert_eq!(copy.as_slice::<i64>().unwrap(), oracle.elements);
    assert_eq!(copy.shape(), view.shape());
    let rank = oracle.extents.len();
    let reversed = oracle.gathered(oracle.extents.iter().rev().copied().collect(), |index| {
        (0..rank).map(|axis| index[rank - 1 - axis]).collect()
    });
    assert_eq!(view.to_vec_row_major::<i64>().unwrap(), reversed.elements);
    let beyond = vec![usize::MAX; rank];
    assert!(rank == 0 || view.get::<i64>(&beyond).is_err());
}

proptest! {
    // An interpreter such as Miri is a thousand times slower.
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 16 } else { 1000 }))]

    #[test]
    fn x53_any_chain_of_steps_reads_what_an_index_by_index_copy_holds(
        extents in prop::collection::vec(prop_oneof![8 => 1..5_usize, 1 => Just(0)], 0..4),
        steps in steps(),
    ) {
        let mut oracle = Oracle::counting(&extents);
        let base = Tensor::from_vec_col_major(extents, oracle.elements.clone()).unwrap();
        let mut view = base.view();
        let mut took_a_diagonal = false;
        for step in &steps {
            took_a_diagonal |= matches!(step, Step::Diagonal { .. });
            if let Step::Broadcast { leading, stretched } = step {
                if oracle.extents.len() < 6 && oracle.elements.len() < 1000 {
                    (view, oracle) = stretch(view, &oracle, *leading, *stretched);
                }
                continue;
            }
            apply!(step, view, oracle);
        }
        agrees(&view, &oracle);
        let distinct = oracle.elements.iter().collect::<HashSet<_>>().len();
        let shares = distinct < oracle.elements.len();
        if took_a_diagonal {
            prop_assert!(view.layout().overlaps() || !shares);
        } else {
            prop_assert_eq!(view.layout().overlaps(), shares, "{:?}", view.layout());
        }
    }

    #[test]
    fn x53_a_write_through_any_chain_of_steps_changes_those_elements_only(
        extents in prop::collection::vec(0..5_usize, 0..4),
        steps in steps(),
    ) {
        let start = Oracle::counting(&extents);
        let mut oracle = start.clone();
        let mut base = Tensor::from_vec_col_major(extents, oracle.elements.clone()).unwrap();
        let mut view = base.view_mut().unwrap();
        for step in &steps {
            apply!(step, view, oracle);
        }
        view.as_operand_mut().update(|element: i64| -1 - element);
        let written: Vec<i64> = oracle.elements.iter().map(|element| -1 - element).collect();
        prop_assert_eq!(view.view().to_vec_col_major::<i64>().unwrap(), written);
        let touched: HashSet<i64> = oracle.elements.into_iter().collect();
        prop_assert_eq!(touched.len(), view.shape().elements());
        let expected: Vec<i64> = start
            .elements
            .iter()
            .map(|&element| if touched.contains(&element) { -1 - element } else { element })
            .collect();
        prop_assert_eq!(base.as_slice::<i64>().unwrap(), expected);
    }
}

#[test]
fn a_copy_in_tiles_misses_no_edge() {
    let extents = [33, 3, 70];
    let oracle = Oracle::counting(&extents);
    let x = Tensor::from_vec_col_major(extents, oracle.elements.clone()).unwrap();
    for permutation in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let permuted = permutation.iter().map(|&axis| extents[axis]).collect();
        let expected = oracle.gathered(permuted, |index| {
            let mut source = vec![0; 3];
            for (&axis, &at) in permutation.iter().zip(index) {
                source[axis] = at;
            }
            source
        });
        agrees(&x.view().permute(&permutation).unwrap(), &expected);
    }
}

#[test]
fn x53_writing_through_a_view_whose_elements_share_memory_is_refused() {
    let mut data = [0_i32; 6];
    for (extents, strides) in [
        (&[2, 3][..], &[0, 1][..]),
        (&[3, 3], &[1, 1]),
        (&[2, 2], &[2, 2]),
        (&[2], &[0]),
        (&[3, 2], &[1, -2]),
    ] {
        let offset = if strides.contains(&-2) { 2 } else { 0 };
        let refused = TensorViewMut::from_slice(&mut data, extents, strides, offset).err().unwrap();
        assert!(
            matches!(refused.validation(), Some(Validation::OverlappingDestination { .. })),
            "{extents:?} {strides:?}: {refused}"
        );
        assert!(TensorView::from_slice(&data, extents, strides, offset).is_ok());
    }
}

#[test]
fn a_view_of_a_slice_cannot_leave_it() {
    let mut data = [1_u8, 2, 3, 4];
    for (extents, strides, offset) in [
        (&[5][..], &[1][..], 0),
        (&[2], &[4], 0),
        (&[2], &[-1], 0),
        (&[1], &[1], 4),
        (&[2, 2], &[2, 2], 0),
        (&[], &[], 4),
        (&[1], &[1], usize::MAX),
    ] {
        let out_of_bounds =
            |error: Error| matches!(error.validation(), Some(Validation::OutOfBounds { .. }));
        assert!(out_of_bounds(
            TensorView::from_slice(&data, extents, strides, offset).err().unwrap()
        ));
        let mutable = TensorViewMut::from_slice(&mut data, extents, strides, offset);
        assert!(out_of_bounds(mutable.err().unwrap()));
    }
    let far = TensorView::from_slice(&data, &[3, 3], &[isize::MAX, isize::MIN], 0).err().unwrap();
    assert!(matches!(far.validation(), Some(Validation::SizeOverflow { .. })));
    let empty = TensorView::from_slice(&data, &[0, 9], &[isize::MAX, isize::MIN], 77).unwrap();
    let empty = empty.reverse(1).unwrap().slice(1, 5.., 2).unwrap();
    assert_eq!(empty.to_vec_col_major::<u8>().unwrap(), []);
    let none: &[f64] = &[];
    assert_eq!(TensorView::from_slice(none, &[0], &[1], 0).unwrap().shape().elements(), 0);
}

#[test]
fn slices_read_bounds_as_python_does() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let x = Tensor::from_vec_col_major([5], vec![0_i8, 1, 2, 3, 4]).unwrap();
    let picks =
        |bounds, step| x.view().slice(0, bounds, step).unwrap().to_vec_col_major::<i8>().unwrap();
    assert_eq!(picks((Included(1), Excluded(4)), 1), [1, 2, 3]);
    assert_eq!(picks((Included(-2), Unbounded), 1), [3, 4]);
    assert_eq!(picks((Unbounded, Excluded(-1)), 2), [0, 2]);
    assert_eq!(picks((Unbounded, Included(-1)), 1), [0, 1, 2, 3, 4]);
    assert_eq!(picks((Unbounded, Included(-9)), 1), [0; 0]);
    assert_eq!(picks((Excluded(-9), Unbounded), 1), [0, 1, 2, 3, 4]);
    assert_eq!(picks((Excluded(isize::MAX), Included(isize::MAX)), 1), [0; 0]);
    assert_eq!(picks((Included(isize::MIN), Excluded(99)), isize::MAX), [0]);
    assert_eq!(picks((Unbounded, Unbounded), -2), [4, 2, 0]);
    assert_eq!(picks((Included(3), Excluded(1)), -1), [0; 0]);
    assert_eq!(picks((Unbounded, Unbounded), isize::MIN), [4]);
    assert!(x.view().slice(0, .., 0).is_err());
}

#[test]
fn an_empty_view_keeps_its_pointer_in_the_data() {
    let x = Tensor::zeros(tenferro_tensor::DType::F64, [0, 5]).unwrap();
    let start = x.as_slice::<f64>().unwrap().as_ptr().addr();
    let view = x.view().slice(1, 3.., 1).unwrap().reverse(1).unwrap();
    assert_eq!(view.elements::<f64>().unwrap().len(), 0);
    assert_eq!(tenferro_tensor::AsOperand::as_operand(&view).data().addr().get(), start);
}
