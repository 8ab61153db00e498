//! Embeds data for the page's scripts, in script elements that are not executed.

use std::fmt;

use iodyno_figure::{Figure, option};
use serde::Serialize;
use serde_json::{Map, Value};

use super::table::Cell;
use crate::text::sanitize::escaped;
use crate::text::words::clean;

/// JSON that is safe within a script element: it contains nothing that ends the element, opens a
/// comment, is a line break in only some versions of JavaScript, or is hidden in the page's source.
#[derive(Debug)]
pub(super) struct Data(String);

impl Data {
    /// Serializes `value`; `None` if it is longer than `most_bytes`.
    pub(super) fn within(value: &(impl Serialize + ?Sized), most_bytes: usize) -> Option<Self> {
        /// Writer that fails once the remaining bytes are used up.
        struct Limited(usize);
        impl std::io::Write for Limited {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let left = self.0.checked_sub(bytes.len());
                self.0 = left.ok_or(std::io::ErrorKind::FileTooLarge)?;
                Ok(bytes.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        serde_json::to_writer(Limited(most_bytes), value).ok()?;
        Some(Self::new(value))
    }

    /// Returns the length in bytes.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Serializes `value`; `null` if it has no JSON form (a map with non-string keys).
    pub(super) fn new(value: &(impl Serialize + ?Sized)) -> Self {
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
        // In JSON these characters occur only in strings.
        Self(escaped(&json).replace('<', "\\u003c"))
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Figure: title and data to draw it from.
#[derive(Debug)]
pub(super) struct FigureView {
    /// Title, for screen readers.
    pub(super) title: String,
    /// `{"option": …, "dark": {"/pointer": value}}`.
    pub(super) data: Data,
    /// Counts of invalid and qualified measurements in it: mark, number and rules.
    pub(super) marks: Vec<(Cell, String)>,
}

impl FigureView {
    pub(super) fn new(figure: &Figure, marks: Vec<(Cell, String)>) -> Self {
        let light = option(figure, false);
        let mut dark = Map::new();
        differences(&light, &option(figure, true), &mut String::new(), &mut dark);
        Self {
            title: clean(&figure.title),
            data: Data::new(&serde_json::json!({"option": light, "dark": dark})),
            marks,
        }
    }
}

/// Collects the values of `other` that differ from `one`, by JSON pointer (RFC 6901). The points of
/// a figure are thus in the page once, accompanied only by the colours of the dark figure.
fn differences(one: &Value, other: &Value, at: &mut String, found: &mut Map<String, Value>) {
    let mut deeper = |key: &str, one: &Value, other: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        differences(one, other, at, found);
        at.truncate(length);
    };
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() && a.keys().eq(b.keys()) => {
            a.iter().for_each(|(key, value)| deeper(key, value, &b[key]));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(n, (x, y))| deeper(&n.to_string(), x, y));
        }
        (one, other) if one != other => {
            found.insert(at.clone(), other.clone());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_in_the_data_ends_its_element() {
        let hostile = json!({"model": "</script><!--<script>\u{2028}\u{2029}&amp;"});
        let text = Data::new(&hostile).to_string();
        assert!(!text.contains('<') && text.is_ascii(), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }

    #[test]
    fn what_differs_is_named_and_nothing_else() {
        let one = json!({"a": [1, {"b/c": "x", "d": 2}], "e": 3, "long": [1, 2]});
        let other = json!({"a": [1, {"b/c": "y", "d": 2}], "e": 3, "long": [1]});
        let mut found = Map::new();
        differences(&one, &other, &mut String::new(), &mut found);
        assert_eq!(Value::Object(found), json!({"/a/1/b~1c": "y", "/long": [1]}));
        let mut none = Map::new();
        differences(&one, &one, &mut String::new(), &mut none);
        assert!(none.is_empty());
    }
}
