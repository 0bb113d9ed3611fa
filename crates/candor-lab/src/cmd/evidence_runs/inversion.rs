//! Frames of a path while the queue to the trusted bus is full of frames of low priority.

use std::num::NonZeroU8;
use std::thread;
use std::time::Duration;

use candor_bus::{BusNs, Event, Order};
use candor_config::plan::BusIndex;
use candor_core::bits::FrameBits;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, Frame, FrameFormat, RawId};
use candor_core::realtime::RtPriority;
use candor_core::units::BitRate;
use candor_io::clock::{self, MonotonicNs};
use candor_io::schedule::{self, Policy};
use candor_lab::border::Inversion;
use candor_lab::tester as interfaces;
use candor_netlink::client::Client;
use candor_netlink::link;
use candor_wire::Settings;
use candor_wire::fault::TraceEntry;
use candor_wire::host::Traced;

use super::super::method::{self, Failed};
use super::super::wire::adapters::{Adapters, Kind};
use super::super::wire::virtual_buses::VirtualBuses;
use super::way::{Way, id_text};
use super::{Failure, gateway, traffic};
use crate::cli::BusSpec;

/// Without a bit rate in the file.
const RATE: BitRate = BitRate::from_bits_per_second(500_000).expect("is not 0");
const DATA_RATE: Option<BitRate> = BitRate::from_bits_per_second(2_000_000);
/// The interface of the node that receives.
const FAR: &str = "trusted-node";
/// Frames that a controller holds, where the driver does not say it.
const DEPTH: NonZeroU8 = NonZeroU8::new(2).expect("is not 0");
const QUEUE_FRAMES: u32 = 100;
/// Frames of low priority at once: fewer than the queue holds, so that none is refused.
const BURST: i64 = 60;
/// Bursts, and one urgent frame during each.
const ROUNDS: u32 = 20;
/// Below the bus thread, above gateways.
const SENDER: Policy = Policy::Fifo(RtPriority::new(80).expect("80 is between 1 and 99"));
const LEAD_NS: i64 = 20_000_000;

/// A frame that was on the bus.
struct OnBus {
    start_ns: i64,
    end_ns: i64,
    frame: Frame,
}

pub(super) fn measure(way: &Way<'_>, permitted_ns: i64) -> Result<Inversion, Failure> {
    let trusted = way.plan.bus(way.route.to);
    let is_fd = way.leaves.format == FrameFormat::Fd;
    let spec = BusSpec {
        name: "trusted".to_owned(),
        rate: trusted.bitrate.unwrap_or(RATE),
        data_rate: if is_fd { trusted.data_bitrate.or(DATA_RATE) } else { trusted.data_bitrate },
        interfaces: vec![trusted.interface.clone(), FAR.to_owned()],
    };
    let kind = Kind::choose(None, spec.data_rate.is_none().then_some(DEPTH), &spec)?;
    let (buses, kinds) = ([spec], [kind]);
    let adapters = Adapters::of(&buses, &kinds, &[])?;
    let settings = |_: &BusSpec| Settings { seed: 1, order: Order::Fifo, rates: None };
    let other = |bus: BusIndex| (bus != way.route.to).then(|| &way.plan.bus(bus).interface);
    let _interfaces = method::create((0..way.plan.buses().len()).map(BusIndex).filter_map(other))?;
    let virtual_buses = VirtualBuses::build(&buses, &kinds, &adapters, settings, true)?;
    let MonotonicNs(started) = virtual_buses.running.started_at();
    let low = low_frame(&way.leaves);
    let low_ns = i64::try_from(FrameBits::of(&low).wire_time_ns(buses[0].rate, buses[0].data_rate))?;
    let sent = perform(way, &buses[0], &low, low_ns, permitted_ns);
    let mut trace = virtual_buses.running.trace();
    trace.extend(virtual_buses.dismantle()?.1);
    let sent = sent?;
    let on_bus = |traced: &Traced| match traced.what {
        TraceEntry::Event(Event::Delivered { start: BusNs(start), end: BusNs(end), frame, .. }) => {
            let at = |ns: u64| started.saturating_add_unsigned(ns);
            Some(OnBus { start_ns: at(start), end_ns: at(end), frame })
        }
        _ => None,
    };
    let on_bus: Vec<OnBus> = trace.iter().filter_map(on_bus).collect();
    let lows: Vec<&OnBus> = on_bus.iter().filter(|one| one.frame.id == low.id).collect();
    let urgent: Vec<&OnBus> = on_bus.iter().filter(|one| one.frame.id == way.leaves.id).collect();
    // In the order of sending: the driver and the controller keep it.
    let low_waits = lows.iter().zip(&sent.low_ns).map(|(one, sent)| one.end_ns - sent);
    let mut urgent_max_ns = 0;
    let mut most_before = 0;
    let mut arrived = 0;
    for (number, sent) in (0..).zip(&sent.urgent_ns) {
        let Some(one) = find(way, &urgent, number, *sent) else { continue };
        arrived += 1;
        urgent_max_ns = urgent_max_ns.max(one.end_ns - sent);
        let before = lows.iter().filter(|low| low.start_ns > *sent && low.start_ns < one.start_ns).count();
        most_before = most_before.max(before as u64);
    }
    Ok(Inversion {
        bit_rate_bits_per_s: buses[0].rate.bits_per_second().into(),
        controller_frames: kind.depth.get().into(),
        queue_frames: QUEUE_FRAMES,
        low_frame_ns: low_ns.unsigned_abs(),
        low_identifier_hex: id_text(low.id),
        low_sent_frames: sent.low_ns.len() as u64,
        low_arrived_frames: lows.len() as u64,
        low_max_ns: u64::try_from(low_waits.max().unwrap_or(0)).unwrap_or(0),
        urgent_identifier_hex: id_text(way.leaves.id),
        urgent_sent_frames: sent.urgent_ns.len() as u64,
        urgent_arrived_frames: arrived,
        urgent_max_ns: u64::try_from(urgent_max_ns).unwrap_or(0),
        max_low_frames_before_urgent: most_before,
    })
}

/// The urgent frame of this number; without numbers, the first after it was sent.
fn find<'b>(way: &Way<'_>, urgent: &[&'b OnBus], number: u32, sent: i64) -> Option<&'b OnBus> {
    let is_it = |one: &&&OnBus| match &way.numbering {
        Some(numbering) => numbering.read(&one.frame) == Some(number),
        None => one.start_ns > sent,
    };
    urgent.iter().find(is_it).copied()
}

/// Loses arbitration against every other frame.
fn low_frame(urgent: &Frame) -> Frame {
    let lowest = RawId(CAN_SFF_MASK);
    let id = if urgent.id.is_eff() || urgent.id == lowest { RawId(CAN_EFF_MASK | CAN_EFF_FLAG) } else { lowest };
    let mut frame = Frame { id, len: 8, ..Frame::EMPTY };
    frame.data[..8].copy_from_slice(&[0xA5, 0x5A, 0xC3, 0x3C, 0x96, 0x69, 0xF0, 0x0F]);
    frame
}

/// When frames were sent, of `CLOCK_MONOTONIC`.
#[derive(Default)]
struct Sent {
    low_ns: Vec<i64>,
    urgent_ns: Vec<i64>,
}

fn perform(way: &Way<'_>, bus: &BusSpec, low: &Frame, low_ns: i64, permitted_ns: i64) -> Result<Sent, Failure> {
    let mut client = Client::open()?;
    for name in &bus.interfaces {
        let link = interfaces::find(&mut client, name)?;
        link::set_tx_queue_len(&mut client, link.index, QUEUE_FRAMES)?;
    }
    let untrusted = &way.plan.bus(way.route.from).interface;
    let work = || {
        let (low_socket, urgent_socket) = (traffic::open(&bus.interfaces[0])?, traffic::open(untrusted)?);
        // The queue is empty before the next burst.
        let round_ns = (2 * BURST * low_ns).max(permitted_ns);
        let urgent = way.numbered(&way.frames[..1], round_ns, ROUNDS);
        let begin = clock::monotonic()?.0 + LEAD_NS;
        let mut sent = Sent::default();
        for (number, due) in (0..).zip(urgent) {
            let start = begin + due.at_ns;
            clock::sleep_until(MonotonicNs(start))?;
            for _ in 0..BURST {
                let at = clock::monotonic()?.0;
                if traffic::send(&low_socket, low)? {
                    sent.low_ns.push(at);
                }
            }
            // At different times while the burst leaves, from a sixth to a half of it.
            let after = BURST * low_ns / 6 + BURST * low_ns / 3 * number / i64::from(ROUNDS);
            clock::sleep_until(MonotonicNs(start + after))?;
            sent.urgent_ns.push(clock::monotonic()?.0);
            traffic::send(&urgent_socket, &due.frame)?;
        }
        thread::sleep(Duration::from_nanos(round_ns.unsigned_abs()));
        Ok::<_, Failed>(sent)
    };
    let as_sender = || {
        schedule::set_policy(SENDER)?;
        gateway::during(way.file, &way.route.name, work)
    };
    let sent =
        thread::scope(|scope| scope.spawn(as_sender).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    let (sent, _) = sent.map_err(|error: Failed| -> Failure { error })?;
    Ok(sent)
}
