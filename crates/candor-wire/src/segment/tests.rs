mod faults;

use std::num::NonZeroU8;

use candor_bus::{BusNs, ErrorKind, Event, NodeId, Order, Tag, Timing};
use candor_core::frame::{Frame, RawId};
use candor_core::units::BitRate;

use super::{DeviceId, Segment, Settings};
use crate::exchange::{Channel, Request};
use crate::fault::Happening;
use crate::model::{AnyModel, GsUsb, Ucan, gs_usb};

const NOMINAL_BIT_NS: u64 = 2000;

fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

fn settings(rates: Option<Timing>) -> Settings {
    Settings { seed: 1, order: Order::Fifo, rates }
}

/// Two ucan adapters of depth 3, and a gs_usb of two channels.
fn segment(rates: Option<Timing>) -> Segment {
    let mut segment = Segment::new(settings(rates));
    for name in ["a", "b"] {
        segment.plug(AnyModel::Ucan(Ucan::new(NonZeroU8::new(3).unwrap(), name.into()))).unwrap();
    }
    segment.plug(gs_usb(2)).unwrap();
    segment
}

fn gs_usb(channels: u8) -> AnyModel {
    let channels = NonZeroU8::new(channels).unwrap();
    AnyModel::GsUsb(GsUsb::new(gs_usb::Options { channels, depth: gs_usb::SLOTS, fd: true, serial: "c".into() }))
}

fn ask(segment: &mut Segment, device: usize, request: Request, now: u64) {
    let at = segment.in_time(BusNs(now));
    segment.wanted.push_back((DeviceId(device), request));
    segment.settle(at);
}

fn start(segment: &mut Segment, device: usize, channel: u8, bits_per_second: u32) {
    let timing = Timing { nominal: rate(bits_per_second), data: None };
    let channel = Channel(channel);
    ask(segment, device, Request::Start { channel, timing, listen_only: false, one_shot: false }, 0);
}

fn send(segment: &mut Segment, device: usize, channel: u8, tag: u32, id: u32, now: u64) {
    let frame = Frame::classic(RawId(id), &[1, 2]).unwrap();
    ask(segment, device, Request::Send { channel: Channel(channel), tag: Tag(tag), frame }, now);
}

fn story(segment: &mut Segment, to: u64) -> Vec<Event> {
    let event = |happening| match happening {
        Happening::Event(event) => Some(event),
        Happening::Fault(_) => None,
    };
    happenings(segment, to).into_iter().filter_map(event).collect()
}

fn happenings(segment: &mut Segment, to: u64) -> Vec<Happening> {
    let mut story = Vec::new();
    segment.advance(BusNs(to), &mut story);
    story
}

/// Node, start, end and identifier of the frames that went over the wire.
fn delivered(story: &[Event]) -> Vec<(u8, u64, u64, u32)> {
    let of = |event: &Event| match *event {
        Event::Delivered { sender, start, end, frame, .. } => Some((sender.0, start.0, end.0, frame.id.bits())),
        _ => None,
    };
    story.iter().filter_map(of).collect()
}

#[test]
fn channels_are_nodes_in_the_order_plugged() {
    let mut segment = segment(None);
    let nodes: Vec<_> = (0..5).map(|node| segment.channel(NodeId(node))).collect();
    let of = |device, channel| Some((DeviceId(device), Channel(channel)));
    assert_eq!(nodes, [of(0, 0), of(1, 0), of(2, 0), of(2, 1), None]);
    assert_eq!(segment.node(DeviceId(0), Channel(1)), None, "the second device's node is not the first one's");
    assert_eq!(segment.plug(gs_usb(61)), None);
    assert_eq!(segment.plug(gs_usb(60)), Some(DeviceId(3)));
}

#[test]
fn everybody_else_receives_and_the_lowest_identifier_goes_first() {
    let mut segment = segment(None);
    for (device, channel) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
        start(&mut segment, device, channel, 500_000);
    }
    send(&mut segment, 0, 0, 1, 0x300, 1_000_000);
    send(&mut segment, 2, 1, 7, 0x100, 1_000_000);
    let story = story(&mut segment, 2_000_000);
    let frames = delivered(&story);
    assert_eq!(frames.iter().map(|frame| (frame.0, frame.3)).collect::<Vec<_>>(), [(3, 0x100), (0, 0x300)]);
    assert_eq!(frames[0].1, 1_000_000);
    assert_eq!(frames[1].1, frames[0].2 + 3 * NOMINAL_BIT_NS, "the second follows after the intermission");
    let Some(&Event::Delivered { receivers, .. }) = story.iter().find(|event| matches!(event, Event::Delivered { .. }))
    else {
        panic!()
    };
    assert_eq!(receivers.iter().collect::<Vec<_>>(), [NodeId(0), NodeId(1), NodeId(2)]);
}

#[test]
fn what_is_read_late_comes_in_time_for_what_was_to_happen() {
    let mut segment = segment(None);
    start(&mut segment, 0, 0, 500_000);
    start(&mut segment, 1, 0, 500_000);
    send(&mut segment, 0, 0, 1, 0x100, 1_000_000);
    let mut told = story(&mut segment, 1_000_000);
    let end = segment.next_event().unwrap();
    // The holder wakes up a quarter of a millisecond late and finds a frame that was written before.
    send(&mut segment, 1, 0, 1, 0x200, end.0 + 250_000);
    told.extend(story(&mut segment, end.0 + 250_000));
    told.extend(story(&mut segment, 3_000_000));
    let frames = delivered(&told);
    assert_eq!(frames[0].2, end.0);
    assert_eq!(frames[1].1, end.0 + 3 * NOMINAL_BIT_NS, "lateness does not open a gap");
}

#[test]
fn a_cancelled_frame_stays_off_the_wire() {
    let mut segment = segment(None);
    start(&mut segment, 0, 0, 500_000);
    start(&mut segment, 1, 0, 500_000);
    send(&mut segment, 0, 0, 1, 0x100, 1_000_000);
    send(&mut segment, 0, 0, 2, 0x200, 1_000_000);
    let mut told = story(&mut segment, 1_010_000);
    for tag in [1, 2] {
        ask(&mut segment, 0, Request::Cancel { channel: Channel(0), tag: Tag(tag) }, 1_020_000);
    }
    told.extend(story(&mut segment, 3_000_000));
    let frames = delivered(&told);
    assert_eq!(frames.len(), 1, "the one on the wire goes on");
    assert_eq!(frames[0].3, 0x100);
}

#[test]
fn the_rates_are_the_drivers_or_those_forced() {
    let forced = Timing { nominal: rate(125_000), data: None };
    for (rates, bit_ns) in [(None, NOMINAL_BIT_NS), (Some(forced), 8000)] {
        let mut segment = segment(rates);
        start(&mut segment, 0, 0, 500_000);
        start(&mut segment, 1, 0, 500_000);
        send(&mut segment, 0, 0, 1, 0x100, 1_000_000);
        let frames = delivered(&story(&mut segment, 9_000_000));
        // 16 data bits: 60 bits up to the end of frame, and stuff bits.
        let bits = (frames[0].2 - frames[0].1) / bit_ns;
        assert!((60..=75).contains(&bits), "{bits} bits");
    }
}

#[test]
fn a_lone_node_is_not_acknowledged_and_a_stopped_one_is_no_company() {
    let mut segment = segment(None);
    start(&mut segment, 0, 0, 500_000);
    start(&mut segment, 1, 0, 500_000);
    ask(&mut segment, 1, Request::Stop { channel: Channel(0) }, 500_000);
    send(&mut segment, 0, 0, 1, 0x100, 1_000_000);
    let story = story(&mut segment, 1_500_000);
    assert!(story.iter().any(|event| matches!(event, Event::Error { kind: ErrorKind::Ack, .. })));
    assert_eq!(delivered(&story), []);
}

#[test]
fn a_frame_for_a_node_that_is_off_is_no_frame() {
    let mut segment = segment(None);
    start(&mut segment, 1, 0, 500_000);
    send(&mut segment, 0, 0, 1, 0x100, 1_000_000);
    assert_eq!(story(&mut segment, 3_000_000), []);
    assert_eq!(segment.next_event(), None);
}
