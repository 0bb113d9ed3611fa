//! The job of a guest: a file in its image, and well-known paths.

use std::collections::BTreeMap;

use candor_core::units::BitRate;
use serde::{Deserialize, Serialize};

use crate::experiment::Wire;
use crate::kernel::Testbed;

/// Also identifies a guest's init: process 1 with this file.
pub const JOB_PATH: &str = "/etc/candor/job.json";
/// Read by the guest's `modprobe`.
pub const MODULES_PATH: &str = "/etc/candor/modules.json";
/// Working directory of the command, with the copied files.
pub const HOME: &str = "/root";
pub const OUT: &str = "/root/out";
pub const PATH: &str = "/bin:/sbin";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub testbed: Testbed,
    pub topology: Topology,
    /// There is a second processor for `candor-lab bare-metal`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare_metal: bool,
    /// `candor-lab wire --adapter` for [`Topology::Wire`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wire_adapters: Vec<String>,
    /// Loaded at boot, in this order.
    pub modules: Vec<ModuleFile>,
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Run the command on the guest's terminal instead of sending its output.
    pub terminal: Option<TerminalSize>,
}

names! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Topology {
        /// Two buses of emulated Kvaser PCI cards at 1 Mbit/s: can0, can1, can2 on the first, can3, can4 on the second.
        /// can0 sends, can1 monitors, can2 and can3 are the gateway's, can4 receives.
        Kvaser = "kvaser",
        /// vcan0, vcan1 and vcan2, each a bus of its own, for classic and FD frames.
        Vcan = "vcan",
        /// The interfaces of [`Kvaser`](Self::Kvaser), on two buses emulated by `candor-lab wire` ([`WIRE_BUSES`]).
        Wire = "wire",
    }
}

/// Bit rate of [`Topology::Kvaser`].
pub const KVASER_RATE: BitRate = BitRate::from_bits_per_second(1_000_000).expect("a million is not 0");

/// `candor-lab wire --bus` of [`Topology::Wire`], at the rates of [`WIRE`]: figure 1 of the 2011 gateway paper.
pub const WIRE_BUSES: [&str; 2] = ["first:500k/2M:can0,can1,can2", "second:500k/2M:can3,can4"];

/// Channels of one adapter on which the tester receives both buses, so that one clock takes its stamps. Without a
/// gateway it receives on can2.
pub const WIRE_LISTENERS: &str = "can1,can2,can4";

/// Bit rates of [`WIRE_BUSES`].
pub const WIRE: Wire = Wire {
    nominal: BitRate::from_bits_per_second(500_000).expect("is not 0"),
    data: BitRate::from_bits_per_second(2_000_000),
};

impl Topology {
    pub const fn interfaces(self) -> &'static [&'static str] {
        match self {
            Self::Kvaser | Self::Wire => &["can0", "can1", "can2", "can3", "can4"],
            Self::Vcan => &["vcan0", "vcan1", "vcan2"],
        }
    }

    /// True if it needs emulated cards or USB, which user-mode Linux lacks.
    pub const fn needs_machine(self) -> bool {
        matches!(self, Self::Kvaser | Self::Wire)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// For the guest's `modprobe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleIndex {
    pub modules: BTreeMap<String, IndexedModule>,
    /// Names used by the kernel → module names.
    pub aliases: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleFile {
    pub path: String,
    /// `NAME=VALUE`, separated by spaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parameters: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedModule {
    pub file: ModuleFile,
    pub depends: Vec<String>,
}

impl ModuleIndex {
    /// Files to load, in order, for a name used by the kernel; empty if unknown.
    pub fn to_load(&self, wanted: &str) -> Vec<&ModuleFile> {
        let name = self.aliases.get(wanted).cloned().unwrap_or_else(|| crate::kernel::modules::plain(wanted));
        let mut names = Vec::new();
        self.visit(&name, &mut names);
        names.iter().filter_map(|name| Some(&self.modules.get(*name)?.file)).collect()
    }

    fn visit<'a>(&'a self, name: &str, names: &mut Vec<&'a str>) {
        let Some((name, module)) = self.modules.get_key_value(name) else { return };
        if names.contains(&name.as_str()) {
            return;
        }
        // The host has ruled out circles.
        for depends in &module.depends {
            self.visit(depends, names);
        }
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modprobe_loads_dependencies_first() {
        let module = |path: &str, depends: &[&str]| IndexedModule {
            file: ModuleFile { path: path.to_owned(), parameters: String::new() },
            depends: depends.iter().map(|&name| name.to_owned()).collect(),
        };
        let index = ModuleIndex {
            modules: BTreeMap::from([
                ("can".to_owned(), module("/m/can", &[])),
                ("can_raw".to_owned(), module("/m/can_raw", &["can", "builtin"])),
            ]),
            aliases: BTreeMap::from([("can-proto-1".to_owned(), "can_raw".to_owned())]),
        };
        let paths = |wanted| index.to_load(wanted).into_iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
        assert_eq!(paths("can-proto-1"), ["/m/can", "/m/can_raw"]);
        assert_eq!(paths("can-raw"), ["/m/can", "/m/can_raw"]);
        assert!(paths("net-pf-29").is_empty());
    }
}
