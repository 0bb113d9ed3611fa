//! Capabilities of a running gateway: what its file needs, also after a reload and when interfaces come back.
//!
//! Capabilities belong to threads and are inherited, so the others are dropped before a second thread starts. Sockets are
//! opened later with the remaining ones.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_config::placement::{KernelAbilities, Placement, Side};
use candor_config::plan::{BusIndex, Engine, Plan, RouteIndex};
use candor_core::rule::Crc8Checksum;
use candor_egress::compile;
use candor_egress::tree::Tree;
use candor_io::process;
use caps::errors::CapsError;
use caps::{CapSet, Capability};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd;

use crate::cli::Identity;

#[derive(Debug, thiserror::Error)]
pub(super) enum PrivilegesError {
    #[error("cannot drop the privileges that the gateway does not need")]
    Capabilities(#[from] CapsError),
    #[error("{}", cannot_switch(*.0))]
    User(#[source] Errno),
}

const fn cannot_switch(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM => "only root can run a gateway as another user: sudo candor run …",
        _ => "cannot switch to that user",
    }
}

/// Irrevocably drops the capabilities that the plan does not need, and switches to another user if one is given.
pub(super) fn give_up(plan: &Plan, file: &Path, user: Option<Identity>) -> Result<(), PrivilegesError> {
    // Setuid programs could restore privileges.
    process::forgo_new_privileges().map_err(|error| CapsError::from(error.to_string()))?;
    if let Some(user) = user {
        assume(user).map_err(PrivilegesError::User)?;
    }
    let held = caps::read(None, CapSet::Permitted)?;
    let is_before_bpf = !held.contains(&Capability::CAP_BPF);
    let mut kept: HashSet<_> =
        needed(plan, is_uring_restricted(), is_before_bpf).intersection(&held).copied().collect();
    caps::set(None, CapSet::Effective, &kept)?;
    if held.contains(&Capability::CAP_DAC_READ_SEARCH) && is_out_of_reach(file) {
        kept.insert(Capability::CAP_DAC_READ_SEARCH);
    }
    // Needs CAP_SETPCAP, which goes last.
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

/// Irrevocably switches the process to this user and keeps its permitted capabilities.
///
/// # Kernel
/// `PR_SET_KEEPCAPS`: without it, leaving uid 0 clears all capabilities.
fn assume(Identity { user, group }: Identity) -> Result<(), Errno> {
    prctl::set_keepcaps(true)?;
    // Before the uid changes. The supplementary groups of root would give access to files of root.
    unistd::setgroups(&[group])?;
    unistd::setresgid(group, group, group)?;
    unistd::setresuid(user, user, user)
}

/// Capabilities that the engines need while they run: to open sockets on returning interfaces and to reinstall jobs.
fn needed(plan: &Plan, is_uring_restricted: bool, is_before_bpf: bool) -> HashSet<Capability> {
    let (kernel, user) = match plan.engine() {
        Engine::Auto => (true, Some(UserEngine::BEST)),
        Engine::Bpf | Engine::Kernel => (true, None),
        Engine::User(engine) => (false, Some(engine)),
    };
    let has_ring = user.is_some_and(|engine| engine.receiver().has_ring() || engine.sender().has_ring());
    let has_uring = user.is_some_and(|engine| engine.receiver() == Receiver::Uring || engine.sender() == Sender::Uring);
    // What candor itself sends is not taken for a claim.
    let marks = has_ring || (0..plan.buses().len()).map(BusIndex).any(|bus| plan.learns_claims(bus));
    let polls = user.is_some_and(|engine| engine.receiver() == Receiver::ReadBusy);
    let restarts = plan.buses().iter().any(|bus| bus.restart_after.is_some());
    // Qdiscs are supervised, and restored at the end.
    let has_egress = !plan.egress().is_empty();
    // Their interfaces are made and removed.
    let has_links = !plan.links().is_empty();
    let realtime = plan.realtime();
    let wants = [
        // SO_MARK needs CAP_NET_ADMIN before Linux 5.17.
        (Capability::CAP_NET_ADMIN, kernel || marks || polls || restarts || has_egress || has_links),
        (Capability::CAP_NET_RAW, marks),
        (Capability::CAP_SYS_NICE, realtime.sched.is_some()),
        // Every interface locks more memory; before Linux 5.12, io_uring rings count as locked memory.
        (Capability::CAP_IPC_LOCK, realtime.lock_memory || has_uring),
        // The CRC8 trial needs a network namespace.
        (
            Capability::CAP_SYS_ADMIN,
            tries_crc8(plan) || (has_uring && is_uring_restricted) || (loads_programs(plan) && is_before_bpf),
        ),
        (Capability::CAP_BPF, loads_programs(plan) || plan.has_arbitration()),
        // The programs of a queue follow addresses in the kernel, and it is made again where an interface comes back.
        (Capability::CAP_PERFMON, plan.has_arbitration()),
    ];
    wants.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(capability, _)| capability).collect()
}

/// True if a route may run in an eBPF program, or a tree classifies by control group with programs, which are reloaded when a
/// service restarts.
pub(super) fn loads_programs(plan: &Plan) -> bool {
    let in_program = |plan: &Plan| {
        let placement = Placement::known(plan, KernelAbilities::NEWEST);
        let is_program = |placement: &Placement, route| placement.side(RouteIndex(route)) == Side::Bpf;
        placement.is_some_and(|placement| (0..plan.routes().len()).any(|route| is_program(&placement, route)))
    };
    // A mode is entered with what is kept now.
    plan.in_each_mode().any(|plan| in_program(&plan)) || compile::trees(plan.egress()).values().any(Tree::has_programs)
}

/// True if the engine tries the kernel's CRC8 in a network namespace, because the file counts positions from the end.
pub(super) fn tries_crc8(plan: &Plan) -> bool {
    let counts_from_the_end =
        |crc8: &Crc8Checksum| [crc8.span.from, crc8.span.to, crc8.span.result].iter().any(|at| *at < 0);
    !matches!(plan.engine(), Engine::User(_))
        && plan.in_each_mode().any(|plan| {
            plan.routes().iter().any(|route| route.checksums.crc8.as_ref().is_some_and(counts_from_the_end))
        })
}

/// True if io_uring needs CAP_SYS_ADMIN (`kernel.io_uring_disabled` is 1).
fn is_uring_restricted() -> bool {
    fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|text| text.trim() == "1")
}

/// True if only CAP_DAC_READ_SEARCH makes the file readable, which a reload reads again.
fn is_out_of_reach(file: &Path) -> bool {
    // Opening a pipe would block.
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
    fn each_engine_keeps_the_capabilities_it_needs() {
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
        assert_eq!(kept("bpf", "", ""), "CAP_BPF CAP_NET_ADMIN");
        assert_eq!(kept("auto", "", "exclusive = true"), "CAP_BPF CAP_NET_ADMIN CAP_NET_RAW");
        assert_eq!(kept("uring-uring", "", ""), "CAP_IPC_LOCK CAP_SYS_ADMIN");
        let crc8 = "frames = \"classic\"\nchecksum-crc8 = { preset = \"autosar\", from = 0, to = -2, result = -1 }";
        assert_eq!(kept("kernel", "", crc8), "CAP_NET_ADMIN CAP_SYS_ADMIN");
        assert_eq!(kept("read-write", "", crc8), "");
        let claimed = "match = \"00000000:00000000\"\nguard = { j1939 = \"claimed\" }";
        assert_eq!(kept("read-write", "", claimed), "CAP_NET_ADMIN CAP_NET_RAW");
        let queue = "[egress.b]\nqueue = \"arbitration\"";
        assert_eq!(kept("read-write", "", queue), "CAP_BPF CAP_NET_ADMIN CAP_PERFMON");
    }
}
