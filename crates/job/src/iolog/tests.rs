//! Tests with lines as fio writes them, records as blktrace does, and damaged logs.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::{Job, Pattern};

const TEXT_2: &str = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 4096 512\n\
    /dev/a wait 20 0\n/dev/b write 0 8192\n/dev/a sync 0 0\n/dev/a close\n";
const TEXT_3: &str = "fio version 3 iolog\n1000 a add\n1000 a open\n1500 a read 4096 512\n\
    1400 a trim 65536 4096\n2400 a write 0 8192\n2500 a datasync 0 0\n";

fn reader(bytes: impl Into<Vec<u8>>, how: &Replay) -> Result<IologReader, IologError> {
    IologReader::new(Box::new(Cursor::new(bytes.into())), how)
}

/// Time in us, file, operation, offset and length of each I/O.
fn ios_of(bytes: impl Into<Vec<u8>>, how: &Replay) -> Vec<(u64, u16, Operation, u64, u32)> {
    let mut reader = reader(bytes, how).unwrap();
    let mut ios = Vec::new();
    while let Some(io) = reader.next_io().unwrap() {
        ios.push((io.at_ns / 1000, io.file, io.operation, io.offset, io.length));
    }
    ios
}

/// A record of blktrace.
fn record(time_ns: u64, sector: u64, bytes: u32, action: u32, rest: &[u8]) -> Vec<u8> {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
    let mut record = words(&[0x6561_7407, 1]);
    record.extend(time_ns.to_ne_bytes());
    record.extend(sector.to_ne_bytes());
    record.extend(words(&[bytes, action, 77, 0xfff << 20 | 5, 0]));
    record.extend([0, 0]);
    record.extend((rest.len() as u16).to_ne_bytes());
    record.extend(rest);
    record
}

fn trace() -> Vec<u8> {
    let queued = 1 | 1 << 20;
    [
        record(9, 0, 0, 1 << 26, b"a process name  "),
        record(1_000_000, 8, 4096, queued | 1 << 16, &[]),
        // Merged, issued and completed: side effects.
        record(1_100_000, 8, 4096, 7 | 1 << 16, &[1, 2, 3]),
        record(1_500_000, 800, 8192, queued | 1 << 17, &[]),
        record(1_600_000, 0, 0, queued | 1 << 18 | 1 << 17, &[]),
        record(1_700_000, 16, 1 << 20, queued | 1 << 29 | 1 << 17, &[]),
    ]
    .concat()
}

#[test]
fn each_format_says_the_same_of_its_ios() {
    use Operation::{DataSync, Read, Sync, Trim, Write};
    let plain = Replay::default();
    let waits = [(0, 0, Read, 4096, 512), (20_000, 1, Write, 0, 8192), (20_000, 0, Sync, 0, 0)];
    assert_eq!(ios_of(TEXT_2, &plain), waits);
    // An entry that steps back in time adds no delay, and the next delay counts from it.
    let times = [(500, Read), (500, Trim), (1500, Write), (1600, DataSync)];
    let read: Vec<_> = ios_of(TEXT_3, &plain).iter().map(|io| (io.0, io.2)).collect();
    assert_eq!(read, times);
    let traced = [
        (0, 0, Read, 4096, 4096),
        (500, 0, Write, 409_600, 8192),
        (600, 0, Sync, 0, 0),
        (700, 0, Trim, 8192, 1 << 20),
    ];
    assert_eq!(ios_of(trace(), &plain), traced);
    let swapped: Vec<u8> = {
        // The other byte order, field by field, without the payload behind the record.
        let fields = [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2];
        let mut bytes = record(1, 8, 4096, 1 | 1 << 16, &[]);
        let mut at = 0;
        for field in fields {
            bytes[at..at + field].reverse();
            at += field;
        }
        bytes
    };
    assert_eq!(ios_of(swapped, &plain), [(0, 0, Read, 4096, 4096)]);
}

#[test]
fn replay_options_apply_to_each_io() {
    let how = Replay {
        redirect: Some("/dev/c".into()),
        scale: 2,
        align_bytes: 4096,
        time_scale_percent: 50,
        skip: [false, true, false, true],
        ..Replay::default()
    };
    let ios = ios_of(TEXT_3, &how);
    let times_and_offsets: Vec<_> = ios.iter().map(|io| (io.0, io.3)).collect();
    assert_eq!(times_and_offsets, [(1000, 0), (1000, 32768), (3200, 0)]);
    let mut log = reader(TEXT_3, &how).unwrap();
    while log.next_io().unwrap().is_some() {}
    assert_eq!(log.files(), ["/dev/c"]);
    let at_once = Replay { no_stall: true, ..Replay::default() };
    assert!(ios_of(TEXT_3, &at_once).iter().chain(&ios_of(TEXT_2, &at_once)).all(|io| io.0 == 0));
}

#[test]
fn a_job_takes_pattern_and_files_from_its_log() {
    let plain = Replay::default();
    let scanned = scan(reader(TEXT_2, &plain).unwrap()).unwrap();
    let mut job = Job::default();
    scanned.apply_to(&mut job);
    assert_eq!((job.pattern.rw, job.largest_block()), (Pattern::ReadWrite, 8192));
    assert_eq!(job.files.paths, ["/dev/a", "/dev/b"]);
    assert_eq!(job.replay.ends, [4608, 8192]);
    assert!(job.replay.log_of(0).is_none());
    // Trims may be larger than any buffer.
    let large = "fio version 2 iolog\na add\na open\na trim 0 2147483648\na write 0 4096\n";
    let scanned = scan(reader(large, &plain).unwrap()).unwrap();
    job.replay.read_iolog = Some("a".into());
    scanned.apply_to(&mut job);
    assert_eq!((job.largest_block(), job.largest_buffer()), (1 << 31, 4096));
    // Unless a write of the same length follows.
    (job.pattern.rw, job.replay.read_iolog) = (Pattern::RandTrimWrite, None);
    assert_eq!(job.largest_buffer(), 1 << 31);
    job.replay.read_iolog = Some("a:b".into());
    assert_eq!(job.replay.log_of(3).as_deref(), Some("b"));
    let nothing = Replay { skip: [true; 4], ..plain.clone() };
    let empty = scan(reader("fio version 3 iolog\n", &nothing).unwrap());
    assert!(matches!(empty, Err(IologError::Empty)));
}

#[test]
fn errors_name_the_line_or_record() {
    let plain = Replay::default();
    let wrong = |bytes: &[u8]| match reader(bytes, &plain).and_then(scan) {
        Err(error) => error.to_string(),
        Ok(scanned) => panic!("{scanned:?}"),
    };
    assert!(wrong(b"").contains("neither"));
    assert!(wrong(b"fio version 1 iolog\n").contains("neither"));
    assert!(wrong(b"fio version 3 iolog\n1 a add\n1 a raed 0 4096\n").starts_with("line 3: "));
    assert!(wrong(b"fio version 3 iolog\n1 a wait 5 0\n").contains("no `wait`"));
    assert!(wrong(b"fio version 2 iolog\na read 0 0\n").contains("no bytes"));
    let far = format!("fio version 2 iolog\na read {} 4096\n", u64::MAX - 1);
    assert!(wrong(far.as_bytes()).contains("larger than any file"));
    assert!(wrong(&trace()[..100]).contains("record 2: truncated record"));
    let mut newer = trace();
    newer[0] = if cfg!(target_endian = "little") { 8 } else { newer[0] };
    assert!(wrong(&newer).contains("record 1: version is not 7"));
    let long = [b"fio version 2 iolog\n".to_vec(), vec![b'a'; 10_000]].concat();
    assert!(wrong(&long).contains("longer than 4096"));
}

proptest! {
    #[test]
    fn damaged_logs_never_panic(
        at in 0usize..200, with: u8, text: bool, noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = if text { TEXT_3.as_bytes().to_vec() } else { trace() };
        let at = at % bytes.len();
        bytes[at] = with;
        for bytes in [bytes, noise] {
            let _ = reader(bytes, &Replay::default()).and_then(scan);
        }
    }
}
