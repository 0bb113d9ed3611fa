//! `[wire]`: buses in software, and what they are to be like.

use std::collections::HashMap;
use std::num::NonZeroU8;

use crate::config::check::buses::{bit_rate, interface};
use crate::config::check::lateness::duration;
use crate::config::code;
use crate::config::spec::{WireBusSpec, WireSpec};
use crate::wire::{Wire, WireBus, WireModel, WireOrder, is_bus_name};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};

pub(in crate::config) fn wire(spec: &WireSpec, findings: &mut Findings) -> Option<Wire> {
    if spec.buses.is_empty() && !spec.is_torn {
        findings
            .report(Diagnostic::error(code::NO_BUS, spec.span.clone(), "`wire` has no bus").help(
                "add a table [wire.bus.NAME] with bitrate = \"500kbit/s\" and interfaces = [\"can0\", \"can1\"]",
            ));
    }
    let mut owners = HashMap::new();
    let buses: Vec<_> = spec.buses.iter().map(|written| bus(written, &mut owners, findings)).collect();
    let adapters = adapters(&spec.adapters, &owners, findings);
    let models = [("gs_usb", WireModel::GsUsb), ("ucan", WireModel::Ucan)];
    let orders = [("fifo", WireOrder::Fifo), ("lowest-id", WireOrder::LowestId)];
    let model = spec.model.as_ref().map(|written| one_of(written, "adapter", &models, findings));
    let order = spec.order.as_ref().map(|written| one_of(written, "order", &orders, findings));
    let depth = spec.depth.as_ref().map(|written| depth(written, findings));
    let seed = spec.seed.as_ref().map(|written| seed(written, findings));
    let late = spec.late.as_ref().map(|written| duration(written, findings));
    let buses = buses.into_iter().collect::<Option<Vec<_>>>()?;
    let wire = Wire {
        buses,
        adapters: adapters?,
        model: sound(model)?,
        depth: sound(depth)?,
        order: sound(order)?,
        force_rates: spec.force_rates.as_ref().is_some_and(|force| force.value),
        seed: sound(seed)?,
        late: sound(late)?,
        log: spec.log.as_ref().map(|written| written.value.clone()),
        pcapng: spec.pcapng.as_ref().map(|written| written.value.clone()),
    };
    (!spec.is_torn && !wire.buses.is_empty()).then_some(wire)
}

/// Parses `faults`, in the syntax of `candor-lab wire inject`.
pub(in crate::config) fn faults<F>(
    spec: &WireSpec,
    parse: impl Fn(&str) -> Result<F, String>,
    findings: &mut Findings,
) -> Vec<F> {
    let mut faults = Vec::new();
    for written in &spec.faults {
        match parse(&written.value) {
            Ok(fault) => faults.push(fault),
            Err(error) => findings.report(
                Diagnostic::error(code::FAULT, written.span.clone(), format!("Invalid fault: {error}"))
                    .help("use the syntax of `candor-lab wire inject`, such as \"bus-off can1 --at 5s\""),
            ),
        }
    }
    faults
}

/// Returns `Some(None)` for a missing key and `None` for an invalid one.
#[expect(clippy::option_option, reason = "the outer one: whether it may be used")]
fn sound<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    value.map_or(Some(None), |value| value.map(Some))
}

fn bus<'s>(spec: &'s WireBusSpec, owners: &mut HashMap<&'s str, &'s Span>, findings: &mut Findings) -> Option<WireBus> {
    let name = &spec.name.value;
    let is_name = is_bus_name(name);
    if !is_name {
        let message = format!("{} is not a valid name for a bus of `wire`", quote(name));
        let help = "write letters, digits, - and _, such as \"b0\"";
        findings.report(Diagnostic::error(code::NAME, spec.name.span.clone(), message).help(help));
    }
    if spec.interfaces.is_empty() {
        let message = format!("Bus {} has no node", quote(name));
        let help = "add interfaces = [\"can0\", \"can1\"]; with fewer than two, no node acknowledges frames";
        findings.report(Diagnostic::error(code::INTERFACE, spec.name.span.clone(), message).help(help));
    }
    let bitrate = spec.bitrate.as_ref().and_then(|written| bit_rate(written, findings));
    let data = spec.data_bitrate.as_ref().map(|written| (written, bit_rate(written, findings)));
    if let (Some(nominal), Some((written, Some(data)))) = (bitrate, &data)
        && *data < nominal
    {
        let message = format!("The data bit rate {data} is below the bit rate {nominal}");
        let help = "the data phase is at least as fast as the arbitration phase; omit the key for a bus without CAN FD";
        findings.report(Diagnostic::error(code::BIT_RATE, written.span.clone(), message).help(help));
        return None;
    }
    let interfaces: Vec<_> = spec.interfaces.iter().map(|written| node(written, owners, findings)).collect();
    let interfaces = interfaces.into_iter().collect::<Option<Vec<_>>>()?;
    let data_bitrate = sound(data.map(|(_, data)| data))?;
    let bus = WireBus { name: name.clone(), bitrate: bitrate?, data_bitrate, interfaces };
    (is_name && !bus.interfaces.is_empty()).then_some(bus)
}

fn node<'s>(
    written: &'s Spanned<String>,
    owners: &mut HashMap<&'s str, &'s Span>,
    findings: &mut Findings,
) -> Option<String> {
    let name = interface(written, findings)?;
    match owners.insert(&written.value, &written.span) {
        None => Some(name),
        Some(first) => {
            let message = format!("Interface {} is already a node", quote(&written.value));
            findings.report(
                Diagnostic::error(code::SHARED_INTERFACE, written.span.clone(), message)
                    .also(first.clone(), "first used here")
                    .help("give this node another interface"),
            );
            None
        }
    }
}

/// Interfaces of the buses, each of one adapter at most.
fn adapters(
    written: &[Vec<Spanned<String>>],
    nodes: &HashMap<&str, &Span>,
    findings: &mut Findings,
) -> Option<Vec<Vec<String>>> {
    let mut owners: HashMap<&str, &Span> = HashMap::new();
    let mut is_sound = true;
    for interface in written.iter().flatten() {
        let name = quote(&interface.value);
        let diagnostic = if !nodes.contains_key(interface.value.as_str()) {
            let message = format!("No bus of `wire` has an interface {name}");
            let help = "write one of the `interfaces` of [wire.bus.NAME]";
            Diagnostic::error(code::INTERFACE, interface.span.clone(), message).help(help)
        } else if let Some(first) = owners.insert(&interface.value, &interface.span) {
            let message = format!("Interface {name} already has an adapter");
            Diagnostic::error(code::SHARED_INTERFACE, interface.span.clone(), message)
                .also(first.clone(), "first used here")
                .help("remove it from one of them")
        } else {
            continue;
        };
        findings.report(diagnostic);
        is_sound = false;
    }
    let names = |of: &Vec<Spanned<String>>| of.iter().map(|interface| interface.value.clone()).collect();
    is_sound.then(|| written.iter().filter(|of| !of.is_empty()).map(names).collect())
}

fn one_of<T: Copy>(written: &Spanned<String>, what: &str, known: &[(&str, T)], findings: &mut Findings) -> Option<T> {
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == written.value) {
        return Some(*value);
    }
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    let message = format!("Unknown {what} {}", quote(&written.value));
    let list: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let mut diagnostic =
        Diagnostic::error(code::WIRE_WORD, written.span.clone(), message).help(format!("write {}", list.join(" or ")));
    if let Some(name) = closest(&written.value, &names) {
        diagnostic = diagnostic.label(format!("did you mean \"{name}\"?"));
    }
    findings.report(diagnostic);
    None
}

fn depth(written: &Spanned<i64>, findings: &mut Findings) -> Option<NonZeroU8> {
    let depth = u8::try_from(written.value).ok().and_then(NonZeroU8::new);
    if depth.is_none() {
        let message = format!("A controller holds 1 to 255 frames, not {}", written.value);
        let help = "real controllers hold 1 to 32; ucan supports any of these numbers, gs_usb always has 10";
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
    }
    depth
}

fn seed(written: &Spanned<i64>, findings: &mut Findings) -> Option<u64> {
    let seed = u64::try_from(written.value).ok();
    if seed.is_none() {
        let message = "A seed must not be negative";
        findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help("write any other number"));
    }
    seed
}
