//! The public JSON documents. They have their own types: serde on the model is
//! the store's format and is never printed. Their JSON schemas stand in
//! docs/schema and are compared in a test.

pub mod account;
pub mod comparison;
mod conditions;
pub mod control_group;
pub mod drive;
pub mod estimate;
mod explain;
mod history;
pub mod host;
pub mod iommu;
mod layouts;
pub mod link;
pub mod measurement;
pub mod ocp_log;
mod outlook;
pub mod read;
pub mod reported;
mod rounds;
mod run;
pub mod stack;
pub mod subsystem;
mod tree;
pub mod verdict;

pub use comparison::{CompareDocument, compare_document};
pub use explain::{ExplainDocument, explain_document};
pub use history::{HistoryDocument, PastCondition, PastState, history_document};
pub use layouts::{LayoutResult, LayoutWorkload, LayoutsDocument, layouts_document};
pub use outlook::{Knee, Outlook, Peak, PeakUnder, Prediction};
pub use rounds::{TargetRounds, TrackedFigure, TrackedWindow};
pub use run::{
    ListDocument, Origin, OriginKind, Plan, Rule, RulesDocument, RunDocument, RunSummary,
    RunsDocument, Skipped, State, list_document, rules_document, run_document, runs_document,
};
use serde_json::Value;
pub use tree::{TreeDocument, tree_document};

/// The JSON schemas by file name: `iodyno.run.2.json`, ….
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("iodyno.run.2.json", schemars::schema_for!(RunDocument).to_value()),
        ("iodyno.list.1.json", schemars::schema_for!(ListDocument).to_value()),
        ("iodyno.history.1.json", schemars::schema_for!(HistoryDocument).to_value()),
        ("iodyno.runs.1.json", schemars::schema_for!(RunsDocument).to_value()),
        ("iodyno.compare.1.json", schemars::schema_for!(CompareDocument).to_value()),
        ("iodyno.explain.1.json", schemars::schema_for!(ExplainDocument).to_value()),
        ("iodyno.layouts.1.json", schemars::schema_for!(LayoutsDocument).to_value()),
        ("iodyno.rules.1.json", schemars::schema_for!(RulesDocument).to_value()),
        ("iodyno.tree.1.json", schemars::schema_for!(TreeDocument).to_value()),
    ]
}
