//! The choice among providers: the fastest is found by the calls themselves, remembered, explained and forgotten.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tenferro_provider::{
    Capabilities, Chain, Error, Outcome, Preference, Product, Provider, Reason, Registry,
    Sequential, Workers,
    choice::{Choice, Class, Form, Span, Store},
};
use tenferro_tensor::{AsOperand, DType, Tensor, TensorViewMut};

/// A provider that computes nothing and takes its time, by the clock that the choice looks at.
struct Slow {
    name: &'static str,
    version: &'static str,
    takes: Duration,
    capabilities: Capabilities,
    calls: AtomicUsize,
}

impl Slow {
    fn new(name: &'static str, micros: u64) -> Arc<Self> {
        Self::of(name, "1", micros, &[DType::F64])
    }

    fn of(name: &'static str, version: &'static str, micros: u64, dtypes: &[DType]) -> Arc<Self> {
        let capabilities = Capabilities::sequential(dtypes.iter().copied());
        let takes = Duration::from_micros(micros);
        Arc::new(Self { name, version, takes, capabilities, calls: AtomicUsize::new(0) })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Provider for Slow {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        self.version
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(&self, request: &mut Product<'_>, _: &dyn Workers) -> Result<Outcome, Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if !self.capabilities.dtypes.contains(request.dtype()) {
            return Ok(Outcome::Unsupported(Reason::DType(request.dtype())));
        }
        let start = Instant::now();
        while start.elapsed() < self.takes {}
        Ok(Outcome::Executed)
    }
}

/// Who computes a product of so many rows and columns, ones with ones.
fn multiply(chain: &Chain, extent: usize) -> String {
    let ones = vec![1.0_f64; extent * extent];
    let ones = Tensor::from_vec_col_major(vec![extent, extent, 1], ones).expect("as many");
    let mut elements = vec![0.0_f64; extent * extent];
    let columns = extent.cast_signed();
    let strides = [1, columns, columns * columns];
    let mut out = TensorViewMut::from_slice(&mut elements, &[extent, extent, 1], &strides, 0)
        .expect("as many");
    let mut product = Product::new(ones.as_operand(), ones.as_operand(), out.as_operand_mut())
        .expect("extents agree");
    chain.product(&mut product, &Sequential).expect("somebody computes").name().to_owned()
}

fn chain(providers: &[Arc<Slow>]) -> Chain {
    Chain::new(providers.iter().map(|provider| provider.clone() as Arc<dyn Provider>))
}

#[test]
fn x41_the_first_calls_of_a_class_are_shared_out_and_the_fastest_gets_the_rest() {
    let providers = [Slow::new("sluggish", 3_000), Slow::new("quick", 1)];
    let chain = chain(&providers).choosing(None);
    for _ in 0..30 {
        multiply(&chain, 16);
    }
    assert_eq!(providers[0].calls(), 5, "each is timed five times");
    assert_eq!(providers[1].calls(), 25);
    let table = chain.choice().expect("it chooses").table();
    assert_eq!(table.len(), 1);
    assert_eq!(table[0].chosen.as_deref(), Some("quick"));
    assert_eq!(table[0].class.to_string(), "f64 single square 4");
    // Another class is another choice.
    assert_eq!(multiply(&chain, 256), "sluggish");
}

#[test]
fn x45_a_provider_that_refuses_is_no_longer_asked_first() {
    let providers = [Slow::of("other", "1", 0, &[DType::F32]), Slow::new("only", 1)];
    let chain = chain(&providers).choosing(None);
    for _ in 0..20 {
        assert_eq!(multiply(&chain, 8), "only");
    }
    assert_eq!(providers[0].calls(), 1);
}

#[test]
fn x41_a_reference_is_not_compared_and_answers_when_others_refuse() {
    let mut reference = Slow::of("reference", "1", 0, &[DType::F64]);
    Arc::get_mut(&mut reference).expect("nobody else has it").capabilities.reference = true;
    let providers = [Slow::new("only", 1), reference];
    let chain = self::chain(&providers).choosing(None);
    (0..20).for_each(|_| assert_eq!(multiply(&chain, 8), "only"));
    assert_eq!(providers[1].calls(), 0);
    let table = chain.choice().expect("it chooses").table();
    assert_eq!(table[0].records.len(), 1);
    assert_eq!(table[0].records[0].1.calls, 1, "there is nobody to compare it with");
    let others = [Slow::of("other", "1", 0, &[DType::F32]), Arc::clone(&providers[1])];
    let chain = self::chain(&others).choosing(None);
    (0..3).for_each(|_| assert_eq!(multiply(&chain, 8), "reference"));
}

#[test]
fn x41_choices_outlive_the_process_for_the_same_cpu_and_versions_only() {
    let folder = std::env::temp_dir().join(format!("tenferro-choice-{}", std::process::id()));
    let store = |cpu: &str| Some(Store::new(folder.join("deep"), cpu));
    let providers = || [Slow::new("sluggish", 2_000), Slow::new("quick", 1)];
    let first = chain(&providers()).choosing(store("this cpu"));
    (0..12).for_each(|_| _ = multiply(&first, 16));
    let file = first.choice().and_then(Choice::file).expect("it is kept");
    assert!(file.exists());
    let again = providers();
    let remembering = chain(&again).choosing(store("this cpu"));
    assert_eq!(multiply(&remembering, 16), "quick");
    assert_eq!(again[0].calls(), 0);
    assert_eq!(
        remembering.choice().expect("it chooses").table(),
        first.choice().expect("it chooses").table()
    );
    for (cpu, version) in [("another cpu", "1"), ("this cpu", "2")] {
        let others = [Slow::new("sluggish", 2_000), Slow::of("quick", version, 1, &[DType::F64])];
        assert_eq!(multiply(&chain(&others).choosing(store(cpu)), 16), "sluggish");
    }
    assert!(file.exists(), "others have files of their own");
    // Whatever the file holds, it is no error.
    std::fs::write(&file, "tenferro choices 1\nnonsense: \u{0}").expect("the folder is ours");
    assert_eq!(multiply(&chain(&providers()).choosing(store("this cpu")), 16), "sluggish");
    remembering.choice().expect("it chooses").reset().expect("the file is ours");
    assert!(!file.exists());
    assert!(remembering.choice().expect("it chooses").table().is_empty());
    assert_eq!(multiply(&remembering, 16), "sluggish");
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}

#[test]
fn x41_calibration_settles_the_usual_classes_within_its_budget() {
    let providers = [Slow::of("slow", "1", 20, &[DType::F64, DType::F32]), Slow::new("quick", 0)];
    let chain = chain(&providers).choosing(None);
    let choice = chain.choice().expect("it chooses");
    // Complex products are refused by everybody.
    let refused = choice.calibrate(&chain, &Sequential, Duration::from_secs(10)).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }));
    let all = [DType::F64, DType::F32, DType::C64, DType::C32];
    let providers = [Slow::of("slow", "1", 20, &all), Slow::of("quick", "1", 0, &all)];
    let chain = self::chain(&providers).choosing(None);
    let choice = chain.choice().expect("it chooses");
    assert_eq!(choice.calibrate(&chain, &Sequential, Duration::ZERO).unwrap(), 0);
    assert_eq!(choice.calibrate(&chain, &Sequential, Duration::from_secs(60)).unwrap(), 4 * 9);
    assert!(choice.table().iter().all(|entry| entry.chosen.as_deref() == Some("quick")));
}

#[test]
fn x41_a_choice_is_explained() {
    let providers = [Slow::new("sluggish", 1_000), Slow::new("quick", 1)];
    let chain = chain(&providers).choosing(None);
    let choice = chain.choice().expect("it chooses");
    let explain = |text: &str| choice.explain(text, 1);
    assert!(explain("dgemm 64 64 64").unwrap().to_string().contains("not met yet"));
    (0..10).for_each(|_| _ = multiply(&chain, 64));
    let explanation = explain("dgemm 64 64 64").unwrap();
    assert_eq!(explanation.chosen.as_deref(), Some("quick"));
    let text = explanation.to_string();
    assert!(
        text.starts_with("class f64 single square 6: `quick`, which was the fastest"),
        "{text}"
    );
    assert!(text.contains("GFLOP/s at best of 5 calls"), "{text}");
    for nonsense in ["", "dgemm", "dgemm 1 2", "dgemm 1 2 x", "qgemm 1 2 3", "f64 1 2 3 4 5"] {
        assert_eq!(explain(nonsense), None, "{nonsense}");
    }
    assert!(explain("c32 2 3 4 10").is_some());
}

#[test]
fn x41_classes_tell_dtype_width_form_and_size_apart() {
    let class = |extents, batch, width| Class::new(DType::F64, extents, batch, width);
    let square = class([64, 64, 64], 1, 1);
    assert_eq!((square.span, square.form, square.size), (Span::Single, Form::Square, 6));
    assert_eq!(square, class([60, 70, 64], 1, 1));
    assert_ne!(square, class([64, 64, 64], 1, 2));
    assert_ne!(square, class([64, 64, 64], 2, 1));
    assert_ne!(square, class([4, 256, 256], 1, 1));
    assert_ne!(square, class([128, 128, 128], 1, 1));
    assert_eq!(class([usize::MAX; 3], 1, 1).size, 15);
    assert_eq!(class([0, 4, 4], 1, 1).size, 0);
}

#[test]
fn x41_auto_chooses_and_any_other_preference_does_not() {
    let registry = Registry::builder()
        .register(Slow::new("a", 0))
        .and_then(|registry| registry.register(Slow::new("b", 0)))
        .unwrap()
        .build();
    assert!(registry.select(&Preference::Auto).unwrap().choice().is_some());
    for preference in [Preference::Registered, Preference::Named("a".to_owned())] {
        assert!(registry.select(&preference).unwrap().choice().is_none());
    }
}
