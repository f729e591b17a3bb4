//! Finite floats in decimal: the shortest digits that read back as the same number, cut to a number of digits.
//!
//! Digits are those of the element's own dtype: 0.1 in f16 is `0.1`, not the seventeen digits of its exact value.

use crate::{DType, Factor, Scalar};

/// A real float of the dtype table; its value is exact in `f64`.
pub(super) trait Float: Scalar + Into<f64> {
    /// How many decimal digits always survive: `floor(p log10 2)` for `p` bits of fraction.
    const DECIMALS: i32 = match Self::DTYPE {
        DType::F64 => 15,
        DType::F32 => 6,
        DType::F16 => 3,
        _ => 2,
    };

    /// The nearest value of this type.
    fn rounded(value: f64) -> Self {
        Self::from_factor(Factor::Real(value)).expect("invariant: a float holds any real factor")
    }
}

impl<T: Scalar + Into<f64> + num_traits::Float> Float for T {}

/// The magnitude of a finite number in decimal.
pub(super) struct Decimal {
    /// Digits before the point.
    pub(super) whole: String,
    /// Digits after the point, without zeros at the end.
    pub(super) fraction: String,
    exponent: i32,
}

impl Decimal {
    /// The number without an exponent, with at most `digits` digits after the point.
    pub(super) fn positional<T: Float>(element: T, digits: usize) -> Self {
        let (significant, exponent) = shortest(element);
        let places = significant.len() as i32 - 1 - exponent;
        if usize::try_from(places).is_ok_and(|places| places > digits) {
            let text = format!("{:.digits$}", magnitude(element));
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            return Self::new(whole, fraction, 0);
        }
        let point = exponent + 1;
        let zeros = |count: i32| "0".repeat(count.unsigned_abs() as usize);
        if point <= 0 {
            Self::new("0", &(zeros(point) + &significant), 0)
        } else if places <= 0 {
            Self::new(&(significant + &zeros(places)), "", 0)
        } else {
            let (whole, fraction) = significant.split_at(point.unsigned_abs() as usize);
            Self::new(whole, fraction, 0)
        }
    }

    /// The number with one digit before the point, at most `digits` digits after it, and an exponent.
    pub(super) fn scientific<T: Float>(element: T, digits: usize) -> Self {
        let (significant, exponent) = shortest(element);
        if significant.len() - 1 > digits {
            let (cut, exponent) = parts(&format!("{:.digits$e}", magnitude(element)));
            return Self::led(&cut, exponent);
        }
        Self::led(&significant, exponent)
    }

    pub(super) fn exponent_sign(&self) -> char {
        if self.exponent < 0 { '-' } else { '+' }
    }

    /// The digits of the exponent, at least two.
    pub(super) fn exponent_digits(&self) -> String {
        format!("{:02}", self.exponent.unsigned_abs())
    }

    /// The number with the first of these digits before the point.
    fn led(significant: &str, exponent: i32) -> Self {
        let (whole, fraction) = significant.split_at(1);
        Self::new(whole, fraction, exponent)
    }

    fn new(whole: &str, fraction: &str, exponent: i32) -> Self {
        let fraction = fraction.trim_end_matches('0').to_owned();
        Self { whole: whole.to_owned(), fraction, exponent }
    }
}

fn magnitude<T: Float>(element: T) -> f64 {
    Into::<f64>::into(element).abs()
}

/// The fewest digits that read back as this number, and the exponent of the first.
///
/// Of two equally near candidates the even one is taken, as NumPy does.
fn shortest<T: Float>(element: T) -> (String, i32) {
    let value = magnitude(element);
    let fewest = match T::DTYPE {
        DType::F64 => parts(&format!("{value:e}")),
        DType::F32 => parts(&format!("{:e}", value as f32)),
        _ => return searched(element),
    };
    let even = parts(&format!("{value:.*e}", fewest.0.len() - 1));
    if reads_back(element, &even) { even } else { fewest }
}

/// As [`shortest`], for types that the standard library does not print.
fn searched<T: Float>(element: T) -> (String, i32) {
    let value = magnitude(element);
    // Below a power of two neighbours are twice as near as above it, so that only the upper candidate may do.
    (0..17)
        .flat_map(|digits| [value, value.next_up()].map(|near| parts(&format!("{near:.digits$e}"))))
        .find(|candidate| reads_back(element, candidate))
        .expect("invariant: 17 digits tell any two floats apart")
}

fn reads_back<T: Float>(element: T, (digits, exponent): &(String, i32)) -> bool {
    let (first, rest) = digits.split_at(1);
    let read: f64 = format!("{first}.{rest}e{exponent}")
        .parse()
        .expect("invariant: a formatted float is a float");
    Into::<f64>::into(T::rounded(read)) == magnitude(element)
}

/// The significant digits, and the exponent of the first, of a number in Rust's scientific notation.
fn parts(text: &str) -> (String, i32) {
    let (digits, exponent) = text.split_once('e').expect("invariant: the notation has an exponent");
    let exponent = exponent.parse().expect("invariant: the exponent is a number");
    (digits.replace('.', ""), exponent)
}
