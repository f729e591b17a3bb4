//! Complex numbers are pairs of reals: their gradients point uphill, and what is real stays real.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Numbers, ad, number, total, values};
use num_complex::{Complex32, Complex64};
use tenferro_ad::{Variable, grad, hvp, jvp, vjp};
use tenferro_tensor::{Conjugation, Contraction, DType, KeepAxes, Result, Tensor};

#[test]
fn f35_magnitudes_of_tiny_complex_numbers_have_a_direction() {
    let at = |z: Complex32| {
        let z = ad().constant(Tensor::scalar(z).unwrap());
        grad(Variable::abs, &z).unwrap().value().as_slice::<Complex32>().unwrap()[0]
    };
    assert_eq!(at(Complex32::new(-1.0568e-23, 0.0)), Complex32::new(-1.0, 0.0));
    assert_eq!(at(Complex32::new(0.0, 0.0)), Complex32::new(0.0, 0.0));
}

#[test]
fn f36_the_gradient_of_a_real_part_points_uphill() {
    let z = Complex64::new(1.0, 2.0);
    let point = ad().constant(Tensor::scalar(z).unwrap());
    let gradient = grad(|z| z.exp()?.convert(DType::F64), &point).unwrap();
    // d Re(e^z) = Re(e^z dz), so that steepest ascent is along conj(e^z).
    let expected = z.exp().conj();
    let actual = gradient.value().as_slice::<Complex64>().unwrap()[0];
    assert!((actual - expected).norm() < 1e-13, "{actual} is not {expected}");
}

/// The gradient of a real scalar function of complex numbers by central differences in both parts of each.
fn differences(f: &dyn Fn(&Variable) -> Result<Variable>, point: &Tensor) -> Vec<Complex64> {
    const STEP: f64 = 1e-5;
    let elements = point.to_vec_col_major::<Complex64>().unwrap();
    let slope = |place: usize, along: Complex64| {
        let at = |by: f64| {
            let mut moved = elements.clone();
            moved[place] += along * by;
            let moved = Tensor::from_vec_col_major(point.shape().to_vec(), moved).unwrap();
            values(&f(&ad().constant(moved)).unwrap())[0]
        };
        (at(STEP) - at(-STEP)) / (2.0 * STEP)
    };
    let both = |place| Complex64::new(slope(place, Complex64::ONE), slope(place, Complex64::I));
    (0..elements.len()).map(both).collect()
}

fn f36_agrees(f: &dyn Fn(&Variable) -> Result<Variable>, point: Tensor) {
    let expected = differences(f, &point);
    let gradient = grad(f, &ad().constant(point)).unwrap();
    let actual = gradient.value().to_vec_col_major::<Complex64>().unwrap();
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(&expected) {
        assert!((actual - expected).norm() < 1e-8, "{actual} is not {expected}");
    }
}

#[test]
fn f36_the_real_part_of_an_exponential_has_the_gradient_of_differences() {
    let point = Tensor::scalar(Complex64::new(1.0, 2.0)).unwrap();
    f36_agrees(&|z| z.exp()?.real(), point);
}

#[test]
fn f36_a_contraction_and_an_exponential_have_the_gradient_of_differences() {
    let numbers = |seed, extents: &[usize]| Numbers(seed).tensor(DType::C64, extents, (-1.0, 1.0));
    // exp(sum over j, k of a_ijk b_kjl), weighed.
    let (a, b) = (numbers(1, &[2, 3, 2]), numbers(2, &[2, 3, 4]));
    let weights = ad().constant(numbers(3, &[2, 4]));
    let loss = |a: &Variable, b: &Variable| {
        total(&a.tensordot(b, [1, 2], [1, 0])?.exp()?.mul(&weights)?.real()?)
    };
    f36_agrees(&|x| loss(x, &ad().constant(b.clone())), a.clone());
    f36_agrees(&|x| loss(&ad().constant(a.clone()), x), b);
    // In both places at once, once conjugated.
    let gram = Contraction { lhs: Conjugation::Conjugated, ..Contraction::over([1, 2], [1, 2]) };
    f36_agrees(&|x| total(&x.dot_general(x, gram.clone())?.exp()?.real()?), a);
}

/// An element of a tensor of rank 0.
fn complex(x: &Variable) -> Complex64 {
    x.value().as_slice::<Complex64>().unwrap()[0]
}

#[test]
fn p9_a_pullback_multiplies_by_the_conjugate_of_the_derivative() {
    let (point, cotangent) = (Complex64::new(0.6, -1.1), Complex64::new(0.5, 2.0));
    let [z, v] = [point, cotangent].map(|z| ad().constant(Tensor::scalar(z).unwrap()));
    type Row = (&'static str, fn(&Variable) -> Result<Variable>, Complex64);
    let rows: [Row; 4] = [
        ("square", |z| z.mul(z), 2.0 * point),
        ("exp", Variable::exp, point.exp()),
        ("log", Variable::log, 1.0 / point),
        ("sin", Variable::sin, point.cos()),
    ];
    for (name, f, slope) in rows {
        let f = |zs: &[Variable]| Ok(vec![f(&zs[0])?]);
        let (_, pullback) = vjp(f, &[&z]).unwrap();
        let pulled = complex(&pullback.pull(&[&v]).unwrap().remove(0).unwrap());
        assert!((pulled - cotangent * slope.conj()).norm() < 1e-13, "{name}: {pulled}");
        let pushed = jvp(f, &[&z], &[&v]).unwrap().remove(0).1.unwrap();
        assert!((complex(&pushed) - cotangent * slope).norm() < 1e-13, "{name}: {pushed}");
    }
}

#[test]
fn p9_the_gradient_of_a_real_loss_points_along_steepest_ascent() {
    let at = Complex64::new(0.6, -1.1);
    let z = ad().constant(Tensor::scalar(at).unwrap());
    // In (re, im), of re^2 + im^2, of re, of im and of re * im.
    type Row = (&'static str, fn(&Variable) -> Result<Variable>, Complex64);
    let rows: [Row; 4] = [
        ("square of the magnitude", |z| z.mul(&z.conj()?)?.real(), 2.0 * at),
        ("real part", Variable::real, Complex64::ONE),
        ("imaginary part", Variable::imag, Complex64::I),
        ("product of the parts", |z| z.real()?.mul(&z.imag()?), Complex64::new(at.im, at.re)),
    ];
    for (name, loss, expected) in rows {
        let gradient = complex(&grad(loss, &z).unwrap());
        assert!((gradient - expected).norm() < 1e-14, "{name}: {gradient} is not {expected}");
    }
}

#[test]
fn p9_a_real_operand_of_complex_steps_has_a_real_gradient() {
    // |exp((1 + 2i) x)|^2 = exp(2 x), by a conversion; Im((x + i x^2)^2) = 2 x^3, by its parts.
    let converted = |x: &Variable| {
        let factor = x.autodiff().constant(Tensor::scalar(Complex64::new(1.0, 2.0))?);
        let z = x.convert(DType::C64)?.mul(&factor)?.exp()?;
        z.mul(&z.conj()?)?.real()
    };
    let of_parts = |x: &Variable| {
        let z = x.complex(&x.mul(x)?)?;
        z.mul(&z)?.imag()
    };
    let (at, x) = (0.7_f64, number(0.7));
    let exp = (2.0 * at).exp();
    type Loss<'f> = &'f dyn Fn(&Variable) -> Result<Variable>;
    let rows: [(Loss<'_>, f64, f64); 2] =
        [(&converted, 2.0 * exp, 4.0 * exp), (&of_parts, 6.0 * at * at, 12.0 * at)];
    for (loss, first, second) in rows {
        let close = |x: &Variable, expected: f64| {
            // Reading it as f64 says that it is real.
            assert!((values(x)[0] - expected).abs() < 1e-12, "{x:?} is not {expected}");
        };
        close(&grad(loss, &x).unwrap(), first);
        close(&hvp(loss, &x, &number(1.0)).unwrap(), second);
        close(&grad(|x| grad(loss, x), &x).unwrap(), second);
        let pushed = jvp(|xs| Ok(vec![loss(&xs[0])?]), &[&x], &[&number(1.0)]).unwrap();
        close(pushed[0].1.as_ref().unwrap(), first);
        let leaf = ad().variable(Tensor::scalar(at).unwrap()).unwrap();
        loss(&leaf).unwrap().backward().unwrap();
        assert_eq!(leaf.gradient().unwrap().dtype(), DType::F64);
    }
}

#[test]
fn p9_real_results_of_complex_operands_have_real_tangents() {
    let numbers = |seed| ad().constant(Numbers(seed).tensor(DType::C64, &[3], (0.5, 2.0)));
    let (z, along) = (numbers(1), numbers(2));
    let results = jvp(
        |zs| {
            let z = &zs[0];
            let norm = z.norm([0], KeepAxes::Drop)?;
            Ok(vec![z.abs()?, z.real()?, z.imag()?, z.sum_of_squares([0], KeepAxes::Drop)?, norm])
        },
        &[&z],
        &[&along],
    );
    for (value, tangent) in results.unwrap() {
        assert_eq!((value.dtype(), tangent.unwrap().dtype()), (DType::F64, DType::F64));
    }
}
