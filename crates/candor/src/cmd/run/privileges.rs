//! What a running gateway may do: what its file needs, also after a reload and when interfaces come back, and no more.
//!
//! Capabilities belong to threads and are handed on to those that a thread starts, so the rest is given up before there is
//! a second one; sockets are opened later with what is kept.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_config::plan::{Engine, Plan};
use candor_core::rule::Crc8Checksum;
use candor_egress::compile;
use candor_egress::tree::Tree;
use candor_io::process;
use caps::errors::CapsError;
use caps::{CapSet, Capability};
use nix::errno::Errno;

use super::user::Identity;

/// Privileges that could not be given up.
#[derive(Debug)]
pub(super) enum PrivilegesError {
    Capabilities(CapsError),
    User(Errno),
}

impl std::fmt::Display for PrivilegesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Capabilities(_) => f.write_str("Privileges that the gateway does not need could not be given up"),
            Self::User(Errno::EPERM) => {
                f.write_str("Only root can run a gateway as another user; type: sudo candor run …")
            }
            Self::User(_) => f.write_str("The gateway cannot be run as that user"),
        }
    }
}

impl std::error::Error for PrivilegesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Capabilities(error) => Some(error),
            Self::User(errno) => Some(errno),
        }
    }
}

impl From<CapsError> for PrivilegesError {
    fn from(error: CapsError) -> Self {
        Self::Capabilities(error)
    }
}

/// Gives up, for good, what the gateway of this file does not need, and root if somebody else is to run it. To be called
/// before another thread is started.
pub(super) fn give_up(plan: &Plan, file: &Path, user: Option<Identity>) -> Result<(), PrivilegesError> {
    // Programs that are not started cannot give privileges back.
    process::forgo_new_privileges().map_err(|error| CapsError::from(error.to_string()))?;
    if let Some(user) = user {
        user.assume().map_err(PrivilegesError::User)?;
    }
    let held = caps::read(None, CapSet::Permitted)?;
    let is_before_bpf = !held.contains(&Capability::CAP_BPF);
    let mut kept: HashSet<_> =
        needed(plan, is_uring_restricted(), is_before_bpf).intersection(&held).copied().collect();
    caps::set(None, CapSet::Effective, &kept)?;
    if held.contains(&Capability::CAP_DAC_READ_SEARCH) && is_out_of_reach(file) {
        kept.insert(Capability::CAP_DAC_READ_SEARCH);
    }
    // While the right to do so is there.
    if held.contains(&Capability::CAP_SETPCAP) {
        let with_right = kept.iter().copied().chain([Capability::CAP_SETPCAP]).collect();
        caps::set(None, CapSet::Effective, &with_right)?;
        for capability in held.difference(&kept) {
            caps::drop(None, CapSet::Bounding, *capability)?;
        }
    }
    caps::set(None, CapSet::Effective, &kept)?;
    caps::clear(None, CapSet::Inheritable)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    Ok(())
}

/// What engines ask the kernel for as long as they run: sockets of interfaces that come back, jobs that are put back.
fn needed(plan: &Plan, is_uring_restricted: bool, is_before_bpf: bool) -> HashSet<Capability> {
    let (kernel, user) = match plan.engine() {
        Engine::Auto => (true, Some(UserEngine::BEST)),
        Engine::Kernel => (true, None),
        Engine::User(engine) => (false, Some(engine)),
    };
    let has_ring = user.is_some_and(|engine| engine.receiver().has_ring() || engine.sender().has_ring());
    let has_uring = user.is_some_and(|engine| engine.receiver() == Receiver::Uring || engine.sender() == Sender::Uring);
    let polls = user.is_some_and(|engine| engine.receiver() == Receiver::ReadBusy);
    let restarts = plan.buses().iter().any(|bus| bus.restart_after.is_some());
    // Queues are put back, and given back at the end.
    let has_egress = !plan.egress().is_empty();
    let realtime = plan.realtime();
    let wants = [
        // Rings mark what they send (`SO_MARK`), which wants the first of these before Linux 5.17.
        (Capability::CAP_NET_ADMIN, kernel || has_ring || polls || restarts || has_egress),
        (Capability::CAP_NET_RAW, has_ring),
        (Capability::CAP_SYS_NICE, realtime.sched.is_some()),
        // Locked memory grows with every interface; rings of io_uring count as such before Linux 5.12.
        (Capability::CAP_IPC_LOCK, realtime.lock_memory || has_uring),
        // A namespace to try the CRC8 in.
        (
            Capability::CAP_SYS_ADMIN,
            tries_crc8(plan) || (has_uring && is_uring_restricted) || (loads_programs(plan) && is_before_bpf),
        ),
        (Capability::CAP_BPF, loads_programs(plan)),
    ];
    wants.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(capability, _)| capability).collect()
}

/// Whether filters are programs, which are loaded again when a service is started again.
pub(super) fn loads_programs(plan: &Plan) -> bool {
    compile::trees(plan.egress()).values().any(Tree::has_programs)
}

/// Whether the kernel's CRC8 is tried in a network namespace, because the file counts positions from the end.
pub(super) fn tries_crc8(plan: &Plan) -> bool {
    let counts_from_the_end =
        |crc8: &Crc8Checksum| [crc8.span.from, crc8.span.to, crc8.span.result].iter().any(|at| *at < 0);
    !matches!(plan.engine(), Engine::User(_))
        && plan.routes().iter().any(|route| route.checksums.crc8.as_ref().is_some_and(counts_from_the_end))
}

/// Whether io_uring is for CAP_SYS_ADMIN only (`kernel.io_uring_disabled` 1).
fn is_uring_restricted() -> bool {
    fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|text| text.trim() == "1")
}

/// Whether a file, which is to be read again one day, can only be read by those who may read all.
fn is_out_of_reach(file: &Path) -> bool {
    // A pipe would be waited for.
    let opened = match fs::metadata(file) {
        Ok(found) if found.is_file() => File::open(file).map(drop),
        found => found.map(drop),
    };
    opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    #[test]
    fn each_engine_keeps_what_it_asks_for() {
        let kept = |engine: &str, realtime: &str, keys: &str| {
            let text = format!(
                "engine = \"{engine}\"\n[realtime]\n{realtime}\n[bus.a]\ninterface = \"a\"\n[bus.b]\ninterface = \"b\"\n\
                 [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{keys}"
            );
            let mut names: Vec<_> = needed(&config::load(text.as_bytes()).unwrap().plan, true, false)
                .into_iter()
                .map(|capability| capability.to_string())
                .collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(kept("read-write", "", ""), "");
        assert_eq!(kept("kernel", "", ""), "CAP_NET_ADMIN");
        assert_eq!(kept("readbusy-write", "", ""), "CAP_NET_ADMIN");
        assert_eq!(kept("auto", "", ""), "CAP_NET_ADMIN CAP_NET_RAW");
        assert_eq!(kept("read-mmap", "", ""), "CAP_NET_ADMIN CAP_NET_RAW");
        assert_eq!(kept("mmsg-mmsg", "sched = \"fifo:1\"\nlock-memory = true", ""), "CAP_IPC_LOCK CAP_SYS_NICE");
        assert_eq!(kept("uring-uring", "", ""), "CAP_IPC_LOCK CAP_SYS_ADMIN");
        let crc8 = "frames = \"classic\"\nchecksum-crc8 = { preset = \"autosar\", from = 0, to = -2, result = -1 }";
        assert_eq!(kept("kernel", "", crc8), "CAP_NET_ADMIN CAP_SYS_ADMIN");
        assert_eq!(kept("read-write", "", crc8), "");
    }
}
