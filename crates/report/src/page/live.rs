//! Live page of a running measurement: the same figures, redrawn every second.

use std::sync::LazyLock;

use askama::Template;
use iodyno_figure::{Kind, Request, SCRIPT, Source, echarts, figure, figures_of_run};
use iodyno_model::{
    DirectionResult, Measurement, RunRecord, RunState, format_count, format_duration_ns,
    format_mb_per_s,
};
use serde_json::{Value, json};

use super::data::FigureView;
use super::frame::STYLE;
use super::{PageError, policy};
use crate::paged::LiveView;
use crate::percentiles;
use crate::text::words::clean;

const LIVE_SCRIPT: &str = include_str!("../../templates/live.js");

/// Maximum number of finished measurements listed; the last ones are shown.
const MOST_DONE: usize = 50;

/// Content-Security-Policy of [`live_page`].
pub static LIVE_POLICY: LazyLock<String> = LazyLock::new(|| {
    let own = policy::policy(&[echarts(), SCRIPT, LIVE_SCRIPT], &[STYLE]);
    format!("{own}; connect-src 'self'; img-src data:; frame-ancestors 'none'")
});

#[derive(Template)]
#[template(path = "live.html")]
struct Page {
    version: &'static str,
    style: &'static str,
    scripts: [&'static str; 3],
}

/// Returns the live page, which polls `figures` next to it for [`live_data`] and draws that.
///
/// # Errors
/// The template cannot be rendered, which would be a bug in it.
pub fn live_page() -> Result<String, PageError> {
    let scripts = [echarts(), SCRIPT, LIVE_SCRIPT];
    Page { version: env!("CARGO_PKG_VERSION"), style: STYLE, scripts }.render()
}

/// Returns the data of the live page: `title`, `state`, `is_over`, `now`, `figures` as in reports,
/// `columns` and `done`.
pub fn live_data(of: LiveView) -> Value {
    let Some(done) = of.run else { return json!({"state": "not begun", "figures": []}) };
    let run = &done.run;
    let now = RunRecord { run: run.clone(), snapshots: Vec::new(), measurements: of.now };
    let names: Vec<String> = now.measurements.iter().map(Measurement::title).collect();
    // Several jobs are told apart by their names, as in the table.
    let (label, series) = match names.as_slice() {
        [only] => (only.as_str(), None),
        _ => ("", Some("name".to_owned())),
    };
    let request = |kind| Request { series: series.clone(), ..Request::new(kind) };
    let mut figures: Vec<_> = [Kind::Time, Kind::Latency]
        .into_iter()
        .filter_map(|kind| figure(&request(kind), &[Source::new(label, &now)]).ok())
        .collect();
    figures.extend(figures_of_run(&done, None, &[], 0).into_iter().map(|(figure, _)| figure));
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            let view = FigureView::new(figure, Vec::new());
            json!({"title": view.title, "data": view.data.to_string()})
        })
        .collect();
    let state = match run.state {
        RunState::Running if of.left_ns > 0 => {
            format!("measuring, at most {} left", format_duration_ns(of.left_ns as f64))
        }
        RunState::Running => "measuring".into(),
        RunState::Done => "done".into(),
        RunState::Interrupted => "interrupted".into(),
        RunState::Failed => "failed".into(),
    };
    let hottest = of.temperature_c.map_or(String::new(), |c| format!(", {c:.0} °C"));
    let last = &done.measurements[done.measurements.len().saturating_sub(MOST_DONE)..];
    json!({
        "title": clean(&[&run.plan_name, &run.name].map(String::as_str).join(" ")),
        "state": state + &hottest,
        "is_over": run.state != RunState::Running,
        "now": clean(&names.join(", ")),
        "figures": figures,
        "columns": ["measurement", "", "IOPS", "bandwidth", "mean latency", "p99"],
        "done": last.iter().flat_map(rows).collect::<Vec<_>>(),
    })
}

/// Returns a row for each direction.
fn rows(of: &Measurement) -> Vec<[String; 6]> {
    let row = |one: &DirectionResult| {
        let text =
            |value: Option<f64>, write: &dyn Fn(f64) -> String| value.map_or("-".to_owned(), write);
        let p99 = percentiles::known(one, 99.0);
        [
            clean(&of.title()),
            one.direction.name().to_owned(),
            text(one.iops.map(|of| of.value), &format_count),
            text(one.bandwidth.map(|of| of.value), &format_mb_per_s),
            text(one.mean_latency().map(|(_, of)| of.value), &format_duration_ns),
            text(p99.map(|(_, ns)| ns), &format_duration_ns),
        ]
    };
    match of.failure() {
        Some(why) => {
            let [no, yes] = ["-", "failed"].map(str::to_owned);
            vec![[clean(&of.title()), yes, clean(why), no.clone(), no.clone(), no]]
        }
        None => of.total.iter().map(row).collect(),
    }
}
