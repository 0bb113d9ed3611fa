//! `candor-lab preflight`: requirements that a machine lacks as a testbed, all reported before anything is measured.

use std::collections::BTreeSet;

use candor_cli::{Exit, Outcome, render};
use candor_core::causes;
use candor_io::machine::{Capability, Machine};
use candor_lab::cells::{CellOrder, Device};
use candor_lab::device::OWN_PROGRAMS;
use candor_lab::image;
use candor_lab::tester;
use candor_netlink::client::Client;

use crate::cli::PreflightArgs;

/// Features that a command needs on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// CAN interfaces, which must be up.
    pub(crate) interfaces: BTreeSet<String>,
    /// Pairs of interfaces of one adapter with hardware stamps. Only for the tester, so not an argument.
    pub(crate) of_one_clock: BTreeSet<(String, String)>,
    pub(crate) programs: BTreeSet<String>,
    pub(crate) packets: bool,
    /// Configuration of can-gw.
    pub(crate) kernel: bool,
}

impl Wanted {
    /// Adds the requirements of the gateway of a cell.
    pub(crate) fn by_gateway(&mut self, cell: &CellOrder, interfaces: Option<&(String, String)>) {
        let ends = |wanted: &mut Self| {
            wanted.interfaces.extend(interfaces.into_iter().flat_map(|(from, to)| [from.clone(), to.clone()]));
        };
        match &cell.device {
            // In guests only.
            Device::None | Device::External | Device::BareMetal { .. } => {}
            Device::Candor { engine, .. } => {
                ends(self);
                self.kernel |= ["kernel", "auto"].contains(&engine.as_str());
                self.packets |= engine.contains("mmap");
            }
            Device::Baseline { engine, .. } => {
                ends(self);
                self.packets |= engine.contains("mmap");
            }
            Device::Command { start, stop } => {
                ends(self);
                self.programs.extend([start, stop].into_iter().filter_map(|words| words.first()).cloned());
            }
        }
    }

    /// Adds the requirements of the tester for a cell.
    pub(crate) fn by_tester(&mut self, cell: &CellOrder) {
        let ends = &cell.ends;
        self.interfaces.extend([&ends.send, &ends.monitor, &ends.receive].map(Clone::clone));
        if cell.hardware_stamps {
            self.of_one_clock.insert((ends.monitor.clone(), ends.receive.clone()));
        }
        // All other traffic is received by taps, which are rings except with hardware stamps.
        self.packets |= cell.traffic != "one at a time" && !cell.hardware_stamps;
    }

    /// The same as arguments of `candor-lab preflight`.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let named = |option: &'static str, names: &BTreeSet<String>| {
            names.iter().flat_map(move |name| [option.to_owned(), name.clone()]).collect::<Vec<_>>()
        };
        let mut arguments = named("--interface", &self.interfaces);
        arguments.extend(named("--program", &self.programs));
        arguments.extend(self.packets.then(|| "--packets".to_owned()));
        arguments.extend(self.kernel.then(|| "--kernel".to_owned()));
        arguments
    }

    /// Unmet requirements, one sentence each, with a remedy.
    pub(crate) fn lacking(&self) -> Vec<String> {
        let mut lacking = Vec::new();
        match Client::open() {
            Ok(mut client) => {
                let mut is_found = |name: &String| match tester::find(&mut client, name) {
                    Ok(_link) => true,
                    Err(error) => {
                        lacking.push(causes::in_full(&error));
                        false
                    }
                };
                let found: BTreeSet<_> = self.interfaces.iter().filter(|name| is_found(name)).collect();
                let pairs = self.of_one_clock.iter().filter(|(a, b)| found.contains(a) && found.contains(b));
                let wrong = pairs.filter_map(|(monitor, receive)| tester::share_a_clock(monitor, receive).err());
                lacking.extend(wrong.map(|error| causes::in_full(&error)));
            }
            Err(error) => lacking.push(causes::in_full(&error)),
        }
        // These programs are copied to the machine.
        let programs = self.programs.iter().filter(|program| !OWN_PROGRAMS.contains(&program.as_str()));
        lacking
            .extend(programs.filter_map(|program| image::locate(program).err()).map(|error| causes::in_full(&error)));
        let machine = Machine::here();
        let has = |capability| machine.process(std::process::id()).has(capability).unwrap_or(true);
        if self.packets && !has(Capability::NetRaw) {
            lacking.push("Rings and taps need the capability CAP_NET_RAW; run candor as root (sudo)".to_owned());
        }
        if self.kernel && !has(Capability::NetAdmin) {
            lacking.push("can-gw needs the capability CAP_NET_ADMIN; run candor as root (sudo)".to_owned());
        }
        lacking
    }
}

/// Prints the unmet requirements of the arguments, one per line.
pub(crate) fn run(args: &PreflightArgs) -> Outcome {
    let wanted = Wanted {
        interfaces: args.interface.iter().cloned().collect(),
        of_one_clock: BTreeSet::new(),
        programs: args.program.iter().cloned().collect(),
        packets: args.packets,
        kernel: args.kernel,
    };
    let lacking = wanted.lacking();
    render::out(&lacking.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    Ok(if lacking.is_empty() { Exit::Fine } else { Exit::No })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_unmet_requirements_are_reported_at_once() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let wanted = Wanted {
            interfaces: names(&["nocan0", "nocan1", "lo"]),
            // Ignored for missing interfaces.
            of_one_clock: [("nocan0".to_owned(), "nocan1".to_owned())].into(),
            programs: names(&["no-program", "candor", "true"]),
            packets: false,
            kernel: false,
        };
        let lacking = wanted.lacking().join("\n");
        assert_eq!(lacking.lines().count(), 4, "{lacking}");
        for part in ["nocan0 not found", "nocan1 not found", "lo is not a CAN interface", "no-program"] {
            assert!(lacking.contains(part), "{lacking}");
        }
        assert_eq!(wanted.arguments().len(), 2 * 6);
    }
}
