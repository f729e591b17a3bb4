//! Finding providers by name and asking them in order.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use insta::assert_snapshot;
use tenferro_provider::{
    Capabilities, Chain, Error, Outcome, Preference, Product, Provider, Reason, Registry,
    Sequential, Workers, counting::Counting,
};
use tenferro_tensor::{AsOperand, DType, Factor, Tensor, TensorViewMut};

/// What a scripted provider answers.
#[derive(Clone, Copy)]
enum Answer {
    Executes,
    Refuses,
    Fails,
}

/// A provider that computes nothing.
struct Scripted {
    name: &'static str,
    capabilities: Capabilities,
    answer: Answer,
    calls: AtomicUsize,
}

impl Scripted {
    fn new(name: &'static str, answer: Answer) -> Arc<Self> {
        let capabilities = Capabilities::sequential([DType::F64]);
        Arc::new(Self { name, capabilities, answer, calls: AtomicUsize::new(0) })
    }
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(&self, product: &mut Product<'_>, _: &dyn Workers) -> Result<Outcome, Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.answer {
            Answer::Executes => Ok(Outcome::Executed),
            Answer::Refuses => Ok(Outcome::Unsupported(Reason::DType(product.dtype()))),
            Answer::Fails => {
                Err(Error::Failed { provider: self.name.into(), source: "out of order".into() })
            }
        }
    }
}

fn registry() -> Registry {
    let register = |builder: tenferro_provider::RegistryBuilder, name| {
        builder.register(Scripted::new(name, Answer::Executes)).expect("names differ")
    };
    let builder = ["naive", "native", "openblas"].into_iter().fold(Registry::builder(), register);
    builder.disabled("mkl", "loaded").missing("blis", "no libblis.so.4 in the search path").build()
}

fn names(chain: &Chain) -> Vec<&str> {
    chain.iter().map(Provider::name).collect()
}

/// A product of ones, 2 by 2, asked of a chain.
fn ask<R>(ask: impl FnOnce(&mut Product<'_>) -> R) -> R {
    let ones = Tensor::from_vec_col_major(vec![2, 2, 1], vec![1.0_f64; 4]).expect("four elements");
    let mut out = [0.0_f64; 4];
    let mut out =
        TensorViewMut::from_slice(&mut out, &[2, 2, 1], &[1, 2, 4], 0).expect("four elements");
    ask(&mut Product::new(ones.as_operand(), ones.as_operand(), out.as_operand_mut())
        .expect("extents fit"))
}

#[test]
fn x40_a_provider_is_found_by_its_name() {
    let registry = registry();
    assert_eq!(registry.get("native").unwrap().name(), "native");
    assert_eq!(
        registry.iter().map(|provider| provider.name()).collect::<Vec<_>>(),
        ["openblas", "native", "naive"]
    );
}

#[test]
fn x40_a_name_is_taken_once() {
    let builder = Registry::builder().register(Scripted::new("native", Answer::Executes)).unwrap();
    let error = builder.register(Scripted::new("native", Answer::Refuses)).err().unwrap();
    assert!(matches!(&error, Error::Duplicate { name } if name == "native"));
    assert_snapshot!(error, @"provider `native` is registered already; register the second one under another name");
}

#[test]
fn x44_disabled_missing_and_unknown_are_told_apart() {
    let registry = registry();
    let error = |name| registry.get(name).err().unwrap();
    assert!(matches!(error("mkl"), Error::Disabled { .. }));
    assert!(matches!(error("blis"), Error::NotFound { cause: Some(_), .. }));
    assert!(matches!(error("atlas"), Error::NotFound { cause: None, .. }));
    assert_snapshot!(error("mkl"), @"provider `mkl` is disabled in this build: enable the feature `loaded`; available: openblas, native, naive");
    assert_snapshot!(error("blis"), @"provider `blis` was not found: no libblis.so.4 in the search path; available: openblas, native, naive");
    assert_snapshot!(error("atlas"), @"provider `atlas` was not found: no provider of this name is known; available: openblas, native, naive");
}

#[test]
fn x44_who_is_registered_is_neither_disabled_nor_missing() {
    let native = Scripted::new("native", Answer::Executes);
    let registry = Registry::builder()
        .missing("native", "not yet")
        .register(native)
        .unwrap()
        .disabled("native", "none")
        .build();
    assert!(registry.get("native").is_ok());
}

#[test]
fn x41_a_preference_is_an_order_and_the_rest_follows() {
    let registry = registry();
    let select = |preference| registry.select(&preference).unwrap();
    let order = |names: &[&str]| Preference::Order(names.iter().map(|&name| name.into()).collect());
    assert_eq!(names(&select(Preference::Registered)), ["openblas", "native", "naive"]);
    assert_eq!(names(&select(Preference::Named("naive".into()))), ["naive", "openblas", "native"]);
    assert_eq!(names(&select(Preference::Only("native".into()))), ["native"]);
    assert_eq!(
        names(&select(order(&["mkl", "native", "blis", "native"]))),
        ["native", "openblas", "naive"]
    );
    assert_eq!(names(&select(order(&[]))), ["openblas", "native", "naive"]);
    assert!(matches!(registry.select(&order(&["mkl", "blis"])), Err(Error::Disabled { .. })));
    assert!(matches!(
        registry.select(&Preference::Named("blis".into())),
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        registry.select(&Preference::Only("mkl".into())),
        Err(Error::Disabled { .. })
    ));
}

#[test]
fn x45_the_next_provider_is_asked_after_unsupported_and_the_one_that_executed_is_named() {
    let (first, second) =
        (Scripted::new("first", Answer::Refuses), Scripted::new("second", Answer::Executes));
    let last = Scripted::new("last", Answer::Executes);
    let chain = Chain::new([first.clone() as Arc<dyn Provider>, second.clone(), last.clone()]);
    let executed =
        ask(|product| chain.product(product, &Sequential).map(|p| p.name().to_owned())).unwrap();
    assert_eq!(executed, "second");
    let calls = [first, second, last].map(|provider| provider.calls.load(Ordering::Relaxed));
    assert_eq!(calls, [1, 1, 0]);
}

#[test]
fn x45_any_other_failure_is_final() {
    let (first, second) =
        (Scripted::new("first", Answer::Fails), Scripted::new("second", Answer::Executes));
    let chain = Chain::new([first as Arc<dyn Provider>, second.clone()]);
    let error = ask(|product| chain.product(product, &Sequential).map(|_| ()).err()).unwrap();
    assert_snapshot!(error, @"provider `first` failed: out of order");
    assert_eq!(second.calls.load(Ordering::Relaxed), 0);
}

#[test]
fn x45_a_chain_without_an_answer_says_what_each_provider_said() {
    let chain = Chain::new([
        Scripted::new("first", Answer::Refuses) as Arc<dyn Provider>,
        Scripted::new("second", Answer::Refuses),
    ]);
    let error = ask(|product| chain.product(product, &Sequential).map(|_| ()).err()).unwrap();
    assert_snapshot!(error, @"no provider does this product: `first`: it has no products of f64; `second`: it has no products of f64; add `naive`, which does all of them, to the chain");
}

#[test]
fn x46_a_counting_provider_proves_which_path_was_taken() {
    let refuses = Arc::new(Counting::new(Scripted::new("first", Answer::Refuses)));
    let executes = Arc::new(Counting::new(Scripted::new("second", Answer::Executes)));
    let chain = Chain::new([refuses.clone() as Arc<dyn Provider>, executes.clone()]);
    ask(|product| chain.product(product, &Sequential).map(|_| ())).unwrap();
    let (first, second) = (refuses.take(), executes.take());
    assert_eq!((first.len(), first[0].executed), (1, false));
    assert_eq!((second[0].extents, second[0].width, second[0].executed), ([2, 2, 2, 1], 1, true));
    assert_eq!((second[0].dtype, refuses.count()), (DType::F64, 0));
}

#[test]
fn products_that_make_no_sense_are_refused_with_a_reason() {
    let tensor = |shape: &[usize]| {
        Tensor::from_vec_col_major(shape.to_vec(), vec![1_i32; shape.iter().product()]).unwrap()
    };
    let refused = |lhs: &Tensor, rhs: &Tensor| {
        let mut out = [0_i32; 4];
        let mut out = TensorViewMut::from_slice(&mut out, &[2, 2, 1], &[1, 2, 4], 0).unwrap();
        Product::new(lhs.as_operand(), rhs.as_operand(), out.as_operand_mut())
            .and_then(|product| product.scaled(Factor::Real(0.5), Factor::ZERO))
            .err()
            .unwrap()
    };
    let square = tensor(&[2, 2, 1]);
    let floats = Tensor::from_vec_col_major(vec![2, 2, 1], vec![1.0_f64; 4]).unwrap();
    assert_snapshot!(refused(&square, &floats), @"product: dtypes i32 and f64 differ; convert one of them first");
    assert_snapshot!(refused(&square, &tensor(&[2, 2])), @"product: the shape of rhs has 2 entries where 3 are needed");
    assert_snapshot!(refused(&tensor(&[2, 0, 1]), &square), @"product: contracted axis: extents 0 and 2 differ in shapes (2, 0, 1) and (2, 2, 1)");
    assert_snapshot!(refused(&square, &tensor(&[2, 3, 1])), @"product: columns of the result: extents 3 and 2 differ in shapes (2, 3, 1) and (2, 2, 1)");
    assert_snapshot!(refused(&square, &square), @"product: alpha = Real(0.5) is not a value of i32; scale in another dtype");
}
