//! Checks that the cells have what they need, and that definitions are used.

use super::definitions::BENCH_EXAMPLE;
use crate::arch::Arch;
use crate::experiment::cells::{Conditions, Factor};
use crate::experiment::code::{self, error, warning};
use crate::experiment::parse::Spec;
use crate::experiment::replay::Log;
use crate::experiment::rules::MOST_SFF_DECOYS;
use crate::experiment::traffic::Traffic;
use crate::experiment::{Available, Cell, Gateway, Plan, StampSource, Testbed, Topology};
use candor_cli::gateway_file::plural;
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::quote;
use candor_core::frame::CAN_EFF_FLAG;

pub(super) fn check(plan: &mut Plan, spec: &Spec, available: Available<'_>, findings: &mut Findings) {
    interfaces(plan, spec, findings);
    stamps(plan, spec, findings);
    logs(plan, spec, available, findings);
    decoys(plan, spec, findings);
    unused(plan, spec, findings);
}

fn interfaces(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let cell_with = |is: &dyn Fn(&Cell) -> bool| plan.cells().iter().find(|cell| is(cell));
    let is_bench = |cell: &Cell| !cell.conditions.testbed.is_guest();
    let is_started = |cell: &Cell| !matches!(plan.gateway(cell), Gateway::None | Gateway::External);
    let mut missing = |code, factor: Factor, cell: &Cell, what: &str, help: &str| {
        error::<()>(findings, code, &key(spec, factor), format!("Cell {cell} is not possible: {what}"), help);
    };
    if let (Some(cell), None) = (cell_with(&is_bench), &spec.bench) {
        missing(code::BENCH, Factor::Testbed, cell, "the plan names no interfaces", BENCH_EXAMPLE);
    }
    let lacks_ends = plan.bench.as_ref().is_some_and(|bench| bench.gateway.is_none());
    if let (Some(cell), true) = (cell_with(&|cell| is_bench(cell) && is_started(cell)), lacks_ends) {
        let help = "write from and to below [bench]: the gateway's interfaces on the first and on the second bus";
        missing(code::BENCH, Factor::Gateway, cell, "the plan does not name the interfaces of its gateway", help);
    }
    let is_ssh = |cell: &Cell| cell.conditions.testbed == Testbed::Ssh;
    if let (Some(cell), None) = (cell_with(&is_ssh), &spec.ssh) {
        let help = "write host = \"root@board\" below [ssh]";
        missing(code::BENCH, Factor::Testbed, cell, "the plan names no board", help);
    }
    let is_misplaced =
        |cell: &Cell| cell.conditions.testbed != Testbed::Host && *plan.gateway(cell) == Gateway::External;
    if let Some(cell) = cell_with(&is_misplaced) {
        let why = "an external gateway needs interfaces of this machine";
        let help = "write testbed = \"host\", or remove such cells with an [[exclude]]";
        missing(code::IMPOSSIBLE, Factor::Gateway, cell, why, help);
    }
    let is_without_cards = |cell: &Cell| {
        let Conditions { testbed, arch, topology, .. } = &cell.conditions;
        let is_possible = (*testbed, *topology) == (Testbed::Icount, Topology::Kvaser);
        *plan.gateway(cell) == Gateway::BareMetal && (!is_possible || arch.is_some_and(|arch| arch != Arch::X86_64))
    };
    if let Some(cell) = cell_with(&is_without_cards) {
        let why = "a gateway without an operating system needs emulated cards and an x86-64 processor";
        let help = "write testbed = \"icount\" and topology = \"kvaser\", or remove such cells with an [[exclude]]";
        missing(code::IMPOSSIBLE, Factor::Gateway, cell, why, help);
    }
    if let (Some(bench), None, true) = (&spec.bench, cell_with(&is_bench), plan.bench.is_some()) {
        let help = "add testbed = \"host\" below [factor]";
        warning(findings, code::UNUSED, &bench.key, "No cell uses [bench]", help);
    }
    if let (Some(ssh), None, true) = (&spec.ssh, cell_with(&is_ssh), plan.ssh.is_some()) {
        warning(findings, code::UNUSED, &ssh.key, "No cell uses [ssh]", "add testbed = \"ssh\" below [factor]");
    }
}

/// Place where a factor is written.
fn key(spec: &Spec, factor: Factor) -> Span {
    let included = spec.includes.iter().flat_map(|selection| &selection.levels);
    let written = spec.factors.iter().chain(included).find(|levels| levels.factor == factor);
    written.or_else(|| spec.factors.first()).map_or(0..0, |levels| levels.key.clone())
}

/// Reports why adapter timestamps are impossible, if the plan asks for them. Whether an adapter supports them is known only at
/// run time.
fn stamps(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Some(written) = spec.stamps.as_ref().filter(|_| plan.stamps == StampSource::Hardware) else { return };
    let mut refuse = |message: String, help| error::<()>(findings, code::IMPOSSIBLE, &written.span, message, help);
    if plan.stages {
        let message = "`stages = true` and `stamps = \"hardware\"` exclude each other: stages would be differences between two \
                       clocks";
        refuse(message.to_owned(), "remove one of the two, or write two plans");
    }
    if let Some((cell, (why, help))) = plan.cells().iter().find_map(|cell| Some((cell, obstacle(plan, cell)?))) {
        refuse(format!("Cell {cell} is not possible: {why}"), help);
    }
}

/// The reason why no adapter can timestamp the frames of a cell, and the remedy.
fn obstacle(plan: &Plan, cell: &Cell) -> Option<(String, &'static str)> {
    const ELSEWHERE: &str =
        "write stamps = \"kernel\", or measure with testbed = \"host\" or \"ssh\", or topology = \"wire\"";
    match cell.conditions.topology {
        Topology::Vcan => return Some(("virtual interfaces have no adapter".to_owned(), ELSEWHERE)),
        Topology::Kvaser => return Some(("the emulated cards take no timestamps".to_owned(), ELSEWHERE)),
        Topology::Wire | Topology::Bench => {}
    }
    let bench = plan.bench.as_ref().filter(|_| cell.conditions.topology == Topology::Bench)?;
    let (testbed, gateway) = (cell.conditions.testbed, plan.gateway(cell));
    let far = bench.far(testbed, gateway);
    if far == bench.monitor {
        let why = format!("{far} is monitor and far side at once, so both timestamps of a frame would be the same");
        let help = "the far side has to be another channel of the adapter; without a gateway it is `from` on host, and the \
                    monitor on ssh: remove such cells with an [[exclude]]";
        return Some((why, help));
    }
    bench.hears_own(testbed, gateway).then(|| {
        let why = format!("{far} is the gateway's own interface, and sent frames have no timestamp of the adapter");
        (why, "write as `receive` another interface on the second bus: a channel of the adapter that has the monitor")
    })
}

/// Takes the logs into the plan, and reports mistakes where the logs are named.
fn logs(plan: &mut Plan, spec: &Spec, available: Available<'_>, findings: &mut Findings) {
    let Some(files) = available.logs else { return };
    let included = spec.includes.iter().flat_map(|selection| &selection.levels);
    let levels = spec.factors.iter().chain(included).filter(|levels| levels.factor == Factor::Traffic);
    for written in levels.flat_map(|levels| &levels.levels) {
        let Ok(traffic @ Traffic::Replay { .. }) = written.value.parse() else { continue };
        let Traffic::Replay { file, interface } = &traffic else { continue };
        let Some(bytes) = files.get(file) else { continue };
        if !plan.cells().iter().any(|cell| cell.traffic == traffic) {
            continue;
        }
        let read = Log::of(bytes).and_then(|log| Ok((log.frames(interface.as_deref())?.len(), log)));
        let (frames, log) = match read {
            Ok(read) => read,
            Err(wrong) => {
                let help = "correct the log, or choose another; only error frames are skipped";
                error::<()>(findings, code::LOG, &written.span, format!("{file}: {wrong}"), help);
                continue;
            }
        };
        let warm_up = plan.warm_up as usize;
        let wanted = warm_up + plan.frames as usize;
        if frames <= warm_up {
            let message = format!("{file} has {}: warm-up = {warm_up} leaves none to measure", plural(frames, "frame"));
            error::<()>(findings, code::LOG, &written.span, message, "write warm-up = 0, or replay a longer log");
        } else if frames > wanted {
            let message = format!("{file} has {frames} frames, of which the first {wanted} are sent");
            let help = format!("write frames = {} to send all of them", frames - warm_up);
            warning(findings, code::CUT, &written.span, message, help);
        }
        plan.logs.insert(file.clone(), log);
    }
}

fn decoys(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let several = plan.cells().iter().find(|cell| {
        cell.frame.id.0 & CAN_EFF_FLAG == 0 && plan.rules(cell).decoys.is_some_and(|decoys| decoys.masks > 1)
    });
    if let Some(cell) = several {
        let written = spec.rules.iter().find(|rules| rules.name.value == cell.rules);
        let span = written.and_then(|rules| rules.decoys_masked.as_ref()).map_or(0..0, |masks| masks.span.clone());
        let message = format!("Several masks are for 29-bit identifiers, and {} has 11 bits", cell.frame);
        error::<()>(findings, code::RULES, &span, message, "write true, or frame = \"00000123#0000\" below [factor]");
    }
    let too_many = plan.cells().iter().find_map(|cell| {
        let count = plan.rules(cell).decoys?.count;
        (cell.frame.id.0 & CAN_EFF_FLAG == 0 && count > MOST_SFF_DECOYS).then_some((cell, count))
    });
    if let Some((cell, count)) = too_many {
        let written = spec.rules.iter().find(|rules| rules.name.value == cell.rules);
        let span = written.and_then(|rules| rules.decoys.as_ref()).map_or(0..0, |decoys| decoys.span.clone());
        let message = format!("There are fewer than {count} 11-bit identifiers other than that of {}", cell.frame);
        let help = format!("write {MOST_SFF_DECOYS} or less, or a frame with a 29-bit identifier");
        error::<()>(findings, code::RULES, &span, message, help);
    }
}

fn unused(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let gateways = spec.gateways.iter().map(|written| (&written.name, "gateway"));
    for (name, what) in gateways.chain(spec.rules.iter().map(|written| (&written.name, "rules"))) {
        let uses = |cell: &Cell| if what == "rules" { cell.rules == name.value } else { cell.gateway == name.value };
        // A broken one is not reported twice.
        let is_sound = plan.gateways.contains_key(&name.value) || plan.rules.contains_key(&name.value);
        if is_sound && !plan.cells().iter().any(uses) {
            let message = format!("No cell uses the {what} {}", quote(&name.value));
            warning(findings, code::UNUSED, &name.span, message, format!("add it to `{what}` below [factor]"));
        }
    }
}
