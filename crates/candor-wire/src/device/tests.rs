//! Complete packets, written by hand from the layouts of `usbip_common.h`.

use std::num::NonZeroU8;

use candor_bus::{BusNs, Tag};
use candor_core::frame::{Frame, RawId};

use super::{Device, DeviceError, MAX_POSTED};
use crate::model::{GsUsb, Ucan, gs_usb};
use crate::usbip::{Command, ProtocolError, Seqnum, Submit, Transfer};
use crate::{Channel, Notice, Request};

/// vhci-hcd requests the device descriptor.
const GET_DESCRIPTOR: [u8; 48] = [
    0, 0, 0, 1, // command: USBIP_CMD_SUBMIT
    0, 0, 0, 1, // seqnum
    0, 1, 0, 2, // devid
    0, 0, 0, 1, // direction: in
    0, 0, 0, 0, // ep
    0, 0, 2, 0, // transfer_flags
    0, 0, 0, 64, // transfer_buffer_length
    0, 0, 0, 0, // start_frame
    0, 0, 0, 0, // number_of_packets
    0, 0, 0, 0, // interval
    0x80, 6, 0x00, 0x01, 0, 0, 64, 0, // setup: bmRequestType, bRequest, wValue, wIndex, wLength
];

fn gs_usb() -> Device {
    let channels = NonZeroU8::MIN;
    Device::new(Box::new(GsUsb::new(gs_usb::Options { channels, depth: 10, fd: false, serial: "7".into() })), 8)
}

fn receive(device: &mut Device, bytes: &[u8]) -> Result<Vec<Request>, DeviceError> {
    let mut requests = Vec::new();
    device.receive(bytes, BusNs(0), &mut requests).map(|()| requests)
}

fn submit(
    device: &mut Device,
    seqnum: u32,
    endpoint: u32,
    transfer: Transfer<'_>,
) -> Result<Vec<Request>, DeviceError> {
    let mut bytes = Vec::new();
    Command::Submit(Submit { seqnum: Seqnum(seqnum), endpoint, setup: [0; 8], transfer }).encode(&mut bytes);
    receive(device, &bytes)
}

/// A header: these words, then zeros.
fn header(words: &[[u8; 4]]) -> Vec<u8> {
    let mut bytes = words.concat();
    bytes.resize(48, 0);
    bytes
}

#[test]
fn device_descriptor_is_answered() {
    let mut device = gs_usb();
    receive(&mut device, &GET_DESCRIPTOR).unwrap();
    let expected = [
        &[
            0, 0, 0, 3, // command: USBIP_RET_SUBMIT
            0, 0, 0, 1, // seqnum
            0, 0, 0, 0, // devid
            0, 0, 0, 0, // direction
            0, 0, 0, 0, // ep
            0, 0, 0, 0, // status
            0, 0, 0, 18, // actual_length
            0, 0, 0, 0, // start_frame
            0, 0, 0, 0, // number_of_packets
            0, 0, 0, 0, // error_count
            0, 0, 0, 0, 0, 0, 0, 0, // padding
        ][..],
        &[
            18, 1, 0x00, 0x02, // bLength, bDescriptorType, bcdUSB
            0, 0, 0, 64, // class, subclass, protocol, bMaxPacketSize0
            0x50, 0x1D, 0x6F, 0x60, // idVendor, idProduct
            0x00, 0x01, 1, 2, 3, 1, // bcdDevice, strings, bNumConfigurations
        ],
    ];
    assert_eq!(*device.output(), expected.concat());
}

#[test]
fn frame_stall_and_unlink_are_answered() {
    let mut device = Device::new(Box::new(Ucan::new(NonZeroU8::MIN, String::new())), 8);
    let out = |seqnum: u8, endpoint: u8, setup: [u8; 8], data: &[u8]| {
        let length = u8::try_from(data.len()).unwrap();
        let base = [[0, 0, 0, 1], [0, 0, 0, seqnum], [0, 1, 0, 2], [0; 4], [0, 0, 0, endpoint]];
        // transfer_flags, transfer_buffer_length, start_frame, number_of_packets (-1: not isochronous), interval
        let submit = [[0; 4], [0, 0, 0, length], [0; 4], [255; 4], [0; 4]];
        [&base.concat(), &submit.concat(), &setup[..], data].concat()
    };
    // tq, brp 6, sample point, prop_seg, phase_seg1, phase_seg2, sjw
    let timing = [0, 0, 0, 0, 6, 0, 0, 0, 6, 7, 2, 1];
    receive(&mut device, &out(1, 0, [0x41, 7, 0, 0, 0, 0, 12, 0], &timing)).unwrap();
    receive(&mut device, &out(2, 0, [0x41, 0, 0, 0, 0, 0, 2, 0], &[0x10, 0])).unwrap();
    receive(&mut device, &out(3, 0, [0x41, 2, 0, 0, 0, 0, 0, 0], &[])).unwrap(); // UCAN_COMMAND_SLEEP
    let reply = |seqnum: u8, status: [u8; 4], length: u8| {
        header(&[[0, 0, 0, 3], [0, 0, 0, seqnum], [0; 4], [0; 4], [0; 4], status, [0, 0, 0, length]])
    };
    let stall = [0xFF, 0xFF, 0xFF, 0xE0]; // -32
    let expected = [reply(1, [0; 4], 12), reply(2, [0; 4], 2), reply(3, stall, 0)].concat();
    assert_eq!(std::mem::take(device.output()), expected);

    // len, UCAN_OUT_TX, slot, id 0x12345678 extended, data
    let data = [10, 0, 2, 0, 0x78, 0x56, 0x34, 0x92, 0xCA, 0xFE];
    let requests = receive(&mut device, &out(4, 2, [0; 8], &data)).unwrap();
    let sent = Frame::classic(RawId(0x9234_5678), &[0xCA, 0xFE]).unwrap();
    let (channel, tag, at) = (Channel(0), Tag(0), BusNs(5));
    assert_eq!(requests, [Request::Send { channel, tag, frame: sent }]);
    for seqnum in [5, 6] {
        // in, endpoint 1, 512 bytes
        let post = [[0, 0, 0, 1], [0, 0, 0, seqnum], [0, 1, 0, 2], [0, 0, 0, 1], [0, 0, 0, 1], [0; 4], [0, 0, 2, 0]];
        receive(&mut device, &header(&post)).unwrap();
    }
    assert_eq!(*device.output(), []);
    device.notice(&Notice::Sent { channel, tag, frame: sent, at }, &mut Vec::new());
    // len, UCAN_IN_TX_COMPLETE, 0, slot, UCAN_TX_COMPLETE_SUCCESS
    let expected = [reply(4, [0; 4], 10), reply(5, [0; 4], 6), vec![6, 0, 1, 0, 0, 1]].concat();
    assert_eq!(std::mem::take(device.output()), expected);

    let unlink = |seqnum: u8, victim: u8| {
        header(&[[0, 0, 0, 2], [0, 0, 0, seqnum], [0, 1, 0, 2], [0; 4], [0; 4], [0, 0, 0, victim]])
    };
    receive(&mut device, &[unlink(7, 6), unlink(8, 5)].concat()).unwrap();
    let unlinked =
        |seqnum: u8, status: [u8; 4]| header(&[[0, 0, 0, 4], [0, 0, 0, seqnum], [0; 4], [0; 4], [0; 4], status]);
    let expected = [unlinked(7, [0xFF, 0xFF, 0xFF, 0x98]), unlinked(8, [0; 4])].concat(); // -104: pending; 0: answered
    assert_eq!(*device.output(), expected);

    receive(&mut device, &out(9, 2, [0; 8], &data)).unwrap();
    let again = receive(&mut device, &out(9, 2, [0; 8], &data));
    assert_eq!(again, Err(DeviceError::SeqnumInUse { seqnum: Seqnum(9) }), "a held transfer has its number");
}

#[test]
fn invalid_packet_ends_the_device() {
    let change = |at: usize, bytes: &[u8]| {
        let mut packet = GET_DESCRIPTOR;
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        packet
    };
    let two_gigabytes = [0x7F, 0xFF, 0xFF, 0xFF];
    for (packet, error) in [
        (change(0, &[0, 0, 0, 3]), ProtocolError::UnknownCommand { command: 3 }),
        (change(0, &[0x80; 4]), ProtocolError::UnknownCommand { command: 0x8080_8080 }),
        (change(15, &[2]), ProtocolError::UnknownDirection { direction: 2 }),
        (change(24, &[0xFF; 4]), ProtocolError::NegativeLength { length: -1 }),
        (change(32, &[0, 0, 0, 1]), ProtocolError::Isochronous { packets: 1 }),
    ] {
        let mut device = gs_usb();
        assert_eq!(receive(&mut device, &packet), Err(DeviceError::Protocol(error)));
        assert_eq!(receive(&mut device, &GET_DESCRIPTOR), Err(DeviceError::Protocol(error)), "permanently");
        assert_eq!(*device.output(), []);
    }
    let mut device = gs_usb();
    let mut packet = change(24, &two_gigabytes);
    packet[15] = 0; // out
    let error = ProtocolError::TooLong { length: 0x7FFF_FFFF, max: 4096 };
    assert_eq!(receive(&mut device, &packet), Err(DeviceError::Protocol(error)));
    // To the host, the same length is only room that is not used.
    let mut device = gs_usb();
    receive(&mut device, &change(24, &two_gigabytes)).unwrap();
    assert_eq!(device.output().len(), 48 + 18);
    for (endpoint, transfer, error) in [
        (3, Transfer::In { room: 9 }, DeviceError::UnknownEndpoint { endpoint: 3 }),
        (u32::MAX, Transfer::Out { data: &[] }, DeviceError::UnknownEndpoint { endpoint: u32::MAX }),
        (1, Transfer::Out { data: &[] }, DeviceError::WrongDirection { endpoint: 1 }),
        (2, Transfer::In { room: 9 }, DeviceError::WrongDirection { endpoint: 2 }),
    ] {
        assert_eq!(submit(&mut gs_usb(), 1, endpoint, transfer), Err(error));
    }
    let direction = DeviceError::WrongDirection { endpoint: 0 };
    let mut packet = change(15, &[0]); // out, but the setup packet says in
    packet[27] = 0;
    assert_eq!(receive(&mut gs_usb(), &packet), Err(direction));
}

#[test]
fn posted_transfers_are_bounded() {
    let mut device = gs_usb();
    submit(&mut device, 7, 1, Transfer::In { room: 24 }).unwrap();
    let error = DeviceError::SeqnumInUse { seqnum: Seqnum(7) };
    assert_eq!(submit(&mut device, 7, 1, Transfer::In { room: 24 }), Err(error));
    let mut device = gs_usb();
    for seqnum in 0..MAX_POSTED {
        submit(&mut device, u32::try_from(seqnum).unwrap(), 1, Transfer::In { room: 24 }).unwrap();
    }
    assert_eq!(submit(&mut device, 9999, 1, Transfer::In { room: 24 }), Err(DeviceError::TooManyTransfers));
}

#[test]
fn stream_may_be_split_anywhere() {
    for cut in 0..=GET_DESCRIPTOR.len() {
        let mut device = gs_usb();
        receive(&mut device, &GET_DESCRIPTOR[..cut]).unwrap();
        assert_eq!(device.output().is_empty(), cut < GET_DESCRIPTOR.len());
        receive(&mut device, &GET_DESCRIPTOR[cut..]).unwrap();
        assert_eq!(device.output().len(), 48 + 18);
    }
}
