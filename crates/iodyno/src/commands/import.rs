//! `iodyno import`.

use anyhow::Result;

use crate::arguments::Import;
use crate::context::{Context, Usage};

pub(crate) fn run(_context: &Context, _arguments: &Import) -> Result<u8> {
    Err(Usage("not built yet".into()).into())
}
