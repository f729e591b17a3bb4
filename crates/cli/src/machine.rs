//! The settings of the backend that every computing command has, and what the backend says of itself.

use tenferro::{CpuBackend, DType, ProviderInfo};

use crate::failure::Failure;

/// What a command may use of the machine.
#[derive(clap::Args)]
pub(super) struct Machine {
    /// The most threads to use [default: what this process may use]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The provider of matrix products; `tenferro doctor` lists them [default: chosen by the library]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
}

impl Machine {
    /// A backend with the settings that the user asks for.
    pub(super) fn backend(&self) -> Result<CpuBackend, Failure> {
        let mut builder = CpuBackend::builder();
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        if let Some(provider) = &self.provider {
            builder = builder.provider(provider);
        }
        builder.build().map_err(Failure::Backend)
    }
}

/// Who multiplies matrices of this dtype: the most preferred provider that has it.
pub(super) fn provider(backend: &CpuBackend, dtype: DType) -> String {
    // Truth values are counted in f32.
    let dtype = if dtype == DType::Bool { DType::F32 } else { dtype };
    let providers = backend.diagnostics().providers;
    let has =
        |provider: &&ProviderInfo| provider.dtypes.split(' ').any(|name| name == dtype.name());
    providers.iter().find(has).map_or_else(|| "none".to_owned(), |provider| provider.name.clone())
}
