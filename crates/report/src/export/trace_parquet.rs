//! Exports a trace as Parquet: a row group for each chunk; unknown values are null.

use std::io::{BufRead, Write};

use iodyno_trace::{Actor, Flags, Io, Names, Reader};

use super::Result;
use super::parquet_table::{ColumnType, Rows, table};

/// Accessor of a column's value.
enum Get {
    Integer(fn(&Io, &Names) -> Option<u64>),
    Text(for<'a> fn(&'a Io, &'a Names) -> Option<&'a str>),
}

fn actor<'a>(io: &Io, names: &'a Names) -> Option<&'a Actor> {
    names.actors().get(io.actor? as usize)
}

const COLUMNS: [(&str, Get); 12] = [
    ("at_ns", Get::Integer(|io, _| Some(io.at_ns))),
    ("device", Get::Text(|io, names| Some(&names.devices().get(usize::from(io.device))?.name))),
    ("operation", Get::Text(|io, _| Some(io.operation.name()))),
    ("offset", Get::Integer(|io, _| Some(io.offset))),
    ("length", Get::Integer(|io, _| Some(io.length.into()))),
    ("sync", Get::Integer(|io, _| Some(io.flags.has(Flags::SYNC).into()))),
    ("fua", Get::Integer(|io, _| Some(io.flags.has(Flags::FUA).into()))),
    ("latency_ns", Get::Integer(|io, _| io.latency.total())),
    ("queue_ns", Get::Integer(|io, _| io.latency.queue())),
    ("device_ns", Get::Integer(|io, _| io.latency.device())),
    ("pid", Get::Integer(|io, names| actor(io, names)?.pid.map(u64::from))),
    ("process", Get::Text(|io, names| actor(io, names)?.process.as_deref())),
];

/// Writes a trace as a table with a row for each I/O. Damaged chunks are skipped.
///
/// # Errors
/// The trace cannot be read, or the table cannot be written.
pub fn export_trace<R: BufRead>(trace: &mut Reader<R>, to: impl Write + Send) -> Result<()> {
    let columns = COLUMNS.iter().map(|(name, get)| match get {
        Get::Integer(_) => (*name, ColumnType::Integer),
        Get::Text(_) => (*name, ColumnType::Text),
    });
    let mut file = table(to, "trace", columns)?;
    while let Some(chunk) = trace.next_undamaged_chunk()? {
        let mut group = Rows(file.next_row_group()?);
        let (ios, names) = (chunk.ios.iter(), trace.names());
        for (_, get) in &COLUMNS {
            match get {
                Get::Integer(get) => group.integers(ios.clone().map(|io| get(io, names)))?,
                Get::Text(get) => group.texts(ios.clone().map(|io| get(io, names)))?,
            }
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use iodyno_trace::read::Source;
    use iodyno_trace::write::iotrace;

    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_io() {
        let log = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n0 /dev/a read 4096 512\n\
                   14 /dev/b write 8192 4096\n2000 /dev/a sync 0 0\n2100 /dev/a close\n";
        let mut source = Source::new(vec![Box::new(Cursor::new(log.as_bytes()))]).unwrap();
        let (trace, _) = iotrace(&mut source, Vec::new()).unwrap().unwrap();
        let mut bytes = Vec::new();
        export_trace(&mut Reader::new(Cursor::new(trace)).unwrap(), &mut bytes).unwrap();
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows.len(), 3);
        let second = &rows[1];
        assert!(
            second.contains("at_ns: 14000, device: \"/dev/b\", operation: \"write\""),
            "{rows:?}"
        );
        assert!(second.contains("length: 4096") && second.contains("latency_ns: null"), "{rows:?}");
    }
}
