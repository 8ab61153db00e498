//! The parts that need no kernel; `iodyno/tests/record.rs` lets this machine's run the programs.

use std::collections::HashMap;

use iodyno_model::Histogram;
use proptest::prelude::*;

use super::assembler::Assembler;
use super::btf::{Btf, Field, Tracepoint};
use super::counting::bin;
use super::frame::{BIN, DURATION};
use super::layout::BINS;

/// BTF as it is written: types of words, with names as offsets into strings.
#[derive(Default)]
struct Types {
    words: Vec<u32>,
    strings: Vec<u8>,
}

impl Types {
    fn name(&mut self, name: &str) -> u32 {
        self.strings.extend([name.as_bytes(), &[0]].concat());
        (self.strings.len() - name.len() - 1) as u32
    }

    /// Adds a type; `info` has its kind from bit 24 on, and its number of members.
    fn add(&mut self, name: &str, info: u32, size: u32, more: &[u32]) {
        let name = self.name(name);
        self.words.extend([[name, info, size].as_slice(), more].concat());
    }

    fn bytes(&self) -> Vec<u8> {
        let length = self.words.len() as u32 * 4;
        let header = [0x0001_eb9f, 24, 0, length, length, self.strings.len() as u32];
        let words = header.iter().chain(&self.words).flat_map(|word| word.to_ne_bytes());
        words.chain(self.strings.iter().copied()).collect()
    }
}

/// `struct request { u32 tag; union { u64 sector; }; }`, `enum { __REQ_META = 12 }`, and a tracepoint.
fn types() -> Types {
    let mut types = Types::default();
    let names = ["", "tag", "sector", "__REQ_META"].map(|name| types.name(name));
    types.add("u32", 1 << 24, 4, &[32]); // 1
    types.add("u64", 1 << 24, 8, &[64]); // 2
    types.add("sector_t", 8 << 24, 2, &[]); // 3
    types.add("", 5 << 24 | 1, 8, &[names[2], 3, 0]); // 4
    types.add("request", 4 << 24 | 2, 16, &[names[1], 1, 0, names[0], 4, 64]); // 5
    types.add("", 6 << 24 | 1, 4, &[names[3], 12]); // 6
    types.add("", 2 << 24, 5, &[]); // 7: to a request
    types.add("", 13 << 24 | 3, 0, &[0, 8, 0, 1, 0, 7]); // 8: a function
    types.add("", 2 << 24, 8, &[]); // 9: to it
    types.add("btf_trace_block_rq_issue", 8 << 24, 9, &[]); // 10
    types
}

#[test]
fn fields_flags_and_tracepoints_are_found_by_name() {
    let btf = Btf::parse(types().bytes()).unwrap();
    assert_eq!(btf.field("request", "tag"), Some(Field { at: 0, size: 4 }));
    assert_eq!(btf.field("request", "sector"), Some(Field { at: 8, size: 8 }));
    assert_eq!(btf.field("request", "q"), None);
    assert_eq!(btf.field("bio", "sector"), None);
    assert_eq!(btf.enumerators("__REQ_")["__REQ_META"], 12);
    let found = btf.tracepoint("block_rq_issue", "request");
    assert_eq!(found, Some(Tracepoint { id: 10, argument: 1 }));
    assert_eq!(btf.tracepoint("block_rq_issue", "bio"), None);
}

proptest! {
    #[test]
    fn damaged_types_are_refused_or_lack_a_field(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = types().bytes();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Some(btf) = Btf::parse(bytes) {
            let _ = (btf.field("request", "sector"), btf.enumerators(""), btf.tracepoint("block_rq_issue", "request"));
        }
    }

    #[test]
    fn bins_are_those_of_the_histogram(bits in 0_u32..64, ns in any::<u64>()) {
        let ns = ns >> bits;
        let mut code = Assembler::default();
        bin(&mut code);
        let frame = run(&code.finish().unwrap(), ns);
        prop_assert_eq!(frame[&DURATION], ns);
        prop_assert_eq!(frame[&BIN], (Histogram::index(ns) as u64).min(u64::from(BINS) - 1));
    }
}

/// Runs arithmetic, jumps and stores to the frame, with a number in register 1. Returns the frame.
fn run(code: &[u64], number: u64) -> HashMap<i16, u64> {
    let (mut registers, mut frame, mut at) = ([0, number, 0, 0, 0], HashMap::new(), 0);
    while let Some(instruction) = code.get(at) {
        let [class, operands, ..] = instruction.to_le_bytes();
        let (to, from) = (usize::from(operands & 15), usize::from(operands >> 4));
        let (offset, immediate) = ((instruction >> 16) as i16, (instruction >> 32) as i32);
        let right = if class & 8 == 0 { immediate as u64 } else { registers[from] };
        at += 1;
        match (class & 7, class & 0xf0) {
            (7, 0x00) => registers[to] += right,
            (7, 0x10) => registers[to] -= right,
            (7, 0x20) => registers[to] = registers[to].wrapping_mul(right),
            (7, 0x40) => registers[to] |= right,
            (7, 0x50) => registers[to] &= right,
            (7, 0x60) => registers[to] <<= right,
            (7, 0x70) => registers[to] >>= right,
            (7, 0xb0) => registers[to] = right,
            (5, 0x00) => at = at.wrapping_add_signed(offset.into()),
            (5, 0xa0) if registers[to] < right => at = at.wrapping_add_signed(offset.into()),
            (5, 0xa0) => {}
            (0, _) => {
                registers[to] = u64::from(immediate as u32) | code[at] >> 32 << 32;
                at += 1;
            }
            (3, _) => {
                frame.insert(offset, registers[from]);
            }
            other => panic!("instruction {other:x?}"),
        }
    }
    frame
}
