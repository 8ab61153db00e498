//! `iodyno compare`.

use std::path::Path;

use anyhow::Result;
use iodyno_judge::comparison::{Comparison, REPETITIONS, Side, compare, rulings};
use iodyno_model::{Measurement, RunRecord, own_command};
use iodyno_report::Compared;
use iodyno_report::export::Results;
use iodyno_report::fleet::are_of_several_hosts;
use iodyno_report::text::{comparison_screen, comparison_text, json_text, workload_title};

use crate::arguments::{Compare, DataSheets, Table};
use crate::commands::fleet;
use crate::context::{Context, Usage, bail_usage};
use crate::{inputs, terminal};

pub(crate) fn run(context: &Context, arguments: &Compare) -> Result<u8> {
    let loaded = arguments
        .sides
        .iter()
        .map(|word| load_side(context, word))
        .collect::<Result<Vec<Vec<RunRecord>>>>()?;
    let sides: Vec<Side<'_>> = arguments
        .sides
        .iter()
        .zip(&loaded)
        .map(|(word, records)| Side { label: word.clone(), records: records.iter().collect() })
        .collect();
    let claims = context.claims(&DataSheets::default())?;
    let comparison = compare(&sides, &claims);
    let records: Vec<&RunRecord> = loaded.iter().flatten().collect();
    let of_fleet = are_of_several_hosts(&records);
    if comparison.rows.is_empty() && !(of_fleet && arguments.fail_if.is_empty()) {
        return Err(Usage(nothing_in_common(&comparison)).into());
    }
    if !arguments.fail_if.is_empty() && arguments.noise.is_none() && !comparison.has_repetitions() {
        bail_usage!("--fail-if: {}", spread_unknown(&comparison));
    }
    let rulings = rulings(&comparison, &arguments.fail_if, arguments.noise);
    let compared = Compared {
        comparison: &comparison,
        rulings: &rulings,
        status: comparison.exit_status(&rulings),
        at_ns: iodyno_campaign::now_ns(),
    };
    let status = compared.status as u8;
    let text = if let Some(format) = arguments.format {
        String::from_utf8(format.export(Results::Comparison(compared))?)?
    } else if context.json {
        let document = iodyno_report::document::compare_document(&comparison, &rulings, status);
        json_text(&document)?
    } else {
        let style = terminal::style(context, &Table { wide: arguments.wide, columns: None });
        let mut text = match comparison.rows.is_empty() {
            true => format!("{}\n", nothing_in_common(&comparison)),
            false if arguments.verbose => comparison_text(&comparison, &rulings, status, &style),
            false => comparison_screen(&comparison, &rulings, status, &style),
        };
        if of_fleet {
            text.push('\n');
            text.push_str(&fleet::text(&records, &claims, &style));
        }
        if arguments.verbose { text } else { terminal::in_locale(text) }
    };
    terminal::print_verdict(&text, status)?;
    Ok(status)
}

/// Reason why the run-to-run spread is unknown, and what to do.
fn spread_unknown(comparison: &Comparison) -> String {
    let cells = comparison.rows.iter().flat_map(|row| comparison.sides.iter().zip(&row.cells));
    let mut cells = cells.filter_map(|(side, cell)| Some((side, cell.as_ref()?)));
    let left_out = cells.find(|(_, cell)| {
        (cell.repetitions + 1..=cell.repetitions + cell.left_out).contains(&REPETITIONS)
    });
    match left_out {
        Some((side, cell)) => {
            let why = cell.failure.as_deref().or(cell.reasons.first().map(|it| it.why.as_str()));
            format!(
                "only {} of {} repetitions of {} count: {}. Fix that and measure again",
                cell.repetitions,
                cell.repetitions + cell.left_out,
                side.label,
                why.unwrap_or("the others are not valid").trim_end_matches('.'),
            )
        }
        None => format!(
            "the run-to-run spread is unknown. Give {REPETITIONS} repetitions or \
             more of each side ({}), or state it (--noise 3%)",
            own_command("compare A1,A2,A3 B1,B2,B3")
        ),
    }
}

/// The runs of a side: a path or run of this name is one run, else commas separate repetitions.
fn load_side(context: &Context, word: &str) -> Result<Vec<RunRecord>> {
    let is_one = |name: &str| {
        Path::new(name).exists() || context.store_to_read().is_ok_and(|it| it.find(name).is_ok())
    };
    let mut names = std::iter::once(word).chain(word.rsplit_once(':').map(|(run, _)| run));
    let words: Vec<&str> = match names.any(is_one) {
        true => vec![word],
        false => word.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
    };
    if words.is_empty() {
        bail_usage!("`{word}` names no run");
    }
    words.into_iter().map(|word| load_record(context, word)).collect()
}

/// Loads a run, or the measurements of one name with `RUN:NAME`.
fn load_record(context: &Context, word: &str) -> Result<RunRecord> {
    let whole = inputs::load(context, word);
    let (loaded, name) = match (whole, word.rsplit_once(':')) {
        (Err(_), Some((run, name))) if !run.is_empty() && !Path::new(word).exists() => {
            (inputs::load(context, run)?, Some(name))
        }
        (whole, _) => (whole?, None),
    };
    let mut record = loaded.record;
    let mut names: Vec<String> = record.measurements.iter().map(|of| of.name.clone()).collect();
    if let Some(name) = name {
        let plan = record.run.rounds.as_ref();
        // For a run in rounds the tracked measurements stay: they decide which rounds count.
        let is_tracked = |of: &Measurement| {
            of.round.is_some() && plan.as_ref().is_some_and(|plan| plan.rounds.tracks(&of.name))
        };
        match record.measurements.iter().any(|of| of.name == name) {
            true => record.measurements.retain(|of| of.name == name || is_tracked(of)),
            false => record.measurements.clear(),
        }
    }
    if record.measurements.is_empty() {
        names.sort();
        names.dedup();
        return Err(Usage(match name {
            Some(name) if !names.is_empty() => {
                format!("{word}: no measurement `{name}`, but: {}", names.join(", "))
            }
            _ => format!("{word}: no measurements"),
        })
        .into());
    }
    Ok(record)
}

fn nothing_in_common(comparison: &Comparison) -> String {
    let mut text = "nothing in common: no workload is in two sides.".to_owned();
    for (side, facts) in comparison.sides.iter().enumerate() {
        let alone = comparison.alone.iter().filter(|alone| alone.side == side);
        let titles: Vec<String> = alone.map(|alone| workload_title(&alone.point)).collect();
        let more = titles.len().saturating_sub(5);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let shown = titles.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
        text.push_str(&format!("\n{}: {shown}{more}", facts.label));
        if facts.without_window.is_some_and(|count| count > 0) {
            text.push_str(", and too few rounds for a window");
        }
    }
    text
}
