//! `candor check`.
//!
//! Findings go to standard error, as a compiler's do; the verdict on a valid file and JSON go to standard output.

mod codes;
mod levels;

use std::fmt::Write as _;
use std::path::Path;

use candor_config::config::Loaded;
use candor_config::safety::{self, Amplification};
use candor_core::diagnostic::{Diagnostic, Severity};
use serde_json::{Value, json};

pub(crate) use levels::{AllowedCode, Denied, ExplainedCode};

use crate::cli::CheckArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::{GatewayFile, plural, tally};
use candor_cli::render;
use levels::Levels;

pub(crate) fn run(args: &CheckArgs) -> Outcome {
    if let Some(ExplainedCode(code)) = args.explain {
        render::out(&codes::explanation(code))?;
        return Ok(Exit::Fine);
    }
    let levels = Levels { allowed: &args.allow, denied: &args.deny };
    // Without --explain there is a file: the command line sees to that.
    let path = args.file.as_deref().unwrap_or_else(|| Path::new("-"));
    let mut file = GatewayFile::read(path)?;
    match &mut file.checked {
        Ok(loaded) => levels.apply(&mut loaded.warnings, &loaded.left_out),
        Err(findings) => levels.apply(findings, &[]),
    }
    let denied = file.checked.as_ref().map_or(0, |loaded| levels.count_denied(&loaded.warnings));
    let exit = if file.checked.is_ok() && denied == 0 { Exit::Fine } else { Exit::No };
    if args.json {
        return render::answer(&format!("{:#}\n", as_json(&file, denied)), exit);
    }
    let Some(loaded) = file.gateway() else { return Ok(exit) };
    render::err(&render::text(&file.source, &loaded.warnings, render::wants_colour()));
    render::answer(&verdict(file.source.name(), loaded, denied), exit)
}

/// One line.
fn verdict(name: &str, loaded: &Loaded, denied: usize) -> String {
    let plan = &loaded.plan;
    let mut line = if denied > 0 {
        format!("{name}: valid, but {denied} of its findings {} denied: ", if denied == 1 { "is" } else { "are" })
    } else {
        format!("{name}: valid: ")
    };
    let (buses, routes) = (plural(plan.buses().len(), "bus"), plural(plan.routes().len(), "route"));
    let _ = write!(line, "{buses}, {routes} ({} engine)", plan.engine().name());
    if let Some(most @ Amplification { frames: 2.., .. }) = safety::amplification(plan) {
        let most_or_more = if most.is_exact { "up to" } else { "at least" };
        let _ = write!(line, ", 1 frame becomes {most_or_more} {}", most.frames);
    }
    // What is denied has been counted.
    let others: Vec<_> =
        loaded.warnings.iter().filter(|finding| finding.severity != Severity::Error).cloned().collect();
    if !others.is_empty() {
        let _ = write!(line, ", {}", tally(&others));
    }
    line + "\n"
}

fn as_json(file: &GatewayFile, denied: usize) -> Value {
    let findings: &[Diagnostic] = match &file.checked {
        Ok(loaded) => &loaded.warnings,
        Err(findings) => findings,
    };
    let mut value = json!({
        "file": file.source.name(),
        "valid": file.checked.is_ok(),
        "denied": denied,
        "findings": render::json(&file.source, findings),
    });
    if let Ok(loaded) = &file.checked {
        let plan = &loaded.plan;
        value["engine"] = plan.engine().name().into();
        value["buses"] = plan.buses().len().into();
        value["routes"] = plan.routes().len().into();
        value["amplification"] = safety::amplification(plan).map_or(Value::Null, |most| {
            json!({
                "frames": most.frames,
                "bus": plan.bus(most.bus).name,
                "example": most.example.to_string(),
                "exact": most.is_exact,
            })
        });
    }
    value
}
