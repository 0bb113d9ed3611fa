//! `candor check`.
//!
//! Findings go to standard error, as a compiler's do; the verdict on a valid file and JSON go to standard output.

use serde_json::json;

use crate::cli::CheckArgs;
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::gateway_file::{GatewayFile, plural, tally};
use crate::render;

pub(crate) fn run(args: &CheckArgs) -> Outcome {
    let file = GatewayFile::read(&args.file)?;
    let exit = if file.checked.is_ok() { Exit::Fine } else { Exit::No };
    if args.json {
        render::out(&format!("{:#}\n", as_json(&file)))?;
        return Ok(exit);
    }
    if let Some(loaded) = file.gateway() {
        render::err(&render::text(&file.source, &loaded.warnings, render::wants_colour()));
        let plan = &loaded.plan;
        let (buses, routes) = (plural(plan.buses().len(), "bus"), plural(plan.routes().len(), "route"));
        let warnings = match loaded.warnings.as_slice() {
            [] => String::new(),
            warnings => format!(", {}", tally(warnings)),
        };
        let name = file.source.name();
        render::out(&format!("{name}: valid: {buses}, {routes} ({} engine){warnings}\n", plan.engine().name()))?;
    }
    Ok(exit)
}

fn as_json(file: &GatewayFile) -> serde_json::Value {
    let (valid, findings) = match &file.checked {
        Ok(loaded) => (true, &loaded.warnings),
        Err(findings) => (false, findings),
    };
    let mut value = json!({
        "file": file.source.name(),
        "valid": valid,
        "findings": render::json(&file.source, findings),
    });
    if let Ok(loaded) = &file.checked {
        value["engine"] = loaded.plan.engine().name().into();
        value["buses"] = loaded.plan.buses().len().into();
        value["routes"] = loaded.plan.routes().len().into();
    }
    value
}
