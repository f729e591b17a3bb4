//! Sine, cosine and tangent. Those of `f32` are computed in `f64`.

use super::{
    Function,
    angle::{FAR, Reduced, cos_narrow, reduced, reduced_narrow, sin_narrow, sin_of},
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
    ($($Name:ident $method:ident |$x:ident| $wide:expr, $narrow:expr;)*) => {
        $(
            impl Function<f64> for $Name {
                const HAS_RARE: bool = true;

                #[inline(always)]
                fn call($x: f64) -> f64 {
                    $wide
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
                    let $x = f64::from(x);
                    $narrow as f32
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
    Sin sin |x| sin_of(reduced(x)), sin_narrow(x);
    Cos cos |x| sin_of(quarter_further(reduced(x))), cos_narrow(x);
    Tan tan |x| tan_of(reduced(x)), tan_of(reduced_narrow(x));
}
