//! Requests to a LAPACK: what they refuse before anything is called, and who is asked.

use std::sync::Arc;

use tenferro_provider::{
    Capabilities, Chain, Error, Outcome, Product, Provider, Reason, Sequential, Workers,
    conformance::{Defect, Suite},
    counting::Counting,
    lapack::{
        Breakdown, Call, Diagonal, Driver, Request, Routine, Routines, Transposition, Triangle,
    },
};
use tenferro_tensor::{AsOperand, Complex64, TensorView, TensorViewMut, Validation};

/// Says that it has done every routine, having done nothing.
struct Idle(Capabilities);

impl Idle {
    fn new() -> Self {
        let mut capabilities = Capabilities::sequential([]);
        capabilities.lapack = Routines::all();
        Self(capabilities)
    }
}

impl Provider for Idle {
    fn name(&self) -> &str {
        "idle"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn product(&self, request: &mut Product<'_>, _: &dyn Workers) -> Result<Outcome, Error> {
        Ok(Outcome::Unsupported(Reason::DType(request.dtype())))
    }

    fn lapack(&self, request: &mut Request<'_>, _: &dyn Workers) -> Result<Outcome, Error> {
        match request.call() {
            Call::Potrf(_) => {
                let breakdown = Breakdown::NotPositiveDefinite { pivot: 0 };
                Err(Error::Breakdown { routine: Routine::Potrf, breakdown })
            }
            _ => Ok(Outcome::Executed),
        }
    }
}

/// Has nothing.
struct Shy(Capabilities);

impl Provider for Shy {
    fn name(&self) -> &str {
        "shy"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.0
    }

    fn product(&self, request: &mut Product<'_>, _: &dyn Workers) -> Result<Outcome, Error> {
        Ok(Outcome::Unsupported(Reason::DType(request.dtype())))
    }
}

fn shy() -> Arc<dyn Provider> {
    Arc::new(Shy(Capabilities::sequential([])))
}

fn square(elements: &mut [f64]) -> TensorViewMut<'_> {
    let n = elements.len().isqrt();
    TensorViewMut::from_slice(elements, &[n, n], &[1, n.cast_signed()], 0).expect("n * n")
}

#[test]
fn p12_an_element_that_is_not_finite_is_refused_where_it_is_read_and_only_there() {
    let nan = f64::NAN;
    let mut elements = [1.0, 2.0, nan, 4.0];
    let mut a = square(&mut elements);
    assert!(Request::potrf(Triangle::Lower, a.as_operand_mut()).is_ok());
    let refused = Request::potrf(Triangle::Upper, a.as_operand_mut()).unwrap_err();
    let expected = [0, 1];
    assert!(matches!(
        refused,
        Error::NonFinite { routine: Routine::Potrf, operand: "a", index } if index == expected
    ));
    let mut elements = [nan, 1.0, nan, f64::INFINITY];
    let mut a = square(&mut elements);
    assert!(Request::trtri(Triangle::Lower, Diagonal::Unit, a.as_operand_mut()).is_ok());
    let stored = Request::trtri(Triangle::Lower, Diagonal::Stored, a.as_operand_mut());
    assert!(matches!(stored.unwrap_err(), Error::NonFinite { index: [0, 0], .. }));
    let mut values = [Complex64::new(0.0, f64::NEG_INFINITY)];
    let mut a = TensorViewMut::from_slice(&mut values, &[1, 1], &[1, 1], 0).unwrap();
    let mut singular = [0.0];
    let mut s = TensorViewMut::from_slice(&mut singular, &[1], &[1], 0).unwrap();
    let request = Request::gesvd(Driver::QrIteration, a.as_operand_mut(), s.as_operand_mut(), None);
    let text = request.unwrap_err().to_string();
    assert_eq!(text, "gesvd: element [0, 0] of a is not finite; replace such elements first");
}

#[test]
fn x40_a_request_that_does_not_fit_is_refused() {
    let invalid = |request: Result<Request<'_>, Error>| match request.unwrap_err() {
        Error::InvalidRequest { source, .. } => source,
        other => panic!("{other}"),
    };
    let mut elements = [1.0; 6];
    let mut wide = TensorViewMut::from_slice(&mut elements, &[2, 3], &[1, 2], 0).unwrap();
    let problem = invalid(Request::potrf(Triangle::Lower, wide.as_operand_mut()));
    assert!(matches!(problem, Validation::ExtentMismatch { .. }));
    let mut integers = [1_i64; 4];
    let mut a = TensorViewMut::from_slice(&mut integers, &[2, 2], &[1, 2], 0).unwrap();
    let problem = invalid(Request::potrf(Triangle::Lower, a.as_operand_mut()));
    assert!(matches!(problem, Validation::MeaninglessDType { .. }));
    // Rows in one piece are not columns in one piece.
    let mut elements = [1.0; 4];
    let mut a = TensorViewMut::from_slice(&mut elements, &[2, 2], &[2, 1], 0).unwrap();
    let problem = invalid(Request::potrf(Triangle::Lower, a.as_operand_mut()));
    assert!(matches!(problem, Validation::Rule { .. }));
    // A pivot that its step has passed.
    let lu = TensorView::from_slice(&[1.0; 4], &[2, 2], &[1, 2], 0).unwrap();
    for pivots in [[1_i64, 0], [-1, 1], [0, 2]] {
        let pivots = TensorView::from_slice(&pivots, &[2], &[1], 0).unwrap();
        let mut right = [1.0; 2];
        let mut b = TensorViewMut::from_slice(&mut right, &[2, 1], &[1, 2], 0).unwrap();
        let op = Transposition::Plain;
        let (lu, pivots) = (lu.as_operand(), pivots.as_operand());
        let problem = invalid(Request::getrs(op, lu, pivots, b.as_operand_mut()));
        assert!(matches!(problem, Validation::Rule { .. }));
    }
}

#[test]
fn x45_a_chain_asks_for_a_routine_until_somebody_has_it() {
    let idle = Arc::new(Counting::new(Arc::new(Idle::new())));
    let chain = Chain::new([shy(), idle.clone()]);
    let mut elements = [1.0; 4];
    let mut a = square(&mut elements);
    let mut request = Request::trtri(Triangle::Upper, Diagonal::Unit, a.as_operand_mut()).unwrap();
    assert_eq!(chain.lapack(&mut request, &Sequential).unwrap().name(), "idle");
    assert_eq!(idle.take_routines(), [Routine::Trtri]);
    let mut request = Request::potrf(Triangle::Upper, a.as_operand_mut()).unwrap();
    let broke = chain.lapack(&mut request, &Sequential).map(Provider::name).unwrap_err();
    assert_eq!(
        broke.to_string(),
        "potrf: the matrix is not positive definite: its leading minor of order 1 is not positive"
    );
    let nobody = Chain::new([shy()]);
    let refused = nobody.lapack(&mut request, &Sequential).map(Provider::name).unwrap_err();
    assert!(matches!(refused, Error::NoRoutine { routine: Routine::Potrf, .. }), "{refused}");
}

#[test]
fn x46_a_routine_that_does_nothing_is_found() {
    let failure = Suite::quick().run(&Idle::new()).unwrap_err();
    assert!(failure.case.starts_with("getrf of f64"), "{failure}");
    assert!(matches!(*failure.defect, Defect::Disorder { .. } | Defect::Residual { .. }));
}
