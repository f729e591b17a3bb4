//! Copies between layouts, in the sizes at which the kernel works differently: few elements, tiles that stay in the
//! caches, and lines that are written past them. All are bit-equal to the reference at every width.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Dice, Draw, Place, Stored, backend, same};
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, reference::Reference};
use tenferro_tensor::{AsOperand, DType, Structural, Vocabulary};

/// Transposes an operand of some layout into a fresh tensor and into a destination, at every width.
fn check(
    backends: &[CpuBackend],
    dtype: DType,
    source: Place,
    permutation: &[usize],
    dice: &mut Dice,
) {
    let what = format!("{dtype:?} {source:?} by {permutation:?}");
    let source = Stored::drawn(dice, dtype, Draw::Any, source);
    let view = source.view();
    let inputs = [view.as_operand()];
    let row = Structural::Transpose { permutation: permutation.to_vec().into() }.into();
    let expected = Reference.apply(&row, &inputs).unwrap();
    for backend in backends {
        let mut backend = backend.clone();
        assert!(same(&backend.apply(&row, &inputs).unwrap(), &expected), "{what}");
        let mut out = Stored::poisoned(dtype, Place::to_write(dice, expected.shape()));
        let before = out.snapshot();
        backend.apply_into(&row, &inputs, out.view_mut().as_operand_mut()).unwrap();
        assert!(out.is_untouched_outside(&before), "{what}");
        assert!(same(&out.view().to_tensor().unwrap(), &expected), "{what}");
    }
}

/// Extents whose product is at most `elements`.
fn extents(dice: &mut Dice, rank: usize, mut elements: usize) -> Vec<usize> {
    let mut extents = Vec::new();
    for left in (1..=rank).rev() {
        let most = (elements as f64).powf(1.0 / left as f64) as usize;
        let sides = if dice.one_in(4) { elements.min(40) } else { most };
        let extent = 1 + dice.roll(sides);
        extents.push(extent);
        elements = (elements / extent).max(1);
    }
    extents
}

#[test]
fn any_layout_of_any_dtype_is_copied_to_any_other() {
    let backends = [backend(1), backend(2), backend(4)];
    let mut dice = Dice(5);
    for case in 0..400 {
        let most = dice.pick(&[40, 300, 3000, 20_000]);
        let rank = 1 + case % 8;
        let extents = extents(&mut dice, rank, most);
        let permutation = dice.permutation(rank);
        let source = Place::to_read(&mut dice, &extents);
        let dtype = dice.pick(DType::ALL);
        check(&backends, dtype, source, &permutation, &mut dice);
    }
}

#[test]
fn large_copies_past_the_caches_are_whole() {
    let backends = [backend(1), backend(4)];
    let mut dice = Dice(6);
    let cases: &[(DType, &[usize], &[usize])] = &[
        (DType::F64, &[1024, 520], &[1, 0]),
        (DType::F64, &[727, 731], &[1, 0]),
        (DType::C32, &[731, 727], &[1, 0]),
        (DType::F64, &[3, 421, 423], &[0, 2, 1]),
        (DType::C64, &[100, 53, 51], &[0, 2, 1]),
        (DType::F64, &[3; 12], &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        (DType::F64, &[3; 12], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0]),
        (DType::F64, &[3; 12], &[11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (DType::F32, &[16, 16, 16, 16, 17], &[4, 3, 2, 1, 0]),
        (DType::I16, &[1500, 1400], &[1, 0]),
        (DType::U8, &[2051, 2049], &[1, 0]),
        (DType::F64, &[2, 2, 140_000], &[1, 0, 2]),
        (DType::F32, &[70, 70_000 / 4], &[0, 1]),
    ];
    for &(dtype, extents, permutation) in cases {
        let reading = [Place::dense(extents), Place::scattered(&mut dice, extents)];
        let source = dice.pick(&[0, 0, 1]);
        check(&backends, dtype, reading[source].clone(), permutation, &mut dice);
    }
}
