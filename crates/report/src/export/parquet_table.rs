//! Writes Parquet tables: all columns optional, no compression.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;

/// Type of a column: text is a UTF-8 string, an integer INT64, a number DOUBLE.
#[derive(Clone, Copy)]
pub(super) enum ColumnType {
    Text,
    Integer,
    Number,
}

/// Starts a file with these columns; rows are then written by row group.
pub(super) fn table<W: Write + Send>(
    to: W,
    name: &str,
    columns: impl Iterator<Item = (&'static str, ColumnType)>,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    let field = |(name, kind)| {
        let (physical, logical) = match kind {
            ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Integer => (Physical::INT64, None),
            ColumnType::Number => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    SerializedFileWriter::new(to, Arc::new(schema), Arc::new(WriterProperties::builder().build()))
}

/// Row group; each call writes the next column. Unknown values are null.
pub(super) struct Rows<'a, W: Write>(pub(super) SerializedRowGroupWriter<'a, W>);

impl<W: Write + Send> Rows<'_, W> {
    pub(super) fn texts<T: Into<Vec<u8>>>(
        &mut self,
        values: impl Iterator<Item = Option<T>>,
    ) -> Result<(), ParquetError> {
        self.write::<ByteArrayType>(values.map(|words| Some(ByteArray::from(words?.into()))))
    }

    /// Writes integers; one that does not fit into INT64 is written as null.
    pub(super) fn integers(
        &mut self,
        values: impl Iterator<Item = Option<u64>>,
    ) -> Result<(), ParquetError> {
        self.write::<Int64Type>(values.map(|count| i64::try_from(count?).ok()))
    }

    pub(super) fn numbers(
        &mut self,
        values: impl Iterator<Item = Option<f64>>,
    ) -> Result<(), ParquetError> {
        self.write::<DoubleType>(values)
    }

    pub(super) fn close(self) -> Result<(), ParquetError> {
        self.0.close().map(|_| ())
    }

    fn write<T: DataType>(
        &mut self,
        values: impl Iterator<Item = Option<T::T>>,
    ) -> Result<(), ParquetError> {
        let mut known = Vec::new();
        // 0 means null.
        let mut definition_levels = Vec::new();
        for value in values {
            definition_levels.push(i16::from(value.is_some()));
            known.extend(value);
        }
        if let Some(mut column) = self.0.next_column()? {
            column.typed::<T>().write_batch(&known, Some(&definition_levels), None)?;
            column.close()?;
        }
        Ok(())
    }
}
