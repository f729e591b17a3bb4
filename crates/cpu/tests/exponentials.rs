//! Composites of exponentials that the engine computes at once: the same bits as through their primitives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Dice, Draw, backend, rough, same};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_tensor::{
    AsOperand, DType, Exponentials, KeepAxes, Operand, Primitive, Result, Tensor,
    TensorElementwise, Vocabulary, dispatch,
};

/// A backend that may not compute composites at once.
struct Primitives(CpuBackend);

impl Vocabulary for Primitives {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.0.apply(primitive, inputs)
    }
}

/// A backend whose composites are counted where they are computed at once.
struct AtOnce {
    backend: CpuBackend,
    taken: usize,
}

impl Vocabulary for AtOnce {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.backend.apply(primitive, inputs)
    }

    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Operand<'_>,
    ) -> Result<Option<Tensor>> {
        let result = self.backend.exponentials(exponentials, x)?;
        self.taken += usize::from(result.is_some());
        Ok(result)
    }
}

fn all(engine: &mut impl Vocabulary, x: &Tensor, axes: &[usize]) -> [Tensor; 4] {
    [
        engine.logsumexp(x, axes, KeepAxes::Drop).unwrap(),
        engine.logsumexp(x, axes, KeepAxes::Keep).unwrap(),
        engine.softmax(x, axes).unwrap(),
        engine.log_softmax(x, axes).unwrap(),
    ]
}

#[test]
fn x50_composites_of_exponentials_have_the_bits_of_their_primitives_at_every_width() {
    let shapes: &[&[usize]] = &[
        &[1],
        &[5],
        &[300],
        &[8200],
        &[3, 7],
        &[8200, 3],
        &[10, 700],
        &[32, 9],
        &[33, 9],
        &[12, 5],
        &[7, 60, 6],
        &[65, 70, 3],
        &[130, 40, 2],
        &[2500, 4],
        &[3, 1, 40, 5],
    ];
    let mut primitives = Primitives(backend(1));
    let mut engines: Vec<AtOnce> =
        [1, 2, 4].map(|threads| AtOnce { backend: backend(threads), taken: 0 }).into();
    let mut asked = 0;
    for (seed, &extents) in shapes.iter().enumerate() {
        for dtype in [DType::F64, DType::F32] {
            let magnitudes = rough(dtype, extents, seed as u64);
            let scale = primitives.convert(&Tensor::scalar(1e-2_f64).unwrap(), dtype).unwrap();
            let x = primitives.mul(&magnitudes, &scale).unwrap();
            for subset in 1..1_usize << extents.len() {
                let axes: Vec<usize> =
                    (0..extents.len()).filter(|axis| subset >> axis & 1 == 1).collect();
                let expected = all(&mut primitives, &x, &axes);
                for engine in &mut engines {
                    let results = all(engine, &x, &axes);
                    for (form, (result, expected)) in results.iter().zip(&expected).enumerate() {
                        let threads = engine.backend.threads();
                        assert!(
                            same(result, expected),
                            "form {form} of {dtype} {extents:?} over {axes:?}, {threads} threads"
                        );
                    }
                }
                asked += expected.len();
            }
        }
    }
    // Rows that are cut, of more than one block.
    let x = rough(DType::F32, &[130, 8200], 0);
    let expected = primitives.logsumexp(&x, [1], KeepAxes::Drop).unwrap();
    for engine in &mut engines[..2] {
        assert!(same(&engine.logsumexp(&x, [1], KeepAxes::Drop).unwrap(), &expected));
    }
    let shared_out = engines.iter().map(|engine| engine.backend.domain().fan_outs() > 0);
    assert_eq!(shared_out.collect::<Vec<_>>(), [false, true, true]);
    for engine in engines {
        assert!(4 * engine.taken > 3 * asked, "{} of {asked}", engine.taken);
    }
}

#[test]
fn p7_infinities_and_nan_go_the_same_way_at_once() {
    let mut dice = Dice(3);
    let (mut primitives, mut at_once) =
        (Primitives(backend(1)), AtOnce { backend: backend(1), taken: 0 });
    for dtype in [DType::F64, DType::F32] {
        for extents in [[3, 50], [40, 4], [200, 3], [300, 2]] {
            for _ in 0..20 {
                let count = extents[0] * extents[1];
                let x = dispatch!(dtype, float T => {
                    let low = <T as tenferro_ops::scalar::Cast>::from_f64(f64::NEG_INFINITY);
                    let draw = |dice: &mut Dice| {
                        if dice.one_in(2) { low } else { samples::element::<T>(dice, Draw::Any) }
                    };
                    let elements: Vec<T> = (0..count).map(|_| draw(&mut dice)).collect();
                    Tensor::from_vec_col_major(extents, elements).unwrap()
                }, else unreachable!("floats only"));
                for axes in [&[0][..], &[1]] {
                    let (expected, results) =
                        (all(&mut primitives, &x, axes), all(&mut at_once, &x, axes));
                    for (result, expected) in results.iter().zip(&expected) {
                        assert!(same(result, expected), "{dtype} {extents:?} {axes:?}");
                    }
                }
            }
        }
    }
    assert!(at_once.taken > 0);
}

#[test]
fn what_has_no_short_way_goes_the_long_one() {
    let mut engine = AtOnce { backend: backend(1), taken: 0 };
    let x = rough(DType::F64, &[6, 5, 4], 1);
    let sums = engine.logsumexp(&x, [0, 2], KeepAxes::Drop).unwrap();
    assert_eq!((&sums.shape()[..], engine.taken), (&[5][..], 0));
    let transposed = x.view().transpose();
    engine.softmax(&transposed, [0]).unwrap();
    let halves = engine.convert(&x, DType::F16).unwrap();
    engine.softmax(&halves, [0]).unwrap();
    engine.softmax(&Tensor::zeros(DType::F64, [3, 0]).unwrap(), [0]).unwrap();
    assert_eq!(engine.taken, 0);
    assert!(engine.softmax(&x, [3]).is_err());
    assert!(engine.softmax(&x, [0, 0]).is_err());
    assert!(engine.softmax(&Tensor::zeros(DType::I32, [3]).unwrap(), [0]).is_err());
    let one_pass = engine.backend.with_backend_session(|session| session.softmax(&x, [1])).unwrap();
    assert!(same(&one_pass, &engine.softmax(&x, [1]).unwrap()));
    assert_eq!((engine.taken, x.as_operand().strides()), (1, None));
}
