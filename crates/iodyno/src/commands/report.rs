//! `iodyno report`.

use anyhow::Result;

use crate::arguments::Report;
use crate::context::{Context, Usage};

pub(crate) fn run(_context: &Context, _arguments: &Report) -> Result<u8> {
    Err(Usage("not built yet".into()).into())
}
