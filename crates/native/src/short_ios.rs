//! Finishes I/Os that the kernel did in part, as fio does: their rest is issued again.

use crate::engines::{Engine, IoUnit, Operation};
use crate::in_flight::InFlight;

/// The I/Os done in part. Empty, and without memory of its own, until there is one.
#[derive(Debug, Default)]
pub(crate) struct ShortIos {
    /// Slots, and the bytes transferred so far.
    done: Vec<(u16, u32)>,
    /// The whole I/Os whose rest is to be queued, and the bytes before it.
    waiting: Vec<(IoUnit, u32)>,
}

/// What has come of an I/O whose result is not its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its last part is done, and so is all of it.
    Whole,
    /// Its rest is to be [queued](ShortIos::queue_rests): the slot stays taken.
    Short,
    /// It failed, or this rest of it did: an errno, or nothing was transferred.
    Failed(InFlight),
}

impl ShortIos {
    /// Takes the result of an I/O, or of its rest.
    #[cold]
    pub(crate) fn outcome(&mut self, slot: u16, io: &InFlight, result: i64) -> Outcome {
        let known = self.done.iter().position(|(short, _)| *short == slot);
        let before = known.map_or(0, |at| self.done.swap_remove(at).1);
        let &InFlight { offset, length, file, operation, .. } = io;
        let unit = IoUnit { offset, length, slot, file, operation };
        let moves = matches!(operation, Operation::Read | Operation::Write);
        let done = u32::try_from(result).ok().filter(|moved| *moved > 0 && moves);
        match done.and_then(|moved| before.checked_add(moved)) {
            Some(done) if done == length => Outcome::Whole,
            Some(done) if done < length => {
                self.done.push((slot, done));
                self.waiting.push((unit, done));
                Outcome::Short
            }
            _ => {
                let IoUnit { offset, length, .. } = unit.rest(before);
                Outcome::Failed(InFlight { offset, length, ..*io })
            }
        }
    }

    /// Queues the rests of short I/Os.
    #[cold]
    pub(crate) fn queue_rests(&mut self, engine: &mut impl Engine) {
        for (unit, done) in self.waiting.drain(..) {
            engine.queue_rest(unit, done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_is_whole_once_its_parts_are() {
        let io = InFlight {
            offset: 8192,
            length: 4096,
            operation: Operation::Write,
            ..InFlight::default()
        };
        let mut short_ios = ShortIos::default();
        assert_eq!(short_ios.outcome(3, &io, 1024), Outcome::Short);
        assert_eq!(short_ios.outcome(5, &io, 512), Outcome::Short);
        assert_eq!(short_ios.outcome(3, &io, 1024), Outcome::Short);
        let rests: Vec<_> = short_ios.waiting.iter().map(|(unit, done)| unit.rest(*done)).collect();
        let parts = rests.iter().map(|rest| (rest.slot, rest.offset, rest.length));
        assert!(parts.eq([(3, 9216, 3072), (5, 8704, 3584), (3, 10_240, 2048)]));
        assert_eq!(short_ios.outcome(3, &io, 2048), Outcome::Whole);
        for result in [0, -28] {
            let rest = InFlight { offset: 8704, length: 3584, ..io };
            assert_eq!(short_ios.outcome(5, &io, result), Outcome::Failed(rest));
            assert_eq!(short_ios.outcome(5, &io, 512), Outcome::Short);
        }
        assert_eq!(
            short_ios.outcome(5, &io, 4096),
            Outcome::Failed(InFlight { offset: 8704, length: 3584, ..io })
        );
        let sync = InFlight { operation: Operation::Sync, ..InFlight::default() };
        assert_eq!(short_ios.outcome(0, &sync, 1), Outcome::Failed(sync));
    }
}
