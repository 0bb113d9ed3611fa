//! Errors of applying a gateway file, with the state that a failed change leaves.

use candor_netlink::cangw::CangwError;
use candor_netlink::client::NetlinkError;

use crate::bpf::BpfError;
use crate::placement::PlacementError;
use crate::refusal::Refusal;
use candor_userspace::owner::Owner;
use candor_userspace::preflight::InterfaceError;
use candor_userspace::run_dir::RunDirError;

/// A comparison or change of the kernel's jobs that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReconcileError {
    /// The module can-gw is not loaded.
    #[error("the kernel module can-gw is not loaded; load it: sudo modprobe can-gw")]
    CangwMissing,
    /// A job could not be deleted.
    #[error("cannot delete a can-gw job")]
    Delete(#[source] CangwError),
    /// The jobs are not the wanted ones after all steps succeeded.
    #[error("another program is changing can-gw jobs, so they differ from the request; try again")]
    Disturbed,
    #[error("cannot install a can-gw job of route {route:?}")]
    Install {
        route: String,
        /// The errno and its likely causes.
        source: Refusal,
    },
    /// An interface is missing or unsuitable.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Routes that need a running process.
    #[error("candor apply can install only what the kernel does by itself{}\n  run the file instead: candor run FILE", list(.0))]
    InUserSpace(Vec<InUserSpace>),
    /// Programs that cannot be listed or removed.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// The can-gw jobs are already those of the file.
    #[error(
        "the can-gw jobs are those of the file, but not all eBPF programs, and candor has a record of both; run candor apply FILE \
         again, or candor down"
    )]
    ProgramsBehind(#[source] BpfError),
    /// The jobs cannot be listed.
    #[error("cannot list the can-gw jobs")]
    List(#[source] CangwError),
    /// The netlink socket cannot be opened.
    #[error("cannot open a netlink socket")]
    Netlink(#[source] NetlinkError),
    /// A capability is missing.
    #[error(
        "changing can-gw jobs needs CAP_NET_ADMIN in the initial user namespace (root in a container with its own user namespace \
         lacks it); run it as root on the host: sudo candor …"
    )]
    NotPermitted,
    /// A failed change could not be reverted either. The ownership record lists the jobs of both states.
    #[error(
        "cannot revert the failed change ({why}): old and new can-gw jobs are mixed, and candor has a record of all of them; run \
         candor apply FILE again, or candor down"
    )]
    NotUndone {
        /// The failure of the change.
        source: Box<Self>,
        /// The failure of the reversal.
        why: String,
    },
    /// A route that neither engine can run.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The run directory is unusable, or another owner has the same jobs.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// can-gw would change the job that has this uid instead of adding one.
    #[error(
        "uid {uid:08X} of route {route:?} is in use by a job of {}, which can-gw would change: choose another uid, or remove that \
         job{}",
        .by.as_ref().map_or_else(|| "another program".to_owned(), ToString::to_string),
        if .by.is_none() { " (candor apply --prune does)" } else { "" }
    )]
    UidTaken {
        /// The route with the uid.
        route: String,
        uid: u32,
        /// Owner of the existing job; `None` if it is not candor's.
        by: Option<Owner>,
    },
    /// Two jobs of a gateway have the same uid.
    #[error(
        "{} uid {uid:08X}, but can-gw keeps one job per uid and the later one would replace the earlier; give each its own uid, and \
         one frame format (frames = \"classic\" or \"fd\") and one `match`",
        if first == second { format!("route {first:?} needs several can-gw jobs with") }
        else { format!("routes {first:?} and {second:?} both have") }
    )]
    UidTwice {
        uid: std::num::NonZeroU32,
        /// The route of the first job.
        first: String,
        /// The route of the second job.
        second: String,
    },
    /// A change failed and was reverted.
    #[error("nothing was changed{}", recreated(*created, *lost))]
    Undone {
        /// The failure of the change.
        source: Box<Self>,
        /// Jobs that had been deleted and were added again.
        created: usize,
        /// Jobs whose interface disappeared in the meantime.
        lost: usize,
    },
    /// Equal jobs of another program are installed.
    #[error(
        "can-gw already has {} equal to what {} would add, installed by another program: every frame would be forwarded twice; \
         --adopt takes {} over, --prune removes every job that is not candor's",
        if .routes.len() == 1 { "a job" } else { "jobs" },
        quoted(routes),
        if .routes.len() == 1 { "it" } else { "them" }
    )]
    WouldDouble {
        /// The routes that would be doubled.
        routes: Vec<String>,
    },
}

/// A route that only a running process can forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUserSpace {
    pub route: String,
    /// Completes "runs in user space, because".
    pub because: String,
}

fn list(routes: &[InUserSpace]) -> String {
    routes.iter().map(|one| format!("\n  route {:?} runs in user space, because {}", one.route, one.because)).collect()
}

fn quoted(routes: &[String]) -> String {
    let names: Vec<_> = routes.iter().map(|route| format!("{route:?}")).collect();
    format!("{} {}", if routes.len() == 1 { "route" } else { "routes" }, names.join(", "))
}

fn recreated(created: usize, lost: usize) -> String {
    let created = match created {
        0 => String::new(),
        1 => "; 1 job had been deleted and was added again, so its counters restart at 0".into(),
        jobs => format!("; {jobs} jobs had been deleted and were added again, so their counters restart at 0"),
    };
    let lost = match lost {
        0 => String::new(),
        jobs => format!("; {jobs} earlier jobs cannot be restored, because an interface has disappeared"),
    };
    created + &lost
}
