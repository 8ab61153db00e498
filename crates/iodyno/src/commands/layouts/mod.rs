//! `iodyno layouts`: builds layouts on drives, measures each, takes it down and compares them.

pub(crate) mod comparison;
mod files;
mod trial;
mod workload;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use anyhow::Result;
use iodyno_campaign::{CampaignError, LayoutPlan, missing_tools};
use iodyno_judge::layouts::Layouts as Comparison;
use iodyno_layout::{Layout, expand, parse};
use iodyno_model::{Bytes, Host, RunRecord, RunState, add_missing, own_command, shell_word};
use iodyno_store::{Store, StoreError};
use iodyno_target::{Permission, Target, WriteClearance, resolve_all, unmatched_permissions};

use crate::arguments::Layouts;
use crate::commands::free_name;
use crate::commands::setup::Setup;
use crate::commands::study::{StudyRun, generator, measure};
use crate::context::{Context, Usage, bail_usage};
use crate::terminal;
use files::Files;
use trial::{BASELINE, Trial, TrialInputs};
use workload::Workload;

/// Default prefix of the runs' names.
const DEFAULT_NAME: &str = "layouts";
const DEFAULT_LAYOUTS: [&str; 3] = ["raw", "lvm-stripe", "md0"];
/// Default layouts on a single drive, which cannot be striped.
const DEFAULT_LAYOUTS_OF_ONE: [&str; 3] = ["raw", "lvm", "ext4"];
/// Default of the maximum measured size per layout, bytes.
const DEFAULT_BYTES: u64 = 16 << 30;
/// Maximum measured share of the smallest drive: a file system needs some room.
const MAX_DRIVE_SHARE: f64 = 0.8;

pub(crate) fn run(context: &Context, arguments: &Layouts) -> Result<u8> {
    let layouts = layouts(arguments)?;
    context.refuse_captured("cannot be measured")?;
    let missing = missing_tools(&layouts);
    if !missing.is_empty() && !arguments.dry_run {
        let programs: Vec<&str> = missing.iter().map(|tool| tool.program).collect();
        let packages: BTreeSet<&str> = missing.iter().map(|tool| tool.package).collect();
        let packages = Vec::from_iter(packages).join(" ");
        bail_usage!("{} not installed: apt install {packages}", programs.join(", "));
    }
    let mut setup = Setup::of(context, &arguments.run_options.load_options)?;
    let files = match arguments.on_files {
        Some(size_bytes) if !arguments.dry_run => Some(Files::make(&mut setup, size_bytes)?),
        _ => None,
    };
    let result = on_drives(context, arguments, &mut setup, &layouts, files.as_ref());
    match files {
        Some(files) => {
            let removed = files.remove(&mut setup);
            result.and_then(|status| removed.map(|()| status))
        }
        None => result,
    }
}

fn layouts(arguments: &Layouts) -> Result<Vec<Layout>> {
    // Catches words that a shell made of unquoted braces.
    if let Some(word) =
        arguments.drives.iter().find(|word| word.contains(':') && parse(word).is_ok())
    {
        bail_usage!("{word} is a layout, not a drive: quote lists in braces");
    }
    let words: Vec<&str> = match arguments.layout.as_slice() {
        [] if arguments.drives.len() == 1 => DEFAULT_LAYOUTS_OF_ONE.to_vec(),
        [] => DEFAULT_LAYOUTS.to_vec(),
        layouts => layouts.iter().map(String::as_str).collect(),
    };
    let mut layouts: Vec<Layout> = Vec::new();
    for word in words {
        add_missing(&mut layouts, expand(word).map_err(|error| Usage(error.to_string()))?);
    }
    Ok(layouts)
}

fn on_drives(
    context: &Context,
    arguments: &Layouts,
    setup: &mut Setup,
    layouts: &[Layout],
    files: Option<&Files>,
) -> Result<u8> {
    let targets = targets(arguments, setup, files)?;
    let drives: Vec<String> = targets.iter().map(|target| target.name().to_owned()).collect();
    let size_bytes = size_bytes(arguments, &targets)?;
    let ground = TrialInputs { arguments, host: &setup.host, drives: &drives, size_bytes };
    let trials = ground.trials(layouts)?;
    if arguments.dry_run {
        let scripts: String = trials.iter().map(|trial| trial.script(size_bytes)).collect();
        terminal::print(&scripts)?;
        let permission = arguments.run_options.permission();
        if let Err(error) = Allowed::new(&setup.host, &targets, &permission) {
            terminal::note("This would be refused now:");
            terminal::print_error(&error);
        }
        return Ok(0);
    }
    let runs = setup.store.runs()?;
    let taken = |name: &str| {
        let names = trials.iter().map(|trial| trial.run_name(name));
        names.into_iter().find(|name| runs.iter().any(|run| run.name == *name))
    };
    let name = match &arguments.run_name {
        Some(name) => name.clone(),
        None => free_name(DEFAULT_NAME, |name| taken(name).is_some()),
    };
    if let Some(taken) = taken(&name) {
        return Err(StoreError::NameTaken(taken).into());
    }
    let permission = files.map_or_else(|| arguments.run_options.permission(), Files::permission);
    let allowed = Allowed::new(&setup.host, &targets, &permission)?;
    let (measured, status) = measure_all(context, arguments, setup, &name, &trials, &allowed);
    // Why there is nothing to compare is said already.
    if !measured.is_empty() {
        print(context, arguments, &setup.store, &name, &trials, &measured)?;
    }
    Ok(status)
}

/// The drives whose data is given up.
fn targets(arguments: &Layouts, setup: &Setup, files: Option<&Files>) -> Result<Vec<Target>> {
    let words = files.map_or(&arguments.drives, |files| &files.drives);
    if arguments.dry_run && arguments.on_files.is_some() {
        bail_usage!("--on-files creates devices: name drives, or leave out --dry-run");
    }
    if words.is_empty() {
        bail_usage!("no drives: name drives whose data may be lost, or --on-files 1g");
    }
    let targets = resolve_all(&setup.host, words)?;
    if let Some(other) = targets.iter().find(|target| !matches!(target, Target::Block(_))) {
        bail_usage!("{}: expected a drive", other.name());
    }
    Ok(targets)
}

/// Runs by the number of their trial, where there is one, and the exit status: a layout that cannot
/// be built does not keep others from being measured.
fn measure_all(
    context: &Context,
    arguments: &Layouts,
    setup: &mut Setup,
    name: &str,
    trials: &[Trial],
    allowed: &Allowed,
) -> (Vec<(usize, RunRecord)>, u8) {
    let mut measured = Vec::new();
    // Drives that hold data of this command at most.
    let mut ours: BTreeSet<&str> = BTreeSet::new();
    let mut status = 0;
    for (n, trial) in trials.iter().enumerate() {
        let workload = match &trial.workload {
            Ok(workload) => workload,
            Err(error) => {
                terminal::note(&format!("{}: {error}", trial.label));
                status = 3;
                continue;
            }
        };
        if !context.quiet {
            terminal::note(&format!("{} of {}: {}", n + 1, trials.len(), trial.label));
        }
        trial.misfits().for_each(|misfit| terminal::note(&misfit));
        let plan = LayoutPlan {
            layout: trial.layout.clone(),
            drives: trial.drives.clone(),
            names: trial.names.clone(),
        };
        let name = trial.run_name(name);
        let permission = allowed.of(&trial.drives, &ours);
        let ends = match measured_on(context, arguments, setup, workload, plan, &name, permission) {
            Ok(record) => {
                ours.extend(trial.drives.iter().map(String::as_str));
                let ended = record.run.state;
                measured.push((n, record));
                if matches!(ended, RunState::Failed | RunState::Interrupted) {
                    status = 3;
                }
                ended == RunState::Interrupted
            }
            Err(error) => {
                terminal::print_error(&error);
                status = 3;
                let ends = matches!(
                    error.downcast_ref(),
                    Some(CampaignError::Interrupted | CampaignError::Standing { .. })
                );
                // Without a journal nothing is built: the next ones would be refused, too.
                ends || setup.store.aside().is_some()
            }
        };
        if ends {
            break;
        }
    }
    (measured, status)
}

fn measured_on(
    context: &Context,
    arguments: &Layouts,
    setup: &mut Setup,
    workload: &Workload,
    layout: LayoutPlan,
    name: &str,
    permission: Permission,
) -> Result<RunRecord> {
    let mut generator = generator(workload.study.generator, arguments.run_options.fio.as_deref())?;
    let start = StudyRun {
        study: &workload.study,
        points: &workload.points,
        preparing: None,
        targets: &[],
        name,
        resumed: None,
        permission,
        layout: Some(layout),
        all: &workload.points,
        measured: &[],
        skipped: Vec::new(),
    };
    measure(context, setup, start, generator.as_mut())
}

/// The user's permissions, by drive.
struct Allowed(Vec<(String, Permission)>);

impl Allowed {
    /// Checks all permissions before anything is touched.
    fn new(host: &Host, targets: &[Target], permission: &Permission) -> Result<Self> {
        let cleared = targets
            .iter()
            .map(|target| target.clear_for_writing(host, permission))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(word) = unmatched_permissions(permission, &cleared).into_iter().next() {
            return Err(CampaignError::UnusedAllowance(word).into());
        }
        let of =
            |one: &WriteClearance| (one.as_read().name().to_owned(), permission.only_of([one]));
        Ok(Self(cleared.iter().map(of).collect()))
    }

    /// Permission for these drives. Data of earlier trials on those in `ours` may be lost: a drive
    /// may still show it after its blocks were discarded. Such data bears no signature; a signature
    /// means that someone else wrote between two trials.
    fn of(&self, drives: &[String], ours: &BTreeSet<&str>) -> Permission {
        let mut all = Permission::default();
        for (name, own) in self.0.iter().filter(|(name, _)| drives.contains(name)) {
            all.allow_write.extend(own.allow_write.iter().cloned());
            all.discard_data.extend(own.discard_data.iter().cloned());
            if ours.contains(name.as_str()) {
                all.discard_unmarked.extend(own.allow_write.iter().cloned());
            }
            all.assume_unused.extend(own.assume_unused.iter().cloned());
        }
        all
    }
}

/// Size to write and measure of each layout, bytes.
fn size_bytes(arguments: &Layouts, targets: &[Target]) -> Result<u64> {
    let smallest = targets.iter().filter_map(Target::size_bytes).min().unwrap_or(0);
    let most = (smallest as f64 * MAX_DRIVE_SHARE) as u64 >> 20 << 20;
    if most == 0 {
        bail_usage!("the smallest drive is too small: {}", Bytes(smallest).binary());
    }
    let asked = arguments.range.unwrap_or(DEFAULT_BYTES.min(most));
    if asked > most || asked == 0 {
        let (asked, most) = (Bytes(asked).binary(), Bytes(most).binary());
        bail_usage!(
            "--range {asked}: at most {most}, 80 % of the smallest drive, fit every layout"
        );
    }
    Ok(asked)
}

fn print(
    context: &Context,
    arguments: &Layouts,
    store: &Store,
    name: &str,
    trials: &[Trial],
    measured: &[(usize, RunRecord)],
) -> Result<()> {
    let of = |label: &str| {
        measured.iter().find(|(n, _)| trials[*n].label == label).map(|(_, record)| record)
    };
    let all = trials.iter().find(|trial| trial.together);
    let compared = Comparison {
        one: of(BASELINE),
        all: all.and_then(|trial| of(&trial.label)),
        built: measured.iter().map(|(n, record)| (trials[*n].label.as_str(), record)).collect(),
    };
    let is_built = |trial: &Trial| trial.label != BASELINE && !trial.together;
    let is_comparison =
        compared.one.is_some() && measured.iter().any(|(n, _)| is_built(&trials[*n]));
    let own =
        measured.last().filter(|_| store.aside().is_none()).map(|(n, _)| trials[*n].run_name(name));
    let further = own.map_or(Vec::new(), |own| {
        let (own, all) = (shell_word(&own), shell_word(name));
        // The name of all finds nothing where there is none to compare, as after Ctrl-C.
        let all = if is_comparison { all } else { own.clone() };
        let mut commands = vec![("Details", format!("show {own}"))];
        commands.extend(is_comparison.then(|| ("Together", format!("show {all}"))));
        commands.push(("Page", format!("report {all}")));
        let worded = commands.iter().map(|(what, words)| format!("{what}: {}", own_command(words)));
        worded.collect()
    });
    let table = &arguments.run_options.load_options.table;
    // A layout without a run was stopped before, or could not be built.
    let missing = match context.interrupted.load(Ordering::Relaxed) {
        true => RunState::Interrupted,
        false => RunState::Failed,
    };
    let missing = (measured.len() < trials.len()).then_some(missing);
    let states = measured.iter().map(|(_, record)| record.run.state).chain(missing);
    let state = comparison::state_of(states);
    terminal::print(&comparison::shown(context, &compared, state, table, &further)?)
}
