//! The option `random_distribution`.

use iodyno_model::PerDirection;

use super::value::{Parsed, Value, print_directions};
use super::{Kind, OptionSpec};
use crate::{Distribution, Zone};

/// fio's FIO_SEQ_MAX.
const SEQUENCE_MAX: usize = 64;

const WORDS: [&str; 7] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs", "sequence"];

pub(super) const ROW: OptionSpec = OptionSpec {
    name: "random_distribution",
    default: "random",
    examples: &[
        "random",
        "zipf",
        "zipf:1.2",
        "zipf:1.2:0.5",
        "pareto:0.2",
        "normal:10:0.25",
        "zoned:50/5:30/15:20/",
        "zoned:60/10:40/90,100/100",
        "zoned_abs:60/20g:40/100g",
        "sequence:2,0,1",
    ],
    help: "distribution of random offsets over the range: zipf:THETA[:CENTER], pareto:H[:CENTER], \
           normal:PERCENT[:CENTER], zoned:ACCESS/SIZE:… in percent, zoned_abs with sizes, sequence:BLOCK,BLOCK,…",
    kind: || Kind::Words(WORDS.to_vec()),
    parse: |job, value| {
        job.pattern.random_distribution = distribution(value)?;
        Ok(())
    },
    print: |job| {
        let each = &job.pattern.random_distribution;
        match &each.read {
            one if one == &each.write && one == &each.trim => print(one),
            _ => print_zoned(each),
        }
    },
    ..OptionSpec::DEFAULT
};

fn distribution(value: Value<'_>) -> Parsed<PerDirection<Distribution>> {
    let (word, rest) = value.text.split_once(':').unwrap_or((value.text, ""));
    Ok(match word {
        "random" if rest.is_empty() => PerDirection::default(),
        "zipf" => {
            let (theta, center) = numbers(value.with(rest), 1.1)?;
            if theta == 1.0 || theta < 0.0 {
                return Err("expected a theta of 0 or more, but not 1".into());
            }
            PerDirection::all(Distribution::Zipf { theta, center })
        }
        "pareto" => {
            let (h, center) = numbers(value.with(rest), 0.2)?;
            if h <= 0.0 || h >= 1.0 {
                return Err("expected a power above 0 and below 1".into());
            }
            PerDirection::all(Distribution::Pareto { h, center })
        }
        "normal" => {
            let (deviation, center) = numbers(value.with(rest), 0.0)?;
            if !(0.0..100.0).contains(&deviation) {
                return Err("expected a deviation from 0 to less than 100 percent".into());
            }
            PerDirection::all(Distribution::Normal { deviation, center })
        }
        "zoned" | "zoned_abs" => {
            let mut each = PerDirection::default();
            for (direction, part) in value.with(rest).directions(false)? {
                *each.of_mut(direction) = match word {
                    "zoned" => Distribution::Zoned(zones(part, false)?),
                    _ => Distribution::ZonedAbsolute(zones(part, true)?),
                };
            }
            each
        }
        "sequence" => {
            let blocks = rest.split(',').map(|block| block.trim().parse().ok());
            let blocks: Option<Vec<u32>> = blocks.collect();
            let blocks = blocks.filter(|blocks| blocks.len() <= SEQUENCE_MAX);
            let form = "expected numbers of blocks with commas between them, 64 at most";
            PerDirection::all(Distribution::Sequence(blocks.ok_or(form)?))
        }
        _ => return Err(format!("expected one of {}", WORDS.join(", ")).into()),
    })
}

/// Parses a parameter and an optional center from 0 to 1.
fn numbers(value: Value<'_>, default: f64) -> Parsed<(f64, Option<f64>)> {
    if value.text.is_empty() {
        return Ok((default, None));
    }
    let (first, center) = match value.text.split_once(':') {
        Some((first, center)) => (first, Some(value.with(center).float()?)),
        None => (value.text, None),
    };
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err("expected a center from 0 to 1".into());
    }
    Ok((value.with(first).float()?, center))
}

/// Parses zones by fio's rules (options.c, `zone_split_ddir`): shares of I/Os sum to 100; sizes
/// that are missing or 0 share the rest of 100 percent.
fn zones(value: Value<'_>, absolute: bool) -> Parsed<Vec<Zone>> {
    let mut zones = Vec::new();
    for entry in value.text.split(':').take_while(|entry| !entry.trim().is_empty()) {
        let (access, size) = entry.split_once('/').unwrap_or((entry, ""));
        let access_percent = value.with(access).number_within(0, 100)? as f64;
        let size = match size.trim() {
            "" => 0,
            text if absolute => value.with(text).number()?,
            text => value.with(text).number_within(0, 100)?,
        };
        zones.push(Zone { access_percent, size: size as f64 });
    }
    if zones.iter().map(|zone| zone.access_percent).sum::<f64>() != 100.0 {
        return Err("expected shares of the I/Os that sum to 100 percent".into());
    }
    if !absolute {
        let left = 100.0 - zones.iter().map(|zone| zone.size).sum::<f64>();
        if left < 0.0 {
            return Err("expected sizes that sum to at most 100 percent".into());
        }
        let open = zones.iter().filter(|zone| zone.size == 0.0).count();
        for zone in zones.iter_mut().filter(|zone| zone.size == 0.0) {
            zone.size = (left / open as f64).trunc();
        }
    }
    Ok(zones)
}

fn print(distribution: &Distribution) -> String {
    let numbers = |word: &str, first: f64, center: Option<f64>| {
        let center = center.map_or(String::new(), |center| format!(":{center}"));
        format!("{word}:{first}{center}")
    };
    match distribution {
        Distribution::Random => "random".into(),
        Distribution::Zipf { theta, center } => numbers("zipf", *theta, *center),
        Distribution::Pareto { h, center } => numbers("pareto", *h, *center),
        Distribution::Normal { deviation, center } => numbers("normal", *deviation, *center),
        Distribution::Zoned(zones) => format!("zoned:{}", print_zones(zones)),
        Distribution::ZonedAbsolute(zones) => format!("zoned_abs:{}", print_zones(zones)),
        Distribution::Sequence(blocks) => {
            let blocks: Vec<_> = blocks.iter().map(u32::to_string).collect();
            format!("sequence:{}", blocks.join(","))
        }
    }
}

/// Prints zones by direction; other distributions are the same for all directions.
fn print_zoned(each: &PerDirection<Distribution>) -> String {
    let absolute = each.iter().any(|(_, d)| matches!(d, Distribution::ZonedAbsolute(_)));
    let parts = each.map(|distribution| match distribution {
        Distribution::Zoned(zones) | Distribution::ZonedAbsolute(zones) => Some(print_zones(zones)),
        _ => None,
    });
    let word = if absolute { "zoned_abs" } else { "zoned" };
    format!("{word}:{}", print_directions(&parts))
}

fn print_zones(zones: &[Zone]) -> String {
    let parts = zones.iter().map(|zone| format!("{}/{}", zone.access_percent, zone.size));
    parts.collect::<Vec<_>>().join(":")
}
