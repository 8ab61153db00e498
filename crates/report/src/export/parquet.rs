//! The table as Parquet: one row group, every column optional, no compression.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;

use super::columns::{COLUMNS, Get};
use super::rows::{Row, finite, rows};
use super::{Exporter, Result, Results};

/// Text as UTF-8 strings, counts as INT64, figures as DOUBLE; what is unknown is null.
pub(super) struct Parquet;

impl Exporter for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn help(&self) -> &'static str {
        "The same rows"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn export(&self, results: Results<'_>) -> Result {
        let rows = rows(results.runs()?);
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema()?), properties)?;
        let mut group = file.next_row_group()?;
        for (_, get) in COLUMNS {
            match get {
                Get::Text(get) => {
                    let bytes = |row: &Row<'_>| Some(ByteArray::from(get(row)?.into_bytes()));
                    write::<ByteArrayType>(&mut group, rows.iter().map(bytes))?;
                }
                Get::Integer(get) => {
                    let number = |row: &Row<'_>| i64::try_from(get(row)?).ok();
                    write::<Int64Type>(&mut group, rows.iter().map(number))?;
                }
                Get::Number(get) => {
                    write::<DoubleType>(&mut group, rows.iter().map(|row| finite(get(row))))?;
                }
            }
        }
        group.close()?;
        file.close()?;
        Ok(bytes)
    }
}

fn schema() -> Result<Type> {
    let field = |(name, get): &(&str, Get)| {
        let (physical, logical) = match get {
            Get::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Get::Integer(_) => (Physical::INT64, None),
            Get::Number(_) => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = COLUMNS.iter().map(field).collect::<std::result::Result<_, _>>()?;
    Ok(Type::group_type_builder("results").with_fields(fields).build()?)
}

/// Writes the next column; definition level 0 stands for null.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
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
