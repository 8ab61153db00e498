//! Public JSON documents: the model plus derived values. Only what differs from the model in place
//! or shape has types of its own, each with its reason. The JSON schemas are in docs/schema and
//! checked by a test.

pub mod account;
pub mod bins;
pub mod comparison;
pub mod drive;
mod explain;
mod facts;
mod fit;
mod history;
pub mod host;
mod layouts;
pub mod link;
pub mod measurement;
pub mod mergeable;
pub mod read;
pub mod reported;
mod rounds;
mod run;
pub mod stream;
mod top;
mod trace;
mod tree;
pub mod verdict;

pub use comparison::{CompareDocument, compare_document};
pub use explain::{ExplainDocument, explain_document};
pub use fit::{FitBound, FitDocument, FitQuantity, FitSetting};
pub use history::{HistoryDocument, PastState, history_document};
pub use layouts::{LayoutsDocument, layouts_document};
pub use rounds::{TargetRounds, TrackedFigure, TrackedWindow};
pub use run::{
    ListDocument, Origin, OriginKind, Plan, Rule, RulesDocument, RunDocument, RunSummary,
    RunsDocument, list_document, rules_document, run_document, runs_document,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
pub use top::{TopDocument, TopDrive, TopRates};
pub use trace::{ModelDocument, TraceDocument};
pub use tree::{TreeDocument, tree_document};

/// Returns the JSON schemas by file name: `iodyno.run.2.json`, ….
pub fn schemas() -> Vec<(&'static str, Value)> {
    fn schema<T: JsonSchema>() -> Value {
        let facts = schemars::transform::RecursiveTransform(facts::adapt_schema);
        let settings = SchemaSettings::default().with_transform(facts);
        settings.into_generator().into_root_schema_for::<T>().to_value()
    }
    vec![
        ("iodyno.run.2.json", schema::<RunDocument>()),
        ("iodyno.list.1.json", schema::<ListDocument>()),
        ("iodyno.history.1.json", schema::<HistoryDocument>()),
        ("iodyno.runs.1.json", schema::<RunsDocument>()),
        ("iodyno.compare.1.json", schema::<CompareDocument>()),
        ("iodyno.explain.1.json", schema::<ExplainDocument>()),
        ("iodyno.layouts.1.json", schema::<LayoutsDocument>()),
        ("iodyno.rules.1.json", schema::<RulesDocument>()),
        ("iodyno.stream.1.json", schema::<stream::StreamRecord>()),
        ("iodyno.top.1.json", schema::<TopDocument>()),
        ("iodyno.trace-summary.1.json", schema::<TraceDocument>()),
        ("iodyno.trace-model.1.json", schema::<ModelDocument>()),
        ("iodyno.tree.1.json", schema::<TreeDocument>()),
    ]
}
