//! Why a product goes where it goes, in words.

use std::fmt;

use tenferro_tensor::DType;

use super::{Choice, Class, Record};

/// What is known of one product's class, and who would compute it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The class that the product is in.
    pub class: Class,
    /// Who computes it; `None` while calls are still being compared.
    pub chosen: Option<String>,
    /// What was measured of each provider, in the chain's order.
    pub records: Vec<(String, Record)>,
    /// Multiply-add steps of the product.
    pub work: usize,
}

impl Choice {
    /// Explains a product such as `dgemm 64 64 64`: BLAS's letter or a dtype's name, then m, n and k, and the size of a
    /// batch if there is one. `None` for a text that says no such thing.
    #[must_use]
    pub fn explain(&self, text: &str, width: usize) -> Option<Explanation> {
        let mut words = text.split_whitespace();
        let dtype = dtype(words.next()?)?;
        let mut numbers = words.map(str::parse::<usize>);
        let mut number = || numbers.next()?.ok();
        let extents = [number()?, number()?, number()?];
        let batch = match numbers.next() {
            None => 1,
            Some(batch) => batch.ok()?,
        };
        numbers.next().is_none().then_some(())?;
        let class = Class::new(dtype, extents, batch, width);
        let work = extents.iter().fold(batch, |work, &extent| work.saturating_mul(extent));
        let trials = self.trials.lock();
        let entry = trials.get(&class).map(|trial| self.entry(class, trial));
        let (chosen, records) = entry.map_or_else(Default::default, |e| (e.chosen, e.records));
        Some(Explanation { class, chosen, records, work })
    }
}

/// The dtype of `dgemm`, or of the dtype's own name.
fn dtype(word: &str) -> Option<DType> {
    match word {
        "sgemm" => Some(DType::F32),
        "dgemm" => Some(DType::F64),
        "cgemm" => Some(DType::C32),
        "zgemm" => Some(DType::C64),
        name => DType::ALL.iter().copied().find(|dtype| dtype.to_string() == name),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "class {}: ", self.class)?;
        match &self.chosen {
            Some(chosen) => writeln!(f, "`{chosen}`, which was the fastest")?,
            None if self.records.is_empty() => {
                writeln!(f, "not met yet; the first calls will be given to each provider in turn")?;
            }
            None => writeln!(f, "still being compared, a call each in turn")?,
        }
        for (name, record) in &self.records {
            let Record { calls, rate, refused } = record;
            if *refused {
                writeln!(f, "  {name}: does not do this")?;
            } else {
                let time = rate * self.work as f64 / 1e3;
                let rate = record.gflops(self.class.dtype.0);
                writeln!(f, "  {name}: {time:.0} ns, {rate:.1} GFLOP/s at best of {calls} calls")?;
            }
        }
        Ok(())
    }
}
