//! How the elements of one array look, so that they stand in columns.
//!
//! A first pass shows every printed element to [`Columns::measure`]; after it, [`Columns::element`] writes each with
//! the same width. The rules are NumPy's: shortest digits that read back as the same number, a limit of digits after
//! the point, and one notation for all elements of an array.

use std::{fmt::Write, marker::PhantomData};

use num_complex::Complex;

use crate::{
    DType, Scalar,
    display::decimal::{Decimal, Float},
};

/// The common look of an array's elements.
pub(super) trait Columns<T> {
    /// Takes an element into account.
    fn measure(&mut self, element: T);
    /// Appends an element as it looks in the array.
    fn element(&self, element: T, text: &mut String);
    /// Appends an element as it looks on its own.
    fn scalar(element: T, text: &mut String);
}

/// Whether numbers that are not negative have a sign.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Negative,
    Always,
}

impl Sign {
    fn of(self, value: f64) -> &'static str {
        match self {
            _ if value.is_sign_negative() && !value.is_nan() => "-",
            Sign::Always => "+",
            Sign::Negative => "",
        }
    }
}

/// Widths of the parts of numbers in one notation.
#[derive(Default)]
struct Widths {
    /// The sign and the digits before the point.
    whole: usize,
    fraction: usize,
    /// Digits of the exponent.
    exponent: usize,
}

impl Widths {
    fn include(&mut self, sign: &str, number: &Decimal) {
        self.whole = self.whole.max(sign.len() + number.whole.len());
        self.fraction = self.fraction.max(number.fraction.len());
        self.exponent = self.exponent.max(number.exponent_digits().len());
    }
}

/// Real floats.
pub(super) struct Reals<T> {
    digits: usize,
    sign: Sign,
    positional: Widths,
    scientific: Widths,
    /// The magnitudes of finite elements other than zero.
    smallest: f64,
    largest: f64,
    /// The width of the longest NaN or infinity.
    special: usize,
    element: PhantomData<T>,
}

impl<T: Float> Reals<T> {
    pub(super) fn new(digits: usize) -> Self {
        Self::signed(digits, Sign::Negative)
    }

    fn signed(digits: usize, sign: Sign) -> Self {
        Self {
            digits,
            sign,
            positional: Widths::default(),
            scientific: Widths::default(),
            smallest: f64::INFINITY,
            largest: 0.0,
            special: 0,
            element: PhantomData,
        }
    }

    /// Whether numbers are too large, too small or too far apart for a column of digits.
    fn is_scientific(&self) -> bool {
        let rounded = |value: f64| T::rounded(value).into();
        self.largest >= 10_f64.powi(T::DECIMALS.min(8))
            || self.smallest < rounded(1e-4)
            || rounded(self.largest / self.smallest) > 1000.0
    }

    /// The width of everything after the whole part.
    fn tail(&self) -> usize {
        if self.is_scientific() {
            self.scientific.fraction + self.scientific.exponent + ".e+".len()
        } else {
            self.positional.fraction + ".".len()
        }
    }

    fn whole(&self) -> usize {
        let widths = if self.is_scientific() { &self.scientific } else { &self.positional };
        widths.whole.max(self.special.saturating_sub(self.tail()))
    }
}

impl<T: Float> Columns<T> for Reals<T> {
    fn measure(&mut self, element: T) {
        let value: f64 = element.into();
        if !value.is_finite() {
            // A column of signed numbers leaves room for a sign before any infinity, NaN or not.
            let signed = self.sign == Sign::Always || value == f64::NEG_INFINITY;
            self.special = self.special.max("inf".len() + usize::from(signed));
            return;
        }
        if value != 0.0 {
            self.smallest = self.smallest.min(value.abs());
            self.largest = self.largest.max(value.abs());
        }
        let sign = self.sign.of(value);
        self.positional.include(sign, &Decimal::positional(element, self.digits));
        self.scientific.include(sign, &Decimal::scientific(element, self.digits));
    }

    fn element(&self, element: T, text: &mut String) {
        let value: f64 = element.into();
        let sign = self.sign.of(value);
        if !value.is_finite() {
            let width = self.whole() + self.tail();
            let word = if value.is_nan() { "nan" } else { "inf" };
            append(text, format_args!("{:>width$}", format!("{sign}{word}")));
            return;
        }
        let whole = self.whole();
        if self.is_scientific() {
            let number = Decimal::scientific(element, self.digits);
            let (fraction, exponent) = (self.scientific.fraction, self.scientific.exponent);
            append(text, format_args!("{:>whole$}", format!("{sign}{}", number.whole)));
            append(text, format_args!(".{:0<fraction$}", number.fraction));
            append(text, format_args!("e{}", number.exponent_sign()));
            append(text, format_args!("{:0>exponent$}", number.exponent_digits()));
        } else {
            let number = Decimal::positional(element, self.digits);
            let fraction = self.positional.fraction;
            append(text, format_args!("{:>whole$}", format!("{sign}{}", number.whole)));
            append(text, format_args!(".{:<fraction$}", number.fraction));
        }
    }

    fn scalar(element: T, text: &mut String) {
        scalar_digits(element, Sign::Negative, "0", text);
    }
}

/// A float on its own, with all of its digits; `after_point` follows a point without digits, which is else left out.
fn scalar_digits<T: Float>(element: T, sign: Sign, after_point: &str, text: &mut String) {
    let value: f64 = element.into();
    text.push_str(sign.of(value));
    if !value.is_finite() {
        text.push_str(if value.is_nan() { "nan" } else { "inf" });
        return;
    }
    let largest = if T::DTYPE == DType::F64 { 16 } else { T::DECIMALS };
    let size = value.abs();
    if size == 0.0 || (1e-4..10_f64.powi(largest)).contains(&size) {
        let number = Decimal::positional(element, usize::MAX);
        let fraction = if number.fraction.is_empty() { after_point } else { &number.fraction };
        let point = if fraction.is_empty() { "" } else { "." };
        append(text, format_args!("{}{point}{fraction}", number.whole));
    } else {
        let number = Decimal::scientific(element, usize::MAX);
        let point = if number.fraction.is_empty() { "" } else { "." };
        append(text, format_args!("{}{point}{}", number.whole, number.fraction));
        append(text, format_args!("e{}{}", number.exponent_sign(), number.exponent_digits()));
    }
}

/// Complex numbers: a column of real parts and one of signed imaginary parts.
pub(super) struct Complexes<R> {
    re: Reals<R>,
    im: Reals<R>,
}

impl<R: Float> Complexes<R> {
    pub(super) fn new(digits: usize) -> Self {
        Self { re: Reals::signed(digits, Sign::Negative), im: Reals::signed(digits, Sign::Always) }
    }
}

impl<R: Float> Columns<Complex<R>> for Complexes<R> {
    fn measure(&mut self, element: Complex<R>) {
        self.re.measure(element.re);
        self.im.measure(element.im);
    }

    fn element(&self, element: Complex<R>, text: &mut String) {
        self.re.element(element.re, text);
        self.im.element(element.im, text);
        text.insert(text.trim_end_matches(' ').len(), 'j');
    }

    fn scalar(element: Complex<R>, text: &mut String) {
        let re: f64 = element.re.into();
        if re == 0.0 && re.is_sign_positive() {
            scalar_digits(element.im, Sign::Negative, "", text);
            text.push('j');
        } else {
            text.push('(');
            scalar_digits(element.re, Sign::Negative, "", text);
            scalar_digits(element.im, Sign::Always, "", text);
            text.push_str("j)");
        }
    }
}

/// Integers, aligned right.
#[derive(Default)]
pub(super) struct Integers {
    width: usize,
}

impl<T: Scalar + std::fmt::Display> Columns<T> for Integers {
    fn measure(&mut self, element: T) {
        self.width = self.width.max(element.to_string().len());
    }

    fn element(&self, element: T, text: &mut String) {
        append(text, format_args!("{element:>width$}", width = self.width));
    }

    fn scalar(element: T, text: &mut String) {
        append(text, format_args!("{element}"));
    }
}

/// Truth values, as Python spells them.
pub(super) struct Truths;

impl Columns<bool> for Truths {
    fn measure(&mut self, _element: bool) {}

    fn element(&self, element: bool, text: &mut String) {
        text.push_str(if element { " True" } else { "False" });
    }

    fn scalar(element: bool, text: &mut String) {
        text.push_str(if element { "True" } else { "False" });
    }
}

fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("invariant: a string takes whatever is written");
}
