//! Current activity of a run, from its events: as one line, and in parts for the full view.

use iodyno_campaign::{Event, Goal, Progress};
use iodyno_model::{
    Bytes, Direction, Measurement, format_count, format_duration_ns, format_mb_per_s,
    format_percent, format_width,
};

/// Most characters of a target: the rates behind it have to fit.
const PLACE: usize = 32;

/// Current activity, its purpose and progress.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Activity {
    /// Activity: `nvme0n1  rand-read`.
    pub(crate) what: String,
    /// Stop condition or purpose.
    pub(crate) why: String,
    /// Rates or other figures.
    pub(crate) figures: String,
    /// Progress in time: `3.2 of 10 s`.
    pub(crate) time: String,
    /// Progress, 0 to 1.
    pub(crate) share: Option<f64>,
    /// Maximum remaining time of the whole run, ns.
    pub(crate) left_ns: Option<u64>,
}

impl Activity {
    /// Activity reported by this event; `None`: the event reports none.
    pub(crate) fn of(event: &Event<'_>) -> Option<Self> {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Some(match event {
            Event::Looking => Self {
                what: "checking for other users of the drives (1 s)".into(),
                ..Self::default()
            },
            Event::Scratch { directory, written_bytes, most_bytes, elapsed_ns } => {
                let rate = *written_bytes as f64 / seconds((*elapsed_ns).max(1));
                let [written, most] = [*written_bytes, *most_bytes].map(|n| Bytes(n).binary());
                Self {
                    what: format!("{}  writing a scratch file", shortened(directory, PLACE)),
                    why: "to have data to read".into(),
                    figures: format_mb_per_s(rate),
                    time: format!("{written} of at most {most}"),
                    share: Some(*written_bytes as f64 / (*most_bytes).max(1) as f64),
                    left_ns: None,
                }
            }
            Event::Resting { elapsed_ns, most_ns, temperature_c } => Self {
                what: "resting".into(),
                why: "to let drives cool down before the next measurement".into(),
                figures: temperature_c.map_or(String::new(), |c| format!("{c:.0} °C")),
                time: format!("{:.0} of at most {:.0} s", seconds(*elapsed_ns), seconds(*most_ns)),
                share: Some(seconds(*elapsed_ns) / seconds((*most_ns).max(1))),
                left_ns: None,
            },
            Event::Sampling { target } => Self {
                what: format!("{}  sampling which blocks were written", shortened(target, PLACE)),
                why: "unwritten blocks are answered without media access".into(),
                ..Self::default()
            },
            Event::Purging { target, method, done, elapsed_ns } => Self {
                what: format!("{}  being purged ({})", shortened(target, PLACE), method.name()),
                figures: done
                    .map_or(String::new(), |done| format!("{} done", format_percent(done))),
                time: format!("{:.1} s", seconds(*elapsed_ns)),
                share: *done,
                ..Self::default()
            },
            Event::Progress(progress) => Self::of_progress(progress),
            _ => return None,
        })
    }

    fn of_progress(progress: &Progress<'_>) -> Self {
        let Progress { target, step, elapsed_ns, most_ns, left_ns, .. } = *progress;
        let [elapsed, most] = [elapsed_ns, most_ns].map(|ns| ns as f64 / 1e9);
        let trying = progress.trying.map(|depth| format!(" (trying {depth} outstanding)"));
        let why = match (progress.goal, progress.trying, progress.work_bytes) {
            (Some(Goal { half_width, level }), ..) => format!(
                "until its rate is known to {} ({})",
                format_width(half_width),
                format_percent(level)
            ),
            (_, Some(_), _) => "to find the depth beyond which little is gained".into(),
            (.., Some(work)) if most_ns == 0 => format!("until {} are done", Bytes(work).binary()),
            _ => String::new(),
        };
        // Work bounded by its size ends when that is done.
        let (time, share) = match (most_ns, progress.work_bytes) {
            (0, Some(work)) => {
                let [done, all] = [progress.done_bytes, work].map(|bytes| Bytes(bytes).binary());
                let share = progress.done_bytes as f64 / work.max(1) as f64;
                (format!("{done} of {all}"), Some(share))
            }
            (0, None) => (format!("{elapsed:.1} s"), None),
            _ => (format!("{elapsed:.1} of {most:.1} s"), Some(elapsed / most)),
        };
        let rate = format_mb_per_s(progress.bytes_per_s);
        let is_bounded = most_ns > 0 || progress.work_bytes.is_some();
        Self {
            what: format!("{}  {step}{}", shortened(target, PLACE), trying.unwrap_or_default()),
            why,
            figures: format!("{rate}  {} IOPS", format_count(progress.iops)),
            time,
            share,
            left_ns: is_bounded.then_some(left_ns),
        }
    }

    /// Remaining time: `30 s left`.
    pub(crate) fn left(&self) -> Option<String> {
        let whole = |ns: u64| format_duration_ns((ns as f64 / 1e9).ceil() * 1e9);
        self.left_ns.filter(|ns| *ns > 0).map(|ns| format!("{} left", whole(ns)))
    }

    /// All parts in one line.
    pub(crate) fn line(&self) -> String {
        let left = self.left().unwrap_or_default();
        let mut parts = vec![self.what.as_str(), &self.figures, &self.time, &left];
        parts.retain(|part| !part.is_empty());
        parts.join("  ")
    }
}

/// Result in one line.
pub(crate) fn done_line(measurement: &Measurement) -> String {
    let title = measurement.title();
    if let Some(why) = measurement.failure() {
        return format!("{title}: failed: {why}");
    }
    let several = measurement.total.len() > 1;
    // fsync latency, which jobs that flush wait for.
    let sync = measurement.account.as_ref().and_then(|account| {
        let (mean, p99) = (account.sync.mean_ns()?, account.sync.quantile_ns(0.99)?);
        let [mean, p99] = [mean, p99 as f64].map(format_duration_ns);
        Some(format!("sync {mean} mean, {p99} p99"))
    });
    let results: Vec<String> = measurement
        .total
        .iter()
        .map(|result| {
            let direction = match result.direction {
                Direction::Read if several => "reads ",
                Direction::Write if several => "writes ",
                Direction::Trim if several => "trims ",
                _ => "",
            };
            let bandwidth = result.bandwidth.map_or("-".into(), |rate| format_mb_per_s(rate.value));
            let iops = result.iops.map_or("-".into(), |iops| format_count(iops.value));
            let latency = result.latency_mean.map(|mean| format_duration_ns(mean.value));
            let latency = match &sync {
                Some(_) => String::new(),
                None => format!(", {} mean", latency.as_deref().unwrap_or("-")),
            };
            format!("{direction}{bandwidth}, {iops} IOPS{latency}")
        })
        .chain(sync.clone())
        .collect();
    match results.is_empty() {
        true => title,
        false => format!("{title}: {}", results.join("; ")),
    }
}
/// The end of a name, which distinguishes paths.
pub(super) fn shortened(name: &str, most: usize) -> String {
    let most = most.max(12);
    match name.chars().count() {
        count if count > most => "...".chars().chain(name.chars().skip(count - most + 3)).collect(),
        _ => name.to_owned(),
    }
}
