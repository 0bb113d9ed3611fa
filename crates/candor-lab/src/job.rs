//! What the host asks of a guest: a file in the guest's image, and where everything lies in there.

use std::collections::BTreeMap;

use crate::experiment::Wire;
use candor_core::units::BitRate;
use serde::{Deserialize, Serialize};

use crate::kernel::Testbed;

/// Where the job is in a guest. A process that is number 1 and finds it is a guest's init.
pub const JOB_PATH: &str = "/etc/candor/job.json";
/// What the guest's `modprobe` reads.
pub const MODULES_PATH: &str = "/etc/candor/modules.json";
/// The working directory of the command, with the copied files.
pub const HOME: &str = "/root";
/// `$CANDOR_OUT`.
pub const OUT: &str = "/root/out";
/// `$PATH` of the command.
pub const PATH: &str = "/bin:/sbin";

/// One run of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Which laboratory this is.
    pub testbed: Testbed,
    /// Which interfaces to make.
    pub topology: Topology,
    /// `candor-lab wire --adapter` of each that [`Topology::Wire`] is to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wire_adapters: Vec<String>,
    /// Modules to load at boot, in this order.
    pub modules: Vec<ModuleFile>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Environment of the command.
    pub environment: BTreeMap<String, String>,
    /// Run the command on the guest's terminal instead of sending what it prints.
    pub terminal: Option<TerminalSize>,
}

/// The interfaces of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Topology {
    /// Two buses of emulated Kvaser PCI cards at 1 Mbit/s: can0, can1, can2 on the first, can3, can4 on the second.
    /// can0 sends, can1 watches, can2 and can3 are the gateway's, can4 receives.
    Kvaser,
    /// vcan0, vcan1 and vcan2, each a bus of its own, for classic and FD frames.
    Vcan,
    /// The interfaces of [`Kvaser`](Self::Kvaser), on two buses that `candor-lab wire` plays ([`WIRE_BUSES`]).
    Wire,
}

/// `candor-lab wire --bus` of each bus of [`Topology::Wire`], at the rates of [`WIRE`]: Figure 1 of the 2011 gateway paper.
pub const WIRE_BUSES: [&str; 2] = ["first:500k/2M:can0,can1,can2", "second:500k/2M:can3,can4"];

/// An adapter there by whose channels the tester hears both buses, so that its stamps of the wire are of one clock: can2 is where it
/// listens without a gateway.
pub const WIRE_EARS: &str = "can1,can2,can4";

/// The bit rates of [`WIRE_BUSES`].
pub const WIRE: Wire = Wire {
    nominal: BitRate::from_bits_per_second(500_000).expect("is not 0"),
    data: BitRate::from_bits_per_second(2_000_000),
};

impl Topology {
    /// Its interfaces, in the order of their numbers.
    #[must_use]
    pub const fn interfaces(self) -> &'static [&'static str] {
        match self {
            Self::Kvaser | Self::Wire => &["can0", "can1", "can2", "can3", "can4"],
            Self::Vcan => &["vcan0", "vcan1", "vcan2"],
        }
    }

    /// Whether it needs a machine that QEMU emulates: its cards, or the kernel's USB, which user-mode Linux lacks.
    #[must_use]
    pub const fn needs_machine(self) -> bool {
        matches!(self, Self::Kvaser | Self::Wire)
    }

    /// As it is written on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvaser => "kvaser",
            Self::Vcan => "vcan",
            Self::Wire => "wire",
        }
    }
}

/// Rows and columns of the terminal that the guest's shell is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Rows.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
}

/// The modules of a guest, for its `modprobe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleIndex {
    /// By name: where it is, and what must be loaded before.
    pub modules: BTreeMap<String, IndexedModule>,
    /// Other names, as the kernel asks for them.
    pub aliases: BTreeMap<String, String>,
}

/// A kernel module in a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleFile {
    /// Where its bytes are.
    pub path: String,
    /// What it is loaded with: `NAME=VALUE`, separated by spaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parameters: String,
}

/// One module of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedModule {
    /// Itself.
    pub file: ModuleFile,
    /// Modules that must be loaded before, by name.
    pub depends: Vec<String>,
}

impl ModuleIndex {
    /// The files to load, in order, for a name that the kernel asks for. Empty if it is not known.
    #[must_use]
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
        // The host has checked that there is no circle.
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
    fn modprobe_loads_what_is_needed_first() {
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
