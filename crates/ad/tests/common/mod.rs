//! Checks of a function's derivatives against differences, and of its pullback against its pushforward.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "not every test binary uses every check")]

#[path = "../../../ops/tests/calls/mod.rs"]
pub(crate) mod calls;

pub(crate) use calls::parts::{moved, parts};
use num_complex::Complex64 as C64;
use tenferro_ad::{Autodiff, Variable, jvp, vjp};
use tenferro_ops::reference::Reference;
use tenferro_tensor::{DType, KeepAxes, Result, Tensor};

/// A function to be checked.
pub(crate) type Function<'a> = dyn Fn(&[Variable]) -> Result<Variable> + 'a;

pub(crate) fn ad() -> Autodiff {
    Autodiff::new(Reference)
}

pub(crate) fn real(extents: &[usize], elements: &[f64]) -> Tensor {
    Tensor::from_vec_col_major(extents.to_vec(), elements.to_vec()).unwrap()
}

pub(crate) fn values(x: &Variable) -> Vec<f64> {
    x.value().to_vec_col_major::<f64>().unwrap()
}

pub(crate) fn scalar(x: f64) -> Tensor {
    Tensor::scalar(x).unwrap()
}

pub(crate) fn number(x: f64) -> Variable {
    ad().constant(scalar(x))
}

/// What sweeps have added to a leaf.
pub(crate) fn gradient(x: &Variable) -> Vec<f64> {
    x.gradient().unwrap().to_vec_col_major::<f64>().unwrap()
}

/// The sum over all axes.
pub(crate) fn total(x: &Variable) -> Result<Variable> {
    x.sum((0..x.shape().rank()).collect::<Vec<_>>(), KeepAxes::Drop)
}

/// Numbers from a seed, between `low` and `high` in each part.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self, low: f64, high: f64) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// The numbers of a name, the same in every run.
    pub(crate) fn of(name: &str) -> Self {
        Self(name.bytes().fold(77, |seed, byte| seed.wrapping_mul(257).wrapping_add(byte.into())))
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next(0.0, count as f64) as usize).min(count - 1)
    }

    /// Up to three axes; one more that has no elements, where that is asked for.
    pub(crate) fn shape(&mut self, is_empty: bool) -> Vec<usize> {
        let mut extents: Vec<usize> = (0..self.below(4)).map(|_| 1 + self.below(3)).collect();
        if is_empty {
            extents.insert(self.below(extents.len() + 1), 0);
        }
        extents
    }

    /// Shapes of two operands that broadcast: first axes are missing, and others have extent 1.
    pub(crate) fn shapes(&mut self, is_empty: bool) -> [Vec<usize>; 2] {
        let whole = self.shape(is_empty);
        [(); 2].map(|()| {
            let missing = self.below(2) * self.below(whole.len() + 1);
            let narrowed = |&extent: &usize| if self.below(3) == 0 { 1 } else { extent };
            whole[missing..].iter().map(narrowed).collect()
        })
    }

    pub(crate) fn tensor(
        &mut self,
        dtype: DType,
        extents: &[usize],
        (low, high): (f64, f64),
    ) -> Tensor {
        let elements: usize = extents.iter().product();
        match dtype {
            DType::F64 => {
                let elements: Vec<f64> = (0..elements).map(|_| self.next(low, high)).collect();
                Tensor::from_vec_col_major(extents.to_vec(), elements).unwrap()
            }
            DType::C64 => {
                let elements: Vec<C64> = (0..elements)
                    .map(|_| C64::new(self.next(low, high), self.next(low, high)))
                    .collect();
                Tensor::from_vec_col_major(extents.to_vec(), elements).unwrap()
            }
            other => panic!("no numbers of {other}"),
        }
    }
}

/// The inner product of pairs of reals.
pub(crate) fn inner(x: &Tensor, y: &Tensor) -> f64 {
    parts(x).iter().zip(parts(y)).map(|(x, y)| x * y).sum()
}

fn close(what: &str, actual: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    for (place, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        let scale = 1.0 + actual.abs().max(expected.abs());
        assert!(
            (actual - expected).abs() <= tolerance * scale,
            "{what}, element {place}: {actual} is not {expected}"
        );
    }
}

/// Checks a function at a point: its tangents against central differences, its pullback against its pushforward, and the
/// same of its directional derivative, which is forward over forward and reverse over forward, and of its gradient, which
/// is forward over reverse and reverse over reverse.
pub(crate) fn check(name: &str, f: &Function<'_>, inputs: &[Tensor], seed: u64) {
    checked(name, f, inputs, seed).unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// As [`check`], or that there is no such derivative.
pub(crate) fn checked(name: &str, f: &Function<'_>, inputs: &[Tensor], seed: u64) -> Result<()> {
    check_first_order(name, f, inputs, seed)?;
    // Only inexact operands move.
    let ad = ad();
    let mut numbers = Numbers(seed ^ 0x5eed);
    let directions: Vec<Option<Tensor>> = inputs
        .iter()
        .map(|x| x.dtype().is_inexact().then(|| numbers.tensor(x.dtype(), x.shape(), (-1.0, 1.0))))
        .collect();
    let pushed = move |xs: &[Variable]| -> Result<Variable> {
        let moving: Vec<&Variable> =
            xs.iter().zip(&directions).filter(|(_, u)| u.is_some()).map(|(x, _)| x).collect();
        let tangents: Vec<Variable> =
            directions.iter().flatten().map(|u| ad.constant(u.clone())).collect();
        let results =
            jvp(
                |moved| {
                    let mut moved = moved.iter();
                    let all: Vec<Variable> =
                        xs.iter()
                            .zip(&directions)
                            .map(|(x, u)| {
                                if u.is_some() { moved.next().unwrap().clone() } else { x.clone() }
                            })
                            .collect();
                    Ok(vec![f(&all)?])
                },
                &moving,
                &tangents.iter().collect::<Vec<_>>(),
            )?;
        Ok(results[0].1.clone().unwrap())
    };
    check_first_order(&format!("second order of {name}"), &pushed, inputs, seed + 1)?;
    let slope = |xs: &[Variable]| pulled(f, xs, seed);
    check_first_order(&format!("slope of the gradient of {name}"), &slope, inputs, seed + 2)
}

/// A real number made of all that a function's pullback gives, which moves with every operand.
fn pulled(f: &Function<'_>, xs: &[Variable], seed: u64) -> Result<Variable> {
    let mut numbers = Numbers(seed ^ 0xbac);
    let ad = ad();
    let moving: Vec<&Variable> = xs.iter().filter(|x| x.dtype().is_inexact()).collect();
    let (outputs, pullback) = vjp(
        |moved| {
            let mut moved = moved.iter();
            let mut next = |x: &Variable| match x.dtype().is_inexact() {
                true => moved.next().unwrap().clone(),
                false => x.clone(),
            };
            Ok(vec![f(&xs.iter().map(&mut next).collect::<Vec<_>>())?])
        },
        &moving,
    )?;
    let v = numbers.tensor(outputs[0].dtype(), outputs[0].shape(), (-1.0, 1.0));
    let cotangents = pullback.pull(&[&ad.constant(v)])?;
    let sum = |x: &Variable| total(&x.real()?);
    let mut all = ad.constant(Tensor::scalar(0.0)?);
    for (x, cotangent) in moving.iter().zip(&cotangents) {
        all = all.add(&sum(x)?)?;
        if let Some(cotangent) = cotangent {
            let w = numbers.tensor(x.dtype(), x.shape(), (-1.0, 1.0));
            all = all.add(&sum(&cotangent.conj()?.mul(&ad.constant(w))?)?)?;
        }
    }
    Ok(all)
}

/// The first half of [`check`].
pub(crate) fn check_first_order(
    name: &str,
    f: &Function<'_>,
    inputs: &[Tensor],
    seed: u64,
) -> Result<()> {
    const STEP: f64 = 1e-5;
    let ad = ad();
    let mut numbers = Numbers(seed);
    let constants: Vec<Variable> = inputs.iter().map(|x| ad.constant(x.clone())).collect();
    let moving: Vec<usize> =
        (0..inputs.len()).filter(|&i| inputs[i].dtype().is_inexact()).collect();
    let directions: Vec<Tensor> = moving
        .iter()
        .map(|&i| numbers.tensor(inputs[i].dtype(), inputs[i].shape(), (-1.0, 1.0)))
        .collect();
    let with = |moved: &[Variable]| {
        let mut all = constants.clone();
        for (&i, x) in moving.iter().zip(moved) {
            all[i] = x.clone();
        }
        f(&all)
    };
    let points: Vec<&Variable> = moving.iter().map(|&i| &constants[i]).collect();
    let tangents: Vec<Variable> = directions.iter().map(|u| ad.constant(u.clone())).collect();
    let tangents: Vec<&Variable> = tangents.iter().collect();
    let pushed = jvp(|xs| Ok(vec![with(xs)?]), &points, &tangents)?;
    let tangent = pushed[0].1.clone().unwrap_or_else(|| panic!("{name} has no tangent"));

    let at = |by: f64| {
        let moved: Vec<Variable> = points
            .iter()
            .zip(&directions)
            .map(|(x, u)| ad.constant(moved(x.value(), u, by)))
            .collect();
        parts(with(&moved).unwrap().value())
    };
    // Also between infinities, which a running extreme of nothing is.
    let difference = |(up, down)| if up == down { 0.0 } else { (up - down) / (2.0 * STEP) };
    let differences: Vec<f64> = at(STEP).into_iter().zip(at(-STEP)).map(difference).collect();
    close(&format!("tangent of {name}"), &parts(tangent.value()), &differences, 2e-6);

    let (outputs, pullback) = vjp(|xs| Ok(vec![with(xs)?]), &points)?;
    let v = numbers.tensor(outputs[0].dtype(), outputs[0].shape(), (-1.0, 1.0));
    let pulled = pullback.pull(&[&ad.constant(v.clone())])?;
    let across: f64 = pulled
        .iter()
        .zip(&directions)
        .map(|(pulled, u)| inner(pulled.as_ref().unwrap().value(), u))
        .sum();
    close(&format!("transpose of {name}"), &[across], &[inner(tangent.value(), &v)], 1e-9);
    Ok(())
}
