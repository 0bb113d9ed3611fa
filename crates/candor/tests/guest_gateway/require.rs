//! What a test needs of the machine, and interfaces of its own.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{self, CangwError};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::{control_group, kernel};

/// A property that not every machine has. Its name is that in `CANDOR_REQUIRE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// The program cangw of can-utils.
    CanUtils,
    /// The module can-gw, and the right to use it.
    Cangw,
    /// A clock that counts instructions, so that times can be compared exactly.
    Clock,
    /// Control groups of version 2, and filters that look at them.
    ControlGroups,
    /// Interfaces of real or emulated controllers, whose driver echoes frames.
    Controllers,
    /// The queueing discipline `ets` (Linux 5.6).
    Ets,
    /// A guest, whose clock and users may be changed.
    Guest,
    /// Files of the modules, to load them again from.
    Modules,
    /// A kernel that refuses can-gw jobs back to the interface they come from.
    NoSelfJobs,
    /// A kernel that computes a CRC8 with positions from the end inside the frame.
    RelativeCrc8,
    /// A process of the user root.
    Root,
    /// A kernel that accepts can-gw jobs back to the interface they come from.
    SelfJobs,
    /// The module slcan, and the program slcan_attach of can-utils.
    Slcan,
    /// The sources, which the directory of examples is a part of.
    Sources,
    /// OpenSSH's server and client, what a board has besides, and a guest in which users may be made up.
    Ssh,
    /// The program tc of iproute2, with its list of matches.
    Tc,
    /// The program unshare and user namespaces.
    UserNamespaces,
    /// Virtual CAN buses.
    Vcan,
    /// The virtual USB host controller, and the drivers of the adapters that candor plays.
    Vhci,
}

/// What [`Feature::Ssh`] stands for.
const BOARD_PROGRAMS: [&str; 10] = ["ssh", "sshd", "ssh-keygen", "sh", "chmod", "head", "mktemp", "rm", "uname", "wc"];

impl Feature {
    const fn name(self) -> &'static str {
        match self {
            Self::CanUtils => "can-utils",
            Self::Cangw => "cangw",
            Self::Clock => "clock",
            Self::ControlGroups => "cgroup",
            Self::Controllers => "controllers",
            Self::Ets => "ets",
            Self::Guest => "guest",
            Self::Modules => "modules",
            Self::NoSelfJobs => "no-self-jobs",
            Self::RelativeCrc8 => "relative-crc8",
            Self::Root => "root",
            Self::SelfJobs => "self-jobs",
            Self::Slcan => "slcan",
            Self::Sources => "sources",
            Self::Ssh => "ssh",
            Self::Tc => "tc",
            Self::UserNamespaces => "user-namespaces",
            Self::Vcan => "vcan",
            Self::Vhci => "vhci",
        }
    }

    fn missing(self) -> Option<String> {
        match self {
            Self::CanUtils => {
                let started = Command::new("cangw").arg("-?").stdin(Stdio::null()).output();
                started.err().map(|error| format!("cangw does not start: {error}"))
            }
            Self::Cangw => {
                let mut client = Client::open().unwrap();
                let first = InterfaceIndex::new(1).unwrap();
                cangw::probe(&mut client, first).err().map(|error| error.to_string())
            }
            Self::Clock => {
                let counts = std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "icount");
                (!counts).then(|| "the clock does not count instructions".to_owned())
            }
            Self::ControlGroups => control_group::missing(),
            // Seen only when a test uses them: its own words are the reason.
            Self::Controllers | Self::Ets | Self::NoSelfJobs | Self::RelativeCrc8 | Self::SelfJobs => None,
            Self::Guest => std::env::var_os("CANDOR_TESTBED").is_none().then(|| "this is not a guest".to_owned()),
            Self::Modules => {
                let file = kernel::cangw_file().filter(|_| kernel::vcan_file().is_some());
                file.is_none().then(|| "there is no file of can-gw or of vcan".to_owned())
            }
            Self::Root => {
                let uid = std::fs::metadata("/proc/self").unwrap().uid();
                (uid != 0).then(|| format!("the user has the number {uid}"))
            }
            Self::Slcan => {
                let asked = Command::new("slcan_attach").arg("-?").stdin(Stdio::null()).output();
                let loaded = Command::new("modprobe").arg("slcan").stdin(Stdio::null()).output();
                match (asked, loaded) {
                    (Err(error), _) => Some(format!("slcan_attach does not start: {error}")),
                    (_, Err(error)) => Some(format!("modprobe does not start: {error}")),
                    (_, Ok(output)) if !output.status.success() => {
                        Some(format!("modprobe slcan says {}", String::from_utf8_lossy(&output.stderr).trim()))
                    }
                    _ => None,
                }
            }
            Self::Sources => {
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
                std::fs::read_dir(folder).err().map(|error| format!("{folder} cannot be read: {error}"))
            }
            Self::Ssh if Self::Guest.missing().is_some() => Self::Guest.missing(),
            Self::Ssh => BOARD_PROGRAMS.iter().find_map(|program| {
                let started = Command::new(program).arg("--version").stdin(Stdio::null()).output();
                started.err().map(|error| format!("{program} does not start: {error}"))
            }),
            Self::Tc => {
                let started = Command::new("tc").arg("-V").stdin(Stdio::null()).output();
                started.err().map(|error| format!("tc does not start: {error}"))
            }
            Self::UserNamespaces => {
                let arguments = ["--user", "--map-root-user", "--", "candor", "--version"];
                match Command::new("unshare").args(arguments).stdin(Stdio::null()).output() {
                    Ok(output) if output.status.success() => None,
                    Ok(output) => Some(format!("unshare says {}", String::from_utf8_lossy(&output.stderr).trim())),
                    Err(error) => Some(format!("unshare does not start: {error}")),
                }
            }
            Self::Vcan => Bus::create("probe").err(),
            Self::Vhci => {
                let modules = ["vhci-hcd", "gs_usb", "ucan"];
                modules.into_iter().find_map(|module| {
                    let loaded = Command::new("modprobe").args(["-q", module]).stdin(Stdio::null()).output();
                    let is_there = loaded.is_ok_and(|output| output.status.success());
                    (!is_there).then(|| format!("the module {module} is not there"))
                })
            }
        }
    }
}

/// The tests share a kernel, so one runs at a time. `None`, after saying why, if something is missing.
pub(crate) fn require(features: &[Feature]) -> Option<MutexGuard<'static, ()>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    features.iter().all(|&feature| is_there(feature)).then_some(guard)
}

/// Whether the machine has it; if not, says why.
pub(crate) fn is_there(feature: Feature) -> bool {
    let reason = feature.missing();
    if let Some(reason) = &reason {
        skip(feature, reason);
    }
    reason.is_none()
}

/// Says why a test ends here; fails if the machine was to have what is missing.
pub(crate) fn skip(feature: Feature, reason: &str) {
    let demanded = std::env::var("CANDOR_REQUIRE").unwrap_or_default();
    let name = feature.name();
    assert!(!demanded.split(',').any(|demand| demand == name), "{name} is required, but {reason}");
    println!("SKIP needs {name}: {reason}");
}

#[test]
fn every_feature_is_documented() {
    let page = include_str!("../../../../docs/environment.md");
    let name = |line: &'static str| line.trim().strip_prefix("Self::")?.split_once("=> \"")?.1.strip_suffix("\",");
    let names: Vec<_> = include_str!("require.rs").lines().filter_map(name).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `{name}` | ")), "docs/environment.md does not list {name}");
    }
}

/// A virtual bus that is up and goes away with this value.
#[derive(Debug)]
pub(crate) struct Bus {
    pub(crate) index: InterfaceIndex,
}

impl Bus {
    pub(crate) fn new(name: &str) -> Self {
        Self::create(name).unwrap()
    }

    fn create(suffix: &str) -> Result<Self, String> {
        let name = format!("t-{suffix}");
        let mut client = Client::open().map_err(|error| error.to_string())?;
        link::create_vcan(&mut client, &name).map_err(|error| error.to_string())?;
        let index = link::by_name(&mut client, &name).unwrap().unwrap().index;
        let bus = Self { index };
        bus.set_up();
        Ok(bus)
    }

    pub(crate) fn set_up(&self) {
        link::set_up(&mut Client::open().unwrap(), self.index).unwrap();
    }

    pub(crate) fn set_down(&self) {
        link::set_down(&mut Client::open().unwrap(), self.index).unwrap();
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // A test may have removed it on purpose.
        let _ = Client::open().and_then(|mut client| link::delete(&mut client, self.index));
    }
}

/// The can-gw jobs between these buses.
pub(crate) fn jobs_between(buses: &[&Bus]) -> Vec<cangw::CangwJob> {
    let all = cangw::dump(&mut Client::open().unwrap());
    let is_here = |index| buses.iter().any(|bus| bus.index == index);
    match all {
        Ok(all) => all.into_iter().filter(|job| is_here(job.source) || is_here(job.destination)).collect(),
        Err(CangwError::ModuleMissing) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}
