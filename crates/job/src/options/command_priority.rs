//! Options of the priorities of single I/Os.

use super::codecs::{Count, Directions, Percent};
use super::value::{Parsed, Value, print_directions};
use super::{Kind, OptionSpec, row};
use crate::SizePriority;

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "cmdprio_percentage",
        engine.command_priority.percent,
        Directions(Percent),
        "0",
        ["20", "50,10"],
        "percent of I/Os with the priority set by cmdprio and cmdprio_class (io_uring, libaio)"
    ),
    row!(
        "cmdprio_class",
        engine.command_priority.class,
        Directions(Count(1, 3)),
        "1",
        ["2", "1,3"],
        "priority class of these I/Os: 1 real time, 2 best effort, 3 idle"
    ),
    row!(
        "cmdprio",
        engine.command_priority.level,
        Directions(Count(0, 7)),
        "0",
        ["3", "0,7"],
        "priority of these I/Os in their class, 0 (highest) to 7"
    ),
    row!(
        "cmdprio_hint",
        engine.command_priority.hint,
        Directions(Count(0, 1023)),
        "0",
        ["1"],
        "hint of these I/Os, such as the number of a command duration limit"
    ),
    OptionSpec {
        name: "cmdprio_bssplit",
        examples: &["64k/25/1/1:64k/75/3/2", "64k/10:1m/5,1m/20", "1m/10/2/0/3"],
        help: "percent by block size, as SIZE/PERCENT or SIZE/PERCENT/CLASS/LEVEL[/HINT]",
        kind: || Kind::Directions(Box::new(Kind::Text)),
        parse: |job, value| {
            for (direction, part) in value.directions(false)? {
                *job.engine.command_priority.by_size.of_mut(direction) = entries(part)?;
            }
            Ok(())
        },
        print: |job| {
            print_directions(&job.engine.command_priority.by_size.map(|entries| {
                let texts: Vec<String> = entries.iter().map(print).collect();
                (!texts.is_empty()).then(|| texts.join(":"))
            }))
        },
        ..OptionSpec::DEFAULT
    },
];

/// Parses the entries of `cmdprio_bssplit`.
fn entries(value: Value<'_>) -> Parsed<Vec<SizePriority>> {
    let mut entries = Vec::new();
    for text in value.text.split(':').take_while(|text| !text.trim().is_empty()) {
        entries.push(entry(value.with(text))?);
    }
    entries.retain(|entry| entry.percent > 0);
    let of_size = |bytes| {
        let same = entries.iter().filter(move |entry| entry.bytes == bytes);
        same.map(|entry| entry.percent).sum::<u32>()
    };
    if entries.iter().any(|entry| of_size(entry.bytes) > 100) {
        return Err("expected at most 100 percent of each block size".into());
    }
    Ok(entries)
}

fn entry(value: Value<'_>) -> Parsed<SizePriority> {
    const EXPECTED: &str =
        "expected SIZE/PERCENT or SIZE/PERCENT/CLASS/LEVEL[/HINT], such as 64k/25/1/0";
    let (size, rest) = value.text.split_once('/').unwrap_or((value.text, ""));
    let bytes = value.with(size).number()?;
    let mut numbers = Vec::new();
    for text in rest.split('/').filter(|_| !rest.trim().is_empty()) {
        numbers.push(text.trim().parse::<u32>().map_err(|_| EXPECTED)?);
    }
    let percent = numbers.first().copied().unwrap_or(0).min(100);
    // As in fio, values that are too large are lowered to the maximum.
    let priority = match *numbers.get(1..).unwrap_or_default() {
        [] => None,
        [class, level] => Some([class.min(3), level.min(7), 0]),
        [class, level, hint] => Some([class.min(3), level.min(7), hint.min(1023)]),
        _ => return Err(EXPECTED.into()),
    };
    Ok(SizePriority { bytes, percent, priority })
}

fn print(entry: &SizePriority) -> String {
    let SizePriority { bytes, percent, priority } = entry;
    match priority {
        None => format!("{bytes}/{percent}"),
        Some([class, level, 0]) => format!("{bytes}/{percent}/{class}/{level}"),
        Some([class, level, hint]) => format!("{bytes}/{percent}/{class}/{level}/{hint}"),
    }
}
