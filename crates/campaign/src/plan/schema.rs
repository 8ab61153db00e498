//! Job options in the JSON schema of plans.

use std::borrow::Cow;

use iodyno_job::options;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// Job options, each with a value.
pub(super) struct OptionValues;

/// Job options, each with several values.
pub(super) struct OptionGrid;

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

/// Types of an option's value.
const VALUE: [&str; 4] = ["string", "integer", "number", "boolean"];

/// Object with all job options, each of this form.
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
