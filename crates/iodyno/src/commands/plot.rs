//! `iodyno plot`.

use anyhow::{Context as _, Result};
use iodyno_figure::{Judged, Metric, Request, Source, figure, png, suggested, svg};
use iodyno_fio::read::Problem;
use iodyno_judge::{Question, assess};
use iodyno_model::{MetricJudgement, RunRecord, Validity};

use crate::arguments::Plot;
use crate::context::{Context, Usage};
use crate::{sources, terminal};

pub(crate) fn run(context: &Context, arguments: &Plot) -> Result<u8> {
    let picture = match arguments.output.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Picture::Svg,
        Some("png") => Picture::Png,
        _ => {
            let name = arguments.output.display();
            return Err(Usage(format!("{name}: its name has to end in .svg or .png")).into());
        }
    };
    let mut loaded: Vec<(String, RunRecord)> = Vec::new();
    for word in &arguments.runs {
        let one = sources::load(context, word)?;
        for problem in &one.problems {
            terminal::note(&told(problem));
        }
        loaded.push((label(word, &one.record), one.record));
    }
    let sources: Vec<Source<'_>> =
        loaded.iter().map(|(label, record)| Source { label, record }).collect();
    let request = request(context, arguments, &sources)?;
    let figure = figure(&request, &sources).map_err(|error| Usage(error.to_string()))?;
    let (width, height) = arguments.size.unwrap_or_else(|| figure.size());
    let bytes = match picture {
        Picture::Svg => svg(&figure, width, height, arguments.dark).map(String::into_bytes),
        Picture::Png => png(&figure, width, height, arguments.dark),
    }
    .map_err(|error| Usage(error.to_string()))?;
    std::fs::write(&arguments.output, bytes)
        .with_context(|| arguments.output.display().to_string())?;
    Ok(0)
}

/// `file:12: what is wrong`.
fn told(problem: &Problem) -> String {
    let line = problem.line.map_or_else(String::new, |line| format!("{line}: "));
    let told = format!("{}:{line} {}", problem.file, problem.what);
    told.chars().filter(|c| !c.is_control()).collect()
}

enum Picture {
    Svg,
    Png,
}

/// What the run is called in the legend: its name, else the word that was typed.
fn label(word: &str, record: &RunRecord) -> String {
    if record.run.name.is_empty() { word.to_owned() } else { record.run.name.clone() }
}

fn request(context: &Context, arguments: &Plot, sources: &[Source<'_>]) -> Result<Request> {
    let kind = arguments.figure.unwrap_or_else(|| suggested(&arguments.filters, sources));
    let claims = context.claims(&[])?;
    let mut judged = Vec::new();
    for (source, Source { record, .. }) in sources.iter().enumerate() {
        let question = Question { record, claims: &claims, baseline: None, expect: None };
        let assessed = assess(&question).measurements.into_iter();
        judged.extend(assessed.map(|one| Judged {
            source,
            measurement: one.measurement,
            validity: (one.validity != Validity::Valid).then(|| one.validity.label().to_owned()),
            reservations: one.reasons.iter().map(|(rule, _)| rule.clone()).collect(),
            ceilings: one.metrics.iter().filter_map(ceiling).collect(),
        }));
    }
    Ok(Request {
        metric: arguments.metric,
        filters: arguments.filters.clone(),
        series: arguments.series.clone(),
        title: arguments.title.clone(),
        xmax_ns: arguments.xmax,
        judged,
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
