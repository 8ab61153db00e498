//! Stands in for `page` in a build without the feature of that name.

use iodyno_judge::ClaimBook;
use iodyno_model::TraceSummary;
use serde_json::{Value, json};
use thiserror::Error;

pub use crate::paged::{LiveView, PageRun, is_page};

/// Pages are left out.
#[derive(Debug, Error)]
#[error(
    "this iodyno was built without pages (Cargo feature \"page\"); take the run to one that has \
     them: iodyno runs export RUN > run.json, and there iodyno report run.json"
)]
pub struct PageError;

/// The Content-Security-Policy of [`live_page`].
pub const LIVE_POLICY: &&str = &"default-src 'none'";

/// No page.
///
/// # Errors
/// Always.
pub fn page(_: &[PageRun<'_>], _: &ClaimBook) -> Result<String, PageError> {
    Err(PageError)
}

/// No page.
///
/// # Errors
/// Always.
pub fn trace_page(_: &str, _: &TraceSummary) -> Result<String, PageError> {
    Err(PageError)
}

/// Says where else the browser finds what is going on.
///
/// # Errors
/// None.
pub fn live_page() -> Result<String, PageError> {
    Ok("This iodyno was built without pages; /metrics and /stream have the numbers.".into())
}

/// Nothing.
pub fn live_data(_: LiveView) -> Value {
    json!({"figures": []})
}
