//! The part of a node's run with an agreed start that is needed to combine it with other nodes.

use iodyno_model::{Accepted, Direction, Histogram, Rank, RunRecord, parse_rfc3339};
use serde::Deserialize;

use crate::document::measurement::{DirectionResult, End, Measurement};
use crate::document::mergeable::Stretch;
use crate::document::read::{DocumentError, RUN_SCHEMA, documents};

/// Run of one node that started together with others.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRun {
    /// The agreed start.
    pub(super) moment: Moment,
    /// Identity of the node (name, host id, rank): a later run of the same node replaces this one.
    pub(super) node: (String, Option<String>, Option<Rank>),
    pub(super) id: String,
    pub(super) started_ns: i64,
    pub(super) clock_error_ns: Option<u64>,
    pub(super) loads: Vec<Load>,
}

/// Start that nodes agreed on, and the step that started then.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Time, ns since 1970 UTC.
    pub at_ns: i64,
    /// Profile of `iodyno accept`.
    pub profile: String,
    /// Step of the profile, from 1.
    pub step: u32,
}

/// Load on one node: one direction of one measurement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Load {
    pub(super) of: LoadKey,
    pub(super) targets: Vec<String>,
    /// Start of the measurement, ns since 1970 UTC by the node's clock.
    pub(super) began_ns: i64,
    /// Measured interval, without warm-up, ns since `began_ns`.
    pub(super) measured_ns: (u64, u64),
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) seconds: Vec<Stretch>,
    pub(super) latency: Histogram,
}

/// Key by which loads of several nodes are combined.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadKey {
    /// Phase within the run.
    pub phase: u32,
    /// Round of a plan in rounds.
    pub round: Option<u32>,
    /// Name of the measurement.
    pub measurement: String,
    /// `rw` of its job.
    pub rw: Option<String>,
    /// Block size in bytes.
    pub bs: Option<u64>,
    /// Direction.
    pub direction: Direction,
}

/// Document members that are needed.
#[derive(Deserialize)]
struct Document {
    schema: String,
    id: String,
    started: String,
    #[serde(default)]
    accepted: Option<Accepted>,
    #[serde(default)]
    measurements: Vec<Measurement>,
}

impl NodeRun {
    /// Reduces a run; `None`: it had no agreed start.
    pub fn of(record: &RunRecord) -> Option<Self> {
        let run = &record.run;
        let loads = || {
            let public = |of| Measurement::new(of, None).mergeable(of);
            record.measurements.iter().flat_map(|of| loads(&public(of))).collect()
        };
        Self::new(run.accepted.as_ref()?, &run.id, run.started_ns, loads)
    }

    /// Reads the documents in a text, those of runs with an agreed start. `None`: written by an
    /// earlier version, so that they must be read in full.
    ///
    /// # Errors
    /// The text is not JSON, or a document of another kind.
    pub fn of_documents(text: &str) -> Result<Option<Vec<Self>>, DocumentError> {
        let documents: Vec<Document> = documents(text)?;
        if documents.iter().any(|one| one.schema != RUN_SCHEMA) {
            return Ok(None);
        }
        let mut runs = Vec::new();
        for of in documents {
            let Some(accepted) = &of.accepted else { continue };
            let started_ns = parse_rfc3339(&of.started).ok_or(DocumentError::Time(of.started))?;
            let loads = || of.measurements.iter().flat_map(loads).collect();
            runs.extend(Self::new(accepted, &of.id, started_ns, loads));
        }
        Ok(Some(runs))
    }

    fn new(
        accepted: &Accepted,
        id: &str,
        started_ns: i64,
        loads: impl FnOnce() -> Vec<Load>,
    ) -> Option<Self> {
        let at_ns = parse_rfc3339(accepted.start_at.as_deref()?)?;
        let moment = Moment { at_ns, profile: accepted.profile.clone(), step: accepted.step };
        let node = (accepted.node.clone(), accepted.host_id.clone(), accepted.rank.clone());
        let clock_error_ns = accepted.clock_error_ns;
        Some(Self { moment, node, id: id.to_owned(), started_ns, clock_error_ns, loads: loads() })
    }
}

/// Mergeable directions of a measurement; none if it failed.
fn loads(of: &Measurement) -> Vec<Load> {
    if of.end == End::Failed {
        return Vec::new();
    }
    let load = |(direction, result): (Direction, &DirectionResult)| {
        let mergeable = result.mergeable.as_ref()?;
        let end_ns = of.warmup_ns.saturating_add(of.duration_ns?);
        Some(Load {
            of: LoadKey {
                phase: of.phase,
                round: of.round,
                measurement: of.name.clone(),
                rw: of.workload.rw.clone(),
                bs: of.workload.bs,
                direction,
            },
            targets: of.targets.clone(),
            began_ns: parse_rfc3339(of.started.as_deref()?)?,
            measured_ns: (of.warmup_ns, end_ns),
            ios: result.ios?,
            bytes: result.bytes?,
            seconds: mergeable.seconds.clone(),
            latency: mergeable.latency.histogram(),
        })
    };
    of.results.each().filter_map(load).collect()
}
