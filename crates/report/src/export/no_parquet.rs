//! Replaces the Parquet export in builds without it.

use std::io::{BufRead, Write};

use iodyno_trace::Reader;

use super::{ExportError, Result};

/// Fails: this build has no Parquet.
///
/// # Errors
/// Always.
pub fn export_trace<R: BufRead>(_: &mut Reader<R>, _: impl Write + Send) -> Result<()> {
    Err(ExportError::NoParquet)
}
