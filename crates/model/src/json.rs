//! Where JSON is not as the types are.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Estimate;

/// Pairs are objects there, so that each of the two has a name.
pub(crate) struct Named<P>(PhantomData<P>);

impl<P> Named<P> {
    pub(crate) fn serialize<T, S>(pairs: &[T], to: S) -> Result<S::Ok, S::Error>
    where
        T: Clone + Into<P>,
        P: Serialize,
        S: Serializer,
    {
        to.collect_seq(pairs.iter().cloned().map(Into::<P>::into))
    }

    /// Pairs without names, as they were stored before, are read as well.
    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Vec<T>, D::Error>
    where
        P: Deserialize<'de> + Into<T>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<P>::deserialize(from)?.into_iter().map(Into::into).collect())
    }
}

/// A pair by its names.
macro_rules! named {
    ($(#[$of:meta])* $name:ident {
        $(#[$of_a:meta])* $a:ident: $A:ty,
        $(#[$of_b:meta])* $b:ident: $B:ty,
    }) => {
        $(#[$of])*
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        struct $name {
            $(#[$of_a])* $a: $A,
            $(#[$of_b])* $b: $B,
        }

        impl From<($A, $B)> for $name {
            fn from(($a, $b): ($A, $B)) -> Self {
                Self { $a, $b }
            }
        }

        impl From<$name> for ($A, $B) {
            fn from(of: $name) -> Self {
                (of.$a, of.$b)
            }
        }
    };
}
pub(crate) use named;

/// What is no number is null there.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The same of an estimate.
pub(crate) mod estimate {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(of: &Estimate, to: S) -> Result<S::Ok, S::Error> {
        of.finite().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Estimate, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(Estimate::bare(f64::NAN)))
    }
}
