//! Options of block sizes: one size, a range, or a mix.
//!
//! As in fio, for each direction a mix overrides a range, and a range overrides a single size, in
//! whatever order they are given.

use iodyno_model::PerDirection;

use super::codecs::print_size;
use super::value::{Parsed, Value, print_directions};
use super::{Kind, OptionSpec};
use crate::{BlockSize, Job};

/// Largest block; Linux moves a little less than 2 GiB in one system call.
const LARGEST: u64 = 1 << 30;

fn size(value: Value<'_>) -> Parsed<u64> {
    let size = value.number()?;
    if (1..=LARGEST).contains(&size) { Ok(size) } else { Err("expected 1 byte to 1g".into()) }
}

pub(super) const BS: OptionSpec = OptionSpec {
    name: "bs",
    aliases: &["blocksize"],
    default: "4096",
    examples: &["4k", "8k,4k", "8k,", ",1m,", "4k,8k,16k", "4k:8k"],
    help: "block size",
    kind: || Kind::Directions(Box::new(Kind::Size)),
    parse: |job, value| {
        for (direction, part) in value.directions(true)? {
            let size = size(part)?;
            if let BlockSize::Fixed(bs) = job.pattern.bs.of_mut(direction) {
                *bs = size;
            }
        }
        Ok(())
    },
    print: |job| print(job, |bs| bs.fixed().map(print_size)),
    ..OptionSpec::DEFAULT
};

pub(super) const BSRANGE: OptionSpec = OptionSpec {
    name: "bsrange",
    aliases: &["blocksize_range"],
    examples: &["4k-64k", "512:1m", "4k-8k,16k-32k", ",1k-4k,"],
    help: "range of random block sizes, in multiples of the smallest",
    kind: || Kind::Directions(Box::new(Kind::Range)),
    parse: |job, value| {
        for (direction, part) in value.directions(false)? {
            let ends = part.text.split_once(['-', ':']);
            let (first, last) = ends.ok_or("expected a range such as 4k-64k")?;
            let (first, last) = (size(part.with(first))?, size(part.with(last))?);
            let bs = job.pattern.bs.of_mut(direction);
            if !matches!(bs, BlockSize::Split(_)) {
                *bs = BlockSize::Range { low: first.min(last), high: first.max(last) };
            }
        }
        Ok(())
    },
    print: |job| {
        print(job, |bs| match bs {
            BlockSize::Range { low, high } => Some(format!("{low}-{high}")),
            _ => None,
        })
    },
    ..OptionSpec::DEFAULT
};

pub(super) const BSSPLIT: OptionSpec = OptionSpec {
    name: "bssplit",
    examples: &[
        "4k/10:64k/50:32k/40",
        "4k/50:1k/:32k/",
        "64k/40:1m/60,1m/100",
        "4k",
        "512/4:4k/67",
    ],
    help: "mix of block sizes with percentages; sizes without one share the rest",
    kind: || Kind::Directions(Box::new(Kind::Text)),
    parse: |job, value| {
        for (direction, part) in value.directions(false)? {
            *job.pattern.bs.of_mut(direction) = BlockSize::Split(split(part)?);
        }
        Ok(())
    },
    print: |job| {
        print(job, |bs| match bs {
            BlockSize::Split(sizes) => {
                let parts = sizes.iter().map(|(size, percent)| format!("{size}/{percent}"));
                Some(parts.collect::<Vec<_>>().join(":"))
            }
            _ => None,
        })
    },
    ..OptionSpec::DEFAULT
};

/// The options that say its block sizes.
pub(crate) fn size_options(job: &Job) -> Vec<(String, String)> {
    let printed = [BS, BSRANGE, BSSPLIT].map(|option| (option.name.to_owned(), option.print(job)));
    printed.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn print(job: &Job, part: impl Fn(&BlockSize) -> Option<String>) -> String {
    let parts: PerDirection<Option<String>> = job.pattern.bs.map(part);
    print_directions(&parts)
}

/// Parses sizes with percentages, which sum to 100, the rarest first. fio's rules (options.c,
/// `bssplit_ddir`; io_u.c, `get_next_buflen`): sizes without a percentage, or with 0, share the
/// rest equally, in whole percent; the last one gets what is missing to 100, and any excess is cut
/// off.
fn split(value: Value<'_>) -> Parsed<Vec<(u64, f64)>> {
    let mut sizes: Vec<(u64, Option<u32>)> = Vec::new();
    for entry in value.text.split(':').take_while(|entry| !entry.trim().is_empty()) {
        let (bytes, percent) = entry.split_once('/').unwrap_or((entry, ""));
        let percent = value.with(percent);
        let percent = match percent.percent().unwrap_or(percent).text.trim() {
            "" => 0,
            text => text.parse().map_err(|_| "expected percentages such as 4k/60:64k/40")?,
        };
        sizes.push((size(value.with(bytes))?, Some(percent).filter(|percent| *percent > 0)));
    }
    let given = sizes.iter().filter_map(|(_, percent)| *percent).fold(0, u32::saturating_add);
    let open = sizes.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
    if sizes.is_empty() || (given > 100 && open > 1) {
        return Err("expected percentages that sum to 100".into());
    }
    let share = 100_u32.saturating_sub(given).checked_div(open).unwrap_or(0);
    let mut filled: Vec<_> = sizes
        .into_iter()
        .map(|(size, percent)| (size, percent.unwrap_or(share).min(100)))
        .collect();
    filled.sort_by_key(|(_, percent)| *percent);
    let mut left = 100;
    for (_, percent) in &mut filled {
        *percent = (*percent).min(left);
        left -= *percent;
    }
    if let Some((_, percent)) = filled.last_mut() {
        *percent += left;
    }
    filled.retain(|(_, percent)| *percent > 0);
    filled.sort_by_key(|(_, percent)| *percent);
    Ok(filled.into_iter().map(|(size, percent)| (size, percent.into())).collect())
}
