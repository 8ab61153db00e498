//! Structs in Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md), as far as Parquet's headers
//! need it.

/// A struct that is being written, field by field in ascending order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(super) fn i32(self, field: u8, value: i32) -> Self {
        self.put(field, 5, &zigzag(value.into()))
    }

    pub(super) fn i64(self, field: u8, value: usize) -> Self {
        self.put(field, 6, &zigzag(value as i64))
    }

    pub(super) fn text(self, field: u8, text: &str) -> Self {
        self.put(field, 8, &binary(text))
    }

    pub(super) fn i32s(self, field: u8, values: &[i32]) -> Self {
        self.list(field, 5, values.iter().map(|value| zigzag((*value).into())).collect())
    }

    pub(super) fn texts(self, field: u8, texts: &[&str]) -> Self {
        self.list(field, 8, texts.iter().map(|text| binary(text)).collect())
    }

    pub(super) fn nested(self, field: u8, inner: Self) -> Self {
        self.put(field, 12, &inner.end())
    }

    pub(super) fn nesteds(self, field: u8, inner: Vec<Self>) -> Self {
        self.list(field, 12, inner.into_iter().map(Self::end).collect())
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn list(self, field: u8, kind: u8, items: Vec<Vec<u8>>) -> Self {
        // The long form, which any length may have.
        let head = [vec![0xf0 | kind], varint(items.len() as u64)].concat();
        self.put(field, 9, &[head, items.concat()].concat())
    }

    fn put(mut self, field: u8, kind: u8, value: &[u8]) -> Self {
        self.bytes.push((field - self.last) << 4 | kind);
        self.bytes.extend_from_slice(value);
        self.last = field;
        self
    }
}

fn binary(text: &str) -> Vec<u8> {
    [&varint(text.len() as u64), text.as_bytes()].concat()
}

fn zigzag(value: i64) -> Vec<u8> {
    varint((value << 1 ^ value >> 63).cast_unsigned())
}

/// Seven bits a byte, the lowest first (LEB128).
pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
