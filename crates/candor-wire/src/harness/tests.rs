mod faults;

use std::num::NonZeroU8;

use candor_bus::{BusNs, ErrorKind, Event, NodeId, Order, Tag, Timing};
use candor_core::frame::{Frame, RawId};
use candor_core::units::BitRate;

use super::{DeviceId, Harness, Place, Settings};
use crate::exchange::{Channel, Request};
use crate::fault::{Fault, FaultId, FaultOrder, Happening, Refusal};
use crate::model::{AnyModel, GsUsb, Ucan, gs_usb};
use crate::usbip::{Command, Seqnum, Submit, Transfer};

const NOMINAL_BIT_NS: u64 = 2000;

fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

fn settings(rates: Option<Timing>) -> Settings {
    Settings { seed: 1, order: Order::Fifo, rates }
}

/// The only bus of most tests.
const BUS: usize = 0;

fn place(bus: usize, node: u8) -> Place {
    Place { bus, node: NodeId(node) }
}

/// A bus of four nodes: two ucan adapters of depth 3, and a gs_usb of two channels.
fn one_bus(rates: Option<Timing>) -> Harness {
    let mut harness = Harness::default();
    assert_eq!(harness.add_bus(settings(rates), 4), Some(BUS));
    for (name, node) in [("a", 0), ("b", 1)] {
        let ucan = AnyModel::Ucan(Ucan::new(NonZeroU8::new(3).unwrap(), name.into()));
        harness.plug(ucan, &[place(BUS, node)]).unwrap();
    }
    harness.plug(gs_usb(2), &[place(BUS, 2), place(BUS, 3)]).unwrap();
    harness
}

fn gs_usb(channels: u8) -> AnyModel {
    let channels = NonZeroU8::new(channels).unwrap();
    AnyModel::GsUsb(GsUsb::new(gs_usb::Options { channels, depth: gs_usb::SLOTS, fd: true, serial: "c".into() }))
}

fn ask(harness: &mut Harness, device: usize, request: Request, now: u64) {
    harness.devices.want(DeviceId(device), request);
    harness.settle(BusNs(now));
}

fn start(harness: &mut Harness, device: usize, channel: u8, bits_per_second: u32) {
    let timing = Timing { nominal: rate(bits_per_second), data: None };
    let channel = Channel(channel);
    ask(harness, device, Request::Start { channel, timing, listen_only: false, one_shot: false }, 0);
}

fn send(harness: &mut Harness, device: usize, channel: u8, tag: u32, id: u32, now: u64) {
    let frame = Frame::classic(RawId(id), &[1, 2]).unwrap();
    ask(harness, device, Request::Send { channel: Channel(channel), tag: Tag(tag), frame }, now);
}

fn story(harness: &mut Harness, to: u64) -> Vec<Event> {
    let event = |happening| match happening {
        Happening::Event(event) => Some(event),
        Happening::Fault(_) => None,
    };
    happenings(harness, to).into_iter().filter_map(event).collect()
}

fn happenings(harness: &mut Harness, to: u64) -> Vec<Happening> {
    let mut story = Vec::new();
    harness.advance(BUS, BusNs(to), &mut story);
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
fn each_channel_has_a_place_of_its_own() {
    let mut harness = one_bus(None);
    let of = |device, channel| Some((DeviceId(device), Channel(channel)));
    let nodes = |harness: &Harness| (0..5).map(|node| harness.segments[BUS].channel(NodeId(node))).collect::<Vec<_>>();
    assert_eq!(nodes(&harness), [of(0, 0), of(1, 0), of(2, 0), of(2, 1), None]);
    assert_eq!(harness.add_bus(settings(None), 65), None);
    assert_eq!(harness.add_bus(settings(None), 64), Some(1));
    let refused: [&[Place]; 5] = [
        &[place(1, 0), place(BUS, 3)],
        &[place(1, 0), place(1, 0)],
        &[place(1, 0), place(1, 64)],
        &[place(1, 0), place(2, 0)],
        &[place(1, 0)],
    ];
    for places in refused {
        assert_eq!(harness.plug(gs_usb(2), places), None, "{places:?}");
    }
    assert_eq!(harness.plug(gs_usb(2), &[place(1, 63), place(1, 0)]), Some(DeviceId(3)));
    assert_eq!(harness.segments[1].channel(NodeId(0)), of(3, 1));
}

#[test]
fn everybody_else_receives_and_the_lowest_identifier_goes_first() {
    let mut harness = one_bus(None);
    for (device, channel) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
        start(&mut harness, device, channel, 500_000);
    }
    send(&mut harness, 0, 0, 1, 0x300, 1_000_000);
    send(&mut harness, 2, 1, 7, 0x100, 1_000_000);
    let story = story(&mut harness, 2_000_000);
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
    let mut harness = one_bus(None);
    start(&mut harness, 0, 0, 500_000);
    start(&mut harness, 1, 0, 500_000);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    let mut told = story(&mut harness, 1_000_000);
    let end = harness.next_event(BUS).unwrap();
    // The holder wakes up a quarter of a millisecond late and finds a frame that was written before.
    send(&mut harness, 1, 0, 1, 0x200, end.0 + 250_000);
    told.extend(story(&mut harness, end.0 + 250_000));
    told.extend(story(&mut harness, 3_000_000));
    let frames = delivered(&told);
    assert_eq!(frames[0].2, end.0);
    assert_eq!(frames[1].1, end.0 + 3 * NOMINAL_BIT_NS, "lateness does not open a gap");
}

#[test]
fn a_cancelled_frame_stays_off_the_wire() {
    let mut harness = one_bus(None);
    start(&mut harness, 0, 0, 500_000);
    start(&mut harness, 1, 0, 500_000);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    send(&mut harness, 0, 0, 2, 0x200, 1_000_000);
    let mut told = story(&mut harness, 1_010_000);
    for tag in [1, 2] {
        ask(&mut harness, 0, Request::Cancel { channel: Channel(0), tag: Tag(tag) }, 1_020_000);
    }
    told.extend(story(&mut harness, 3_000_000));
    let frames = delivered(&told);
    assert_eq!(frames.len(), 1, "the one on the wire goes on");
    assert_eq!(frames[0].3, 0x100);
}

#[test]
fn the_rates_are_the_drivers_or_those_forced() {
    let forced = Timing { nominal: rate(125_000), data: None };
    for (rates, bit_ns) in [(None, NOMINAL_BIT_NS), (Some(forced), 8000)] {
        let mut harness = one_bus(rates);
        start(&mut harness, 0, 0, 500_000);
        start(&mut harness, 1, 0, 500_000);
        send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
        let frames = delivered(&story(&mut harness, 9_000_000));
        // 16 data bits: 60 bits up to the end of frame, and stuff bits.
        let bits = (frames[0].2 - frames[0].1) / bit_ns;
        assert!((60..=75).contains(&bits), "{bits} bits");
    }
}

#[test]
fn a_lone_node_is_not_acknowledged_and_a_stopped_one_is_no_company() {
    let mut harness = one_bus(None);
    start(&mut harness, 0, 0, 500_000);
    start(&mut harness, 1, 0, 500_000);
    ask(&mut harness, 1, Request::Stop { channel: Channel(0) }, 500_000);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    let story = story(&mut harness, 1_500_000);
    assert!(story.iter().any(|event| matches!(event, Event::Error { kind: ErrorKind::Ack, .. })));
    assert_eq!(delivered(&story), []);
}

#[test]
fn a_frame_for_a_node_that_is_off_is_no_frame() {
    let mut harness = one_bus(None);
    start(&mut harness, 1, 0, 500_000);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    assert_eq!(story(&mut harness, 3_000_000), []);
    assert_eq!(harness.next_event(BUS), None);
}

/// A gs_usb with a channel on each of two buses, started by its driver, and a ucan on each to talk to.
fn two_buses() -> Harness {
    let mut harness = Harness::default();
    for bus in 0..2 {
        assert_eq!(harness.add_bus(settings(None), 2), Some(bus));
    }
    harness.plug(gs_usb(2), &[place(0, 0), place(1, 1)]).unwrap();
    for (bus, node) in [(0, 1), (1, 0)] {
        let ucan = AnyModel::Ucan(Ucan::new(NonZeroU8::new(3).unwrap(), bus.to_string()));
        harness.plug(ucan, &[place(bus, node)]).unwrap();
        start(&mut harness, bus + 1, 0, 500_000);
    }
    (0..2).for_each(|channel| drive(&mut harness, channel, 0));
    harness
}

/// Has the driver of the first device set a channel to 500 kbit/s and start it.
fn drive(harness: &mut Harness, channel: u8, now: u64) {
    for (request, words) in [(1, &[69_u32, 70, 20, 10, 1][..]), (2, &[1, 0])] {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let setup = [0x41, request, channel, 0, 0, 0, u8::try_from(data.len()).unwrap(), 0];
        let transfer = Transfer::Out { data: &data };
        let mut bytes = Vec::new();
        Command::Submit(Submit { seqnum: Seqnum(1), endpoint: 0, setup, transfer }).encode(&mut bytes);
        harness.receive(DeviceId(0), &bytes, BusNs(now)).unwrap();
    }
}

fn of_bus(harness: &mut Harness, bus: usize, to: u64) -> Vec<Happening> {
    let mut story = Vec::new();
    harness.advance(bus, BusNs(to), &mut story);
    story
}

fn senders(story: &[Happening]) -> Vec<(u8, u32)> {
    let of = |happening: &Happening| match happening {
        Happening::Event(Event::Delivered { sender, frame, .. }) => Some((sender.0, frame.id.bits())),
        _ => None,
    };
    story.iter().filter_map(of).collect()
}

#[test]
fn channels_of_one_adapter_speak_on_the_buses_they_are_on() {
    let mut harness = two_buses();
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    send(&mut harness, 0, 1, 1, 0x200, 1_000_000);
    send(&mut harness, 2, 0, 1, 0x300, 1_000_000);
    let stories = [0, 1].map(|bus| of_bus(&mut harness, bus, 3_000_000));
    assert_eq!(senders(&stories[0]), [(0, 0x100)]);
    assert_eq!(senders(&stories[1]), [(1, 0x200), (0, 0x300)]);
}

#[test]
fn an_adapter_leaves_all_of_its_buses_and_comes_back_to_all() {
    let mut harness = two_buses();
    let device = DeviceId(0);
    let fault = |fault| FaultOrder { id: FaultId(1), at: None, lasts_ns: None, fault };
    assert_eq!(harness.order(1, fault(Fault::Freeze { node: NodeId(1) }), BusNs(500_000)), None);
    assert_eq!(harness.order(0, fault(Fault::Unplug { device }), BusNs(1_000_000)), None);
    // A kernel that is not answered waits, and whoever asked it does.
    harness.output(device).unwrap().clear();
    drive(&mut harness, 0, 1_050_000);
    assert_eq!(harness.output(device).unwrap().len(), 2 * 48, "two replies");
    for sender in [1, 2] {
        send(&mut harness, sender, 0, 1, 0x100, 1_100_000);
    }
    for bus in 0..2 {
        let story = of_bus(&mut harness, bus, 2_000_000);
        assert_eq!(senders(&story), [], "nobody acknowledges on bus {bus}");
    }
    harness.order(1, fault(Fault::Replug { device }), BusNs(2_000_000));
    harness.order(0, fault(Fault::Replug { device }), BusNs(2_000_000));
    let refused = of_bus(&mut harness, 0, 2_000_000).into_iter().find_map(|happening| match happening {
        Happening::Fault(effect) => effect.refused,
        Happening::Event(_) => None,
    });
    assert_eq!(refused, Some(Refusal::NotUnplugged));
    for channel in 0..2 {
        drive(&mut harness, channel, 2_100_000);
        send(&mut harness, 0, channel, 9, 0x400, 2_100_000);
    }
    for bus in 0..2 {
        let heard = senders(&of_bus(&mut harness, bus, 9_000_000));
        assert!(heard.contains(&(u8::try_from(bus).unwrap(), 0x400)), "{heard:?} on bus {bus}");
    }
}
