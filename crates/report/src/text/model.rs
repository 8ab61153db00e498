//! Compares a model of a trace with the trace.

use iodyno_model::{
    ModelLikeness, TraceLikeness, format_count, format_duration_ns, format_percent,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::trace::lost_note;
use super::words::first_line;

/// Tolerance of latencies and bursts, as for replays.
const WITHIN: f64 = 0.1;
/// Tolerance of I/Os in another time slot or of another size.
const FEW: f64 = 0.01;

/// Row: a feature of both, and whether they differ too much.
struct Feature {
    name: String,
    values: [String; 2],
    differs: bool,
}

fn features(likeness: &ModelLikeness) -> Vec<Feature> {
    let ModelLikeness { trace, model, sizes, rate, gaps, again, .. } = likeness;
    let both = |name: &str, of: &dyn Fn(&TraceLikeness) -> f64, words: &dyn Fn(f64) -> String| {
        let values = [trace, model].map(of);
        let differs = (values[1] - values[0]).abs() > WITHIN * values[0].abs();
        Feature { name: name.into(), values: values.map(words), differs }
    };
    let moved = |name: &str, share: f64, most: f64| Feature {
        name: name.into(),
        values: [String::new(), format!("{} differ", format_percent(share))],
        differs: share > most,
    };
    let count = |value: f64| format_count(value);
    let ns = |value: f64| format_duration_ns(value);
    let mut rows = vec![
        both("I/Os", &|of| of.ios as f64, &count),
        moved("operation and size", *sizes, 0.0),
        moved("rate per 10 ms", *rate, FEW),
        moved("gaps between I/Os", *gaps, WITHIN),
        both("I/Os in a sequential run", &|of| of.run, &count),
        moved("re-use of addresses", *again, WITHIN / 2.0),
    ];
    for burst in &trace.bursts {
        let of = |of: &TraceLikeness| {
            let found = of.bursts.iter().find(|one| one.slot_ns == burst.slot_ns);
            found.map_or(0.0, |one| one.dispersion)
        };
        let slot = format_duration_ns(burst.slot_ns as f64);
        let row = both(&format!("burstiness at {slot} (random: 1)"), &of, &count);
        // Near or below 1 there are no bursts.
        let differs = row.differs && of(trace).max(of(model)) > 1.2;
        rows.push(Feature { differs, ..row });
    }
    rows.push(both("p50 on a simulated drive", &|of| of.simulated_p50_ns as f64, &ns));
    rows.push(both("p99 on a simulated drive", &|of| of.simulated_p99_ns as f64, &ns));
    rows
}

/// Names of the features in which a model differs too much from its trace.
pub(crate) fn model_differences(likeness: &ModelLikeness) -> Vec<String> {
    features(likeness).into_iter().filter(|one| one.differs).map(|one| one.name).collect()
}

/// Verdict on a model of `bytes` (`None`: not stored), a table of features, and a note on the
/// `lost` events missing from both.
pub fn model_text(
    likeness: &ModelLikeness,
    bytes: Option<u64>,
    lost: u64,
    style: &Style,
) -> String {
    let ios = likeness.trace.ios;
    let misses = model_differences(likeness);
    let verdict = match &misses[..] {
        [] => "The model matches the trace".to_owned(),
        misses => format!("The model misses: {}", misses.join(", ")),
    };
    let mut items = vec![verdict, format!("{} I/Os", format_count(ios as f64))];
    if let Some(bytes) = bytes {
        let each = bytes as f64 / ios.max(1) as f64;
        items.push(format!("{} bytes per I/O", format_count(each)));
    }
    let mut out = first_line(("", Ink::Plain), &items, style);
    let columns = [
        GridColumn::new("FEATURE", 0, false),
        GridColumn::new("TRACE", 0, true),
        GridColumn::new("MODEL", 0, true),
        GridColumn::new("", 0, false),
    ];
    let rows: Vec<Vec<GridCell>> = features(likeness)
        .into_iter()
        .map(|Feature { name, values: [trace, model], differs }| {
            let mark = if differs { "missed" } else { "" };
            [name, trace, model, mark.into()].into_iter().map(GridCell::plain).collect()
        })
        .collect();
    out.push_str(&grid(&columns, &rows, style, style.wide).text);
    if lost > 0 {
        out.push_str(&first_line(("", Ink::Plain), &[lost_note(lost, "model")], style));
    }
    out
}

/// p99 with job options in place of the trace, next to the trace's.
pub fn options_p99_sentence(likeness: &ModelLikeness) -> String {
    let (trace, options) = (likeness.trace.simulated_p99_ns, likeness.options_p99_ns);
    format!(
        "p99 on a simulated drive: {} with options, {} with the trace",
        format_duration_ns(options as f64),
        format_duration_ns(trace as f64)
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use iodyno_model::TraceBurst;

    use super::*;

    #[test]
    fn differing_features_come_first() {
        let burst = |dispersion| TraceBurst { slot_ns: 10_000_000, dispersion, most: 9 };
        let trace = TraceLikeness {
            ios: 20_000,
            run: 3.2,
            again: 0.4,
            bursts: vec![burst(12.0)],
            simulated_p50_ns: 80_000,
            simulated_p99_ns: 900_000,
        };
        let model = TraceLikeness { run: 2.1, bursts: vec![burst(11.5)], ..trace.clone() };
        let likeness = ModelLikeness {
            trace: trace.clone(),
            model,
            rate: 0.002,
            gaps: 0.02,
            again: 0.01,
            options_p99_ns: 200_000,
            ..ModelLikeness::default()
        };
        let style = Style { width: 90, color: false, wide: false, columns: None };
        expect![[r#"
            The model misses: I/Os in a sequential run   20k I/Os   0.25 bytes per I/O
            FEATURE                           TRACE         MODEL
            I/Os                                20k           20k
            operation and size                       0.0 % differ
            rate per 10 ms                           0.2 % differ
            gaps between I/Os                        2.0 % differ
            I/Os in a sequential run            3.2           2.1  missed
            re-use of addresses                      1.0 % differ
            burstiness at 10 ms (random: 1)      12          11.5
            p50 on a simulated drive          80 us         80 us
            p99 on a simulated drive         900 us        900 us
        "#]]
        .assert_eq(&model_text(&likeness, Some(5000), 0, &style));
        let same = ModelLikeness { model: trace, ..likeness.clone() };
        let lossy = model_text(&same, None, 7, &style);
        assert!(lossy.starts_with("The model matches the trace   20k"));
        let note = "7 events lost in the recording: I/Os are missing, also in the model\n";
        assert!(lossy.ends_with(note), "{lossy}");
        assert_eq!(
            options_p99_sentence(&likeness),
            "p99 on a simulated drive: 200 us with options, 900 us with the trace"
        );
    }
}
