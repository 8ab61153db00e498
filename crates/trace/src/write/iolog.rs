//! Writes fio's iolog, version 3: times in us, without latencies, flags and submitters.

use std::io::{BufRead, Write};

use crate::{Operation, Reader, TraceError};

/// Writes a trace as an iolog. Devices become `/dev/NAME`; blanks in names, which a log cannot
/// represent, become underscores. Returns the number of skipped I/Os: those other than read, write,
/// discard and flush.
///
/// # Errors
/// The trace cannot be read or the log cannot be written.
pub fn iolog<R: BufRead>(trace: &mut Reader<R>, to: &mut impl Write) -> Result<u64, TraceError> {
    writeln!(to, "fio version 3 iolog")?;
    let mut files: Vec<String> = Vec::new();
    let (mut left_out, mut last_us) = (0, 0);
    while let Some(chunk) = trace.next_undamaged_chunk()? {
        let names = trace.names();
        for io in &chunk.ios {
            let us = io.at_ns / 1000;
            last_us = us;
            while files.len() <= usize::from(io.device) {
                let name = names.devices().get(files.len()).map_or("", |device| &device.name);
                let name = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
                let name = if name.starts_with('/') { name } else { format!("/dev/{name}") };
                writeln!(to, "{us} {name} add\n{us} {name} open")?;
                files.push(name);
            }
            let name = &files[usize::from(io.device)];
            let action = match io.operation {
                Operation::Read => "read",
                Operation::Write => "write",
                Operation::Discard => "trim",
                Operation::Flush => "sync",
                Operation::Other => {
                    left_out += 1;
                    continue;
                }
            };
            writeln!(to, "{us} {name} {action} {} {}", io.offset, io.length)?;
        }
    }
    files.iter().try_for_each(|name| writeln!(to, "{last_us} {name} close"))?;
    to.flush()?;
    Ok(left_out)
}
