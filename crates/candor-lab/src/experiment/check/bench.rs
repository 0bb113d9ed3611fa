//! `[bench]` and `[ssh]`: what testbeds need that are no guests.

use crate::experiment::check::bit_rate;
use crate::experiment::check::levels::Factor;
use crate::experiment::parse::{BenchSpec, Spec};
use crate::experiment::{Bench, Cell, Gateway, Plan, Ssh, Testbed, Wire, code};
use candor_config::config;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::interface_name;

const EXAMPLE: &str = "write [bench] with send = \"can0\", receive = \"can1\" (the tester's) and, for a gateway that candor starts, \
                       from = \"can2\", to = \"can3\"";

/// The interfaces; `None` if none are written, or after saying what is wrong with them.
pub(super) fn bench(spec: &Spec, findings: &mut Findings) -> Option<Bench> {
    let written = spec.bench.as_ref()?;
    let mut interface = |written: &Option<Spanned<String>>| match written {
        None => Some(None),
        Some(written) => match interface_name::check(&written.value) {
            Ok(()) => Some(Some(written.value.clone())),
            Err(problem) => {
                findings.report(
                    Diagnostic::error(config::code::INTERFACE, written.span.clone(), problem.to_string())
                        .help("write the name that `ip link show type can` or `type vcan` prints, such as \"can0\""),
                );
                None
            }
        },
    };
    let (send, monitor, receive) = (interface(&written.send), interface(&written.monitor), interface(&written.receive));
    let (from, to) = (interface(&written.from), interface(&written.to));
    let nominal = written.wire_bitrate.as_ref().map(|written| bit_rate(written, findings));
    let data = written.wire_data_bitrate.as_ref().map(|written| bit_rate(written, findings));
    let mut wrong = |span: &Span, message: &str, help: &str| -> Option<Bench> {
        findings.report(Diagnostic::error(code::BENCH, span.clone(), message).help(help));
        None
    };
    let (send, monitor, receive, from, to) = (send?, monitor?, receive?, from?, to?);
    let (Some(send), Some(receive)) = (send, receive) else {
        return wrong(&written.key, "The tester needs an interface to send and one to receive", EXAMPLE);
    };
    if send == receive {
        let message = "What comes out cannot be told from what is sent on the same interface";
        return wrong(&of(&written.receive, written), message, "write the interface on the second bus that hears it");
    }
    let gateway = match (from, to) {
        (None, None) => None,
        (Some(from), Some(to)) if from != to => Some((from, to)),
        (Some(_), Some(_)) => {
            let message = "A gateway has two interfaces";
            return wrong(&of(&written.to, written), message, "write the one on the second bus");
        }
        _ => {
            let help = "write both: the gateway's interface on the first bus, and that on the second";
            return wrong(&written.key, "`from` and `to` go together", help);
        }
    };
    let wire = match (nominal, data) {
        (None, None) => None,
        (None, Some(_)) => {
            let help = "write wire-bitrate, too: that of the arbitration phase";
            return wrong(&of(&written.wire_data_bitrate, written), "A wire has a bit rate besides that of data", help);
        }
        (Some(nominal), data) => {
            Some(Wire { nominal: nominal?, data: data.map_or(Some(None), |data| data.map(Some))? })
        }
    };
    Some(Bench { monitor: monitor.unwrap_or_else(|| send.clone()), send, receive, gateway, wire })
}

fn of(value: &Option<Spanned<String>>, table: &BenchSpec) -> Span {
    value.as_ref().map_or_else(|| table.key.clone(), |value| value.span.clone())
}

/// The board; `None` if none is written, or after saying what is wrong with it.
pub(super) fn ssh(spec: &Spec, findings: &mut Findings) -> Option<Ssh> {
    let written = spec.ssh.as_ref()?;
    let help = "write host = \"root@board\", or a name of ssh's own configuration";
    let mut wrong = |span: &Span, message: String| -> Option<Ssh> {
        findings.report(Diagnostic::error(code::BENCH, span.clone(), message).help(help));
        None
    };
    let Some(host) = &written.host else { return wrong(&written.key, "The board has no name".to_owned()) };
    // It stands behind the options of a command: one that begins with a dash would be taken for one of them.
    if host.value.is_empty() || host.value.starts_with('-') || host.value.contains(char::is_whitespace) {
        return wrong(&host.span, format!("{} is no board", quote(&host.value)));
    }
    Some(Ssh {
        host: host.value.clone(),
        options: written.options.iter().map(|option| option.value.clone()).collect(),
        candor: written.candor.as_ref().map(|path| path.value.clone()),
        sudo: written.sudo.as_ref().is_some_and(|sudo| sudo.value),
    })
}

/// Says what the cells of a plan need and do not have, and what they have and do not need.
pub(super) fn is_enough(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let cell_with = |is: &dyn Fn(&Cell) -> bool| plan.cells().iter().find(|cell| is(cell));
    let is_bench = |cell: &Cell| !cell.place.testbed.is_guest();
    let is_started = |cell: &Cell| !matches!(plan.gateway(cell), Gateway::None | Gateway::External);
    let mut missing = |factor: Factor, cell: &Cell, what: &str, help: &str| {
        let message = format!("There can be no cell {cell}: {what}");
        findings.report(Diagnostic::error(code::BENCH, key(spec, factor), message).help(help));
    };
    if let (Some(cell), None) = (cell_with(&is_bench), &spec.bench) {
        missing(Factor::Testbed, cell, "the plan names no interfaces", EXAMPLE);
    }
    let lacks_ends = plan.bench.as_ref().is_some_and(|bench| bench.gateway.is_none());
    if let (Some(cell), true) = (cell_with(&|cell| is_bench(cell) && is_started(cell)), lacks_ends) {
        let help = "write from and to below [bench]: the gateway's interfaces on the first and on the second bus";
        missing(Factor::Gateway, cell, "the plan does not say between which interfaces its gateway runs", help);
    }
    let is_ssh = |cell: &Cell| cell.place.testbed == Testbed::Ssh;
    if let (Some(cell), None) = (cell_with(&is_ssh), &spec.ssh) {
        missing(Factor::Testbed, cell, "the plan names no board", "write host = \"root@board\" below [ssh]");
    }
    let is_misplaced = |cell: &Cell| cell.place.testbed != Testbed::Host && *plan.gateway(cell) == Gateway::External;
    if let Some(cell) = cell_with(&is_misplaced) {
        let why = "an external gateway is between interfaces of this machine";
        let message = format!("There can be no cell {cell}: {why}");
        let help = "write testbed = \"host\", or take such cells away with an [[exclude]]";
        findings.report(Diagnostic::error(code::IMPOSSIBLE, key(spec, Factor::Gateway), message).help(help));
    }
    let mut unused = |span: Option<&Span>, what: &str, help: &str| {
        if let Some(span) = span {
            let message = format!("No cell uses [{what}]");
            findings.report(Diagnostic::warning(code::UNUSED, span.clone(), message).help(help));
        }
    };
    if plan.bench.is_some() && cell_with(&is_bench).is_none() {
        unused(spec.bench.as_ref().map(|bench| &bench.key), "bench", "add testbed = \"host\" below [factor]");
    }
    if plan.ssh.is_some() && cell_with(&is_ssh).is_none() {
        unused(spec.ssh.as_ref().map(|ssh| &ssh.key), "ssh", "add testbed = \"ssh\" below [factor]");
    }
}

/// Where a factor is written.
fn key(spec: &Spec, factor: Factor) -> Span {
    let included = spec.includes.iter().flat_map(|selection| &selection.levels);
    let written = spec.factors.iter().chain(included).find(|levels| levels.factor == factor);
    written.or_else(|| spec.factors.first()).map_or(0..0, |levels| levels.key.clone())
}
