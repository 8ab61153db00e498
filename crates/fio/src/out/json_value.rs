//! Writes JSON as fio does: members in order, numbers as integers or with six decimals, two blanks
//! per level.

use std::fmt::Write;

/// A value of a JSON document.
#[derive(Debug, Clone)]
pub(super) enum JsonValue {
    Integer(i128),
    Float(f64),
    Text(String),
    Object(Vec<(String, JsonValue)>),
    Array(Vec<JsonValue>),
}

impl JsonValue {
    /// Builds an object of these members.
    pub(super) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Formats the document, with a line feed at its end.
    pub(super) fn document(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text.push('\n');
        text
    }

    fn write(&self, level: usize, text: &mut String) {
        match self {
            Self::Integer(number) => push(text, format_args!("{number}")),
            Self::Float(number) if number.is_finite() => push(text, format_args!("{number:.6}")),
            Self::Float(_) => text.push_str("0.000000"),
            Self::Text(value) => text.push_str(&quoted(value)),
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| (Some(name.as_str()), value));
                write_members(members, ('{', '}'), level, text);
            }
            Self::Array(values) => {
                write_members(values.iter().map(|value| (None, value)), ('[', ']'), level, text);
            }
        }
    }
}

fn write_members<'t>(
    members: impl Iterator<Item = (Option<&'t str>, &'t JsonValue)>,
    (open, close): (char, char),
    level: usize,
    text: &mut String,
) {
    text.push(open);
    for (n, (name, value)) in members.enumerate() {
        text.push_str(if n == 0 { "\n" } else { ",\n" });
        indent(level + 1, text);
        if let Some(name) = name {
            push(text, format_args!("{} : ", quoted(name)));
        }
        value.write(level + 1, text);
    }
    text.push('\n');
    indent(level, text);
    text.push(close);
}

fn indent(level: usize, text: &mut String) {
    text.extend(std::iter::repeat_n("  ", level));
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Appends formatted text.
pub(super) fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes everything");
}

impl From<u64> for JsonValue {
    fn from(number: u64) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u32> for JsonValue {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<i32> for JsonValue {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<i64> for JsonValue {
    fn from(number: i64) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for JsonValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<String> for JsonValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<JsonValue>> From<Vec<T>> for JsonValue {
    fn from(values: Vec<T>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<JsonValue>> FromIterator<(String, T)> for JsonValue {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(members: I) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_matches_fio() {
        let tree = JsonValue::object([
            ("fio \"version\"", "a\nb".into()),
            ("mean", 0.5.into()),
            ("jobs", vec![JsonValue::object([("error", 0_u64.into())])].into()),
            ("bins", JsonValue::Object(Vec::new())),
        ]);
        let text = "{\n  \"fio \\\"version\\\"\" : \"a\\nb\",\n  \"mean\" : 0.500000,\n  \"jobs\" : \
                    [\n    {\n      \"error\" : 0\n    }\n  ],\n  \"bins\" : {\n  }\n}\n";
        assert_eq!(tree.document(), text);
    }
}
