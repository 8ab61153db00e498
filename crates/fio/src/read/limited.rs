//! Parses JSON values of bounded size: a report may come from anywhere and contain anything.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Limit of elements: more than a job of a JSON+ report has (nine histograms of 1856 bins).
const MOST_ELEMENTS: usize = 1 << 16;
/// Bytes of a string that count as one element.
const BYTES_OF_ELEMENT: usize = 32;

/// Deserializes a value up to the remaining room; the rest is read and dropped.
#[derive(Clone, Copy)]
pub(super) struct Limited<'a>(&'a Cell<usize>);

/// An object, as of [`Limited`], without the members in [`JOBS`].
pub(super) struct LimitedObject {
    /// Members that are kept.
    pub(super) kept: Value,
    /// Skipped members that are lists.
    pub(super) lists: Vec<&'static str>,
}

/// Members of a report that are read one element at a time, the preferred one first.
pub(super) const JOBS: [&str; 2] = ["jobs", "client_stats"];

/// A value with its own room.
pub(super) struct LimitedValue(pub(super) Value);

impl Limited<'_> {
    /// True if nothing more is kept: skipping a list of all jobs is several times as fast.
    fn is_full(self) -> bool {
        self.0.get() == 0
    }

    fn takes(self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(1 + bytes / BYTES_OF_ELEMENT);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

impl<'de> DeserializeSeed<'de> for Limited<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Limited<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(if self.takes(value.len()) { value.into() } else { Value::Null })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        if self.is_full() {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
        }
        while let Some(element) = elements.next_element_seed(self)? {
            if self.takes(0) {
                kept.push(element);
            }
        }
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        if self.is_full() {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        }
        while let Some(name) = members.next_key_seed(Name(self))? {
            let value = members.next_value_seed(self)?;
            if let (Value::String(name), true) = (name, self.takes(0)) {
                kept.insert(name, value);
            }
        }
        Ok(Value::Object(kept))
    }
}

/// Deserializes a member's name.
struct Name<'a>(Limited<'a>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for LimitedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Limited(&Cell::new(MOST_ELEMENTS)).deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for LimitedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = LimitedObject;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<LimitedObject, A::Error> {
                let (room, none) = (Cell::new(MOST_ELEMENTS), Cell::new(0));
                let (mut kept, mut lists) = (Map::new(), Vec::new());
                while let Some(name) = members.next_key_seed(Name(Limited(&room)))? {
                    let jobs = JOBS.into_iter().find(|jobs| name == *jobs);
                    let room = if jobs.is_some() { &none } else { &room };
                    let value = members.next_value_seed(Limited(room))?;
                    match (jobs, name) {
                        (Some(jobs), _) => lists.extend(value.is_array().then_some(jobs)),
                        (None, Value::String(name)) => drop(kept.insert(name, value)),
                        _ => {}
                    }
                }
                Ok(LimitedObject { kept: Value::Object(kept), lists })
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Calls the function for each element of the list with this name in an object.
pub(super) struct Elements<'a, F>(pub(super) &'a str, pub(super) F);

impl<'de, F: FnMut(Value)> DeserializeSeed<'de> for Elements<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Value)> Visitor<'de> for Elements<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key_seed(NameIs(self.0))? {
            match name {
                true => members.next_value_seed(ForEach(&mut self.1))?,
                false => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Compares a member's name.
struct NameIs<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for NameIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameIs<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// Calls a function for each element of a list.
struct ForEach<'a, F>(&'a mut F);

impl<'de, F: FnMut(Value)> DeserializeSeed<'de> for ForEach<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Value)> Visitor<'de> for ForEach<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(LimitedValue(element)) = elements.next_element()? {
            (self.0)(element);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_are_dropped_and_others_unchanged() {
        let small = r#"{"a": [1, -2, 2.5, null, true, "x"], "b": {"c": {}}}"#;
        let LimitedValue(value) = serde_json::from_str(small).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(small).unwrap());
        let list = format!("[{}0]", "0,".repeat(2 * MOST_ELEMENTS));
        let LimitedValue(value) = serde_json::from_str(&list).unwrap();
        assert_eq!(value.as_array().map(Vec::len), Some(MOST_ELEMENTS));
        let text = format!("\"{}\"", "x".repeat(64 * MOST_ELEMENTS));
        let LimitedValue(value) = serde_json::from_str(&text).unwrap();
        assert_eq!(value, Value::Null);
        let deep = "[".repeat(100_000);
        assert!(serde_json::from_str::<LimitedValue>(&deep).is_err());
    }

    #[test]
    fn jobs_are_read_one_at_a_time() {
        let text = r#"{"client_stats": 3, "fio version": "x", "jobs": [{"a": 1}, {"a": 2}]}"#;
        let head: LimitedObject = serde_json::from_str(text).unwrap();
        assert_eq!(
            (head.kept.to_string().as_str(), &head.lists[..]),
            (r#"{"fio version":"x"}"#, &["jobs"][..])
        );
        let mut seen = Vec::new();
        let take = |job: Value| seen.push(job["a"].as_u64());
        let mut json = serde_json::Deserializer::from_str(text);
        Elements("jobs", take).deserialize(&mut json).unwrap();
        assert_eq!(seen, [Some(1), Some(2)]);
    }
}
