//! A plan: what einsum will do for operands of given shapes, before any of it is done.
//!
//! Everything that can be refused without touching an element is refused here: counts, extents, sizes of intermediates
//! and the path. A plan knows neither dtypes nor strides; the order of axes within a step is chosen when it runs.

use tenferro_ops::{Builder, Engine, Meta};
use tenferro_tensor::{DType, Indices, Operand, Shape, Tensor, TensorStructural};

use crate::{
    AsSubscripts, Error, Path, Result,
    binding::{Binding, Index},
    calls::{Held, OnBuilder, OnEngine},
    execution,
    path::take_pair,
};

/// The steps of an einsum for operands of given shapes. It can be run any number of times.
///
/// ```
/// use tenferro_einsum::{Path, Plan};
/// use tenferro_tensor::{DType, Shape};
///
/// let shapes = [Shape::new(&[2, 3]), Shape::new(&[3, 4])].map(|shape| shape.expect("small"));
/// let plan = Plan::new("ij,jk->ik", &[&shapes[0], &shapes[1]], &Path::LeftToRight)?;
/// assert_eq!(plan.cost(DType::F64).flops, 2.0 * (2 * 3 * 4) as f64);
/// # Ok::<(), tenferro_einsum::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    shapes: Vec<Shape>,
    pub(super) binding: Binding,
    pub(super) steps: Vec<Step>,
    output: Shape,
    /// What is added up when there is one operand and therefore no step.
    alone: Work,
}

/// One contraction of two operands.
#[derive(Clone, Debug)]
pub struct Step {
    pub(super) pair: (usize, usize),
    /// Indices of both operands that nobody needs later: summed over by the product.
    pub(super) contracted: Vec<Index>,
    /// Indices of the result. What is in neither list is summed out of its one operand first.
    pub(super) kept: Vec<Index>,
    elements: usize,
    work: Work,
}

/// How many operations on elements something takes. Counts are floats: they may exceed any integer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    additions: f64,
    multiplications: f64,
    multiply_adds: f64,
}

impl Work {
    /// Floating point operations: a multiply-add is 2 for real numbers and 8 for complex ones.
    fn flops(self, dtype: DType) -> f64 {
        let (add, multiply, multiply_add) =
            if dtype.is_complex() { (2.0, 6.0, 8.0) } else { (1.0, 1.0, 2.0) };
        self.additions * add + self.multiplications * multiply + self.multiply_adds * multiply_add
    }
}

/// What a plan costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Operations on real numbers: a real multiply-add counts 2, a complex one 8.
    pub flops: f64,
    /// Elements of the largest result of any step, the last one included.
    pub largest_intermediate: usize,
}

impl Step {
    /// The positions of the two operands in the list of what is left; the result goes to its end.
    #[must_use]
    pub fn pair(&self) -> (usize, usize) {
        self.pair
    }

    /// The number of elements of the result.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The operations on real numbers that the step takes; see [`Cost::flops`].
    #[must_use]
    pub fn flops(&self, dtype: DType) -> f64 {
        self.work.flops(dtype)
    }
}

impl Plan {
    /// Plans for operands of these shapes.
    ///
    /// # Errors
    /// Any [`Error`] but those of running: subscripts that cannot be read, counts, extents and paths that do not fit, and
    /// `SizeOverflow` for an intermediate that cannot be addressed.
    pub fn new(
        subscripts: &(impl AsSubscripts + ?Sized),
        shapes: &[&Shape],
        path: &Path,
    ) -> Result<Self> {
        let subscripts = subscripts.as_subscripts()?;
        let binding = Binding::new(&subscripts, shapes)?;
        let pairs = path.pairs(shapes.len())?;
        let output = shape_of(&binding.output, &binding.extents)?;
        let steps = Planning::new(&binding).steps(&pairs)?;
        let mut alone = Work::default();
        if let [axes] = &binding.inputs[..] {
            let kept = distinct(binding.output.iter().copied());
            let all = distinct(axes.iter().flatten().copied());
            if kept.len() < all.len() {
                alone.additions = count(&all, &binding.extents);
            }
        }
        let shapes = shapes.iter().map(|&shape| shape.clone()).collect();
        Ok(Self { shapes, binding, steps, output, alone })
    }

    /// The same plan with the axes of its result in reverse order.
    ///
    /// Elements of that result in column-major order are those of the original one in row-major order, which is how to
    /// make a row-major result without a copy.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.binding.output.reverse();
        self.output = shape_of(&self.binding.output, &self.binding.extents)
            .expect("invariant: the product of extents does not depend on their order");
        self
    }

    /// The contractions, first to last; empty for one operand.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The extents of the result.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.output
    }

    /// What the plan costs for operands of this dtype.
    #[must_use]
    pub fn cost(&self, dtype: DType) -> Cost {
        let largest = self.steps.iter().map(Step::elements).max().unwrap_or(0);
        Cost {
            flops: self.alone.flops(dtype)
                + self.steps.iter().map(|step| step.flops(dtype)).sum::<f64>(),
            largest_intermediate: largest.max(self.output.elements()),
        }
    }

    /// Contracts the operands.
    ///
    /// # Errors
    /// [`Error::OtherShape`] for operands that the plan was not made for; [`Error::MixedDTypes`]; what the engine refuses.
    pub fn run(&self, engine: &mut dyn Engine, operands: &[Operand<'_>]) -> Result<Tensor> {
        self.run_watched(engine, operands, &mut |_| ())
    }

    /// Contracts the operands, and calls `done` after each step.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn run_watched(
        &self,
        engine: &mut dyn Engine,
        operands: &[Operand<'_>],
        done: &mut dyn FnMut(&Step),
    ) -> Result<Tensor> {
        self.check(operands.iter().map(|operand| (operand.shape(), operand.dtype())))?;
        let mut calls = OnEngine { engine, operands };
        match execution::run(self, &mut calls, done)? {
            Held::Made(tensor) => Ok(tensor),
            // An operand with other axes, or as it was: a copy.
            Held::Given(view) => {
                Ok(engine.transpose(&view, Indices::from_iter(0..view.shape().rank()))?)
            }
        }
    }

    /// Contracts values of a builder: variables, so that the result has a derivative, or values of a program, which records it.
    ///
    /// The calls are those of [`Plan::run`], with transposes and reshapes where an engine takes views.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn build<B: Builder + ?Sized>(
        &self,
        builder: &mut B,
        operands: &[B::Value],
    ) -> Result<B::Value> {
        let metas: Vec<Meta> = operands.iter().map(|operand| builder.meta(operand)).collect();
        self.check(metas.iter().map(|meta| (&meta.shape, meta.dtype)))?;
        execution::run(self, &mut OnBuilder { builder, operands }, &mut |_| ())
    }

    fn check<'s>(
        &self,
        operands: impl ExactSizeIterator<Item = (&'s Shape, DType)> + Clone,
    ) -> Result<()> {
        if operands.len() != self.shapes.len() {
            return Err(Error::OtherShape { operand: operands.len().min(self.shapes.len()) });
        }
        let mut pairs = operands.clone().zip(&self.shapes);
        if let Some(operand) = pairs.position(|((given, _), planned)| given != planned) {
            return Err(Error::OtherShape { operand });
        }
        let mut dtypes = operands.map(|(_, dtype)| dtype).enumerate();
        let (_, first) = dtypes.next().expect("invariant: a plan has an operand");
        match dtypes.find(|(_, dtype)| *dtype != first) {
            Some((operand, dtype)) => Err(Error::MixedDTypes { first, operand, dtype }),
            None => Ok(()),
        }
    }
}

/// The state of planning: which indices the operands left have, and how many still need each.
struct Planning<'a> {
    extents: &'a [usize],
    left: Vec<Vec<Index>>,
    /// How many of the operands left, and the output, have each index.
    users: Vec<usize>,
}

impl<'a> Planning<'a> {
    fn new(binding: &'a Binding) -> Self {
        let left: Vec<Vec<Index>> =
            binding.inputs.iter().map(|axes| distinct(axes.iter().flatten().copied())).collect();
        let mut users = vec![0; binding.extents.len()];
        let output = distinct(binding.output.iter().copied());
        left.iter().chain([&output]).flatten().for_each(|&index| users[index] += 1);
        Self { extents: &binding.extents, left, users }
    }

    fn steps(mut self, pairs: &[(usize, usize)]) -> Result<Vec<Step>> {
        pairs.iter().map(|&pair| self.step(pair)).collect()
    }

    fn step(&mut self, pair: (usize, usize)) -> Result<Step> {
        let (lhs, rhs) = take_pair(&mut self.left, pair);
        lhs.iter().chain(&rhs).for_each(|&index| self.users[index] -= 1);
        let all = distinct(lhs.iter().chain(&rhs).copied());
        let (kept, gone): (Vec<Index>, Vec<Index>) =
            all.into_iter().partition(|&index| self.users[index] > 0);
        let contracted: Vec<Index> =
            gone.into_iter().filter(|index| lhs.contains(index) && rhs.contains(index)).collect();
        let work = self.work(&[&lhs, &rhs], &contracted, &kept);
        let elements = shape_of(&kept, self.extents)?.elements();
        kept.iter().for_each(|&index| self.users[index] += 1);
        self.left.push(kept.clone());
        Ok(Step { pair, contracted, kept, elements, work })
    }

    /// Sums of single operands first, then the product over all that is left.
    fn work(&self, operands: &[&Vec<Index>], contracted: &[Index], kept: &[Index]) -> Work {
        let mut work = Work::default();
        for indices in operands {
            if indices.iter().any(|index| !contracted.contains(index) && !kept.contains(index)) {
                work.additions += count(indices, self.extents);
            }
        }
        let products = count(contracted, self.extents) * count(kept, self.extents);
        if contracted.is_empty() {
            work.multiplications = products;
        } else {
            work.multiply_adds = products;
        }
        work
    }
}

/// Every index once, in order of appearance.
pub(super) fn distinct(indices: impl Iterator<Item = Index>) -> Vec<Index> {
    let mut seen = Vec::new();
    for index in indices {
        if !seen.contains(&index) {
            seen.push(index);
        }
    }
    seen
}

fn count(indices: &[Index], extents: &[usize]) -> f64 {
    indices.iter().map(|&index| extents[index] as f64).product()
}

fn shape_of(indices: &[Index], extents: &[usize]) -> Result<Shape> {
    let extents: Vec<usize> = indices.iter().map(|&index| extents[index]).collect();
    Shape::new(&extents).map_err(|problem| Error::Tensor(problem.of("einsum")))
}
