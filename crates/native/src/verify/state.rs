//! Reads and writes fio's verify state (`verify_state_save` and `verify_state_load`; version 7 of
//! the format, that of fio 3.42): how many writes were made, and which of them did not complete.
//!
//! Numbers are little endian. The head has three of 8 bytes: version, length of the rest, and its
//! CRC32C without the final inversion. The rest: number of entries (4 bytes, 4 unused), writes,
//! thread number (8 each), an unused state of a random generator (56), the job's name (64), and an
//! entry of 8 bytes for each I/O that may be in flight, then for each failed write.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use iodyno_files::NameOrigin;
use iodyno_job::{Job, Operation, VerifyPolicy};
use iodyno_model::Direction;

const VERSION: u64 = 7;
/// Version, length and checksum, bytes.
const HEAD: usize = 24;
const WRITES: usize = 8;
const THREAD: usize = 16;
const NAME: usize = 80;
/// Start of the entries, bytes.
const ENTRIES: usize = 144;
/// An unused entry.
const NONE: u64 = u64::MAX;
/// Largest file, bytes.
const LONGEST: u64 = 64 << 20;

/// The writes of a job until its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VerifyState {
    /// Number of writes, numbered from 0.
    writes: u64,
    /// Those of them still in flight.
    in_flight: Vec<u64>,
    /// Those of them that failed, in ascending order.
    failed: Vec<u64>,
}

/// Whether to verify a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Verify,
    /// It failed, so its data is not expected.
    Skip,
    /// Neither it nor later writes may have been made.
    Stop,
}

impl VerifyState {
    /// A state of `writes` writes, some of them `in_flight` or `failed`.
    #[cfg(test)]
    pub(crate) const fn new(writes: u64, in_flight: Vec<u64>, failed: Vec<u64>) -> Self {
        Self { writes, in_flight, failed }
    }

    /// Loads the state that another run of `job` saved in `folder`, if `job` requests it; not for
    /// writing jobs, which know their own writes.
    ///
    /// # Errors
    /// A message if it cannot be loaded.
    pub(crate) fn load(job: &Job, folder: Option<&Path>) -> Result<Option<Self>, String> {
        if !job.verify.state_load || !job.verify.is_on() || job.writes() {
            return Ok(None);
        }
        let path = path(job, folder.unwrap_or(Path::new("")));
        let bytes = iodyno_files::read(&path, LONGEST)
            .map_err(|error| format!("verify_state_load: {error}"))?;
        let state = Self::from_bytes(&bytes, job.depth.iodepth);
        state.map(Some).map_err(|why| format!("verify_state_load: {}: {why}", path.display()))
    }

    /// The verdict on write `number`.
    pub(crate) fn verdict(&self, number: u64) -> Verdict {
        if self.failed.binary_search(&number).is_ok() {
            Verdict::Skip
        } else if number >= self.writes || self.in_flight.contains(&number) {
            Verdict::Stop
        } else {
            Verdict::Verify
        }
    }

    /// Decodes the state of a job with this depth: entries beyond it are failed writes.
    fn from_bytes(bytes: &[u8], iodepth: u32) -> Result<Self, &'static str> {
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or("it is too short")?;
        let number = |bytes: &[u8], at: usize| {
            bytes[at..].first_chunk().map_or(NONE, |eight| u64::from_le_bytes(*eight))
        };
        if number(head, 0) != VERSION {
            return Err("it is of another version than 7");
        }
        let whole = rest.len() as u64 == number(head, 8) && rest.len() >= ENTRIES;
        if !whole || number(head, 16) != checksum(rest) {
            return Err("it is damaged");
        }
        // The upper half of the first number is unused.
        let entries = (number(rest, 0) & u64::from(u32::MAX)) as usize;
        if rest.len() - ENTRIES != entries * size_of::<u64>() {
            return Err("it is damaged");
        }
        let entry = |n: usize| number(rest, ENTRIES + n * size_of::<u64>());
        let first_failed = entries.min(iodepth as usize);
        let known = |range: std::ops::Range<usize>| range.map(entry).filter(|n| *n != NONE);
        let mut failed: Vec<u64> = known(first_failed..entries).collect();
        failed.sort_unstable();
        Ok(Self {
            writes: number(rest, WRITES),
            in_flight: known(0..first_failed).collect(),
            failed,
        })
    }

    fn to_bytes(&self, job: &Job) -> Vec<u8> {
        let mut entries = vec![NONE; (job.depth.iodepth as usize).max(self.in_flight.len())];
        entries[..self.in_flight.len()].copy_from_slice(&self.in_flight);
        entries.extend_from_slice(&self.failed);
        let mut rest = vec![0; ENTRIES];
        rest[..4].copy_from_slice(&(entries.len() as u32).to_le_bytes());
        rest[WRITES..][..8].copy_from_slice(&self.writes.to_le_bytes());
        rest[THREAD..][..8].copy_from_slice(&u64::from(job.threads.number).to_le_bytes());
        // Terminated by a zero.
        let name = &job.name.as_bytes()[..job.name.len().min(ENTRIES - NAME - 1)];
        rest[NAME..][..name.len()].copy_from_slice(name);
        rest.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
        let head = [VERSION, rest.len() as u64, checksum(&rest)];
        head.iter().flat_map(|number| number.to_le_bytes()).chain(rest.iter().copied()).collect()
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    u64::from(!crc32c::crc32c(bytes))
}

fn path(job: &Job, folder: &Path) -> PathBuf {
    let name = job.name.replace('/', ".");
    folder.join(format!("local-{name}-{}-verify.state", job.threads.number))
}

/// Tracks the writes of a thread and finally saves their state.
#[derive(Debug)]
pub(crate) struct WriteTracker {
    folder: PathBuf,
    /// By slot: number of the write in flight.
    writes: Box<[u64]>,
    /// By slot: the first write that the sync in flight may not cover.
    syncs: Box<[u64]>,
    /// By file: its writes before this are durable by a sync; `NONE`: it was not written.
    durable: Box<[u64]>,
    failed: Vec<u64>,
}

impl WriteTracker {
    /// A tracker for `job` if it saves its state, in `folder`.
    pub(crate) fn new(job: &Job, folder: Option<&Path>) -> Option<Self> {
        let verify = &job.verify;
        let writes = job.writes() && job.pattern.rw.has(Direction::Write);
        let saves = verify.state_save && verify.is_on() && writes && job.threads.shared_by <= 1;
        let slots = || vec![NONE; job.depth.iodepth as usize].into();
        folder.filter(|_| saves).map(|folder| Self {
            folder: folder.to_owned(),
            writes: slots(),
            syncs: slots(),
            durable: vec![NONE; job.files.paths.len().max(1)].into(),
            failed: Vec::new(),
        })
    }

    /// Records a submission to `file`; `number` is the number of the next write.
    pub(crate) fn submitted(&mut self, slot: u16, file: u16, operation: Operation, number: u64) {
        let slot = usize::from(slot);
        match operation {
            Operation::Write => {
                self.writes[slot] = number;
                let durable = &mut self.durable[usize::from(file)];
                *durable = (*durable).min(number);
            }
            Operation::Sync | Operation::DataSync => {
                let first_open = self.writes.iter().min().copied().unwrap_or(NONE);
                self.syncs[slot] = first_open.min(number);
            }
            Operation::Read | Operation::Trim => {}
        }
    }

    /// Records a completion.
    pub(crate) fn completed(
        &mut self,
        slot: u16,
        file: u16,
        operation: Operation,
        succeeded: bool,
    ) {
        let slot = usize::from(slot);
        match operation {
            Operation::Write => {
                let number = std::mem::replace(&mut self.writes[slot], NONE);
                self.failed.extend((!succeeded).then_some(number));
            }
            Operation::Sync | Operation::DataSync if succeeded => {
                // `NONE` stays: a file without writes loses none.
                let durable = &mut self.durable[usize::from(file)];
                *durable = (*durable).max(self.syncs[slot]);
            }
            _ => {}
        }
    }

    /// Writes before this are durable, of those made.
    fn durable(&self, writes_made: u64) -> u64 {
        self.durable.iter().copied().fold(writes_made, u64::min)
    }

    /// Saves the state of `job` after `writes_made` writes, durably.
    ///
    /// # Errors
    /// A message if it cannot be saved.
    pub(crate) fn save(&mut self, job: &Job, writes_made: u64) -> Result<(), String> {
        let mut failed = std::mem::take(&mut self.failed);
        failed.sort_unstable();
        let writes = match job.verify.policy {
            VerifyPolicy::Completed => writes_made,
            VerifyPolicy::Fsynced => self.durable(writes_made),
        };
        let in_flight = self.writes.iter().copied().filter(|number| *number != NONE).collect();
        let path = path(job, &self.folder);
        let mut file =
            iodyno_files::create(&path, NameOrigin::Iodyno).map_err(|error| error.to_string())?;
        let written = file.write_all(&VerifyState { writes, in_flight, failed }.to_bytes(job));
        let saved = written.and_then(|()| file.sync_all());
        saved.map_err(|error| format!("{}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state that fio 3.42 wrote: 16 writes of a job `ab/c`, at depth 3.
    fn fio_state() -> Vec<u8> {
        let mut bytes = [7_u64, 168, 0x9c82_a1cb, 3, 16, 0, 0, 0xeb2c_aa9a_a4a8_cb5b, 0x485e_e230]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect::<Vec<_>>();
        bytes.resize(HEAD + NAME, 0);
        bytes.extend_from_slice(b"ab/c");
        bytes.resize(HEAD + ENTRIES, 0);
        bytes.resize(HEAD + ENTRIES + 3 * 8, 0xff);
        bytes
    }

    fn job() -> Job {
        let mut job = Job { name: "ab/c".into(), ..Job::default() };
        job.depth.iodepth = 3;
        job
    }

    #[test]
    fn fios_state_is_read_and_damage_is_found() {
        let state = VerifyState::from_bytes(&fio_state(), 3).unwrap();
        assert_eq!(state, VerifyState { writes: 16, ..VerifyState::default() });
        assert_eq!((state.verdict(15), state.verdict(16)), (Verdict::Verify, Verdict::Stop));
        for at in 0..fio_state().len() {
            let mut bytes = fio_state();
            bytes[at] ^= 1;
            assert!(VerifyState::from_bytes(&bytes, 3).is_err(), "{at}");
            assert!(VerifyState::from_bytes(&bytes[..at], 3).is_err(), "{at}");
        }
    }

    #[test]
    fn a_state_is_fios_but_for_the_random_numbers() {
        let mut expected = fio_state();
        expected[HEAD + 24..HEAD + NAME].fill(0);
        let bytes = VerifyState { writes: 16, ..VerifyState::default() }.to_bytes(&job());
        assert_eq!(bytes[HEAD..], expected[HEAD..]);
        assert_eq!(bytes[..16], expected[..16]);
        let state = VerifyState { writes: 9, in_flight: vec![7], failed: vec![2, 5] };
        let again = VerifyState::from_bytes(&state.to_bytes(&job()), 3).unwrap();
        assert_eq!(again, state);
        let verdicts = [1, 2, 6, 7, 8].map(|number| again.verdict(number));
        use Verdict::{Skip, Stop, Verify};
        assert_eq!(verdicts, [Verify, Skip, Verify, Stop, Verify]);
    }

    #[test]
    fn a_sync_of_one_file_covers_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job();
        job.files.paths = vec!["a".into(), "b".into(), "unwritten".into()];
        job.pattern.rw = iodyno_job::Pattern::Write;
        job.verify.method = iodyno_job::VerifyMethod::Md5;
        let mut following = WriteTracker::new(&job, Some(folder.path())).unwrap();
        for (number, file) in [(0, 0), (1, 1)] {
            following.submitted(0, file, Operation::Write, number);
            following.completed(0, file, Operation::Write, true);
        }
        for (file, durable) in [(0, 1), (1, 2)] {
            following.submitted(0, file, Operation::Sync, 2);
            following.completed(0, file, Operation::Sync, true);
            assert_eq!(following.durable(2), durable);
        }
    }

    #[test]
    fn a_sync_covers_only_earlier_completed_writes() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job();
        job.pattern.rw = iodyno_job::Pattern::Write;
        job.verify.method = iodyno_job::VerifyMethod::Md5;
        job.verify.policy = VerifyPolicy::Fsynced;
        let mut following = WriteTracker::new(&job, Some(folder.path())).unwrap();
        let saved = |following: &mut WriteTracker| {
            following.save(&job, 4).unwrap();
            let reads = Job { pattern: iodyno_job::AccessPattern::default(), ..job.clone() };
            let mut reads = reads;
            reads.verify.state_load = true;
            VerifyState::load(&reads, Some(folder.path())).unwrap().unwrap()
        };
        following.submitted(0, 0, Operation::Write, 0);
        assert_eq!(saved(&mut following).writes, 0, "no sync, nothing is sure");
        following.submitted(1, 0, Operation::Write, 1);
        following.completed(0, 0, Operation::Write, true);
        // Write 1 is in flight when the sync is submitted.
        following.submitted(2, 0, Operation::Sync, 2);
        following.submitted(0, 0, Operation::Write, 2);
        following.completed(1, 0, Operation::Write, true);
        following.completed(2, 0, Operation::Sync, true);
        following.completed(0, 0, Operation::Write, false);
        assert_eq!(
            saved(&mut following),
            VerifyState { writes: 1, in_flight: vec![], failed: vec![2] }
        );
        following.submitted(1, 0, Operation::Sync, 3);
        following.completed(1, 0, Operation::Sync, false);
        assert_eq!(saved(&mut following).writes, 1, "a sync that failed is for nothing");
    }
}
