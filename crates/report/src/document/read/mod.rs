//! Reads runs back from the public document, such as those of another host.
//!
//! Data that a document does not hold stays unknown: series, bins of latencies (its percentiles are
//! read as stated ones), all snapshots but the first. What was found by them is read as found: else
//! a run is judged anew wherever it is read.

mod measurement;

use iodyno_model::{
    EarlierJudgement, Host, Origin, Permitted, Purpose, Run, RunKind, RunRecord, parse_rfc3339,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::run::{OriginKind, Plan, RunDocument};
use super::verdict::{Outcome, RuleReport};

/// Schema that is written and read.
pub const RUN_SCHEMA: &str = "iodyno.run/2";
/// Earlier schema; its caveats were plain sentences.
const SCHEMA_1: &str = "iodyno.run/1";

/// Error in reading run documents.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// Damaged, or not JSON at all.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// JSON of iodyno, but not a run, or of a later version.
    #[error("schema is {0:?}, expected {RUN_SCHEMA:?} (`--json` of check, run and show)")]
    Schema(String),
    /// Names the schema, but does not conform to it.
    #[error("not {RUN_SCHEMA}: {0}")]
    Member(serde_json::Error),
    /// Invalid time.
    #[error("{0:?} is not a time (expected RFC 3339)")]
    Time(String),
}

/// Parses the runs in a text that holds one document, or an array of them as written by `runs
/// export`.
///
/// # Errors
/// The text is not JSON, or a different document.
pub fn read_runs(text: &str) -> Result<Vec<RunRecord>, DocumentError> {
    let read = documents(text).map_err(|error| schema_error(text).unwrap_or(error));
    let all: Vec<RunDocument> = read?;
    all.iter().try_for_each(|of| check_schema(&of.schema))?;
    all.into_iter().map(record).collect()
}

/// Returns the error for a text that holds documents of another schema.
fn schema_error(text: &str) -> Option<DocumentError> {
    let heads: Vec<Head> = documents(text).ok()?;
    heads.iter().find_map(|of| check_schema(of.schema.as_str().unwrap_or_default()).err())
}

fn check_schema(schema: &str) -> Result<(), DocumentError> {
    match schema {
        RUN_SCHEMA | SCHEMA_1 => Ok(()),
        other => Err(DocumentError::Schema(other.into())),
    }
}

/// First member of a document.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Value,
}

/// Parses one document or an array of them. Parsing through a `Value` as well would double the
/// generated code.
pub(crate) fn documents<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, DocumentError> {
    match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text),
        false => serde_json::from_str(text).map(|one| vec![one]),
    }
    .map_err(|error| match error.is_data() {
        true => DocumentError::Member(error),
        false => DocumentError::NotJson(error),
    })
}

fn record(document: RunDocument) -> Result<RunRecord, DocumentError> {
    let host = document.host.map(|host| host.read(document.drives, document.links));
    let snapshots: Vec<Host> = host.into_iter().collect();
    let first = (!snapshots.is_empty()).then_some(0);
    let is_clear = |rule: &&RuleReport| rule.outcome == Outcome::Clear;
    let judged = EarlierJudgement {
        ruleset: document.ruleset,
        findings: document.findings,
        clear: document.rules.iter().filter(is_clear).map(|rule| rule.id.clone()).collect(),
        reasons: document.measurements.iter().map(|of| of.reasons.clone()).collect(),
    };
    let (head, plan) = (document.head, document.plan);
    let Plan { kind, name, toml, rounds } = plan;
    let (kind, rounds) = match kind {
        Some(kind) => (kind, rounds),
        None => RunKind::from_earlier_version(&name, &toml),
    };
    let read = |one| {
        let mut of = measurement::measurement(one, first)?;
        if of.purpose.is_measure() {
            of.purpose = Purpose::from_earlier_version(kind, &of);
        }
        Ok(of)
    };
    let measurements: Result<_, DocumentError> = document.measurements.iter().map(read).collect();
    Ok(RunRecord {
        run: Run {
            id: head.id,
            name: head.name,
            command: head.command,
            state: head.state,
            is_alive: false,
            pid: None,
            is_copy: true,
            started_ns: time_ns(&head.started)?,
            ended_ns: head.ended.as_deref().map(time_ns).transpose()?,
            writer: head.writer,
            kind,
            plan_name: name,
            plan: toml,
            rounds,
            origin: match head.origin.kind {
                OriginKind::Measured => Origin::Measured,
                OriginKind::Simulated => Origin::Simulated,
                OriginKind::Imported => Origin::Imported(head.origin.from.unwrap_or_default()),
            },
            scope: document.scope,
            targets: document.targets,
            skipped: document.skipped,
            layout: None,
            permitted: Permitted::default(),
            resumed_at: head.resumed_at,
            accepted: head.accepted,
            judged: Some(Box::new(judged)),
        },
        snapshots,
        measurements: measurements?,
    })
}

/// Parses RFC 3339 into ns since 1970 UTC.
fn time_ns(text: &str) -> Result<i64, DocumentError> {
    parse_rfc3339(text).ok_or_else(|| DocumentError::Time(text.into()))
}
