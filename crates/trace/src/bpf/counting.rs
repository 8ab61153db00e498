//! Counts I/Os and their times into the tables.

use super::assembler::{Alu, Assembler, Call, FRAME, If, Label, R0, R1, R2, R3, R4, R7, R8};
use super::frame::*;
use super::layout::{BINS, COPIES, Count, MILLISECONDS, MOST_LENGTHS, Part, ZONES};
use super::writer::{Setting, Writer};
use crate::Operation;
use crate::event::SECTOR_BYTES;

impl Writer<'_> {
    /// Counts one.
    pub(super) fn count(&mut self, count: Count) {
        self.code.store_number(4, FRAME, INDEX, count as i32);
        self.count_at_index(None);
    }

    /// Adds one, or the number at a place of the frame.
    pub(super) fn count_at_index(&mut self, number: Option<i16>) {
        let code = &mut self.code;
        let missing = code.label();
        code.lookup(self.setting.maps.counts.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, missing);
        match number {
            None => code.number(R1, 1),
            Some(place) => code.load(8, R1, FRAME, place),
        }
        code.add(R0, 0, R1, R2);
        code.bind(missing);
    }

    pub(super) fn count_millisecond(&mut self) {
        let code = &mut self.code;
        let (missing, same) = (code.label(), code.label());
        code.load(8, R8, FRAME, NOW);
        code.alu_number(Alu::Divide, R8, 1_000_000);
        code.copy(R1, R8);
        code.alu_number(Alu::And, R1, MILLISECONDS as i32 - 1);
        code.store(4, FRAME, INDEX, R1);
        code.lookup(self.setting.maps.milliseconds.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, missing);
        code.load(8, R1, R0, 0);
        code.jump(If::Equal, R1, R8, same);
        code.store(8, R0, 0, R8);
        code.store_number(8, R0, 8, 0);
        code.bind(same);
        code.number(R1, 1);
        code.add(R0, 8, R1, R2);
        code.bind(missing);
    }

    pub(super) fn count_actor(&mut self) {
        let actors = self.setting.maps.actors.descriptor();
        let code = &mut self.code;
        let (found, unknown) = (code.label(), code.label());
        code.load(8, R1, FRAME, ARRIVED);
        code.jump_number(If::Equal, R1, 0, unknown);
        code.lookup(actors, NAME);
        code.jump_number(If::NotEqual, R0, 0, found);
        code.store_number(8, FRAME, VALUE, 0);
        code.store_number(8, FRAME, VALUE + 8, 0);
        code.insert(actors, NAME, VALUE);
        code.lookup(actors, NAME);
        code.jump_number(If::Equal, R0, 0, unknown);
        code.bind(found);
        self.count_bytes();
        self.code.bind(unknown);
    }

    /// Adds one and the length to the entry in register 0.
    pub(super) fn count_bytes(&mut self) {
        let code = &mut self.code;
        code.number(R1, 1);
        code.add(R0, 0, R1, R2);
        code.load(8, R1, FRAME, BYTES);
        code.add(R0, 8, R1, R2);
    }

    /// Counts where an I/O is, and whether where the last one ended.
    pub(super) fn count_place(&mut self) {
        let Setting { maps, .. } = self.setting;
        let Self { code, end, .. } = self;
        let elsewhere = code.label();
        code.load(8, R1, FRAME, OPERATION);
        code.jump_number(If::NotLess, R1, Operation::Flush as i32, *end);
        code.load(8, R2, FRAME, DEVICE);
        code.alu_number(Alu::ShiftLeft, R2, 3);
        code.alu(Alu::Or, R1, R2);
        code.store(4, FRAME, INDEX, R1);
        code.lookup(maps.ends.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, *end);
        code.load(8, R8, FRAME, SECTOR);
        code.alu_number(Alu::ShiftLeft, R8, SECTOR_BYTES.trailing_zeros() as i32);
        code.alu_number(Alu::Add, R8, 1);
        code.load(8, R1, FRAME, BYTES);
        code.alu(Alu::Add, R1, R8);
        code.exchange(R0, 0, R1);
        code.jump(If::NotEqual, R1, R8, elsewhere);
        code.load(8, R1, FRAME, OPERATION);
        code.alu_number(Alu::Add, R1, Count::Sequential as i32);
        code.store(4, FRAME, INDEX, R1);
        self.count_at_index(None);
        let Self { code, end, .. } = self;
        code.bind(elsewhere);
        code.load(8, R1, FRAME, OPERATION);
        code.jump_number(If::Greater, R1, Operation::Write as i32, *end);
        code.load(8, R2, FRAME, DEVICE);
        code.alu_number(Alu::ShiftLeft, R2, 1);
        code.alu(Alu::Or, R1, R2);
        code.alu_number(Alu::ShiftLeft, R1, ZONES.trailing_zeros() as i32);
        code.load(8, R2, FRAME, SECTOR);
        code.load(8, R3, FRAME, ZONE_SHIFT);
        code.alu(Alu::ShiftRight, R2, R3);
        code.jump_number(If::NotLess, R2, ZONES as i32, *end);
        code.alu(Alu::Or, R1, R2);
        code.store(4, FRAME, INDEX, R1);
        code.lookup(maps.zones.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, *end);
        self.count_bytes();
    }

    /// Counts the time in register 1 as a part of an I/O's.
    pub(super) fn count_part(&mut self, part: Part) {
        let code = &mut self.code;
        bin(code);
        let missing = code.label();
        code.load(8, R1, FRAME, OPERATION);
        code.alu_number(Alu::Mul, R1, Part::ALL.len() as i32);
        code.alu_number(Alu::Add, R1, part as i32);
        code.store(4, FRAME, INDEX, R1);
        code.lookup(self.setting.maps.parts.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, missing);
        code.load(8, R1, FRAME, DURATION);
        code.add(R0, TIMES_SUM, R1, R2);
        for at in [TIMES_MAX, TIMES_MIN] {
            let smaller = code.label();
            code.load(8, R2, R0, at);
            code.jump(If::NotLess, R2, R1, smaller);
            code.store(8, R0, at, R1);
            code.bind(smaller);
            code.alu_number(Alu::Xor, R1, -1);
        }
        self.find_count(missing);
        let code = &mut self.code;
        code.number(R1, 1);
        code.add(R0, TIMES_COUNTS, R1, R2);
        code.bind(missing);
    }

    /// Moves register 0 from a histogram by the bin's place among its counts.
    pub(super) fn find_count(&mut self, missing: Label) {
        let code = &mut self.code;
        code.load(8, R1, FRAME, BIN);
        // For the kernel's verifier, which forgot.
        code.jump_number(If::NotLess, R1, BINS as i32, missing);
        code.alu_number(Alu::ShiftLeft, R1, 3);
        code.alu(Alu::Add, R0, R1);
    }

    /// Counts the frame's time as the latency of an I/O of its operation and length.
    pub(super) fn count_latency(&mut self) {
        let Setting { maps, .. } = self.setting;
        let code = &mut self.code;
        let (known, other, numbered, missing) =
            (code.label(), code.label(), code.label(), code.label());
        code.load(8, R1, FRAME, OPERATION);
        code.alu_number(Alu::ShiftLeft, R1, 32);
        code.load(8, R2, FRAME, BYTES);
        code.alu(Alu::Or, R1, R2);
        code.store(8, FRAME, LENGTH, R1);
        code.lookup(maps.lengths.descriptor(), LENGTH);
        code.jump_number(If::NotEqual, R0, 0, known);
        // The next number, if there is one.
        code.store_number(4, FRAME, INDEX, 0);
        code.lookup(maps.length_count.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, missing);
        code.load(8, R1, R0, 0);
        code.jump_number(If::NotLess, R1, MOST_LENGTHS as i32, other);
        code.number(R1, 1);
        code.fetch_add(R0, 0, R1);
        code.jump_number(If::NotLess, R1, MOST_LENGTHS as i32, other);
        code.store(8, FRAME, VALUE, R1);
        code.insert(maps.lengths.descriptor(), LENGTH, VALUE);
        code.lookup(maps.lengths.descriptor(), LENGTH);
        code.jump_number(If::Equal, R0, 0, other);
        code.bind(known);
        code.load(8, R7, R0, 0);
        code.go(numbered);
        code.bind(other);
        code.load(8, R7, FRAME, OPERATION);
        code.alu_number(Alu::Add, R7, MOST_LENGTHS as i32);
        code.bind(numbered);
        code.call(Call::Cpu);
        code.alu_number(Alu::And, R0, COPIES as i32 - 1);
        code.alu_number(Alu::Mul, R7, COPIES as i32);
        code.alu(Alu::Or, R7, R0);
        code.store(4, FRAME, INDEX, R7);
        code.lookup(maps.latencies.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, missing);
        code.load(8, R1, FRAME, DURATION);
        code.add_atomic(R0, TIMES_SUM, R1);
        self.find_count(missing);
        let code = &mut self.code;
        code.number(R1, 1);
        code.add_atomic(R0, TIMES_COUNTS, R1);
        code.bind(missing);
    }
}

/// Stores the time in register 1 and its bin ([`Histogram::index`](iodyno_model::Histogram)),
/// without a branch for each bit, of which the kernel's verifier would follow all.
pub(super) fn bin(code: &mut Assembler) {
    let (small, done) = (code.label(), code.label());
    code.store(8, FRAME, DURATION, R1);
    code.copy(R2, R1);
    code.jump_number(If::Less, R1, 128, small);
    // Sets all bits below the highest, and counts them (Warren: Hacker's Delight, 5-1).
    for shift in [1, 2, 4, 8, 16, 32] {
        code.copy(R3, R2);
        code.alu_number(Alu::ShiftRight, R3, shift);
        code.alu(Alu::Or, R2, R3);
    }
    let masked = |code: &mut Assembler, register, mask| {
        code.wide_number(R4, mask);
        code.alu(Alu::And, register, R4);
    };
    code.copy(R3, R2);
    code.alu_number(Alu::ShiftRight, R3, 1);
    masked(code, R3, 0x5555_5555_5555_5555);
    code.alu(Alu::Sub, R2, R3);
    code.copy(R3, R2);
    code.alu_number(Alu::ShiftRight, R3, 2);
    masked(code, R3, 0x3333_3333_3333_3333);
    masked(code, R2, 0x3333_3333_3333_3333);
    code.alu(Alu::Add, R2, R3);
    code.copy(R3, R2);
    code.alu_number(Alu::ShiftRight, R3, 4);
    code.alu(Alu::Add, R2, R3);
    masked(code, R2, 0x0f0f_0f0f_0f0f_0f0f);
    code.wide_number(R4, 0x0101_0101_0101_0101);
    code.alu(Alu::Mul, R2, R4);
    code.alu_number(Alu::ShiftRight, R2, 56);
    // 64 bins for each power of two.
    code.alu_number(Alu::Sub, R2, 7);
    code.alu(Alu::ShiftRight, R1, R2);
    code.alu_number(Alu::ShiftLeft, R2, 6);
    code.alu(Alu::Add, R1, R2);
    code.jump_number(If::Less, R1, BINS as i32, done);
    code.number(R1, BINS as i32 - 1);
    code.go(done);
    code.bind(small);
    code.bind(done);
    code.store(8, FRAME, BIN, R1);
}
