//! JSON form of facts. The store keeps for each fact whether it was stated and why it is unknown;
//! readers of a document get the value or null instead, and the reasons in `unknown` beside it.

use iodyno_model::Fact;
use schemars::Schema;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

const UNKNOWN: &str = "unknown";

/// Serializes the model with its facts in document form, for `#[serde(with = "facts")]`.
pub(super) fn serialize<T: Serialize, S: Serializer>(of: &T, to: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(of).map_err(S::Error::custom)?;
    publish(&mut value);
    value.serialize(to)
}

/// Deserializes the document form; stated facts come back as read ones.
pub(super) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let mut value = Value::deserialize(from)?;
    restore(&mut value);
    T::deserialize(value).map_err(D::Error::custom)
}

fn publish(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(publish),
        Value::Object(members) => {
            let mut unknown = Map::new();
            for (name, member) in members.iter_mut() {
                match tag(member) {
                    Some(UNKNOWN) => {
                        let why = Fact::<Value>::deserialize(member.take()).ok();
                        let why = why.and_then(|fact| fact.why_unknown());
                        unknown.insert(name.clone(), why.into());
                    }
                    Some("stated") => *member = member["stated"].take(),
                    _ => {}
                }
                publish(member);
            }
            if !unknown.is_empty() {
                members.insert(UNKNOWN.into(), unknown.into());
            }
        }
        _ => {}
    }
}

/// Returns the name of an object's only member.
fn tag(value: &Value) -> Option<&str> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.keys().next().map(String::as_str)
}

fn restore(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(restore),
        Value::Object(members) => {
            members.values_mut().for_each(restore);
            let Some(Value::Object(unknown)) = members.remove(UNKNOWN) else { return };
            for (name, why) in unknown {
                if let (None | Some(Value::Null), Some(why)) = (members.get(&name), why.as_str()) {
                    members.insert(name, json!(Fact::<()>::unknown(why)));
                }
            }
        }
        _ => {}
    }
}

/// Adapts schemas of the model to facts in document form: not required, and their object has
/// `unknown`.
pub(super) fn adapt_schema(schema: &mut Schema) {
    // Descriptions come from the model, where null is called `None`.
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("`None`", "null").replace("[`", "`").replace("`]", "`");
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let mut facts = Vec::new();
    for (name, property) in properties.iter_mut() {
        let property = property.as_object_mut();
        if property.is_some_and(|of| of.remove(Fact::<()>::IN_SCHEMA).is_some()) {
            facts.push(Value::from(name.as_str()));
        }
    }
    if facts.is_empty() {
        return;
    }
    let why = "Why facts are null, by field; null without a reason: does not exist here.";
    let reasons = json!({"type": "object", "additionalProperties": {"type": "string"}});
    properties.insert(UNKNOWN.into(), reasons);
    properties[UNKNOWN]["description"] = why.into();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !facts.contains(name));
    }
}
