//! The public JSON documents. They have their own types: serde on the model is
//! the store's format and is never printed. Their JSON schemas stand in
//! docs/schema and are compared in a test.

pub mod account;
pub mod comparison;
mod conditions;
pub mod drive;
pub mod estimate;
mod explain;
pub mod host;
pub mod measurement;
pub mod read;
mod rounds;
mod run;
pub mod verdict;

pub use comparison::{CompareDocument, compare_document};
pub use explain::{ExplainDocument, explain_document};
pub use rounds::{TargetRounds, TrackedFigure, TrackedWindow};
pub use run::{
    ListDocument, Origin, OriginKind, Plan, Rule, RulesDocument, RunDocument, RunSummary,
    RunsDocument, Skipped, State, list_document, rules_document, run_document, runs_document,
};
use serde_json::Value;

/// The JSON schemas by file name: `iodyno.run.1.json`, ….
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("iodyno.run.1.json", schemars::schema_for!(RunDocument).to_value()),
        ("iodyno.list.1.json", schemars::schema_for!(ListDocument).to_value()),
        ("iodyno.runs.1.json", schemars::schema_for!(RunsDocument).to_value()),
        ("iodyno.compare.1.json", schemars::schema_for!(CompareDocument).to_value()),
        ("iodyno.explain.1.json", schemars::schema_for!(ExplainDocument).to_value()),
        ("iodyno.rules.1.json", schemars::schema_for!(RulesDocument).to_value()),
    ]
}
