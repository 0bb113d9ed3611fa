mod faults;

use std::num::NonZeroU8;

use candor_bus::{BusNs, ErrorKind, Event, NodeId, Order, Tag, Timing};
use candor_core::frame::{Frame, RawId};
use candor_core::units::BitRate;

use super::{BusNode, DeviceId, Harness, Settings};
use crate::exchange::{Channel, Request};
use crate::fault::{Fault, FaultId, FaultOrder, Refusal, TraceEntry};
use crate::model::{GsUsb, Model, Ucan, gs_usb};
use crate::segment::Script;
use crate::usbip::{Command, Seqnum, Submit, Transfer};

const NOMINAL_BIT_NS: u64 = 2000;
/// The only bus of most tests.
const BUS: usize = 0;

fn rate(bits_per_second: u32) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second).unwrap()
}

fn settings(rates: Option<Timing>) -> Settings {
    Settings { seed: 1, order: Order::Fifo, rates }
}

fn node_of(bus: usize, node: u8) -> BusNode {
    BusNode { bus, node: NodeId(node) }
}

fn ucan(serial: &str) -> Box<dyn Model> {
    Box::new(Ucan::new(NonZeroU8::new(3).unwrap(), serial.into()))
}

fn gs_usb(channels: u8) -> Box<dyn Model> {
    let channels = NonZeroU8::new(channels).unwrap();
    Box::new(GsUsb::new(gs_usb::Options { channels, depth: gs_usb::SLOTS, fd: true, serial: "c".into() }))
}

/// A bus of four nodes: two ucan adapters of depth 3, and a gs_usb with two channels.
fn one_bus(rates: Option<Timing>) -> Harness {
    let mut harness = Harness::default();
    assert_eq!(harness.add_bus(settings(rates), 4), Some(BUS));
    harness.plug(ucan("a"), &[node_of(BUS, 0)]).unwrap();
    harness.plug(ucan("b"), &[node_of(BUS, 1)]).unwrap();
    harness.plug(gs_usb(2), &[node_of(BUS, 2), node_of(BUS, 3)]).unwrap();
    harness
}

/// The same, with both ucan adapters started.
fn two_nodes(rates: Option<Timing>) -> Harness {
    let mut harness = one_bus(rates);
    start(&mut harness, 0, 0);
    start(&mut harness, 1, 0);
    harness
}

fn request(harness: &mut Harness, device: usize, request: Request, now: u64) {
    harness.devices.request(DeviceId(device), request);
    harness.settle(BusNs(now));
}

fn start(harness: &mut Harness, device: usize, channel: u8) {
    start_at(harness, device, channel, 0);
}

fn start_at(harness: &mut Harness, device: usize, channel: u8, now: u64) {
    let timing = Timing { nominal: rate(500_000), data: None };
    let channel = Channel(channel);
    request(harness, device, Request::Start { channel, timing, listen_only: false, one_shot: false }, now);
}

fn stop(harness: &mut Harness, device: usize, channel: u8, now: u64) {
    request(harness, device, Request::Stop { channel: Channel(channel) }, now);
}

fn send(harness: &mut Harness, device: usize, channel: u8, tag: u32, id: u32, now: u64) {
    let frame = Frame::classic(RawId(id), &[1, 2]).unwrap();
    request(harness, device, Request::Send { channel: Channel(channel), tag: Tag(tag), frame }, now);
}

fn trace_of(harness: &mut Harness, bus: usize, to: u64) -> Vec<TraceEntry> {
    let mut trace = Vec::new();
    harness.advance(bus, BusNs(to), &mut trace);
    trace
}

fn trace(harness: &mut Harness, to: u64) -> Vec<TraceEntry> {
    trace_of(harness, BUS, to)
}

fn events(trace: &[TraceEntry]) -> Vec<Event> {
    let event = |entry: &TraceEntry| match entry {
        TraceEntry::Event(event) => Some(*event),
        TraceEntry::Fault(_) => None,
    };
    trace.iter().filter_map(event).collect()
}

/// Node, start, end and identifier of the transmitted frames.
fn delivered(trace: &[TraceEntry]) -> Vec<(u8, u64, u64, u32)> {
    let of = |event: Event| match event {
        Event::Delivered { sender, start, end, frame, .. } => Some((sender.0, start.0, end.0, frame.id.bits())),
        _ => None,
    };
    events(trace).into_iter().filter_map(of).collect()
}

/// Node and identifier of the transmitted frames.
fn senders(trace: &[TraceEntry]) -> Vec<(u8, u32)> {
    delivered(trace).into_iter().map(|(node, _, _, id)| (node, id)).collect()
}

#[test]
fn each_channel_has_its_own_node() {
    let mut harness = one_bus(None);
    let of = |device, channel| Some((DeviceId(device), Channel(channel)));
    let nodes = |harness: &Harness| (0..5).map(|node| harness.segments[BUS].channel(NodeId(node))).collect::<Vec<_>>();
    assert_eq!(nodes(&harness), [of(0, 0), of(1, 0), of(2, 0), of(2, 1), None]);
    assert_eq!(harness.add_bus(settings(None), 65), None);
    assert_eq!(harness.add_bus(settings(None), 64), Some(1));
    let refused: [&[BusNode]; 5] = [
        &[node_of(1, 0), node_of(BUS, 3)],
        &[node_of(1, 0), node_of(1, 0)],
        &[node_of(1, 0), node_of(1, 64)],
        &[node_of(1, 0), node_of(2, 0)],
        &[node_of(1, 0)],
    ];
    for nodes in refused {
        assert_eq!(harness.plug(gs_usb(2), nodes), None, "{nodes:?}");
    }
    assert_eq!(harness.plug(gs_usb(2), &[node_of(1, 63), node_of(1, 0)]), Some(DeviceId(3)));
    assert_eq!(harness.segments[1].channel(NodeId(0)), of(3, 1));
}

#[test]
fn lowest_identifier_wins_and_all_other_nodes_receive() {
    let mut harness = one_bus(None);
    for (device, channel) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
        start(&mut harness, device, channel);
    }
    send(&mut harness, 0, 0, 1, 0x300, 1_000_000);
    send(&mut harness, 2, 1, 7, 0x100, 1_000_000);
    let trace = trace(&mut harness, 2_000_000);
    assert_eq!(senders(&trace), [(3, 0x100), (0, 0x300)]);
    let frames = delivered(&trace);
    assert_eq!(frames[0].1, 1_000_000);
    assert_eq!(frames[1].1, frames[0].2 + 3 * NOMINAL_BIT_NS, "the second follows after the intermission");
    let first = events(&trace).into_iter().find(|event| matches!(event, Event::Delivered { .. }));
    let Some(Event::Delivered { receivers, .. }) = first else { panic!("{first:?}") };
    assert_eq!(receivers.iter().collect::<Vec<_>>(), [NodeId(0), NodeId(1), NodeId(2)]);
}

#[test]
fn bytes_read_late_take_effect_before_the_next_event() {
    let mut harness = two_nodes(None);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    let mut seen = trace(&mut harness, 1_000_000);
    let end = harness.next_event(BUS).unwrap();
    // The caller wakes up 250 us late and finds a frame that was written before.
    send(&mut harness, 1, 0, 1, 0x200, end.0 + 250_000);
    seen.extend(trace(&mut harness, end.0 + 250_000));
    seen.extend(trace(&mut harness, 3_000_000));
    let frames = delivered(&seen);
    assert_eq!(frames[0].2, end.0);
    assert_eq!(frames[1].1, end.0 + 3 * NOMINAL_BIT_NS, "lateness does not open a gap");
}

#[test]
fn cancelled_frame_is_not_transmitted() {
    let mut harness = two_nodes(None);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    send(&mut harness, 0, 0, 2, 0x200, 1_000_000);
    let mut seen = trace(&mut harness, 1_010_000);
    for tag in [1, 2] {
        request(&mut harness, 0, Request::Cancel { channel: Channel(0), tag: Tag(tag) }, 1_020_000);
    }
    seen.extend(trace(&mut harness, 3_000_000));
    assert_eq!(senders(&seen), [(0, 0x100)], "the one on the wire is completed");
}

#[test]
fn forced_rates_override_those_of_drivers() {
    let forced = Timing { nominal: rate(125_000), data: None };
    for (rates, bit_ns) in [(None, NOMINAL_BIT_NS), (Some(forced), 8000)] {
        let mut harness = two_nodes(rates);
        send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
        let frames = delivered(&trace(&mut harness, 9_000_000));
        // 16 data bits: 60 bits up to the end of frame, and stuff bits.
        let bits = (frames[0].2 - frames[0].1) / bit_ns;
        assert!((60..=75).contains(&bits), "{bits} bits");
    }
}

#[test]
fn lone_node_is_not_acknowledged() {
    let mut harness = two_nodes(None);
    stop(&mut harness, 1, 0, 500_000);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    let trace = trace(&mut harness, 1_500_000);
    assert!(events(&trace).iter().any(|event| matches!(event, Event::Error { kind: ErrorKind::Ack, .. })));
    assert_eq!(delivered(&trace), []);
}

#[test]
fn frame_for_a_stopped_node_is_dropped() {
    let mut harness = one_bus(None);
    start(&mut harness, 1, 0);
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    assert_eq!(trace(&mut harness, 3_000_000), []);
    assert_eq!(harness.next_event(BUS), None);
}

#[test]
fn scripts_queue_frames_at_their_times_beside_adapters() {
    let mut harness = two_nodes(None);
    let timing = Timing { nominal: rate(500_000), data: None };
    let frame = |id| Frame::classic(RawId(id), &[1, 2]).unwrap();
    let script = |order, frames: &[(u64, u32)]| Script {
        timing,
        order,
        frames: frames.iter().map(|&(at, id)| (BusNs(at), frame(id))).collect(),
    };
    let scripts = || {
        vec![
            script(Order::Fifo, &[(1_000_000, 0x300), (1_000_000, 0x50)]),
            script(Order::LowestId, &[(1_000_001, 0x250), (1_000_001, 0x150)]),
        ]
    };
    assert_eq!(harness.play(BUS, scripts(), BusNs(0)), Some(vec![NodeId(4), NodeId(5)]));
    assert_eq!(harness.next_event(BUS), Some(BusNs(1_000_000)));
    send(&mut harness, 0, 0, 1, 0x200, 1_000_000);
    // 0x300 and 0x200 begin together; 0x50 waits behind 0x300.
    let seen = trace(&mut harness, 5_000_000);
    assert_eq!(senders(&seen), [(0, 0x200), (5, 0x150), (5, 0x250), (4, 0x300), (4, 0x50)]);
    let tags = events(&seen).into_iter().filter_map(|event| match event {
        Event::Delivered { tag, .. } => Some(tag.0),
        _ => None,
    });
    assert_eq!(tags.collect::<Vec<_>>(), [1, 1, 0, 0, 1]);
    // Others replace them; frames that wait are dropped.
    assert_eq!(harness.play(BUS, scripts(), BusNs(5_000_000)), Some(vec![NodeId(4), NodeId(5)]));
    let later = vec![script(Order::Fifo, &[(6_000_000, 0x10)])];
    assert_eq!(harness.play(BUS, later, BusNs(5_000_000)), Some(vec![NodeId(4), NodeId(5)]));
    assert_eq!(senders(&trace(&mut harness, 9_000_000)), [(4, 0x10)]);
    let many = vec![script(Order::Fifo, &[]); 64];
    assert_eq!(harness.play(BUS, many, BusNs(9_000_000)), None);
}

/// A gs_usb with a channel on each of two buses, started by its driver, and a ucan on each bus.
fn two_buses() -> Harness {
    let mut harness = Harness::default();
    for bus in 0..2 {
        assert_eq!(harness.add_bus(settings(None), 2), Some(bus));
    }
    harness.plug(gs_usb(2), &[node_of(0, 0), node_of(1, 1)]).unwrap();
    for (bus, node) in [(0, 1), (1, 0)] {
        harness.plug(ucan(&bus.to_string()), &[node_of(bus, node)]).unwrap();
        start(&mut harness, bus + 1, 0);
    }
    (0..2).for_each(|channel| start_by_driver(&mut harness, channel, 0));
    harness
}

/// The driver of the first device sets a channel to 500 kbit/s and starts it.
fn start_by_driver(harness: &mut Harness, channel: u8, now: u64) {
    for (request, words) in [(1, &[69_u32, 70, 20, 10, 1][..]), (2, &[1, 0])] {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let setup = [0x41, request, channel, 0, 0, 0, u8::try_from(data.len()).unwrap(), 0];
        let transfer = Transfer::Out { data: &data };
        let mut bytes = Vec::new();
        Command::Submit(Submit { seqnum: Seqnum(1), endpoint: 0, setup, transfer }).encode(&mut bytes);
        harness.receive(DeviceId(0), &bytes, BusNs(now)).unwrap();
    }
}

#[test]
fn channels_of_one_adapter_send_on_their_own_bus() {
    let mut harness = two_buses();
    send(&mut harness, 0, 0, 1, 0x100, 1_000_000);
    send(&mut harness, 0, 1, 1, 0x200, 1_000_000);
    send(&mut harness, 2, 0, 1, 0x300, 1_000_000);
    assert_eq!(senders(&trace_of(&mut harness, 0, 3_000_000)), [(0, 0x100)]);
    assert_eq!(senders(&trace_of(&mut harness, 1, 3_000_000)), [(1, 0x200), (0, 0x300)]);
}

#[test]
fn adapter_leaves_all_of_its_buses_and_returns_to_all() {
    let mut harness = two_buses();
    let device = DeviceId(0);
    let fault = |fault| FaultOrder { id: FaultId(1), at: None, lasts_ns: None, fault };
    assert_eq!(harness.order(1, fault(Fault::Freeze { node: NodeId(1) }), BusNs(500_000)), None);
    assert_eq!(harness.order(0, fault(Fault::Unplug { device }), BusNs(1_000_000)), None);
    // The kernel waits for replies, and so does its caller.
    harness.devices.output(device).unwrap().clear();
    start_by_driver(&mut harness, 0, 1_050_000);
    assert_eq!(harness.devices.output(device).unwrap().len(), 2 * 48, "two replies");
    for sender in [1, 2] {
        send(&mut harness, sender, 0, 1, 0x100, 1_100_000);
    }
    for bus in 0..2 {
        assert_eq!(senders(&trace_of(&mut harness, bus, 2_000_000)), [], "no acknowledgement on bus {bus}");
    }
    harness.order(1, fault(Fault::Replug { device }), BusNs(2_000_000));
    harness.order(0, fault(Fault::Replug { device }), BusNs(2_000_000));
    let refused = trace_of(&mut harness, 0, 2_000_000).into_iter().find_map(|entry| match entry {
        TraceEntry::Fault(effect) => effect.refused,
        TraceEntry::Event(_) => None,
    });
    assert_eq!(refused, Some(Refusal::NotUnplugged));
    for channel in 0..2 {
        start_by_driver(&mut harness, channel, 2_100_000);
        send(&mut harness, 0, channel, 9, 0x400, 2_100_000);
    }
    for bus in 0..2 {
        let sent = senders(&trace_of(&mut harness, bus, 9_000_000));
        assert!(sent.contains(&(u8::try_from(bus).unwrap(), 0x400)), "{sent:?} on bus {bus}");
    }
}
