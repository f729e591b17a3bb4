//! Templates: programs whose named axes may have any size.
//!
//! A template is data, too: a program at some sizes, and beside it what depends on them, as polynomials. It is found by
//! tracing at several sizes and comparing what comes out, so that whatever makes extents out of extents in Rust works. What
//! depends on sizes in another way is refused. [`Template::at`] builds the program for given sizes, and checks each step
//! again.

mod extent;
mod fit;
mod probes;
mod specialised;

use std::{
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use rustc_hash::FxHasher;
use tenferro_ops::Meta;
use tenferro_tensor::DType;

pub use self::extent::Extent;
pub(crate) use self::extent::Sizes;
pub(crate) use self::fit::fit;
pub(crate) use self::specialised::scalar;
use crate::{
    Error, Program, Result, Spec, Traced,
    text::{Tree, is_axis_name},
    trace,
};

/// The dtype of an input of a template, its extents, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    dtype: DType,
    extents: Vec<Extent>,
    name: Option<Arc<str>>,
}

impl Pattern {
    /// An input of this dtype, whose extents are numbers or sizes of named axes.
    #[must_use]
    pub fn new(dtype: DType, extents: impl IntoIterator<Item = Extent>) -> Self {
        Self { dtype, extents: extents.into_iter().collect(), name: None }
    }

    /// The input with a name, by which the template prints it.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    fn at(&self, sizes: &Sizes) -> Result<Spec> {
        let extents = specialised::shape(&self.extents, sizes)?;
        let spec = Spec::new(self.dtype, extents)?;
        Ok(match &self.name {
            Some(name) => spec.named(name),
            None => spec,
        })
    }
}

/// A computation whose named axes may have any size: traced once, and made a program for each size that turns up.
///
/// `Display` prints it as a [`Program`], with names in the place of extents; the text reads back.
///
/// ```
/// use tenferro_ops::reference::Reference;
/// use tenferro_program::{Cache, Pattern, Template};
/// use tenferro_tensor::{DType, KeepAxes, Tensor};
///
/// let x = Pattern::new(DType::F64, ["n".into(), 2.into()]).named("x");
/// let means = Template::trace(&[x], |xs| xs[0].mean([0], KeepAxes::Drop))?;
/// let cache = Cache::new(16);
/// for n in [3, 4] {
///     let x = Tensor::ones(DType::F64, [n, 2])?;
///     let results = cache.run(&mut Reference, &means, vec![(&x).into()])?;
///     assert_eq!(results[0].as_slice::<f64>()?, [1.0, 1.0]);
/// }
/// let again: Template = means.to_string().parse()?;
/// assert_eq!(again, means);
/// # Ok::<(), tenferro_program::Error>(())
/// ```
#[derive(Clone)]
pub struct Template {
    parts: Arc<Parts>,
}

struct Parts {
    axes: Arc<[Arc<str>]>,
    /// The program at the first sizes that were tried.
    sample: Program,
    varying: Varying,
    fingerprint: OnceLock<u64>,
}

/// What of a program depends on the sizes of named axes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Varying {
    /// The extents of each value.
    pub(crate) shapes: Vec<Vec<Extent>>,
    pub(crate) steps: Vec<VaryingStep>,
}

/// What of a step depends on sizes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) enum VaryingStep {
    /// Nothing but the shapes of operands and results.
    Nothing,
    /// Parameters.
    Parameters(Vec<(String, Tree)>),
    /// A constant, which is this number.
    Constant(Extent),
    /// Parameters and programs of control flow.
    Control(Vec<(String, Tree)>, Vec<Varying>),
}

impl Template {
    /// Records what `f` does, whatever the sizes of the named axes of its inputs.
    ///
    /// `f` is called several times, with values of different sizes, and has to do the same each time. It may compute with
    /// their extents. Sizes that depend on each other otherwise than by sums and products (a half of an axis, say) are
    /// those of further axes.
    ///
    /// # Errors
    /// [`Error::AtSizes`] with what [`trace`](trace()) refuses at some sizes; [`Error::NoTemplate`] if the program depends
    /// on sizes in a way that no polynomial says, or an axis cannot have this name.
    #[track_caller]
    pub fn trace<R: Into<Vec<Traced>>>(
        patterns: &[Pattern],
        mut f: impl FnMut(&[Traced]) -> R,
    ) -> Result<Self> {
        let mut axes: Vec<Arc<str>> = Vec::new();
        for extent in patterns.iter().flat_map(|pattern| &pattern.extents) {
            for axis in extent.axes() {
                if !axes.contains(axis) {
                    axes.push(Arc::clone(axis));
                }
            }
        }
        fit(&axes.into(), |sizes| {
            let specs =
                patterns.iter().map(|pattern| pattern.at(sizes)).collect::<Result<Vec<Spec>>>()?;
            trace(&specs, &mut f)
        })
    }

    fn new(axes: &Arc<[Arc<str>]>, sample: Program, varying: Varying) -> Result<Self> {
        for axis in axes.iter() {
            if !is_axis_name(axis) {
                let reason = format!(
                    "no axis can be called {axis:?}; a name is a word of letters, digits and underscores that is no dtype and no parameter"
                );
                return Err(Error::NoTemplate { reason });
            }
            let mut extents = varying.shapes[..sample.inputs().len()].iter().flatten();
            if !extents.any(|extent| extent.as_axis() == Some(axis)) {
                let reason = format!("no extent of an input is the size of axis `{axis}` alone");
                return Err(Error::NoTemplate { reason });
            }
        }
        let fingerprint = OnceLock::new();
        Ok(Self { parts: Arc::new(Parts { axes: Arc::clone(axes), sample, varying, fingerprint }) })
    }

    /// The names of the axes that may have any size, in the order of [`Template::at`].
    pub fn axes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.parts.axes.iter().map(AsRef::as_ref)
    }

    /// How many inputs there are.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.parts.sample.inputs().len()
    }

    /// How many results there are.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.parts.sample.outputs().len()
    }

    /// The program for these sizes of the axes, in the order of [`Template::axes`].
    ///
    /// # Errors
    /// [`Error::AtSizes`] if a step does not fit at these sizes.
    ///
    /// # Panics
    /// If there are more or fewer sizes than axes.
    pub fn at(&self, sizes: &[usize]) -> Result<Program> {
        assert_eq!(sizes.len(), self.parts.axes.len(), "one size for each named axis");
        self.at_sizes(&Sizes::new(&self.parts.axes, sizes))
    }

    pub(crate) fn at_sizes(&self, sizes: &Sizes) -> Result<Program> {
        if sizes.is_empty() {
            return Ok(self.parts.sample.clone());
        }
        specialised::program(&self.parts.sample, &self.parts.varying, sizes).map_err(|source| {
            let (sizes, source) = (sizes.to_string(), Box::new(source));
            Error::AtSizes { sizes, source }
        })
    }

    /// The sizes of the axes, as inputs of these dtypes and shapes say them.
    ///
    /// # Errors
    /// [`Error::InputCount`]; [`Error::PatternMismatch`]; [`Error::AxisMismatch`] with the name of the axis and both sizes
    /// if two extents that should be one are not.
    pub fn sizes(&self, inputs: &[Meta]) -> Result<Vec<usize>> {
        let (expected, actual) = (self.inputs(), inputs.len());
        if expected != actual {
            return Err(Error::InputCount { expected, actual });
        }
        let mismatch = |input: usize| Error::PatternMismatch {
            input,
            expected: self.pattern(input),
            actual: Box::new(inputs[input].clone()),
        };
        // The size of each axis, and the input that has it first.
        let axes = &self.parts.axes;
        let mut found: Vec<Option<(usize, usize)>> = vec![None; axes.len()];
        for (input, (meta, extents)) in inputs.iter().zip(&self.parts.varying.shapes).enumerate() {
            let dtype = self.parts.sample.inputs()[input].meta().dtype;
            if meta.dtype != dtype || meta.shape.rank() != extents.len() {
                return Err(mismatch(input));
            }
            for (&size, extent) in meta.shape.iter().zip(extents) {
                let Some(axis) = extent.as_axis() else { continue };
                let place = axes.iter().position(|own| own == axis);
                let known = &mut found[place.expect("invariant: every axis is known")];
                let &mut (first, first_input) = known.get_or_insert((size, input));
                if size != first {
                    let (axis, second, second_input) = (Arc::clone(axis), size, input);
                    return Err(Error::AxisMismatch {
                        axis,
                        first,
                        first_input,
                        second,
                        second_input,
                    });
                }
            }
        }
        let sizes: Vec<usize> = found
            .into_iter()
            .map(|found| found.expect("invariant: an input has each axis").0)
            .collect();
        let at = Sizes::new(axes, &sizes);
        for (input, (meta, extents)) in inputs.iter().zip(&self.parts.varying.shapes).enumerate() {
            let fits = |(&size, extent): (&usize, &Extent)| extent.at(&at) == Some(size as i128);
            if !meta.shape.iter().zip(extents).all(fits) {
                return Err(mismatch(input));
            }
        }
        Ok(sizes)
    }

    /// The template of the programs that `f` makes of this one's, as [`Program::grad`] does.
    ///
    /// # Errors
    /// As [`Template::trace`].
    pub fn mapped(&self, mut f: impl FnMut(&Program) -> Result<Program>) -> Result<Template> {
        fit(&self.parts.axes, |sizes| f(&self.at_sizes(sizes)?))
    }

    /// As [`Program::grad`].
    ///
    /// # Errors
    /// As there, and as [`Template::trace`].
    pub fn grad(&self) -> Result<Template> {
        self.mapped(Program::grad)
    }

    /// As [`Program::value_and_grad`].
    ///
    /// # Errors
    /// As there, and as [`Template::trace`].
    pub fn value_and_grad(&self) -> Result<Template> {
        self.mapped(Program::value_and_grad)
    }

    /// As [`Program::vjp`].
    ///
    /// # Errors
    /// As there, and as [`Template::trace`].
    pub fn vjp(&self) -> Result<Template> {
        self.mapped(Program::vjp)
    }

    /// As [`Program::jvp`].
    ///
    /// # Errors
    /// As there, and as [`Template::trace`].
    pub fn jvp(&self) -> Result<Template> {
        self.mapped(Program::jvp)
    }

    /// A number that equal templates share, and others hardly ever.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        *self.parts.fingerprint.get_or_init(|| {
            let mut hasher = FxHasher::default();
            (&self.parts.axes, self.parts.sample.fingerprint()).hash(&mut hasher);
            self.parts.varying.hash(&mut hasher);
            hasher.finish()
        })
    }

    /// The program whose text this is, with names in the place of what varies.
    pub(crate) fn parts(&self) -> (&Program, &Varying) {
        (&self.parts.sample, &self.parts.varying)
    }

    /// The dtype and extents of an input, as text.
    fn pattern(&self, input: usize) -> String {
        let dtype = self.parts.sample.inputs()[input].meta().dtype;
        typed(dtype, &self.parts.varying.shapes[input])
    }
}

/// A dtype and extents, as templates print them.
pub(crate) fn typed(dtype: DType, extents: &[Extent]) -> String {
    let extents: Vec<String> = extents.iter().map(Extent::to_string).collect();
    format!("{dtype}[{}]", extents.join(", "))
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
            || (self.fingerprint() == other.fingerprint()
                && self.parts.axes == other.parts.axes
                && self.parts.sample == other.parts.sample
                && self.parts.varying == other.parts.varying)
    }
}

impl Eq for Template {}

impl Hash for Template {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.fingerprint());
    }
}
