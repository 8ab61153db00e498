//! `iodyno compare`.

use anyhow::Result;

use crate::arguments::Compare;
use crate::context::{Context, Usage};

pub(crate) fn run(_context: &Context, _arguments: &Compare) -> Result<u8> {
    Err(Usage("not built yet".into()).into())
}
