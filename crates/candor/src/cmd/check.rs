//! `candor check`.
//!
//! Findings go to standard error, the verdict on a valid file and JSON to standard output.

use std::fmt::Write as _;
use std::path::Path;

use candor_cli::gateway_file::{GatewayFile, plural, tally};
use candor_cli::render::{self, Finding};
use candor_cli::{Exit, Outcome};
use candor_config::config::Loaded;
use candor_config::safety::{self, Amplification};
use candor_core::diagnostic::{Diagnostic, Severity};
use serde::Serialize;

use crate::cli::{CheckArgs, WARNINGS};
use crate::cmd::audit::SignedView;
use crate::cmd::bounds::Deadlines;
use crate::cmd::read_file;

const EXPLANATIONS: &str = include_str!("../../../../docs/findings.md");

pub(crate) fn run(args: &CheckArgs) -> Outcome {
    if let Some(code) = args.explain {
        render::out(&explanation(code))?;
        return Ok(Exit::Fine);
    }
    // clap requires FILE without --explain.
    let path = args.file.as_deref().unwrap_or_else(|| Path::new("-"));
    let mut file = read_file(path, None, &args.verify.keys()?)?;
    match &mut file.checked {
        Ok(loaded) => set_severities(&mut loaded.warnings, &loaded.left_out, &args.allow, &args.deny),
        Err(findings) => set_severities(findings, &[], &args.allow, &args.deny),
    }
    let denied = file.checked.as_ref().map_or(0, |loaded| count_denied(&loaded.warnings));
    if args.assumed.is_given() && !args.bounds {
        return Err("--latency, --controller, --errors, --error-bits and --lengths need --bounds".to_owned().into());
    }
    let deadlines = match &file.checked {
        Ok(loaded) if args.bounds => Some(Deadlines::of(&loaded.plan, &file.source, &args.assumed)?),
        _ => None,
    };
    let holds = deadlines.as_ref().is_none_or(|deadlines| deadlines.missed.is_empty());
    let exit = if file.checked.is_ok() && denied == 0 && holds { Exit::Fine } else { Exit::No };
    if args.json {
        return render::answer(&render::object(&View::of(&file, denied, deadlines)), exit);
    }
    let Some(loaded) = file.gateway() else { return Ok(exit) };
    render::err(&render::text(&file.source, &loaded.warnings, render::wants_colour()));
    // Of this machine, if it has the interfaces.
    for notice in candor_engine::deaf_sockets(&loaded.plan) {
        render::err(&format!("warning: {notice}\n"));
    }
    for missed in deadlines.iter().flat_map(|deadlines| &deadlines.missed) {
        render::err(&format!("error: a deadline can be missed: {missed}\n"));
    }
    render::answer(&verdict(&file, loaded, denied, deadlines.as_ref()), exit)
}

/// The section of a code in `docs/findings.md`.
fn explanation(code: &str) -> String {
    let section = EXPLANATIONS.split("\n## ").find(|section| section.starts_with(code));
    // A test in `tests/reference.rs` goes through all codes.
    let section = section.unwrap_or(code);
    let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
    format!("{heading}\n\n{}\n", text.trim())
}

/// Removes allowed findings and raises denied ones to errors. `left_out` counts the findings beyond the limit, by code; the
/// finding that stands for them stays unless all these codes are allowed.
fn set_severities(findings: &mut Vec<Diagnostic>, left_out: &[(&str, usize)], allowed: &[&str], denied: &[&str]) {
    let is_allowed = |code: &str| allowed.contains(&code);
    let all_left_out_is_allowed = !left_out.is_empty() && left_out.iter().all(|&(code, _)| is_allowed(code));
    findings.retain(|finding| {
        let is_left_out = is_allowed(finding.code) || render::is_more(finding) && all_left_out_is_allowed;
        finding.severity == Severity::Error || !is_left_out
    });
    for finding in findings {
        let is_warning = finding.severity == Severity::Warning;
        if denied.contains(&finding.code) || is_warning && denied.contains(&WARNINGS) {
            finding.severity = Severity::Error;
        }
    }
}

/// The number of denied findings of a valid file, after [`set_severities`].
fn count_denied(findings: &[Diagnostic]) -> usize {
    findings.iter().filter(|finding| finding.severity == Severity::Error).count()
}

fn verdict(file: &GatewayFile, loaded: &Loaded, denied: usize, deadlines: Option<&Deadlines>) -> String {
    let (name, plan) = (file.source.name(), &loaded.plan);
    let mut line = if denied > 0 {
        format!("{name}: valid, with {} denied: ", plural(denied, "finding"))
    } else {
        format!("{name}: valid: ")
    };
    let (buses, routes) = (plural(plan.buses().len(), "bus"), plural(plan.routes().len(), "route"));
    let _ = write!(line, "{buses}, {routes} ({} engine)", plan.engine().name());
    if !plan.frames().is_empty() {
        let _ = write!(line, ", {}", plural(plan.frames().len(), "composed frame"));
    }
    if let Some(most @ Amplification { frames: 2.., .. }) = safety::amplification(plan) {
        let most_or_more = if most.is_exact { "up to" } else { "at least" };
        let _ = write!(line, ", 1 frame becomes {most_or_more} {}", most.frames);
    }
    if let Some(Deadlines { all, missed, left_out }) = deadlines {
        let _ = match missed.len() {
            0 => write!(line, ", all {all} deadlines hold"),
            missed => write!(line, ", {missed} of {all} deadlines can be missed"),
        };
        if !left_out.is_empty() {
            let _ = write!(line, " (not known: {})", left_out.join("; "));
        }
    }
    // Denied findings are errors now, and counted above.
    let others: Vec<_> =
        loaded.warnings.iter().filter(|finding| finding.severity != Severity::Error).cloned().collect();
    if !others.is_empty() {
        let _ = write!(line, ", {}", tally(&others));
    }
    if let Some(signed) = SignedView::of_file(&file.contents) {
        let _ = write!(line, ", {signed}");
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
    /// With `--verify-key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<SignedView<'a>>,
    /// With `--bounds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<Deadlines>,
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
    fn of(file: &'a GatewayFile, denied: usize, bounds: Option<Deadlines>) -> Self {
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
        let signed = SignedView::of_file(&file.contents).filter(|_| loaded.is_some());
        Self { file: file.source.name(), valid: loaded.is_some(), denied, findings, signed, bounds, gateway }
    }
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    #[test]
    fn a_kernel_without_queues_loses_the_order() {
        let text = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
                    [[route]]\nname = \"r\"\nfrom = \"b\"\nto = \"a\"\n\
                    [egress.a]\nqueue = \"arbitration\"\nper-socket = 20\nreplace = \"same-id\"\n";
        let mut loaded = config::load(text.as_bytes()).unwrap();
        loaded.settle_queues(|| false);
        let source = render::Source::new("car.toml".into(), text.as_bytes());
        insta::assert_snapshot!(render::text(&source, &loaded.warnings, false));
        loaded.settle_queues(|| panic!("there is no such queue any more"));
    }

    #[test]
    fn counts_findings_beyond_the_limit_unless_allowed() {
        let route = |at| format!("[[route]]\nname = \"r{at}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
        let routes: String = (0..200).map(route).collect();
        let text = format!("[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n{routes}");
        let loaded = config::load(text.as_bytes()).unwrap();
        let count = |allowed: &[&str]| {
            let mut findings = loaded.warnings.clone();
            set_severities(&mut findings, &loaded.left_out, allowed, &[WARNINGS]);
            count_denied(&findings)
        };
        assert_eq!(count(&[]), 101);
        assert_eq!(count(&["W0501"]), 51, "the others, and that there are more of them");
        assert_eq!(count(&["W0501", "W0503"]), 0);
    }
}
