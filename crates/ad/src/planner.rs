//! The builder that carries a rule out on symbols: it linearises, turns around, and leaves out what nobody asks for.

use smallvec::SmallVec;
use tenferro_ops::{
    Build, Builder, Meta,
    derivative::{self, Place, Point},
    infer,
};
use tenferro_tensor::{Elementwise, Primitive, Result, Tensor};

use crate::{
    emit::Operation,
    fused::{self, Fused},
    known::Known,
    plan::{Gradients, Plan, Register, Step},
};

/// A value of a [`Planner`].
#[derive(Clone, Copy)]
pub(super) struct Symbol(usize);

/// What stands behind a symbol.
#[derive(Clone, Copy)]
enum At {
    /// Does not depend on tangents.
    Known(Register),
    /// The tangent with that number: those of operands first, then what each linear step makes.
    Tangent(usize),
}

/// A linear primitive applied to a tangent.
struct Linear {
    primitive: Primitive,
    operands: SmallVec<[Symbol; 2]>,
    /// What it makes.
    result: Symbol,
}

/// Records what a rule does.
pub(super) struct Planner {
    symbols: Vec<(Meta, At)>,
    constants: Vec<Known<'static>>,
    ahead: Vec<Step>,
    linear: Vec<Linear>,
    back: Vec<Step>,
    /// How many operands have tangents.
    moving: usize,
    /// Whether linear steps are being turned around.
    is_turning: bool,
}

impl Planner {
    /// The plan of an operation; `None` if no change of the operands that have tangents changes the result smoothly.
    ///
    /// # Errors
    /// That the operation has no rule, or one that does not fit.
    pub(super) fn plan(
        operation: Operation<'_>,
        operands: &[(Meta, bool)],
        output: Meta,
    ) -> Result<Option<Plan>> {
        let mut planner = Self {
            symbols: Vec::new(),
            constants: Vec::new(),
            ahead: Vec::new(),
            linear: Vec::new(),
            back: Vec::new(),
            moving: 0,
            is_turning: false,
        };
        let mut inputs = Vec::new();
        let mut tangents = Vec::new();
        for (place, (meta, moves)) in operands.iter().enumerate() {
            inputs.push(planner.symbol(meta.clone(), At::Known(Register::Input(place))));
            tangents.push(moves.then(|| {
                planner.moving += 1;
                planner.symbol(meta.clone(), At::Tangent(planner.moving - 1))
            }));
        }
        let result = planner.symbol(output.clone(), At::Known(Register::Output));
        let point = Point {
            inputs: &inputs.iter().collect::<Vec<_>>(),
            output: &result,
            tangents: &tangents.iter().map(Option::as_ref).collect::<Vec<_>>(),
        };
        let Some(tangent) = operation.jvp(&mut planner, &point)? else { return Ok(None) };
        let At::Tangent(number) = planner.at(tangent) else { return Ok(None) };
        planner.is_turning = true;
        let gradient = planner.symbol(output.clone(), At::Known(Register::Gradient));
        let takes_narrow = match number.checked_sub(planner.moving) {
            None => true,
            Some(last) => planner.takes_narrow(last),
        };
        let mut gradients = planner.turn_around(number, gradient)?;
        planner.put_off(&mut gradients);
        Ok(Some(planner.pruned(output, takes_narrow, gradients)))
    }

    fn symbol(&mut self, meta: Meta, at: At) -> Symbol {
        self.symbols.push((meta, at));
        Symbol(self.symbols.len() - 1)
    }

    fn meta_of(&self, symbol: Symbol) -> &Meta {
        &self.symbols[symbol.0].0
    }

    fn at(&self, symbol: Symbol) -> At {
        self.symbols[symbol.0].1
    }

    /// Whether a gradient that is the same along axes need not be stretched for a linear step: a multiplication or division
    /// by all elements of a factor stretches it.
    fn takes_narrow(&self, linear: usize) -> bool {
        let Linear { primitive, operands, result } = &self.linear[linear];
        let is_factor = |&operand: &Symbol| {
            matches!(self.at(operand), At::Known(_))
                && self.meta_of(operand).shape == self.meta_of(*result).shape
        };
        matches!(primitive, Primitive::Elementwise(Elementwise::Mul | Elementwise::Div))
            && operands.iter().any(is_factor)
    }

    /// The gradients of operands from that of the tangent with a number, the last step first.
    fn turn_around(&mut self, number: usize, gradient: Symbol) -> Result<Gradients> {
        let mut gradients = Vec::new();
        let Some(last) = number.checked_sub(self.moving) else {
            self.reach(&mut gradients, number, gradient);
            return Ok(gradients);
        };
        let mut between: Vec<Option<Symbol>> = vec![None; last + 1];
        between[last] = Some(gradient);
        for place in (0..=last).rev() {
            let Some(mut gradient) = between[place] else { continue };
            let shape = self.meta_of(self.linear[place].result).shape.clone();
            if self.meta_of(gradient).shape != shape && !self.takes_narrow(place) {
                gradient = self.stretch(&gradient, &shape)?;
            }
            let primitive = self.linear[place].primitive.clone();
            let operands = self.linear[place].operands.clone();
            let metas: Vec<Meta> =
                operands.iter().map(|&operand| self.meta_of(operand).clone()).collect();
            let places: Vec<Place<'_, Symbol>> = operands
                .iter()
                .zip(&metas)
                .map(|(operand, meta)| match self.at(*operand) {
                    At::Tangent(_) => Place::Linear(meta),
                    At::Known(_) => Place::Known(operand),
                })
                .collect();
            let cotangents = derivative::transpose_narrow(self, &primitive, &places, &gradient)?;
            for (&operand, cotangent) in operands.iter().zip(cotangents) {
                let (At::Tangent(number), Some(cotangent)) = (self.at(operand), cotangent) else {
                    continue;
                };
                match number.checked_sub(self.moving) {
                    None => self.reach(&mut gradients, number, cotangent),
                    Some(step) => {
                        between[step] = Some(match between[step] {
                            None => cotangent,
                            Some(before) => self.add(&before, &cotangent)?,
                        });
                    }
                }
            }
        }
        Ok(gradients)
    }

    fn reach(&self, gradients: &mut Gradients, operand: usize, gradient: Symbol) {
        let At::Known(register) = self.at(gradient) else {
            unreachable!("invariant: a gradient is no tangent")
        };
        gradients.push((operand, register));
    }

    /// Leaves steps that are as cheap as reading what they compute for when a gradient comes, if all of the way back can be
    /// one region then.
    fn put_off(&mut self, gradients: &mut [(usize, Register)]) {
        let mut steps = self.ahead.iter().chain(&self.back);
        if self.back.is_empty() || !steps.all(fused::is_cheap) {
            return;
        }
        let ahead = self.ahead.len();
        let renumber = |register: &mut Register| match *register {
            Register::Ahead(place) => *register = Register::Back(place),
            Register::Back(place) => *register = Register::Back(ahead + place),
            _ => {}
        };
        self.back.iter_mut().flat_map(|step| &mut step.operands).for_each(renumber);
        gradients.iter_mut().for_each(|gradient| renumber(&mut gradient.1));
        self.symbols.iter_mut().for_each(|symbol| {
            if let At::Known(register) = &mut symbol.1 {
                renumber(register)
            }
        });
        let mut steps = std::mem::take(&mut self.ahead);
        steps.iter_mut().flat_map(|step| &mut step.operands).for_each(renumber);
        steps.append(&mut self.back);
        self.back = steps;
    }

    /// The plan without what no gradient needs.
    fn pruned(mut self, meta: Meta, takes_narrow: bool, mut gradients: Gradients) -> Plan {
        let mut wanted: Vec<Register> = gradients.iter().map(|gradient| gradient.1).collect();
        let mut back = needed(std::mem::take(&mut self.back), &mut wanted, Register::Back);
        let mut kept: Vec<Register> = Vec::new();
        for &register in &wanted {
            let is_kept =
                matches!(register, Register::Input(_) | Register::Output | Register::Ahead(_));
            if is_kept && !kept.contains(&register) {
                kept.push(register);
            }
        }
        let numbered = |register: &mut Register| {
            if let Some(place) = kept.iter().position(|kept| kept == register) {
                *register = Register::Kept(place);
            }
        };
        back.steps.iter_mut().flat_map(|step| &mut step.operands).for_each(numbered);
        gradients.iter_mut().for_each(|gradient| numbered(&mut gradient.1));
        gradients.iter_mut().for_each(|gradient| back.renumber(&mut gradient.1));
        let of = |register| {
            let known = match register {
                Register::Kept(place) => kept[place],
                known => known,
            };
            let of =
                self.symbols.iter().find(|(_, at)| matches!(at, At::Known(at) if *at == known));
            of.expect("invariant: a step reads symbols").0.clone()
        };
        let fused = Fused::of(&back.steps, &gradients, &meta, of);
        let mut wanted = kept.clone();
        let ahead = needed(self.ahead, &mut wanted, Register::Ahead);
        kept.iter_mut().for_each(|register| ahead.renumber(register));
        Plan {
            meta,
            takes_narrow,
            constants: self.constants,
            ahead: ahead.steps,
            kept,
            back: back.steps,
            fused,
            gradients,
        }
    }
}

/// The steps that are needed.
struct Needed {
    steps: Vec<Step>,
    /// The registers that they had, by place.
    before: Vec<Register>,
    register: fn(usize) -> Register,
}

impl Needed {
    /// Gives what a step computes the register that it has now.
    fn renumber(&self, register: &mut Register) {
        if let Some(place) = self.before.iter().position(|before| before == register) {
            *register = (self.register)(place);
        }
    }
}

/// Those of `steps` whose results are wanted, by what is wanted or by each other. What they take is wanted as well.
fn needed(steps: Vec<Step>, wanted: &mut Vec<Register>, register: fn(usize) -> Register) -> Needed {
    for (place, step) in steps.iter().enumerate().rev() {
        if wanted.contains(&register(place)) {
            wanted.extend_from_slice(&step.operands);
        }
    }
    let mut needed = Needed { steps: Vec::new(), before: Vec::new(), register };
    for (place, mut step) in steps.into_iter().enumerate() {
        if wanted.contains(&register(place)) {
            step.operands.iter_mut().for_each(|operand| needed.renumber(operand));
            needed.steps.push(step);
            needed.before.push(register(place));
        }
    }
    needed
}

impl Builder for Planner {
    type Value = Symbol;

    fn meta(&self, value: &Symbol) -> Meta {
        self.meta_of(*value).clone()
    }

    fn constant(&mut self, tensor: Tensor) -> Symbol {
        let meta = Meta::of(&tensor);
        self.constants.push(tensor.into());
        let at = At::Known(Register::Constant(self.constants.len() - 1));
        self.symbol(meta, at)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Symbol]) -> Result<Symbol> {
        let meta = {
            let metas: SmallVec<[&Meta; 3]> =
                inputs.iter().map(|&&input| self.meta_of(input)).collect();
            infer(&primitive, &metas)?
        };
        let mut operands = SmallVec::new();
        for &&input in inputs {
            match self.at(input) {
                At::Known(register) => operands.push(register),
                At::Tangent(_) => {
                    let result = self.symbol(meta, At::Tangent(self.moving + self.linear.len()));
                    let operands = inputs.iter().map(|&&input| input).collect();
                    self.linear.push(Linear { primitive, operands, result });
                    return Ok(result);
                }
            }
        }
        let (steps, register): (_, fn(usize) -> Register) = match self.is_turning {
            true => (&mut self.back, Register::Back),
            false => (&mut self.ahead, Register::Ahead),
        };
        steps.push(Step { primitive, operands });
        let at = At::Known(register(steps.len() - 1));
        Ok(self.symbol(meta, at))
    }
}
