//! `iodyno plot`.

use std::borrow::Cow;

use anyhow::Result;
use iodyno_campaign::Study;
use iodyno_figure::{Figure, Judged, Kind, Metric, Request, Source, figure, png, suggested, svg};
use iodyno_judge::layouts::Layouts;
use iodyno_model::{MetricJudgement, Predictions, RunRecord};
use iodyno_report::{drawn, tracks};

use crate::arguments::{DataSheets, Plot};
use crate::commands::rejudge;
use crate::context::{Context, Usage, bail_usage, write};
use crate::output::{Content, refuse_other};
use crate::{inputs, terminal};

pub(crate) fn run(context: &Context, arguments: &Plot) -> Result<u8> {
    let ending = arguments.output.extension().unwrap_or_default().to_ascii_lowercase();
    let picture = match ending.to_str() {
        Some("svg") => Picture::Svg,
        Some("png") => Picture::Png,
        _ => {
            let name = arguments.output.display();
            bail_usage!("{name}: its name has to end in .svg or .png");
        }
    };
    let content = match picture {
        Picture::Svg => Content::Svg,
        Picture::Png => Content::Png,
    };
    refuse_other(context, &arguments.output, content)?;
    let (mut loaded, mut words): (Vec<(String, RunRecord)>, _) = (Vec::new(), Vec::new());
    for word in &arguments.runs {
        for one in inputs::load_each(context, word)? {
            words.push(word);
            loaded.push((label(word, &one.record), one.record));
        }
    }
    let names: Vec<String> = loaded.iter().map(|(label, _)| label.clone()).collect();
    for (word, (label, _)) in words.into_iter().zip(&mut loaded) {
        if names.iter().filter(|name| *name == label).count() > 1 {
            label.clone_from(word);
        }
    }
    let named: Vec<_> = loaded.iter().map(|(label, record)| (label.as_str(), record)).collect();
    let layouts = Layouts::among(&named);
    let sides = layouts.as_ref().map_or_else(|| named.clone(), |of| of.ranked().collect());
    let outlooks: Vec<Option<Predictions>> =
        sides.iter().map(|(_, record)| outlook(record)).collect();
    let whole: Vec<Source<'_>> = sides
        .into_iter()
        .zip(&outlooks)
        .map(|((label, record), outlook)| Source { label, record, outlook: outlook.as_ref() })
        .collect();
    let headroom: Vec<_> = outlooks.iter().flatten().flat_map(|of| of.headroom.clone()).collect();
    let suggested = || match layouts {
        Some(_) => Kind::Ratio,
        None if !headroom.is_empty() => Kind::Headroom,
        None => suggested(&arguments.filters, &whole),
    };
    let draw = |kind| -> Result<Figure> {
        let shown: Vec<_> = whole.iter().map(|source| drawn(source.record, kind)).collect();
        let mut request = request(context, arguments, kind, &whole, &shown)?;
        request.headroom.clone_from(&headroom);
        request.without_fills = layouts.is_some();
        let sources: Vec<Source<'_>> = whole
            .iter()
            .zip(&shown)
            .map(|(source, (record, _))| Source { record, ..*source })
            .collect();
        Ok(figure(&request, &sources).map_err(|error| Usage(error.to_string()))?)
    };
    let figure = match arguments.figure {
        Some(kind) => draw(kind)?,
        // Nobody asked for the suggested figure, whose error would say nothing.
        None => draw(suggested()).or_else(|why| draw(Kind::Compare).map_err(|_| why))?,
    };
    let (width, height) = arguments.size.unwrap_or_else(|| figure.size());
    let larger = |pixels: u32| (f64::from(pixels) * arguments.scale).round() as u32;
    let size = (larger(width), larger(height));
    // A wider picture than usual is meant to be seen from farther away.
    let scale = arguments.scale * (f64::from(width) / f64::from(Figure::WIDTH)).max(1.0);
    let bytes = match picture {
        Picture::Svg => svg(&figure, size, scale, arguments.dark).map(String::into_bytes),
        Picture::Png => png(&figure, size, scale, arguments.dark),
    }
    .map_err(|error| Usage(error.to_string()))?;
    write(&arguments.output, &bytes)?;
    terminal::report_written(context, &arguments.output, bytes.len(), "")?;
    Ok(0)
}

enum Picture {
    Svg,
    Png,
}

/// Label of a run in the legend: its name, else the typed word, also if several have that name.
fn label(word: &str, record: &RunRecord) -> String {
    if record.run.name.is_empty() { word.to_owned() } else { record.run.name.clone() }
}

/// Predictions and other conclusions from a sweep's measurements.
fn outlook(record: &RunRecord) -> Option<Predictions> {
    Study::of(&record.run)?.outlook(record)
}

/// Builds the request for a figure; the `whole` runs are judged, whatever is `shown` of them.
fn request(
    context: &Context,
    arguments: &Plot,
    kind: Kind,
    whole: &[Source<'_>],
    shown: &[(Cow<'_, RunRecord>, Vec<Vec<usize>>)],
) -> Result<Request> {
    let claims = context.claims(&DataSheets::default())?;
    let (mut judged, mut rounds) = (Vec::new(), Vec::new());
    for (source, (Source { record, .. }, (_, members))) in whole.iter().zip(shown).enumerate() {
        rounds.extend(tracks(record, source));
        let assessed = rejudge(record, &claims).measurements.into_iter();
        judged.extend(assessed.filter_map(|one| {
            Some(Judged {
                source,
                measurement: members.iter().position(|of| of.contains(&one.measurement))?,
                validity: one.validity,
                reservations: one.decisive().map(|reason| reason.rule.clone()).collect(),
                ceilings: one.metrics.iter().filter_map(ceiling).collect(),
            })
        }));
    }
    Ok(Request {
        metric: arguments.metric,
        filters: arguments.filters.clone(),
        series: arguments.series.clone(),
        title: arguments.title.clone(),
        xmax_ns: arguments.xmax,
        judged,
        rounds,
        ..Request::new(kind)
    })
}

fn ceiling(judged: &MetricJudgement) -> Option<(Metric, f64)> {
    let metric = match judged.metric {
        iodyno_model::Metric::Bandwidth => Metric::Bandwidth,
        iodyno_model::Metric::Iops => Metric::Iops,
        iodyno_model::Metric::LatencyMean => Metric::Mean,
    };
    judged.ceiling.as_ref().map(|(bound, _)| (metric, *bound))
}
