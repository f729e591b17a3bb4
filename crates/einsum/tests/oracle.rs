//! Random contractions against a loop over all assignments of indices.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use tenferro_cpu::CpuBackend;
use tenferro_einsum::{Path, einsum};
use tenferro_ops::{Engine, reference::Reference};
use tenferro_tensor::{AsOperand, Operand, Scalar, Tensor, TensorView};

/// The einsum of row-major operands without ellipsis, by a loop over all assignments of extents to labels.
fn brute_force<T: Scalar>(
    subscripts: &str,
    operands: &[Tensor],
    add: impl Fn(T, T) -> T,
    multiply: impl Fn(T, T) -> T,
) -> (Vec<usize>, Vec<T>) {
    let (inputs, output) = subscripts.split_once("->").unwrap();
    let inputs: Vec<Vec<char>> = inputs.split(',').map(|term| term.chars().collect()).collect();
    let output: Vec<char> = output.chars().collect();
    let mut extents = BTreeMap::new();
    for (term, operand) in inputs.iter().zip(operands) {
        extents.extend(term.iter().copied().zip(operand.shape().iter().copied()));
    }
    let labels: Vec<char> = extents.keys().copied().collect();
    let shape: Vec<usize> = output.iter().map(|label| extents[label]).collect();
    let mut result = vec![T::default(); shape.iter().product()];
    let total: usize = extents.values().product();
    for assignment in 0..total {
        let mut rest = assignment;
        let mut at = BTreeMap::new();
        for &label in &labels {
            at.insert(label, rest % extents[&label]);
            rest /= extents[&label];
        }
        let product = inputs.iter().zip(operands).fold(T::ONE, |product, (term, operand)| {
            let index: Vec<usize> = term.iter().map(|label| at[label]).collect();
            multiply(product, operand.get::<T>(&index).unwrap())
        });
        let place = output.iter().fold(0, |place, label| place * extents[label] + at[label]);
        result[place] = add(result[place], product);
    }
    (shape, result)
}

/// One operand: labels as positions in `LABELS`, and where its ellipsis stands, if it has one.
#[derive(Clone, Debug)]
struct Term {
    labels: Vec<usize>,
    ellipsis: Option<Ellipsis>,
}

/// An ellipsis before label `before`, for the last `stretched.len()` joint axes, some of them of extent 1.
#[derive(Clone, Debug)]
struct Ellipsis {
    before: usize,
    stretched: Vec<bool>,
}

#[derive(Clone, Debug)]
struct Case {
    terms: Vec<Term>,
    extents: Vec<usize>,
    joint: [usize; 2],
    /// Picks of the output among the labels that operands have, repeats included.
    picks: Vec<usize>,
    ellipsis_at: usize,
    path: Vec<(usize, usize)>,
    seed: i64,
    row_major: bool,
}

const LABELS: [char; 4] = ['a', 'β', 'c', '7'];
const JOINT: [char; 2] = ['Y', 'Z'];

fn term() -> impl Strategy<Value = Term> {
    let ellipsis = (0_usize..4, prop::collection::vec(any::<bool>(), 0..=2))
        .prop_map(|(before, stretched)| Ellipsis { before, stretched });
    (prop::collection::vec(0_usize..4, 0..=3), prop::option::weighted(0.4, ellipsis)).prop_map(
        |(labels, mut ellipsis)| {
            if let Some(ellipsis) = &mut ellipsis {
                ellipsis.before = ellipsis.before.min(labels.len());
            }
            Term { labels, ellipsis }
        },
    )
}

fn extent() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0_usize), 3 => Just(1), 8 => Just(2), 6 => Just(3)]
}

fn case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(term(), 1..=3),
        prop::collection::vec(extent(), 4),
        [extent(), extent()],
        prop::collection::vec(any::<prop::sample::Index>(), 0..=4),
        any::<prop::sample::Index>(),
        [(0_usize..3, 0_usize..2), (0_usize..2, 0_usize..1)],
        any::<i64>(),
        any::<bool>(),
    )
        .prop_map(|(terms, extents, joint, picks, ellipsis_at, steps, seed, row_major)| {
            let mut present: Vec<usize> =
                terms.iter().flat_map(|term| term.labels.iter().copied()).collect();
            present.sort_unstable();
            present.dedup();
            let picks: Vec<usize> = if present.is_empty() {
                Vec::new()
            } else {
                picks.iter().map(|pick| *pick.get(&present)).collect()
            };
            let path = (1..terms.len())
                .map(|step| {
                    let length = terms.len() - step + 1;
                    let (first, other) = steps[step - 1];
                    let first = first % length;
                    (first, (first + 1 + other % (length - 1)) % length)
                })
                .collect();
            let ellipsis_at = ellipsis_at.index(picks.len() + 1);
            Case { terms, extents, joint, picks, ellipsis_at, path, seed, row_major }
        })
}

impl Case {
    /// The joint axes of all ellipses, as positions in `JOINT`.
    fn joint_axes(&self) -> std::ops::Range<usize> {
        let width = self.terms.iter().filter_map(|term| term.ellipsis.as_ref());
        2 - width.map(|ellipsis| ellipsis.stretched.len()).max().unwrap_or(0)..2
    }

    /// The extent of a joint axis: 1 unless some operand has it in full.
    fn joint_extent(&self, axis: usize) -> usize {
        let full = self.terms.iter().filter_map(|term| term.ellipsis.as_ref()).any(|ellipsis| {
            let first = 2 - ellipsis.stretched.len();
            axis >= first && !ellipsis.stretched[axis - first]
        });
        if full { self.joint[axis] } else { 1 }
    }

    /// A term as einsum reads it with the extents of its axes, and as the oracle does without stretched axes.
    fn term(&self, term: &Term) -> (String, Vec<usize>, String, Vec<usize>) {
        let mut made = (String::new(), Vec::new(), String::new(), Vec::new());
        for place in 0..=term.labels.len() {
            if let Some(ellipsis) = term.ellipsis.as_ref().filter(|e| e.before == place) {
                made.0 += "...";
                let first = 2 - ellipsis.stretched.len();
                for (axis, &stretched) in (first..2).zip(&ellipsis.stretched) {
                    made.1.push(if stretched { 1 } else { self.joint[axis] });
                    if !stretched {
                        made.2.push(JOINT[axis]);
                        made.3.push(self.joint[axis]);
                    }
                }
            }
            if let Some(&label) = term.labels.get(place) {
                made.0.push(LABELS[label]);
                made.1.push(self.extents[label]);
                made.2.push(LABELS[label]);
                made.3.push(self.extents[label]);
            }
        }
        made
    }

    /// The output as einsum reads it, and as the oracle does: without an ellipsis, and each label once.
    fn output(&self) -> (String, String) {
        let mut made = (String::new(), String::new());
        for place in 0..=self.picks.len() {
            if place == self.ellipsis_at && self.terms.iter().any(|term| term.ellipsis.is_some()) {
                made.0 += "...";
                made.1.extend(self.joint_axes().map(|axis| JOINT[axis]));
            }
            if let Some(&label) = self.picks.get(place) {
                made.0.push(LABELS[label]);
                made.1.push(LABELS[label]);
            }
        }
        made
    }
}

/// Small whole numbers, so that f64 is exact.
fn elements(seed: i64, operand: usize, count: usize) -> Vec<i64> {
    let mut state = seed.wrapping_add(operand as i64).unsigned_abs() | 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as i64 % 5 - 2
    };
    (0..count).map(|_| next()).collect()
}

/// Puts a result over distinct labels on the diagonals of a result over repeated ones.
fn embedded(distinct: &str, extents: &[usize], values: &[i64], output: &str) -> Vec<i64> {
    let labels: Vec<char> = distinct.chars().collect();
    let places: Vec<usize> =
        output.chars().map(|c| labels.iter().position(|&label| label == c).unwrap()).collect();
    let shape: Vec<usize> = places.iter().map(|&place| extents[place]).collect();
    (0..shape.iter().product::<usize>())
        .map(|flat| {
            let mut rest = flat;
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let mut at = vec![None; labels.len()];
            for (&place, &i) in places.iter().zip(&index) {
                if *at[place].get_or_insert(i) != i {
                    return 0;
                }
            }
            values[at.iter().zip(extents).fold(0, |flat, (i, extent)| flat * extent + i.unwrap())]
        })
        .collect()
}

fn check(engine: &mut dyn Engine, case: &Case) -> Result<(), TestCaseError> {
    let mut subscripts = Vec::new();
    let mut oracle_terms = Vec::new();
    let (mut operands, mut oracle) = (Vec::new(), Vec::new());
    for (position, term) in case.terms.iter().enumerate() {
        let (text, shape, oracle_text, oracle_shape) = case.term(term);
        let data = elements(case.seed, position, shape.iter().product());
        operands.push((shape, data.clone()));
        oracle.push(Tensor::from_vec_row_major(oracle_shape, data).unwrap());
        subscripts.push(text);
        oracle_terms.push(oracle_text);
    }
    // A last operand of ones gives every joint axis a label in the oracle.
    let joint: Vec<usize> = case.joint_axes().map(|axis| case.joint_extent(axis)).collect();
    oracle_terms.push(case.joint_axes().map(|axis| JOINT[axis]).collect());
    oracle.push(Tensor::full(joint, 1_i64).unwrap());

    let (output, oracle_output) = case.output();
    let mut distinct = String::new();
    oracle_output.chars().for_each(|c| {
        if !distinct.contains(c) {
            distinct.push(c);
        }
    });
    let (extents, values) = brute_force::<i64>(
        &format!("{}->{distinct}", oracle_terms.join(",")),
        &oracle,
        |a, b| a + b,
        |a, b| a * b,
    );
    let expected = embedded(&distinct, &extents, &values, &oracle_output);

    let subscripts = format!("{}->{output}", subscripts.join(","));
    let integers = run(engine, case, &subscripts, &operands, |value| value);
    prop_assert_eq!(&integers.to_vec_row_major::<i64>().unwrap(), &expected, "{}", &subscripts);
    let floats = run(engine, case, &subscripts, &operands, |value| value as f64);
    let expected: Vec<f64> = expected.iter().map(|&value| value as f64).collect();
    prop_assert_eq!(&floats.to_vec_row_major::<f64>().unwrap(), &expected, "{}", &subscripts);
    Ok(())
}

fn run<T: Scalar>(
    engine: &mut dyn Engine,
    case: &Case,
    subscripts: &str,
    operands: &[(Vec<usize>, Vec<i64>)],
    convert: impl Fn(i64) -> T,
) -> Tensor {
    let data: Vec<Vec<T>> = operands
        .iter()
        .map(|(_, data)| data.iter().map(|&value| convert(value)).collect())
        .collect();
    let dense: Vec<Tensor> = operands
        .iter()
        .zip(&data)
        .map(|((shape, _), data)| Tensor::from_vec_row_major(shape.clone(), data.clone()).unwrap())
        .collect();
    let views: Vec<TensorView<'_>> = operands
        .iter()
        .zip(&data)
        .zip(&dense)
        .map(|(((shape, _), data), dense)| {
            if !case.row_major {
                return dense.view();
            }
            let reversed: Vec<usize> = shape.iter().rev().copied().collect();
            let mut strides = vec![1_isize; reversed.len()];
            for axis in 1..reversed.len() {
                strides[axis] = strides[axis - 1] * reversed[axis - 1] as isize;
            }
            TensorView::from_slice(data, &reversed, &strides, 0).unwrap().transpose()
        })
        .collect();
    let operands: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
    einsum(engine, subscripts, &operands, &Path::Pairs(case.path.clone()))
        .unwrap_or_else(|error| panic!("{subscripts}: {error}"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn einsum_on_the_reference_equals_the_loop_over_all_indices(case in case()) {
        check(&mut Reference, &case)?;
    }

    #[test]
    fn einsum_on_a_backend_equals_the_loop_over_all_indices(case in case()) {
        thread_local! {
            static BACKEND: CpuBackend = CpuBackend::with_threads(2).unwrap();
        }
        check(&mut BACKEND.with(CpuBackend::clone), &case)?;
    }
}
