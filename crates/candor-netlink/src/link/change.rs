//! Making, changing and removing interfaces.

use candor_core::units::BitRate;
use candor_io::can::InterfaceIndex;

use super::{
    HEADER_BYTES, IFLA_CAN_BITTIMING, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU,
    IFLA_TXQLEN, RTM_DELLINK, RTM_NEWLINK,
};
use crate::client::{Client, NetlinkError};
use crate::codec::{MessageWriter, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST};

const IFF_UP: u32 = 1;
const VXCAN_INFO_PEER: u16 = 1;
/// Bytes of `struct can_bittiming`: eight 32-bit numbers, the bit rate first.
const BIT_TIMING_BYTES: usize = 32;

/// Makes a virtual CAN bus of this name; it is down.
///
/// # Kernel
/// Needs the module vcan (`EOPNOTSUPP` without it).
///
/// # Errors
/// `EEXIST` if the name is taken, or whatever else the kernel refuses with.
pub fn create_vcan(client: &mut Client, name: &str) -> Result<(), NetlinkError> {
    let mut message = MessageWriter::new(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    message.header(&[0; HEADER_BYTES]).text(IFLA_IFNAME, name).nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "vcan");
    });
    client.request(message)
}

/// Makes two virtual CAN interfaces, each of which hears what the other one sends; both are down.
///
/// # Kernel
/// Needs the module vxcan (`EOPNOTSUPP` without it), Linux 4.12.
///
/// # Errors
/// `EEXIST` if a name is taken, or whatever else the kernel refuses with.
pub fn create_vxcan(client: &mut Client, names: [&str; 2]) -> Result<(), NetlinkError> {
    let mut message = MessageWriter::new(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    message.header(&[0; HEADER_BYTES]).text(IFLA_IFNAME, names[0]).nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "vxcan").nested(IFLA_INFO_DATA, |data| {
            data.nested(VXCAN_INFO_PEER, |peer| {
                peer.header(&[0; HEADER_BYTES]).text(IFLA_IFNAME, names[1]);
            });
        });
    });
    client.request(message)
}

/// Gives an interface another name. It keeps its number, and can-gw its jobs.
///
/// # Errors
/// `EBUSY` if the interface is up (before Linux 6.2), `EEXIST` if the name is taken, or whatever else the kernel refuses
/// with.
pub fn rename(client: &mut Client, index: InterfaceIndex, name: &str) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.text(IFLA_IFNAME, name);
    client.request(message)
}

/// Removes an interface, and the other one of a vxcan pair. The kernel drops all can-gw jobs that use it.
///
/// # Errors
/// `EOPNOTSUPP` for hardware, or whatever else the kernel refuses with.
pub fn delete(client: &mut Client, index: InterfaceIndex) -> Result<(), NetlinkError> {
    client.request(change(RTM_DELLINK, index, 0, 0))
}

/// Sets an interface up.
///
/// # Errors
/// `EINVAL` for a controller without a bit rate, or whatever else the kernel refuses with.
pub fn set_up(client: &mut Client, index: InterfaceIndex) -> Result<(), NetlinkError> {
    client.request(change(RTM_NEWLINK, index, IFF_UP, IFF_UP))
}

/// Sets an interface down. can-gw jobs stay.
///
/// # Errors
/// Whatever the kernel refuses with.
pub fn set_down(client: &mut Client, index: InterfaceIndex) -> Result<(), NetlinkError> {
    client.request(change(RTM_NEWLINK, index, 0, IFF_UP))
}

/// Sets the largest frame in bytes: 16 for classic CAN, 72 for CAN FD. The interface must be down.
///
/// # Errors
/// `EBUSY` if the interface is up, `EINVAL` for other sizes, or whatever else the kernel refuses with.
pub fn set_mtu(client: &mut Client, index: InterfaceIndex, bytes: u32) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.attribute(IFLA_MTU, &bytes.to_ne_bytes());
    client.request(message)
}

/// Sets how many frames the interface queues.
///
/// # Errors
/// Whatever the kernel refuses with.
pub fn set_tx_queue_len(client: &mut Client, index: InterfaceIndex, frames: u32) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.attribute(IFLA_TXQLEN, &frames.to_ne_bytes());
    client.request(message)
}

/// Sets the nominal bit rate of a controller; the driver computes the bit timing. The interface must be down.
///
/// # Errors
/// `EBUSY` if the interface is up, `EOPNOTSUPP` for interfaces that are no controllers, `EINVAL` or `ERANGE` for rates
/// that the controller cannot make, or whatever else the kernel refuses with.
pub fn set_can_bitrate(client: &mut Client, index: InterfaceIndex, rate: BitRate) -> Result<(), NetlinkError> {
    let mut bit_timing = [0; BIT_TIMING_BYTES];
    bit_timing[..4].copy_from_slice(&rate.bits_per_second().to_ne_bytes());
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "can").nested(IFLA_INFO_DATA, |data| {
            data.attribute(IFLA_CAN_BITTIMING, &bit_timing);
        });
    });
    client.request(message)
}

/// A message about one interface with the flags to set and the mask of those that change.
fn change(kind: u16, index: InterfaceIndex, flags: u32, mask: u32) -> MessageWriter {
    let mut header = [0; HEADER_BYTES];
    header[4..8].copy_from_slice(&index.number().to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&mask.to_ne_bytes());
    let mut message = MessageWriter::new(kind, NLM_F_REQUEST | NLM_F_ACK);
    message.header(&header);
    message
}
