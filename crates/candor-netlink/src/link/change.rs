//! Creating, changing and deleting interfaces.

use std::num::NonZeroU32;

use candor_core::units::BitRate;
use candor_io::can::InterfaceIndex;

use super::{
    HEADER_BYTES, IFLA_CAN_BITTIMING, IFLA_CAN_CTRLMODE, IFLA_CAN_DATA_BITTIMING, IFLA_CAN_RESTART_MS, IFLA_IFNAME,
    IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU, IFLA_TXQLEN, RTM_DELLINK, RTM_NEWLINK,
};
use crate::client::{Client, NetlinkError};
use crate::codec::{MessageWriter, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST};

const IFF_UP: u32 = 1;
/// Bit in mask and flags of `struct can_ctrlmode`.
const CAN_CTRLMODE_FD: u32 = 0x20;
const CAN_CTRLMODE_LISTENONLY: u32 = 0x02;
const VXCAN_INFO_PEER: u16 = 1;
/// Bytes of `struct can_bittiming`: eight 32-bit numbers, the bit rate first.
const BIT_TIMING_BYTES: usize = 32;

/// Creates a virtual CAN interface, which is down.
///
/// # Kernel
/// Needs the module vcan (`EOPNOTSUPP` without it).
///
/// # Errors
/// `EEXIST` if the name is in use; other errnos of the request.
pub fn create_vcan(client: &mut Client, name: &str) -> Result<(), NetlinkError> {
    let mut message = MessageWriter::new(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    message.header(&[0; HEADER_BYTES]).text(IFLA_IFNAME, name).nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "vcan");
    });
    client.request(message)
}

/// Creates a pair of connected virtual CAN interfaces, which are down.
///
/// # Kernel
/// Needs the module vxcan (`EOPNOTSUPP` without it), Linux 4.12.
///
/// # Errors
/// `EEXIST` if a name is in use; other errnos of the request.
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

/// Renames an interface. It keeps its index, and can-gw its jobs.
///
/// # Errors
/// `EBUSY` if the interface is up (before Linux 6.2), `EEXIST` if the name is in use; other errnos of the request.
pub fn rename(client: &mut Client, index: InterfaceIndex, name: &str) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.text(IFLA_IFNAME, name);
    client.request(message)
}

/// Deletes an interface, and its peer if it is a vxcan. The kernel removes all can-gw jobs that use it.
///
/// # Errors
/// `EOPNOTSUPP` for hardware; other errnos of the request.
pub fn delete(client: &mut Client, index: InterfaceIndex) -> Result<(), NetlinkError> {
    client.request(change(RTM_DELLINK, index, 0, 0))
}

/// Sets an interface up.
///
/// # Errors
/// `EINVAL` for a controller without a bit rate; other errnos of the request.
pub fn set_up(client: &mut Client, index: InterfaceIndex) -> Result<(), NetlinkError> {
    client.request(change(RTM_NEWLINK, index, IFF_UP, IFF_UP))
}

/// Sets an interface down. can-gw jobs stay.
pub fn set_down(client: &mut Client, index: InterfaceIndex) -> Result<(), NetlinkError> {
    client.request(change(RTM_NEWLINK, index, 0, IFF_UP))
}

/// Sets the MTU in bytes: 16 for classic CAN, 72 for CAN FD. The interface must be down.
///
/// # Errors
/// `EBUSY` if the interface is up, `EINVAL` for other sizes; other errnos of the request.
pub fn set_mtu(client: &mut Client, index: InterfaceIndex, bytes: u32) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.attribute(IFLA_MTU, &bytes.to_ne_bytes());
    client.request(message)
}

/// Sets the length of the transmit queue in frames (`txqueuelen`).
pub fn set_tx_queue_len(client: &mut Client, index: InterfaceIndex, frames: u32) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.attribute(IFLA_TXQLEN, &frames.to_ne_bytes());
    client.request(message)
}

/// Sets the nominal bit rate of a controller; the driver computes the bit timing. The interface must be down.
///
/// # Errors
/// `EBUSY` if the interface is up, `EOPNOTSUPP` for other than controllers, `EINVAL` or `ERANGE` for bit rates that the
/// controller cannot generate; other errnos of the request.
pub fn set_can_bitrate(client: &mut Client, index: InterfaceIndex, rate: BitRate) -> Result<(), NetlinkError> {
    set_can_bitrates(client, index, rate, None)
}

/// Sets the bit rates of a controller; the driver computes the bit timings. A data bit rate also enables CAN FD and the
/// MTU of 72; without one CAN FD stays as it is. The interface must be down.
///
/// # Errors
/// As [`set_can_bitrate`], and `EOPNOTSUPP` for a data bit rate on a controller without CAN FD.
pub fn set_can_bitrates(
    client: &mut Client,
    index: InterfaceIndex,
    nominal: BitRate,
    data: Option<BitRate>,
) -> Result<(), NetlinkError> {
    client.request(bitrates(index, nominal, data))
}

fn bitrates(index: InterfaceIndex, nominal: BitRate, data: Option<BitRate>) -> MessageWriter {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "can").nested(IFLA_INFO_DATA, |of_can| {
            of_can.attribute(IFLA_CAN_BITTIMING, &bit_timing(nominal));
            if let Some(data) = data {
                let [mask, flags] = [CAN_CTRLMODE_FD.to_ne_bytes(); 2];
                of_can.attribute(IFLA_CAN_CTRLMODE, &[mask, flags].concat());
                of_can.attribute(IFLA_CAN_DATA_BITTIMING, &bit_timing(data));
            }
        });
    });
    message
}

/// Switches listen-only mode: the controller receives, but sends neither frames nor acknowledgements nor error frames. The
/// interface must be down.
///
/// # Errors
/// `EBUSY` if the interface is up, `EOPNOTSUPP` if the controller has no such mode; other errnos of the request.
pub fn set_can_listen_only(client: &mut Client, index: InterfaceIndex, on: bool) -> Result<(), NetlinkError> {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "can").nested(IFLA_INFO_DATA, |of_can| {
            let flags = if on { CAN_CTRLMODE_LISTENONLY } else { 0 };
            of_can.attribute(IFLA_CAN_CTRLMODE, &[CAN_CTRLMODE_LISTENONLY.to_ne_bytes(), flags.to_ne_bytes()].concat());
        });
    });
    client.request(message)
}

/// Sets the automatic restart after bus-off in ms (`restart-ms`); `None` disables it. The interface must be down.
///
/// # Errors
/// `EBUSY` if the interface is up, `EOPNOTSUPP` if the driver cannot restart; other errnos of the request.
pub fn set_can_restart(
    client: &mut Client,
    index: InterfaceIndex,
    after_ms: Option<NonZeroU32>,
) -> Result<(), NetlinkError> {
    client.request(restart(index, after_ms))
}

fn restart(index: InterfaceIndex, after_ms: Option<NonZeroU32>) -> MessageWriter {
    let mut message = change(RTM_NEWLINK, index, 0, 0);
    message.nested(IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "can").nested(IFLA_INFO_DATA, |of_can| {
            of_can.attribute(IFLA_CAN_RESTART_MS, &after_ms.map_or(0, NonZeroU32::get).to_ne_bytes());
        });
    });
    message
}

/// `struct can_bittiming` with the bit rate only.
fn bit_timing(rate: BitRate) -> [u8; BIT_TIMING_BYTES] {
    let mut bytes = [0; BIT_TIMING_BYTES];
    bytes[..4].copy_from_slice(&rate.bits_per_second().to_ne_bytes());
    bytes
}

/// A message for one interface, with flags and the mask of flags to change.
fn change(kind: u16, index: InterfaceIndex, flags: u32, mask: u32) -> MessageWriter {
    let mut header = [0; HEADER_BYTES];
    header[4..8].copy_from_slice(&index.number().to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&mask.to_ne_bytes());
    let mut message = MessageWriter::new(kind, NLM_F_REQUEST | NLM_F_ACK);
    message.header(&header);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ip link set can0 type can bitrate 500000 dbitrate 2000000 fd on`, written by hand after `if_link.h` and
    /// `can/netlink.h`.
    #[test]
    fn the_can_side_of_an_interface() {
        let index = InterfaceIndex::new(7).unwrap();
        let [nominal, data] = [500_000, 2_000_000].map(|rate| BitRate::from_bits_per_second(rate).unwrap());
        let attribute = |kind: u16, value: &[u8]| {
            let len = u16::try_from(4 + value.len()).unwrap();
            [&len.to_ne_bytes(), &kind.to_ne_bytes(), value].concat()
        };
        let rate = |rate: u32| [&rate.to_ne_bytes()[..], &[0; 28]].concat();
        let kind = attribute(IFLA_INFO_KIND, b"can\0");
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        let expected = |of_can: &[u8]| {
            let info = [kind.clone(), attribute(2, of_can)].concat();
            [header.to_vec(), attribute(18, &info)].concat()
        };

        let classic = attribute(1, &rate(500_000));
        assert_eq!(bitrates(index, nominal, None).payload(), expected(&classic));
        let modes = [0x20_u32.to_ne_bytes(); 2].concat();
        let fd = [classic, attribute(5, &modes), attribute(9, &rate(2_000_000))].concat();
        assert_eq!(bitrates(index, nominal, Some(data)).payload(), expected(&fd));

        // `restart-ms 100`, and `restart-ms 0`.
        for (after_ms, number) in [(NonZeroU32::new(100), 100_u32), (None, 0)] {
            let of_can = attribute(6, &number.to_ne_bytes());
            assert_eq!(restart(index, after_ms).payload(), expected(&of_can));
        }
    }
}
