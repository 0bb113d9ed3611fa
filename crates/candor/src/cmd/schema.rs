//! JSON Schemas of the `--json` output, in `docs/schema`. `CANDOR_BLESS=1` writes them.

use std::fs;
use std::path::Path;

use candor_cli::gateway_file::Invalid;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{apply, check, doctor, down, engines, plan, status, top};

/// The output of a command that reads a gateway file, which may not be valid.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum OfFile<T> {
    Valid(T),
    Invalid(Invalid<'static>),
}

#[test]
fn schemas_match_the_code() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema"));
    let of = |command: &str, mut schema: Schema| {
        schema.insert("title".into(), format!("candor {command} --json").into());
        let text = format!("{:#}\n", schema.as_value());
        let path = folder.join(format!("{command}.schema.json"));
        if std::env::var_os("CANDOR_BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, text, "{} differs; write it with CANDOR_BLESS=1", path.display());
    };
    let schema = || SchemaGenerator::default();
    of("apply", schema().into_root_schema_for::<OfFile<apply::View<'_>>>());
    of("check", schema().into_root_schema_for::<check::View<'_>>());
    of("doctor", schema().into_root_schema_for::<OfFile<doctor::View<'_>>>());
    of("down", schema().into_root_schema_for::<down::View<'_>>());
    of("engines", schema().into_root_schema_for::<engines::View>());
    of("plan", schema().into_root_schema_for::<OfFile<plan::View<'_>>>());
    of("status", schema().into_root_schema_for::<status::View<'_>>());
    of("top", schema().into_root_schema_for::<top::View>());
}
