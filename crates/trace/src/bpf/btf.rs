//! The kernel's own description of its types (BTF): they move between kernels.
//!
//! Layout: Documentation/bpf/btf.rst.

use std::collections::HashMap;

/// Identifies BTF, in this machine's byte order.
const MAGIC: u16 = 0xeb9f;
const INTEGER: u32 = 1;
const POINTER: u32 = 2;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
/// `typedef`, `volatile`, `const`, `restrict`, and tags.
const NAMES: [u32; 5] = [TYPEDEF, 9, 10, 11, 18];
const FUNCTION_TYPE: u32 = 13;
/// Maximum of types that a chain of typedefs and qualifiers has.
const MOST_LINKS: usize = 16;

/// Types of a kernel.
#[derive(Debug)]
pub(super) struct Btf {
    bytes: Vec<u8>,
    strings: usize,
    /// Position of each type, by its id; 0 is `void`.
    types: Vec<usize>,
}

/// Place of a field in its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    /// From the structure's start, bytes.
    pub(super) at: i16,
    /// Size, bytes: 1, 2, 4 or 8.
    pub(super) size: u8,
}

/// A tracepoint whose argument is a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// Id of its type.
    pub(super) id: u32,
    /// Position of the argument.
    pub(super) argument: i16,
}

#[derive(Debug, Clone, Copy)]
struct Type {
    at: usize,
    kind: u32,
    /// Number of members, enumerators or parameters.
    count: usize,
    /// True if offsets of members are in the lower 24 bits.
    is_bit_field: bool,
    /// Size, or the id of the type that it refers to.
    size: u32,
}

impl Btf {
    /// Reads the table of types; `None` if it is not understood.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut btf = Self { bytes, strings: 0, types: vec![0] };
        if btf.word(0)? & 0xffff != u32::from(MAGIC) {
            return None;
        }
        let [header, types, length, strings] = [4, 8, 12, 16].map(|at| btf.word(at));
        let header = header? as usize;
        btf.strings = header.checked_add(strings? as usize)?;
        let mut at = header.checked_add(types? as usize)?;
        let end = at.checked_add(length? as usize)?;
        while at < end {
            btf.types.push(at);
            let Type { kind, count, .. } = btf.type_at(at)?;
            // Integers, variables and tags have a word more, arrays three; others one entry each.
            at += 12
                + match kind {
                    INTEGER | 14 | 17 => 4,
                    3 => 12,
                    STRUCTURE | UNION | 15 | 19 => 12 * count,
                    ENUM | FUNCTION_TYPE => 8 * count,
                    _ => 0,
                };
        }
        Some(btf)
    }

    /// Finds fields of numbers and addresses, such as `bi_iter.bi_sector`, of structures.
    pub(super) fn field(&self, structure: &str, path: &str) -> Option<Field> {
        let (at, id) = self.find(structure, path)?;
        let size = match self.plain(id)? {
            Type { kind: POINTER, .. } => 8,
            Type { kind: INTEGER | ENUM, size, .. } => u8::try_from(size).ok()?,
            _ => return None,
        };
        Some(Field { at, size })
    }

    /// Finds where fields of any type begin, bytes.
    pub(super) fn place(&self, structure: &str, path: &str) -> Option<i16> {
        self.find(structure, path).map(|(at, _)| at)
    }

    fn find(&self, structure: &str, path: &str) -> Option<(i16, u32)> {
        let named = |id: &u32| {
            self.get(*id).is_some_and(|one| one.kind == STRUCTURE && one.count > 0)
                && self.name(*id) == Some(structure.as_bytes())
        };
        let mut id = (1..self.types.len() as u32).find(named)?;
        let mut bits = 0_u32;
        for name in path.split('.') {
            let (at, member) = self.member(id, name)?;
            (bits, id) = (bits.checked_add(at)?, member);
        }
        bits.is_multiple_of(8).then_some((i16::try_from(bits / 8).ok()?, id))
    }

    /// Finds a member, also within members without a name. Returns its offset in bits and its type.
    fn member(&self, structure: u32, name: &str) -> Option<(u32, u32)> {
        let Type { at, kind: STRUCTURE | UNION, count, is_bit_field, .. } =
            self.plain(structure)?
        else {
            return None;
        };
        (0..count).find_map(|n| {
            let entry = at + 12 + 12 * n;
            let (id, offset) = (self.word(entry + 4)?, self.word(entry + 8)?);
            let offset = if is_bit_field { offset & 0xff_ffff } else { offset };
            match self.string(self.word(entry)?)? {
                b"" => self.member(id, name).map(|(inner, id)| (offset.wrapping_add(inner), id)),
                found => (found == name.as_bytes()).then_some((offset, id)),
            }
        })
    }

    /// Returns the values of all enumerators whose name begins with `prefix`.
    pub(super) fn enumerators(&self, prefix: &str) -> HashMap<String, u32> {
        let mut all = HashMap::new();
        for one in self.types.iter().skip(1).filter_map(|at| self.type_at(*at)) {
            for n in (0..one.count).take_while(|_| one.kind == ENUM) {
                let entry = one.at + 12 + 8 * n;
                let name = self.word(entry).and_then(|at| self.string(at)).unwrap_or_default();
                if let (true, Some(value)) =
                    (name.starts_with(prefix.as_bytes()), self.word(entry + 4))
                {
                    all.insert(String::from_utf8_lossy(name).into_owned(), value);
                }
            }
        }
        all
    }

    /// Finds a tracepoint, and its argument that points to a `structure`.
    pub(super) fn tracepoint(&self, name: &str, structure: &str) -> Option<Tracepoint> {
        let name = format!("btf_trace_{name}");
        let id = (1..self.types.len() as u32).find(|id| {
            self.get(*id).is_some_and(|one| one.kind == TYPEDEF)
                && self.name(*id) == Some(name.as_bytes())
        })?;
        let pointer = self.plain(id).filter(|one| one.kind == POINTER)?;
        let function = self.plain(pointer.size).filter(|one| one.kind == FUNCTION_TYPE)?;
        // The first parameter is the tracepoint's own.
        let argument = (1..function.count).find(|n| {
            let target = self.word(function.at + 12 + 8 * n + 4).and_then(|id| self.plain(id));
            let target = target.filter(|one| one.kind == POINTER);
            target.is_some_and(|one| self.name(one.size) == Some(structure.as_bytes()))
        })?;
        Some(Tracepoint { id, argument: i16::try_from(argument - 1).ok()? })
    }

    /// Returns the type behind typedefs and qualifiers.
    fn plain(&self, mut id: u32) -> Option<Type> {
        for _ in 0..MOST_LINKS {
            let found = self.get(id)?;
            if !NAMES.contains(&found.kind) {
                return Some(found);
            }
            id = found.size;
        }
        None
    }

    fn get(&self, id: u32) -> Option<Type> {
        (id > 0).then(|| self.type_at(*self.types.get(id as usize)?))?
    }

    fn type_at(&self, at: usize) -> Option<Type> {
        let info = self.word(at + 4)?;
        Some(Type {
            at,
            kind: info >> 24 & 0x1f,
            count: (info & 0xffff) as usize,
            is_bit_field: info >> 31 == 1,
            size: self.word(at + 8)?,
        })
    }

    fn name(&self, id: u32) -> Option<&[u8]> {
        self.string(self.word(*self.types.get(id as usize)?)?)
    }

    fn string(&self, at: u32) -> Option<&[u8]> {
        let rest = self.bytes.get(self.strings.checked_add(at as usize)?..)?;
        rest.split(|byte| *byte == 0).next()
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }
}
