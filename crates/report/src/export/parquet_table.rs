//! Tables in Parquet (github.com/apache/parquet-format): columns that are all optional, with a dictionary where that
//! is shorter, no compression. The crate that could do it takes as much as all other formats together.

use std::collections::HashMap;
use std::io::{self, Write};
use std::iter::repeat;

use super::thrift::{Struct, varint};

const MAGIC: &[u8] = b"PAR1";

// Numbers of parquet.thrift.
const OPTIONAL: i32 = 1;
const UTF8: i32 = 0;
const UNCOMPRESSED: i32 = 0;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;

/// What a column holds: words as UTF-8 strings, counts as INT64, figures as DOUBLE.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    Counts = 2,
    Figures = 5,
    Words = 6,
}

/// A file that is being written: group by group of rows, and of each group column by column.
pub(super) struct Table<W> {
    to: W,
    /// Bytes that were written.
    length: usize,
    name: &'static str,
    columns: Vec<(&'static str, Holds)>,
    /// Columns of the group that is not complete yet.
    chunks: Vec<Struct>,
    /// Where that begins.
    begin: usize,
    groups: Vec<Struct>,
    rows: usize,
}

impl<W: Write> Table<W> {
    pub(super) fn new(
        to: W,
        name: &'static str,
        columns: impl Iterator<Item = (&'static str, Holds)>,
    ) -> io::Result<Self> {
        let columns = columns.collect();
        let (chunks, groups) = (Vec::new(), Vec::new());
        let mut table = Self { to, length: 0, name, columns, chunks, begin: 0, groups, rows: 0 };
        table.put(MAGIC)?;
        Ok(table)
    }

    /// Writes the next column; what is unknown is null.
    pub(super) fn words<T: AsRef<[u8]>>(
        &mut self,
        values: impl Iterator<Item = Option<T>>,
    ) -> io::Result<()> {
        self.column(Values::of(values, |words, bytes| {
            let words = words.as_ref();
            bytes.extend((words.len() as u32).to_le_bytes());
            bytes.extend_from_slice(words);
        }))
    }

    /// As [`Self::words`]. One that INT64 cannot hold is unknown.
    pub(super) fn counts(&mut self, values: impl Iterator<Item = Option<u64>>) -> io::Result<()> {
        let values = values.map(|count| i64::try_from(count?).ok());
        self.column(Values::of(values, |count, bytes| bytes.extend(count.to_le_bytes())))
    }

    /// As [`Self::words`].
    pub(super) fn figures(&mut self, values: impl Iterator<Item = Option<f64>>) -> io::Result<()> {
        self.column(Values::of(values, |figure, bytes| bytes.extend(figure.to_le_bytes())))
    }

    /// Writes what says where everything is.
    pub(super) fn close(mut self) -> io::Result<()> {
        let root = Struct::default().text(4, self.name).i32(5, self.columns.len() as i32);
        let leaf = |(name, holds): &(&str, Holds)| {
            let leaf = Struct::default().i32(1, *holds as i32).i32(3, OPTIONAL).text(4, name);
            match holds {
                Holds::Words => {
                    leaf.i32(6, UTF8).nested(10, Struct::default().nested(1, Struct::default()))
                }
                Holds::Counts | Holds::Figures => leaf,
            }
        };
        let schema = [root].into_iter().chain(self.columns.iter().map(leaf)).collect();
        let footer = Struct::default()
            .i32(1, 2)
            .nesteds(2, schema)
            .i64(3, self.rows)
            .nesteds(4, std::mem::take(&mut self.groups))
            .text(6, concat!("iodyno version ", env!("CARGO_PKG_VERSION")))
            .end();
        self.put(&footer)?;
        self.put(&(footer.len() as u32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.to.flush()
    }

    fn column(&mut self, values: Values) -> io::Result<()> {
        let rows = values.known.len();
        // A group without rows is none.
        if rows == 0 {
            return Ok(());
        }
        let begin = self.length;
        let levels = hybrid(&values.known, 1);
        let mut page = [&(levels.len() as u32).to_le_bytes(), levels.as_slice()].concat();
        let dictionary = values.dictionary();
        let encoding = match &dictionary {
            Some(Dictionary { entries, indices, bits }) => {
                let header = Struct::default().i32(1, entries.len() as i32).i32(2, PLAIN);
                self.page(DICTIONARY_PAGE, 7, header, &entries.concat())?;
                page.push(*bits as u8);
                page.extend(hybrid(indices, *bits));
                RLE_DICTIONARY
            }
            None => {
                page.extend(&values.bytes);
                PLAIN
            }
        };
        let at = self.length;
        let header = Struct::default().i32(1, rows as i32).i32(2, encoding).i32(3, RLE).i32(4, RLE);
        self.page(DATA_PAGE, 5, header, &page)?;
        let (name, holds) = self.columns[self.chunks.len()];
        let size = self.length - begin;
        let chunk = Struct::default()
            .i32(1, holds as i32)
            .i32s(2, &[PLAIN, RLE, encoding])
            .texts(3, &[name])
            .i32(4, UNCOMPRESSED)
            .i64(5, rows)
            .i64(6, size)
            .i64(7, size)
            .i64(9, at);
        let chunk = if dictionary.is_some() { chunk.i64(11, begin) } else { chunk };
        self.chunks.push(Struct::default().i64(2, 0).nested(3, chunk));
        if self.chunks.len() == 1 {
            self.begin = begin;
        }
        if self.chunks.len() == self.columns.len() {
            let chunks = std::mem::take(&mut self.chunks);
            let group = Struct::default().nesteds(1, chunks);
            self.groups.push(group.i64(2, self.length - self.begin).i64(3, rows));
            self.rows += rows;
        }
        Ok(())
    }

    fn page(&mut self, kind: i32, field: u8, of_kind: Struct, body: &[u8]) -> io::Result<()> {
        let size = body.len() as i32;
        let header = Struct::default().i32(1, kind).i32(2, size).i32(3, size);
        self.put(&header.nested(field, of_kind).end())?;
        self.put(body)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len();
        self.to.write_all(bytes)
    }
}

/// A column of a group.
#[derive(Default)]
struct Values {
    /// Those that are known, one behind the other.
    bytes: Vec<u8>,
    /// Where each of these ends.
    ends: Vec<usize>,
    /// Of each row: 1, or 0 for null.
    known: Vec<u32>,
}

/// Each value once, and which one of them each is.
struct Dictionary<'a> {
    entries: Vec<&'a [u8]>,
    indices: Vec<u32>,
    /// What an index takes.
    bits: u32,
}

impl Values {
    fn of<T>(values: impl Iterator<Item = Option<T>>, put: impl Fn(T, &mut Vec<u8>)) -> Self {
        let mut of = Self::default();
        for value in values {
            of.known.push(value.is_some().into());
            if let Some(value) = value {
                put(value, &mut of.bytes);
                of.ends.push(of.bytes.len());
            }
        }
        of
    }

    /// `None` where it would not be shorter than the values themselves.
    fn dictionary(&self) -> Option<Dictionary<'_>> {
        let (mut entries, mut numbers, mut from) = (Vec::new(), HashMap::new(), 0);
        let number = |end: &usize| {
            let value = &self.bytes[from..*end];
            from = *end;
            *numbers.entry(value).or_insert_with(|| {
                entries.push(value);
                entries.len() as u32 - 1
            })
        };
        let indices: Vec<u32> = self.ends.iter().map(number).collect();
        let bits = (entries.len() as u32).checked_sub(1)?.max(1).ilog2() + 1;
        let bytes = entries.concat().len() + indices.len() * bits as usize / 8;
        (bytes < self.bytes.len()).then_some(Dictionary { entries, indices, bits })
    }
}

/// One run where all are equal, else packed bit by bit in groups of eight.
fn hybrid(values: &[u32], bits: u32) -> Vec<u8> {
    let length = values.len();
    if let Some(first) = values.first().filter(|first| values.iter().all(|one| one == *first)) {
        let value = &first.to_le_bytes()[..bits.div_ceil(8) as usize];
        return [&varint((length as u64) << 1), value].concat();
    }
    let groups = length.div_ceil(8);
    let mut bytes = varint((groups as u64) << 1 | 1);
    let (mut pending, mut filled) = (0_u64, 0);
    for value in values.iter().chain(repeat(&0)).take(groups * 8) {
        pending |= u64::from(*value) << filled;
        filled += bits;
        while filled >= 8 {
            bytes.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    use super::*;

    /// As it is for the `n`th row: one of five words, a count that differs, a figure, nothing.
    fn row(n: u64) -> (Option<String>, Option<u64>, Option<f64>) {
        (
            (n % 2 == 1).then(|| "word".repeat((n % 5) as usize)),
            Some(n * n),
            (n < 100).then_some(0.5),
        )
    }

    #[test]
    fn another_reader_reads_what_was_written_in_groups() {
        use Holds::{Counts, Figures, Words};
        let columns =
            [("words", Words), ("counts", Counts), ("figures", Figures), ("none", Counts)];
        let mut bytes = Vec::new();
        let mut table = Table::new(&mut bytes, "test", columns.into_iter()).unwrap();
        for rows in [0..1000, 0..0, 1000..1007] {
            table.words(rows.clone().map(|n| row(n).0)).unwrap();
            table.counts(rows.clone().map(|n| row(n).1)).unwrap();
            table.figures(rows.clone().map(|n| row(n).2)).unwrap();
            table.counts(rows.map(|_| Some(u64::MAX))).unwrap();
        }
        table.close().unwrap();
        assert!(bytes.len() < 1007 * 10, "{}: no dictionaries", bytes.len());
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        assert_eq!(file.metadata().num_row_groups(), 2);
        let read = file.get_row_iter(None).unwrap().map(Result::unwrap);
        let mut length = 0;
        for (n, read) in (0..).zip(read) {
            let (words, count, figure) = row(n);
            let expected = [
                words.map_or(Field::Null, Field::Str),
                count.map_or(Field::Null, |count| Field::Long(count.cast_signed())),
                figure.map_or(Field::Null, Field::Double),
                Field::Null,
            ];
            let fields: Vec<Field> =
                read.get_column_iter().map(|(_, field)| field.clone()).collect();
            assert_eq!(fields, expected, "{n}");
            length += 1;
        }
        assert_eq!(length, 1007);
    }
}
