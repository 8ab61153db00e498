//! JSON forms that differ from the types.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Estimate;

/// Writes pairs as objects, so that both members have names.
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

    /// Also reads unnamed pairs, the form of earlier versions.
    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Vec<T>, D::Error>
    where
        P: Deserialize<'de> + Into<T>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<P>::deserialize(from)?.into_iter().map(Into::into).collect())
    }
}

/// Declares a pair with named members.
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

/// Reads null as NaN.
pub(crate) fn null_as_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Writes an estimate without a finite value as null, and reads null as NaN.
pub(crate) mod estimate {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(of: &Estimate, to: S) -> Result<S::Ok, S::Error> {
        of.finite().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Estimate, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(Estimate::bare(f64::NAN)))
    }
}

/// Writes 128-bit counts of drives as null where they exceed 64 bits, the limit of most JSON
/// readers.
pub(crate) mod count {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(count: &u128, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(*count).ok().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        struct Count;
        impl Visitor<'_> for Count {
            type Value = u128;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count, or null for one beyond 64 bits")
            }

            fn visit_unit<E: Error>(self) -> Result<u128, E> {
                Ok(u128::MAX)
            }

            fn visit_u64<E: Error>(self, count: u64) -> Result<u128, E> {
                Ok(count.into())
            }

            // A count beyond 64 bits, as stored by earlier versions.
            fn visit_f64<E: Error>(self, count: f64) -> Result<u128, E> {
                if count >= u64::MAX as f64 {
                    Ok(count as u128)
                } else {
                    Err(E::custom("no count"))
                }
            }
        }
        from.deserialize_any(Count)
    }
}

/// Writes times as RFC 3339 in UTC; also reads ns since 1970, the form of earlier versions.
pub(crate) mod time {
    use super::*;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Time {
        Ns(i64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(ns: &i64, to: S) -> Result<S::Ok, S::Error> {
        crate::rfc3339(*ns).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        match Time::deserialize(from)? {
            Time::Ns(ns) => Ok(ns),
            Time::Text(text) => crate::parse_rfc3339(&text)
                .ok_or_else(|| D::Error::custom(format!("{text:?} is no time (RFC 3339)"))),
        }
    }
}

/// As [`time`], with null for an unknown time, which was 1970 in earlier versions.
pub(crate) mod time_or_null {
    use super::*;

    #[derive(Deserialize)]
    struct Time(#[serde(with = "super::time")] i64);

    #[allow(clippy::ref_option, reason = "serde passes fields by reference")]
    pub(crate) fn serialize<S: Serializer>(ns: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        ns.map(crate::rfc3339).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        let known = Option::<Time>::deserialize(from)?;
        Ok(known.map(|Time(ns)| ns).filter(|ns| *ns != 0))
    }
}
