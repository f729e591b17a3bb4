//! Rows x dtypes x layouts x widths, every member of it: what the samples of the other tests leave to chance.
//!
//! A pair of row and dtype is either computed in every layout, or refused by a typed error that names both.

use tenferro_ops::{Meta, infer, reference::Reference};
use tenferro_tensor::{
    AsOperand, DType, GatherMode, Indexing, Indices, KeepAxes, Operand, Primitive, Reduction,
    Validation, Vocabulary,
};

use super::{
    Stored, backends, compare, meta, operands_in,
    samples::{
        Layout, Widths, backend,
        calls::{self, Call, Dice, ROWS, Row, Wanted},
    },
};

/// How many calls are drawn until one is computed: parameters need not be valid, and the dtypes that a row with a
/// combiner or two dtypes accepts depend on them.
const CALLS: u64 = 200;

/// Extents for a layout.
fn extents(layout: Layout, dice: &mut Dice) -> Vec<usize> {
    match layout {
        Layout::Empty => dice.pick(&[[0, 3, 2], [3, 0, 2], [3, 2, 0]]).to_vec(),
        Layout::Units => dice.pick(&[[1, 3, 4], [3, 1, 4], [4, 3, 1], [1, 5, 1]]).to_vec(),
        _ => dice.pick(&[[3, 3, 2], [2, 4, 3], [3, 2, 4]]).to_vec(),
    }
}

/// What became of a pair.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Computed,
    Refused,
}

/// A call of a row whose operands are laid out so, and its seed.
fn draw(row: Row, dtype: DType, layout: Layout, seed: u64) -> (Call, Vec<Stored>) {
    let mut dice = Dice(seed);
    let extents = extents(layout, &mut dice);
    let call = calls::call(row, &extents, &mut dice);
    let stored = operands_in(&call, dtype, layout, &mut dice);
    (call, stored)
}

/// Whether a call of a row has a result for these operands, which is empty only if they are, or is refused because of the
/// dtype alone.
fn outcome(call: &Call, dtype: DType, stored: &[Stored]) -> Option<Outcome> {
    let views: Vec<_> = stored.iter().map(Stored::view).collect();
    let inputs: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
    let metas: Vec<Meta> = inputs.iter().map(Meta::of).collect();
    if let Err(error) = infer(&call.primitive, &metas) {
        let Some(Validation::MeaninglessDType { dtype: refused, .. }) = error.validation() else {
            return None;
        };
        let text = error.to_string();
        let (row, name) = (call.primitive.name(), dtype.name());
        let names_both = text.contains(row) && text.contains(name);
        return (*refused == dtype && names_both).then_some(Outcome::Refused);
    }
    let result = Reference.apply(&call.primitive, &inputs).ok()?;
    let is_about_nothing =
        inputs.is_empty() || inputs.iter().any(|input| input.shape().contains(&0));
    (result.elements() > 0 || is_about_nothing).then_some(Outcome::Computed)
}

#[test]
fn x53_every_row_of_every_dtype_is_computed_in_every_layout_or_refused_by_name() {
    let backends = backends();
    for (at, &row) in ROWS.iter().enumerate() {
        for (&dtype, layout) in
            DType::ALL.iter().flat_map(|dtype| Layout::ALL.map(|layout| (dtype, layout)))
        {
            let seeds = (at as u64 * CALLS..).take(CALLS as usize);
            let mut refused = None;
            let computed = seeds.into_iter().find_map(|seed| {
                let (call, stored) = draw(row, dtype, layout, seed);
                match outcome(&call, dtype, &stored)? {
                    Outcome::Computed => Some((seed, call, stored)),
                    Outcome::Refused => {
                        refused = Some((seed, call, stored));
                        None
                    }
                }
            });
            let what = || format!("{row:?} of {dtype}, {layout:?}");
            // What the table says that a row accepts is computed.
            let accepts = |(_, call, _): &(u64, Call, Vec<Stored>)| call.primitive.accepts();
            let refused = refused.filter(|refused| !accepts(refused).contains(dtype));
            let (seed, call, stored) =
                computed.or(refused).unwrap_or_else(|| panic!("no call of {}", what()));
            if let Err(problem) = compare(&backends, &call.primitive, &stored, seed) {
                panic!("{}: {problem}", what());
            }
        }
    }
}

/// A call with enough to do for several threads.
fn wide(row: Row, dice: &mut Dice) -> Call {
    let operand =
        |extents: &[usize]| Wanted { extents: extents.to_vec(), dtype: None, below: None };
    let of = |primitive: Primitive, extents: &[usize]| Call {
        primitive,
        operands: vec![operand(extents)],
    };
    let (axes, keep) = (Indices::from([0]), KeepAxes::Drop);
    // Those whose calls by chance keep few elements, or of whose dtype many are little.
    match row {
        Row::Reduction(calls::Reduction::Row::All) => {
            of(Reduction::All { axes, keep }.into(), &[3000, 500])
        }
        Row::Reduction(calls::Reduction::Row::Any) => {
            of(Reduction::Any { axes, keep }.into(), &[3000, 500])
        }
        Row::Indexing(calls::Indexing::Row::Slice) => {
            let (starts, limits, strides) = ([1, 2].into(), [699, 398].into(), [1, 1].into());
            of(Indexing::Slice { starts, limits, strides }.into(), &[700, 400])
        }
        Row::Indexing(calls::Indexing::Row::DynamicSlice) => {
            let (extents, mode) = ([690, 390].into(), GatherMode::Clamp);
            let mut call = of(Indexing::DynamicSlice { extents, mode }.into(), &[700, 400]);
            let starts = Wanted { extents: vec![2], dtype: Some(DType::I64), below: Some(10) };
            call.operands.push(starts);
            call
        }
        Row::Indexing(calls::Indexing::Row::ExtractDiagonal) => {
            of(Indexing::ExtractDiagonal { first: 0, second: 1 }.into(), &[2, 2, 70_000])
        }
        Row::Indexing(calls::Indexing::Row::EmbedDiagonal) => {
            of(Indexing::EmbedDiagonal { axis: 0, new_axis: 0 }.into(), &[2, 70_000])
        }
        // Where nothing is optimised, a contraction of as many elements as the others have takes long.
        Row::Dot(_) => calls::call(row, &[61, 50, 40], dice),
        _ => calls::call(row, &[52, 50, 51], dice),
    }
}

#[test]
fn x50_every_row_is_shared_out_and_bit_equal_at_every_width() {
    let mut widths = Widths::new();
    for (at, &row) in ROWS.iter().enumerate() {
        let seeds = (at as u64 * CALLS..).take(CALLS as usize);
        let dtypes = [DType::F64, DType::I64, DType::Bool, DType::C64];
        let mut calls = seeds.flat_map(|seed| dtypes.map(|dtype| (seed, dtype)));
        let is_shared_out = calls.any(|(seed, dtype)| {
            let mut dice = Dice(seed);
            let call = wide(row, &mut dice);
            let stored = operands_in(&call, dtype, Layout::Sliced, &mut dice);
            if meta(&call.primitive, &stored).is_ok_and(|meta| meta.shape.elements() > 1 << 20) {
                return false;
            }
            let views: Vec<_> = stored.iter().map(Stored::view).collect();
            let inputs: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
            // Parameters and indices may be wrong, divisors zero.
            let is_valid = backend(1).apply(&call.primitive, &inputs).is_ok();
            let what = format!("{row:?} of {dtype}");
            is_valid && widths.are_equal(&what, |backend| backend.apply(&call.primitive, &inputs))
        });
        assert!(is_shared_out, "no call of {row:?} was shared out");
    }
}
