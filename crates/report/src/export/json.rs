//! Exports the public document of a run, or an array of documents of several runs.

use super::{Exporter, Result, Results};
use crate::document::run_document;
use crate::judged::Judged;
use crate::text::json_text;

/// Public document, `iodyno.run/2`.
pub(super) struct Json;

impl Exporter for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn help(&self) -> &'static str {
        "The public document of a run, or an array of them"
    }

    fn export(&self, results: Results<'_>) -> Result {
        let document =
            |of: &Judged<'_>| run_document(of.record, of.assessment, of.exit_status(false) as u8);
        let text = match results.runs()? {
            [one] => json_text(&document(one)),
            all => json_text(&all.iter().map(document).collect::<Vec<_>>()),
        };
        Ok(text?.into_bytes())
    }
}
