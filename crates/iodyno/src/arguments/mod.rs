//! The command line.

mod accept;
mod check;
mod compare;
mod completions;
mod environment;
mod explain;
mod export;
mod fit;
mod global;
mod groups;
mod import;
mod layouts;
mod model;
#[cfg(test)]
mod names_tests;
mod plot;
mod prepare;
mod record;
mod replay;
mod report;
mod run;
mod shared_args;
mod sweep;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use iodyno_judge::rules;
use iodyno_report::export::{Command as Exporting, Format};

pub(crate) use accept::Accept;
pub(crate) use check::Check;
pub(crate) use compare::Compare;
pub(crate) use completions::{Complete, Completions, ManPages};
pub(crate) use environment::MachineOptions;
pub(crate) use explain::Explain;
pub(crate) use export::{Export, formats};
pub(crate) use fit::Fit;
pub(crate) use global::{DriveTable, Generator, Global, LiveView, Table, When, time};
pub(crate) use groups::{brief, grouped};
pub(crate) use import::Import;
pub(crate) use layouts::Layouts;
pub(crate) use model::Model;
pub(crate) use plot::Plot;
pub(crate) use prepare::{Prepare, Purge};
pub(crate) use record::Record;
pub(crate) use replay::Replay;
pub(crate) use report::Report;
pub(crate) use run::Run;
pub(crate) use shared_args::{
    DataSheets, ExecPermission, LiveOutput, LoadOptions, RunGenerator, RunName, RunOptions,
    StopCriteria, WritePermissions, percent,
};
pub(crate) use sweep::{Resume, Sweep, SweepOrder, WriteCache};

/// A dynamometer for NVMe storage: is it what it should be, how fast is it
/// really, and what limits it?
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  sudo iodyno check
  iodyno run random-read.fio
  sudo iodyno explain /dev/nvme0n1
  iodyno compare before after
  iodyno report last -o report.html

Exit status: 0 no FAIL, 1 at least one FAIL, 2 bad usage or unusable target, \
    3 interrupted or a measurement failed, 4 something could not be judged (--require-verdict), \
    measured or read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify drives, links, health and speed, without a write to a device
    Check(Check),
    /// Accept a node: a profile's steps in bounded time, one document, pushed
    Accept(Accept),
    /// Run fio job files, or jobs given as on fio's command line
    Run(Run),
    /// Behave exactly as fio: its options, output and exit status
    #[command(
        disable_help_flag = true,
        disable_version_flag = true,
        override_usage = "iodyno fio [FIO'S OPTIONS] FILE...\n       fio ... (a link of this name)",
        after_help = "\
Examples:
  iodyno fio random-read.fio
  iodyno fio --name=t --filename=data --rw=randread --size=1m --output-format=json

All options are fio's, --help included; docs/reference/fio.md lists the differences."
    )]
    Fio(Run),
    /// Purge and precondition drives, so that their state is known
    Prepare(Prepare),
    /// Run every combination of options until each result is precise enough
    Sweep(Sweep),
    /// Tell whether an application will run well here, and print its settings
    Fit(Fit),
    /// Continue a sweep or preparation that was stopped or killed
    Resume(Resume),
    /// Build LVM, md RAID and file systems, measure each, and take them down
    Layouts(Layouts),
    /// Show the host and its drives
    List(List),
    /// Show what drives do right now, without a load of its own
    Top(Top),
    /// Record which I/Os the kernel gives to a drive, as a trace
    Record(Record),
    /// Replay a trace's I/Os on a device or file, at their times
    Replay(Replay),
    /// Make a small model of a trace, which can be shared and replayed
    Model(Model),
    /// List stored runs, export or remove some
    Runs(Runs),
    /// Print a stored run, judged by today's rules, or a trace's summary
    Show(Show),
    /// Import fio's output, iodyno's from another machine, or a trace
    Import(Import),
    /// Find what limits a workload, by experiment or from results
    Explain(Explain),
    /// Compare runs, files or folders, workload by workload
    Compare(Compare),
    /// Write one HTML page with verdicts, evidence and figures
    Report(Report),
    /// Draw a figure from runs, files or folders
    Plot(Plot),
    /// List the rules behind the verdicts, or explain one
    Rules(Rules),
    /// Capture this machine's description for a bug report
    Capture(Capture),
    /// Remove leftovers of a killed run
    CleanUp(CleanUp),
    /// Print a shell's completion script
    Completions(Completions),
    /// Answer a shell's completion script
    #[command(hide = true, name = "__complete")]
    Complete(Complete),
    /// Write the manual pages
    #[command(hide = true)]
    Man(ManPages),
}

impl Command {
    /// Option that asks for another output than JSON. clap sees such a conflict only if `--json` stands
    /// after the command.
    pub(crate) fn beside_json(&self) -> Option<&'static str> {
        let (format, option) = match self {
            Self::Check(check) => (check.format.is_some(), "--format"),
            Self::Compare(compare) => (compare.format.is_some(), "--format"),
            Self::Show(show) if show.details => (true, "--details"),
            Self::Show(show) => (show.format.is_some(), "--format"),
            Self::Accept(accept) => (accept.drain_hint, "--drain-hint"),
            Self::Runs(Runs { action: Some(RunsAction::Export(export)), .. }) => {
                (export.format.name() != "json", "--format")
            }
            _ => (false, ""),
        };
        format.then_some(option)
    }

    /// Name of the command if it prints no JSON: `--json` must not be ignored.
    pub(crate) fn without_json(&self) -> Option<&'static str> {
        let action = |runs: &Runs| match &runs.action {
            Some(RunsAction::Fleet(_)) => Some("runs fleet"),
            Some(RunsAction::Rm { .. }) => Some("runs rm"),
            Some(RunsAction::Prune { .. }) => Some("runs prune"),
            Some(RunsAction::Push) => Some("runs push"),
            Some(RunsAction::Export(_)) | None => None,
        };
        match self {
            Self::Prepare(prepare) if prepare.dry_run => Some("prepare --dry-run"),
            Self::Sweep(sweep) if sweep.list => Some("sweep --list"),
            Self::Sweep(sweep) if sweep.dry_run => Some("sweep --dry-run"),
            Self::Accept(accept) if accept.list => Some("accept --list"),
            Self::Fit(fit) if fit.list => Some("fit --list"),
            Self::Fit(fit) if fit.explain => Some("fit --explain"),
            Self::Fit(fit) if fit.dry_run => Some("fit --dry-run"),
            Self::Layouts(layouts) if layouts.dry_run => Some("layouts --dry-run"),
            Self::Runs(runs) => action(runs),
            Self::Report(_) => Some("report"),
            Self::Plot(_) => Some("plot"),
            Self::Capture(_) => Some("capture"),
            Self::CleanUp(_) => Some("clean-up"),
            Self::Completions(_) => Some("completions"),
            Self::Man(_) => Some("man"),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno list
  iodyno list --tree
  iodyno list --columns name,model,serial
  iodyno list --history")]
pub(crate) struct List {
    /// Print the history of each drive from this store
    #[arg(long, conflicts_with = "tree")]
    pub(crate) history: bool,
    /// Print the topology: root complexes, links, switches, drives, and the partitions, arrays,
    /// volumes and file systems on them
    #[arg(long, conflicts_with_all = ["wide", "columns"])]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) table: DriveTable,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno top
  iodyno top nvme0 nvme1
  iodyno top --once --json")]
pub(crate) struct Top {
    /// Drives, namespaces or block devices (nvme0, nvme0n1, /dev/sda) [default: every drive]
    #[arg(value_name = "DRIVE")]
    pub(crate) devices: Vec<String>,
    /// Print one interval and end; with --json one document
    #[arg(long)]
    pub(crate) once: bool,
    /// Interval for rates and latencies
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub(crate) interval: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno rules
  iodyno rules link-degraded")]
pub(crate) struct Rules {
    /// Name of the rule to explain [default: list all rules]
    #[arg(value_name = "RULE", value_parser = ids(), hide_possible_values = true)]
    pub(crate) id: Option<String>,
}

fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(rules().map(|rule| rule.id))
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno runs
  iodyno runs export last > run.json
  iodyno runs fleet hosts/
  iodyno runs rm before
  iodyno runs prune --keep 20")]
pub(crate) struct Runs {
    /// List all, not only the newest 20
    #[arg(long)]
    pub(crate) all: bool,
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// Export results as JSON, CSV or Parquet
    Export(Export),
    /// Compare the drives of many hosts by class, outliers first
    Fleet(Fleet),
    /// Push documents of `accept` that are still in the outbox
    #[command(after_help = "\
Examples:
  iodyno runs push

Exit status: 0 all pushed, 4 some are left.")]
    Push,
    /// Remove runs
    #[command(after_help = "\
Examples:
  iodyno runs rm before
  iodyno runs rm last")]
    Rm {
        /// Ids, names, or `last`
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Remove all but the newest runs
    #[command(after_help = "\
Examples:
  iodyno runs prune --keep 20")]
    Prune {
        /// Runs to keep
        #[arg(long, value_name = "N")]
        keep: usize,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno runs fleet
  iodyno runs fleet hosts/ --wide
  iodyno runs fleet hosts/ --format work-list > work.csv
  iodyno runs fleet hosts/ --format together

A postgres:// or s3:// URL stands for all documents that nodes pushed there; credentials are where \
`accept --push` has them.

Exit status: 0 printed, 2 bad usage or nothing readable, 4 part of the input could not be read.")]
pub(crate) struct Fleet {
    /// Runs (ids, names, `last`), files, folders, s3:// or postgres:// URLs, @FILE or env:NAME
    /// [default: every run in the store]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Print reasons in full, however wide
    #[arg(long)]
    pub(crate) wide: bool,
    /// Print something else instead of the table
    #[arg(long, value_enum)]
    pub(crate) format: Option<FleetFormat>,
    /// Racks of hosts, for the work list: CSV with the columns host and rack
    #[arg(long, value_name = "FILE")]
    pub(crate) places: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetFormat {
    /// CSV of the drives with something wrong: rack, host, slot, serial, what to do
    WorkList,
    /// Gauges for node_exporter's textfile collector
    Openmetrics,
    /// Nodes of `accept --start-at` combined: rates, percentiles of all latencies
    Together,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno show
  iodyno show -v last
  iodyno show after --baseline before
  iodyno show fio.json
  iodyno show last --format openmetrics > iodyno.prom")]
pub(crate) struct Show {
    /// A run (id, name, `last`), a file or a folder, or a trace
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Print everything: host, conditions, evidence, all findings and undecided rules
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Compare with an earlier run: its id, its name, or `last`
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
    /// Print another tool's format instead of text
    #[arg(long, value_parser = formats(Exporting::Show), value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    /// Also print latency classes, queue depths, sampled rates and disk statistics
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) details: bool,
    #[command(flatten)]
    pub(crate) table: DriveTable,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo iodyno capture server7.json
  sudo iodyno capture server7/ --mask-serials
  iodyno --sysroot server7.json check --no-load")]
pub(crate) struct Capture {
    /// Folder to create, or one file if the name ends in .json
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Mask serial numbers
    #[arg(long)]
    pub(crate) mask_serials: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo iodyno clean-up
  sudo iodyno clean-up before")]
pub(crate) struct CleanUp {
    /// Only leftovers of this run
    pub(crate) run: Option<String>,
    /// Vouch that the run has ended, where iodyno cannot tell (started by an earlier version)
    #[arg(long, requires = "run")]
    pub(crate) ended: bool,
    /// Vouch that the run was made on this host (its machine id changed), or that its host is gone for good
    #[arg(long, requires = "run")]
    pub(crate) here: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Arguments::command().debug_assert();
    }

    /// Other lines than those of examples and tables are broken by the width of the terminal.
    #[test]
    fn no_sentence_of_a_help_is_broken_by_hand() {
        let all = super::Arguments::command();
        for command in all.get_subcommands().flat_map(|of| of.get_subcommands().chain([of])) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let sentences = help.split("\n\n").filter(|of| !of.contains("\n  "));
            sentences.for_each(|of| assert!(!of.contains('\n'), "{}: {of}", command.get_name()));
        }
    }
}
