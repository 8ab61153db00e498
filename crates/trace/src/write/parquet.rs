//! A trace as Parquet: a row group for each chunk, no compression; what is unknown is null.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;

use super::each_chunk;
use crate::{Actor, Flags, Io, Names, Reader, TraceError};

/// What a column holds.
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

/// Writes a trace as a table with a row for each I/O.
///
/// # Errors
/// The trace cannot be read or the table not be written.
pub fn parquet<R: BufRead>(trace: &mut Reader<R>, to: impl Write + Send) -> Result<(), TraceError> {
    let properties = Arc::new(WriterProperties::builder().build());
    let schema = Arc::new(schema().map_err(failed)?);
    let mut file = SerializedFileWriter::new(to, schema, properties).map_err(failed)?;
    each_chunk(trace, |chunk, names| {
        let mut group = file.next_row_group().map_err(failed)?;
        for (_, get) in &COLUMNS {
            let written = match get {
                Get::Integer(get) => {
                    let number = |io| i64::try_from(get(io, names)?).ok();
                    write::<Int64Type>(&mut group, chunk.ios.iter().map(number))
                }
                Get::Text(get) => {
                    let text = |io| Some(ByteArray::from(get(io, names)?));
                    write::<ByteArrayType>(&mut group, chunk.ios.iter().map(text))
                }
            };
            written.map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    })?;
    file.close().map_err(failed)?;
    Ok(())
}

fn failed(error: ParquetError) -> TraceError {
    io::Error::other(error).into()
}

fn schema() -> Result<Type, ParquetError> {
    let field = |(name, get): &(&str, Get)| {
        let (physical, logical) = match get {
            Get::Integer(_) => (Physical::INT64, None),
            Get::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = COLUMNS.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("trace").with_fields(fields).build()
}

/// Writes the next column; definition level 0 stands for null.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let mut known = Vec::new();
    let mut levels = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        known.extend(value);
    }
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&known, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
