//! Sizes at which a template is tried, and the polynomials that explain what was seen there.
//!
//! A polynomial with squares of single axes and products of up to three is known from its finite differences around one
//! point. One more point, away from the others, must then agree: what is no such polynomial is found out.

use std::sync::Arc;

use super::extent::{Extent, Sizes};

/// The points, and which of them are how far from the first along which axes.
pub(super) struct Probes {
    axes: Arc<[Arc<str>]>,
    base: Vec<usize>,
    /// Of each point the axes along which it is one further, sorted; one that occurs twice is two further. The first has
    /// none. The last point is not among them.
    steps: Vec<Vec<usize>>,
}

impl Probes {
    pub(super) fn new(axes: &Arc<[Arc<str>]>) -> Self {
        let n = axes.len();
        let mut steps: Vec<Vec<usize>> = vec![Vec::new()];
        for i in 0..n {
            steps.extend([vec![i], vec![i, i]]);
        }
        for i in 0..n {
            for j in i + 1..n {
                steps.push(vec![i, j]);
                steps.extend((j + 1..n).map(|k| vec![i, j, k]));
            }
        }
        // No two axes have one size at any point, and none has one, which would broadcast.
        let base = (0..n).map(|axis| 11 + 16 * axis).collect();
        Self { axes: Arc::clone(axes), base, steps }
    }

    /// The points; the last one is only to check.
    pub(super) fn points(&self) -> Vec<Sizes> {
        if self.axes.is_empty() {
            return vec![Sizes::none()];
        }
        let mut points: Vec<Vec<usize>> = Vec::with_capacity(self.steps.len() + 1);
        for steps in &self.steps {
            let mut point = self.base.clone();
            steps.iter().for_each(|&axis| point[axis] += 1);
            points.push(point);
        }
        points.push(self.base.iter().enumerate().map(|(axis, size)| size + 5 + axis % 3).collect());
        points.iter().map(|point| Sizes::new(&self.axes, point)).collect()
    }

    /// The polynomial that has these values at the points; `None` if there is none.
    pub(super) fn fit(&self, values: &[i128]) -> Option<Extent> {
        let first = values[0];
        if values.iter().all(|&value| value == first) {
            return Some(Extent::number(first));
        }
        let at = |steps: &[usize]| {
            let place = self.steps.iter().position(|own| own == steps);
            values[place.expect("invariant: parts of a point's steps are a point")]
        };
        let mut sum = Extent::number(first);
        for steps in &self.steps[1..] {
            // Finite differences, and the binomials around the first point that they are the factors of.
            let (difference, binomial) = match steps[..] {
                [i] => (at(&[i]) - first, self.away(i)),
                [i, j] if i == j => {
                    let second = at(&[i, i]) - 2 * at(&[i]) + first;
                    if second % 2 != 0 {
                        return None;
                    }
                    let away = self.away(i);
                    (second / 2, away.times(&away.plus(&Extent::number(-1))))
                }
                [i, j] => {
                    let mixed = at(&[i, j]) - at(&[i]) - at(&[j]) + first;
                    (mixed, self.away(i).times(&self.away(j)))
                }
                [i, j, k] => {
                    let pairs = at(&[i, j]) + at(&[i, k]) + at(&[j, k]);
                    let mixed = at(&[i, j, k]) - pairs + at(&[i]) + at(&[j]) + at(&[k]) - first;
                    (mixed, self.away(i).times(&self.away(j)).times(&self.away(k)))
                }
                _ => unreachable!("invariant: a point is up to three steps away"),
            };
            sum = sum.plus(&binomial.times(&Extent::number(difference)));
        }
        let last = self.points().pop().expect("invariant: there is a last point");
        (sum.at(&last) == values.last().copied()).then_some(sum)
    }

    /// How far an axis is from its size at the first point.
    fn away(&self, axis: usize) -> Extent {
        let base = Extent::number(-(self.base[axis] as i128));
        Extent::axis(Arc::clone(&self.axes[axis])).plus(&base)
    }
}
