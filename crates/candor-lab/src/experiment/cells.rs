//! A cell: one level of each factor.

use std::fmt;
use std::str::FromStr;

use crate::experiment::Plan;
use crate::experiment::hash::Hash;
use crate::experiment::load::Load;
use crate::experiment::traffic::Traffic;
use candor_core::frame::Frame;

/// One series that is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Where.
    pub place: Place,
    /// Name of the gateway.
    pub gateway: String,
    /// Name of the rules.
    pub rules: String,
    /// When frames are sent.
    pub traffic: Traffic,
    /// What else the machine has to do.
    pub load: Load,
    /// The frame that is sent.
    pub frame: Frame,
    /// Which time it is, from 1.
    pub repeat: u32,
}

/// What a boot of a guest decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Which laboratory.
    pub testbed: Testbed,
    /// Kernel by its name in `candor-lab kernels`; `None`: the plain one of the release.
    pub kernel: Option<String>,
    /// Which interfaces.
    pub topology: Topology,
    /// An instruction lasts 2 to the power of this, in ns; 0 where none are counted.
    pub shift: u8,
}

/// Where it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Testbed {
    /// QEMU with a clock that counts instructions: exact.
    Icount,
    /// User-mode Linux: for function only.
    Uml,
    /// This machine and its interfaces.
    Host,
    /// The tester on this machine, the gateway on a board that ssh reaches.
    Ssh,
}

/// Which interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topology {
    /// Virtual interfaces.
    Vcan,
    /// Emulated cards.
    Kvaser,
    /// Emulated adapters on buses with true bit times.
    Wire,
    /// Those that the plan names ([`Bench`](crate::experiment::Bench)): of machines, not of guests.
    Bench,
}

/// Who stamps the frames that the tester receives. Stamps of the two have different clocks, so all of a plan have one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StampSource {
    /// The adapter, on the wire, with a clock of its own.
    Hardware,
    /// The kernel, when its driver has got the frame.
    #[default]
    Kernel,
}

/// A name with a meaning: of a testbed, a topology, …
macro_rules! names {
    ($type:ident: $($variant:ident = $name:literal),+) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// As it is written.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl FromStr for $type {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|known| known.name() == text).ok_or(())
            }
        }
    };
}

names!(Testbed: Icount = "icount", Uml = "uml", Host = "host", Ssh = "ssh");
names!(StampSource: Hardware = "hardware", Kernel = "kernel");
names!(Topology: Vcan = "vcan", Kvaser = "kvaser", Wire = "wire", Bench = "bench");

impl Testbed {
    /// Whether it is booted, and not there already.
    #[must_use]
    pub const fn is_guest(self) -> bool {
        matches!(self, Self::Icount | Self::Uml)
    }
}

impl Place {
    /// What a place is if nothing is said.
    pub(super) const DEFAULT: Self =
        Self { testbed: Testbed::Icount, kernel: None, topology: Topology::Vcan, shift: 0 };

    /// Why there is no such place.
    pub(super) fn impossible(&self) -> Option<String> {
        let Self { testbed, kernel, topology, shift } = self;
        let name = testbed.name();
        match testbed {
            Testbed::Host | Testbed::Ssh if *topology != Topology::Bench => {
                Some(format!("{name} has the interfaces of [bench], so no topology but \"bench\""))
            }
            Testbed::Host | Testbed::Ssh if *shift != 0 => {
                Some(format!("{name} counts no instructions, so its shift is 0"))
            }
            Testbed::Host | Testbed::Ssh => {
                kernel.as_ref().map(|_| format!("{name} has the kernel that runs there, so its kernel is \"default\""))
            }
            _ if *topology == Topology::Bench => {
                Some(format!("the topology bench is of machines (testbed \"host\" or \"ssh\"), and {name} is a guest"))
            }
            Testbed::Icount => None,
            Testbed::Uml if *topology != Topology::Vcan => {
                Some(format!("uml has neither cards nor USB, so no topology {}", topology.name()))
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
    /// Names and levels of its factors, in the order in which they are told.
    #[must_use]
    pub fn levels(&self) -> [(&'static str, String); 9] {
        let Place { testbed, kernel, topology, shift } = &self.place;
        [
            ("testbed", testbed.name().to_owned()),
            ("kernel", kernel.clone().unwrap_or_else(|| "default".to_owned())),
            ("topology", topology.name().to_owned()),
            ("shift", shift.to_string()),
            ("gateway", self.gateway.clone()),
            ("rules", self.rules.clone()),
            ("traffic", self.traffic.to_string()),
            ("load", self.load.to_string()),
            ("frame", self.frame.to_string()),
        ]
    }

    /// A name that stands for all that decides what is measured: for what the plan says of the cell, its gateway and its
    /// rules. 16 hexadecimal digits.
    #[must_use]
    pub fn name(&self, plan: &Plan) -> String {
        let levels = self.levels().map(|(factor, level)| format!("{factor}={level}")).join("\n");
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
        // A part only where there is something to say: names of plans without the key stay what they were.
        if plan.stages {
            hash = hash.part("stages");
        }
        if plan.stamps == StampSource::Hardware {
            hash = hash.part("stamps=hardware");
        }
        if self.place.testbed.is_guest() {
            return hash.name();
        }
        let board = plan.ssh.as_ref().filter(|_| self.place.testbed == Testbed::Ssh);
        hash.part(&format!("{:?} {:?}", plan.bench, board.map(|board| &board.host))).name()
    }
}

impl fmt::Display for Cell {
    /// `gateway=kernel rules=all …`: what a person tells cells apart by, with the repeat where there is more than one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (factor, level)) in self.levels().into_iter().enumerate() {
            let space = if position == 0 { "" } else { " " };
            let quote = if level.contains(' ') { "\"" } else { "" };
            write!(f, "{space}{factor}={quote}{level}{quote}")?;
        }
        if self.repeat > 1 { write!(f, " repeat={}", self.repeat) } else { Ok(()) }
    }
}
