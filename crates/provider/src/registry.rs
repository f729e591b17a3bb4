//! Providers by name, fixed when a backend is built.
//!
//! The registry never loads or tries a provider: it is told who is there, who is missing and who was not compiled in.
//! Once built it does not change, so that reading it takes no lock.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{Chain, Error, Provider};

/// Which providers a backend asks, and in which order.
///
/// Whoever is not named follows in the registry's own order, so that a product that the preferred ones do not do still
/// has an answer; [`Preference::Only`] is the exception.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preference {
    /// The registry's own order: the last registered first.
    #[default]
    Registered,
    /// This provider first; it must be there.
    Named(String),
    /// Those of these providers that are there, in this order, first; at least one must be.
    Order(Vec<String>),
    /// The fastest for each product on this machine, which the first calls of a kind find out ([`crate::choice`]).
    Auto,
    /// This provider and no other.
    Only(String),
}

/// Why a provider that is known by name is not there.
#[derive(Clone, Debug)]
enum Absence {
    Disabled { feature: String },
    Missing { cause: String },
}

#[derive(Default)]
struct Entries {
    /// In the order of registration.
    providers: Vec<Arc<dyn Provider>>,
    absent: BTreeMap<String, Absence>,
}

/// Who can compute, by name. Immutable and cheap to clone.
#[derive(Clone)]
pub struct Registry(Arc<Entries>);

/// A registry in the making.
#[derive(Default)]
pub struct RegistryBuilder(Entries);

impl RegistryBuilder {
    /// Adds a provider, which is preferred to those added before.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if its name is taken.
    pub fn register(mut self, provider: Arc<dyn Provider>) -> Result<Self, Error> {
        let name = provider.name();
        if self.contains(name) {
            return Err(Error::Duplicate { name: name.to_owned() });
        }
        self.0.absent.remove(name);
        self.0.providers.push(provider);
        Ok(self)
    }

    /// Whether a provider of this name was added.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.providers.iter().any(|provider| provider.name() == name)
    }

    /// Says that a provider is known but was not compiled in, and which feature would do it.
    #[must_use]
    pub fn disabled(self, name: &str, feature: &str) -> Self {
        self.absent(name, Absence::Disabled { feature: feature.to_owned() })
    }

    /// Says that a provider is compiled in but cannot be used on this machine, and why.
    #[must_use]
    pub fn missing(self, name: &str, cause: &str) -> Self {
        self.absent(name, Absence::Missing { cause: cause.to_owned() })
    }

    /// The registry of what was added.
    #[must_use]
    pub fn build(self) -> Registry {
        Registry(Arc::new(self.0))
    }

    fn absent(mut self, name: &str, absence: Absence) -> Self {
        if !self.contains(name) {
            self.0.absent.insert(name.to_owned(), absence);
        }
        self
    }
}

impl Registry {
    /// An empty registry to add providers to. Add the one that does everything first.
    #[must_use]
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// The provider of this name.
    ///
    /// # Errors
    /// [`Error::Disabled`] if it was not compiled in; [`Error::NotFound`] if it is missing at run time or unknown.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Provider>, Error> {
        if let Some(provider) = self.0.providers.iter().find(|provider| provider.name() == name) {
            return Ok(provider);
        }
        let name = name.to_owned();
        let available = self.iter().map(|provider| provider.name().to_owned()).collect();
        Err(match self.0.absent.get(&name) {
            Some(Absence::Disabled { feature }) => {
                Error::Disabled { name, feature: feature.clone(), available }
            }
            Some(Absence::Missing { cause }) => {
                Error::NotFound { name, cause: Some(cause.clone()), available }
            }
            None => Error::NotFound { name, cause: None, available },
        })
    }

    /// The providers that are there, most preferred first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<dyn Provider>> + ExactSizeIterator {
        self.0.providers.iter().rev()
    }

    /// The names that are known and not there, in alphabetical order; [`Registry::get`] says why.
    pub fn absent(&self) -> impl Iterator<Item = &str> {
        self.0.absent.keys().map(String::as_str)
    }

    /// The providers to ask under a preference, most preferred first.
    ///
    /// # Errors
    /// As for [`Registry::get`], if a provider that must be there is not, or none of an order is.
    pub fn select(&self, preference: &Preference) -> Result<Chain, Error> {
        let named = match preference {
            Preference::Registered => Vec::new(),
            Preference::Auto => return Ok(Chain::new(self.iter().cloned()).choosing(None)),
            Preference::Only(name) => return Ok(Chain::new([self.get(name)?.clone()])),
            Preference::Named(name) => vec![self.get(name)?],
            Preference::Order(names) => self.present(names)?,
        };
        let is_named = |provider: &Arc<dyn Provider>| {
            named.iter().any(|named| named.name() == provider.name())
        };
        let others = self.iter().filter(|provider| !is_named(provider));
        Ok(Chain::new(named.iter().copied().chain(others).cloned()))
    }

    /// Those of `names` that are there, each once; the first one's error if none is and one was named.
    fn present(&self, names: &[String]) -> Result<Vec<&Arc<dyn Provider>>, Error> {
        let mut present: Vec<&Arc<dyn Provider>> = Vec::new();
        for provider in names.iter().filter_map(|name| self.get(name).ok()) {
            if !present.iter().any(|other| other.name() == provider.name()) {
                present.push(provider);
            }
        }
        match names.first() {
            Some(first) if present.is_empty() => self.get(first).map(|provider| vec![provider]),
            _ => Ok(present),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(|provider| provider.name()).collect();
        f.debug_struct("Registry")
            .field("providers", &names)
            .field("absent", &self.0.absent)
            .finish()
    }
}
