//! The JSON schema of plans, for editors that complete and check TOML by one.

use std::borrow::Cow;

use iodyno_job::options;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::plan::PlanForm;
use crate::study::Study;

/// The schema: a plan is a study, or steps as `iodyno check` has them.
pub fn plan_schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let study = generator.subschema_for::<Study>();
    let steps = generator.subschema_for::<PlanForm>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "iodyno.plan/1",
        "description": "A plan: what is measured, in which order, and until when.",
        "anyOf": [study, steps],
        "$defs": generator.take_definitions(true),
    })
}

/// Options of jobs, each with a value.
pub(crate) struct OptionValues;

/// Options of jobs, each with several values.
pub(crate) struct OptionGrid;

impl JsonSchema for OptionValues {
    fn schema_name() -> Cow<'static, str> {
        "OptionValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        by_option(&json!({ "type": VALUE }))
    }
}

impl JsonSchema for OptionGrid {
    fn schema_name() -> Cow<'static, str> {
        "OptionGrid".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        by_option(&json!({ "type": "array", "items": { "type": VALUE }, "minItems": 1 }))
    }
}

/// What an option is set to.
const VALUE: [&str; 4] = ["string", "integer", "number", "boolean"];

/// An object of all options that jobs have, each of this form.
fn by_option(form: &Value) -> Schema {
    let mut properties = Map::new();
    for option in options() {
        let mut own = form.clone();
        own["description"] = option.help.into();
        for name in [option.name].iter().chain(option.aliases) {
            properties.insert((*name).to_owned(), own.clone());
        }
    }
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}
