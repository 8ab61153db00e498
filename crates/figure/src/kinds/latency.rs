//! Latency distribution and percentile curve.

use std::collections::BTreeMap;

use iodyno_model::{Histogram, LatencyKind};

use super::time::number_duplicates;
use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series, Stroke};
use crate::naming::{common, names};
use crate::observation::{Observation, observations, sort};
use crate::{FigureError, Quantity, Request, Source};

/// Bins per doubling: wide enough that noise does not hide the shape.
const BINS_PER_DOUBLING: f64 = 8.0;

/// The curve ends at p99.999.
const MOST_NINES: f64 = 5.0;

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    sort(&mut shown);
    let averaged = shown.iter().any(|one| one.result.mean_latency().is_some());
    shown.retain(|one| bins(one).is_some() || stated(one).is_some());
    if shown.is_empty() {
        let only = if averaged { ", only means" } else { "" };
        return Err(FigureError::Nothing(format!(
            "no measurement has a latency distribution{only}: let fio print JSON+ \
             (--output-format=json+) or log histograms (write_hist_log, log_hist_msec), or \
             measure with iodyno run"
        )));
    }
    // Submission latencies are not comparable with those of whole I/Os.
    if shown.iter().any(|one| one.result.total_or_completion_bins().is_some()) {
        shown
            .retain(|one| one.result.total_or_completion_bins().is_some() || stated(one).is_some());
    }
    let names = number_duplicates(names(&shown, request, &[]));
    let (mut densities, mut curves, mut uncertain) = (Vec::new(), Vec::new(), false);
    for (name, one) in names.iter().zip(&shown) {
        if let Some(bins) = bins(one) {
            densities.push(series(name, "", Form::Steps, density(bins)));
            let (certain, rest) = curve(bins);
            if !certain.is_empty() {
                curves.push(series(name, "", Form::Line(Stroke::Solid), certain));
            }
            if rest.len() > 1 {
                uncertain = true;
                curves.push(series(name, "", Form::Line(Stroke::Dotted), rest));
            }
        } else if let Some(points) = stated(one) {
            curves.push(series(name, "as stated", Form::Points, points));
        }
    }
    let mut notes = Vec::new();
    if shown
        .iter()
        .any(|one| one.result.total_or_completion_bins().is_none() && bins(one).is_some())
    {
        notes.push("Submission latencies (slat) only.".to_owned());
    }
    if uncertain {
        let least = Histogram::LEAST_BEYOND;
        notes.push(format!("Dotted: fewer than {least} I/Os were slower."));
    }
    if densities.len() < shown.len() {
        notes.push("Points are percentiles stated in a report.".to_owned());
    }
    let mut panels = Vec::new();
    if !densities.is_empty() {
        panels.push(Panel {
            title: "Distribution, eight bins per doubling".into(),
            x: Axis::new("Latency", Quantity::Latency, Scale::Log),
            y: Axis::new("Share of I/Os", Quantity::Share, Scale::Linear),
            content: Content::Series(densities),
        });
    }
    panels.push(Panel {
        title: "Percentiles".into(),
        x: Axis::new("Percentile", Quantity::Nines, Scale::Linear),
        y: Axis::new("Latency", Quantity::Latency, Scale::Log),
        content: Content::Series(curves),
    });
    let subtitle = common(&shown);
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}

/// Histogram of the total latency, else of completion, else of submission.
fn bins<'a>(one: &'a Observation<'_>) -> Option<&'a Histogram> {
    let known = one.result.total_or_completion_bins().map(|(_, bins)| bins);
    known.or_else(|| one.result.bins(LatencyKind::Submission))
}

fn series(name: &str, detail: &str, form: Form, points: Vec<Point>) -> Series {
    Series { name: name.into(), detail: detail.into(), form, points }
}

/// Shares of I/Os in bins of equal width on a logarithmic axis: from the lower end of each bin, 0
/// before a gap or the end. The histogram's bins are narrower, but of equal width within a
/// doubling; each is split over ours in proportion, so that the shape has no teeth.
fn density(bins: &Histogram) -> Vec<Point> {
    let place = |ns: u64| (ns.max(1) as f64).log2() * BINS_PER_DOUBLING;
    let mut shares: BTreeMap<u64, f64> = BTreeMap::new();
    for bin in bins.bins() {
        let (low, high) = (place(bin.low_ns), place(bin.high_ns.saturating_add(1)));
        let share = bin.count as f64 / bins.count() as f64;
        let (first, last) = (low.floor(), (high - 1e-9).floor().max(low.floor()));
        for index in first as u64..=last as u64 {
            let (from, to) = (low.max(index as f64), high.min(index as f64 + 1.0));
            let part = if high > low { (to - from) / (high - low) } else { 1.0 };
            *shares.entry(index).or_default() += share * part;
        }
    }
    let low_ns = |index: u64| (index as f64 / BINS_PER_DOUBLING).exp2();
    let mut points: Vec<Point> = Vec::new();
    for (index, share) in &shares {
        let follows = index.checked_sub(1).is_some_and(|before| shares.contains_key(&before));
        if !follows {
            points.push(Point::new(low_ns(*index), 0.0));
        }
        points.push(Point::new(low_ns(*index), *share));
        if !shares.contains_key(&(index + 1)) {
            points.push(Point::new(low_ns(index + 1), 0.0));
        }
    }
    points
}

/// Percentile curve, (nines, ns): up to where 30 I/Os lie beyond, and the rest.
fn curve(bins: &Histogram) -> (Vec<Point>, Vec<Point>) {
    let n = bins.count();
    let (mut certain, mut rest, mut below) = (Vec::new(), Vec::new(), 0);
    for bin in bins.bins() {
        // The bin holds the percentiles from here to its last I/O.
        let beyond = n - below;
        below = bin.count.saturating_add(below);
        let nines = (n as f64 / beyond as f64).log10();
        if nines > MOST_NINES {
            break;
        }
        let Some(value) = bins.value_at_rank(below) else { break };
        let point = Point::new(nines, value as f64);
        match beyond >= Histogram::LEAST_BEYOND {
            true => certain.push(point),
            false => {
                // Joins the two lines.
                rest.extend(certain.last().filter(|_| rest.is_empty()).cloned());
                rest.push(point);
            }
        }
    }
    (certain, rest)
}

/// Percentiles stated by a report, (nines, ns).
fn stated(one: &Observation<'_>) -> Option<Vec<Point>> {
    let stated = one.result.stated.as_ref()?;
    let known = [&stated.total, &stated.completion];
    let percentiles = &known.into_iter().find(|known| !known.percentiles.is_empty())?.percentiles;
    let points: Vec<Point> = percentiles
        .iter()
        .map(|(percent, value)| Point::new(-(1.0 - percent / 100.0).log10(), value.value))
        .filter(|point| point.x <= MOST_NINES + 0.5 && point.x >= 0.0 && point.y > 0.0)
        .collect();
    (!points.is_empty()).then_some(points)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    proptest! {
        #[test]
        fn all_shares_together_are_the_whole_and_the_curve_rises(
            values in prop::collection::vec(0u64..1 << 40, 1..200)) {
            let mut bins = Histogram::default();
            values.iter().for_each(|value| bins.record(*value));
            let points = density(&bins);
            let sum: f64 = points.iter().map(|point| point.y).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            prop_assert!(points.windows(2).all(|pair| pair[0].x <= pair[1].x));
            let (certain, rest) = curve(&bins);
            for line in [&certain, &rest] {
                let rises = line.windows(2).all(|p| p[0].x <= p[1].x && p[0].y <= p[1].y);
                prop_assert!(rises, "{line:?}");
            }
            for point in certain.iter().chain(&rest) {
                // Just above a point's percentile lies its value.
                let percentile = 1.0 - 10f64.powf(-point.x) + 1e-9;
                prop_assert_eq!(bins.quantile_ns(percentile).map(|ns| ns as f64), Some(point.y));
            }
        }
    }
}
