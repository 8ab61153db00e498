//! Traces for other tools.

mod iolog;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
mod parquet;
#[cfg(test)]
mod tests;

use std::io::BufRead;

pub use iolog::iolog;
pub use parquet::parquet;

use crate::read::{ReadError, Source};
use crate::{Chunk, Ending, Header, Reader, TraceError, Writer};

/// The chunks of a trace, without those that are damaged; and the names behind them.
fn each_chunk<R: BufRead>(
    trace: &mut Reader<R>,
    mut give: impl FnMut(&Chunk, &crate::Names) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    loop {
        match trace.next_chunk() {
            Ok(None) => return Ok(()),
            Ok(Some(chunk)) => give(&chunk, trace.names())?,
            Err(TraceError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Another tool's trace as one of ours.
///
/// # Errors
/// It cannot be read (the outer error), or the system refuses to write.
pub fn iotrace<W: std::io::Write>(
    source: &mut Source,
    to: W,
) -> Result<Result<(W, Ending), TraceError>, ReadError> {
    let first = source.next_io()?;
    let format = source.format();
    let header = Header {
        source: format.name().into(),
        started_ns: source.started_ns(),
        tick_ns: format.tick_ns(),
        ..Header::default()
    };
    let mut writer = match Writer::new(to, &header) {
        Ok(writer) => writer,
        Err(error) => return Ok(Err(error)),
    };
    let mut next = first;
    while let Some(io) = next {
        if let Err(error) = writer.push(io, source.names()) {
            return Ok(Err(error));
        }
        next = source.next_io()?;
    }
    Ok(writer.end(source.names(), 0, source.unmatched()))
}
