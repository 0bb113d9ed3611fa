//! Interfaces and CAN support that a gateway needs and does not find.

use candor_netlink::client::NetlinkError;

use crate::system_error::SystemError;
use crate::temporary;

/// An interface of the plan is missing or unsuitable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// The interface was unplugged or deleted while the gateway started.
    #[error("interface {interface} (bus {bus:?}) is gone: unplugged or deleted")]
    Gone { bus: String, interface: String },
    /// The interfaces cannot be listed.
    #[error("cannot list the network interfaces")]
    List(#[source] NetlinkError),
    /// The interface does not exist.
    #[error("interface {interface} (bus {bus:?}) not found{hint}")]
    Missing {
        bus: String,
        interface: String,
        /// Similar interfaces and a command; begins with a separator.
        hint: String,
    },
    /// The kernel was built without CAN, or the module can is not loaded.
    #[error(
        "the kernel has no CAN sockets; load them: sudo modprobe can-raw (if that fails, the kernel was built without CAN: \
         candor-lab shell boots one with CAN)"
    )]
    NoCan,
    /// The module can-raw is not loaded.
    #[error("the kernel has no CAN_RAW sockets; load them: sudo modprobe can-raw")]
    NoCanRaw,
    /// The interface is not a CAN interface.
    #[error("interface {interface} (bus {bus:?}) is not a CAN interface{hint}")]
    NotCan {
        bus: String,
        interface: String,
        /// Similar interfaces and a command; begins with a separator.
        hint: String,
    },
    /// `restart-after` without the capability to set an interface down and up.
    #[error(
        "bus {bus:?} has restart-after, which needs CAP_NET_ADMIN to set the interface down and up; run it as root (sudo candor \
         run …), or remove restart-after and let the driver restart: sudo ip link set NAME type can restart-ms 100"
    )]
    RestartNotPermitted { bus: String },
    /// A system call that should not fail.
    #[error(transparent)]
    System(#[from] SystemError),
}

impl InterfaceError {
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::List(error) if temporary::netlink(error))
    }
}
