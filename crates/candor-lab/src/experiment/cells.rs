//! A cell: one level of each factor, and the interfaces and boards where it is measured.

use std::fmt;

use crate::arch::Arch;
use crate::experiment::blocks::Hash;
use crate::experiment::load::Load;
use crate::experiment::traffic::Traffic;
use crate::experiment::{Gateway, Plan};
use candor_core::frame::Frame;
use candor_core::units::BitRate;

/// A series to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub conditions: Conditions,
    pub gateway: String,
    pub rules: String,
    pub traffic: Traffic,
    pub load: Load,
    pub frame: Frame,
    /// Number of the repetition, from 1.
    pub repeat: u32,
}

/// Conditions that a boot of a guest fixes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conditions {
    pub testbed: Testbed,
    /// `None`: that of this machine's guests, or of the board.
    pub arch: Option<Arch>,
    /// As listed by `candor-lab kernels`, or a path relative to the plan; `None`: the default of the release.
    pub kernel: Option<String>,
    /// A module or a directory of them, relative to the plan, in place of those of the kernel.
    pub module: Option<String>,
    pub topology: Topology,
    /// An instruction lasts 2^shift ns; 0 where none are counted.
    pub shift: u8,
}

names! {
    pub(super) enum Factor {
        Testbed = "testbed",
        Arch = "arch",
        Kernel = "kernel",
        Module = "module",
        Topology = "topology",
        Shift = "shift",
        Gateway = "gateway",
        Rules = "rules",
        Traffic = "traffic",
        Load = "load",
        Frame = "frame",
    }
}

names! {
    pub enum Testbed {
        /// QEMU with a clock that counts instructions: reproducible.
        Icount = "icount",
        /// User-mode Linux: for function only.
        Uml = "uml",
        /// The interfaces of this machine.
        Host = "host",
        /// Tester on this machine, gateway on a board reached by ssh.
        Ssh = "ssh",
    }
}

names! {
    pub enum Topology {
        Vcan = "vcan",
        /// Emulated Kvaser cards.
        Kvaser = "kvaser",
        /// Emulated adapters on buses with real bit timing.
        Wire = "wire",
        /// The interfaces of [`Bench`].
        Bench = "bench",
    }
}

names! {
    /// Source of receive timestamps. The clocks differ, so a plan has one source.
    #[derive(Default)]
    pub enum StampSource {
        /// The adapter, on the wire, with its own clock.
        Hardware = "hardware",
        /// The kernel, when the driver delivers the frame.
        #[default]
        Kernel = "kernel",
    }
}

impl Testbed {
    pub const fn is_guest(self) -> bool {
        matches!(self, Self::Icount | Self::Uml)
    }
}

impl Conditions {
    pub(super) const DEFAULT: Self =
        Self { testbed: Testbed::Icount, arch: None, kernel: None, module: None, topology: Topology::Vcan, shift: 0 };

    /// The reason, if there can be no such conditions.
    pub(super) fn impossible(&self) -> Option<String> {
        let Self { testbed, arch, kernel, module, topology, shift } = self;
        let name = testbed.name();
        match testbed {
            Testbed::Host | Testbed::Ssh if *topology != Topology::Bench => {
                Some(format!("{name} has the interfaces of [bench], so its topology is \"bench\""))
            }
            Testbed::Host | Testbed::Ssh if *shift != 0 => {
                Some(format!("{name} counts no instructions, so its shift is 0"))
            }
            Testbed::Host | Testbed::Ssh if arch.is_some() => {
                Some(format!("{name} has the processor that is there, so its arch is \"default\""))
            }
            Testbed::Host | Testbed::Ssh => {
                let factor = [("kernel", kernel), ("module", module)].into_iter().find(|(_, level)| level.is_some());
                factor
                    .map(|(factor, _)| format!("{name} has the kernel that runs there, so its {factor} is \"default\""))
            }
            _ if *topology == Topology::Bench => {
                Some(format!("the topology bench belongs to testbed \"host\" or \"ssh\", and {name} is a guest"))
            }
            Testbed::Icount => None,
            Testbed::Uml if *topology != Topology::Vcan => {
                Some(format!("uml has neither cards nor USB, so no topology {}", topology.name()))
            }
            Testbed::Uml if arch.is_some_and(|arch| !arch.is_here()) => {
                Some("uml runs on the processor of this machine only".to_owned())
            }
            Testbed::Uml if *shift != 0 => Some("uml counts no instructions, so its shift is 0".to_owned()),
            Testbed::Uml => match kernel.as_deref() {
                Some(name) if !name.starts_with("uml") => Some(format!("uml has no kernel {name}")),
                _ => None,
            },
        }
    }
}

impl Cell {
    /// Factors and levels, in the order of output.
    pub fn levels(&self) -> [(&'static str, String); 11] {
        let Conditions { testbed, arch, kernel, module, topology, shift } = &self.conditions;
        [
            ("testbed", testbed.name().to_owned()),
            ("arch", arch.map_or("default", Arch::name).to_owned()),
            ("kernel", kernel.clone().unwrap_or_else(|| "default".to_owned())),
            ("module", module.clone().unwrap_or_else(|| "default".to_owned())),
            ("topology", topology.name().to_owned()),
            ("shift", shift.to_string()),
            ("gateway", self.gateway.clone()),
            ("rules", self.rules.clone()),
            ("traffic", self.traffic.to_string()),
            ("load", self.load.to_string()),
            ("frame", self.frame.to_string()),
        ]
    }

    /// A hash of everything that decides the measurement: levels, numbers of the plan, gateway and rules. 16
    /// hexadecimal digits.
    pub fn name(&self, plan: &Plan) -> String {
        let levels = self.levels().into_iter();
        // Only if set, so that names of plans without these factors remain valid.
        let levels = levels.filter(|(factor, level)| !["arch", "module"].contains(factor) || level != "default");
        let levels = levels.map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join("\n");
        let numbers = format!(
            "{} {} {} {:?} {:?} {} {}",
            plan.seed, plan.frames, plan.warm_up, plan.gap, plan.lost_after, plan.bitrate, self.repeat
        );
        let means = format!("{:?} {:?}", plan.gateway(self), plan.rules(self));
        let mut hash = Hash::new().part(&levels).part(&numbers).part(&means);
        if let Traffic::Replay { file, .. } = &self.traffic
            && let Some(log) = plan.logs.get(file)
        {
            hash = hash.part(&log.name);
        }
        // Only if set, so that names of plans without the key remain valid.
        if plan.stages {
            hash = hash.part("stages");
        }
        if plan.stamps == StampSource::Hardware {
            hash = hash.part("stamps=hardware");
        }
        if self.conditions.testbed.is_guest() {
            return hash.name();
        }
        let board = plan.ssh.as_ref().filter(|_| self.conditions.testbed == Testbed::Ssh);
        hash.part(&format!("{:?} {:?}", plan.bench, board.map(|board| &board.host))).name()
    }
}

impl fmt::Display for Cell {
    /// `gateway=kernel rules=all …`, with the repeat if there are several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (factor, level)) in self.levels().into_iter().enumerate() {
            let space = if position == 0 { "" } else { " " };
            let quote = if level.contains(' ') { "\"" } else { "" };
            write!(f, "{space}{factor}={quote}{level}{quote}")?;
        }
        if self.repeat > 1 { write!(f, " repeat={}", self.repeat) } else { Ok(()) }
    }
}

/// Interfaces of testbeds other than guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// The tester sends here.
    pub send: String,
    /// The tester observes the first bus here.
    pub monitor: String,
    /// The tester receives the gateway's output here.
    pub receive: String,
    /// The gateway's interfaces on the first and second bus; on the board, if the gateway is there. `None` if candor
    /// starts no gateway.
    pub gateway: Option<(String, String)>,
    /// The second bus, if its frame time is not part of the gateway's latency.
    pub wire: Option<Wire>,
}

/// Bit rates of a bus with real bit timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Bit rate of the arbitration phase.
    pub nominal: BitRate,
    /// Data phase, with bit rate switch.
    pub data: Option<BitRate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// As for `ssh`: `user@board`, or a name of its configuration.
    pub host: String,
    pub options: Vec<String>,
    /// Path of a static candor for the board, relative to the plan; `None`: this program.
    pub candor: Option<String>,
    /// Start the gateway with `sudo -n`.
    pub sudo: bool,
}

impl Bench {
    /// The interface on which the tester receives the output of a gateway. Without a gateway it is on the first bus:
    /// the interface of the missing gateway or, if that is unknown or on another machine, the monitor's.
    pub fn far(&self, testbed: Testbed, gateway: &Gateway) -> &str {
        match (gateway, &self.gateway) {
            (Gateway::None, Some((from, _))) if testbed == Testbed::Host => from,
            (Gateway::None, _) => &self.monitor,
            _ => &self.receive,
        }
    }

    /// True if the far side is the gateway's own sending interface. Interface names of a board are not comparable with
    /// those of this machine.
    pub fn hears_own(&self, testbed: Testbed, gateway: &Gateway) -> bool {
        let is_here = testbed == Testbed::Host && *gateway != Gateway::None;
        is_here && self.gateway.as_ref().is_some_and(|(_, to)| *to == self.receive)
    }
}
