//! Options of error handling.

use iodyno_model::PerDirection;

use super::codecs::{Bool, Directions, NonZero, Time, Words};
use super::value::{Parsed, Value};
use super::{Kind, OptionSpec, errno, ignored, row};
use crate::ContinueOn;
use crate::value::TimeUnit;

const fn on(read: bool, write: bool, verify: bool) -> ContinueOn {
    ContinueOn { read, write, verify }
}

const WORDS: [(&str, ContinueOn); 8] = [
    ("none", on(false, false, false)),
    ("read", on(true, false, false)),
    ("write", on(false, true, false)),
    ("io", on(true, true, false)),
    ("verify", on(false, false, true)),
    ("all", on(true, true, true)),
    ("0", on(false, false, false)),
    ("1", on(true, true, true)),
];

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "continue_on_error",
        errors.continue_on_error,
        Words(&WORDS),
        "none",
        ["read", "io", "all", "verify"],
        "go on after EIO, ENODATA and EILSEQ of these kinds, or after those of ignore_error"
    ),
    OptionSpec {
        name: "ignore_error",
        examples: &["EIO:ENOSPC", ",ENOSPC", "EIO,28,EILSEQ"],
        help: "errors to go on after instead of EIO, ENODATA and EILSEQ, for reads, writes and verifying, by name or number",
        kind: || Kind::Directions(Box::new(Kind::Names)),
        parse: |job, value| {
            let mut parts = value.text.split(',');
            let mut next = || numbers(value.with(parts.next().unwrap_or_default().trim()));
            job.errors.ignore_error = PerDirection { read: next()?, write: next()?, trim: next()? };
            if parts.next().is_some() {
                return Err("expected at most three lists, for reads, writes and verifying".into());
            }
            Ok(())
        },
        print: |job| {
            let word = |errno: &i32| match errno::errno_name(*errno) {
                Some(name) => name.to_owned(),
                None => errno.to_string(),
            };
            let list = |list: &Vec<i32>| list.iter().map(word).collect::<Vec<_>>().join(":");
            let PerDirection { read, write, trim } = &job.errors.ignore_error;
            let text = [read, write, trim].map(list).join(",");
            text.trim_end_matches(',').into()
        },
        ..OptionSpec::DEFAULT
    },
    ignored!(
        "error_dump",
        Bool,
        "0",
        ["1"],
        "failed I/Os are always counted, and their first offsets stored: iodyno show last",
        "report each I/O error"
    ),
    row!(
        "max_latency",
        errors.max_latency_ns,
        Directions(NonZero(Time(TimeUnit::Microseconds))),
        "0",
        ["500ms", "1000,2s"],
        "end the job if an I/O takes longer; 0: no limit"
    ),
];

fn numbers(value: Value<'_>) -> Parsed<Vec<i32>> {
    let entry = |text: &str| {
        let number = errno::number(text).map(i64::from);
        let number = number.or_else(|| value.with(text).number().ok()?.try_into().ok());
        let number = number.and_then(|number| i32::try_from(number).ok()).filter(|n| *n > 0);
        number.ok_or_else(|| format!("expected an error such as EIO or 5, not `{text}`").into())
    };
    value.text.split(':').filter(|text| !text.is_empty()).map(entry).collect()
}
