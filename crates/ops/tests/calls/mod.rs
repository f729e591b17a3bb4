//! A call of every row of the vocabulary, drawn by dice: the primitive and what its operands are like.
//!
//! The list of rows and the calls of rows whose operands broadcast are generated from the table. A row of another
//! family has an arm of an exhaustive match, so that a new row does not compile before it has a sample.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(unreachable_pub, reason = "a module of several test binaries")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dice;
mod gathering;
mod moving;
pub mod parts;
pub mod point;
mod sliding;

pub use dice::Dice;
#[allow(unused_imports, reason = "each test binary uses a part")]
pub use moving::contraction;
use tenferro_tensor::{
    Combiner, Comparison, DType, Indices, KeepAxes, Primitive, Ties, vocabulary,
};

/// A primitive and its operands. Parameters need not be valid.
pub struct Call {
    pub primitive: Primitive,
    pub operands: Vec<Wanted>,
}

/// What an operand is like.
pub struct Wanted {
    pub extents: Vec<usize>,
    /// Its dtype, if it is not that of the call.
    pub dtype: Option<DType>,
    /// If its elements are indices, what they are mostly below.
    pub below: Option<usize>,
}

impl Call {
    fn new(primitive: impl Into<Primitive>, shapes: Vec<Vec<usize>>) -> Self {
        let wanted = |extents| Wanted { extents, dtype: None, below: None };
        let operands = shapes.into_iter().map(wanted).collect();
        Self { primitive: primitive.into(), operands }
    }
}

macro_rules! rows {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        $(
            #[allow(non_snake_case, reason = "named as the family is")]
            pub mod $family {
                #[doc = $about]
                #[derive(Clone, Copy, Debug, PartialEq, Eq)]
                pub enum Row { $($variant,)* }
            }
        )*

        /// A row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Row { $($family($family::Row),)* }

        /// Every row of the table.
        pub const ROWS: &[Row] = &[$($(Row::$family($family::Row::$variant),)*)*];

        $(rows!(@broadcasting $family { $($variant [$($($param: $ty),+)?];)* });)*
    };
    (@broadcasting Elementwise $rows:tt) => { rows!(@primitive elementwise Elementwise $rows); };
    (@broadcasting Analytic $rows:tt) => { rows!(@primitive analytic Analytic $rows); };
    (@broadcasting $other:ident $rows:tt) => {};
    (@primitive $name:ident $family:ident { $($variant:ident [$($param:ident: $ty:ty),*];)* }) => {
        #[allow(unused_variables, reason = "no row may have parameters")]
        fn $name(row: $family::Row, dice: &mut Dice) -> Primitive {
            match row {
                $($family::Row::$variant => {
                    tenferro_tensor::$family::$variant { $($param: <$ty as Sample>::sample(dice)),* }.into()
                })*
            }
        }
    };
}

vocabulary!(rows);

/// A parameter that does not depend on shapes.
trait Sample {
    fn sample(dice: &mut Dice) -> Self;
}

impl Sample for Comparison {
    fn sample(dice: &mut Dice) -> Self {
        use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
        dice.pick(&[Eq, Ne, Lt, Le, Gt, Ge])
    }
}

impl Sample for Ties {
    fn sample(dice: &mut Dice) -> Self {
        dice.pick(&[Ties::Even, Ties::Away])
    }
}

impl Sample for Combiner {
    fn sample(dice: &mut Dice) -> Self {
        use Combiner::{And, Max, Min, Or, Prod, Sum, Xor};
        dice.pick(&[Sum, Prod, Max, Min, And, Or, Xor])
    }
}

impl Sample for DType {
    fn sample(dice: &mut Dice) -> Self {
        dice.pick(DType::ALL)
    }
}

impl Sample for KeepAxes {
    fn sample(dice: &mut Dice) -> Self {
        dice.pick(&[KeepAxes::Drop, KeepAxes::Keep])
    }
}

/// A call of `row` whose first operand, or whose result, has the extents `x`.
pub fn call(row: Row, x: &[usize], dice: &mut Dice) -> Call {
    match row {
        Row::Elementwise(row) => broadcasting(elementwise(row, dice), x, dice),
        Row::Analytic(row) => broadcasting(analytic(row, dice), x, dice),
        Row::Reduction(row) => reduction(row, x, dice),
        Row::Scan(row) => sliding::scan(row, x, dice),
        Row::Windowed(row) => sliding::windowed(row, x, dice),
        Row::Structural(row) => moving::structural(row, x, dice),
        Row::Indexing(row) => moving::indexing(row, x, dice),
        Row::Sorting(row) => sliding::sorting(row, x, dice),
        Row::Dot(row) => moving::dot(row, x, dice),
    }
}

/// Operands that broadcast, one of which mostly has the extents `x`.
fn broadcasting(primitive: Primitive, x: &[usize], dice: &mut Dice) -> Call {
    let operands = primitive.arity().expect("invariant: a function has its number of operands");
    let whole = dice.roll(operands + usize::from(operands > 1));
    let extents = |place| if place == whole { x.to_vec() } else { fitting(x, dice) };
    let mut call = Call::new(primitive, (0..operands).map(extents).collect());
    if call.primitive == tenferro_tensor::Elementwise::Select.into() {
        call.operands[0].dtype = Some(DType::Bool);
    }
    call
}

/// Extents that broadcast to others: some are 1, some leading axes are missing.
fn fitting(to: &[usize], dice: &mut Dice) -> Vec<usize> {
    let missing = if dice.one_in(2) { 0 } else { dice.roll(to.len() + 1) };
    to[missing..].iter().map(|&extent| if dice.one_in(3) { 1 } else { extent }).collect()
}

fn reduction(row: Reduction::Row, x: &[usize], dice: &mut Dice) -> Call {
    use tenferro_tensor::Reduction as Primitives;
    let mut axes: Vec<usize> = (0..x.len()).filter(|_| dice.one_in(2)).collect();
    if dice.one_in(3) {
        axes.reverse();
    }
    let (axes, keep) = (Indices::from(axes), KeepAxes::sample(dice));
    let primitive = match row {
        Reduction::Row::Sum => Primitives::Sum { axes, keep },
        Reduction::Row::Prod => Primitives::Prod { axes, keep },
        Reduction::Row::Max => Primitives::Max { axes, keep },
        Reduction::Row::Min => Primitives::Min { axes, keep },
        Reduction::Row::All => Primitives::All { axes, keep },
        Reduction::Row::Any => Primitives::Any { axes, keep },
        Reduction::Row::Argmax => Primitives::Argmax { axes, keep },
        Reduction::Row::Argmin => Primitives::Argmin { axes, keep },
        Reduction::Row::SumOfSquares => Primitives::SumOfSquares { axes, keep },
        Reduction::Row::Reduce => {
            Primitives::Reduce { combiner: Combiner::sample(dice), axes, keep }
        }
    };
    Call::new(primitive, vec![x.to_vec()])
}
