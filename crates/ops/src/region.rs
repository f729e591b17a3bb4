//! A fused region: elementwise steps of one shape, carried out in one go.
//!
//! A region is data. It says which rows of the vocabulary follow each other and which of their values are wanted; an
//! engine may run it through in blocks that stay in its cache. It computes what its steps compute one after the other,
//! bit for bit, and fails as they do. It knows no layout: operands of any strides broadcast into it.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

use smallvec::SmallVec;
use tenferro_tensor::{
    AsOperand, Operand, OperandMut, Primitive, Reduction, Result, Shape, Tensor, Validation,
    Vocabulary,
};

use crate::{Meta, builder::stretching, destination::check_destination, infer};

/// A value of a region: an operand or the result of a step, by number; operands come first.
pub type Place = u16;

/// A step of a region: an elementwise or analytic row on values before it.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionStep {
    /// The row.
    pub primitive: Primitive,
    /// The values that it reads.
    pub operands: SmallVec<[Place; 3]>,
}

/// Something that a region returns.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionResult {
    /// The elements of a step's value.
    Value(Place),
    /// What a reduction makes of a step's value, which exists nowhere as a whole.
    Reduced(Place, Reduction),
}

/// The results of a region, in its order.
pub type Results = SmallVec<[Tensor; 2]>;

/// A straight line of elementwise steps of one shape. Immutable, and cheap to clone.
///
/// ```
/// use tenferro_ops::{Engine, Meta, Region, RegionResult, RegionStep, reference::Reference};
/// use tenferro_tensor::{AsOperand, Elementwise, Tensor};
///
/// let x = Tensor::from_vec_col_major([2], vec![1.0_f64, 3.0])?;
/// let step = |row: Elementwise, lhs, rhs| RegionStep {
///     primitive: row.into(),
///     operands: [lhs, rhs].into_iter().collect(),
/// };
/// let steps = vec![step(Elementwise::Mul, 0, 0), step(Elementwise::Add, 1, 0)];
/// let results = vec![RegionResult::Value(2)];
/// let region = Region::new(x.shape().clone(), vec![Meta::of(&x)], steps, results)?;
/// let results = Reference.run_region(&region, &mut [x.as_operand().into()])?;
/// assert_eq!(results[0].as_slice::<f64>()?, &[2.0, 12.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Region {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    shape: Shape,
    inputs: Vec<Meta>,
    steps: Vec<RegionStep>,
    /// The metas of the steps' values.
    metas: Vec<Meta>,
    results: Vec<RegionResult>,
    result_metas: Vec<Meta>,
    plan: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// What an engine has made of a region.
pub enum Planned<'r, P> {
    /// Kept by the region, for the next run.
    Kept(&'r P),
    /// Made for this run, since another engine's plan is kept.
    Fresh(Box<P>),
}

impl<P> std::ops::Deref for Planned<'_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        match self {
            Planned::Kept(plan) => plan,
            Planned::Fresh(plan) => plan,
        }
    }
}

impl Region {
    /// The most values of a region.
    pub const MOST: usize = Place::MAX as usize;

    /// The region of this shape, to which operands like these stretch: right-aligned, extents of 1 and missing axes.
    ///
    /// # Errors
    /// [`Validation::Broadcast`] for an operand that does not stretch to the shape; what the rules of the rows refuse;
    /// [`Validation::Rule`] for a row of another family, no step at all, more values than [`Region::MOST`], a step that
    /// reads a later value, and a result that is not a step's, is wanted twice, or is reduced in more than one way.
    pub fn new(
        shape: Shape,
        inputs: Vec<Meta>,
        steps: Vec<RegionStep>,
        results: Vec<RegionResult>,
    ) -> Result<Self> {
        let rule = |rule| Validation::Rule { rule }.of("region");
        if steps.is_empty() || inputs.len() + steps.len() > Self::MOST {
            return Err(rule("a region has steps, and fewer values than 65536"));
        }
        for input in &inputs {
            let stretched =
                input.shape.broadcast(&shape).map_err(|problem| problem.of("region"))?;
            if stretched != shape {
                return Err(rule("the operands of a region stretch to its shape, not beyond it"));
            }
        }
        let whole = |meta: &Meta| Meta { dtype: meta.dtype, shape: shape.clone() };
        let mut metas: Vec<Meta> = Vec::with_capacity(steps.len());
        for step in &steps {
            if !matches!(step.primitive, Primitive::Elementwise(_) | Primitive::Analytic(_)) {
                return Err(rule(
                    "the steps of a region are elementwise; run others by themselves",
                ));
            }
            let operands = step.operands.iter().map(|&place| {
                let place = usize::from(place);
                inputs.get(place).or_else(|| metas.get(place.wrapping_sub(inputs.len()))).map(whole)
            });
            let Some(operands) = operands.collect::<Option<SmallVec<[Meta; 3]>>>() else {
                return Err(rule("a step of a region reads values before it"));
            };
            metas.push(infer(&step.primitive, &operands)?);
        }
        let (mut wanted, mut reduced) = (Vec::new(), 0);
        let mut result_metas = Vec::with_capacity(results.len());
        for result in &results {
            let place = match result {
                RegionResult::Value(place) => *place,
                RegionResult::Reduced(place, _) => {
                    reduced += 1;
                    *place
                }
            };
            let Some(meta) = metas.get(usize::from(place).wrapping_sub(inputs.len())) else {
                return Err(rule("a region returns values of its steps"));
            };
            match result {
                RegionResult::Value(_) if wanted.contains(&place) => {
                    return Err(rule("a region returns a value once; clone the tensor"));
                }
                RegionResult::Value(_) => {
                    wanted.push(place);
                    result_metas.push(meta.clone());
                }
                RegionResult::Reduced(_, row) => {
                    result_metas.push(infer(&row.clone().into(), std::slice::from_ref(meta))?);
                }
            }
        }
        if reduced > 1 {
            return Err(rule("a region reduces one value; reduce others by themselves"));
        }
        let plan = OnceLock::new();
        Ok(Self {
            parts: Arc::new(Parts { shape, inputs, steps, metas, results, result_metas, plan }),
        })
    }

    /// The dtypes and shapes of the operands.
    #[must_use]
    pub fn inputs(&self) -> &[Meta] {
        &self.parts.inputs
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[RegionStep] {
        &self.parts.steps
    }

    /// What the region returns.
    #[must_use]
    pub fn results(&self) -> &[RegionResult] {
        &self.parts.results
    }

    /// The dtypes and shapes of what it returns.
    #[must_use]
    pub fn result_metas(&self) -> &[Meta] {
        &self.parts.result_metas
    }

    /// The shape of all steps' values.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.parts.shape
    }

    /// The dtype and shape of a value.
    ///
    /// # Panics
    /// If the region has no such value.
    #[must_use]
    pub fn meta(&self, place: Place) -> &Meta {
        let place = usize::from(place);
        match place.checked_sub(self.parts.inputs.len()) {
            None => &self.parts.inputs[place],
            Some(step) => &self.parts.metas[step],
        }
    }

    /// What an engine makes of the region, kept with it: the first kind of plan that is asked for.
    pub fn plan<P: Any + Send + Sync>(&self, make: impl Fn(&Region) -> P) -> Planned<'_, P> {
        let kept = self.parts.plan.get_or_init(|| Box::new(make(self)));
        match kept.downcast_ref() {
            Some(plan) => Planned::Kept(plan),
            None => Planned::Fresh(Box::new(make(self))),
        }
    }

    /// Refuses operands that are not those of the region.
    ///
    /// # Errors
    /// [`Validation::WrongLength`], [`Validation::DTypeMismatch`], [`Validation::ShapeMismatch`].
    pub fn check_operands(&self, inputs: &[impl AsOperand]) -> Result<()> {
        const OP: &str = "region";
        let (expected, actual) = (self.parts.inputs.len(), inputs.len());
        if expected != actual {
            return Err(Validation::WrongLength { what: "operands", expected, actual }.of(OP));
        }
        for (meta, input) in self.parts.inputs.iter().zip(inputs) {
            let input = input.as_operand();
            if meta.dtype != input.dtype() {
                let (lhs, rhs) = (meta.dtype, input.dtype());
                return Err(Validation::DTypeMismatch { lhs, rhs }.of(OP));
            }
            if meta.shape != *input.shape() {
                let (lhs, rhs) = (meta.shape[..].into(), input.shape()[..].into());
                return Err(Validation::ShapeMismatch { lhs, rhs }.of(OP));
            }
        }
        Ok(())
    }

    /// Refuses outputs that are not as the results.
    ///
    /// # Errors
    /// [`Validation::WrongLength`], [`Validation::DTypeMismatch`], [`Validation::ShapeMismatch`].
    pub fn check_destinations(&self, outs: &[OperandMut<'_>]) -> Result<()> {
        const OP: &str = "region";
        let (expected, actual) = (self.parts.result_metas.len(), outs.len());
        if expected != actual {
            return Err(Validation::WrongLength { what: "outputs", expected, actual }.of(OP));
        }
        let mut pairs = self.parts.result_metas.iter().zip(outs);
        pairs.try_for_each(|(meta, out)| check_destination(OP, meta, out))
    }

    /// Carries out the steps one after the other: what a region means.
    ///
    /// # Errors
    /// As [`Region::check_operands`]; that of the first step that has one.
    pub fn run_by_steps<V: Vocabulary + ?Sized>(
        &self,
        engine: &mut V,
        inputs: &[impl AsOperand],
    ) -> Result<Results> {
        self.check_operands(inputs)?;
        let mut values: Vec<Tensor> = Vec::with_capacity(self.parts.steps.len());
        for step in &self.parts.steps {
            let result = {
                let operands: SmallVec<[Operand<'_>; 3]> = step
                    .operands
                    .iter()
                    .map(|&place| match usize::from(place).checked_sub(inputs.len()) {
                        None => inputs[usize::from(place)].as_operand(),
                        Some(step) => values[step].as_operand(),
                    })
                    .collect();
                engine.apply(&step.primitive, &operands)?
            };
            values.push(result);
        }
        let mut results = Results::new();
        for result in &self.parts.results {
            let (RegionResult::Value(place) | RegionResult::Reduced(place, _)) = result;
            let value = &values[usize::from(*place) - inputs.len()];
            // Where all that a value was made of stretches, so does the value.
            let value = if value.shape() == self.shape() {
                value.clone()
            } else {
                let stretching = stretching(value.rank(), self.shape());
                engine.apply(&stretching, &[value.as_operand()])?
            };
            results.push(match result {
                RegionResult::Value(_) => value,
                RegionResult::Reduced(_, row) => {
                    engine.apply(&row.clone().into(), &[value.as_operand()])?
                }
            });
        }
        Ok(results)
    }
}
