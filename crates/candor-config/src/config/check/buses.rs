//! Buses: names, interfaces, bit rates.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::lateness::duration;
use crate::config::code;
use crate::config::spec::{BusSpec, Spec};
use crate::plan::{Bus, BusIndex};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::interface_name;
use candor_core::units::BitRate;

/// A controller that is off the bus has to wait for 128 times 11 recessive bits anyway, which is 11 ms at 125 kbit/s.
const RESTART_AFTER: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

/// The buses of a file by name. toml sees to it that no name is there twice.
pub(super) struct BusNames<'s> {
    specs: &'s [BusSpec],
    by_name: BTreeMap<&'s str, BusIndex>,
    broken: HashSet<&'s str>,
    has_nameless: bool,
}

impl<'s> BusNames<'s> {
    pub(super) fn new(spec: &'s Spec) -> Self {
        let specs = spec.buses.as_slice();
        let by_name = specs.iter().enumerate().map(|(index, bus)| (bus.name.value.as_str(), BusIndex(index))).collect();
        let broken = spec.buses.broken.iter().map(String::as_str).collect();
        Self { specs, by_name, broken, has_nameless: spec.buses.has_nameless }
    }

    pub(super) fn index(&self, name: &str) -> Option<BusIndex> {
        self.by_name.get(name).copied()
    }

    /// Returns true if a bus whose table has errors is, or may be, the one with this name.
    pub(super) fn may_be_broken(&self, name: &str) -> bool {
        self.has_nameless || self.broken.contains(name)
    }

    pub(super) const fn specs(&self) -> &'s [BusSpec] {
        self.specs
    }
}

pub(super) fn buses(specs: &[BusSpec], findings: &mut Findings) -> Option<Vec<Bus>> {
    let mut owners = HashMap::new();
    let buses: Vec<_> = specs
        .iter()
        .map(|spec| {
            name(&spec.name, findings);
            if let Some(written) = &spec.interface {
                match owners.get(written.value.as_str()) {
                    None => {
                        owners.insert(written.value.as_str(), spec);
                    }
                    Some(owner) => shared_interface(written, owner, findings),
                }
            }
            bus(spec, findings)
        })
        .collect();
    buses.into_iter().collect()
}

/// Names appear in messages, in tables and on command lines; anything printable will do.
pub(super) fn name(name: &Spanned<String>, findings: &mut Findings) {
    let problem = match name.value.as_str() {
        "" => "The name is empty",
        text if text.chars().any(char::is_control) => "The name contains a control character",
        text if text.trim() != text => "The name begins or ends with a space",
        _ => return,
    };
    findings
        .report(Diagnostic::error(code::NAME, name.span.clone(), problem).help("write a short name, such as \"body\""));
}

fn shared_interface(written: &Spanned<String>, owner: &BusSpec, findings: &mut Findings) {
    let message = format!("Interface {} already belongs to bus {}", quote(&written.value), quote(&owner.name.value));
    let diagnostic = Diagnostic::error(code::SHARED_INTERFACE, written.span.clone(), message)
        .help("give this bus an interface of its own, or use the first bus in the routes");
    findings.report(match &owner.interface {
        Some(first) => diagnostic.also(first.span.clone(), "first used here"),
        None => diagnostic,
    });
}

fn bus(spec: &BusSpec, findings: &mut Findings) -> Option<Bus> {
    let interface = spec.interface.as_ref().and_then(|written| interface(written, findings));
    let bitrate = spec.bitrate.as_ref().map(|written| bit_rate(written, findings));
    let data_bitrate = spec.data_bitrate.as_ref().map(|written| bit_rate(written, findings));
    Some(Bus {
        name: spec.name.value.clone(),
        interface: interface?,
        bitrate: bitrate.map_or(Some(None), |rate| rate.map(Some))?,
        data_bitrate: data_bitrate.map_or(Some(None), |rate| rate.map(Some))?,
        vxcan_peer: None,
        restart_after: spec
            .restart_after
            .as_ref()
            .map_or(Some(None), |written| restart_after(written, findings).map(Some))?,
    })
}

fn restart_after(written: &Spanned<String>, findings: &mut Findings) -> Option<Duration> {
    let wait = duration(written, findings)?;
    if RESTART_AFTER.contains(&wait) {
        return Some(wait);
    }
    findings.report(
        Diagnostic::error(code::DURATION, written.span.clone(), "`restart-after` must be 10 ms to 1 hour")
            .help("the cause of the bus-off needs time to disappear; start with \"1s\""),
    );
    None
}

pub(super) fn interface(written: &Spanned<String>, findings: &mut Findings) -> Option<String> {
    match interface_name::check(&written.value) {
        Ok(()) => Some(written.value.clone()),
        Err(problem) => {
            findings.report(
                Diagnostic::error(code::INTERFACE, written.span.clone(), problem.to_string())
                    .help("write a name listed by `ip link show type can` or `type vcan`, such as \"can0\""),
            );
            None
        }
    }
}

pub(super) fn bit_rate(written: &Spanned<String>, findings: &mut Findings) -> Option<BitRate> {
    match written.value.parse() {
        Ok(rate) => Some(rate),
        Err(error) => {
            findings.report(
                Diagnostic::error(code::BIT_RATE, written.span.clone(), format!("{error}"))
                    .help("write a bit rate such as \"500kbit/s\" or \"1Mbit/s\""),
            );
            None
        }
    }
}
