//! Features that tests need, and virtual buses.

use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_netlink::cangw::CangwError;

use crate::prelude::*;
use crate::{control_group, kernel};

pub(crate) const VCAN: &[Feature] = &[Feature::Root, Feature::Vcan];
pub(crate) const VCAN_AND_CANGW: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

/// A property that not every machine has, as docs/environment.md describes it. `CANDOR_REQUIRE` has the name in kebab case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    BpfQueues,
    CanUtils,
    Cangw,
    Clock,
    Cgroup,
    Controllers,
    Ets,
    Guest,
    LinkPeers,
    Modules,
    NoSelfJobs,
    Programs,
    RelativeCrc8,
    Root,
    SelfJobs,
    Slcan,
    Sources,
    Ssh,
    Tc,
    UserNamespaces,
    Vcan,
    Vhci,
}

const BOARD_PROGRAMS: [&str; 9] = ["ssh", "sshd", "ssh-keygen", "sh", "cat", "chmod", "mktemp", "rm", "uname"];

impl Feature {
    fn name(self) -> String {
        kebab_case(&format!("{self:?}"))
    }

    fn missing(self) -> Option<String> {
        match self {
            Self::CanUtils => starts("cangw", &["-?"]).err(),
            Self::Cangw => {
                let mut client = Client::open().unwrap();
                let first = InterfaceIndex::new(1).unwrap();
                cangw::probe(&mut client, first).err().map(|error| error.to_string())
            }
            Self::Clock => (!counts_instructions()).then(|| "the clock does not count instructions".to_owned()),
            Self::Cgroup => control_group::missing(),
            // Tests find out when they use it.
            Self::BpfQueues
            | Self::Controllers
            | Self::Ets
            | Self::NoSelfJobs
            | Self::RelativeCrc8
            | Self::SelfJobs => None,
            Self::Guest => std::env::var_os("CANDOR_TESTBED").is_none().then(|| "this is not a guest".to_owned()),
            Self::LinkPeers => ["cannelloni", "socketcand", "socketcandcl"]
                .into_iter()
                .find_map(|program| starts(program, &["-h"]).err()),
            Self::Modules => {
                let file = kernel::cangw_file().filter(|_| kernel::vcan_file().is_some());
                file.is_none().then(|| "no file of can-gw or of vcan".to_owned())
            }
            Self::Programs => candor_engine::no_programs().unwrap().map(|why| format!("{why:?}")),
            Self::Root => {
                let uid = fs::metadata("/proc/self").unwrap().uid();
                (uid != 0).then(|| format!("the user id is {uid}"))
            }
            Self::Slcan => starts("slcan_attach", &["-?"]).and_then(|_| succeeds("modprobe", &["slcan"])).err(),
            Self::Sources => {
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
                fs::read_dir(folder).err().map(|error| format!("{folder} cannot be read: {error}"))
            }
            Self::Ssh if Self::Guest.missing().is_some() => Self::Guest.missing(),
            Self::Ssh => BOARD_PROGRAMS.iter().find_map(|program| starts(program, &["--version"]).err()),
            Self::Tc => starts("tc", &["-V"]).err(),
            Self::UserNamespaces => {
                succeeds("unshare", &["--user", "--map-root-user", "--", "candor", "--version"]).err()
            }
            Self::Vcan => Bus::create("probe").err(),
            Self::Vhci => {
                let modules = ["vhci-hcd", "gs_usb", "ucan"];
                modules.into_iter().find_map(|module| succeeds("modprobe", &["-q", module]).err())
            }
        }
    }
}

fn kebab_case(name: &str) -> String {
    let dashed = |(at, c): (usize, char)| [(at > 0 && c.is_ascii_uppercase()).then_some('-'), Some(c)];
    name.char_indices().flat_map(dashed).flatten().collect::<String>().to_ascii_lowercase()
}

fn starts(program: &str, arguments: &[&str]) -> Result<std::process::Output, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    output.map_err(|error| format!("{program} does not start: {error}"))
}

fn succeeds(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = starts(program, arguments)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{program} {arguments:?} fails: {}", errors.trim())) }
}

/// The tests share a kernel, so one runs at a time. `None`, after printing the reason, if a feature is missing.
pub(crate) fn require(features: &[Feature]) -> Option<MutexGuard<'static, ()>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    features.iter().all(|&feature| is_there(feature)).then_some(guard)
}

pub(crate) fn is_there(feature: Feature) -> bool {
    let reason = feature.missing();
    if let Some(reason) = &reason {
        skip(feature, reason);
    }
    reason.is_none()
}

/// Prints why a test ends here. Fails if `CANDOR_REQUIRE` lists the feature.
pub(crate) fn skip(feature: Feature, reason: &str) {
    let demanded = std::env::var("CANDOR_REQUIRE").unwrap_or_default();
    let name = feature.name();
    assert!(!demanded.split(',').any(|demand| demand == name), "{name} is required, but {reason}");
    println!("SKIP needs {name}: {reason}");
}

#[test]
fn every_feature_is_documented() {
    let page = include_str!("../../../../docs/environment.md");
    let (_, features) = include_str!("require.rs").split_once("enum Feature {\n").unwrap();
    let lines = features.lines().take_while(|line| *line != "}");
    let names: Vec<_> = lines.map(|line| kebab_case(line.trim().trim_end_matches(','))).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `{name}` | ")), "docs/environment.md does not list {name}");
    }
}

/// A virtual bus that is up and goes away with this value.
#[derive(Debug)]
pub(crate) struct Bus {
    /// That of the interface without `t-`.
    pub(crate) name: String,
    pub(crate) index: InterfaceIndex,
}

impl Bus {
    pub(crate) fn new(name: &str) -> Self {
        Self::create(name).unwrap()
    }

    fn create(name: &str) -> Result<Self, String> {
        let interface = format!("t-{name}");
        let mut client = Client::open().map_err(|error| error.to_string())?;
        link::create_vcan(&mut client, &interface).map_err(|error| error.to_string())?;
        let index = link::by_name(&mut client, &interface).unwrap().unwrap().index;
        let bus = Self { name: name.to_owned(), index };
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
        // A test may have deleted it.
        let _ = Client::open().and_then(|mut client| link::delete(&mut client, self.index));
    }
}

/// The can-gw jobs from or to these buses, newest first.
pub(crate) fn jobs_between<'a>(buses: impl IntoIterator<Item = &'a Bus>) -> Vec<CangwJob> {
    let indices: Vec<_> = buses.into_iter().map(|bus| bus.index).collect();
    let is_here = |job: &CangwJob| indices.contains(&job.source) || indices.contains(&job.destination);
    match cangw::dump(&mut Client::open().unwrap()) {
        Ok(all) => all.into_iter().filter(is_here).collect(),
        Err(CangwError::ModuleMissing) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}
