//! JSON Schemas of the output, for tests.

use std::collections::BTreeSet;

use serde_json::Value;

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
