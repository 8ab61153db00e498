//! Assembles BPF programs for little-endian machines
//! (Documentation/bpf/standardization/instruction-set.rst).

/// A register. The kernel keeps 6 to 9 over calls; 10 is the frame pointer.
pub(super) type Register = u8;

pub(super) const R0: Register = 0;
pub(super) const R1: Register = 1;
pub(super) const R2: Register = 2;
pub(super) const R3: Register = 3;
pub(super) const R4: Register = 4;
pub(super) const R6: Register = 6;
pub(super) const R7: Register = 7;
pub(super) const R8: Register = 8;
pub(super) const FRAME: Register = 10;

/// Arithmetic on 64 bits.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum Alu {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Divide = 0x30,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Xor = 0xa0,
    Move = 0xb0,
}

/// Condition of a jump; comparisons are unsigned.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum If {
    Always = 0x00,
    Equal = 0x10,
    Greater = 0x20,
    NotLess = 0x30,
    NotEqual = 0x50,
    Less = 0xa0,
}

/// Functions of the kernel (include/uapi/linux/bpf.h).
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    Lookup = 1,
    Update = 2,
    /// `CLOCK_MONOTONIC`, ns.
    Now = 5,
    Cpu = 8,
    CurrentTask = 158,
}

const CLASS_LOAD_IMMEDIATE: u8 = 0x18;
const CLASS_LOAD: u8 = 0x61;
const CLASS_STORE_IMMEDIATE: u8 = 0x62;
const CLASS_STORE: u8 = 0x63;
const CLASS_JUMP: u8 = 0x05;
const CLASS_JUMP_32: u8 = 0x06;
const CLASS_ALU_64: u8 = 0x07;
const ATOMIC: u8 = 0xdb;
const FETCH: i32 = 0x01;
const EXCHANGE: i32 = 0xe1;
/// The second operand is a register.
const REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// The immediate is a map's descriptor.
const PSEUDO_MAP: u8 = 1;

/// A place to jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program as it is written.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    /// Where labels are bound.
    labels: Vec<Option<usize>>,
    /// Jumps, and where to.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        let registers = u64::from(from << 4 | to) << 8;
        let offset = u64::from(offset as u16) << 16;
        self.code.push(u64::from(code) | registers | offset | u64::from(immediate as u32) << 32);
    }

    /// Makes a label, to be bound later.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds a label to the next instruction.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// `to = to OP from`.
    pub(super) fn alu(&mut self, alu: Alu, to: Register, from: Register) {
        self.push(CLASS_ALU_64 | REGISTER | alu as u8, to, from, 0, 0);
    }

    /// `to = to OP number`.
    pub(super) fn alu_number(&mut self, alu: Alu, to: Register, number: i32) {
        self.push(CLASS_ALU_64 | alu as u8, to, 0, 0, number);
    }

    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.alu(Alu::Move, to, from);
    }

    pub(super) fn number(&mut self, to: Register, number: i32) {
        self.alu_number(Alu::Move, to, number);
    }

    /// Sets a register to 64 bits.
    pub(super) fn wide_number(&mut self, to: Register, number: u64) {
        self.push(CLASS_LOAD_IMMEDIATE, to, 0, 0, number as i32);
        self.push(0, 0, 0, 0, (number >> 32) as i32);
    }

    fn map(&mut self, to: Register, descriptor: i32) {
        self.push(CLASS_LOAD_IMMEDIATE, to, PSEUDO_MAP, 0, descriptor);
        self.push(0, 0, 0, 0, 0);
    }

    /// `to = *(from + offset)`, of `size` bytes.
    pub(super) fn load(&mut self, size: u8, to: Register, from: Register, offset: i16) {
        self.push(CLASS_LOAD & !0x18 | size_code(size), to, from, offset, 0);
    }

    /// `*(to + offset) = from`, of `size` bytes.
    pub(super) fn store(&mut self, size: u8, to: Register, offset: i16, from: Register) {
        self.push(CLASS_STORE & !0x18 | size_code(size), to, from, offset, 0);
    }

    /// `*(to + offset) = number`, of `size` bytes.
    pub(super) fn store_number(&mut self, size: u8, to: Register, offset: i16, number: i32) {
        self.push(CLASS_STORE_IMMEDIATE & !0x18 | size_code(size), to, 0, offset, number);
    }

    /// Copies 8 bytes each: `*(to + b) = *(from + a)` for each `(a, b)`; changes register 1.
    pub(super) fn copy_each(&mut self, from: Register, to: Register, places: &[(i16, i16)]) {
        for (source, target) in places {
            self.load(8, R1, from, *source);
            self.store(8, to, *target, R1);
        }
    }

    /// `*(to + offset) += from`, of 8 bytes; changes `through`.
    pub(super) fn add(&mut self, to: Register, offset: i16, from: Register, through: Register) {
        self.load(8, through, to, offset);
        self.alu(Alu::Add, through, from);
        self.store(8, to, offset, through);
    }

    /// `*(to + offset) += from`, of 8 bytes, atomically.
    pub(super) fn add_atomic(&mut self, to: Register, offset: i16, from: Register) {
        self.push(ATOMIC, to, from, offset, 0);
    }

    /// Adds `register` to the 8 bytes at `*(to + offset)` atomically, and fetches what they were.
    pub(super) fn fetch_add(&mut self, to: Register, offset: i16, register: Register) {
        self.push(ATOMIC, to, register, offset, FETCH);
    }

    /// Exchanges `register` and the 8 bytes at `*(to + offset)` atomically.
    pub(super) fn exchange(&mut self, to: Register, offset: i16, register: Register) {
        self.push(ATOMIC, to, register, offset, EXCHANGE);
    }

    /// Jumps if `left CONDITION right`.
    pub(super) fn jump(&mut self, when: If, left: Register, right: Register, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(CLASS_JUMP | REGISTER | when as u8, left, right, 0, 0);
    }

    /// Jumps if `left CONDITION number`.
    pub(super) fn jump_number(&mut self, when: If, left: Register, number: i32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(CLASS_JUMP | when as u8, left, 0, 0, number);
    }

    /// Jumps if the lower 32 bits of `left` are not `number`.
    pub(super) fn jump_unless(&mut self, left: Register, number: u32, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.push(CLASS_JUMP_32 | If::NotEqual as u8, left, 0, 0, number as i32);
    }

    pub(super) fn go(&mut self, label: Label) {
        self.jump_number(If::Always, R0, 0, label);
    }

    /// Calls a function of the kernel: arguments are in registers 1 to 5, which it changes.
    pub(super) fn call(&mut self, function: Call) {
        self.push(CALL, 0, 0, 0, function as i32);
    }

    /// Looks up the key at `FRAME + key` in a map: its value's address, or 0, is in register 0.
    pub(super) fn lookup(&mut self, map: i32, key: i16) {
        self.map(R1, map);
        self.frame_address(R2, key);
        self.call(Call::Lookup);
    }

    /// Inserts the key and value at these places of the frame, unless it is there.
    pub(super) fn insert(&mut self, map: i32, key: i16, value: i16) {
        const ONLY_NEW: i32 = 1;
        self.map(R1, map);
        self.frame_address(R2, key);
        self.frame_address(R3, value);
        self.number(R4, ONLY_NEW);
        self.call(Call::Update);
    }

    pub(super) fn frame_address(&mut self, to: Register, offset: i16) {
        self.copy(to, FRAME);
        self.alu_number(Alu::Add, to, offset.into());
    }

    pub(super) fn exit(&mut self) {
        self.number(R0, 0);
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// Resolves the jumps; `None` if a label was not bound or is too far away.
    pub(super) fn finish(mut self) -> Option<Vec<u64>> {
        for (from, label) in self.jumps {
            let to = self.labels[label.0]?;
            let offset = i16::try_from(to as i64 - from as i64 - 1).ok()?;
            self.code[from] |= u64::from(offset as u16) << 16;
        }
        Some(self.code)
    }
}

/// Size in the code of a load or store.
const fn size_code(bytes: u8) -> u8 {
    match bytes {
        1 => 0x10,
        2 => 0x08,
        4 => 0x00,
        _ => 0x18,
    }
}
