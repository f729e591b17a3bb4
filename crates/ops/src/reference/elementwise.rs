//! Elementwise and analytic rows: stretch the operands, call the function for each element.

use tenferro_tensor::{Analytic, DType, Elementwise, Operand, Result, Scalar, Tensor, dispatch};

use super::Call;
use crate::scalar::{
    Binary, Cast, ElementwiseVisitor, Form, Pattern, Ternary, Unary, visit_analytic,
    visit_elementwise,
};

pub(super) fn evaluate(row: &Elementwise, call: Call<'_>) -> Result<Tensor> {
    let op = call.op;
    // The last operand has the dtype of the branches of a selection, and of all operands of the other rows.
    let dtype = call.inputs[call.inputs.len() - 1].dtype();
    visit_elementwise(row, dtype, call).map_err(|problem| problem.of(op))?
}

pub(super) fn evaluate_analytic(row: &Analytic, call: Call<'_>) -> Result<Tensor> {
    let op = call.op;
    visit_analytic(row, call.inputs[0].dtype(), call).map_err(|problem| problem.of(op))?
}

impl Call<'_> {
    /// The elements of an operand stretched to the result's shape, one a call.
    fn stretched<T: Scalar>(&self, operand: &Operand<'_>) -> Result<impl FnMut() -> T> {
        let mut elements = operand.view().broadcast(&self.result.shape)?.elements::<T>()?;
        Ok(move || elements.next().expect("invariant: as many elements as the result has"))
    }
}

impl ElementwiseVisitor for Call<'_> {
    type Output = Result<Tensor>;

    fn unary<T: Scalar, F: Unary<T>>(self, function: F) -> Result<Tensor> {
        let mut x = self.stretched::<T>(&self.inputs[0])?;
        Ok(self.allocate()?.filled(|| function.call(x())))
    }

    fn binary<T: Scalar, F: Binary<T>>(self, function: F) -> Result<Tensor> {
        let mut lhs = self.stretched::<T>(&self.inputs[0])?;
        let mut rhs = self.stretched::<T>(&self.inputs[1])?;
        let mut failed = false;
        let result = self.allocate()?.filled(|| {
            let (lhs, rhs) = (lhs(), rhs());
            failed |= function.fails(lhs, rhs);
            function.call(lhs, rhs)
        });
        match F::FAILURE {
            Some(failure) if failed => Err(failure.of(self.op)),
            _ => Ok(result),
        }
    }

    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(
        self,
        function: F,
    ) -> Result<Tensor> {
        let mut a = self.stretched::<A>(&self.inputs[0])?;
        let mut b = self.stretched::<B>(&self.inputs[1])?;
        let mut c = self.stretched::<C>(&self.inputs[2])?;
        Ok(self.allocate()?.filled(|| function.call(a(), b(), c())))
    }

    /// Element by element through the widest dtype of its kind, so that there is no loop for each pair.
    fn convert(self, from: DType, to: DType) -> Result<Tensor> {
        let mut forms = dispatch!(from, any T => {
            let mut x = self.stretched::<T>(&self.inputs[0])?;
            Box::new(move || x().form()) as Box<dyn FnMut() -> Form + '_>
        });
        dispatch!(to, any U => Ok(self.allocate()?.filled(|| U::from_form(forms()))))
    }

    fn bitcast(self, from: DType, to: DType) -> Result<Tensor> {
        let mut patterns = dispatch!(from, any T => {
            let mut x = self.stretched::<T>(&self.inputs[0])?;
            Box::new(move || x().pattern()) as Box<dyn FnMut() -> u128 + '_>
        });
        dispatch!(to, any U => Ok(self.allocate()?.filled(|| U::from_pattern(patterns()))))
    }
}
