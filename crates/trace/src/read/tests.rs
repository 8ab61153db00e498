//! Lines as the tools and publishers write them, made for these tests.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::{Actor, Flags, Io, Latency, Operation};

fn open(bytes: &[u8]) -> Result<Source, ReadError> {
    Source::new(vec![Box::new(Cursor::new(bytes.to_vec()))])
}

fn all(bytes: impl AsRef<[u8]>) -> (Source, Vec<Io>) {
    let mut source = open(bytes.as_ref()).unwrap();
    let mut ios = Vec::new();
    while let Some(io) = source.next_io().unwrap() {
        ios.push(io);
    }
    assert!(ios.is_sorted_by_key(|io| io.at_ns));
    (source, ios)
}

#[test]
fn digits_beyond_ascii_are_no_time() {
    assert_eq!(super::tables::seconds("3.12345678\u{e9}"), None);
    assert_eq!(super::tables::seconds("3.1234567891"), Some(3_123_456_789));
    assert!(open("1,2 0 3 0.12345678\u{e9} 5 Q x y\n".as_bytes()).is_err());
}

/// Time, operation, offset, length, latency.
type Brief = (u64, Operation, u64, u32, Latency);

fn brief(io: &Io) -> Brief {
    (io.at_ns, io.operation, io.offset, io.length, io.latency)
}

const MSR: &str = "128166372003061629,hm,0,Write,7014912,4096,26\n\
    128166372003062629,hm,1,Read,8192,65536,1000\n";
const ETW: &str = "BeginHeader\n  DiskWrite,  TimeStamp,  Process Name ( PID)\nEndHeader\n\
    DiskWrite, 2664955, p1 ( 980), 6852, 0xfffffa8010, 0x6c80556e00, 0x00010000, 183, 3, \
    0x000043, 180, 0, x\n DiskRead, 2665955, System (   4), 1, 0xff, 0x0, 0x00001000, 10, 3, \
    0x000043, 10, 0, x\n";
const FIU: &str = "1000000 4253 nfsd 96 8 W 6 0 531e00\n1500000 1 kjournald 8 16 R 6 0 aa\n";
const SYSTOR: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n\
    1456135200.013118000,0.001,W,0,4096,4096\n1456135200.014118000,,,2,0,512\n";
const ALIBABA: &str = "0,R,126703644672,4096,1577808000000626\n9,W,0,16384,1577808000000700\n";
const TENCENT: &str = "1538323199,1003027216,16,0,2313\n1538323200,8,8,1,2313\n";
const BIOSNOOP: &str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
    0.000804    supervise      1950   xvda1   W 13092560   4096      0.74\n\
    0.002       Web Content    12     xvda1   R 8          8192      1.50\n";
const BIOSNOOP_Q: &str = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n\
    1.000000 a 1 nvme0n1 W 8 4096 0.01 0.74\n";
const IOLOG: &str = "fio version 3 iolog\n0 a add\n0 a open\n1500 a read 4096 512\n\
    1400 b write 8192 4096\n2000 a sync 0 0\n2000 a close\n";
const BLKPARSE: &str = "\
    259,2    0        1     0.000001000   259  Q  RS 695296 + 8 [tap]\n\
    259,2    0        2     0.000002000   259  G  RS 695296 + 8 [tap]\n\
    259,2    0        3     0.000221570   259  D  RS 695296 + 8 [tap]\n\
    259,2    1        1     0.000300000     0  C  RS 695296 + 8 [0]\n\
    259,2    1        2     0.000400000   300  Q FWS [dd]\n\
    259,2    1        3     0.000401000    30  D FFS [kworker/1:1H]\n\
    259,2    1        4     0.000500000     0  C FFS 18446744073709551615 [0]\n\
    CPU0 (nvme0n1):\n Reads Queued:           1,        4KiB\n";

fn whole(ns: u64) -> Latency {
    Latency::Whole(ns)
}

fn split(queue: u64, device: u64) -> Latency {
    Latency::Split { queue, device }
}

#[test]
fn each_format_is_detected_and_read() {
    use Operation::{Flush, Other, Read, Write};
    let none = Latency::Unknown;
    let cases: [(&str, Format, &[Brief]); 10] = [
        (
            MSR,
            Format::Msr,
            &[
                (0, Write, 7_014_912, 4096, whole(2600)),
                (100_000, Read, 8192, 65536, whole(100_000)),
            ],
        ),
        (
            ETW,
            Format::Etw,
            &[
                (0, Write, 0x6c_8055_6e00, 65536, split(3000, 180_000)),
                (1_173_000, Read, 0, 4096, split(0, 10_000)),
            ],
        ),
        (FIU, Format::Fiu, &[(0, Write, 49152, 4096, none), (500_000, Read, 4096, 8192, none)]),
        (
            SYSTOR,
            Format::Systor,
            &[(0, Write, 4096, 4096, whole(1_000_000)), (1_000_000, Other, 0, 512, none)],
        ),
        (
            ALIBABA,
            Format::Alibaba,
            &[(0, Read, 126_703_644_672, 4096, none), (74_000, Write, 0, 16384, none)],
        ),
        (
            TENCENT,
            Format::Tencent,
            &[(0, Read, 513_549_934_592, 8192, none), (1_000_000_000, Write, 4096, 4096, none)],
        ),
        (
            BIOSNOOP,
            Format::Biosnoop,
            &[
                (0, Write, 6_703_390_720, 4096, Latency::Device(740_000)),
                (436_000, Read, 4096, 8192, Latency::Device(1_500_000)),
            ],
        ),
        (BIOSNOOP_Q, Format::Biosnoop, &[(0, Write, 4096, 4096, split(10_000, 740_000))]),
        (
            IOLOG,
            Format::Iolog,
            &[
                (0, Write, 8192, 4096, none),
                (100_000, Read, 4096, 512, none),
                (600_000, Flush, 0, 0, none),
            ],
        ),
        (
            BLKPARSE,
            Format::Blkparse,
            &[
                (0, Read, 355_991_552, 4096, split(220_570, 78_430)),
                (399_000, Flush, 0, 0, split(1000, 99_000)),
            ],
        ),
    ];
    for (text, format, expected) in cases {
        assert_eq!(Format::of(text.as_bytes()), Some(format));
        let (source, ios) = all(text);
        let found: Vec<Brief> = ios.iter().map(brief).collect();
        assert_eq!(found, expected, "{}", format.name());
        assert_eq!(format.has_latency(), found.iter().any(|one| one.4 != none));
        assert_eq!(source.skipped().count, 0, "{}", format.name());
        assert!(found.iter().all(|one| one.0 % format.tick_ns() == 0 || format.has_latency()));
    }
}

#[test]
fn names_and_times_are_kept() {
    let (source, ios) = all(MSR);
    assert_eq!(source.started_ns(), Some(1_172_163_600_306_162_900));
    let devices = source.names().devices();
    assert_eq!((&*devices[0].name, &*devices[1].name), ("hm.0", "hm.1"));
    assert_eq!(ios[1].device, 1);
    let (source, ios) = all(BIOSNOOP);
    assert_eq!(source.started_ns(), None);
    let who = |io: &Io| source.names().actors()[io.actor.unwrap() as usize].clone();
    let named =
        |pid, name: &str| Actor { pid: Some(pid), process: Some(name.into()), cgroup: None };
    assert_eq!([who(&ios[0]), who(&ios[1])], [named(1950, "supervise"), named(12, "Web Content")]);
    let (source, ios) = all(BLKPARSE);
    assert_eq!(source.names().actors()[ios[1].actor.unwrap() as usize], named(300, "dd"));
    assert_eq!(source.names().devices()[0].name, "259:2");
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

#[test]
fn files_of_several_cpus_are_merged_by_time() {
    let (queued, issued, done) = (1 | 1 << 20, 7 | 1 << 22, 8 | 1 << 23);
    let (read, sync_write) = (1 << 16, 1 << 17 | 1 << 19);
    let cgroup = 4711_u64.to_ne_bytes();
    let first = [
        record(5, 0, 0, 1 << 26, b"postgres\0\0\0\0\0\0\0\0"),
        record(1_000, 8, 4096, queued | read, &[]),
        record(3_000, 8, 4096, issued | read, &[]),
        record(9_000, 64, 8192, done | sync_write, &[]),
    ];
    let second = [
        record(2_000, 64, 8192, queued | sync_write | 1 << 8, &cgroup),
        record(2_500, 64, 8192, issued | sync_write, &[]),
        record(8_000, 8, 4096, done | read, &[]),
    ];
    let inputs = [first.concat(), second.concat(), Vec::new()];
    let inputs = inputs.into_iter().map(|one| Box::new(Cursor::new(one)) as _).collect();
    let mut source = Source::new(inputs).unwrap();
    let mut found = Vec::new();
    while let Some(io) = source.next_io().unwrap() {
        let actor = source.names().actors()[io.actor.unwrap() as usize].clone();
        found.push((brief(&io), actor));
    }
    let who = |cgroup| Actor { pid: Some(77), process: Some("postgres".into()), cgroup };
    assert_eq!(
        found,
        [
            ((0, Operation::Read, 4096, 4096, split(2000, 5000)), who(None)),
            ((1000, Operation::Write, 32768, 8192, split(500, 6500)), who(Some(4711))),
        ]
    );
    assert_eq!((source.unmatched(), source.format()), (0, Format::Blktrace));
}

#[test]
fn vscsi_records_are_detected_by_plausibility() {
    let record = |length: u32, command: u16, block: u64, us: u64| {
        let mut bytes = [1_u32, length, 1].map(u32::to_le_bytes).concat();
        bytes.extend(command.to_le_bytes());
        bytes.extend([2, 0]);
        bytes.extend(block.to_le_bytes());
        bytes.extend(us.to_le_bytes());
        bytes
    };
    let bytes = [record(4096, 0x28, 8, 1000), record(512, 0x2a, 1, 1500), record(0, 0x35, 0, 1600)];
    let (source, ios) = all(bytes.concat());
    assert_eq!(source.format(), Format::Vscsi);
    let found: Vec<_> = ios.iter().map(|io| (io.at_ns, io.operation, io.offset)).collect();
    let expected = [
        (0, Operation::Read, 4096),
        (500_000, Operation::Write, 512),
        (600_000, Operation::Flush, 0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn other_lines_are_counted_and_other_files_refused() {
    let damaged = MSR.replace("8192,65536", "8192");
    let (source, ios) = all([&damaged[..], MSR].concat());
    assert_eq!((ios.len(), source.skipped()), (3, source::Skipped { count: 1, first: 2 }));
    let bpftrace = "TIME(ms)    DISK    COMM     PID    LAT(ms)\n0    nvme0n1    a    1    0.2\n";
    for text in ["", "hello, world\n", "a,b,c,d,e\n", bpftrace, "{\"fio version\": 3}"] {
        assert!(matches!(open(text.as_bytes()), Err(ReadError::Unknown)), "{text}");
    }
}

#[test]
fn ios_before_a_bad_line_are_given() {
    let mut source = open(format!("{IOLOG}2100 a rea").as_bytes()).unwrap();
    let mut count = 0;
    let error = loop {
        match source.next_io() {
            Ok(io) => assert!(io.is_some()),
            Err(error) => break error,
        }
        count += 1;
    };
    assert_eq!(count, 3);
    assert!(matches!(error, ReadError::Entry { number: 8, .. }), "{error}");
    assert!(source.next_io().unwrap().is_none());
}

#[test]
fn unordered_ios_are_sorted() {
    let line = |us: u64| format!("0,R,0,4096,{}\n", 1_577_808_000_000_000 + us);
    let mut times: Vec<u64> = (0..70_000).collect();
    times.swap(10, 60_000);
    let text: String = times.iter().map(|us| line(*us)).collect();
    let (source, ios) = all(&text);
    assert_eq!((ios.len(), source.displaced()), (70_000, 0));
    assert!(ios.iter().enumerate().all(|(n, io)| io.at_ns == n as u64 * 1000));
    times.swap(0, 69_999);
    let text: String = times.iter().map(|us| line(*us)).collect();
    let (source, _) = all(&text);
    assert_eq!(source.displaced(), 1);
}

proptest! {
    #[test]
    fn damage_does_not_panic(
        which in 0..9_usize, at in any::<prop::sample::Index>(), with: u8,
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let texts = [MSR, ETW, FIU, SYSTOR, ALIBABA, TENCENT, BIOSNOOP, IOLOG, BLKPARSE];
        let mut bytes = texts[which].as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = with;
        let trace = [&record(1, 8, 4096, 1 | 1 << 16, &[])[..], &noise].concat();
        for bytes in [bytes, noise, trace] {
            if let Ok(mut source) = open(&bytes) {
                while let Ok(Some(_)) = source.next_io() {}
            }
        }
    }
}

/// libbpf-tools' biosnoop has bcc's heading, all letters of an operation, and -1 without a queue.
#[test]
fn biosnoop_of_libbpf_tools_is_read() {
    let text = "TIME(s)     COMM           PID     DISK      T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
        0.100000    jbd2/sda1-8    195     sda       WS   8          4096    0.010   0.527\n\
        0.200000    fio            196     sda       WSM  16         4096   -1.000   0.527\n\
        0.300000    fio            196     sda       RA   24         4096    0.010   0.527\n\
        0.400000    fio            196     sda       FF   0          0       0.010   0.527\n\
        0.500000    fio            196     sda       DS   0          8192    0.010   0.527\n";
    let (source, ios) = all(text);
    assert_eq!(source.skipped().count, 0);
    let operations: Vec<Operation> = ios.iter().map(|io| io.operation).collect();
    use Operation::{Discard, Flush, Read, Write};
    assert_eq!(operations, [Write, Write, Read, Flush, Discard]);
    assert_eq!(ios[0].latency, split(10_000, 527_000));
    assert_eq!(ios[1].latency, Latency::Device(527_000));
    assert!(ios[1].flags.has(Flags::SYNC) && ios[1].flags.has(Flags::META));
    assert!(ios[2].flags.has(Flags::AHEAD));
}

/// Lines that blkparse did not write whole count; statistics between joined texts do not.
#[test]
fn damaged_lines_of_blkparse_are_counted() {
    let io = "    259,2    0        1     0.5   259  D  RS 8 + 8 [tap]\n\
                  259,2    0        2     0.6     0  C  RS 8 + 8 [0]\n";
    let (source, ios) = all(format!("{BLKPARSE}{io}"));
    assert_eq!((ios.len(), source.skipped().count), (3, 0));
    let damaged = BLKPARSE.replace("259  D  RS 695296", "259  D");
    let (source, _) = all(damaged.replace("0.000002000   259  G  RS 695296 + 8 [tap]", "0.0"));
    assert_eq!((source.skipped().count, source.skipped().first), (2, 2));
}
