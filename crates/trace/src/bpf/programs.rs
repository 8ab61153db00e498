//! The programs that follow each request from its first attempt to its completion.
//!
//! An attempt (bio) is remembered by its address, a request in flight by its tag. A request is
//! counted once it is issued, its latency once it is complete.

use super::assembler::{Alu, Assembler, Call, FRAME, If, R0, R1, R2, R6, R7, R8};
use super::frame::*;
use super::layout::{Count, Fields, Part};
use super::writer::{Setting, Writer};
use crate::Operation;

/// A program, named after its tracepoint.
#[derive(Debug, Clone, Copy)]
pub(super) enum Program {
    Complete,
    Requeue,
    Issue,
    RequestMerge,
    BackMerge,
    FrontMerge,
    Split,
    Queue,
}

/// In the order in which they are attached: what is issued from the last one on is seen to its end.
pub(super) const PROGRAMS: [Program; 8] = [
    Program::Complete,
    Program::Requeue,
    Program::Issue,
    Program::RequestMerge,
    Program::BackMerge,
    Program::FrontMerge,
    Program::Split,
    Program::Queue,
];

impl Program {
    /// Returns the tracepoint, and the structure among its arguments.
    pub(super) const fn tracepoint(self) -> (&'static str, &'static str) {
        match self {
            Self::Complete => ("block_rq_complete", "request"),
            Self::Requeue => ("block_rq_requeue", "request"),
            Self::Issue => ("block_rq_issue", "request"),
            Self::RequestMerge => ("block_rq_merge", "request"),
            Self::BackMerge => ("block_bio_backmerge", "bio"),
            Self::FrontMerge => ("block_bio_frontmerge", "bio"),
            Self::Split => ("block_split", "bio"),
            Self::Queue => ("block_bio_queue", "bio"),
        }
    }

    /// Writes the program for a tracepoint that has its structure as this argument.
    pub(super) fn code(self, setting: Setting<'_>, argument: i16) -> Option<Vec<u64>> {
        let mut code = Assembler::default();
        let end = code.label();
        let mut writer = Writer { code, setting, argument: argument * 8, end };
        match self {
            Self::Complete => writer.complete(),
            Self::Requeue => writer.requeue(),
            Self::Issue => writer.issue(),
            Self::RequestMerge => writer.merge_request(),
            Self::BackMerge => writer.merge_behind(),
            Self::FrontMerge => writer.merge_before(),
            Self::Split => writer.split(),
            Self::Queue => writer.queue(),
        }
        writer.code.bind(end);
        writer.code.exit();
        writer.code.finish()
    }
}

impl Writer<'_> {
    fn queue(&mut self) {
        self.bio();
        let code = &mut self.code;
        let (write, asked) = (Operation::Write as i32, code.label());
        // A flush by an application is an empty write with PREFLUSH, and has no address.
        code.load(8, R1, FRAME, OPERATION);
        code.jump_number(If::NotEqual, R1, write, asked);
        code.load(8, R1, FRAME, BYTES);
        code.jump_number(If::NotEqual, R1, 0, asked);
        code.load(8, R1, FRAME, FLAGS);
        code.alu_number(Alu::And, R1, self.setting.fields.preflush);
        code.jump_number(If::Equal, R1, 0, asked);
        code.store_number(8, FRAME, OPERATION, Operation::Flush as i32);
        code.bind(asked);
        self.key(KEY);
        // A failed attempt is repeated: the first counts.
        let first = self.code.label();
        self.arrival(KEY, first);
        self.code.go(self.end);
        self.code.bind(first);
        self.code.call(Call::Now);
        self.code.alu_number(Alu::And, R0, !1);
        self.code.store(8, FRAME, ARRIVED, R0);
        self.code.call(Call::CurrentTask);
        let name = self.setting.fields.task_name;
        self.code.copy_each(R0, FRAME, &[(name, NAME), (name + 8, NAME + 8)]);
        let chosen = self.code.label();
        self.put_into_set(chosen);
    }

    /// The second bio is part of the first one's request.
    fn merge_behind(&mut self) {
        self.bio();
        self.key(KEY);
        self.forget();
    }

    fn merge_request(&mut self) {
        self.request();
        self.operation();
        self.forget();
    }

    /// The request begins with this bio now, and has waited as long as before.
    fn merge_before(&mut self) {
        self.bio();
        self.key(KEY);
        self.key_behind();
        self.take_arrival(OTHER_KEY, true, self.end);
        self.put_arrival();
    }

    /// The rest is another request that has waited as long.
    fn split(&mut self) {
        self.bio();
        self.key(KEY);
        self.take_arrival(KEY, false, self.end);
        self.key_behind();
        self.code.load(8, R1, FRAME, OTHER_KEY);
        self.code.store(8, FRAME, KEY, R1);
        self.put_arrival();
    }

    fn issue(&mut self) {
        self.request();
        self.operation();
        self.now(NOW);
        let fresh = self.code.label();
        for place in [ARRIVED, NAME, NAME + 8] {
            self.code.store_number(8, FRAME, place, 0);
        }
        self.take_arrival(KEY, true, fresh);
        self.code.bind(fresh);
        let (untracked, tracked) = (self.code.label(), self.code.label());
        self.in_flight(untracked);
        let free = self.code.label();
        self.code.load(8, R1, R7, 0);
        self.code.jump_number(If::Equal, R1, 0, free);
        self.count(Count::Unmatched);
        self.code.bind(free);
        let code = &mut self.code;
        code.store(8, R7, 0, R6);
        let places = [
            (NOW, ISSUE_TIME),
            (ARRIVED, ISSUE_ARRIVED),
            (BYTES, ISSUE_BYTES),
            (OPERATION, ISSUE_OPERATION),
        ];
        code.copy_each(FRAME, R7, &places);
        code.go(tracked);
        code.bind(untracked);
        self.count(Count::Untracked);
        self.code.bind(tracked);
        // It was issued before, and put back.
        self.code.load(8, R1, FRAME, ARRIVED);
        self.code.alu_number(Alu::And, R1, 1);
        self.code.jump_number(If::NotEqual, R1, 0, self.end);
        for (first, counted) in [(Count::Ios, None), (Count::Bytes, Some(BYTES))] {
            self.code.load(8, R1, FRAME, OPERATION);
            self.code.alu_number(Alu::Add, R1, first as i32);
            self.code.store(4, FRAME, INDEX, R1);
            self.count_at_index(counted);
        }
        let Fields { metadata, fua, .. } = *self.setting.fields;
        for (mask, count) in [(metadata, Count::Metadata), (fua, Count::Fua)] {
            let without = self.code.label();
            self.code.load(8, R1, FRAME, FLAGS);
            self.code.alu_number(Alu::And, R1, mask);
            self.code.jump_number(If::Equal, R1, 0, without);
            self.count(count);
            self.code.bind(without);
        }
        self.count_millisecond();
        self.count_actor();
        self.count_place();
    }

    fn requeue(&mut self) {
        self.request();
        self.operation();
        self.in_flight(self.end);
        let Self { code, end, .. } = self;
        code.load(8, R1, R7, 0);
        code.jump(If::NotEqual, R1, R6, *end);
        code.store_number(8, R7, 0, 0);
        let queued = code.label();
        code.load(8, R1, R7, ISSUE_ARRIVED);
        code.jump_number(If::NotEqual, R1, 0, queued);
        code.load(8, R1, R7, ISSUE_TIME);
        code.bind(queued);
        code.alu_number(Alu::Or, R1, 1);
        code.store(8, FRAME, ARRIVED, R1);
        code.store_number(8, FRAME, NAME, 0);
        code.store_number(8, FRAME, NAME + 8, 0);
        self.put_arrival();
    }

    fn complete(&mut self) {
        // Status and number of bytes follow the request.
        self.code.load(8, R8, R1, self.argument + 16);
        self.request();
        let unmatched = self.code.label();
        let Self { code, end, .. } = self;
        // The rest follows.
        code.load(8, R1, FRAME, BYTES);
        code.jump(If::Less, R8, R1, *end);
        self.in_flight(unmatched);
        let Self { code, .. } = self;
        code.load(8, R1, R7, 0);
        code.jump(If::NotEqual, R1, R6, unmatched);
        code.store_number(8, R7, 0, 0);
        let places = [
            (ISSUE_BYTES, BYTES),
            (ISSUE_OPERATION, OPERATION),
            (ISSUE_ARRIVED, ARRIVED),
            (ISSUE_TIME, NOW),
        ];
        code.copy_each(R7, FRAME, &places);
        code.call(Call::Now);
        code.copy(R8, R0);
        code.copy(R1, R8);
        code.load(8, R2, FRAME, NOW);
        code.alu(Alu::Sub, R1, R2);
        self.count_part(Part::AfterDispatch);
        let (unknown, both) = (self.code.label(), self.code.label());
        let code = &mut self.code;
        code.load(8, R2, FRAME, ARRIVED);
        code.jump_number(If::Equal, R2, 0, unknown);
        code.load(8, R1, FRAME, NOW);
        code.jump(If::Greater, R2, R1, unknown);
        code.alu(Alu::Sub, R1, R2);
        self.count_part(Part::BeforeDispatch);
        let code = &mut self.code;
        code.load(8, R2, FRAME, ARRIVED);
        code.go(both);
        code.bind(unknown);
        code.load(8, R2, FRAME, NOW);
        code.bind(both);
        code.copy(R1, R8);
        code.alu(Alu::Sub, R1, R2);
        self.count_part(Part::Both);
        self.count_latency();
        let Self { code, end, .. } = self;
        code.go(*end);
        code.bind(unmatched);
        code.load(8, R1, FRAME, BYTES);
        code.jump_number(If::Equal, R1, 0, *end);
        self.count(Count::Unmatched);
    }
}
