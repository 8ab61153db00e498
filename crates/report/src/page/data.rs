//! Data for the page's script, in script elements that are not run.

use std::fmt;

use iodyno_figure::{Figure, option};
use serde::Serialize;
use serde_json::{Map, Value};

use super::table::Cell;
use crate::text::words::clean;

/// JSON that may stand inside a script element: nothing in it ends the element,
/// opens a comment, or is a line break to some scripts and not to others.
#[derive(Debug)]
pub(super) struct Data(String);

impl Data {
    /// `value` as JSON, unless that is longer than `most_bytes`.
    pub(super) fn within(value: &(impl Serialize + ?Sized), most_bytes: usize) -> Option<Self> {
        /// Takes no more than is left.
        struct Counted(usize);
        impl std::io::Write for Counted {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let left = self.0.checked_sub(bytes.len());
                self.0 = left.ok_or(std::io::ErrorKind::FileTooLarge)?;
                Ok(bytes.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        serde_json::to_writer(Counted(most_bytes), value).ok()?;
        Some(Self::new(value))
    }

    /// Bytes.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// `value` as JSON; `null` for what is none (a map whose keys are no strings).
    pub(super) fn new(value: &(impl Serialize + ?Sized)) -> Self {
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
        // In JSON these characters occur in strings alone.
        Self(
            json.replace('<', "\\u003c")
                .replace('\u{2028}', "\\u2028")
                .replace('\u{2029}', "\\u2029"),
        )
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A figure: what it is called, and what the script draws it from.
#[derive(Debug)]
pub(super) struct FigureView {
    /// Its title, for those who do not see it.
    pub(super) title: String,
    /// `{"option": …, "dark": {"/pointer": value}}`.
    pub(super) data: Data,
    /// Which of the measurements in it are not valid: mark, how many and why.
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

/// What of `other` is not as in `one`: JSON pointer (RFC 6901), value. The points
/// of a figure stand in the page once, the dark figure's colours beside them.
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
