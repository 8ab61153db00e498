//! `iodyno plot`.

use anyhow::Result;

use crate::arguments::Plot;
use crate::context::{Context, Usage};

pub(crate) fn run(_context: &Context, _arguments: &Plot) -> Result<u8> {
    Err(Usage("not built yet".into()).into())
}
