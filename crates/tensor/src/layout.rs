//! Where a view's elements lie: a shape and a stride for each axis, in elements.
//!
//! All view arithmetic is here and is checked; views pair a layout with a pointer. A layout knows no data: the offset
//! that a step adds to the pointer is returned beside the new layout.

use smallvec::SmallVec;

use crate::{error::Validation, list::INLINE_RANK, shape::Shape};

type Checked<T> = std::result::Result<T, Validation>;

/// A shape with the distance, in elements, between neighbours along each axis.
///
/// Strides may be negative, zero (a broadcast axis) and, for an axis of extent 0 or 1, arbitrary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    strides: SmallVec<[isize; INLINE_RANK]>,
}

impl Layout {
    /// The dense column-major layout of a shape.
    #[must_use]
    pub fn column_major(shape: Shape) -> Self {
        let strides = shape.column_major_strides();
        Self { shape, strides }
    }

    /// A layout with these extents and strides (in elements).
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`] or [`Validation::WrongLength`]. Whether the layout fits some data is the view's
    /// question, see [`Layout::span`].
    pub fn strided(extents: &[usize], strides: &[isize]) -> Checked<Self> {
        let shape = Shape::new(extents)?;
        expect_length("strides", shape.rank(), strides.len())?;
        Ok(Self { shape, strides: SmallVec::from_slice(strides) })
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The strides in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Whether elements lie next to each other in column-major order.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        is_dense(&self.shape, &self.strides)
    }

    /// The lowest and highest element offset that the layout reaches; `None` for an empty one.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`] if an offset cannot be represented.
    pub fn span(&self) -> Checked<Option<(isize, isize)>> {
        if self.shape.contains(&0) {
            return Ok(None);
        }
        let (mut low, mut high) = (0_isize, 0_isize);
        for (axis, &extent) in self.shape.iter().enumerate() {
            let reach = self.reach(axis, extent - 1)?;
            let end = if reach < 0 { &mut low } else { &mut high };
            *end = end.checked_add(reach).ok_or_else(|| self.too_far())?;
        }
        Ok(Some((low, high)))
    }

    /// Whether two different indices may reach one element.
    ///
    /// Exact for everything that slicing, transposing, reversing and broadcasting make of a dense tensor; for strides
    /// made by hand it may say `true` where interleaved axes happen to miss each other.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        if self.shape.contains(&0) {
            return false;
        }
        let mut axes: SmallVec<[(usize, usize); INLINE_RANK]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|&(&extent, _)| extent > 1)
            .map(|(&extent, &stride)| (stride.unsigned_abs(), extent))
            .collect();
        axes.sort_unstable();
        let mut reach = 0_usize;
        for (stride, extent) in axes {
            if stride <= reach {
                return true;
            }
            reach = reach.saturating_add(stride.saturating_mul(extent - 1));
        }
        false
    }

    /// The layout with axis `permutation[i]` in place `i`.
    ///
    /// # Errors
    /// [`Validation::WrongLength`], [`Validation::AxisOutOfRange`] or [`Validation::DuplicateAxis`] if `permutation`
    /// does not name every axis once.
    pub fn transposed(&self, permutation: &[usize]) -> Checked<Self> {
        check_permutation(&self.shape, permutation)?;
        let extents: SmallVec<[usize; INLINE_RANK]> =
            permutation.iter().map(|&axis| self.shape[axis]).collect();
        Ok(Self {
            shape: Shape::new(&extents)?,
            strides: permutation.iter().map(|&axis| self.strides[axis]).collect(),
        })
    }

    /// The layout of indices `start`, `start + stride`, .. below `limit` along one axis, and the offset of its first.
    ///
    /// # Errors
    /// [`Validation::AxisOutOfRange`]; [`Validation::Slice`] unless `start <= limit <= extent` and `stride > 0`;
    /// [`Validation::SizeOverflow`] if an offset cannot be represented.
    pub fn sliced(
        &self,
        axis: usize,
        start: usize,
        limit: usize,
        stride: usize,
    ) -> Checked<(Self, isize)> {
        let extent = self.extent(axis)?;
        let broken = |rule| Validation::Slice { axis, start, limit, stride, extent, rule };
        if stride == 0 {
            return Err(broken("the stride must be at least 1"));
        }
        if start > limit {
            return Err(broken("the start must not be past the limit"));
        }
        if limit > extent {
            return Err(broken("the limit must not be past the extent"));
        }
        let count = (limit - start).div_ceil(stride);
        let mut sliced = self.clone();
        sliced.set_extent(axis, count)?;
        if sliced.shape.contains(&0) {
            return Ok((sliced, 0));
        }
        // With one index left the stride is never used, and any will do.
        if count > 1 {
            sliced.strides[axis] = self.reach(axis, stride)?;
        }
        Ok((sliced, self.reach(axis, start)?))
    }

    /// The layout that runs backwards along one axis, and the offset of its first element.
    ///
    /// # Errors
    /// [`Validation::AxisOutOfRange`]; [`Validation::SizeOverflow`] if an offset cannot be represented.
    pub fn reversed(&self, axis: usize) -> Checked<(Self, isize)> {
        let extent = self.extent(axis)?;
        let mut reversed = self.clone();
        if self.shape.contains(&0) || extent == 1 {
            return Ok((reversed, 0));
        }
        let stride = self.strides[axis].checked_neg();
        reversed.strides[axis] = stride.ok_or_else(|| self.too_far())?;
        Ok((reversed, self.reach(axis, extent - 1)?))
    }

    /// The layout stretched to `extents`: axes align right, extent 1 and missing axes stretch with stride 0.
    ///
    /// # Errors
    /// [`Validation::Broadcast`] if an extent neither is 1 nor agrees; [`Validation::SizeOverflow`].
    pub fn broadcast(&self, extents: &[usize]) -> Checked<Self> {
        let refused = || Validation::Broadcast { lhs: self.shape[..].into(), rhs: extents.into() };
        let missing = extents.len().checked_sub(self.shape.rank()).ok_or_else(refused)?;
        let shape = Shape::new(extents)?;
        let mut strides = SmallVec::<[isize; INLINE_RANK]>::from_elem(0, missing);
        for (axis, &extent) in self.shape.iter().enumerate() {
            strides.push(match (extent, extents[missing + axis]) {
                (own, wanted) if own == wanted => self.strides[axis],
                (1, _) => 0,
                _ => return Err(refused()),
            });
        }
        Ok(Self { shape, strides })
    }

    /// The layout whose axis `first` walks `first` and `second` together; axis `second` is gone.
    ///
    /// # Errors
    /// [`Validation::AxisOutOfRange`]; [`Validation::DuplicateAxis`] if both are one axis;
    /// [`Validation::ExtentMismatch`] if their extents differ; [`Validation::SizeOverflow`] if the stride cannot be
    /// represented.
    pub fn diagonal(&self, first: usize, second: usize) -> Checked<Self> {
        let (lhs, rhs) = (self.extent(first)?, self.extent(second)?);
        if first == second {
            return Err(Validation::DuplicateAxis { axis: first });
        }
        if lhs != rhs {
            return Err(Validation::ExtentMismatch {
                what: "diagonal",
                lhs,
                rhs,
                lhs_shape: self.shape[..].into(),
                rhs_shape: self.shape[..].into(),
            });
        }
        let mut diagonal = self.clone();
        if lhs > 1 && !self.shape.contains(&0) {
            let both = self.strides[first].checked_add(self.strides[second]);
            diagonal.strides[first] = both.ok_or_else(|| self.too_far())?;
        }
        diagonal.strides.remove(second);
        let kept: SmallVec<[usize; INLINE_RANK]> = (0..self.shape.rank())
            .filter(|&axis| axis != second)
            .map(|axis| self.shape[axis])
            .collect();
        diagonal.shape = Shape::new(&kept)?;
        Ok(diagonal)
    }

    /// The layout of the same elements, in column-major order, under other extents, where strides allow it.
    ///
    /// # Errors
    /// [`Validation::ElementCount`] if the numbers of elements differ; [`Validation::NotDense`] if no strides
    /// describe the result, so that the elements must be copied first; [`Validation::SizeOverflow`] if a stride cannot
    /// be represented.
    pub fn reshaped(&self, extents: &[usize]) -> Checked<Self> {
        let shape = Shape::new(extents)?;
        let elements = self.shape.elements();
        if shape.elements() != elements {
            return Err(Validation::ElementCount {
                shape: extents.into(),
                expected: shape.elements(),
                actual: elements,
            });
        }
        if elements == 0 || self.is_dense() {
            return Ok(Self::column_major(shape));
        }
        let not_dense = || Validation::NotDense { shape: self.shape[..].into() };
        let mut runs = self.runs().into_iter();
        let (mut left, mut stride) = (1, 0);
        let mut strides = SmallVec::with_capacity(extents.len());
        for &extent in extents {
            if extent > 1 && left == 1 {
                (left, stride) = runs.next().ok_or_else(not_dense)?;
            }
            if left % extent != 0 {
                return Err(not_dense());
            }
            strides.push(if extent == 1 { 0 } else { stride });
            left /= extent;
            if left > 1 {
                stride = stride.checked_mul(extent.cast_signed()).ok_or_else(|| self.too_far())?;
            }
        }
        Ok(Self { shape, strides })
    }

    /// Axes merged as far as one stride walks them: `(elements, stride)`, first axis first, without extents of 1.
    fn runs(&self) -> SmallVec<[(usize, isize); INLINE_RANK]> {
        let mut runs = SmallVec::<[(usize, isize); INLINE_RANK]>::new();
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            match runs.last_mut() {
                _ if extent == 1 => {}
                Some((count, step)) if step.checked_mul(count.cast_signed()) == Some(stride) => {
                    *count *= extent;
                }
                _ => runs.push((extent, stride)),
            }
        }
        runs
    }

    /// The layout with an axis of extent 1 before axis `axis`.
    ///
    /// # Errors
    /// [`Validation::AxisOutOfRange`] if `axis` is past the rank.
    pub fn with_unit_axis(&self, axis: usize) -> Checked<Self> {
        if axis > self.shape.rank() {
            return Err(Validation::AxisOutOfRange { axis, shape: self.shape[..].into() });
        }
        let mut extents = SmallVec::<[usize; INLINE_RANK]>::from_slice(&self.shape);
        extents.insert(axis, 1);
        let mut strides = self.strides.clone();
        strides.insert(axis, 0);
        Ok(Self { shape: Shape::new(&extents)?, strides })
    }

    /// The offset, in elements, of an index.
    ///
    /// # Errors
    /// [`Validation::WrongLength`] or [`Validation::IndexOutOfRange`]; [`Validation::SizeOverflow`] if the offset cannot
    /// be represented.
    pub fn offset(&self, index: &[usize]) -> Checked<isize> {
        expect_length("index", self.shape.rank(), index.len())?;
        let mut offset = 0;
        for (axis, (&at, &extent)) in index.iter().zip(&*self.shape).enumerate() {
            if at >= extent {
                let index = i64::try_from(at).unwrap_or(i64::MAX);
                return Err(Validation::IndexOutOfRange { index, axis, extent });
            }
            let reach = self.reach(axis, at)?;
            offset = reach.checked_add(offset).ok_or_else(|| self.too_far())?;
        }
        Ok(offset)
    }

    /// How far `steps` steps along an axis lead; at most as many as a shape can have.
    fn reach(&self, axis: usize, steps: usize) -> Checked<isize> {
        self.strides[axis].checked_mul(steps.cast_signed()).ok_or_else(|| self.too_far())
    }

    /// An offset that cannot be represented: strides made by hand that no data can have.
    fn too_far(&self) -> Validation {
        Validation::SizeOverflow { shape: self.shape[..].into() }
    }

    fn extent(&self, axis: usize) -> Checked<usize> {
        self.shape
            .get(axis)
            .copied()
            .ok_or_else(|| Validation::AxisOutOfRange { axis, shape: self.shape[..].into() })
    }

    fn set_extent(&mut self, axis: usize, extent: usize) -> Checked<()> {
        let mut extents = SmallVec::<[usize; INLINE_RANK]>::from_slice(&self.shape);
        extents[axis] = extent;
        self.shape = Shape::new(&extents)?;
        Ok(())
    }
}

/// Whether these strides put elements next to each other in column-major order.
pub(crate) fn is_dense(extents: &[usize], strides: &[isize]) -> bool {
    if extents.contains(&0) {
        return true;
    }
    let mut next = 1;
    extents.iter().zip(strides).all(|(&extent, &stride)| {
        let dense = extent == 1 || stride == next;
        next *= extent.cast_signed();
        dense
    })
}

fn expect_length(what: &'static str, expected: usize, actual: usize) -> Checked<()> {
    if expected == actual {
        Ok(())
    } else {
        Err(Validation::WrongLength { what, expected, actual })
    }
}

/// Checks that `permutation` names every axis of `extents` once.
fn check_permutation(extents: &[usize], permutation: &[usize]) -> Checked<()> {
    expect_length("permutation", extents.len(), permutation.len())?;
    for (place, &axis) in permutation.iter().enumerate() {
        if axis >= extents.len() {
            return Err(Validation::AxisOutOfRange { axis, shape: extents.into() });
        }
        if permutation[..place].contains(&axis) {
            return Err(Validation::DuplicateAxis { axis });
        }
    }
    Ok(())
}
