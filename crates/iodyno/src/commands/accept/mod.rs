//! `iodyno accept`: runs a profile's steps in bounded time, writes one document of them and pushes
//! it.

mod clock;
mod hint;
mod node;
mod profile;
mod step;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use iodyno_judge::ClaimBook;
use iodyno_model::{Accepted, Assessment, Host, RunRecord, format_duration_ns, rfc3339};
use iodyno_report::document::read::read_runs;
use iodyno_report::export::{self, ExportError, Format, Results, offered_by};

use crate::arguments::{Accept, Table};
use crate::commands::export::documents;
use crate::commands::present::{JudgeOptions, print};
use crate::commands::setup::end_on_signals;
use crate::commands::{judged, rejudge};
use crate::context::{Context, Usage, bail_usage, write};
use crate::output::{Content, refuse_other, refuse_targets};
use crate::push::{DestinationRef, Outbox, Upload};
use crate::terminal;

use node::Node;
use profile::{Placeholders, Profile};

/// Time reserved for the work after the measurements: the deadline divided by this, and at most
/// this much.
const RESERVE: (u32, Duration) = (4, Duration::from_secs(60));
/// Interval between checks for an interrupt.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Distance from --start-at that is noted, ns.
const NOTED_NS: i64 = 1_000_000_000;
/// Time before --start-at from which the wait polls, so that it ends precisely.
const POLL_BEFORE_START: Duration = Duration::from_millis(2);

pub(crate) fn run(context: &Context, arguments: &Accept) -> Result<u8> {
    if arguments.list {
        terminal::print(&list())?;
        return Ok(0);
    }
    let profile = Profile::load(arguments.profile.as_deref().unwrap_or_default())?;
    let to = destinations(&arguments.push)?;
    refuse(context, arguments, &profile)?;
    let table = arguments.push_parquet.then(parquet_format).transpose()?;
    let claims = context.claims(&arguments.sheets)?;
    // Steps would only say that they cannot be started.
    context.source()?;
    end_on_signals(&context.interrupted)?;
    if let Some(at_ns) = arguments.start_at {
        let late_ns = iodyno_campaign::now_ns().saturating_sub(at_ns);
        let far = format_duration_ns(late_ns.unsigned_abs() as f64);
        if late_ns > NOTED_NS && !context.quiet {
            terminal::note(&format!(
                "--start-at was {far} ago: this node starts now, other nodes may have begun"
            ));
        } else if late_ns < -NOTED_NS && !context.quiet {
            terminal::note(&format!("This node starts at {}, in {far}.", rfc3339(at_ns)));
        }
        wait_for(context, at_ns);
    }
    let deadline_ns = match arguments.deadline {
        Some(ns) => ns,
        None => profile.deadline_ns().map_err(Usage)?,
    };
    let deadline = Instant::now() + Duration::from_nanos(deadline_ns);
    let node = Node::detect();
    let Steps { runs, status, cut_short } =
        Steps::run_all(context, arguments, &profile, &node, &claims, deadline)?;
    let judged = judged(&runs);
    let outbox = Outbox::of(context.store_path());
    let until = deadline.max(Instant::now() + Duration::from_secs(1));
    // With a full disk the verdict on the node is still given.
    let mut failed = Vec::new();
    if let Some((first, _)) = runs.first() {
        let text = documents(&judged)?;
        if let Some(path) = &arguments.output {
            failed.extend(write(path, text.as_bytes()).err());
        }
        let stem = node.document_name(&first.run.id);
        let table = table.map(|format| format.export(Results::Runs(&judged))).transpose()?;
        let document = Some((format!("{stem}.json"), text.as_bytes()));
        let table = table.as_deref().map(|bytes| (format!("{stem}.parquet"), bytes));
        for (name, bytes) in [document, table].into_iter().flatten().filter(|_| !to.is_empty()) {
            let Err(error) = outbox.add(&name, bytes, &to) else { continue };
            failed.push(error.context("the outbox failed: the document is pushed now or never"));
            print_refusals(&Outbox::send_now(&Upload { name: &name, bytes, until }, &to));
        }
        failed.extend(show(context, arguments, &runs, &claims, &text).err());
    }
    failed.extend(push(context, &outbox, until).err());
    // An interrupt by the user says nothing about the node.
    if arguments.drain_hint
        && !context.interrupted.load(Ordering::Relaxed)
        && let Some(line) = hint::hint(&runs, &profile.name, status, cut_short)
    {
        failed.extend(terminal::print(&format!("{line}\n")).err());
    }
    // The verdict on the node outweighs a failure to write it down.
    failed.retain(|error| !terminal::is_closed_pipe(error));
    let last = if status == 0 { failed.pop() } else { None };
    failed.iter().for_each(terminal::print_error);
    last.map_or(Ok(status), Err)
}

/// True if a machine has no NVMe drive, not even an unusable one, and nothing else was judged: the
/// drives of this server may be gone.
fn is_without_drive(record: &RunRecord) -> bool {
    let has_none = |host: &Host| host.drives.is_empty() && host.nvme_functions.is_empty();
    record.run.targets.is_empty() && record.host().is_some_and(has_none)
}

/// The Parquet export format.
fn parquet_format() -> Result<Format> {
    let found = offered_by(export::Command::Export).find(|format| format.name() == "parquet");
    Ok(found.ok_or(ExportError::NoParquet)?)
}

/// Parses the destinations of the document.
fn destinations(words: &[String]) -> Result<Vec<DestinationRef>> {
    let mut to: Vec<_> =
        words.iter().map(|word| DestinationRef::typed(word)).collect::<Result<_, _>>()?;
    to.sort();
    to.dedup();
    Ok(to)
}

/// Refuses impossible requests before anything is done.
fn refuse(context: &Context, arguments: &Accept, profile: &Profile) -> Result<()> {
    let name = &profile.name;
    if profile.writes
        && (arguments.targets.is_empty() || arguments.permissions.allow_write.is_empty())
    {
        bail_usage!("{name} destroys data: name each target and its --allow-write SERIAL");
    }
    if context.is_captured() && profile.steps.iter().any(|step| step.run[0] != "check") {
        bail_usage!("{name}: a captured machine cannot be measured");
    }
    let Some(path) = &arguments.output else { return Ok(()) };
    refuse_other(context, path, Content::Document)?;
    refuse_targets(path, arguments.targets.iter().map(Path::new))
}

/// Waits for a time that many nodes agreed on.
fn wait_for(context: &Context, at_ns: i64) {
    loop {
        let left = node::time_until(at_ns);
        if left.is_zero() || context.interrupted.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(
            left.saturating_sub(POLL_BEFORE_START).clamp(Duration::from_micros(50), CHECK_INTERVAL),
        );
    }
}

/// Results of the steps.
struct Steps {
    runs: Vec<(RunRecord, Assessment)>,
    /// Worst status of all steps.
    status: u8,
    cut_short: bool,
}

impl Steps {
    fn run_all(
        context: &Context,
        arguments: &Accept,
        profile: &Profile,
        node: &Node,
        claims: &ClaimBook,
        deadline: Instant,
    ) -> Result<Self> {
        let began = Instant::now();
        let after = (deadline - began) / RESERVE.0;
        let until = deadline - after.min(RESERVE.1);
        let allow = permission_args(arguments);
        let id = iodyno_store::new_id();
        let mut all = Self { runs: Vec::new(), status: 0, cut_short: false };
        for (step, number) in profile.steps.iter().zip(1..) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || context.interrupted.load(Ordering::Relaxed) {
                all.cut_short = true;
                all.status = worse_status(all.status, 3);
                break;
            }
            let left_ns = left.as_nanos() as u64;
            let targets = &arguments.targets;
            let mut words = step.words(&Placeholders { left_ns, targets, allow: &allow });
            let name = format!("accept-{}-{}-{number}", profile.name, &id[id.len() - 12..]);
            words.extend(["--run-name".into(), name.clone()]);
            let is_check = words[0] == "check";
            if context.is_captured() && is_check {
                words.push("--no-load".into());
            }
            if arguments.require_verdict && words[0] != "sweep" {
                words.push("--require-verdict".into());
            }
            for sheet in &arguments.sheets.datasheet {
                words.extend(["--datasheet".into(), sheet.display().to_string()]);
            }
            for contract in &arguments.sheets.volume {
                words.extend(["--volume".into(), contract.clone()]);
            }
            let ended = step::run_step(context, &words, until)?;
            all.cut_short |= ended.cut_short;
            all.status = worse_status(all.status, ended.status);
            let accepted = Accepted {
                profile: profile.name.clone(),
                step: number,
                node: node.name.clone(),
                host_id: node.host_id.clone(),
                rank: node.rank.clone(),
                start_at: arguments.start_at.map(rfc3339),
                clock_error_ns: arguments.start_at.and(node.clock_error_ns),
                cut_short: ended.cut_short,
            };
            if let Some(mut record) = step_record(context, &name, &ended.printed) {
                record.run.accepted = Some(accepted);
                if arguments.targets.is_empty() && is_without_drive(&record) {
                    all.status = worse_status(all.status, 4);
                    if !context.quiet {
                        terminal::note("No NVMe drive, so no drive was judged: name the targets.");
                    }
                }
                let assessment = rejudge(&record, claims);
                all.runs.push((record, assessment));
            }
            // After a usage error or an interrupt no further step is run.
            if ended.status == 2 || ended.cut_short {
                break;
            }
        }
        Ok(all)
    }
}

/// The run of a step, merged from the store and from what the step printed.
fn step_record(context: &Context, name: &str, printed: &[u8]) -> Option<RunRecord> {
    let stored = context.store_to_read().ok().and_then(|store| {
        let run = store.find(name).ok()?;
        store.load(&run.id).ok()
    });
    let printed = std::str::from_utf8(printed).ok().and_then(|text| read_runs(text).ok()?.pop());
    merge_records(stored, printed)
}

/// Prefers the store's record, since documents hold no series; but takes the printed one if the
/// store failed during the step and lacks measurements.
fn merge_records(stored: Option<RunRecord>, printed: Option<RunRecord>) -> Option<RunRecord> {
    match (stored, printed) {
        (Some(mut stored), Some(printed))
            if stored.measurements.len() >= printed.measurements.len() =>
        {
            // The stored record may lack only the end of the run.
            stored.run.state = printed.run.state;
            stored.run.ended_ns = printed.run.ended_ns;
            Some(stored)
        }
        (stored, printed) => printed.or(stored),
    }
}

/// Options with the permissions to write.
fn permission_args(arguments: &Accept) -> Vec<String> {
    let of = &arguments.permissions;
    let options = [
        ("--allow-write", &of.allow_write),
        ("--discard-data", &of.discard_data),
        ("--assume-unused", &of.assume_unused),
    ];
    let pairs = options.into_iter().flat_map(|(option, words)| {
        words.iter().flat_map(move |word| [option.to_owned(), word.clone()])
    });
    pairs.collect()
}

/// The worse of two exit statuses, in the order 2, 3, 1, 4, 0.
fn worse_status(a: u8, b: u8) -> u8 {
    let rank = |status: u8| [0, 4, 1, 3, 2].iter().position(|known| *known == status).unwrap_or(3);
    if rank(b) > rank(a) { b } else { a }
}

/// Prints each run, or their document, and notes in the store which acceptance they belong to.
fn show(
    context: &Context,
    arguments: &Accept,
    runs: &[(RunRecord, Assessment)],
    claims: &ClaimBook,
    text: &str,
) -> Result<()> {
    let (mut store, table) = (context.store()?, Table::default());
    for (record, assessment) in runs {
        let id = &record.run.id;
        // A run that is not, or not completely, in the store exists in the document only.
        let is_kept =
            store.find(id).is_ok() && store.measurements(id)?.len() >= record.measurements.len();
        if is_kept {
            store.update_run(&record.run)?;
            store.put_assessment(id, assessment)?;
        }
        if context.json || arguments.drain_hint {
            continue;
        }
        let judging = JudgeOptions {
            require_verdict: arguments.require_verdict,
            run: if is_kept { &record.run.name } else { "" },
            ..JudgeOptions::latest(claims, &table)
        };
        print(context, record, &judging)?;
    }
    if context.json { terminal::print(text) } else { Ok(()) }
}

/// Pushes the outbox and reports the rest; returns the number of documents left.
pub(crate) fn push(context: &Context, outbox: &Outbox, until: Instant) -> Result<usize> {
    let pushed = outbox.push(until)?;
    print_refusals(&pushed.refused);
    for what in &pushed.unreadable {
        terminal::note(&format!("left in the outbox: {what}"));
    }
    if !pushed.dropped.is_empty() {
        let count = pushed.dropped.len();
        terminal::note(&format!("the outbox is full: {count} oldest documents dropped"));
    }
    let (file, dropped) = outbox.dropped();
    if dropped > 0 {
        let file = file.display();
        let what = format!(
            "never pushed, since the outbox was full: {dropped}, named in {file}. iodyno runs export RUN \
             writes those again whose runs the store still has; then remove the file"
        );
        terminal::note(&what);
    }
    if pushed.left > 0 {
        let what = format!("{} left: the next accept or iodyno runs push sends them", pushed.left);
        terminal::note(&what);
    } else if pushed.done > 0 && !context.quiet {
        terminal::note(&format!("pushed: {}", pushed.done));
    }
    Ok(pushed.left)
}

fn print_refusals(refused: &[(DestinationRef, String)]) {
    for (to, why) in refused {
        terminal::note(&format!("{} refused: {why}", to.shown()));
    }
}

fn list() -> String {
    let mut text = String::new();
    for profile in Profile::builtin() {
        let _ = writeln!(text, "{:8}  {}", profile.name, profile.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Measurement, Run, RunRecord, RunState};

    use super::{merge_records, worse_status};

    #[test]
    fn the_record_with_more_measurements_counts() {
        let record = |source: &str, measurements: usize, state: RunState| {
            let run = Run { name: source.into(), state, ..Run::new("id", 0) };
            let measurements = vec![Measurement::unknown("m"); measurements];
            RunRecord { run, snapshots: Vec::new(), measurements }
        };
        let of = |stored: usize, printed: usize| {
            let stored = record("stored", stored, RunState::Interrupted);
            let found =
                merge_records(Some(stored), Some(record("printed", printed, RunState::Done)));
            let RunRecord { run, measurements, .. } = found.unwrap();
            (run.name, measurements.len(), run.state)
        };
        assert_eq!(of(1, 3), ("printed".into(), 3, RunState::Done));
        assert_eq!(of(3, 3), ("stored".into(), 3, RunState::Done));
        assert_eq!(of(0, 0), ("stored".into(), 0, RunState::Done));
        let alone = record("alone", 1, RunState::Interrupted);
        assert_eq!(merge_records(Some(alone.clone()), None), Some(alone.clone()));
        assert_eq!(merge_records(None, Some(alone.clone())), Some(alone));
        assert_eq!(merge_records(None, None), None);
    }

    #[test]
    fn the_worst_status_counts() {
        let statuses = [0, 4, 1, 3, 2];
        for (rank, a) in statuses.into_iter().enumerate() {
            for (other, b) in statuses.into_iter().enumerate() {
                assert_eq!(worse_status(a, b), statuses[rank.max(other)]);
            }
        }
    }
}
