//! Bytes written by hand from the structures of `gs_usb.c`.

use candor_bus::Counters;
use candor_core::frame::{CANFD_BRS, CANFD_ESI};

use super::*;
use crate::usb::{Kind, Recipient};

fn model(fd: bool) -> GsUsb {
    GsUsb::new(Options { channels: NonZeroU8::new(3).unwrap(), depth: 10, fd, serial: String::new() })
}

const fn request(is_in: bool, request: u8, value: u16) -> Setup {
    Setup { is_in, kind: Kind::Vendor, recipient: Recipient::Interface, request, value, index: 0, length: 0 }
}

fn answer(model: &GsUsb, number: u8, value: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let counters = Counters { transmit: 300, receive: 2 };
    let health = [Health { is_started: true, counters, ..Health::default() }; 3];
    model.control_in(&request(true, number, value), &health, BusNs(4_294_967_296_789_012), &mut bytes).unwrap();
    bytes
}

#[test]
fn control_requests_are_answered() {
    // struct gs_device_config: 3 reserved, icount = channels - 1, sw_version 2, hw_version 1
    assert_eq!(answer(&model(true), 5, 1), [0, 0, 0, 2, 2, 0, 0, 0, 1, 0, 0, 0]);
    // timestamp in us: 4294967296789 = 2^32 × 1000 + 789 → modulo 2^32
    assert_eq!(answer(&model(true), 6, 0), 789_u32.to_le_bytes());
    // struct gs_device_state: state, rxerr, txerr
    assert_eq!(answer(&model(true), 14, 2), [0, 0, 0, 0, 2, 0, 0, 0, 0x2C, 1, 0, 0]);
    // struct gs_device_bt_const: features, clock, tseg1 2..256, tseg2 2..128, sjw 128, brp 1..512 step 1
    let nominal: [u32; 9] = [80_000_000, 2, 256, 2, 128, 128, 1, 512, 1];
    let words =
        |bytes: Vec<u8>| bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>();
    let classic = words(answer(&model(false), 4, 0));
    assert_eq!(classic[0], 0b11_0000_0001_1001, "listen-only, one-shot, timestamps, error reports, state");
    assert_eq!(classic[1..], nominal);
    // struct gs_device_bt_const_extended: the same, dtseg1 1..32, dtseg2 1..16, dsjw 16, dbrp 1..32 step 1
    let fd = words(answer(&model(true), 11, 2));
    assert_eq!(fd[0], 0b11_0101_0001_1001, "and FD with limits of its own");
    assert_eq!(fd[1..10], nominal);
    assert_eq!(fd[10..], [1, 32, 1, 16, 16, 1, 32, 1]);
}

fn message(content: Content, overflow: bool) -> Message {
    Message { channel: Channel(2), at: BusNs(0x0102_0304 * 1000 + 999), overflow, content }
}

fn encoded(message: &Message, is_stamped: bool) -> Vec<u8> {
    let mut model = model(true);
    model.channels[2].is_stamped = is_stamped;
    let mut bytes = Vec::new();
    model.encode(message, &mut bytes);
    assert_eq!(bytes.len(), model.size(message));
    bytes
}

#[test]
fn received_frame_is_encoded() {
    let frame = Frame::classic(RawId(0x9234_5678), &[1, 2, 3]).unwrap();
    let expected = [
        0xFF, 0xFF, 0xFF, 0xFF, // echo_id: GS_HOST_FRAME_ECHO_ID_RX
        0x78, 0x56, 0x34, 0x92, // can_id with CAN_EFF_FLAG
        3, 2, 0, 0, // can_dlc, channel, flags, reserved
        1, 2, 3, 0, 0, 0, 0, 0, // classic_can.data
    ];
    assert_eq!(encoded(&message(Content::Received(frame), false), false), expected);
    let stamped = [&expected[..], &[4, 3, 2, 1]].concat(); // classic_can_ts.timestamp_us
    assert_eq!(encoded(&message(Content::Received(frame), false), true), stamped);
}

#[test]
fn overflow_is_flagged_in_fd_echo() {
    let frame = Frame::fd(RawId(0x123), CANFD_BRS | CANFD_ESI, &[9; 48]).unwrap();
    let bytes = encoded(&message(Content::Sent { slot: 7, frame }, true), true);
    assert_eq!(bytes.len(), 12 + 64 + 4);
    assert_eq!(bytes[..12], [7, 0, 0, 0, 0x23, 1, 0, 0, 14, 2, 0b1111, 0]); // flags: overflow, FD, BRS, ESI
    assert_eq!(bytes[12..76], frame.data);
}

#[test]
fn uninitialised_payload_is_ignored() {
    let mut bytes = vec![3, 0, 0, 0, 0x23, 0xF1, 0, 0x20, 2, 1, 0, 0]; // slot, id with stray bits and CAN_ERR_FLAG
    bytes.extend([0xAA; 8]);
    let expected = Frame::classic(RawId(0x123), &[0xAA, 0xAA]).unwrap();
    let outgoing = model(false).decode(&bytes).unwrap();
    assert_eq!(outgoing, Outgoing::Frame { channel: Channel(1), slot: 3, frame: expected });
    assert_eq!(model(false).decode(&bytes[..14]), Ok(outgoing), "bytes after the length are optional");
    for length in 0..14 {
        assert_eq!(model(false).decode(&bytes[..length]), Err(Malformed));
    }
    bytes[8] = 16;
    assert_eq!(model(false).decode(&bytes), Err(Malformed), "a length code has 4 bits");
    bytes[8] = 2;
    bytes[..4].fill(0xFF);
    assert_eq!(model(false).decode(&bytes), Err(Malformed), "not a valid echo id");
}
