//! What the engines cannot do.

use std::collections::HashMap;

use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings, Span};
use crate::config::parse::quote;
use crate::config::spec::{RouteSpec, Spec};
use crate::plan::Engine;

pub(super) fn can_run(engine: Engine, spec: &Spec, findings: &mut Findings) {
    match engine {
        Engine::Auto => {}
        Engine::Kernel => spec.routes.iter().for_each(|route| relative_crc8(route, findings)),
        Engine::ReadWrite => {
            spec.routes.iter().for_each(|route| kernel_only_keys(route, findings));
            one_echo_for_each_bus(&spec.routes, findings);
        }
    }
}

/// Before a fix of March 2026 (6.1.168 among the stable kernels) can-gw takes the negative indices of a CRC8 as they
/// are, and reads and writes outside the frame.
///
/// # Source
/// Mainline commit `b9c310d72783`.
fn relative_crc8(route: &RouteSpec, findings: &mut Findings) {
    let Some(checksum) = &route.checksum_crc8 else { return };
    let positions = [&checksum.positions.from, &checksum.positions.to, &checksum.positions.result];
    if let Some(negative) = positions.into_iter().flatten().find(|position| position.value < 0) {
        let message = "Some kernels compute a CRC8 with positions from the end outside the frame";
        findings.report(Diagnostic::warning(code::RELATIVE_CRC8, negative.span.clone(), message).help(
            "count from the start or use engine = \"read-write\", unless the kernel has the fix of March 2026 (6.1.168)"));
    }
}

fn kernel_only_keys(route: &RouteSpec, findings: &mut Findings) {
    let mut refuse = |span: &Span, message: &str, help: &str| {
        findings.report(Diagnostic::error(code::ENGINE_CANNOT, span.clone(), message).help(help));
    };
    if let Some(keep) = route.keep_timestamp.as_ref().filter(|keep| keep.value) {
        let message = "The read-write engine cannot keep time stamps";
        refuse(&keep.span, message, "engine = \"kernel\" can; or remove `keep-timestamp`");
    }
    if let Some(limit) = route.hop_limit.as_ref().filter(|limit| limit.value > 1) {
        let message = "The read-write engine cannot count hops: its frames start anew, as if from a program";
        refuse(&limit.span, message, "engine = \"kernel\" can; or write hop-limit = 1");
    }
}

/// One socket for each interface means one answer to whether local sockets see what it sends.
fn one_echo_for_each_bus(routes: &[RouteSpec], findings: &mut Findings) {
    let mut first_by_bus = HashMap::new();
    for route in routes {
        let Some(to) = &route.to else { continue };
        let echo = route.echo.as_ref().is_some_and(|echo| echo.value);
        let place = route.echo.as_ref().map_or_else(|| route.header.clone(), |echo| echo.span.clone());
        let (first, first_place) = first_by_bus.entry(to.value.as_str()).or_insert_with(|| (echo, place.clone()));
        if *first != echo {
            let message = format!("Routes to bus {} disagree on echo", quote(&to.value));
            let say = |echo| if echo { "with echo" } else { "without echo" };
            findings.report(
                Diagnostic::error(code::ECHO_DISAGREES, place, message)
                    .label(say(echo))
                    .also(first_place.clone(), say(*first))
                    .help("the read-write engine has one socket for each bus; make them equal, or use engine = \"kernel\""),
            );
        }
    }
}
