//! Output of `candor-lab wire`: the buses at the start, and their counters at the end.

use std::io;

use candor_bus::BusNs;
use candor_cli::gateway_file::plural;
use candor_cli::render;
use candor_io::clock::MonotonicNs;
use candor_wire::host::{BusReport, Report};

use super::adapter::rates;
use super::adapters::{Adapters, Kind};
use super::control::Control;
use super::event::{BusView, CountedView, Event};
use super::session::Session;
use super::warn;
use crate::cli::BusSpec;
use crate::cli::WireArgs;

fn counted_view<'a>(bus: &'a str, report: &BusReport, elapsed_ns: u64) -> CountedView<'a> {
    CountedView {
        bus,
        frames: report.frames,
        error_frames: report.errors,
        busy_ns: report.busy_ns,
        load: load(report, elapsed_ns),
        worst_late_ns: u64::try_from(report.worst_late.as_nanos()).unwrap_or(u64::MAX),
        worst_late_at_ns: report.worst_late_at.0,
        dropped: report.dropped,
        waiting_most: report.waiting_most,
        lost_adapters: report.lost_devices,
    }
}

pub(super) fn ready(args: &WireArgs, kinds: &[Kind], adapters: &Adapters, session: &Session<'_>) -> io::Result<()> {
    let virtual_buses = &session.virtual_buses;
    if let Some(error) = &virtual_buses.running.no_priority {
        warn(args.json, &format!("no real-time priority ({error}): other programs will delay the buses"))?;
    }
    let buses = args.bus.iter().zip(kinds);
    if args.json {
        let buses = buses.map(|(bus, kind)| BusView {
            bus: &bus.name,
            bits_per_second: bus.rate.bits_per_second(),
            data_bits_per_second: bus.data_rate.map(|rate| rate.bits_per_second()),
            model: kind.driver(),
            depth_frames: kind.depth.get(),
            interfaces: &bus.interfaces,
        });
        let MonotonicNs(started_monotonic_ns) = virtual_buses.running.started_at();
        return render::out(&render::line(&Event::Ready {
            at_ns: virtual_buses.ready_at.0,
            buses: buses.collect(),
            adapters: adapters.0.iter().map(|adapter| &adapter.interfaces[..]).collect(),
            control: session.control.as_ref().map(Control::path),
            started_monotonic_ns,
        }));
    }
    let width = |of: fn(&BusSpec) -> usize| args.bus.iter().map(of).max().unwrap_or_default();
    let (names, speeds) = (width(|bus| bus.name.len()), width(|bus| speed(bus).len()));
    let line = |(bus, kind): (&BusSpec, &Kind)| {
        let (model, depth) = (kind.driver(), kind.depth);
        let interfaces = bus.interfaces.join(" ");
        format!("{:names$}  {:speeds$}  {model} of depth {depth:<3}  {interfaces}\n", bus.name, speed(bus))
    };
    let lines: String = buses.map(line).collect();
    let shared = adapters.0.iter().filter(|adapter| adapter.is_on_several_buses());
    let shared: String =
        shared.map(|adapter| format!("{} share an adapter\n", adapter.interfaces.join(" and "))).collect();
    render::out(&format!("{lines}{shared}Ready; stop with Ctrl-C\n"))
}

fn speed(bus: &BusSpec) -> String {
    rates(bus.rate, bus.data_rate)
}

/// Prints the counters. Returns true if the run is valid.
pub(super) fn end(args: &WireArgs, report: &Report, ready_at: BusNs) -> io::Result<bool> {
    let elapsed_ns = report.elapsed.since(ready_at);
    let buses = || args.bus.iter().zip(&report.buses);
    let reasons: Vec<String> = buses().filter_map(|(bus, report)| invalid(args, bus, report)).collect();
    if !args.json {
        render::out(&text(args, report, elapsed_ns, &reasons))?;
        return Ok(reasons.is_empty());
    }
    let buses = buses().map(|(bus, report)| counted_view(&bus.name, report, elapsed_ns)).collect();
    let is_valid = reasons.is_empty();
    render::out(&render::line(&Event::End { elapsed_ns, buses, is_valid, because: &reasons }))?;
    Ok(is_valid)
}

fn text(args: &WireArgs, report: &Report, elapsed_ns: u64, reasons: &[String]) -> String {
    let mut text = String::new();
    let width = args.bus.iter().map(|bus| bus.name.len()).max().unwrap_or_default();
    for (bus, report) in args.bus.iter().zip(&report.buses) {
        text += &format!(
            "{:width$}  {}, {}, load {:.1} %, at most {:?} late\n",
            bus.name,
            counted(report.frames, "frame"),
            counted(report.errors, "error frame"),
            load(report, elapsed_ns) * 100.0,
            report.worst_late,
        );
    }
    if reasons.is_empty() {
        text += &format!("The run is valid: nothing was more than {:?} late\n", args.late());
    }
    for reason in reasons {
        text += &format!("The run is INVALID: {reason}\n");
    }
    text
}

/// The reason why the run of a bus is invalid; `None` if it is valid.
fn invalid(args: &WireArgs, bus: &BusSpec, report: &BusReport) -> Option<String> {
    let name = &bus.name;
    if report.lost_devices > 0 {
        return Some(format!("{name}: the kernel closed {}", counted(report.lost_devices.into(), "adapter")));
    }
    if report.dropped > 0 {
        return Some(format!("{name}: the kernel did not fetch {} in time", counted(report.dropped, "message")));
    }
    let (late, at, allowed) = (report.worst_late, report.worst_late_at, args.late());
    (late > allowed).then(|| {
        format!("{name}: {late:?} late at {at} s, and {allowed:?} are allowed (--late); candor needs a dedicated CPU")
    })
}

fn counted(count: u64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// Share of the time in which the bus was busy.
#[expect(clippy::cast_precision_loss, reason = "a share for people; 2^53 ns are 104 days")]
fn load(report: &BusReport, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { report.busy_ns as f64 / elapsed_ns as f64 }
}
