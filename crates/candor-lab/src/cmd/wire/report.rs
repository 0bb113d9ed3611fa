//! What people and programs read of the buses.

use std::io;

use candor_bus::BusNs;
use candor_io::clock::MonotonicNs;
use candor_wire::host::{BusReport, Report};
use serde_json::{Value, json};

use super::adapter::rates;
use super::adapters::{Fleet, Kind};
use super::control::Control;
use super::spec::BusSpec;
use super::virtual_buses::VirtualBuses;
use super::warn;
use crate::cli::WireArgs;
use candor_cli::gateway_file::plural;
use candor_cli::render;

/// What was made.
pub(super) fn ready(
    args: &WireArgs,
    kinds: &[Kind],
    fleet: &Fleet,
    virtual_buses: &VirtualBuses,
    control: Option<&Control>,
) -> io::Result<()> {
    if let Some(error) = virtual_buses.no_priority() {
        let text = format!("candor has no real-time priority ({error}): other programs will make it late");
        warn(args.json, &text)?;
    }
    let buses = || args.bus.iter().zip(kinds);
    if args.json {
        let buses: Vec<Value> = buses().map(|(bus, kind)| in_json(bus, *kind)).collect();
        let MonotonicNs(started_ns) = virtual_buses.started_at();
        let ready = json!({
            "event": "ready",
            "at_ns": virtual_buses.ready_at().0,
            "buses": buses,
            "adapters": fleet.adapters().iter().map(|adapter| &adapter.interfaces).collect::<Vec<_>>(),
            "control": control.map(Control::path),
            "started_monotonic_ns": started_ns,
        });
        return render::out(&format!("{ready}\n"));
    }
    let width = |of: fn(&BusSpec) -> usize| args.bus.iter().map(of).max().unwrap_or_default();
    let (names, speeds) = (width(|bus| bus.name.len()), width(|bus| speed(bus).len()));
    let line = |(bus, kind): (&BusSpec, &Kind)| {
        let (model, depth) = (kind.model.name(), kind.depth);
        let interfaces = bus.interfaces.join(" ");
        format!("{:names$}  {:speeds$}  {model} of depth {depth:<3}  {interfaces}\n", bus.name, speed(bus))
    };
    let lines: String = buses().map(line).collect();
    let shared = fleet.adapters().iter().filter(|adapter| adapter.is_on_several_buses());
    let shared: String =
        shared.map(|adapter| format!("{} have one adapter\n", adapter.interfaces.join(" and "))).collect();
    render::out(&format!("{lines}{shared}Ready; end it with Ctrl-C\n"))
}

fn speed(bus: &BusSpec) -> String {
    rates(bus.rate, bus.data_rate)
}

fn in_json(bus: &BusSpec, kind: Kind) -> Value {
    json!({
        "bus": bus.name,
        "bits_per_second": bus.rate.bits_per_second(),
        "data_bits_per_second": bus.data_rate.map(|rate| rate.bits_per_second()),
        "model": kind.model.name(),
        "depth_frames": kind.depth,
        "interfaces": bus.interfaces,
    })
}

/// What became of it. Says whether the run is valid.
pub(crate) fn end(args: &WireArgs, report: &Report, ready_at: BusNs) -> io::Result<bool> {
    let elapsed_ns = report.elapsed.since(ready_at);
    let why_not: Vec<String> =
        args.bus.iter().zip(&report.buses).filter_map(|(bus, report)| wrong(args, bus, report)).collect();
    let is_valid = why_not.is_empty();
    if args.json {
        let buses: Vec<Value> = args
            .bus
            .iter()
            .zip(&report.buses)
            .map(|(bus, report)| {
                json!({
                    "bus": bus.name,
                    "frames": report.frames,
                    "error_frames": report.errors,
                    "busy_ns": report.busy_ns,
                    "load": load(report, elapsed_ns),
                    "worst_late_ns": u64::try_from(report.worst_late.as_nanos()).unwrap_or(u64::MAX),
                    "worst_late_at_ns": report.worst_late_at.0,
                    "dropped": report.dropped,
                    "waiting_most": report.waiting_most,
                    "lost_adapters": report.lost_devices,
                })
            })
            .collect();
        let line = json!({
            "event": "end",
            "elapsed_ns": elapsed_ns,
            "buses": buses,
            "is_valid": is_valid,
            "because": why_not,
        });
        render::out(&format!("{line}\n"))?;
    } else {
        render::out(&text(args, report, elapsed_ns, &why_not))?;
    }
    Ok(is_valid)
}

fn text(args: &WireArgs, report: &Report, elapsed_ns: u64, why_not: &[String]) -> String {
    let mut text = String::new();
    let width = args.bus.iter().map(|bus| bus.name.len()).max().unwrap_or_default();
    for (bus, report) in args.bus.iter().zip(&report.buses) {
        text.push_str(&format!(
            "{:width$}  {}, {}, load {:.1} %, at most {:?} late\n",
            bus.name,
            counted(report.frames, "frame"),
            counted(report.errors, "error frame"),
            load(report, elapsed_ns) * 100.0,
            report.worst_late,
        ));
    }
    if why_not.is_empty() {
        text.push_str(&format!("The run is valid: nothing was more than {:?} late\n", args.late()));
    }
    for reason in why_not {
        text.push_str(&format!("The run is INVALID: {reason}\n"));
    }
    text
}

/// Why a bus was none, if it was.
fn wrong(args: &WireArgs, bus: &BusSpec, report: &BusReport) -> Option<String> {
    let name = &bus.name;
    if report.lost_devices > 0 {
        let adapters = counted(report.lost_devices.into(), "adapter");
        return Some(format!("{name}: the kernel let go of {adapters}"));
    }
    if report.dropped > 0 {
        return Some(format!("{name}: the kernel did not fetch {} in time", counted(report.dropped, "message")));
    }
    (report.worst_late > args.late()).then(|| {
        format!(
            "{name}: {:?} late at {} s, and {:?} are allowed (--late); candor needs a processor for itself",
            report.worst_late,
            report.worst_late_at,
            args.late()
        )
    })
}

fn counted(count: u64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// Which part of the time the wire was taken.
#[expect(clippy::cast_precision_loss, reason = "a share for people; 2^53 ns are 104 days")]
fn load(report: &BusReport, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 { 0.0 } else { report.busy_ns as f64 / elapsed_ns as f64 }
}
