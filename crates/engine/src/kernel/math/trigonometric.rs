//! Sine, cosine and tangent. Those of `f32` are computed in `f64`.

use super::{
    Function,
    angle::{FAR, Reduced, reduced, reduced_narrow, sin_of},
};

/// The sine.
pub(super) struct Sin;

/// The cosine: the sine a quarter turn further.
pub(super) struct Cos;

/// The tangent.
pub(super) struct Tan;

#[inline(always)]
fn quarter_further(angle: Reduced<f64>) -> Reduced<f64> {
    Reduced { quarters: angle.quarters.wrapping_add(1), ..angle }
}

#[inline(always)]
fn tan_of(Reduced { quarters, sin, cos }: Reduced<f64>) -> f64 {
    let odd = quarters & 1 != 0;
    let (above, below) = if odd { (-cos, sin) } else { (sin, cos) };
    above / below
}

macro_rules! trigonometric {
    ($($Name:ident $method:ident |$angle:ident| $value:expr;)*) => {
        $(
            impl Function<f64> for $Name {
                const HAS_RARE: bool = true;

                #[inline(always)]
                fn call(x: f64) -> f64 {
                    let $angle = reduced(x);
                    $value
                }

                #[inline(always)]
                fn is_rare(x: f64) -> bool {
                    x.abs() >= FAR
                }

                fn rare(x: f64) -> f64 {
                    x.$method()
                }
            }

            impl Function<f32> for $Name {
                const HAS_RARE: bool = true;

                #[inline(always)]
                fn call(x: f32) -> f32 {
                    let $angle = reduced_narrow(f64::from(x));
                    $value as f32
                }

                #[inline(always)]
                fn is_rare(x: f32) -> bool {
                    x.abs() >= FAR as f32
                }

                fn rare(x: f32) -> f32 {
                    x.$method()
                }
            }
        )*
    };
}

trigonometric! {
    Sin sin |angle| sin_of(angle);
    Cos cos |angle| sin_of(quarter_further(angle));
    Tan tan |angle| tan_of(angle);
}
