//! JSON Schemas of the output, for tests: those in `docs/schema`, and a validator. `CANDOR_BLESS=1` writes them.
//!
//! The schema of `candor egress show` is `egress-show.schema.json`, that of `candor-lab report` is `lab-report.schema.json`.
#![expect(clippy::unwrap_used, reason = "a failing test shall panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::gateway_file::Invalid;

/// The output of a command that reads a gateway file, which may not be valid.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum OfFile<T> {
    Valid(T),
    Invalid(Invalid<'static>),
}

/// The stem of the schema's file.
pub fn stem(command: &str) -> String {
    command.trim_start_matches("candor").trim_start_matches([' ', '-']).replace(' ', "-")
}

fn path(command: &str) -> PathBuf {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema"));
    folder.join(format!("{}.schema.json", stem(command)))
}

/// The command that these arguments run, such as `candor-lab demo inversion`; `None` without `--json`.
pub fn command_of(program: &str, arguments: &[&str]) -> Option<String> {
    let words = match arguments {
        [group @ ("demo" | "egress" | "learn"), command, ..] | [group @ "wire", command @ "inject", ..] => {
            format!("{program} {group} {command}")
        }
        [command, ..] => format!("{program} {command}"),
        [] => return None,
    };
    arguments.contains(&"--json").then_some(words)
}

/// Validates the output of a command, one or several JSON values, against its published schema.
///
/// # Panics
/// If it is not valid.
#[track_caller]
pub fn assert_all_valid(command: &str, output: &str) {
    for printed in serde_json::Deserializer::from_str(output).into_iter::<Value>() {
        assert_valid(command, &printed.unwrap());
    }
}

/// Compares the published schema of a command, such as `candor check`, with that of its output.
///
/// # Panics
/// If they differ.
pub fn assert_published<T: JsonSchema>(command: &str) {
    let mut schema = SchemaGenerator::new(SchemaSettings::default().for_serialize()).into_root_schema_for::<T>();
    schema.insert("title".into(), format!("{command} --json").into());
    let text = format!("{:#}\n", schema.as_value());
    let path = path(command);
    if std::env::var_os("CANDOR_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, text, "{} differs; write it with CANDOR_BLESS=1", path.display());
}

/// Each command with `--json` must have a schema, to which `docs/json.md` links.
///
/// # Panics
/// If one has none. `alias` prints the same as another command.
pub fn assert_complete(command: &clap::Command, name: &str, alias: &str) {
    const DOCS: &str = include_str!("../../../docs/json.md");
    if command.get_arguments().any(|argument| argument.get_id() == "json") && name != alias {
        let path = path(name);
        let file = path.file_name().unwrap().to_str().unwrap();
        assert!(path.exists() && DOCS.contains(&format!("(schema/{file})")), "docs/json.md has no {file}");
    }
    for child in command.get_subcommands() {
        assert_complete(child, &format!("{name} {}", child.get_name()), alias);
    }
}

/// Validates what a command prints against its published schema.
///
/// # Panics
/// If it is not valid.
#[track_caller]
pub fn assert_valid(command: &str, printed: &impl Serialize) {
    let schema = serde_json::from_str(&fs::read_to_string(path(command)).unwrap()).unwrap();
    let printed = serde_json::to_value(printed).unwrap();
    assert_eq!(validate(&schema, &printed), Ok(()), "{command} --json: {printed:#}");
}

/// Checks a value against a schema with the keywords that schemars generates. Unlike JSON Schema, rejects a key that the schema
/// does not list.
///
/// # Errors
/// The first difference and its place.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    Validator { root: schema }.closed(schema, value, "$")
}

struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn closed(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let listed = self.listed_keys(schema, value, place)?;
        let unlisted = value.as_object().and_then(|object| object.keys().find(|key| !listed.contains(*key)));
        unlisted.map_or(Ok(()), |key| Err(format!("{place}.{key} is not in the schema")))
    }

    /// Checks the keywords of one schema. Returns the keys of `value` that it lists.
    fn listed_keys(&self, schema: &Value, value: &Value, place: &str) -> Result<BTreeSet<String>, String> {
        let mut listed = BTreeSet::new();
        if let Some(name) = schema["$ref"].as_str() {
            let target = self.root.pointer(name.trim_start_matches('#')).ok_or_else(|| format!("no {name}"))?;
            listed.extend(self.listed_keys(target, value, place)?);
        }
        let is_of_type = match &schema["type"] {
            Value::Null => true,
            Value::Array(names) => names.iter().any(|name| has_type(value, name)),
            name => has_type(value, name),
        };
        if !is_of_type {
            return Err(format!("{place} is {value}, not {}", schema["type"]));
        }
        let is_other = schema.get("const").is_some_and(|only| only != value);
        if is_other || schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
            return Err(format!("{place} is {value}, not {}{}", schema["const"], schema["enum"]));
        }
        for name in list(&schema["required"]).filter_map(Value::as_str) {
            value.get(name).ok_or_else(|| format!("{place}.{name} is missing"))?;
        }
        for (key, member) in value.as_object().into_iter().flatten() {
            let of_key = schema["properties"].get(key).or_else(|| schema.get("additionalProperties"));
            if let Some(of_key) = of_key {
                self.closed(of_key, member, &format!("{place}.{key}"))?;
                listed.insert(key.clone());
            }
        }
        if let Some(of_items) = schema.get("items") {
            list(value)
                .enumerate()
                .try_for_each(|(at, item)| self.closed(of_items, item, &format!("{place}[{at}]")))?;
        }
        for keyword in ["anyOf", "oneOf"] {
            let results: Vec<_> = list(&schema[keyword]).map(|one| self.listed_keys(one, value, place)).collect();
            if !results.is_empty() && results.iter().all(Result::is_err) {
                return Err(results.into_iter().filter_map(Result::err).collect::<Vec<_>>().join(" or "));
            }
            listed.extend(results.into_iter().flatten().flatten());
        }
        Ok(listed)
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejects_other_types_and_unlisted_keys() {
        let schema = json!({
            "$defs": {"Count": {"type": "integer"}},
            "type": "object",
            "properties": {"name": {"type": ["string", "null"]}, "counts": {"items": {"$ref": "#/$defs/Count"}}},
            "required": ["name"],
            "anyOf": [{"type": "object", "properties": {"more": {"const": 1}}, "required": ["more"]}, {}],
        });
        for valid in [json!({"name": null}), json!({"name": "a", "counts": [1, 2], "more": 1})] {
            assert_eq!(validate(&schema, &valid), Ok(()), "{valid}");
        }
        for (wrong, place) in [
            (json!({}), "$.name is missing"),
            (json!({"name": 1}), "$.name is 1, not"),
            (json!({"name": "a", "counts": [1, "b"]}), "$.counts[1] is \"b\", not"),
            (json!({"name": "a", "other": 1}), "$.other is not in the schema"),
            (json!({"name": "a", "more": 2}), "$.more is not in the schema"),
            (json!([]), "$ is [], not"),
        ] {
            let found = validate(&schema, &wrong).unwrap_err();
            assert!(found.starts_with(place), "{wrong}: {found}");
        }
    }
}
