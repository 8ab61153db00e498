//! Predictions of a sweep, marked as such, and a sentence per knee.

use iodyno_model::{
    Knee, Peak, PeakUnder, Prediction, Predictions, format_count, format_duration_ns,
};

use super::Style;
use super::figure::iops;
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::words::{Hanging, clean};

/// Table of unmeasured points and the accuracy of such predictions; empty without predictions.
pub fn predictions_text(outlook: &Predictions, style: &Style) -> String {
    if outlook.predictions.is_empty() {
        return String::new();
    }
    let (columns, rows) = predictions(outlook);
    let table = grid(&columns, &rows, style, style.wide).text;
    format!("{table}{}", sentence(&tried_out(outlook), style))
}

/// Unmeasured points, a row each.
pub(crate) fn predictions(outlook: &Predictions) -> (Vec<GridColumn<'static>>, Vec<Vec<GridCell>>) {
    let column = GridColumn::new;
    let several = outlook.predictions.iter().any(|one| one.target != outlook.predictions[0].target);
    let cell = |text: String| GridCell::new(text, Ink::Doubt);
    let row = |one: &Prediction| {
        let target = several.then(|| cell(clean(&one.target)));
        let rate = cell(format!("~ {}", iops(&one.iops)));
        [Some(cell(clean(&one.name))), target, Some(rate)].into_iter().flatten().collect()
    };
    let target = several.then(|| column("TARGET", 2, false));
    let columns = [Some(column("PREDICTED", 0, false)), target, Some(column("IOPS", 1, true))];
    (columns.into_iter().flatten().collect(), outlook.predictions.iter().map(row).collect())
}

/// Accuracy of such predictions on measured points.
pub(crate) fn tried_out(outlook: &Predictions) -> String {
    let (count, checked, held) = (outlook.predictions.len(), outlook.checked, outlook.held);
    let points = if count == 1 { "point was" } else { "points were" };
    let tried = match checked {
        0 => "Not verified.".to_owned(),
        1 => {
            format!("Verified on one point: it {}.", ["did not hold", "held"][held.min(1) as usize])
        }
        _ => format!("Verified on {checked} measured points: {held} held."),
    };
    format!("{count} {points} not measured, but bounded by measured neighbours. {tried}")
}

/// One sentence per knee.
pub fn knees(outlook: &Predictions) -> Vec<String> {
    outlook.knees.iter().map(knee_sentence).collect()
}

fn knee_sentence(knee: &Knee) -> String {
    let curve = match (clean(&knee.curve), clean(&knee.target)) {
        (curve, target) if curve.is_empty() => target,
        (curve, target) => format!("{curve} {target}"),
    };
    let at = |peak: &Peak| {
        let iops = format_count(peak.iops);
        format!("{iops} IOPS at {} ({} outstanding)", clean(&peak.at), peak.outstanding)
    };
    let mut text = match knee.knee == knee.most {
        _ if knee.is_unclear => format!(
            "{curve}: highest measured {}; the intervals are too wide to tell the knee: measure \
             longer",
            at(&knee.most)
        ),
        true if knee.is_last => {
            format!("{curve}: highest {}; more may give more", at(&knee.most))
        }
        true if knee.is_first => {
            format!("{curve}: highest {}, the fewest measured", at(&knee.most))
        }
        true => {
            format!("{curve}: highest {}; fewer give at least 5 % less", at(&knee.most))
        }
        false => format!(
            "{curve}: knee {}, within 5 % of the highest, {}",
            at(&knee.knee),
            at(&knee.most)
        ),
    };
    if let Some(under) = &knee.under {
        let bound = format_duration_ns(under.bound_ns as f64);
        text += &match &under.best {
            Some(PeakUnder { peak, p99_ns }) => {
                let p99 = format_duration_ns(*p99_ns as f64);
                format!("; with a p99 of at most {bound} it is {}: {p99}", at(peak))
            }
            None if under.unknown > 0 => {
                format!("; no measured point is known to have a p99 of at most {bound}")
            }
            None => format!("; no measured point has a p99 of at most {bound}"),
        };
        match under.unknown {
            0 => {}
            1 => text += "; the p99 of one point is not known",
            several => text += &format!("; the p99 of {several} points is not known"),
        }
    }
    text + "."
}

/// Wraps `text`, keeping a number and its percent sign together.
pub fn sentence(text: &str, style: &Style) -> String {
    let words = text.replace(" % ", "\u{0}% ");
    let words: Vec<String> = words.split(' ').map(|word| word.replace('\u{0}', " ")).collect();
    Hanging { separator: " ", ..Hanging::of(style) }.lines(&words)
}
