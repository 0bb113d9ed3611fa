//! Network interfaces as a CAN gateway and its laboratory need them.
//!
//! # Kernel
//! Listing needs no privilege. Changing needs CAP_NET_ADMIN over the network namespace.
//!
//! # Source
//! [`include/uapi/linux/if_link.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/if_link.h),
//! [`include/uapi/linux/can/netlink.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/netlink.h).

mod change;
mod decode;

pub use change::{
    create_vcan, create_vxcan, delete, rename, set_can_bitrate, set_can_bitrates, set_can_restart, set_down, set_mtu,
    set_tx_queue_len, set_up,
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

/// One network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: InterfaceIndex,
    /// Its name.
    pub name: String,
    /// What makes it: `vcan`, `vxcan`, `can`, `slcan` …; `None` for drivers that do not say.
    pub kind: Option<String>,
    /// Whether it is administratively up (`IFF_UP`).
    pub up: bool,
    /// Whether its driver echoes what was sent once it has left (`IFF_ECHO`). Otherwise the CAN core does, at once.
    pub echoes: bool,
    /// Largest frame in bytes: 16 for classic CAN, 72 for CAN FD.
    pub mtu: u32,
    /// How many frames its queue holds (`txqueuelen`), if it has one.
    pub tx_queue_len: u32,
    /// What it has received since it is there, as its driver counts.
    pub received: Traffic,
    /// What it has sent.
    pub sent: Traffic,
    /// What only CAN interfaces have (`ARPHRD_CAN`).
    pub can: Option<CanLink>,
}

/// What an interface counts for one direction, of all programs (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames. Drivers before Linux 5.17 count messages about errors among those that were received.
    pub frames: u64,
    /// Payload bytes. Drivers before Linux 5.17 count the length of remote frames, which have no payload.
    pub bytes: u64,
    /// Errors of the bus or the controller.
    pub errors: u64,
    /// Frames that were dropped.
    pub dropped: u64,
}

/// The CAN side of an interface. Virtual interfaces have no bit rates and no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CanLink {
    /// Nominal bit rate.
    pub bitrate: Option<BitRate>,
    /// Bit rate of the data phase of FD frames.
    pub data_bitrate: Option<BitRate>,
    /// State of the controller.
    pub state: Option<CanState>,
    /// After how many milliseconds it comes back from bus-off by itself (`restart-ms`); `None` if never.
    pub restart_ms: Option<NonZeroU32>,
}

/// `enum can_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CanState {
    /// Fewer than 96 errors counted.
    ErrorActive,
    /// Fewer than 128.
    ErrorWarning,
    /// Fewer than 256.
    ErrorPassive,
    /// 256 or more; the controller has left the bus.
    BusOff,
    /// Not started: the interface is down.
    Stopped,
    /// Asleep.
    Sleeping,
}

/// All interfaces of the network namespace.
///
/// # Errors
/// Whatever the kernel refuses with.
pub fn list(client: &mut Client) -> Result<Vec<Link>, NetlinkError> {
    let mut message = MessageWriter::new(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP);
    message.header(&[0; HEADER_BYTES]);
    client.dump(&message, decode_message)
}

/// The interface of this name, if there is one.
///
/// # Errors
/// Whatever the kernel refuses with, except that there is no such interface.
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
