//! Programs as text: what is printed reads back as it was, and what is wrong is said with its place.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../ops/tests/calls/mod.rs"]
mod calls;

use std::sync::Arc;

use calls::{Dice, ROWS, call};
use insta::assert_snapshot;
use proptest::prelude::*;
use tenferro_ops::{CustomOp, Engine, Meta, infer, reference::Reference};
use tenferro_program::{
    Argument, Error, Parser, Passes, Problem, Program, Scan, Spec, Traced, trace,
};
use tenferro_tensor::{
    Comparison, Complex32, DType, KeepAxes, Operand, Result, Tensor, TensorElementwise, bf16,
    dispatch, f16,
};

fn reads_back(program: &Program) {
    let text = program.to_string();
    let again: Program = match text.parse() {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{text}"),
    };
    assert_eq!(&again, program);
    assert_eq!(again.to_string(), text);
}

fn spec(dtype: DType, extents: &[usize]) -> Spec {
    Spec::new(dtype, extents).unwrap()
}

#[test]
fn every_row_reads_back_as_it_was() {
    for (number, &row) in ROWS.iter().enumerate() {
        let mut fitted = 0;
        for seed in 0..60 {
            let mut dice = Dice(60 * number as u64 + seed);
            let dtype = dice.pick(DType::ALL);
            let extents: Vec<usize> = (0..dice.roll(4)).map(|_| dice.roll(4)).collect();
            let call = call(row, &extents, &mut dice);
            let mut specs: Vec<Spec> = call
                .operands
                .iter()
                .map(|wanted| spec(wanted.dtype.unwrap_or(dtype), &wanted.extents))
                .collect();
            let metas: Vec<Meta> = specs.iter().map(|spec| spec.meta().clone()).collect();
            if infer(&call.primitive, &metas).is_err() {
                continue;
            }
            fitted += 1;
            // A row without operands needs a trace all the same.
            let operands = specs.len();
            specs.push(spec(DType::F64, &[]));
            let program = trace(&specs, |xs| match operands {
                0 => xs[0].iota(DType::F64, [2, 3], 1_usize),
                _ => Traced::apply(call.primitive, &xs[..operands].iter().collect::<Vec<_>>()),
            });
            reads_back(&program.unwrap());
        }
        assert!(fitted > 0, "{row:?} was never tried");
    }
}

#[test]
fn control_flow_and_its_derivatives_read_back_as_they_were() {
    let specs = [spec(DType::F64, &[2]).named("x"), spec(DType::F64, &[2, 3]).named("y")];
    let program = trace(&specs, |xs| {
        let sums = Scan::over(&[&xs[1]]).reversed().run(&[&xs[0]], |state, element| {
            let large = state[0]
                .sum([0], KeepAxes::Drop)
                .compare(&(xs[0].sum([0], KeepAxes::Drop)), Comparison::Gt);
            let next = large.cond(&[&state[0]], |s| &s[0] * &element[0], |s| s[0].exp() + &xs[0]);
            (next.clone(), next)
        });
        vec![sums[0].sum([0], KeepAxes::Drop)]
    })
    .unwrap();
    reads_back(&program);
    reads_back(&program.grad().unwrap());
    reads_back(&program.grad().unwrap().jvp().unwrap());
    reads_back(&program.vjp().unwrap().optimised(&Passes::all()).unwrap());
    let (known, linear) = program.linearize().unwrap();
    reads_back(&known);
    reads_back(&linear);
    let called = trace(&[spec(DType::F64, &[2]), spec(DType::F64, &[2, 3])], |xs| {
        let last = Traced::while_loop(
            &[&xs[0]],
            |s| {
                s[0].sum([0], KeepAxes::Drop)
                    .compare(&s[0].constant(Tensor::scalar(9.0).unwrap()), Comparison::Lt)
            },
            |s| s[0].exp(),
        );
        program.call(&[&last[0], &xs[1]])
    });
    reads_back(&called.unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn constants_read_back_bit_by_bit(
        dtype in proptest::sample::select(DType::ALL),
        extents in prop::collection::vec(0..3_usize, 0..3),
        seed: u64,
    ) {
        let mut dice = Dice(seed);
        let elements: usize = extents.iter().product();
        // Any bits at all, so that every NaN and every subnormal number turns up.
        let bits: Vec<u64> = (0..2 * elements).map(|_| match dice.roll(4) {
            0 => 0x7ff0_0000_7f80_7c00 ^ (dice.bits() >> 50),
            _ => dice.bits(),
        }).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&bits);
        let tensor = of_bytes(dtype, &extents, bytes);
        let program = trace(&[spec(DType::F64, &[])], |xs| xs[0].constant(tensor)).unwrap();
        reads_back(&program);
    }
}

/// A tensor of these bits.
fn of_bytes(dtype: DType, extents: &[usize], bytes: &[u8]) -> Tensor {
    let elements: usize = extents.iter().product();
    macro_rules! of {
        ($($DType:ident $ty:ty,)*) => {
            match dtype {
                $(DType::$DType => Tensor::from_vec_col_major(
                    extents,
                    (0..elements).map(|i| bytemuck::pod_read_unaligned::<$ty>(&bytes[i * size_of::<$ty>()..(i + 1) * size_of::<$ty>()])).collect::<Vec<$ty>>(),
                ),)*
                _ => dispatch!(dtype, any T => Tensor::from_vec_col_major(extents, vec![<T as Default>::default(); elements])),
            }
        };
    }
    let tensor = of! {
        F64 f64, F32 f32, I64 i64, U64 u64, I8 i8, U32 u32, C32 Complex32, F16 f16, BF16 bf16,
    };
    tensor.unwrap()
}

#[test]
fn inputs_keep_their_names_whatever_they_are() {
    let named = |name: &str| spec(DType::F32, &[1]).named(name);
    let specs = [
        named("x"),
        named("the \"last\" one\n"),
        named("y"),
        named("y"),
        named("%0"),
        spec(DType::F32, &[]),
    ];
    let program =
        trace(&specs, |xs| vec![&xs[0] + &xs[1], &xs[2] * &xs[3], xs[4].clone(), xs[5].clone()]);
    let program = program.unwrap();
    reads_back(&program);
    assert_snapshot!(program, @r#"
    program(x: f32[1], %1 "the \"last\" one\n": f32[1], %2 "y": f32[1], %3 "y": f32[1], %4 "%0": f32[1], %5: f32[]) {
        %6: f32[1] = add(x, %1)
        %7: f32[1] = mul(%2, %3)
        return %6, %7, %4, %5
    }
    "#);
}

#[test]
fn a_program_written_by_hand_needs_few_types() {
    let program: Program = "
        # The distance of two points.
        program(a: f64[2], b: f64[2]) {
            d = sub(a, b)
            s = sum_of_squares(d) { axes: [0], keep: Drop }
            half: f64[] = constant 0.5   # a power
            root = pow(s, half)
            return root
        }"
    .parse()
    .unwrap();
    let prepared = program.prepare(&Passes::all()).unwrap();
    let point = |x: f64, y: f64| Tensor::from_vec_col_major([2], vec![x, y]).unwrap();
    let (a, b) = (point(1.0, 2.0), point(4.0, 6.0));
    let results = prepared.run(&mut Reference, vec![Argument::from(&a), (&b).into()]).unwrap();
    assert_eq!(results[0].as_slice::<f64>().unwrap(), [5.0]);
}

/// Twice its operand.
#[derive(Debug)]
struct Twice;

impl CustomOp for Twice {
    fn name(&self) -> &'static str {
        "twice"
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
        Ok(inputs[0].clone())
    }

    fn evaluate(&self, engine: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let x = inputs[0].view();
        engine.add(&x, &x)
    }
}

#[test]
fn custom_operations_are_given_to_the_parser() {
    let twice: Arc<dyn CustomOp> = Arc::new(Twice);
    let program =
        trace(&[spec(DType::F64, &[2])], |xs| Traced::custom(Arc::clone(&twice), &[&xs[0]]))
            .unwrap();
    let text = program.to_string();
    let error = text.parse::<Program>().unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Parse { line: 2, column: 18, problem: Problem::UnknownOperation { .. } }
        ),
        "{error}"
    );
    assert_eq!(Parser::default().custom(twice).parse(&text).unwrap(), program);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let said = |text: &str| text.parse::<Program>().unwrap_err().to_string();
    let inside = |line: &str| {
        said(&format!("program(x: f64[2], p: bool[]) {{\n    {line}\n    return x\n}}"))
    };
    let all = [
        said(""),
        said("program(x: f64[2]) { return x } and more"),
        said("program(x: f65[2]) { return x }"),
        said("program(x: f64[-2]) { return x }"),
        said("program(x: f64[2], x: f64[2]) { return x }"),
        said("program(x: f64[2]) { return y }"),
        said("program(x: f64[99999999999, 99999999999]) { return x }"),
        inside("y = exp(z)"),
        inside("y = exq(x)"),
        inside("y = add(x)"),
        inside("y: f64[3] = exp(x)"),
        inside("y = sum(x) { axes: [1], keep: Drop }"),
        inside("y = sum(x) { axes: [0] }"),
        inside("y = sum(x) { axes: [0], axes: [0], keep: Drop }"),
        inside("y = sum(x) { axes: [0], keep: Perhaps }"),
        inside("y = sum(x) { axes: 0, keep: Drop }"),
        inside("y = sum(x) { axes: [-1], keep: Drop }"),
        inside("y = sum(x) { axes: [0], keep: Drop, how: Fast }"),
        inside("y = constant 1.0"),
        inside("y: f64[] = constant one"),
        inside("y: f64[2] = constant [1.0]"),
        inside("y: i8[1] = constant [300]"),
        inside("x = exp(x)"),
        inside("y, z = exp(x)"),
        inside("y = cond(p, x) { on_false: program(a: f64[2]) { return a } }"),
        inside(
            "y = cond(x, x) { on_true: program(a: f64[2]) { return a } on_false: program(a: f64[2]) { return a } }",
        ),
        inside(
            "y = scan(x) { carries: 1, sequences: 0, length: 3, direction: Forward } { body: program(a: f64[3]) { return a } }",
        ),
        said(&"program() { a = call() { body: ".repeat(200)),
        inside(&format!("y = sum(x) {{ axes: {}", "[".repeat(200))),
    ];
    assert_snapshot!(all.join("\n"), @r"
    line 1, column 1: expected `program`, found the end of the text
    line 1, column 33: expected the end of the text, found `and`
    line 1, column 12: expected a dtype, found `f65`
    line 1, column 16: expected an extent, found `-`
    line 1, column 20: there is a value `x` already
    line 1, column 29: there is no value `y` before this place
    line 1, column 12: program: shape (99999999999, 99999999999) has more elements than can be addressed
    line 2, column 13: there is no value `z` before this place
    line 2, column 9: there is no operation `exq`; give the parser custom ones with `Parser::custom`
    line 2, column 9: add: operands has 1 entries where 2 are needed
    line 2, column 5: the result is f64[2], not f64[3]
    line 2, column 9: sum: axis 1 does not exist in shape (2,)
    line 2, column 16: `sum`: parameter `keep` is missing
    line 2, column 16: `sum`: parameter `axes` is given twice
    line 2, column 16: `sum`: keep: `Perhaps` is none of Drop, Keep
    line 2, column 16: `sum`: axes: `0` is no list
    line 2, column 16: `sum`: axes: -1 is out of range
    line 2, column 16: `sum`: there is no parameter `how`
    line 2, column 9: expected one result with dtype and shape before a constant, found `constant`
    line 2, column 25: `one` is no f64
    line 2, column 26: the constant has 1 elements, and its shape 2
    line 2, column 25: `300` is no i8
    line 2, column 5: there is a value `x` already
    line 2, column 12: `exp` has 1 results and is given 2 names
    line 2, column 22: expected `name: program`, for each of the bodies in order, found `on_false`
    line 2, column 9: predicate 0 is f64[2] and has to be bool[]
    line 2, column 9: operand 0 is f64[2] and has to be f64[3]
    line 1, column 3100: nested more than 100 times
    line 2, column 123: nested more than 100 times
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// A letter is taken out, doubled or replaced somewhere: the text is refused or read, and nothing panics.
    #[test]
    fn a_damaged_text_never_panics(place: prop::sample::Index, letter in proptest::char::any(), way in 0..3_usize) {
        let text = "program(x: f64[2], \"n\": i8[]) {\n    c: c32[1] = constant [(1.0, NaN)]\n    s: f64[2] = scan(x) { carries: 1, sequences: 0, length: 2, direction: Forward } {\n        body: program(%0: f64[2]) {\n            return %0\n        }\n    }\n    y: f64[] = sum(s) { axes: [0], keep: Drop }\n    return y, c\n}";
        let mut letters: Vec<char> = text.chars().collect();
        let place = place.index(letters.len());
        match way {
            0 => { letters.remove(place); }
            1 => letters.insert(place, letters[place]),
            _ => letters[place] = letter,
        }
        let text: String = letters.into_iter().collect();
        if let Err(Error::Parse { line, column, .. }) = text.parse::<Program>() {
            let line = text.split('\n').nth(line - 1).unwrap();
            prop_assert!(column <= line.chars().count() + 1);
        }
    }
}

#[test]
fn equal_programs_are_equal_and_others_are_not() {
    let make = |number: f64, name: &str| {
        trace(&[spec(DType::F64, &[2]).named(name)], |xs| (&xs[0] * number).exp()).unwrap()
    };
    assert_eq!(make(2.0, "x"), make(2.0, "x"));
    assert_eq!(make(2.0, "x").fingerprint(), make(2.0, "x").fingerprint());
    assert_ne!(make(2.0, "x"), make(3.0, "x"));
    assert_ne!(make(0.0, "x"), make(-0.0, "x"));
    assert_ne!(make(2.0, "x"), make(2.0, "y"));
}

#[test]
fn programs_that_were_found_equal_stay_so_and_stay_apart_from_others() {
    let make =
        |number: f64| trace(&[spec(DType::F64, &[2])], |xs| (&xs[0] * number).exp()).unwrap();
    let (twos, threes) = ([(); 3].map(|()| make(2.0)), [(); 3].map(|()| make(3.0)));
    // Pairs first, so that each group is put together of two that were found on their own.
    assert_eq!(twos[0], twos[1]);
    assert_eq!(threes[1], threes[2]);
    for (two, three) in twos.iter().zip(&threes) {
        for (other_two, other_three) in twos.iter().zip(&threes) {
            assert_eq!(two, other_two);
            assert_eq!(three, other_three);
            assert_ne!(two, other_three);
            assert_ne!(other_two.clone(), three.clone());
        }
    }
}
