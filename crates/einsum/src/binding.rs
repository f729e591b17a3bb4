//! Subscripts bound to shapes: labels become numbered indices with one extent each.
//!
//! Behind this point nobody sees a label or an ellipsis. An axis that an ellipsis stretches has no index: its operand is
//! simply without it, so that nothing is ever multiplied by copies of itself.

use tenferro_tensor::Shape;

use crate::{Error, Label, Result, Subscripts};

/// The number of a label, or of one axis of the ellipsis, within a binding.
pub(super) type Index = usize;

/// What subscripts mean for operands of given shapes.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// The index of each axis of each operand; `None` for an axis of extent 1 that an ellipsis stretches.
    pub(super) inputs: Vec<Vec<Option<Index>>>,
    /// The index of each axis of the output; repeated where it embeds a diagonal.
    pub(super) output: Vec<Index>,
    /// The extent of each index.
    pub(super) extents: Vec<usize>,
}

/// An index with the place that gave it its extent.
struct Named {
    label: Label,
    operand: usize,
    extent: usize,
}

/// One axis of the ellipsis: its joint extent so far, and the operand that it comes from.
struct Stretched {
    operand: usize,
    extent: usize,
}

impl Binding {
    /// Binds subscripts to the shapes of operands.
    pub(super) fn new(subscripts: &Subscripts, shapes: &[&Shape]) -> Result<Self> {
        check_counts(subscripts, shapes)?;
        let ellipsis = stretch(subscripts, shapes)?;
        if !ellipsis.is_empty() && !subscripts.output().contains(&Label::Ellipsis) {
            return Err(Error::LostEllipsis { axes: ellipsis.len() });
        }
        // The ellipsis takes the first indices: index `i` is its axis `i` from the last.
        let mut extents: Vec<usize> = ellipsis.iter().map(|axis| axis.extent).collect();
        let named = name(subscripts, shapes)?;
        let first_named = extents.len();
        extents.extend(named.iter().map(|index| index.extent));
        let index_of = |label: Label| {
            let found = named.iter().position(|index| index.label == label);
            first_named + found.expect("invariant: every label of the output is in an operand")
        };

        let mut inputs = Vec::with_capacity(shapes.len());
        for (labels, shape) in subscripts.inputs().iter().zip(shapes) {
            let width = ellipsis_width(labels, shape);
            let mut indices = Vec::with_capacity(shape.rank());
            for &label in labels {
                if label != Label::Ellipsis {
                    indices.push(Some(index_of(label)));
                    continue;
                }
                for from_last in (0..width).rev() {
                    let extent = shape[indices.len()];
                    indices.push((extent == extents[from_last]).then_some(from_last));
                }
            }
            inputs.push(indices);
        }

        let mut output = Vec::new();
        for &label in subscripts.output() {
            match label {
                Label::Ellipsis => output.extend((0..ellipsis.len()).rev()),
                label => output.push(index_of(label)),
            }
        }
        Ok(Self { inputs, output, extents })
    }
}

/// How many axes of an operand its ellipsis stands for.
fn ellipsis_width(labels: &[Label], shape: &Shape) -> usize {
    shape.rank() - labels.iter().filter(|&&label| label != Label::Ellipsis).count()
}

/// Refuses operands that are too few or too many, or whose axes the labels do not cover.
fn check_counts(subscripts: &Subscripts, shapes: &[&Shape]) -> Result<()> {
    if shapes.is_empty() {
        return Err(Error::NoOperands);
    }
    let expected = subscripts.inputs().len();
    if shapes.len() != expected {
        let subscripts = subscripts.to_string();
        return Err(Error::OperandCount { subscripts, expected, actual: shapes.len() });
    }
    for (operand, (labels, shape)) in subscripts.inputs().iter().zip(shapes).enumerate() {
        let ellipsis = labels.contains(&Label::Ellipsis);
        let named = labels.len() - usize::from(ellipsis);
        let fits = if ellipsis { shape.rank() >= named } else { shape.rank() == named };
        if !fits {
            return Err(Error::LabelCount {
                operand,
                labels: labels.iter().map(Label::to_string).collect(),
                wanted: if ellipsis { "at least" } else { "exactly" },
                named,
                rank: shape.rank(),
            });
        }
    }
    Ok(())
}

/// The joint axes of all ellipses, the last one first.
fn stretch(subscripts: &Subscripts, shapes: &[&Shape]) -> Result<Vec<Stretched>> {
    let mut joint: Vec<Stretched> = Vec::new();
    for (operand, (labels, shape)) in subscripts.inputs().iter().zip(shapes).enumerate() {
        let Some(before) = labels.iter().position(|&label| label == Label::Ellipsis) else {
            continue;
        };
        let axes = &shape[before..before + ellipsis_width(labels, shape)];
        for (from_last, &extent) in axes.iter().rev().enumerate() {
            match joint.get_mut(from_last) {
                None => joint.push(Stretched { operand, extent }),
                Some(axis) if axis.extent == extent || extent == 1 => {}
                Some(axis) if axis.extent == 1 => *axis = Stretched { operand, extent },
                Some(axis) => {
                    return Err(Error::EllipsisMismatch {
                        from_last: from_last + 1,
                        lhs_operand: axis.operand,
                        lhs: axis.extent,
                        rhs_operand: operand,
                        rhs: extent,
                    });
                }
            }
        }
    }
    Ok(joint)
}

/// The labels of all operands in order of appearance, each with its one extent.
fn name(subscripts: &Subscripts, shapes: &[&Shape]) -> Result<Vec<Named>> {
    let mut named: Vec<Named> = Vec::new();
    for (operand, (labels, shape)) in subscripts.inputs().iter().zip(shapes).enumerate() {
        let mut axis = 0;
        for &label in labels {
            if label == Label::Ellipsis {
                axis += ellipsis_width(labels, shape);
                continue;
            }
            let extent = shape[axis];
            axis += 1;
            match named.iter().find(|index| index.label == label) {
                None => named.push(Named { label, operand, extent }),
                Some(index) if index.extent == extent => {}
                Some(index) => {
                    return Err(Error::ExtentMismatch {
                        label,
                        lhs_operand: index.operand,
                        lhs: index.extent,
                        rhs_operand: operand,
                        rhs: extent,
                    });
                }
            }
        }
    }
    Ok(named)
}
