//! The option table: one static list, from which everything that reads or
//! writes options is driven.

use crate::value::{JobError, parse_list, parse_seconds, parse_size};
use crate::{IoEngine, Job, Pattern};

/// One option of a job.
pub struct OptionSpec {
    /// fio's name of it.
    pub name: &'static str,
    /// Other names that fio takes.
    pub aliases: &'static [&'static str],
    /// What it takes, for the reference: `size`, `time`, `number`, `list`, or the words.
    pub takes: &'static str,
    /// One line of help.
    pub help: &'static str,
    parse: fn(&mut Job, &str) -> Result<(), String>,
    print: fn(&Job) -> String,
}

impl OptionSpec {
    /// Its value in `job`, in fio's notation.
    pub fn print(&self, job: &Job) -> String {
        (self.print)(job)
    }
}

/// Every option that a job has.
pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "rw",
        aliases: &["readwrite"],
        takes: "read, write, randread, randwrite",
        help: "direction and order of the I/O",
        parse: |job, text| {
            job.rw = [Pattern::Read, Pattern::Write, Pattern::RandRead, Pattern::RandWrite]
                .into_iter()
                .find(|pattern| pattern.name() == text)
                .ok_or("one of read, write, randread, randwrite was expected")?;
            Ok(())
        },
        print: |job| job.rw.name().into(),
    },
    OptionSpec {
        name: "bs",
        aliases: &["blocksize"],
        takes: "size",
        help: "bytes of each I/O",
        parse: |job, text| {
            job.bs = parse_size(text)?;
            if job.bs == 0 || job.bs % 512 != 0 || job.bs > 64 << 20 {
                return Err("a multiple of 512 up to 64m was expected".into());
            }
            Ok(())
        },
        print: |job| job.bs.to_string(),
    },
    OptionSpec {
        name: "iodepth",
        aliases: &[],
        takes: "number",
        help: "outstanding I/Os of each job",
        parse: |job, text| {
            job.iodepth = number(text, 1, 32_768)?;
            Ok(())
        },
        print: |job| job.iodepth.to_string(),
    },
    OptionSpec {
        name: "numjobs",
        aliases: &[],
        takes: "number",
        help: "threads that do the same",
        parse: |job, text| {
            job.numjobs = number(text, 1, 4096)?;
            Ok(())
        },
        print: |job| job.numjobs.to_string(),
    },
    OptionSpec {
        name: "ioengine",
        aliases: &[],
        takes: "auto, io_uring, libaio, psync",
        help: "how the load generator talks to the kernel",
        parse: |job, text| {
            job.ioengine = [IoEngine::Auto, IoEngine::IoUring, IoEngine::Libaio, IoEngine::Psync]
                .into_iter()
                .find(|engine| engine.name() == text)
                .ok_or("one of auto, io_uring, libaio, psync was expected")?;
            Ok(())
        },
        print: |job| job.ioengine.name().into(),
    },
    OptionSpec {
        name: "direct",
        aliases: &[],
        takes: "0, 1",
        help: "bypass the page cache",
        parse: |job, text| {
            job.direct = number(text, 0, 1)? == 1;
            Ok(())
        },
        print: |job| u8::from(job.direct).to_string(),
    },
    OptionSpec {
        name: "runtime",
        aliases: &["timeout"],
        takes: "time",
        help: "longest run time",
        parse: |job, text| {
            job.runtime_ns = Some(parse_seconds(text)?);
            Ok(())
        },
        print: |job| job.runtime_ns.map_or(String::new(), |ns| format!("{}ms", ns / 1_000_000)),
    },
    OptionSpec {
        name: "randseed",
        aliases: &[],
        takes: "number",
        help: "seed of the random offsets",
        parse: |job, text| {
            job.randseed = text.trim().parse().map_err(|_| "a number was expected")?;
            Ok(())
        },
        print: |job| job.randseed.to_string(),
    },
    OptionSpec {
        name: "cpus_allowed",
        aliases: &[],
        takes: "list",
        help: "CPUs that the jobs are kept on, one each in turn",
        parse: |job, text| {
            job.cpus_allowed = parse_list(text)?;
            Ok(())
        },
        print: |job| {
            let cpus: Vec<_> = job.cpus_allowed.iter().map(u32::to_string).collect();
            cpus.join(",")
        },
    },
];

fn number(text: &str, low: u32, high: u32) -> Result<u32, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|value| (low..=high).contains(value))
        .ok_or_else(|| format!("a number from {low} to {high} was expected"))
}

/// Sets the option `name` (or one of its aliases) of `job`.
///
/// # Errors
/// An unknown option with the nearest name, or a value that it does not take.
pub fn apply(job: &mut Job, name: &str, value: &str) -> Result<(), JobError> {
    let spec = OPTIONS
        .iter()
        .find(|spec| spec.name == name || spec.aliases.contains(&name))
        .ok_or_else(|| JobError::UnknownOption { name: name.into(), nearest: nearest(name) })?;
    (spec.parse)(job, value).map_err(|expected| JobError::BadValue {
        option: spec.name,
        value: value.into(),
        expected,
    })
}

/// The option whose name is nearest to `name`, if any is near: at most a third
/// of its letters differ.
pub fn nearest(name: &str) -> Option<&'static str> {
    OPTIONS
        .iter()
        .flat_map(|spec| std::iter::once(spec.name).chain(spec.aliases.iter().copied()))
        .map(|known| (strsim::levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        let mut job = Job::default();
        for (name, value) in [
            ("rw", "randread"),
            ("blocksize", "256k"),
            ("iodepth", "32"),
            ("runtime", "1500ms"),
            ("cpus_allowed", "0-1"),
            ("ioengine", "libaio"),
        ] {
            apply(&mut job, name, value).unwrap();
        }
        let mut copy = Job::default();
        for spec in OPTIONS {
            let text = spec.print(&job);
            if !text.is_empty() {
                apply(&mut copy, spec.name, &text).unwrap();
            }
        }
        assert_eq!(job, copy);
    }

    #[test]
    fn mistakes_are_named() {
        let mut job = Job::default();
        let unknown = apply(&mut job, "iodeth", "1").unwrap_err();
        assert_eq!(unknown.to_string(), "there is no option `iodeth`; did you mean `iodepth`?");
        assert!(apply(&mut job, "qwertz", "1").unwrap_err().to_string().ends_with("`qwertz`"));
        let bad = apply(&mut job, "iodepth", "0").unwrap_err();
        assert_eq!(bad.to_string(), "`iodepth=0`: a number from 1 to 32768 was expected");
    }
}
