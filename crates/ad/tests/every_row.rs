//! Every row of the vocabulary at drawn points, some of which broadcast or have no elements: tangents against differences
//! and against the pullback, and the same of the directional derivative and of the gradient.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;

use common::{
    ad,
    calls::{
        Dice, ROWS,
        point::{FLAT, Point, WITHOUT},
    },
    parts,
};
use tenferro_ad::Variable;
use tenferro_ops::Builder;
use tenferro_tensor::{DType, Error, Result};

/// How many calls of each row are drawn.
const DRAWS: u64 = 150;

/// The result of a call that can be computed and has no element outside of the domain.
fn is_inside(f: &common::Function<'_>, point: &Point) -> bool {
    let inputs: Vec<Variable> = point.inputs.iter().map(|x| ad().constant(x.clone())).collect();
    f(&inputs).is_ok_and(|result| !parts(result.value()).iter().any(|part| part.is_nan()))
}

#[test]
fn f38_every_row_has_the_derivatives_of_differences_to_second_order() {
    let mut refused = BTreeSet::new();
    for (number, &row) in ROWS.iter().enumerate() {
        // Of which kinds, complex and of no elements, there were calls with a derivative, and some that could be checked.
        let (mut drawn, mut agreed) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..DRAWS {
            let mut dice = Dice(7_000_000 + 1000 * number as u64 + seed);
            let Some(point) = Point::draw(row, &mut dice) else { continue };
            let name = point.primitive.name();
            let moving = point.wanted.iter().any(|meta| meta.dtype.is_inexact());
            if !point.moves() || !moving || FLAT.contains(&name) {
                continue;
            }
            let f = |xs: &[Variable]| -> Result<Variable> {
                let inputs: Vec<&Variable> = xs.iter().collect();
                (&mut xs[0].autodiff()).emit(point.primitive.clone(), &inputs)
            };
            let is_empty = point.wanted.iter().any(|meta| meta.shape.elements() == 0);
            let kind = (point.result.dtype == DType::C64, is_empty);
            if !is_inside(&f, &point) {
                drawn.insert(kind);
                continue;
            }
            let what = format!("{:?} of {:?}", point.primitive, point.wanted);
            match common::checked(&what, &f, &point.inputs, seed) {
                Ok(()) => {
                    drawn.insert(kind);
                    agreed.insert(kind);
                }
                Err(Error::Unsupported { op, .. }) => _ = refused.insert(op),
                Err(error) => panic!("{what}: {error}"),
            }
        }
        assert_eq!(drawn, agreed, "a kind of call of {row:?} was never checked");
        for empty in [false, true] {
            let checked = agreed.iter().any(|&(_, is_empty)| is_empty == empty);
            assert!(checked || agreed.is_empty(), "{row:?}, without elements: {empty}");
        }
    }
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), WITHOUT);
}
