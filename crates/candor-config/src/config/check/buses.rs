//! Buses: names, interfaces, bit rates, vxcan pairs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::value::{Phase, bit_rate, duration, interface};
use crate::config::code;
use crate::config::spec::{BusSpec, Buses, Spec};
use crate::plan::{Bus, BusIndex};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::Named;
use candor_core::document::{Text, closest, quote};

/// A controller in bus-off waits for 128 times 11 recessive bits anyway, which is 11 ms at 125 kbit/s.
const RESTART_AFTER: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

/// The buses of a file by name. TOML does not allow a name twice.
pub(super) struct BusNames<'s> {
    spec: &'s Buses,
    by_name: BTreeMap<&'s str, BusIndex>,
    broken: HashSet<&'s str>,
}

impl<'s> BusNames<'s> {
    pub(super) fn new(spec: &'s Spec) -> Self {
        let names = spec.buses.specs.iter().enumerate().map(|(index, bus)| (bus.name.value.as_str(), BusIndex(index)));
        let broken = spec.buses.broken.iter().map(String::as_str).collect();
        Self { spec: &spec.buses, by_name: candor_core::order::map(names), broken }
    }

    /// The bus whose name and a dot a text begins with; the longest one.
    pub(super) fn first_part(&self, text: &str) -> Option<(BusIndex, &'s str)> {
        let is_first = |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let found = self.by_name.iter().filter(|(name, _)| is_first(name));
        found.max_by_key(|(name, _)| name.len()).map(|(name, index)| (*index, *name))
    }

    /// The bus of this name. Reports an unknown one, unless it may be one whose table has errors.
    pub(super) fn index(&self, written: &Text, findings: &mut Findings) -> Option<BusIndex> {
        let found = self.by_name.get(written.value.as_str()).copied();
        let may_be_broken = self.spec.has_nameless || self.broken.contains(written.value.as_str());
        if found.is_none() && !may_be_broken && !findings.is_incomplete && !findings.is_full() {
            unknown_bus(written, &self.spec.specs, findings);
        }
        found
    }
}

fn unknown_bus(written: &Text, buses: &[Named<BusSpec>], findings: &mut Findings) {
    /// Searching more names for a suggestion takes too long.
    const MOST_CANDIDATES: usize = 64;
    const MOST_NAMES: usize = 8;
    let buses = &buses[..buses.len().min(MOST_CANDIDATES)];
    let names: Vec<_> = buses.iter().map(|bus| bus.name.value.as_str()).collect();
    let message = format!("Unknown bus {}", quote(&written.value));
    let diagnostic = Diagnostic::error(code::UNKNOWN_BUS, written.span.clone(), message);
    let owner = buses.iter().find_map(|bus| {
        let interface = bus.interface.as_ref().filter(|interface| interface.value == written.value)?;
        Some((quote(&bus.name.value), interface.span.clone()))
    });
    if let Some((name, interface)) = owner {
        let diagnostic = diagnostic.also(interface, format!("the interface of bus {name}"));
        return findings.report(diagnostic.help(format!("write the name of the bus: {name}")));
    }
    let mut list: Vec<_> = names.iter().take(MOST_NAMES).map(|name| quote(name)).collect();
    if names.len() > MOST_NAMES {
        list.push("…".to_owned());
    }
    let diagnostic = diagnostic.help(match list.as_slice() {
        [] => "the file has no bus; add a table [bus.NAME]".to_owned(),
        list => format!("buses of this file: {}", list.join(", ")),
    });
    findings.report(match closest(&written.value, &names) {
        Some(name) => diagnostic.label(format!("did you mean {}?", quote(name))),
        None => diagnostic,
    });
}

pub(super) fn buses(specs: &[Named<BusSpec>], names: &BusNames<'_>, findings: &mut Findings) -> Vec<Bus> {
    let mut owners = HashMap::new();
    let mut buses = Vec::with_capacity(specs.len());
    for spec in specs {
        name(&spec.name, findings);
        if let Some(written) = &spec.interface {
            match owners.get(written.value.as_str()) {
                None => {
                    owners.insert(written.value.as_str(), spec);
                }
                Some(owner) => shared_interface(written, owner, findings),
            }
        }
        buses.push(Bus {
            name: spec.name.value.clone(),
            interface: spec.interface.as_ref().and_then(|written| interface(written, findings)).unwrap_or_default(),
            bitrate: spec.bitrate.as_ref().and_then(|written| bit_rate(written, Phase::Nominal, findings)),
            data_bitrate: spec.data_bitrate.as_ref().and_then(|written| bit_rate(written, Phase::Data, findings)),
            vxcan_peer: None,
            restart_after: spec.restart_after.as_ref().and_then(|written| restart_after(written, findings)),
        });
    }
    vxcan_pairs(specs, names, &mut buses, findings);
    buses
}

/// Names appear in messages, in tables and on command lines, so they must be printable.
pub(super) fn name(name: &Text, findings: &mut Findings) {
    let problem = match name.value.as_str() {
        "" => "The name is empty",
        text if text.chars().any(char::is_control) => "The name contains a control character",
        text if text.trim() != text => "The name begins or ends with a space",
        _ => return,
    };
    findings.error(code::NAME, &name.span, problem, "write a short name, such as \"body\"");
}

fn shared_interface(written: &Text, owner: &Named<BusSpec>, findings: &mut Findings) {
    let message = format!("Interface {} already belongs to bus {}", quote(&written.value), quote(&owner.name.value));
    let diagnostic = Diagnostic::error(code::SHARED_INTERFACE, written.span.clone(), message)
        .help("give this bus an interface of its own, or use the first bus in the routes");
    findings.report(match &owner.interface {
        Some(first) => diagnostic.also(first.span.clone(), "first used here"),
        None => diagnostic,
    });
}

fn restart_after(written: &Text, findings: &mut Findings) -> Option<Duration> {
    let wait = duration(written, findings)?;
    if !RESTART_AFTER.contains(&wait) {
        let message = "`restart-after` must be 10 ms to 1 hour";
        let help = "the cause of the bus-off needs time to disappear; start with \"1s\"";
        findings.error(code::DURATION, &written.span, message, help);
    }
    Some(wait)
}

/// Sets the peer of each bus. One of the two ends has to name the other.
fn vxcan_pairs(specs: &[Named<BusSpec>], names: &BusNames<'_>, buses: &mut [Bus], findings: &mut Findings) {
    // The bus that named the peer.
    let mut named_by: Vec<Option<usize>> = vec![None; specs.len()];
    for (index, bus) in specs.iter().enumerate() {
        let Some(written) = &bus.vxcan_peer else { continue };
        let Some(peer) = names.index(written, findings) else { continue };
        let own = BusIndex(index);
        if peer == own {
            let message = format!("Bus {} cannot be its own peer", quote(&bus.name.value));
            let help = "a vxcan pair has two ends; name the bus at the other end";
            findings.error(code::VXCAN_PEER, &written.span, message, help);
            continue;
        }
        let taken = [(own, peer), (peer, own)]
            .into_iter()
            .find(|(end, other_end)| buses[end.0].vxcan_peer.is_some_and(|known| known != *other_end));
        if let Some((end, first)) = taken.and_then(|(end, _)| Some((end.0, named_by[end.0]?))) {
            let message = format!("Bus {} already has a peer", quote(&specs[end].name.value));
            let first = specs[first].vxcan_peer.as_ref().unwrap_or(&specs[first].name).span.clone();
            findings.report(
                Diagnostic::error(code::VXCAN_PEER, written.span.clone(), message)
                    .also(first, "first named here")
                    .help("a vxcan pair has two ends, and each end is one bus"),
            );
            continue;
        }
        for (end, other_end) in [(own, peer), (peer, own)] {
            buses[end.0].vxcan_peer = Some(other_end);
            named_by[end.0].get_or_insert(index);
        }
    }
}
