//! Network interfaces, with attributes of CAN.
//!
//! A function that lists no errors passes on those of its request.
//!
//! # Kernel
//! Listing needs no privileges. Changes need CAP_NET_ADMIN in the user namespace of the network namespace.
//!
//! # Source
//! [`include/uapi/linux/if_link.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/if_link.h),
//! [`include/uapi/linux/can/netlink.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/netlink.h).

mod change;
mod decode;

pub use change::{
    create_vcan, create_vxcan, delete, rename, set_can_bitrate, set_can_bitrates, set_can_listen_only, set_can_restart,
    set_down, set_mtu, set_tx_queue_len, set_up,
};

use std::num::NonZeroU32;

use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;
use candor_core::units::BitRate;
use candor_io::can::InterfaceIndex;

use crate::client::{Client, Errno, NetlinkError};
use crate::codec::{Message, MessageWriter, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_CAN_BITTIMING: u16 = 1;
const IFLA_CAN_CTRLMODE: u16 = 5;
const IFLA_CAN_RESTART_MS: u16 = 6;
const IFLA_CAN_DATA_BITTIMING: u16 = 9;
/// Bytes of `struct ifinfomsg`.
const HEADER_BYTES: usize = 16;

/// A network interface as reported by `RTM_GETLINK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Index of the interface; renaming does not change it.
    pub index: InterfaceIndex,
    /// Name of the interface, at most 15 bytes.
    pub name: String,
    /// Driver kind: `vcan`, `vxcan`, `can`, `slcan` …; `None` if the driver has none.
    pub kind: Option<String>,
    /// Administratively up (`IFF_UP`).
    pub up: bool,
    /// The driver echoes sent frames after transmission (`IFF_ECHO`). Otherwise the CAN core echoes at once.
    pub echoes: bool,
    /// MTU in bytes: 16 for classic CAN, 72 for CAN FD.
    pub mtu: u32,
    /// Length of the transmit queue in frames (`txqueuelen`), if it has one.
    pub tx_queue_len: u32,
    /// Received traffic, counted by the driver.
    pub received: Traffic,
    /// Sent traffic, counted by the driver.
    pub sent: Traffic,
    /// Attributes of CAN interfaces (`ARPHRD_CAN`).
    pub can: Option<CanLink>,
}

/// Traffic of all programs in one direction (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames. Before Linux 5.17, drivers also count error messages as received.
    pub frames: u64,
    /// Payload bytes. Before Linux 5.17, drivers also count the length field of remote frames, which have no payload.
    pub bytes: u64,
    /// Bus and controller errors.
    pub errors: u64,
    /// Frames dropped by the driver.
    pub dropped: u64,
}

/// Attributes of a CAN interface. Virtual interfaces have no bit rates and no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CanLink {
    /// Bit rate of the arbitration phase; `None` without a controller.
    pub bitrate: Option<BitRate>,
    /// Bit rate of the data phase of FD frames.
    pub data_bitrate: Option<BitRate>,
    /// State of the controller.
    pub state: Option<CanState>,
    /// Automatic restart after bus-off, in ms (`restart-ms`); `None` for never.
    pub restart_ms: Option<NonZeroU32>,
}

/// `enum can_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CanState {
    /// Error counters below 96.
    ErrorActive,
    /// Error counters below 128.
    ErrorWarning,
    /// Error counters below 256.
    ErrorPassive,
    /// Transmit error counter at 256 or above: the controller has left the bus.
    BusOff,
    /// The interface is down.
    Stopped,
    /// Controller in sleep mode.
    Sleeping,
}

/// Lists all interfaces of the network namespace.
pub fn list(client: &mut Client) -> Result<Vec<Link>, NetlinkError> {
    let mut message = MessageWriter::new(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP);
    message.header(&[0; HEADER_BYTES]);
    client.dump(&message, decode_message)
}

/// Finds an interface by name; `None` if it does not exist.
///
/// # Errors
/// [`NetlinkError`] of the request, except `ENODEV`.
pub fn by_name(client: &mut Client, name: &str) -> Result<Option<Link>, NetlinkError> {
    if name.is_empty() || name.len() > MAX_INTERFACE_NAME_BYTES {
        return Ok(None);
    }
    let mut message = MessageWriter::new(RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK);
    message.header(&[0; HEADER_BYTES]).text(IFLA_IFNAME, name);
    match client.dump(&message, decode_message) {
        Ok(links) => Ok(links.into_iter().next()),
        Err(error) if error.errno() == Some(Errno::ENODEV) => Ok(None),
        Err(error) => Err(error),
    }
}

fn decode_message(message: &Message<'_>) -> Result<Option<Link>, NetlinkError> {
    if message.kind == RTM_NEWLINK { Ok(decode::link(message)?) } else { Ok(None) }
}
