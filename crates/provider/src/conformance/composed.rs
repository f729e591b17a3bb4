//! Products that a chain composes of others: groups, those with a triangle, and those of a matrix with its own transpose.
//!
//! What they are made of is a provider's; so is the answer, which is compared with the oracle like any other product's.

use tenferro_tensor::dispatch;

use super::{
    Defect, Extents, Failure, Placement, Threads,
    case::{Case, conjugations, factors},
    check::{Operands, caught, compare, oracle, product},
    number::Sample,
    placement::Placed,
};
use crate::{Chain, Side, lapack::Triangle};

/// Tries what `chain` composes of its first provider's products, in each dtype that this one has, and says how many products
/// were right. The chain should end with a provider that does every product.
///
/// # Errors
/// The first [`Failure`] found.
pub fn composed(chain: &Chain) -> Result<usize, Failure> {
    let Some(provider) = chain.first() else { return Ok(0) };
    let mut right = 0;
    for dtype in provider.capabilities().dtypes.iter() {
        let cases = dispatch!(dtype, number T => cases::<T>(chain), else Ok(0));
        right += cases.map_err(|(case, defect)| Failure {
            provider: provider.name().to_owned(),
            case,
            defect: Box::new(defect),
        })?;
    }
    Ok(right)
}

type Verdict = Result<(), (String, Defect)>;

fn cases<T: Sample>(chain: &Chain) -> Result<usize, (String, Defect)> {
    let mut right = 0;
    let mut note = |verdict: Verdict| verdict.map(|()| right += 1);
    // Longer than a block on the diagonal, shorter, not square, and with nothing in it.
    let shapes = [(7, 5, 6, 2), (100, 110, 9, 1), (101, 9, 100, 2), (9, 102, 99, 1), (3, 4, 0, 1)];
    for (number, (m, n, k, batch)) in shapes.into_iter().enumerate() {
        for side in [Side::Lhs, Side::Rhs, Side::Out] {
            for triangle in [Triangle::Lower, Triangle::Upper] {
                for round in 0..2 {
                    let case = Case::drawn::<T>(Extents::new(m, n, k, batch), 10 * number + round);
                    note(triangular::<T>(chain, &case, side, triangle))?;
                }
            }
        }
    }
    for number in 0..if T::DTYPE.is_complex() { 4 } else { 1 } {
        note(gram::<T>(chain, number))?;
    }
    note(group::<T>(chain))?;
    Ok(right)
}

/// Whether an element is in the triangle.
fn counts(triangle: Triangle, row: usize, col: usize) -> bool {
    match triangle {
        Triangle::Lower => row >= col,
        Triangle::Upper => row <= col,
    }
}

/// Gives the elements outside of the triangle this value.
fn fill<T: Sample>(matrix: &mut Placed<T>, triangle: Triangle, value: T) {
    let [rows, cols, _] = matrix.extents;
    for (number, at) in matrix.offsets().into_iter().enumerate() {
        if !counts(triangle, number % rows, number / rows % cols) {
            matrix.elements[at] = value;
        }
    }
}

fn triangular<T: Sample>(chain: &Chain, case: &Case, side: Side, triangle: Triangle) -> Verdict {
    let named = |defect| (format!("{triangle:?} triangle of {side:?}, {case}"), defect);
    let mut case = *case;
    // A matrix that repeats elements has no triangle of its own.
    let at = side as usize;
    if !Placement::OUTPUT.contains(&case.placements[at]) {
        case.placements[at] = Placement::RowSubmatrix;
    }
    for width in [1, 2] {
        let mut operands = Operands::<T>::new(&case);
        if side == Side::Out {
            // Numbers that must stay, also where nothing was written before.
            fill(&mut operands.out, triangle, T::ONE);
        }
        let before = operands.out.clone();
        let mut seen = [operands.lhs.clone(), operands.rhs.clone()];
        if side != Side::Out {
            fill(&mut seen[at], triangle, T::default());
            let matrix = if side == Side::Lhs { &mut operands.lhs } else { &mut operands.rhs };
            fill(matrix, triangle, T::poison());
        }
        let workers = Threads::new(width);
        operands
            .run(&case, |product| chain.triangular(product, side, triangle, &workers))
            .map_err(named)?;
        let mut expected = oracle(&case, &seen[0], &seen[1], &before);
        if side == Side::Out {
            let (m, n) = (case.extents.m, case.extents.n);
            for (number, (expected, old)) in expected.iter_mut().zip(before.dense()).enumerate() {
                if !counts(triangle, number % m, number / m % n) {
                    (expected.value, expected.magnitude) = (old.exact(), 0.0);
                }
            }
        }
        compare(&case, &operands.out, &before, expected).map_err(named)?;
    }
    Ok(())
}

/// A matrix times its own transpose, in sizes where half of it is computed.
fn gram<T: Sample>(chain: &Chain, number: usize) -> Verdict {
    let mut case = Case::plain::<T>(Extents::new(257, 257, 64, 1));
    case.placements[0] = [Placement::ColumnMajor, Placement::RowSubmatrix][number / 2];
    case.placements[2] = [Placement::RowMajor, Placement::Submatrix][number % 2];
    case.conjugation = conjugations()[number];
    case.factors = factors::<T>()[[0, 3, 0, 3][number]];
    let named = |defect| (format!("with its own transpose, {case}"), defect);
    let mut operands = Operands::<T>::new(&case);
    let before = operands.out.clone();
    // The right operand is the left one's transpose, element by element.
    let lhs = operands.lhs.dense();
    let (m, k) = (case.extents.m, case.extents.k);
    let turned = Placed::new(
        Placement::ColumnMajor,
        [k, m, 1],
        |_| T::poison(),
        |number| lhs[number / k + m * (number % k)],
    );
    let (view, _, mut out) = operands.views();
    let transposed = view.clone().permute(&[1, 0, 2]).expect("invariant: these are its axes");
    let mut product = product(&case, &view, &transposed, &mut out);
    caught(|| chain.execute(&mut product, &Threads::new(1 + number % 2)))
        .and_then(|done| done.map_err(Defect::Failed))
        .map_err(named)?;
    let expected = oracle(&case, &operands.lhs, &turned, &before);
    compare(&case, &operands.out, &before, expected).map_err(named)
}

/// Products of several shapes at once, of which one is much larger than the others.
fn group<T: Sample>(chain: &Chain) -> Verdict {
    let shapes = [(60, 50, 40, 1), (5, 3, 2, 2), (0, 3, 2, 1), (130, 140, 100, 1), (64, 64, 64, 1)];
    let cases: Vec<_> = shapes
        .into_iter()
        .chain(std::iter::repeat_n((40, 30, 50, 1), 20))
        .enumerate()
        .map(|(number, (m, n, k, batch))| Case::drawn::<T>(Extents::new(m, n, k, batch), number))
        .collect();
    let mut operands: Vec<_> = cases.iter().map(Operands::<T>::new).collect();
    let before: Vec<_> = operands.iter().map(|one| one.out.clone()).collect();
    let mut views: Vec<_> = operands.iter_mut().map(Operands::views).collect();
    let mut products: Vec<_> = views
        .iter_mut()
        .zip(&cases)
        .map(|((lhs, rhs, out), case)| product(case, lhs, rhs, out))
        .collect();
    let named = |defect| (format!("a group of {} in {}", cases.len(), T::DTYPE), defect);
    caught(|| chain.group(&mut products, &Threads::new(2)))
        .and_then(|done| done.map_err(Defect::Failed))
        .map_err(named)?;
    drop(products);
    drop(views);
    for ((one, case), before) in operands.iter().zip(&cases).zip(&before) {
        one.compare(case, before).map_err(|defect| (format!("in a group: {case}"), defect))?;
    }
    Ok(())
}
