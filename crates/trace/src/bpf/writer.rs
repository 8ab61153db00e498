//! What the programs have in common: which device, operation and request it is, and what is known of
//! it.

use super::assembler::{Alu, Assembler, Call, FRAME, If, Label, R0, R1, R2, R3, R4, R6, R7};
use super::btf::Field;
use super::frame::*;
use super::layout::{ARRIVAL_BITS, ARRIVAL_BYTES, Fields, Maps, WAYS};
use crate::Operation;
use crate::event::SECTOR_BYTES;

/// Hashes keys (Knuth: The Art of Computer Programming 3, 6.4, with the golden ratio).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Operations of the kernel (`enum req_op`) that have a name here.
const KERNEL_OPERATIONS: [(i32, Operation); 5] = [
    (0, Operation::Read),
    (1, Operation::Write),
    (2, Operation::Flush),
    (3, Operation::Discard),
    (5, Operation::Discard),
];
const OPERATION_MASK: i32 = 0xff;

/// A device, as the programs know it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// `major << 20 | minor`.
    pub(super) number: u32,
    /// Index of its first entry in `in_flight`.
    pub(super) first_tag: u32,
    /// Hardware queues.
    pub(super) queues: u32,
    /// Tags of each.
    pub(super) tags: u32,
    /// Sectors of a zone, as bits.
    pub(super) zone_shift: u32,
}

/// What the programs are made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) fields: &'a Fields,
    pub(super) maps: &'a Maps,
    pub(super) places: &'a [Place],
}

/// A program as it is written.
pub(super) struct Writer<'a> {
    pub(super) code: Assembler,
    pub(super) setting: Setting<'a>,
    /// Place of the structure's address among the arguments.
    pub(super) argument: i16,
    /// Ends the program.
    pub(super) end: Label,
}

impl Writer<'_> {
    /// Loads a bio into register 6, and its device, operation and place into the frame.
    pub(super) fn bio(&mut self) {
        let fields = *self.setting.fields;
        let code = &mut self.code;
        code.load(8, R6, R1, self.argument);
        code.load(8, R1, R6, fields.bio_device.at);
        code.load(8, R1, R1, fields.device_disk.at);
        self.device();
        self.read(fields.bio_flags, FLAGS);
        self.read(fields.bio_sector, SECTOR);
        self.read(fields.bio_bytes, BYTES);
        self.name_operation();
    }

    /// Loads a request into register 6, and its device and place into the frame.
    pub(super) fn request(&mut self) {
        let fields = *self.setting.fields;
        let code = &mut self.code;
        code.load(8, R6, R1, self.argument);
        code.load(8, R1, R6, fields.request_queue.at);
        code.load(8, R1, R1, fields.queue_disk.at);
        self.device();
        self.read(fields.request_bytes, BYTES);
    }

    /// Loads a request's operation and key into the frame.
    pub(super) fn operation(&mut self) {
        let fields = *self.setting.fields;
        self.read(fields.request_flags, FLAGS);
        self.read(fields.request_sector, SECTOR);
        self.name_operation();
        self.key(KEY);
    }

    /// Reads a field of the structure in register 6 into the frame.
    fn read(&mut self, field: Field, to: i16) {
        self.code.load(field.size, R1, R6, field.at);
        self.code.store(8, FRAME, to, R1);
    }

    /// Finds the device of the disk in register 1; others end the program.
    pub(super) fn device(&mut self) {
        let fields = *self.setting.fields;
        let Self { code, end, .. } = self;
        let found = code.label();
        code.load(fields.minor.size, R2, R1, fields.minor.at);
        code.load(fields.major.size, R1, R1, fields.major.at);
        code.alu_number(Alu::ShiftLeft, R1, 20);
        code.alu(Alu::Or, R1, R2);
        for (device, place) in self.setting.places.iter().enumerate() {
            let next = code.label();
            code.jump_unless(R1, place.number, next);
            for (at, value) in [
                (DEVICE, device as u32),
                (FIRST_TAG, place.first_tag),
                (QUEUES, place.queues),
                (TAGS, place.tags),
                (ZONE_SHIFT, place.zone_shift),
            ] {
                code.store_number(8, FRAME, at, value as i32);
            }
            code.go(found);
            code.bind(next);
        }
        code.go(*end);
        code.bind(found);
    }

    /// Stores the [`Operation`] of the flags.
    pub(super) fn name_operation(&mut self) {
        let code = &mut self.code;
        let named = code.label();
        code.load(8, R1, FRAME, FLAGS);
        code.alu_number(Alu::And, R1, OPERATION_MASK);
        for (kernel, operation) in KERNEL_OPERATIONS {
            code.number(R2, operation as i32);
            code.jump_number(If::Equal, R1, kernel, named);
        }
        code.number(R2, Operation::Other as i32);
        code.bind(named);
        code.store(8, FRAME, OPERATION, R2);
    }

    /// Stores the key of device, operation and sector, never 0. Flushes and other commands have no
    /// address.
    pub(super) fn key(&mut self, key: i16) {
        let code = &mut self.code;
        let placed = code.label();
        code.load(8, R2, FRAME, OPERATION);
        code.load(8, R1, FRAME, SECTOR);
        code.jump_number(If::Less, R2, Operation::Flush as i32, placed);
        code.number(R1, 0);
        code.bind(placed);
        code.alu_number(Alu::ShiftLeft, R1, 8);
        code.alu_number(Alu::Or, R1, 0x80);
        code.alu(Alu::Or, R1, R2);
        code.load(8, R2, FRAME, DEVICE);
        code.alu_number(Alu::ShiftLeft, R2, 3);
        code.alu(Alu::Or, R1, R2);
        code.store(8, FRAME, key, R1);
    }

    /// Stores the key of what follows a bio.
    pub(super) fn key_behind(&mut self) {
        let code = &mut self.code;
        code.load(8, R1, FRAME, BYTES);
        code.alu_number(Alu::ShiftRight, R1, SECTOR_BYTES.trailing_zeros() as i32);
        code.load(8, R2, FRAME, SECTOR);
        code.alu(Alu::Add, R1, R2);
        code.store(8, FRAME, SECTOR, R1);
        self.key(OTHER_KEY);
    }

    /// Loads the entry of `arrivals` of a key into register 7; jumps to `missing` if there is none,
    /// with its set in register 7.
    pub(super) fn arrival(&mut self, key: i16, missing: Label) {
        let Self { code, end, .. } = self;
        let found = code.label();
        code.load(8, R1, FRAME, key);
        code.wide_number(R2, GOLDEN);
        code.alu(Alu::Mul, R1, R2);
        code.alu_number(Alu::ShiftRight, R1, (u64::BITS - ARRIVAL_BITS) as i32);
        code.store(4, FRAME, INDEX, R1);
        code.lookup(self.setting.maps.arrivals.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, *end);
        code.copy(R7, R0);
        code.load(8, R2, FRAME, key);
        for _ in 0..WAYS {
            code.load(8, R1, R7, 0);
            code.jump(If::Equal, R1, R2, found);
            code.alu_number(Alu::Add, R7, ARRIVAL_BYTES.into());
        }
        code.copy(R7, R0);
        code.go(missing);
        code.bind(found);
    }

    /// Loads an arrival into the frame, and `forgets` it; jumps to `missing` if it is not known.
    pub(super) fn take_arrival(&mut self, key: i16, forget: bool, missing: Label) {
        self.arrival(key, missing);
        let code = &mut self.code;
        let places = [(ARRIVAL_TIME, ARRIVED), (ARRIVAL_NAME, NAME), (ARRIVAL_NAME + 8, NAME + 8)];
        code.copy_each(R7, FRAME, &places);
        if forget {
            code.store_number(8, R7, 0, 0);
        }
    }

    /// Stores the frame's arrival under [`KEY`], if need be in place of the oldest one of its set:
    /// what was merged elsewhere or given up.
    pub(super) fn put_arrival(&mut self) {
        let (free, chosen) = (self.code.label(), self.code.label());
        self.arrival(KEY, free);
        self.code.go(chosen);
        self.code.bind(free);
        self.put_into_set(chosen);
    }

    /// Stores the frame's arrival in the set in register 7; in the entry there, from `chosen` on.
    pub(super) fn put_into_set(&mut self, chosen: Label) {
        let code = &mut self.code;
        code.copy(R3, R7);
        code.number(R4, -1);
        for _ in 0..WAYS {
            let (occupied, younger) = (code.label(), code.label());
            code.load(8, R1, R7, 0);
            code.jump_number(If::NotEqual, R1, 0, occupied);
            code.go(chosen);
            code.bind(occupied);
            code.load(8, R1, R7, ARRIVAL_TIME);
            code.jump(If::NotLess, R1, R4, younger);
            code.copy(R4, R1);
            code.copy(R3, R7);
            code.bind(younger);
            code.alu_number(Alu::Add, R7, ARRIVAL_BYTES.into());
        }
        code.copy(R7, R3);
        code.bind(chosen);
        // Nobody else is to take it half written.
        code.store_number(8, R7, 0, 0);
        let places =
            [(ARRIVED, ARRIVAL_TIME), (NAME, ARRIVAL_NAME), (NAME + 8, ARRIVAL_NAME + 8), (KEY, 0)];
        code.copy_each(FRAME, R7, &places);
    }

    pub(super) fn forget(&mut self) {
        self.arrival(KEY, self.end);
        self.code.store_number(8, R7, 0, 0);
    }

    /// Loads the entry of `in_flight` of the request into register 7.
    pub(super) fn in_flight(&mut self, missing: Label) {
        let fields = *self.setting.fields;
        let code = &mut self.code;
        code.load(fields.request_tag.size, R1, R6, fields.request_tag.at);
        code.load(8, R2, FRAME, TAGS);
        code.jump(If::NotLess, R1, R2, missing);
        code.load(8, R3, R6, fields.request_hardware_queue.at);
        code.load(fields.hardware_queue_number.size, R3, R3, fields.hardware_queue_number.at);
        code.load(8, R4, FRAME, QUEUES);
        code.jump(If::NotLess, R3, R4, missing);
        code.alu(Alu::Mul, R3, R2);
        code.alu(Alu::Add, R1, R3);
        code.load(8, R2, FRAME, FIRST_TAG);
        code.alu(Alu::Add, R1, R2);
        code.store(4, FRAME, INDEX, R1);
        code.lookup(self.setting.maps.in_flight.descriptor(), INDEX);
        code.jump_number(If::Equal, R0, 0, missing);
        code.copy(R7, R0);
    }

    /// Stores the time.
    pub(super) fn now(&mut self, to: i16) {
        self.code.call(Call::Now);
        self.code.store(8, FRAME, to, R0);
    }
}
