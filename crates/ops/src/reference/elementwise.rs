//! Elementwise and analytic rows: stretch the operands, call the function for each element.

use tenferro_tensor::{Analytic, DType, Elementwise, Result, Scalar, Tensor, dispatch};

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

/// Elements or values, one a call. Behind a pointer, so that no loop is compiled for a function of a dtype, but one to
/// read each dtype and one to write it.
type Next<'n, T> = Box<dyn FnMut() -> T + 'n>;

impl Call<'_> {
    /// The elements of an operand stretched to the result's shape.
    fn stretched<T: Scalar>(&self, place: usize) -> Result<Next<'_, T>> {
        let operand = &self.inputs[place];
        let mut elements = operand.view().broadcast(&self.result.shape)?.elements::<T>()?;
        let next = move || elements.next().expect("invariant: as many elements as the result has");
        Ok(Box::new(next))
    }

    /// The result with these elements.
    fn filled<T: Scalar>(&self, next: &mut dyn FnMut() -> T) -> Result<Tensor> {
        Ok(self.allocate()?.filled(next))
    }
}

impl ElementwiseVisitor for Call<'_> {
    type Output = Result<Tensor>;

    fn unary<T: Scalar, F: Unary<T>>(self, function: F) -> Result<Tensor> {
        let mut x = self.stretched::<T>(0)?;
        self.filled(&mut || function.call(x()))
    }

    fn binary<T: Scalar, F: Binary<T>>(self, function: F) -> Result<Tensor> {
        let mut lhs = self.stretched::<T>(0)?;
        let mut rhs = self.stretched::<T>(1)?;
        let mut failed = false;
        let result = self.filled(&mut || {
            let (lhs, rhs) = (lhs(), rhs());
            failed |= function.fails(lhs, rhs);
            function.call(lhs, rhs)
        })?;
        match F::FAILURE {
            Some(failure) if failed => Err(failure.of(self.op)),
            _ => Ok(result),
        }
    }

    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(
        self,
        function: F,
    ) -> Result<Tensor> {
        let mut a = self.stretched::<A>(0)?;
        let mut b = self.stretched::<B>(1)?;
        let mut c = self.stretched::<C>(2)?;
        self.filled(&mut || function.call(a(), b(), c()))
    }

    /// Element by element through the widest dtype of its kind, so that there is no loop for each pair.
    fn convert(self, from: DType, to: DType) -> Result<Tensor> {
        let mut forms = dispatch!(from, any T => {
            let mut x = self.stretched::<T>(0)?;
            Box::new(move || x().form()) as Next<'_, Form>
        });
        dispatch!(to, any U => self.filled(&mut || U::from_form(forms())))
    }

    fn bitcast(self, from: DType, to: DType) -> Result<Tensor> {
        let mut patterns = dispatch!(from, any T => {
            let mut x = self.stretched::<T>(0)?;
            Box::new(move || x().pattern()) as Next<'_, u128>
        });
        dispatch!(to, any U => self.filled(&mut || U::from_pattern(patterns())))
    }
}
