//! Handling of I/O errors.

use iodyno_model::PerDirection;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
/// What NVMe's unreadable blocks are on Linux; fio, which knows EIO alone, ends there.
const ENODATA: i32 = 61;
const EILSEQ: i32 = 84;

/// fio's `continue_on_error`: errors after which a job continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContinueOn {
    /// Errors of reads.
    pub read: bool,
    /// Errors of writes (and of trims and syncs, as in fio).
    pub write: bool,
    /// Verification mismatches.
    pub verify: bool,
}

/// Handling of I/O errors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Errors {
    /// `continue_on_error` as given.
    pub continue_on_error: ContinueOn,
    /// `ignore_error`: errno numbers after which the job continues, for reads, writes and verifying
    /// (in `trim`).
    pub ignore_error: PerDirection<Vec<i32>>,
    /// For jobs of iodyno's own: continues after any errno but ENOSPC, which would only repeat, and
    /// ends once all its I/Os have failed for a second, since a surprise removal is EIO on most
    /// kernels.
    pub gives_up: bool,
    /// `max_latency`, ns: an I/O that takes longer ends the job.
    pub max_latency_ns: PerDirection<Option<u64>>,
}

impl Errors {
    /// Errors after some of which the job continues: as given, and those with a list (as in fio).
    #[must_use]
    pub fn continue_on(&self) -> ContinueOn {
        let (given, ignored) = (self.continue_on_error, &self.ignore_error);
        ContinueOn {
            read: given.read || !ignored.read.is_empty(),
            write: given.write || !ignored.write.is_empty(),
            verify: given.verify || !ignored.trim.is_empty(),
        }
    }

    /// True if the job continues after an I/O, which `reads` or not, failed with `errno`: as in fio
    /// (td_error.c), EILSEQ is one of verifying, and a list replaces EIO (or ENODATA) and EILSEQ.
    #[must_use]
    pub fn continues_after(&self, reads: bool, errno: i32) -> bool {
        let (continue_on, ignored) = (self.continue_on(), &self.ignore_error);
        let (continues, list) = match reads {
            _ if errno == EILSEQ => (continue_on.verify, &ignored.trim),
            true => (continue_on.read, &ignored.read),
            false => (continue_on.write, &ignored.write),
        };
        continues
            && match list.as_slice() {
                [] if self.gives_up => errno != ENOSPC,
                [] => [EIO, ENODATA, EILSEQ].contains(&errno),
                list => list.contains(&errno),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_replaces_the_errors_that_fio_continues_after() {
        const ETIMEDOUT: i32 = 110;
        let all = ContinueOn { read: true, write: true, verify: true };
        let lists = |read: &[i32], write: &[i32], verify: &[i32]| Errors {
            ignore_error: PerDirection {
                read: read.into(),
                write: write.into(),
                trim: verify.into(),
            },
            ..Errors::default()
        };
        let given = Errors { continue_on_error: all, ..Errors::default() };
        let own = Errors { gives_up: true, ..given.clone() };
        for (errors, reads, errno, continues) in [
            (&Errors::default(), true, EIO, false),
            (&given, true, EIO, true),
            (&given, true, ENODATA, true),
            (&given, false, EILSEQ, true),
            (&given, false, ETIMEDOUT, false),
            (&given, false, ENOSPC, false),
            (&own, false, ETIMEDOUT, true),
            (&own, false, ENOSPC, false),
            (&lists(&[], &[ENOSPC], &[]), false, EIO, false),
            (&lists(&[], &[ENOSPC], &[]), false, ENOSPC, true),
            (&lists(&[], &[ENOSPC], &[]), true, ENOSPC, false),
            (&lists(&[], &[], &[EIO]), true, EILSEQ, false),
            (&lists(&[], &[], &[EILSEQ]), true, EILSEQ, true),
        ] {
            assert_eq!(errors.continues_after(reads, errno), continues, "{errors:?} {errno}");
        }
    }
}
