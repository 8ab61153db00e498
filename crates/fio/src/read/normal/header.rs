//! Parses the lines that describe a job, and how it ended.

use iodyno_model::Workload;
use jiff::civil::DateTime;

use super::scan::{after, field, numbers, up_to};
use super::statement::Statement;
use crate::read::printed_number::{Decimals, Notation};

/// `name: (g=0): rw=randread, bs=…, ioengine=libaio, iodepth=32`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobDescription {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) group: u32,
    pub(super) workload: Workload,
}

impl JobDescription {
    pub(super) fn new(statement: &Statement) -> Self {
        let text = &statement.text;
        // A word at the end may be truncated.
        let word = |key| up_to(after(text, key)?, |c| c == ',').map(str::to_owned);
        let rw = word("rw=");
        let mut workload = Workload {
            ioengine: word("ioengine="),
            iodepth: after(text, "iodepth=")
                .and_then(|depth| up_to(depth, |c| !c.is_ascii_digit())?.parse().ok()),
            ..Workload::default()
        };
        block_size(text, rw.as_deref(), &mut workload);
        workload.rw = rw;
        let group = numbers(text).first().and_then(|group| u32::try_from(*group).ok());
        Self {
            line: statement.line,
            name: statement.name.clone(),
            group: group.unwrap_or(0),
            workload,
        }
    }
}

/// Parses `bs=(R)4096B-4096B,(W)…,(T)…` of 2.17 and later, or `bs=4K-4K/4K-4K/4K-4K`: a single size
/// if all directions that `rw` uses have the same.
fn block_size(text: &str, rw: Option<&str>, workload: &mut Workload) {
    let (Some(rw), Some(sizes)) = (rw, after(text, "bs=")) else { return };
    // With it the sizes are for sequential and random I/O.
    if text.contains("bs_is_seq_rand") {
        return;
    }
    let sizes = sizes.split("ioengine=").next().unwrap_or(sizes);
    let lettered = sizes.starts_with('(');
    let range = |n: usize, letter| {
        let range = if lettered {
            after(sizes, letter)?.split(',').next()
        } else {
            sizes.trim_end_matches(',').split('/').nth(n)
        };
        range?.trim().split_once('-')
    };
    let mut used = Vec::new();
    let mixed = ["rw", "randrw", "readwrite"].contains(&rw);
    for (n, letter, uses) in [
        (0, "(R)", mixed || rw.contains("read")),
        (1, "(W)", mixed || rw.contains("write")),
        (2, "(T)", rw.contains("trim")),
    ] {
        if uses {
            used.push(range(n, letter).and_then(|(low, high)| Some((size(low)?, size(high)?))));
        }
    }
    let Some(Some((low, high))) = used.first().copied() else { return };
    if used.iter().any(|one| *one != used[0]) {
        return;
    }
    if low == high {
        workload.bs = Some(low);
    } else {
        workload.options.insert("bsrange".into(), format!("{low}-{high}"));
    }
}

/// Parses a size that is a whole number of bytes.
fn size(text: &str) -> Option<u64> {
    // Before 2.17 sizes have no `B`: `4K`.
    let notation = Notation { binary: true, decimals: Decimals::Rounded, clock_ns: 1 };
    let binary = !text.ends_with('B') || text.ends_with("KB");
    let bytes = Notation { binary, ..notation }.bytes(text)?.value;
    (bytes.fract() == 0.0 && (1.0..1e15).contains(&bytes)).then_some(bytes as u64)
}

/// `name: (groupid=0, jobs=1): err= 0: pid=4493: Thu Dec 28 00:16:42 2017`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Head {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) group: Option<u32>,
    pub(super) jobs: Option<u32>,
    pub(super) errno: i32,
    /// Error in fio's words.
    pub(super) failure: Option<String>,
    pub(super) pid: Option<u64>,
    /// Time of printing, in the host's local time.
    pub(super) printed: Option<DateTime>,
}

impl Head {
    pub(super) fn new(statement: &Statement) -> Self {
        let text = &statement.text;
        let number =
            |key| numbers(up_to(after(text, key)?, |c| ",):( \n".contains(c))?).first().copied();
        let errno = number("err=").and_then(|errno| i32::try_from(errno).ok()).unwrap_or(0);
        Self {
            line: statement.line,
            name: statement.name.clone(),
            group: field(text, "(groupid=").and_then(|group| group.parse().ok()),
            jobs: field(text, "jobs=").and_then(|jobs| jobs.parse().ok()),
            errno,
            failure: (errno != 0).then(|| failure(text, errno)),
            pid: number("pid=").filter(|pid| *pid > 0),
            printed: after(text, "pid=").and_then(printed),
        }
    }

    /// Key shared with later reports of the same job.
    pub(super) fn identity(&self) -> (&str, Option<u32>, Option<u64>) {
        (&self.name, self.group, self.pid)
    }
}

/// Error message: `error=…` in the parentheses after `err=28`.
fn failure(text: &str, errno: i32) -> String {
    let words = after(text, "error=").and_then(|words| words.split("):").next());
    let words = words.map(|words| words.trim().trim_end_matches(')'));
    match words.filter(|words| !words.is_empty() && words.len() < 200) {
        Some(words) => words.to_owned(),
        None => std::io::Error::from_raw_os_error(errno).to_string(),
    }
}

/// Parses the date after the pid: `Thu Dec 28 00:16:42 2017`, without blanks around colons.
fn printed(text: &str) -> Option<DateTime> {
    let (_, date) = text.split_once(':')?;
    let words: Vec<&str> = date.split_whitespace().take(5).collect();
    let [_, month, day, time, year] = words[..] else { return None };
    let year: String = year.chars().take(4).collect();
    DateTime::strptime("%b %d %H:%M:%S %Y", format!("{month} {day} {time} {year}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::normal::statements;

    fn only(text: &str) -> Statement {
        statements(text).remove(0)
    }

    #[test]
    fn job_descriptions_are_parsed() {
        for (bs, expected) in [
            ("(R) 4096B-4096B, (W) 8192B-8192B, (T) 4096B-4096B", Some(4096)),
            ("(R) 64.0KiB-64.0KiB, (W) 1B-1B, (T) 1B-1B", Some(65_536)),
            ("(R) 64.0kB-64.0kB, (W) 1B-1B, (T) 1B-1B", Some(64_000)),
            ("4K-4K/128K-128K/4K-4K", Some(4096)),
            ("1M-1M/4K-4K", Some(1 << 20)),
            ("512-512/4K-4K", Some(512)),
            ("4K-8K/4K-4K", None),
        ] {
            let text = format!("a b: (g=2): rw=randread, bs={bs}, ioengine=libaio, iodepth=4\n");
            let job = JobDescription::new(&only(&text));
            assert_eq!((job.name.as_str(), job.group), ("a b", 2));
            assert_eq!(job.workload.bs, expected, "{bs}");
            assert_eq!(job.workload.iodepth, Some(4));
            assert_eq!(job.workload.ioengine.as_deref(), Some("libaio"));
        }
        let text = "a: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 8192B-8192B, (T) 1B-1B,";
        assert_eq!(JobDescription::new(&only(text)).workload.bs, None);
    }

    #[test]
    fn job_heads_are_parsed() {
        let head = "s: (groupid=1, jobs=4): err=28 (file:io_u.c:1575, func=io_u error, \
                    error=No space left on device): pid=7023: Sun Apr  2 06:50:48 2017\n";
        let head = Head::new(&only(head));
        assert_eq!((head.group, head.jobs, head.errno), (Some(1), Some(4), 28));
        assert_eq!(head.failure.as_deref(), Some("No space left on device"));
        assert_eq!((head.pid, head.name.as_str()), (Some(7023), "s"));
        assert_eq!(head.printed.unwrap().to_string(), "2017-04-02T06:50:48");
        let head = Head::new(&only("write: (groupid=0, jobs=1): err= 0: pid=6\n"));
        assert_eq!((head.errno, head.printed, head.name.as_str()), (0, None, "write"));
    }
}
