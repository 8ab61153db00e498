//! Bounds the memory that reading takes beyond the size of its result, for any input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, BufReader, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use iodyno_fio::read::{Imported, stream};

const MIB: usize = 1 << 20;
/// Limit of memory beyond the size of the result.
const BEYOND: usize = 64 * MIB;

/// Counts memory that is allocated at the same time.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Repeats `bytes` to a length of `length`.
struct Repeated {
    bytes: Vec<u8>,
    at: usize,
    left: u64,
}

impl Repeated {
    fn new(text: &str, length: u64) -> Self {
        let bytes = text.repeat((64 << 10) / text.len() + 1).into_bytes();
        let whole = bytes.len() / text.len() * text.len();
        Self { bytes: bytes[..whole].to_vec(), at: 0, left: length }
    }
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let piece = &self.bytes[self.at..];
        let length = piece.len().min(most);
        buffer[..length].copy_from_slice(&piece[..length]);
        self.at = (self.at + length) % self.bytes.len();
        self.left -= length as u64;
        Ok(length)
    }
}

/// Imports `input`; also returns the peak of allocated memory, bytes.
fn read(input: impl Read) -> (Imported, usize) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let imported = stream("x", BufReader::new(input)).unwrap();
    (imported, MOST.load(Relaxed) - before)
}

const SYSLOG: &str = "Nov 21 17:00:01 host systemd[1]: Started Session 42 of user root.\n";

const HEAD: &str = "{\n\"fio version\" : \"fio-3.33\",\n\"global options\" : {\"rw\": \"read\"},\n\
                    \"jobs\" : [\n";
const JOB: &str = "{ \"jobname\" : \"a\", \"groupid\" : 0, \"error\" : 0, \"job_runtime\" : 1000,
  \"read\" : { \"io_bytes\" : 4096, \"total_ios\" : 1, \"runtime\" : 1000 } }";

/// Allocations of one test would be counted in the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn memory_is_bounded() {
    let _alone = ONE_AT_A_TIME.lock();
    // A line without an end, and unrelated text.
    for text in ["x", "{\"a\": [1, ", "<p>", ";", SYSLOG] {
        let (found, most) = read(Repeated::new(text, 32 << 20));
        assert_eq!((found.measurements.len(), found.problems.len()), (0, 1), "{text}");
        assert!(most < 24 * MIB, "{text}: {most}");
    }
    // Beginnings of fio's output, repeated, in one line or in many.
    let length = MIB;
    for text in [
        "a: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  1 00:00:00 2024 ",
        "a: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1 ",
        "read: IOPS=1, BW=2MiB/s ",
        "Run status group 0 (all jobs): ",
        "READ: bw=1MiB/s ",
        "fio --name=a --rw=read ",
        "[a]",
        "fio-3.33 ",
        "\"fio version\" ",
        "{\"fio version\": ",
        "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\"}]} ",
        "{\"jobname\": \"a\"}, ",
        "{\"jobname\": ",
        "3;fio-3.33;a;0;0;",
    ] {
        for text in [text.to_owned(), format!("{}\n", text.trim_end())] {
            let (_, most) = read(Repeated::new(&text, length as u64));
            assert!(most < length + BEYOND, "{text}: {} MiB", most / MIB);
        }
    }
    // Documents of many jobs: each is read, and none held in two forms.
    let jobs = 8000;
    let mut json = HEAD.to_owned();
    for n in 0..jobs {
        let bins = (0..40).map(|bin| format!("\"{}\" : {n}", 1000 + bin)).collect::<Vec<_>>();
        let bins = format!(", \"clat_ns\" : {{ \"bins\" : {{ {} }} }} }} }}", bins.join(",\n"));
        json += &JOB.replace("\"a\"", &format!("\"a{n}\"")).replace(" } }", &bins);
        json += ",\n";
    }
    let json = format!("{}]}}\n", json.trim_end_matches(",\n"));
    let (found, most) = read(json.as_bytes());
    assert_eq!((found.measurements.len(), &found.problems[..]), (jobs, &[][..]));
    assert!(most < json.len() + BEYOND, "{} MiB of {}", most / MIB, json.len() / MIB);

    // A job with more elements than any real one.
    let wide = format!(
        "{HEAD}{}]}}",
        JOB.replace("1000,", &format!("[{}1],", "1, \"bins\", ".repeat(MIB)))
    );
    let (_, most) = read(wide.as_bytes());
    assert!(most < wide.len() + BEYOND, "{} MiB of {}", most / MIB, wide.len() / MIB);

    // An endless source, and a file of a few kB that decompresses to GiB.
    let (found, most) = read(Repeated::new(SYSLOG, u64::MAX));
    let given_up =
        |one: &iodyno_fio::read::Problem| one.what.starts_with("no fio output for a GiB");
    assert!(found.problems.iter().any(given_up), "{found:?}");
    assert!(most < 24 * MIB, "{most}");
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..48 {
        bomb.write_all(&[b' '; MIB]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let (found, most) = read(&bomb[..]);
    assert!(found.measurements.is_empty());
    assert!(most < 24 * MIB, "{most}");
}

/// Output far behind other text is found, with its line number.
#[test]
fn results_are_found_in_a_long_text() {
    let _alone = ONE_AT_A_TIME.lock();
    let job = JOB.replace("\"runtime\" : 1000 } }", "\"runtime\" : 1000 }");
    let damaged = format!("{HEAD}{JOB},\n{job}");
    let before = SYSLOG.repeat(200_000);
    let text = format!("{before}{damaged}{}", SYSLOG.repeat(200_000));
    let found = stream("x", text.as_bytes()).unwrap();
    assert_eq!(found.measurements.len(), 2);
    let line = 200_000 + damaged.lines().count();
    assert_eq!(found.problems[0].line, Some(line), "{:?}", found.problems);
}
