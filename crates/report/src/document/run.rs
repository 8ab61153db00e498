//! Public documents: a run, a list of drives, a list of runs, a list of rules.

use iodyno_model as model;
use iodyno_model::{
    Assessment, EarlierHeadroom, Finding, Predictions, RoundsPlan, RunKind, RunRecord, RunState,
    Scope, Severity, Skipped, Verdict, rfc3339,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::drive::Drive;
use super::facts;
use super::fit::FitDocument;
use super::host::Host;
use super::link::Link;
use super::measurement::Measurement;
use super::read::RUN_SCHEMA;
use super::reported::GroupTotal;
use super::rounds::TargetRounds;
use super::verdict::{RuleReport, Subject};
use crate::text::totals::totals_of;

/// Run with all of its measurements and judgements: `iodyno.run/2`. SI base units (bytes, ns, per
/// second); unknown values are null or absent, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// `iodyno.run/2`.
    pub schema: String,
    /// Identity, time and origin of the run.
    #[serde(flatten)]
    pub head: RunHead,
    /// Machine at the start; null if nothing is known of it.
    #[serde(with = "facts")]
    #[schemars(with = "Option<Host>")]
    pub host: Option<Host>,
    /// NVMe drives.
    #[serde(with = "facts")]
    #[schemars(with = "Vec<Drive>")]
    pub drives: Vec<Drive>,
    /// PCIe links from root ports to drives and cards.
    #[serde(with = "facts")]
    #[schemars(with = "Vec<Link>")]
    pub links: Vec<Link>,
    /// Executed plan.
    pub plan: Plan,
    /// Scope; absent in earlier versions: the machine.
    #[serde(default)]
    pub scope: Scope,
    /// Requested targets.
    pub targets: Vec<String>,
    /// Measurements, in order of time.
    pub measurements: Vec<Measurement>,
    /// Totals of jobs that ran at the same time; absent if no group has several jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_totals: Vec<GroupTotal>,
    /// Progress of a plan in rounds, by target; absent for other plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Vec<TargetRounds>>,
    /// Predictions from the measurements of a sweep; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Predictions>,
    /// Headroom of the drives in earlier runs in the store; only with `check`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_headroom: Vec<EarlierHeadroom>,
    /// Requirements of an application and their results; only with `iodyno fit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitDocument>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Results of the rules.
    pub rules: Vec<RuleReport>,
    /// Version of the rules.
    pub ruleset: String,
    /// Requested but not done.
    pub skipped: Vec<Skipped>,
    /// Verdict on each drive or target.
    pub subjects: Vec<Subject>,
    /// Overall verdict.
    pub verdict: Verdict,
    /// 0 passed, 1 a FAIL, 2 bad usage or unusable target, 3 interrupted or a measurement failed, 4
    /// something requested could not be judged.
    pub exit_status: u8,
}

/// Identity, time and origin of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunHead {
    /// UUIDv7.
    pub id: String,
    /// Name.
    pub name: String,
    /// The command as it was typed.
    pub command: String,
    /// State of the run.
    pub state: RunState,
    /// Start, RFC 3339.
    pub started: String,
    /// End, RFC 3339; null: not finished.
    pub ended: Option<String>,
    /// iodyno version that wrote it.
    pub writer: String,
    /// Origin of the results.
    pub origin: Origin,
    /// Number of measurements that it had each time it was resumed; absent: never.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_at: Vec<usize>,
    /// Step of an acceptance; only with `iodyno accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<model::Accepted>,
}

/// Origin of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Kind of origin.
    pub kind: OriginKind,
    /// Source of an import; null if not imported.
    pub from: Option<String>,
}

/// Kind of origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// Measured on a machine.
    Measured,
    /// Measured on a simulated drive.
    Simulated,
    /// Imported from the output of another tool.
    Imported,
}

/// Plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Kind of run; absent in earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RunKind>,
    /// Name.
    pub name: String,
    /// TOML text; of `run` the fio job file.
    pub toml: String,
    /// Rounds; absent for other plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsPlan>,
}

/// Drives of a machine: `iodyno.list/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListDocument {
    /// `iodyno.list/1`.
    pub schema: String,
    /// Machine.
    #[serde(with = "facts")]
    #[schemars(with = "Host")]
    pub host: Host,
    /// NVMe drives.
    #[serde(with = "facts")]
    #[schemars(with = "Vec<Drive>")]
    pub drives: Vec<Drive>,
    /// PCIe links from root ports to drives and cards.
    #[serde(with = "facts")]
    #[schemars(with = "Vec<Link>")]
    pub links: Vec<Link>,
}

/// Runs of a store, newest first: `iodyno.runs/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunsDocument {
    /// `iodyno.runs/1`.
    pub schema: String,
    /// Runs.
    pub runs: Vec<RunSummary>,
}

/// Run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Identity, time and origin.
    #[serde(flatten)]
    pub head: RunHead,
    /// Name of the plan.
    pub plan: String,
    /// Requested targets.
    pub targets: Vec<String>,
}

/// Rules: `iodyno.rules/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RulesDocument {
    /// `iodyno.rules/1`.
    pub schema: String,
    /// Rules, in the order in which they are applied.
    pub rules: Vec<Rule>,
}

/// Rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// Id.
    pub id: String,
    /// Worst severity of its findings.
    pub severity: Severity,
    /// One sentence on its subject.
    pub summary: String,
}

/// Builds the document of a run and its judgement. `exit_status` is the exit status of the command.
pub fn run_document(record: &RunRecord, assessment: &Assessment, exit_status: u8) -> RunDocument {
    let run = &record.run;
    let host = record.host();
    let is_together = run.accepted.as_ref().is_some_and(|of| of.start_at.is_some());
    RunDocument {
        schema: RUN_SCHEMA.into(),
        head: RunHead::of(run),
        host: host.map(Host::from),
        drives: host.map_or(Vec::new(), drives),
        links: host.map_or(Vec::new(), links),
        plan: Plan {
            kind: Some(run.kind),
            name: run.plan_name.clone(),
            toml: run.plan.clone(),
            rounds: run.rounds.clone(),
        },
        scope: run.scope,
        targets: run.targets.clone(),
        measurements: record
            .measurements
            .iter()
            .enumerate()
            .map(|(index, measurement)| {
                let of = Measurement::new(measurement, assessment.of(index));
                if is_together { of.mergeable(measurement) } else { of }
            })
            .collect(),
        group_totals: totals_of(record).iter().map(GroupTotal::from).collect(),
        rounds: run.rounds.as_ref().map(|plan| TargetRounds::of(&plan.rounds, record)),
        outlook: None,
        earlier_headroom: Vec::new(),
        fit: FitDocument::of(record, assessment),
        findings: assessment.findings.clone(),
        rules: assessment.rules.iter().map(RuleReport::from).collect(),
        ruleset: assessment.ruleset.clone(),
        skipped: run.skipped.clone(),
        subjects: assessment.subjects.iter().map(Subject::from).collect(),
        verdict: assessment.verdict,
        exit_status,
    }
}

/// Builds the document of a machine's drives.
pub fn list_document(host: &model::Host) -> ListDocument {
    ListDocument {
        schema: "iodyno.list/1".into(),
        host: Host::from(host),
        drives: drives(host),
        links: links(host),
    }
}

/// Builds the document of a store's runs, in the order given.
pub fn runs_document(runs: &[model::Run]) -> RunsDocument {
    RunsDocument {
        schema: "iodyno.runs/1".into(),
        runs: runs
            .iter()
            .map(|run| RunSummary {
                head: RunHead::of(run),
                plan: run.plan_name.clone(),
                targets: run.targets.clone(),
            })
            .collect(),
    }
}

/// Builds the document of rules: (id, worst severity, summary), in the order given.
pub fn rules_document<'a>(
    rules: impl IntoIterator<Item = (&'a str, model::Severity, &'a str)>,
) -> RulesDocument {
    RulesDocument {
        schema: "iodyno.rules/1".into(),
        rules: rules
            .into_iter()
            .map(|(id, severity, summary)| Rule {
                id: id.into(),
                severity,
                summary: summary.into(),
            })
            .collect(),
    }
}

impl RunHead {
    fn of(run: &model::Run) -> Self {
        Self {
            id: run.id.clone(),
            name: run.name.clone(),
            command: run.command.clone(),
            state: run.state,
            started: rfc3339(run.started_ns),
            ended: run.ended_ns.map(rfc3339),
            writer: run.writer.clone(),
            origin: Origin::from(&run.origin),
            resumed_at: run.resumed_at.clone(),
            accepted: run.accepted.clone(),
        }
    }
}

fn drives(host: &model::Host) -> Vec<Drive> {
    host.drives.iter().map(|drive| Drive::new(drive, host)).collect()
}

fn links(host: &model::Host) -> Vec<Link> {
    host.links.iter().map(Link::from).collect()
}

impl From<&model::Origin> for Origin {
    fn from(origin: &model::Origin) -> Self {
        let (kind, from) = match origin {
            model::Origin::Measured => (OriginKind::Measured, None),
            model::Origin::Simulated => (OriginKind::Simulated, None),
            model::Origin::Imported(from) => (OriginKind::Imported, Some(from.clone())),
        };
        Self { kind, from }
    }
}
