//! The elements of constants as text that reads back to the same bits.

use std::fmt::Write;

use tenferro_ops::Meta;
use tenferro_tensor::{Scalar, Tensor, dispatch, dtypes};

/// An element type whose elements have an exact text.
trait Literal: Scalar {
    fn write(self, text: &mut String);

    fn read(text: &str) -> Option<Self>;
}

macro_rules! define_literals {
    (float [$($F:ident: $float:ty = $fname:literal),*]
     half [$($H:ident: $half:ty = $hname:literal),*]
     complex [$($C:ident: $complex:ty = $cname:literal),*]
     signed [$($S:ident: $signed:ty = $sname:literal),*]
     unsigned [$($U:ident: $unsigned:ty = $uname:literal),*]
     boolean [$($B:ident: $boolean:ty = $bname:literal),*]) => {
        $(define_literals!(@float $float, |x: $float| x, |x: $float| x);)*
        // The shortest text of the f32 that a half is names it.
        $(define_literals!(@float $half, |x: $half| x.to_f32(), <$half>::from_f32);)*
        $(impl Literal for $complex {
            fn write(self, text: &mut String) {
                text.push('(');
                self.re.write(text);
                text.push_str(", ");
                self.im.write(text);
                text.push(')');
            }

            fn read(text: &str) -> Option<Self> {
                let (re, im) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
                Some(Self::new(Literal::read(re.trim())?, Literal::read(im.trim())?))
            }
        })*
        $(define_literals!(@exact $signed);)*
        $(define_literals!(@exact $unsigned);)*
        $(define_literals!(@exact $boolean);)*
    };
    (@float $ty:ty, $to:expr, $from:expr) => {
        impl Literal for $ty {
            /// A NaN other than the usual one is written by its bits.
            fn write(self, text: &mut String) {
                if self.is_nan() && self.to_bits() != <$ty>::NAN.to_bits() {
                    put(text, format_args!("NaN:{:x}", self.to_bits()));
                } else {
                    put(text, format_args!("{:?}", $to(self)));
                }
            }

            fn read(text: &str) -> Option<Self> {
                if let Some(bits) = text.strip_prefix("NaN:") {
                    let bits = u64::from_str_radix(bits, 16).ok()?;
                    return Some(<$ty>::from_bits(bits.try_into().ok()?)).filter(|x| x.is_nan());
                }
                if text == "NaN" {
                    return Some(<$ty>::NAN);
                }
                text.parse().ok().map($from)
            }
        }
    };
    (@exact $ty:ty) => {
        impl Literal for $ty {
            fn write(self, text: &mut String) {
                put(text, format_args!("{self}"));
            }

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    };
}

dtypes!(define_literals,);

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("invariant: a string takes what is written");
}

/// The elements in column-major order, in brackets unless there are no axes.
pub(crate) fn written(tensor: &Tensor) -> String {
    let mut text = String::new();
    dispatch!(tensor.dtype(), any T => {
        let elements = tensor.as_slice::<T>().expect("invariant: it is asked for its own dtype");
        for (place, &element) in elements.iter().enumerate() {
            if place > 0 {
                text.push_str(", ");
            }
            Literal::write(element, &mut text);
        }
    });
    if tensor.rank() == 0 { text } else { format!("[{text}]") }
}

/// The tensor of this dtype and shape whose elements are these; else the number of the first that is none, or `Err` of
/// `None` if there are too few or many.
pub(super) fn read(
    meta: &Meta,
    elements: &[&str],
) -> Result<tenferro_tensor::Result<Tensor>, Option<usize>> {
    if elements.len() != meta.shape.elements() {
        return Err(None);
    }
    dispatch!(meta.dtype, any T => {
        let mut values: Vec<T> = Vec::with_capacity(elements.len());
        for (place, element) in elements.iter().enumerate() {
            values.push(Literal::read(element).ok_or(Some(place))?);
        }
        Ok(Tensor::from_vec_col_major(&meta.shape[..], values))
    })
}
