//! Implements [`KnownOptions`] by the option table.

use super::{KnownOptions, Takes};
use crate::options::{Kind, find, options};

/// All options of the table.
#[derive(Debug, Clone, Copy)]
pub struct OptionTable;

impl KnownOptions for OptionTable {
    fn takes(&self, name: &str) -> Option<Takes> {
        find(name).map(|spec| match spec.kind() {
            Kind::Flag => Takes::OptionalValue,
            Kind::Text | Kind::OptionalText => Takes::Text,
            _ => Takes::Value,
        })
    }

    fn names(&self) -> Vec<&str> {
        options()
            .flat_map(|spec| std::iter::once(spec.name).chain(spec.aliases.iter().copied()))
            .collect()
    }
}
