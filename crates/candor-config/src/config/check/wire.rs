//! `[wire]`: software buses.

use std::collections::HashMap;
use std::num::NonZeroU8;

use crate::config::check::value::{Phase, bit_rate, duration, interface, word};
use crate::config::code;
use crate::config::spec::{WireBusSpec, WireSpec};
use crate::wire::{Wire, WireBus, WireModel, WireOrder, is_bus_name};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::{Named, Table};
use candor_core::document::{Text, quote};

/// The buses, with harmless values in place of those with errors.
pub(in crate::config) fn wire(spec: &Table<WireSpec>, findings: &mut Findings) -> Wire {
    if spec.buses.is_empty() && !spec.is_incomplete {
        let help = "add a table [wire.bus.NAME] with bitrate = \"500kbit/s\" and interfaces = [\"can0\", \"can1\"]";
        findings.error(code::NO_BUS, &spec.span, "`wire` has no bus", help);
    }
    let mut owners = HashMap::new();
    let buses = spec.buses.iter().filter_map(|written| bus(written, &mut owners, findings)).collect();
    let adapters = adapters(&spec.adapters, &owners, findings);
    let models = [("gs_usb", WireModel::GsUsb), ("ucan", WireModel::Ucan)];
    let orders = [("fifo", WireOrder::Fifo), ("lowest-id", WireOrder::LowestId)];
    let adapter = (code::WIRE_WORD, "adapter", "");
    Wire {
        buses,
        adapters,
        model: spec.model.as_ref().and_then(|written| word(written, adapter, &models, findings)),
        depth: spec.depth.as_ref().and_then(|written| NonZeroU8::new(written.value)),
        order: spec.order.as_ref().and_then(|written| word(written, (code::WIRE_WORD, "order", ""), &orders, findings)),
        force_rates: spec.force_rates.as_ref().is_some_and(|force| force.value),
        seed: spec.seed.as_ref().map(|written| written.value),
        late: spec.late.as_ref().and_then(|written| duration(written, findings)),
        log: spec.log.as_ref().map(|written| written.value.clone()),
        pcapng: spec.pcapng.as_ref().map(|written| written.value.clone()),
    }
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
            Err(error) => {
                let help = "use the syntax of `candor-lab wire inject`, such as \"bus-off can1 --at 5s\"";
                findings.error(code::FAULT, &written.span, format!("Invalid fault: {error}"), help);
            }
        }
    }
    faults
}

fn bus<'s>(
    spec: &'s Named<WireBusSpec>,
    owners: &mut HashMap<&'s str, &'s Span>,
    findings: &mut Findings,
) -> Option<WireBus> {
    let name = &spec.name.value;
    if !is_bus_name(name) {
        let message = format!("{} is not a valid name for a bus of `wire`", quote(name));
        findings.error(code::NAME, &spec.name.span, message, "write letters, digits, - and _, such as \"b0\"");
    }
    if spec.interfaces.is_empty() {
        let message = format!("Bus {} has no node", quote(name));
        let help = "add interfaces = [\"can0\", \"can1\"]; with fewer than two, no node acknowledges frames";
        findings.error(code::INTERFACE, &spec.name.span, message, help);
    }
    let bitrate = spec.bitrate.as_ref().and_then(|written| bit_rate(written, Phase::Nominal, findings));
    let data_bitrate =
        spec.data_bitrate.as_ref().and_then(|written| Some((written, bit_rate(written, Phase::Data, findings)?)));
    if let (Some(nominal), Some((written, data))) = (bitrate, data_bitrate)
        && data < nominal
    {
        let message = format!("The data bit rate {data} is below the bit rate {nominal}");
        let help = "the data phase is at least as fast as the arbitration phase; omit the key for a bus without CAN FD";
        findings.error(code::BIT_RATE, &written.span, message, help);
    }
    let interfaces = spec.interfaces.iter().filter_map(|written| node(written, owners, findings)).collect();
    Some(WireBus {
        name: name.clone(),
        bitrate: bitrate?,
        data_bitrate: data_bitrate.map(|(_, data)| data),
        interfaces,
    })
}

fn node<'s>(written: &'s Text, owners: &mut HashMap<&'s str, &'s Span>, findings: &mut Findings) -> Option<String> {
    let name = interface(written, findings)?;
    if let Some(first) = owners.insert(&written.value, &written.span) {
        let message = format!("Interface {} is already a node", quote(&written.value));
        findings.report(
            Diagnostic::error(code::SHARED_INTERFACE, written.span.clone(), message)
                .also(first.clone(), "first used here")
                .help("give this node another interface"),
        );
    }
    Some(name)
}

/// Interfaces of the buses, each in one adapter at most.
fn adapters(written: &[Vec<Text>], nodes: &HashMap<&str, &Span>, findings: &mut Findings) -> Vec<Vec<String>> {
    let mut owners: HashMap<&str, &Span> = HashMap::new();
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
    }
    let names = |of: &Vec<Text>| of.iter().map(|interface| interface.value.clone()).collect();
    written.iter().filter(|of| !of.is_empty()).map(names).collect()
}
