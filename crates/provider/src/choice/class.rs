//! Classes of products: those for which the same provider is expected to be the fastest.

use std::fmt;

use tenferro_tensor::DType;

use crate::Product;

/// On how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// One.
    Single,
    /// More than one.
    Wide,
}

/// What the matrices look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// No extent is much longer than another.
    Square,
    /// An extent is at least eight times another.
    Skinny,
    /// Several products.
    Batched,
}

/// A class of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// The dtype.
    pub dtype: DTypeOrder,
    /// On how many threads.
    pub span: Span,
    /// What the matrices look like.
    pub form: Form,
    /// The size: a square product of extent `2^size` is in the middle of its class.
    pub size: u8,
}

/// A dtype with the order of the dtype table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DTypeOrder(pub DType);

impl Ord for DTypeOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 as u8).cmp(&(other.0 as u8))
    }
}

impl PartialOrd for DTypeOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

const SIZES: usize = 16;
const FORMS: usize = 3;
const SPANS: usize = 2;

impl Class {
    /// How many classes there are.
    pub(super) const COUNT: usize = DType::ALL.len() * SPANS * FORMS * SIZES;

    /// The class of a request on `width` threads.
    #[must_use]
    #[inline]
    pub fn of(request: &Product<'_>, width: usize) -> Self {
        let extents = [request.m(), request.n(), request.k()];
        Self::new(request.dtype(), extents, request.batch(), width)
    }

    /// The class of `batch` products of `[m, k]` and `[k, n]`, for the extents `[m, n, k]`.
    #[must_use]
    #[inline]
    pub fn new(dtype: DType, [m, n, k]: [usize; 3], batch: usize, width: usize) -> Self {
        let span = if width > 1 { Span::Wide } else { Span::Single };
        let (least, most) = (m.min(n).min(k), m.max(n).max(k));
        let form = match batch {
            0 | 1 if most < least.max(1).saturating_mul(8) => Form::Square,
            0 | 1 => Form::Skinny,
            _ => Form::Batched,
        };
        let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(batch);
        // Half a step up, so that powers of two are in the middle.
        let size = (work.max(1).ilog2() + 1) / 3;
        let size = size.min(SIZES as u32 - 1) as u8;
        Self { dtype: DTypeOrder(dtype), span, form, size }
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        let dtype = self.dtype.0 as usize;
        let form = (dtype * SPANS + self.span as usize) * FORMS + self.form as usize;
        form * SIZES + usize::from(self.size)
    }

    /// The class that [`Display`](fmt::Display) has written so.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (dtype, span, form, size) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        let dtype = DType::ALL.iter().copied().find(|known| known.to_string() == dtype)?;
        let span = [Span::Single, Span::Wide].into_iter().find(|known| word(known) == span)?;
        let forms = [Form::Square, Form::Skinny, Form::Batched];
        let form = forms.into_iter().find(|known| word(known) == form)?;
        let size = size.parse().ok().filter(|&size| usize::from(size) < SIZES)?;
        words.next().is_none().then_some(Self { dtype: DTypeOrder(dtype), span, form, size })
    }
}

fn word(value: &dyn fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, span, form, size } = self;
        write!(f, "{} {} {} {size}", dtype.0, word(span), word(form))
    }
}
