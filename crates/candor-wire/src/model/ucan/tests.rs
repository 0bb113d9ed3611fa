//! Bytes written by hand from the structures of `ucan.c`.

use candor_core::frame::{CAN_RTR_FLAG, Frame, RawId};

use super::*;
use crate::exchange::Channel;
use crate::model::{Content, ErrorReport};
use crate::usb::{Kind, Recipient};

fn model() -> Ucan {
    Ucan::new(NonZeroU8::new(3).unwrap(), String::new())
}

fn encoded(content: Content, overflow: bool) -> Vec<u8> {
    let message = Message { channel: Channel(0), at: BusNs(0), overflow, content };
    let mut bytes = Vec::new();
    model().encode(&message, &mut bytes);
    assert_eq!(bytes.len(), model().size(&message));
    bytes
}

#[test]
fn device_information_is_answered() {
    let setup = Setup {
        is_in: true,
        kind: Kind::Vendor,
        recipient: Recipient::Interface,
        request: 5, // UCAN_COMMAND_GET
        value: 0,   // UCAN_COMMAND_GET_INFO
        index: 0,
        length: 26,
    };
    let mut bytes = Vec::new();
    model().control_in(&setup, &[], BusNs(0), &mut bytes).unwrap();
    let expected = [
        0x00, 0x6C, 0xDC, 0x02, // freq: 48 000 000
        3,    // tx_fifo
        4,    // sjw_max
        1, 16, 1, 8, // tseg1_min, tseg1_max, tseg2_min, tseg2_max
        1, 0, // brp_inc
        1, 0, 0, 0, // brp_min
        0, 4, 0, 0, // brp_max: 1024
        0b1_1010, 0, // ctrlmodes: silent, one shot, berr report
        0, 0, // hwfilter
        1, 0, // rxmboxes
    ];
    assert_eq!(bytes, expected);
}

#[test]
fn messages_are_encoded() {
    let data = Frame::classic(RawId(0x123), &[0xCA, 0xFE, 1]).unwrap();
    // len, UCAN_IN_RX, subtype, id, data
    assert_eq!(encoded(Content::Received(data), false), [11, 0, 2, 0, 0x23, 1, 0, 0, 0xCA, 0xFE, 1]);
    let mut remote = Frame::classic(RawId(0x123 | CAN_RTR_FLAG), &[]).unwrap();
    remote.len = 8;
    assert_eq!(encoded(Content::Received(remote), false), [9, 0, 2, 0, 0x23, 1, 0, 0x40, 8]);
    // len, UCAN_IN_TX_COMPLETE, subtype, echo_index, flags
    assert_eq!(encoded(Content::Sent { slot: 2, frame: data }, false), [6, 0, 1, 0, 2, 1]);
    assert_eq!(encoded(Content::Failed { slot: 1 }, false), [6, 0, 1, 0, 1, 0]);
    let restarted = Content::Error(ErrorReport::Restarted);
    assert_eq!(encoded(restarted, false), [16, 0, 2, 0, 0x00, 0x01, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn overflow_follows_in_its_own_message() {
    let bytes = encoded(Content::Failed { slot: 1 }, true);
    assert_eq!(bytes[..8], [6, 0, 1, 0, 1, 0, 0, 0], "aligned");
    assert_eq!(bytes[8..], [16, 0, 2, 0, 4, 0, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0]);
}
