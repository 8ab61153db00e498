//! The distribution of latencies and the percentile curve.

use iodyno_model::Histogram;

use super::time::apart;
use crate::figure::{Axis, Content, Figure, Form, Panel, Point, Scale, Series, Stroke};
use crate::observation::{Observation, common, names, observations};
use crate::{FigureError, Quantity, Request, Source};

/// Bins for each doubling: wide enough that noise does not hide the shape.
const BINS_PER_DOUBLING: u64 = 8;

/// The curve ends at 99.999 %.
const MOST_NINES: f64 = 5.0;

/// I/Os that must lie beyond a percentile for it to be certain.
const BEYOND: u64 = 30;

pub(super) fn figure(request: &Request, sources: &[Source<'_>]) -> Result<Figure, FigureError> {
    let mut shown = observations(request, sources)?;
    shown.retain(|one| one.result.known_bins().is_some() || stated(one).is_some());
    if shown.is_empty() {
        return Err(FigureError::Nothing(
            "no measurement says how its latencies are distributed: let fio print JSON+ \
             (--output-format=json+), or measure with iodyno run"
                .into(),
        ));
    }
    let names = apart(names(&shown, request, &[]));
    let (mut densities, mut curves, mut uncertain) = (Vec::new(), Vec::new(), false);
    for (name, one) in names.iter().zip(&shown) {
        if let Some((_, bins)) = one.result.known_bins() {
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
    if uncertain {
        notes.push("Dotted: fewer than 30 I/Os were slower.".to_owned());
    }
    if densities.len() < shown.len() {
        notes.push("Points are percentiles as a report states them.".to_owned());
    }
    let mut panels = Vec::new();
    if !densities.is_empty() {
        panels.push(Panel {
            title: "Distribution".into(),
            x: axis("Latency", Quantity::Latency, Scale::Log),
            y: axis("Share of I/Os in a bin", Quantity::Share, Scale::Linear),
            content: Content::Series(densities),
        });
    }
    panels.push(Panel {
        title: "Percentiles".into(),
        x: axis("Percentile", Quantity::Nines, Scale::Linear),
        y: axis("Latency", Quantity::Latency, Scale::Log),
        content: Content::Series(curves),
    });
    let subtitle = common(&shown);
    Ok(Figure { kind: request.kind, title: String::new(), subtitle, panels, notes })
}

fn axis(name: &str, quantity: Quantity, scale: Scale) -> Axis {
    Axis { name: name.into(), quantity, scale, end: None }
}

fn series(name: &str, detail: &str, form: Form, points: Vec<Point>) -> Series {
    Series { name: name.into(), detail: detail.into(), form, points }
}

/// Shares of I/Os in bins of equal width on a logarithmic axis: from the lower
/// end of each bin on, 0 where a gap or the end follows.
fn density(bins: &Histogram) -> Vec<Point> {
    // The histogram has 64 bins a doubling; eight of them make one.
    let wide = |ns: u64| {
        let exponent = u64::from(ns.max(1).ilog2());
        let low = 1u64 << exponent;
        let eighth = (ns.max(1) - low) as u128 * u128::from(BINS_PER_DOUBLING) / u128::from(low);
        exponent * BINS_PER_DOUBLING + eighth as u64
    };
    let low_ns = |index: u64| {
        let low = (index / BINS_PER_DOUBLING) as f64;
        low.exp2() * (1.0 + (index % BINS_PER_DOUBLING) as f64 / BINS_PER_DOUBLING as f64)
    };
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for bin in bins.bins() {
        let index = wide(bin.low_ns);
        match counts.last_mut() {
            Some((last, count)) if *last == index => *count += bin.count,
            _ => counts.push((index, bin.count)),
        }
    }
    let mut points: Vec<Point> = Vec::new();
    for (n, (index, count)) in counts.iter().enumerate() {
        points.push(Point::new(low_ns(*index), *count as f64 / bins.count() as f64));
        if counts.get(n + 1).is_none_or(|(next, _)| *next > index + 1) {
            points.push(Point::new(low_ns(index + 1), 0.0));
        }
    }
    points
}

/// The percentile curve, (nines, ns): as far as 30 I/Os lie beyond, and the rest.
fn curve(bins: &Histogram) -> (Vec<Point>, Vec<Point>) {
    let n = bins.count();
    let (mut certain, mut rest, mut below) = (Vec::new(), Vec::new(), 0);
    for bin in bins.bins() {
        // The bin holds the percentiles from here on, until it is full.
        let beyond = n - below;
        below += bin.count;
        let nines = (n as f64 / beyond as f64).log10();
        if nines > MOST_NINES {
            break;
        }
        let Some(value) = bins.value_at_rank(below) else { break };
        let point = Point::new(nines, value as f64);
        match beyond >= BEYOND {
            true => certain.push(point),
            false => {
                // The two lines meet.
                rest.extend(certain.last().filter(|_| rest.is_empty()).cloned());
                rest.push(point);
            }
        }
    }
    (certain, rest)
}

/// Percentiles as a report states them, (nines, ns).
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
