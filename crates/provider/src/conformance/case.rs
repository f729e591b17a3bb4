//! The products of the suite: shapes, placements, conjugation and factors.

use std::fmt;

use tenferro_tensor::{Conjugation, DType, Factor};

use super::{
    number::{Sample, random},
    placement::Placement,
};
use crate::{Capabilities, Layouts};

/// The extents of a product: `batch` times `[m, k]` by `[k, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// The extent that is summed over.
    pub k: usize,
    /// How many products.
    pub batch: usize,
}

impl Extents {
    /// Extents in this order.
    #[must_use]
    pub const fn new(m: usize, n: usize, k: usize, batch: usize) -> Self {
        Self { m, n, k, batch }
    }

    fn work(self) -> usize {
        self.m * self.n * self.k * self.batch
    }
}

/// One product of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The dtype of all operands.
    pub dtype: DType,
    /// The extents.
    pub extents: Extents,
    /// Where lhs, rhs and out lie.
    pub placements: [Placement; 3],
    /// Whether lhs and rhs are conjugated.
    pub conjugation: [Conjugation; 2],
    /// Alpha and beta. An operand with the factor 0 is full of NaN.
    pub factors: [Factor; 2],
}

impl Case {
    /// The plain product: column-major, nothing conjugated, alpha 1 and beta 0.
    pub(super) fn plain<T: Sample>(extents: Extents) -> Self {
        Self {
            dtype: T::DTYPE,
            extents,
            placements: [Placement::ColumnMajor; 3],
            conjugation: [Conjugation::Plain; 2],
            factors: [Factor::ONE, Factor::ZERO],
        }
    }

    /// A case whose parameters follow from `number`, so that many numbers meet many combinations.
    pub(super) fn drawn<T: Sample>(extents: Extents, number: usize) -> Self {
        let draw = |salt: u64, choices: usize| (random(salt, number) % choices as u64) as usize;
        let mut case = Self::plain::<T>(extents);
        case.placements = [
            Placement::INPUT[draw(1, Placement::INPUT.len())],
            Placement::INPUT[draw(2, Placement::INPUT.len())],
            Placement::OUTPUT[draw(3, Placement::OUTPUT.len())],
        ];
        case.conjugation = conjugations()[draw(4, 4)];
        case.factors = factors::<T>()[draw(5, 9)];
        case
    }

    /// Whether a provider with these capabilities must execute the case.
    pub(super) fn is_claimed(&self, capabilities: &Capabilities) -> bool {
        let conjugates =
            self.dtype.is_complex() && self.conjugation.contains(&Conjugation::Conjugated);
        capabilities.dtypes.contains(self.dtype)
            && (capabilities.conjugation || !conjugates)
            && (capabilities.batch || self.extents.batch <= 1)
            && (capabilities.layouts == Layouts::Any
                || self.placements.iter().all(|placement| placement.is_leading()))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Extents { m, n, k, batch } = self.extents;
        let [lhs, rhs, out] = self.placements;
        let [lhs_conjugation, rhs_conjugation] = self.conjugation;
        let [alpha, beta] = self.factors;
        write!(
            f,
            "{} m {m} n {n} k {k} batch {batch}, lhs {lhs:?} {lhs_conjugation:?}, \
             rhs {rhs:?} {rhs_conjugation:?}, out {out:?}, alpha {alpha:?}, beta {beta:?}",
            self.dtype
        )
    }
}

pub(super) fn conjugations() -> [[Conjugation; 2]; 4] {
    use Conjugation::{Conjugated, Plain};
    [[Plain, Plain], [Plain, Conjugated], [Conjugated, Plain], [Conjugated, Conjugated]]
}

pub(super) fn factors<T: Sample>() -> [[Factor; 2]; 9] {
    let (alpha, beta) = T::factors();
    let (zero, one) = (Factor::ZERO, Factor::ONE);
    [
        [one, zero],
        [one, one],
        [one, beta],
        [alpha, zero],
        [alpha, one],
        [alpha, beta],
        [zero, zero],
        [zero, one],
        [zero, beta],
    ]
}

/// Empty, unit and tiny shapes, and those of the field's reports: F22, F23 and F26.
pub(super) fn tiny() -> Vec<Extents> {
    let mut shapes = vec![
        Extents::new(0, 3, 2, 1),
        Extents::new(3, 0, 2, 2),
        Extents::new(3, 2, 0, 3),
        Extents::new(0, 0, 0, 1),
        Extents::new(2, 3, 4, 0),
        Extents::new(1, 3, 2048, 1),
        Extents::new(3, 1, 2048, 1),
        Extents::new(2, 2, 2, 2),
        Extents::new(32, 32, 32, 2),
    ];
    for m in [1, 2, 5] {
        for n in [1, 3, 4] {
            for k in [1, 2, 7] {
                shapes.push(Extents::new(m, n, k, 1 + (m + n + k) % 3));
            }
        }
    }
    shapes.extend((3..=17).map(|extent| Extents::new(extent, extent, extent, 1)));
    shapes
}

/// Shapes around the usual block sizes, and skinny ones.
pub(super) fn thresholds() -> Vec<Extents> {
    let mut shapes = vec![Extents::new(33, 33, 33, 1), Extents::new(64, 64, 16, 1)];
    for extent in [24, 31, 33, 48, 63, 64, 65, 72] {
        shapes.push(Extents::new(extent, 5, 9, 1));
        shapes.push(Extents::new(5, extent, 9, 1));
        shapes.push(Extents::new(5, 9, extent, 1));
    }
    shapes.extend([
        Extents::new(127, 5, 9, 1),
        Extents::new(128, 128, 4, 1),
        Extents::new(129, 130, 3, 1),
        Extents::new(4, 257, 16, 2),
        Extents::new(1, 513, 3, 1),
        Extents::new(700, 1, 5, 1),
        Extents::new(2, 3, 1025, 1),
        Extents::new(64, 4, 300, 1),
        Extents::new(100, 100, 1, 1),
        Extents::new(40, 1, 200, 3),
        Extents::new(1, 1, 4100, 1),
    ]);
    shapes
}

/// Products at the sizes where libraries go from one kernel to another: few, because each is tried several times.
pub(super) fn kernel_changes() -> Vec<Extents> {
    vec![
        Extents::new(64, 64, 64, 1),
        Extents::new(65, 33, 40, 1),
        Extents::new(1, 129, 130, 1),
        Extents::new(130, 1, 129, 1),
        Extents::new(1, 1, 300, 2),
    ]
}

/// Shapes that are worth more than one thread.
pub(super) fn wide() -> Vec<Extents> {
    vec![Extents::new(130, 66, 17, 1), Extents::new(24, 9, 12, 24)]
}

/// The plain case and some drawn ones for each shape.
pub(super) fn rotated<T: Sample>(shapes: &[Extents]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (position, &extents) in shapes.iter().enumerate() {
        let drawn = if extents.work() > 10_000 { 2 } else { 6 };
        cases.push(Case::plain::<T>(extents));
        cases.extend((0..drawn).map(|number| Case::drawn::<T>(extents, 100 * position + number)));
        let mut odd = Case::plain::<T>(extents);
        odd.placements = [Placement::OddUnits, Placement::OddUnitsRowMajor, Placement::OddUnits];
        cases.push(odd);
    }
    cases
}

/// Every pair of input placements, and every output placement with all factors and conjugations.
pub(super) fn crossed<T: Sample>() -> Vec<Case> {
    let mut cases = Vec::new();
    for extents in [Extents::new(5, 7, 9, 2), Extents::new(1, 6, 4, 3), Extents::new(18, 3, 1, 1)] {
        for lhs in Placement::INPUT {
            for rhs in Placement::INPUT {
                let mut case = Case::drawn::<T>(extents, cases.len());
                case.placements = [lhs, rhs, case.placements[2]];
                cases.push(case);
            }
        }
    }
    let conjugations = conjugations();
    for out in Placement::OUTPUT {
        for factors in factors::<T>() {
            for conjugation in &conjugations[..if T::DTYPE.is_complex() { 4 } else { 1 }] {
                let mut case = Case::plain::<T>(Extents::new(9, 5, 3, 2));
                case.placements[2] = out;
                case.conjugation = *conjugation;
                case.factors = factors;
                cases.push(case);
            }
        }
    }
    cases
}

/// A few products of a dtype that a provider does not claim.
pub(super) fn unclaimed<T: Sample>() -> Vec<Case> {
    [Extents::new(3, 4, 5, 1), Extents::new(2, 2, 2, 2), Extents::new(33, 17, 20, 1)]
        .map(Case::plain::<T>)
        .into()
}
