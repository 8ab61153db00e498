//! Rows of the summary of `check`: figures and verdict per drive or target.

use iodyno_judge::{device_of, is_rate_limit_option};
use iodyno_model::{
    Assessment, BlockKind, DirectionResult, Drive, Host, JudgedMeasurement, Measurement, Metric,
    MetricJudgement, RunRecord, Scope, Validity, Verdict, format_duration_ns,
};

use super::columns::Column;
use super::drive_cells::{LinkWords, drive_cell, link, worst};
use super::drives::short_name;
use super::figure::{percent, stated};
use super::grid::{GridCell, GridColumn};
use super::ink::Ink;
use super::words::clean;
use crate::percentiles::percentiles_of;

/// Length of the bar in characters.
const BAR: usize = 5;

/// Columns between the name and the verdict: heading, priority, right-aligned.
const COLUMNS: [(&str, u8, bool); 7] = [
    ("READ", 1, true),
    ("RAND 4K", 2, true),
    ("P99 QD1", 3, true),
    ("", 4, false),
    ("LINK", 5, false),
    ("TEMP", 7, true),
    ("HEALTH", 6, false),
];

/// Summary rows of a check.
pub(crate) struct Glance {
    pub(super) rows: Vec<Row>,
    /// True if all rows are drives.
    pub(super) are_drives: bool,
    /// Result of all targets loaded at once.
    together: Option<Row>,
    /// Replaces the table if there is one row and nothing to compare it with.
    pub(crate) uncompared: Option<[String; 2]>,
    /// Heading of the share column.
    basis: &'static str,
}

/// A drive or another target.
pub(super) struct Row {
    pub(super) name: String,
    cells: Vec<GridCell>,
    pub(super) verdict: Option<Verdict>,
    /// True if a figure is invalid, shown in brackets.
    pub(super) has_invalid: bool,
}

impl Glance {
    /// True if a row has more than its verdict.
    pub(crate) fn says_something(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.text != "-")
    }

    /// The table before it is fitted to a width, without empty columns.
    pub(crate) fn cells(&self) -> (Vec<GridColumn<'_>>, Vec<Vec<GridCell>>) {
        let all: Vec<&Row> = self.rows.iter().chain(&self.together).collect();
        let says =
            |at: usize| all.iter().any(|row| !["-", ""].contains(&row.cells[at].text.as_str()));
        let shown: Vec<usize> = (0..COLUMNS.len()).filter(|at| says(*at)).collect();
        let heading = |at: &usize| {
            let (heading, priority, right) = COLUMNS[*at];
            let is_alarm = |row: &&Row| matches!(row.cells[*at].ink, Ink::Bad | Ink::Doubt);
            let alarmed = *at > 3 && all.iter().any(is_alarm);
            let heading = if heading.is_empty() { self.basis } else { heading };
            GridColumn::new(heading, if alarmed { 1 } else { priority }, right)
        };
        let name = GridColumn::new(if self.are_drives { "DRIVE" } else { "TARGET" }, 0, false);
        let last = GridColumn::new("VERDICT", 0, false);
        let columns = [name].into_iter().chain(shown.iter().map(heading)).chain([last]).collect();
        let line = |row: &&Row| {
            let mut line = vec![GridCell::plain(row.name.clone())];
            line.extend(shown.iter().map(|at| row.cells[*at].clone()));
            line.push(match row.verdict {
                Some(of) => GridCell::verdict(of),
                None => GridCell::plain(""),
            });
            line
        };
        (columns, all.iter().map(line).collect())
    }
}

/// Yardstick of a judgement, and the share reached (inverted for latency: more is better).
#[derive(Clone, Copy, PartialEq)]
struct Share {
    of: Expected,
    share: f64,
}

pub(crate) fn glance(record: &RunRecord, assessment: &Assessment) -> Glance {
    let view = View { record, assessment };
    let drives = view.drives();
    let others = view.others();
    let mut shares: Vec<Share> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    for (host, drive) in &drives {
        rows.push(view.drive_row(host, drive, &mut shares));
    }
    for target in &others {
        rows.push(view.target_row(target, &mut shares));
    }
    let basis = match shares.as_slice() {
        [first, rest @ ..] if rest.iter().all(|other| other.of == first.of) => first.of.heading(),
        _ => "OF EXPECTED",
    };
    let uncompared = match rows.as_slice() {
        [only] if shares.is_empty() && only.verdict == Some(Verdict::Unjudged) => {
            view.uncompared(only)
        }
        _ => None,
    };
    let are_drives = others.is_empty();
    Glance { are_drives, together: view.together(), uncompared, basis, rows }
}

struct View<'a> {
    record: &'a RunRecord,
    assessment: &'a Assessment,
}

impl<'a> View<'a> {
    /// The drives within the run's scope.
    fn drives(&self) -> Vec<(&'a Host, &'a Drive)> {
        let Some(host) = self.record.host() else { return Vec::new() };
        let run = &self.record.run;
        let targets = run.targets.iter().chain(run.skipped.iter().map(|one| &one.target));
        let targets: Vec<&str> = targets.map(|target| short_name(target)).collect();
        let asked = |drive: &&Drive| {
            run.scope == Scope::Machine || names(drive).iter().any(|name| targets.contains(name))
        };
        host.drives.iter().filter(asked).map(|drive| (host, drive)).collect()
    }

    /// Targets that are not namespaces of a drive.
    fn others(&self) -> Vec<&'a str> {
        let of_drive = |target: &str| {
            let host = self.record.host();
            host.is_some_and(|host| {
                host.drives.iter().any(|drive| names(drive).contains(&short_name(target)))
            })
        };
        let targets = self.record.run.targets.iter().map(String::as_str);
        targets.filter(|target| !of_drive(target)).collect()
    }

    /// Measurements on one target alone, with their judgements.
    fn alone(
        &self,
        is: impl Fn(&str) -> bool,
    ) -> Vec<(&'a Measurement, Option<&'a JudgedMeasurement>)> {
        let all = self.record.measurements.iter().enumerate();
        let own = all.filter(|(_, of)| matches!(of.targets.as_slice(), [only] if is(only)));
        own.map(|(at, of)| (of, self.assessment.of(at))).collect()
    }

    fn drive_row(&self, host: &Host, drive: &Drive, shares: &mut Vec<Share>) -> Row {
        let names = names(drive);
        let own = self.alone(|target| names.contains(&short_name(target)));
        let mut row = self.row(clean(&drive.name), &own, shares);
        let run = Some((self.record, self.assessment));
        // Short: the finding has the supported link.
        row.cells.push(link(host, drive, LinkWords::ShortCell));
        row.cells.push(drive_cell(Column::Temperature, host, drive, run));
        row.cells.push(health(drive));
        row.verdict = worst(host, self.record, self.assessment, &names);
        row
    }

    fn target_row(&self, target: &str, shares: &mut Vec<Share>) -> Row {
        let own = self.alone(|other| other == target);
        let device = own.first().map(|(of, _)| device_of(of, target));
        let name = match device.filter(|device| *device != short_name(target)) {
            Some(device) => format!("{} on {}", clean(target), clean(device)),
            None => clean(short_name(target)),
        };
        let mut row = self.row(name, &own, shares);
        row.cells.extend([GridCell::plain("-"), GridCell::plain("-"), GridCell::plain("-")]);
        let short = short_name(target);
        let subjects = self.assessment.subjects.iter();
        let own = subjects.filter(|(name, _)| name == target || short_name(name) == short);
        row.verdict = own.map(|(_, verdict)| *verdict).max();
        row
    }

    /// The row's figures and its lowest share.
    fn row(
        &self,
        name: String,
        own: &[(&Measurement, Option<&JudgedMeasurement>)],
        shares: &mut Vec<Share>,
    ) -> Row {
        let mut has_invalid = false;
        let mut cell = |kind: CheckStep| {
            let mut found = own.iter().filter(|(of, _)| CheckStep::of(of) == Some(kind));
            let value = found.find_map(|(of, judged)| Some((kind.value(of)?, *judged)));
            let Some((text, judged)) = value else { return GridCell::plain("-") };
            match judged.is_some_and(|judged| judged.validity == Validity::Invalid) {
                true => {
                    has_invalid = true;
                    GridCell::new(format!("({text})"), Ink::Doubt)
                }
                false => GridCell::plain(text),
            }
        };
        let mut cells = CheckStep::ALL.map(&mut cell).to_vec();
        let valid = own.iter().filter_map(|(_, judged)| *judged);
        let valid = valid.filter(|judged| judged.validity != Validity::Invalid);
        let judged = valid.flat_map(|judged| &judged.metrics).filter_map(share);
        let least = judged.min_by(|a, b| a.share.total_cmp(&b.share));
        shares.extend(least);
        cells.push(least.map_or_else(|| GridCell::plain("-"), |of| bar(of.share)));
        Row { name, cells, verdict: None, has_invalid }
    }

    /// Row of the measurements on all targets at once.
    fn together(&self) -> Option<Row> {
        let most = self.record.measurements.iter().map(|of| of.targets.len()).max();
        let most = most.filter(|most| *most > 1)?;
        let mut all = self.record.measurements.iter().enumerate();
        let own = all.by_ref().filter(|(_, of)| of.targets.len() == most);
        let own: Vec<_> = own.map(|(at, of)| (of, self.assessment.of(at))).collect();
        let mut row = self.row(format!("{most} at once"), &own, &mut Vec::new());
        row.cells.truncate(2);
        row.cells.resize(COLUMNS.len(), GridCell::plain(""));
        row.has_invalid = false;
        Some(row)
    }

    /// Figures of the only row, in a sentence.
    fn uncompared(&self, row: &Row) -> Option<[String; 2]> {
        let says = |cell: &&GridCell| cell.text != "-";
        let figures = row.cells[..3].iter().filter(says).map(|cell| cell.text.clone());
        let mut figures: Vec<String> = figures.collect();
        if row.cells[2].text != "-"
            && let Some(last) = figures.last_mut()
        {
            last.insert_str(0, "p99 ");
        }
        let host = self.record.host();
        let devices = self
            .record
            .measurements
            .iter()
            .flat_map(|of| of.targets.iter().map(move |target| device_of(of, target)));
        let is_virtual = |device: &str| {
            host.is_some_and(|host| {
                let bottom = host.bottom_of(device);
                !bottom.is_empty()
                    && bottom.iter().all(|block| matches!(block.kind, BlockKind::Virtual))
            })
        };
        let why = match devices.into_iter().all(is_virtual) {
            true => "virtual disk",
            false => "no data sheet, no twin",
        };
        let figures = figures.join(", ");
        (!figures.is_empty()).then(|| {
            let result = format!("{figures}: nothing to compare with");
            [result, format!("({why}; use --baseline)")]
        })
    }
}

fn names(drive: &Drive) -> Vec<&str> {
    let namespaces = drive.namespaces.iter().map(|namespace| namespace.name.as_str());
    namespaces.chain([drive.name.as_str()]).collect()
}

/// Steps of `check` per target.
#[derive(Clone, Copy, PartialEq)]
enum CheckStep {
    Sequential,
    Random,
    Latency,
}

impl CheckStep {
    const ALL: [Self; 3] = [Self::Sequential, Self::Random, Self::Latency];

    fn of(measurement: &Measurement) -> Option<Self> {
        let workload = &measurement.workload;
        let depth = measurement.conditions.depth_asked.or(workload.iodepth);
        if workload.options.keys().any(|option| is_rate_limit_option(option)) {
            return None;
        }
        match workload.rw.as_deref()? {
            "read" => Some(Self::Sequential),
            "randread" if workload.bs != Some(4096) => None,
            "randread" if depth == Some(1) => Some(Self::Latency),
            "randread" => Some(Self::Random),
            _ => None,
        }
    }

    fn value(self, measurement: &Measurement) -> Option<String> {
        let of: &DirectionResult = measurement.total.first()?;
        Some(match self {
            Self::Sequential => stated(Metric::Bandwidth, of.bandwidth?.value),
            Self::Random => stated(Metric::Iops, of.iops?.value),
            Self::Latency => {
                let (_, shown) = percentiles_of(of, &[99.0]);
                format_duration_ns(shown.first()?.value_ns as f64)
            }
        })
    }
}

/// Yardstick of a metric.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Expected {
    Claim,
    Baseline,
    Twins,
}

impl Expected {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Baseline => "baseline",
            Self::Twins => "twins' median",
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Claim => "OF CLAIM",
            Self::Baseline => "OF BASELINE",
            Self::Twins => "OF TWINS",
        }
    }
}

/// Expected value of a metric, in its unit, and its yardstick.
pub(crate) fn expectation(of: &MetricJudgement) -> Option<(f64, Expected)> {
    let claim = of.claim.as_ref().map(|claim| (claim.value, Expected::Claim));
    let baseline = of.baseline.as_ref().map(|baseline| (baseline.value, Expected::Baseline));
    claim.or(baseline).or_else(|| Some((of.peers?.0, Expected::Twins)))
}

fn share(of: &MetricJudgement) -> Option<Share> {
    if of.below_saturation.is_some() {
        return None;
    }
    let (expected, of_what) = expectation(of)?;
    let share = match of.metric {
        Metric::LatencyMean => expected / of.estimate.value,
        _ => of.estimate.value / expected,
    };
    share.is_finite().then_some(Share { of: of_what, share })
}

/// `████░  81 %`.
fn bar(share: f64) -> GridCell {
    let full = ((share * BAR as f64).round() as usize).min(BAR);
    let text = format!("{}{} {:>5}", "█".repeat(full), "░".repeat(BAR - full), percent(share));
    GridCell::new(text, Ink::Bar)
}

fn health(drive: &Drive) -> GridCell {
    let bad = |text: String| GridCell::new(text, Ink::Bad);
    if let Some(state) = drive.state.get().filter(|state| *state != "live") {
        return bad(clean(state));
    }
    let Some(log) = drive.health.get() else { return GridCell::plain("-") };
    match log {
        _ if log.critical_warning != 0 => bad("critical".into()),
        _ if log.media_errors > 0 => bad(format!("{} media errors", log.media_errors)),
        _ if log.used_percent >= 90 => {
            GridCell::new(format!("worn {} %", log.used_percent), Ink::Doubt)
        }
        _ => GridCell::plain("ok"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_what_their_headings_say() {
        let step = |rw: &str, bs, depth, rate: Option<&str>| {
            let mut of = Measurement::unknown("step");
            (of.workload.rw, of.workload.bs) = (Some(rw.into()), Some(bs));
            of.workload.iodepth = Some(depth);
            of.workload.options.extend(rate.map(|rate| ("rate_iops".into(), rate.into())));
            CheckStep::of(&of)
        };
        assert!(step("read", 262_144, 32, None) == Some(CheckStep::Sequential));
        assert!(step("randread", 4096, 32, None) == Some(CheckStep::Random));
        assert!(step("randread", 4096, 1, None) == Some(CheckStep::Latency));
        assert!(step("randread", 65_536, 32, None).is_none(), "RAND 4K");
        assert!(step("randread", 16_384, 1, None).is_none(), "P99 QD1");
        assert!(step("randread", 4096, 32, Some("100")).is_none(), "not its speed");
    }
}
