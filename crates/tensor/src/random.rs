//! Random tensors from a counter-based generator.
//!
//! The generator is ChaCha with 8 rounds: its key is the seed in little endian, followed by zeros, and its stream is 0.
//! The element at position `i` in column-major order is made of the four 32-bit words from word `4 i` on, and of nothing
//! else: not of the shape, the order in which elements are made, or the number of threads.

use std::f64::consts::TAU;

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use num_complex::Complex64;

use crate::{
    Accepts, DType, DTypeClass, Error, Factor, Indices, Result, Shape, Tensor, Uninit, dispatch,
    error::Validation,
};

const OP: &str = "random";

/// How random elements are distributed.
///
/// The components of complex elements are independent, each distributed so.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Evenly from `low` to below `high`; for floats, rounding a scaled number may reach `high`.
    Uniform {
        /// The smallest element.
        low: Factor,
        /// What elements stay below.
        high: Factor,
    },
    /// Gauss's normal distribution.
    Normal {
        /// The expectation.
        mean: f64,
        /// The standard deviation, not negative.
        deviation: f64,
    },
}

impl Distribution {
    /// Evenly from 0 to below 1.
    pub const UNIT: Self = Self::Uniform { low: Factor::ZERO, high: Factor::ONE };
    /// The normal distribution with expectation 0 and standard deviation 1.
    pub const STANDARD_NORMAL: Self = Self::Normal { mean: 0.0, deviation: 1.0 };

    /// Evenly from `low` to below `high`.
    #[must_use]
    pub fn uniform(low: impl Into<Factor>, high: impl Into<Factor>) -> Self {
        Self::Uniform { low: low.into(), high: high.into() }
    }

    /// The normal distribution with this expectation and standard deviation.
    #[must_use]
    pub fn normal(mean: f64, deviation: f64) -> Self {
        Self::Normal { mean, deviation }
    }
}

impl Tensor {
    /// A tensor of random elements: the same ones for the same dtype, distribution and seed, whatever else.
    ///
    /// The element at position `i` in column-major order depends on the seed and `i` only, so that a shorter tensor is
    /// the beginning of a longer one. Uniform floats in `[0, 1)` are multiples of the dtype's epsilon halved, uniform
    /// integers are exact. Normal ones are made by the Box-Muller transform in f64 and rounded; their last digits depend
    /// on the platform's `ln`, `sin` and `cos`.
    ///
    /// # Errors
    /// [`Validation::MeaninglessDType`] for bool, and for integers that are not uniform; [`Validation::Rule`] if a
    /// parameter is not finite, does not fit the dtype, `low` is not below `high` or the deviation is negative;
    /// [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    ///
    /// ```
    /// use tenferro_tensor::{DType, Distribution, Tensor};
    ///
    /// let dice = Tensor::random(DType::U8, [2, 3], Distribution::uniform(1, 7), 42)?;
    /// assert!(dice.as_slice::<u8>()?.iter().all(|eyes| (1..=6).contains(eyes)));
    /// let noise = Tensor::random(DType::F64, [100], Distribution::STANDARD_NORMAL, 42)?;
    /// assert_ne!(noise.get::<f64>(&[0])?, noise.get::<f64>(&[1])?);
    /// # Ok::<(), tenferro_tensor::Error>(())
    /// ```
    pub fn random(
        dtype: DType,
        extents: impl Into<Indices>,
        distribution: Distribution,
        seed: u64,
    ) -> Result<Self> {
        let shape = Shape::new(&extents.into()).map_err(|p| p.of(OP))?;
        match (dtype.class(), distribution) {
            (DTypeClass::Float | DTypeClass::Complex, Distribution::Uniform { low, high }) => {
                uniform_floats(dtype, shape, low, high, seed)
            }
            (DTypeClass::Float | DTypeClass::Complex, Distribution::Normal { mean, deviation }) => {
                normal_floats(dtype, shape, mean, deviation, seed)
            }
            (DTypeClass::Signed | DTypeClass::Unsigned, Distribution::Uniform { low, high }) => {
                uniform_integers(dtype, shape, low, high, seed)
            }
            (DTypeClass::Boolean, _) => Err(meaningless(dtype, Accepts::Number)),
            (_, Distribution::Normal { .. }) => Err(meaningless(dtype, Accepts::Inexact)),
        }
    }
}

/// The words of one element after the other: 128 bits each.
struct Words(ChaCha8Rng);

impl Words {
    fn of(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    fn next(&mut self) -> [u64; 2] {
        let first = self.0.next_u64();
        [first, self.0.next_u64()]
    }
}

fn uniform_floats(
    dtype: DType,
    shape: Shape,
    low: Factor,
    high: Factor,
    seed: u64,
) -> Result<Tensor> {
    let (Some(low), Some(high)) = (low.as_real(), high.as_real()) else {
        return Err(broken("the bounds of a distribution are real numbers"));
    };
    let width = high - low;
    if !low.is_finite() || !width.is_finite() {
        return Err(broken("the bounds and their distance must be finite"));
    }
    if low >= high {
        return Err(broken("low must be below high"));
    }
    // As many bits as the dtype's significand has: more would round, and reach 1.
    let bits = match dtype.real() {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        _ => 8,
    };
    let unit = move |word: u64| (word >> (64 - bits)) as f64 / (1_u64 << bits) as f64;
    floats(dtype, shape, seed, move |words| words.map(|word| low + width * unit(word)))
}

fn normal_floats(
    dtype: DType,
    shape: Shape,
    mean: f64,
    deviation: f64,
    seed: u64,
) -> Result<Tensor> {
    if !mean.is_finite() || !deviation.is_finite() {
        return Err(broken("mean and deviation must be finite"));
    }
    if deviation < 0.0 {
        return Err(broken("the deviation must not be negative"));
    }
    floats(dtype, shape, seed, move |words| {
        // Box and Muller (1958): a radius and an angle of two independent normal numbers.
        let [radius, angle] = words.map(|word| (word >> 11) as f64 / (1_u64 << 53) as f64);
        // Zero, which has no logarithm, becomes one.
        let radius = (-2.0 * (1.0 - radius).ln()).sqrt();
        let (sin, cos) = (TAU * angle).sin_cos();
        [cos, sin].map(|direction| mean + deviation * radius * direction)
    })
}

/// A tensor whose elements are made of two real numbers each; real dtypes take the first.
fn floats(
    dtype: DType,
    shape: Shape,
    seed: u64,
    numbers: impl Fn([u64; 2]) -> [f64; 2],
) -> Result<Tensor> {
    let place = Uninit::allocate(OP, dtype, shape)?;
    let mut words = Words::of(seed);
    let complex = dtype.is_complex();
    let mut next = move || {
        let [re, im] = numbers(words.next());
        Factor::Complex(Complex64::new(re, if complex { im } else { 0.0 }))
    };
    dispatch!(
        dtype,
        inexact T => Ok(place.filled(|| {
            <T as crate::Scalar>::from_factor(next()).expect("invariant: a float holds any number")
        })),
        else unreachable!("invariant: the dtype is a float")
    )
}

fn uniform_integers(
    dtype: DType,
    shape: Shape,
    low: Factor,
    high: Factor,
    seed: u64,
) -> Result<Tensor> {
    let (Some(low), Some(high)) = (low.as_integer(), high.as_integer()) else {
        return Err(broken("the bounds of integers are whole numbers"));
    };
    if low >= high {
        return Err(broken("low must be below high"));
    }
    dispatch!(
        dtype,
        integer T => {
            if T::try_from(low).is_err() || T::try_from(high - 1).is_err() {
                return Err(broken("the numbers leave the range of the dtype"));
            }
            let width = (high - low).unsigned_abs();
            let mut words = Words::of(seed);
            Ok(Uninit::allocate(OP, dtype, shape)?.filled(|| {
                let steps = scaled(words.next(), width);
                T::try_from(low + steps.cast_signed()).expect("invariant: between the bounds")
            }))
        },
        else unreachable!("invariant: the dtype is an integer")
    )
}

/// `floor(width x / 2^128)` for the number `x` of 128 bits; `width` is at most 2^64.
fn scaled([high, low]: [u64; 2], width: u128) -> u128 {
    (u128::from(high) * width + ((u128::from(low) * width) >> 64)) >> 64
}

fn broken(rule: &'static str) -> Error {
    Validation::Rule { rule }.of(OP)
}

fn meaningless(dtype: DType, accepts: Accepts) -> Error {
    Validation::MeaninglessDType { dtype, expected: accepts.description() }.of(OP)
}
