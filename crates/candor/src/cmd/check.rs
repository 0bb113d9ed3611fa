//! `candor check`.
//!
//! Findings go to standard error, the verdict on a valid file and JSON to standard output.

mod codes;
mod levels;

use std::fmt::Write as _;
use std::path::Path;

use candor_cli::gateway_file::{GatewayFile, plural, tally};
use candor_cli::render::{self, Finding};
use candor_cli::{Exit, Outcome};
use candor_config::config::Loaded;
use candor_config::safety::{self, Amplification};
use candor_core::diagnostic::{Diagnostic, Severity};
use serde::Serialize;

pub(crate) use levels::{AllowedCode, Denied, ExplainedCode};

use crate::cli::CheckArgs;
use levels::Levels;

pub(crate) fn run(args: &CheckArgs) -> Outcome {
    if let Some(ExplainedCode(code)) = args.explain {
        render::out(&codes::explanation(code))?;
        return Ok(Exit::Fine);
    }
    let levels = Levels { allowed: &args.allow, denied: &args.deny };
    // clap requires FILE without --explain.
    let path = args.file.as_deref().unwrap_or_else(|| Path::new("-"));
    let mut file = GatewayFile::read(path)?;
    match &mut file.checked {
        Ok(loaded) => levels.apply(&mut loaded.warnings, &loaded.left_out),
        Err(findings) => levels.apply(findings, &[]),
    }
    let denied = file.checked.as_ref().map_or(0, |loaded| levels.count_denied(&loaded.warnings));
    let exit = if file.checked.is_ok() && denied == 0 { Exit::Fine } else { Exit::No };
    if args.json {
        return render::answer(&render::object(&View::of(&file, denied)), exit);
    }
    let Some(loaded) = file.gateway() else { return Ok(exit) };
    render::err(&render::text(&file.source, &loaded.warnings, render::wants_colour()));
    render::answer(&verdict(file.source.name(), loaded, denied), exit)
}

fn verdict(name: &str, loaded: &Loaded, denied: usize) -> String {
    let plan = &loaded.plan;
    let mut line = if denied > 0 {
        format!("{name}: valid, with {} denied: ", plural(denied, "finding"))
    } else {
        format!("{name}: valid: ")
    };
    let (buses, routes) = (plural(plan.buses().len(), "bus"), plural(plan.routes().len(), "route"));
    let _ = write!(line, "{buses}, {routes} ({} engine)", plan.engine().name());
    if let Some(most @ Amplification { frames: 2.., .. }) = safety::amplification(plan) {
        let most_or_more = if most.is_exact { "up to" } else { "at least" };
        let _ = write!(line, ", 1 frame becomes {most_or_more} {}", most.frames);
    }
    // Denied findings are errors now, and counted above.
    let others: Vec<_> =
        loaded.warnings.iter().filter(|finding| finding.severity != Severity::Error).cloned().collect();
    if !others.is_empty() {
        let _ = write!(line, ", {}", tally(&others));
    }
    line + "\n"
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View<'a> {
    file: &'a str,
    valid: bool,
    denied: usize,
    findings: Vec<Finding<'a>>,
    #[serde(flatten)]
    gateway: Option<GatewayView>,
}

/// Only of a valid file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GatewayView {
    engine: &'static str,
    buses: usize,
    routes: usize,
    amplification: Option<AmplificationView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AmplificationView {
    frames: usize,
    bus: String,
    example: String,
    exact: bool,
}

impl<'a> View<'a> {
    fn of(file: &'a GatewayFile, denied: usize) -> Self {
        let (findings, loaded): (&[Diagnostic], _) = match &file.checked {
            Ok(loaded) => (&loaded.warnings, Some(loaded)),
            Err(findings) => (findings, None),
        };
        let gateway = loaded.map(|Loaded { plan, .. }| GatewayView {
            engine: plan.engine().name(),
            buses: plan.buses().len(),
            routes: plan.routes().len(),
            amplification: safety::amplification(plan).map(|most| AmplificationView {
                frames: most.frames,
                bus: plan.bus(most.bus).name.clone(),
                example: most.example.to_string(),
                exact: most.is_exact,
            }),
        });
        let findings = render::json(&file.source, findings);
        Self { file: file.source.name(), valid: loaded.is_some(), denied, findings, gateway }
    }
}
