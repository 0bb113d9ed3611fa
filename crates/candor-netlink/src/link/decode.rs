//! `RTM_NEWLINK` as a [`Link`].

use std::num::NonZeroU32;

use candor_core::units::BitRate;
use candor_io::can::InterfaceIndex;

use super::{
    CanLink, CanState, HEADER_BYTES, IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING, IFLA_CAN_RESTART_MS, IFLA_IFNAME,
    IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU, IFLA_STATS64, IFLA_TXQLEN, Link, Traffic,
};
use crate::codec::{Attributes, DecodeError, Message};

const ARPHRD_CAN: u16 = 280;
const IFF_UP: u32 = 1;
/// Beyond the 16 flags of `struct ifreq`.
const IFF_ECHO: u32 = 0x4_0000;
const IFLA_CAN_STATE: u16 = 4;

/// `None` for index 0, which the kernel does not send.
pub(super) fn link(message: &Message<'_>) -> Result<Option<Link>, DecodeError> {
    let (header, attributes) = message.split::<HEADER_BYTES>()?;
    let device_type = u16::from_ne_bytes([header[2], header[3]]);
    let Some(index) = InterfaceIndex::new(u32::from_ne_bytes([header[4], header[5], header[6], header[7]])) else {
        return Ok(None);
    };
    let flags = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
    let mut link = Link {
        index,
        name: String::new(),
        kind: None,
        up: flags & IFF_UP != 0,
        echoes: flags & IFF_ECHO != 0,
        mtu: 0,
        tx_queue_len: 0,
        received: Traffic::default(),
        sent: Traffic::default(),
        can: (device_type == ARPHRD_CAN).then(CanLink::default),
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_IFNAME => link.name = attribute.text(),
            IFLA_MTU => link.mtu = attribute.u32()?,
            IFLA_TXQLEN => link.tx_queue_len = attribute.u32()?,
            IFLA_LINKINFO => info(&mut link, attribute.nested())?,
            IFLA_STATS64 => (link.received, link.sent) = traffic(attribute.array()?),
            _ => {}
        }
    }
    Ok(Some(link))
}

/// The beginning of `struct rtnl_link_stats64`: frames, bytes, errors and drops, each received and sent.
fn traffic(bytes: &[u8; 64]) -> (Traffic, Traffic) {
    let (numbers, _) = bytes.as_chunks::<8>();
    let of = |direction: usize| {
        let [frames, bytes, errors, dropped] = [0, 2, 4, 6].map(|at| u64::from_ne_bytes(numbers[at + direction]));
        Traffic { frames, bytes, errors, dropped }
    };
    (of(0), of(1))
}

fn info(link: &mut Link, attributes: Attributes<'_>) -> Result<(), DecodeError> {
    let mut data = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            IFLA_INFO_KIND => link.kind = Some(attribute.text()),
            IFLA_INFO_DATA => data = Some(attribute.nested()),
            _ => {}
        }
    }
    // The nested attribute types are those of CAN only if the kind is "can".
    if let (Some("can"), Some(can), Some(data)) = (link.kind.as_deref(), &mut link.can, data) {
        *can = controller(data)?;
    }
    Ok(())
}

fn controller(attributes: Attributes<'_>) -> Result<CanLink, DecodeError> {
    let mut can = CanLink::default();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            // `struct can_bittiming` begins with the bit rate; 0 is "not set".
            IFLA_CAN_BITTIMING => can.bitrate = BitRate::from_bits_per_second(attribute.u32()?),
            IFLA_CAN_DATA_BITTIMING => can.data_bitrate = BitRate::from_bits_per_second(attribute.u32()?),
            IFLA_CAN_STATE => can.state = state(attribute.u32()?),
            IFLA_CAN_RESTART_MS => can.restart_ms = NonZeroU32::new(attribute.u32()?),
            _ => {}
        }
    }
    Ok(can)
}

const fn state(number: u32) -> Option<CanState> {
    Some(match number {
        0 => CanState::ErrorActive,
        1 => CanState::ErrorWarning,
        2 => CanState::ErrorPassive,
        3 => CanState::BusOff,
        4 => CanState::Stopped,
        5 => CanState::Sleeping,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{MessageWriter, Messages};

    /// `ip -d link show can0` of a controller at 500 kbit/s, written by hand after `if_link.h` and `can/netlink.h`.
    #[test]
    fn a_controller_is_read() {
        let mut header = [0; HEADER_BYTES];
        header[2..4].copy_from_slice(&ARPHRD_CAN.to_ne_bytes());
        header[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        header[8..12].copy_from_slice(&IFF_UP.to_ne_bytes());
        let mut bit_timing = [0; 32];
        bit_timing[..4].copy_from_slice(&500_000_u32.to_ne_bytes());
        let mut writer = MessageWriter::new(super::super::RTM_NEWLINK, 0);
        writer.header(&header).text(IFLA_IFNAME, "can0").attribute(IFLA_MTU, &16_u32.to_ne_bytes());
        writer.attribute(IFLA_TXQLEN, &10_u32.to_ne_bytes());
        let counted: Vec<u8> = (1..=24_u64).flat_map(u64::to_ne_bytes).collect();
        writer.attribute(IFLA_STATS64, &counted);
        writer.nested(IFLA_LINKINFO, |info| {
            info.text(IFLA_INFO_KIND, "can").nested(IFLA_INFO_DATA, |data| {
                data.attribute(IFLA_CAN_BITTIMING, &bit_timing).attribute(IFLA_CAN_STATE, &0_u32.to_ne_bytes());
                data.attribute(IFLA_CAN_RESTART_MS, &100_u32.to_ne_bytes());
            });
        });
        let bytes = writer.finish(1);
        let message = Messages::new(&bytes).next().unwrap().unwrap();
        let expected = Link {
            index: InterfaceIndex::new(7).unwrap(),
            name: "can0".into(),
            kind: Some("can".into()),
            up: true,
            echoes: false,
            mtu: 16,
            tx_queue_len: 10,
            received: Traffic { frames: 1, bytes: 3, errors: 5, dropped: 7 },
            sent: Traffic { frames: 2, bytes: 4, errors: 6, dropped: 8 },
            can: Some(CanLink {
                bitrate: BitRate::from_bits_per_second(500_000),
                data_bitrate: None,
                state: Some(CanState::ErrorActive),
                restart_ms: NonZeroU32::new(100),
            }),
        };
        assert_eq!(link(&message).unwrap(), Some(expected));
    }

    #[test]
    fn this_machine_has_a_loopback_interface() {
        let mut client = crate::client::Client::open().unwrap();
        let listed = super::super::list(&mut client).unwrap();
        let lo = super::super::by_name(&mut client, "lo").unwrap().unwrap();
        assert!(lo.can.is_none());
        assert!(listed.iter().any(|link| link.name == "lo" && link.index == lo.index));
        assert_eq!(super::super::by_name(&mut client, "nosuch0").unwrap(), None);
    }
}
