//! Stands in for Parquet where it was left out of the build.

use std::io::{BufRead, Write};

use iodyno_trace::Reader;

use super::{ExportError, Result};

/// Says that this build has no Parquet.
///
/// # Errors
/// Always.
pub fn export_trace<R: BufRead>(_: &mut Reader<R>, _: impl Write + Send) -> Result<()> {
    Err(ExportError::NoParquet)
}
