//! Reads files of figures in TOML.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::Raw;

/// Value of `format` in the first line.
const FORMAT: &str = "iodyno.figures/1";

/// Error in a file, with its line.
pub(super) struct Wrong {
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    #[serde(default, rename = "about")]
    _about: String,
    #[serde(default, rename = "source")]
    _source: String,
    #[serde(default)]
    environment: BTreeMap<String, toml::Value>,
    figure: Vec<Spanned<BTreeMap<String, toml::Value>>>,
}

/// Returns the rows of a file, each completed with the shared environment; `None` if `text` is not
/// such a file.
pub(super) fn read(text: &str) -> Option<Result<Vec<Raw>, Wrong>> {
    if !text.contains(FORMAT) {
        return None;
    }
    let line = |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let at = error.span().map(|span| line(span.start));
            return Some(Err(Wrong { line: at, what: error.message().to_owned() }));
        }
    };
    if file.format != FORMAT {
        let what = format!("format `{}` is not known; this iodyno reads {FORMAT}", file.format);
        return Some(Err(Wrong { line: None, what }));
    }
    let shared = cells(&file.environment);
    let rows = file.figure.into_iter().map(|figure| {
        let line = line(figure.span().start);
        let own = cells(figure.get_ref());
        let is_own = |name: &String| own.iter().any(|(other, _)| other == name);
        let inherited = shared.iter().filter(|(name, _)| !is_own(name)).cloned();
        Raw { line, cells: inherited.chain(own.clone()).collect() }
    });
    Some(Ok(rows.collect()))
}

fn cells(table: &BTreeMap<String, toml::Value>) -> Vec<(String, String)> {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    table.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}
