//! Failures of eBPF programs.

use candor_egress::netlink::TcError;
use candor_io::bpf::LoadError;
use candor_netlink::client::{Errno, NetlinkError};

use candor_userspace::owner::Owner;

/// Programs that cannot be made, attached, kept or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BpfError {
    /// The kernel refused a filter or the discipline that holds it.
    #[error("cannot attach an eBPF program to the interface{}", hint(.0))]
    Attach(#[source] TcError),
    /// Another candor has programs on the same interface.
    #[error(
        "{owner} already runs eBPF programs on {interface}, and only one gateway can; put the routes into one file, or \
         choose engine = \"kernel\""
    )]
    Busy { interface: String, owner: Owner },
    /// Another program removes the filters as often as they are put back.
    #[error(
        "another program keeps removing the eBPF filters from {interface}; find what calls tc filter del or tc qdisc del (a \
         network script, another gateway), stop it, and start candor again"
    )]
    Contested { interface: String },
    /// The routes from a bus do not fit into programs.
    #[error("the routes from {interface} do not fit into an eBPF program: {source}")]
    Compile { interface: String, source: candor_bpf::gateway::CompileError },
    /// The filters of an interface cannot be listed.
    #[error("cannot list the filters of an interface")]
    List(#[source] NetlinkError),
    /// The kernel refused a program.
    #[error("the kernel refused {}{}", program_of(route), rights(source))]
    Load { route: String, source: LoadError },
    /// No memory, or too many entries.
    #[error("cannot make a table for an eBPF program")]
    Map(#[source] std::io::Error),
    /// No socket that asks for receive timestamps.
    #[error("cannot measure latencies, because the kernel gives no receive timestamps")]
    Stamps(#[source] std::io::Error),
    /// The netlink socket cannot be opened.
    #[error("cannot open a netlink socket")]
    Netlink(#[source] NetlinkError),
}

/// What helps against a refused filter.
fn hint(error: &TcError) -> &'static str {
    match error {
        // The kernel says so of a preference where filters of another kind, or for another protocol, are.
        TcError::Netlink(NetlinkError::Refused { text: Some(text), .. })
            if text.contains("does not match existing one") =>
        {
            ", because another program has filters there with the numbers (pref) 51468 to 51742, of which candor uses some; give \
             them other numbers"
        }
        _ if error.errno() == Some(Errno::EPERM) => ", which needs CAP_NET_ADMIN; run it as root",
        _ => ", which needs CONFIG_NET_CLS_BPF, CONFIG_NET_ACT_MIRRED and CONFIG_NET_SCH_INGRESS in the kernel",
    }
}

/// A filter that only helps others has no route.
fn program_of(route: &str) -> String {
    if route.is_empty() { "an eBPF program".to_owned() } else { format!("the eBPF program of route {route:?}") }
}

fn rights(refused: &LoadError) -> &'static str {
    if refused.is_privilege() {
        ", because this process lacks CAP_BPF or CAP_NET_ADMIN in the initial user namespace; run it as root"
    } else {
        ""
    }
}

impl BpfError {
    pub(super) fn attaching(error: TcError) -> Self {
        Self::Attach(error)
    }

    /// The route whose program the verifier refused, and why.
    pub(crate) fn refused(&self) -> Option<(&str, String)> {
        match self {
            Self::Load { route, source } if !source.log.is_empty() => Some((route, source.to_string())),
            _ => None,
        }
    }

    /// True if this process lacks a capability.
    pub(super) fn is_privilege(&self) -> bool {
        match self {
            Self::Attach(error) => error.errno() == Some(Errno::EPERM),
            Self::Load { source, .. } => source.is_privilege(),
            Self::Map(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// True if the cause passes by itself.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Attach(TcError::Netlink(error)) | Self::List(error) => candor_userspace::temporary::netlink(error),
            _ => false,
        }
    }
}
