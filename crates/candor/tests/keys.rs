//! The key tables of docs/config.md and the JSON Schema of gateway files are generated from the descriptions of the keys.
//! With `CANDOR_BLESS=1` these tests write them.

use std::collections::BTreeMap;
use std::{env, fs};

use candor_config::config::spec::Spec;
use candor_core::document::keys::{Key, KeyTable, Keyed, Part, Shape};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/candor.toml.schema.json");

/// A table of keys follows a line with this and the name of their struct.
const MARK: &str = "<!-- generated from ";

#[test]
fn reference_has_the_keys_of_every_table() {
    let text = fs::read_to_string(REFERENCE).unwrap();
    let tables = tables();
    let (mut generated, mut lines) = (String::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        generated += &format!("{line}\n");
        let Some(name) = line.strip_prefix(MARK).and_then(|rest| rest.split_whitespace().next()) else { continue };
        let header = lines.next().unwrap();
        generated += &format!("{header}\n{}\n", lines.next().unwrap());
        while lines.next_if(|line| line.starts_with('|')).is_some() {}
        generated += &rows(tables[name], header.matches(" | ").count());
    }
    compare(REFERENCE, &generated);
    for (name, table) in tables {
        for key in table.keys() {
            assert!(!key.about.is_empty(), "{name}: {} is not described", key.name);
        }
    }
}

#[test]
fn schema_has_the_keys_of_every_table() {
    let mut schema = object(Spec::KEYS);
    schema.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
    schema.insert("title".to_owned(), "candor gateway file".into());
    let definitions = tables().into_iter().filter(|(name, _)| *name != Spec::KEYS.name);
    let definitions: Map<_, _> = definitions.map(|(name, table)| (short(name), object(table).into())).collect();
    schema.insert("definitions".to_owned(), definitions.into());
    compare(SCHEMA, &format!("{:#}\n", Value::from(schema)));
}

#[test]
fn examples_conform_to_the_schema() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        if candor_config::config::load(text.as_bytes()).is_ok() {
            conforms(Spec::KEYS, DeTable::parse(&text).unwrap().get_ref());
            files += 1;
        }
    }
    assert!(files > 10, "{files}");
}

fn compare(path: &str, generated: &str) {
    if env::var_os("CANDOR_BLESS").is_some() {
        fs::write(path, generated).expect("the file can be written");
    }
    let is_equal = fs::read_to_string(path).is_ok_and(|text| text == generated);
    assert!(is_equal, "{path} is stale: run CANDOR_BLESS=1 cargo test -p candor --test keys");
}

/// Every table below that of a file, by its name.
fn tables() -> BTreeMap<&'static str, &'static KeyTable> {
    fn below(shape: &Shape, tables: &mut BTreeMap<&'static str, &'static KeyTable>) {
        match shape {
            Shape::Table(table) => add(table, tables),
            Shape::AnyOf(shapes) => shapes.iter().for_each(|shape| below(shape, tables)),
            Shape::List(shape) | Shape::Named(_, shape) | Shape::OneOrList(shape) => below(shape, tables),
            Shape::Any | Shape::Boolean | Shape::Integer(..) => {}
            Shape::Text | Shape::TextUpTo(_) | Shape::Words(_) => {}
        }
    }
    fn add(table: &'static KeyTable, tables: &mut BTreeMap<&'static str, &'static KeyTable>) {
        tables.insert(table.name, table);
        table.keys().iter().for_each(|key| below(&key.shape, tables));
    }
    let mut tables = BTreeMap::new();
    add(Spec::KEYS, &mut tables);
    tables
}

/// The rows of a table of the reference. Neighbours of which the same is said share one.
fn rows(table: &KeyTable, columns: usize) -> String {
    let mut rows: Vec<(Vec<String>, [&str; 3])> = Vec::new();
    for part in table.parts {
        let keys = match part {
            Part::Key(key) => vec![(name(key), [key.about, key.default, key.kernel])],
            Part::Flat(table, "") => {
                table.keys().iter().map(|key| (name(key), [key.about, key.default, key.kernel])).collect()
            }
            Part::Flat(table, about) => table.keys().iter().map(|key| (name(key), [*about, "", ""])).collect(),
        };
        for (name, cells) in keys {
            match rows.last_mut() {
                Some((names, before)) if *before == cells => names.push(name),
                _ => rows.push((vec![name], cells)),
            }
        }
    }
    let row = |(names, cells): (Vec<String>, [&str; 3])| {
        let cells: String = cells[..columns].iter().map(|cell| format!(" {cell} |").replace("  |", " |")).collect();
        format!("| {} |{cells}\n", names.join(", "))
    };
    rows.into_iter().map(row).collect()
}

fn name(key: &Key) -> String {
    match key.shape {
        Shape::Named(word, _) => format!("`{}.{word}`", key.name),
        _ => format!("`{}`", key.name),
    }
}

fn object(table: &KeyTable) -> Map<String, Value> {
    let property = |key: &&Key| {
        let mut property = shape(&key.shape);
        if property.get("$ref").is_some() {
            property = json!({ "allOf": [property] });
        }
        property["description"] = key.about.replace("\\|", "|").into();
        if let Some(default) = key.default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
            property["default"] = serde_json::from_str(default).unwrap_or_default();
        }
        (key.name.to_owned(), property)
    };
    let keys = table.keys();
    let properties: Map<_, _> = keys.iter().map(property).collect();
    let required = keys.iter().filter(|key| !key.required.is_empty()).map(|key| key.name.into());
    let Value::Object(object) = json!({
        "type": "object",
        "properties": properties,
        "required": required.collect::<Vec<Value>>(),
        "additionalProperties": false,
    }) else {
        unreachable!()
    };
    object
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Any => json!({}),
        Shape::AnyOf(shapes) => json!({ "anyOf": shapes.iter().map(shape).collect::<Vec<_>>() }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Integer(i64::MIN, i64::MAX) => json!({ "type": "integer" }),
        Shape::Integer(least, i64::MAX) => json!({ "type": "integer", "minimum": least }),
        Shape::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::List(item) => json!({ "type": "array", "items": shape(item) }),
        Shape::Named(_, item) => json!({ "type": "object", "additionalProperties": shape(item) }),
        Shape::OneOrList(item) => json!({ "anyOf": [shape(item), { "type": "array", "items": shape(item) }] }),
        Shape::Table(table) => json!({ "$ref": format!("#/definitions/{}", short(table.name)) }),
        Shape::Text => json!({ "type": "string" }),
        Shape::TextUpTo(most) => json!({ "type": "string", "maxLength": most }),
        Shape::Words(words) => json!({ "enum": words }),
    }
}

fn short(name: &str) -> String {
    name.trim_end_matches("Spec").to_lowercase()
}

fn conforms(table: &KeyTable, written: &DeTable<'_>) {
    for (name, value) in written {
        let key = table.keys().into_iter().find(|key| key.name == name.get_ref().as_ref());
        let key = key.unwrap_or_else(|| panic!("{name:?}"));
        assert!(fits(&key.shape, value.get_ref()), "{name:?} = {value:?}");
    }
}

fn fits(shape: &Shape, value: &DeValue<'_>) -> bool {
    match (shape, value) {
        (Shape::AnyOf(shapes), _) => shapes.iter().any(|shape| fits(shape, value)),
        (Shape::Boolean, DeValue::Boolean(_)) | (Shape::Any, _) | (Shape::Text, DeValue::String(_)) => true,
        (Shape::Integer(least, most), DeValue::Integer(number)) => {
            number.as_str().parse().is_ok_and(|number: i64| (*least..=*most).contains(&number))
        }
        (Shape::List(item) | Shape::OneOrList(item), DeValue::Array(items)) => {
            items.iter().all(|value| fits(item, value.get_ref()))
        }
        (Shape::Named(_, item), DeValue::Table(table)) => table.values().all(|value| fits(item, value.get_ref())),
        (Shape::OneOrList(item), _) => fits(item, value),
        (Shape::Table(table), DeValue::Table(keys)) => {
            conforms(table, keys);
            true
        }
        (Shape::TextUpTo(most), DeValue::String(text)) => text.chars().count() <= *most,
        (Shape::Words(words), DeValue::String(word)) => words.contains(&word.as_ref()),
        _ => false,
    }
}
