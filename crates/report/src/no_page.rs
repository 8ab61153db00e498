//! Replaces `page` in builds without the `page` feature.

use iodyno_judge::ClaimBook;
use iodyno_model::TraceSummary;
use serde_json::{Value, json};
use thiserror::Error;

pub use crate::paged::{LiveView, PageRun, is_page};

/// Error: built without pages.
#[derive(Debug, Error)]
#[error(
    "this iodyno was built without pages (Cargo feature \"page\"); use a build with pages: iodyno runs export RUN > run.json, then there iodyno report run.json"
)]
pub struct PageError;

/// Content-Security-Policy of [`live_page`].
pub const LIVE_POLICY: &&str = &"default-src 'none'";

/// Fails: this build has no pages.
///
/// # Errors
/// Always.
pub fn page(_: &[PageRun<'_>], _: &ClaimBook) -> Result<String, PageError> {
    Err(PageError)
}

/// Fails: this build has no pages.
///
/// # Errors
/// Always.
pub fn trace_page(_: &str, _: &TraceSummary) -> Result<String, PageError> {
    Err(PageError)
}

/// Says where else a browser finds the live results.
///
/// # Errors
/// None.
pub fn live_page() -> Result<String, PageError> {
    Ok("This iodyno was built without pages; /metrics and /stream have the numbers.".into())
}

/// Returns no figures.
pub fn live_data(_: LiveView) -> Value {
    json!({"figures": []})
}
