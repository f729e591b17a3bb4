//! Windows that slide along axes: for reductions and for convolutions.
//!
//! A window of extent `e` and dilation `d` covers `d * (e - 1) + 1` places of its axis. Along a padded axis of `p`
//! places it stands `(p - covered) / stride + 1` times, and not at all if it covers more than there is.

use std::ops::Deref;

/// How a window moves along each axis.
///
/// ```
/// use tenferro_tensor::{Window, WindowAxis};
///
/// // Blocks of two along axis 0, all of axis 1 one by one.
/// let pairs = Window::from([WindowAxis { stride: 2, ..WindowAxis::of(2) }, WindowAxis::of(1)]);
/// assert_eq!(pairs[0].stride, 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window(Vec<WindowAxis>);

/// How a window moves along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowAxis {
    /// The number of elements that the window reads; at least 1.
    pub extent: usize,
    /// The distance from one window to the next; at least 1.
    pub stride: usize,
    /// The distance between the elements that the window reads; at least 1.
    pub dilation: usize,
    /// Neutral places before the first element; negative removes elements.
    pub low: isize,
    /// Neutral places after the last element; negative removes elements.
    pub high: isize,
}

impl WindowAxis {
    /// A window of `extent` neighbours at every place where it fits.
    #[must_use]
    pub const fn of(extent: usize) -> Self {
        Self { extent, stride: 1, dilation: 1, low: 0, high: 0 }
    }
}

impl Deref for Window {
    type Target = [WindowAxis];

    fn deref(&self) -> &[WindowAxis] {
        &self.0
    }
}

impl<const N: usize> From<[WindowAxis; N]> for Window {
    fn from(axes: [WindowAxis; N]) -> Self {
        Self(axes.into())
    }
}

impl From<Vec<WindowAxis>> for Window {
    fn from(axes: Vec<WindowAxis>) -> Self {
        Self(axes)
    }
}

/// How a kernel moves over an operand, and into how many groups channels fall.
///
/// Groups are runs of equal length of the operand's channels and of the kernel's results; each result sees the
/// channels of its own group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// One entry for each spatial axis.
    pub axes: Vec<ConvolutionAxis>,
    /// The number of groups; at least 1.
    pub groups: usize,
}

/// How a kernel moves along one spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvolutionAxis {
    /// The distance from one window to the next; at least 1.
    pub stride: usize,
    /// Zeros before the first element; negative removes elements.
    pub low: isize,
    /// Zeros after the last element; negative removes elements.
    pub high: isize,
    /// The distance between neighbours of the operand, with zeros in between; at least 1.
    pub lhs_dilation: usize,
    /// The distance between the elements that neighbours of the kernel meet; at least 1.
    pub rhs_dilation: usize,
}

impl ConvolutionAxis {
    /// Every place where the kernel fits, without padding and dilation.
    pub const VALID: Self = Self { stride: 1, low: 0, high: 0, lhs_dilation: 1, rhs_dilation: 1 };
}

impl Default for ConvolutionAxis {
    /// [`ConvolutionAxis::VALID`].
    fn default() -> Self {
        Self::VALID
    }
}

impl Convolution {
    /// A convolution of one group over `rank` spatial axes, at every place where the kernel fits.
    #[must_use]
    pub fn valid(rank: usize) -> Self {
        Self::from(vec![ConvolutionAxis::VALID; rank])
    }
}

impl From<Vec<ConvolutionAxis>> for Convolution {
    /// One group.
    fn from(axes: Vec<ConvolutionAxis>) -> Self {
        Self { axes, groups: 1 }
    }
}

impl<const N: usize> From<[ConvolutionAxis; N]> for Convolution {
    fn from(axes: [ConvolutionAxis; N]) -> Self {
        Self::from(axes.to_vec())
    }
}
