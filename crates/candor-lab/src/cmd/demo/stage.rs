//! One run: buses, queueing disciplines, a gateway, and the sending programs.

use std::io::{self, Write as _};
use std::num::NonZeroU8;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use candor_bus::{BusNs, Event, Order};
use candor_cli::gateway_file::plural;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::realtime::RtPriority;
use candor_egress::compile;
use candor_egress::kernel::{self, Target};
use candor_io::can::{CanSocket, Loopback, Options};
use candor_io::clock::{self, MonotonicNs};
use candor_io::errno::ENOBUFS;
use candor_io::schedule::{self, Policy};
use candor_io::signal::EndingSignals;
use candor_lab::device::{Device, Gateway};
use candor_lab::tester as interfaces;
use candor_netlink::client::Client;
use candor_netlink::link;
use candor_wire::Settings;
use candor_wire::fault::TraceEntry;
use candor_wire::host::{Report, Traced};

use super::Failure;
use super::act::{Act, Burst, Run, plan_of, text_of};
use super::report::{Latencies, Sent};
use crate::cli::BusSpec;
use crate::cmd::method::Failed;
use crate::cmd::wire::adapters::{Adapters, Kind};
use crate::cmd::wire::virtual_buses::VirtualBuses;

/// Urgent frames, and the frames that a controller holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    pub(super) every: Duration,
    pub(super) frames: u16,
    pub(super) depth: NonZeroU8,
}

/// txqueuelen, so that no burst is refused: the default of drivers is 10, less than any burst.
pub(super) const QUEUE_FRAMES: u32 = 200;
/// Policy of the urgent program: below the bus thread, above everything else.
const URGENT: Policy = Policy::Fifo(RtPriority::new(80).expect("80 is between 1 and 99"));
/// Maximum lateness of the buses.
const LATE: Duration = Duration::from_millis(1);
/// From the start of the programs to their first frame.
const LEAD: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_millis(10);
/// Time for the queues to drain, with a margin.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The simulated buses during a run, and the trace so far.
struct Watch<'a> {
    signals: &'a EndingSignals,
    virtual_buses: &'a VirtualBuses,
    trace: Vec<Traced>,
}

/// Plays a run, and removes everything that it created.
pub(super) fn play(act: &Act, run: &Run, pattern: &Pattern, signals: &EndingSignals) -> Result<Latencies, Failure> {
    let buses = act.buses()?;
    let kinds = buses.iter().map(|bus| Kind::choose(None, Some(pattern.depth), bus)).collect::<Result<Vec<_>, _>>()?;
    let adapters = Adapters::of(&buses, &kinds, &[])?;
    let settings = |_: &BusSpec| Settings { seed: 1, order: Order::Fifo, rates: None };
    let virtual_buses = VirtualBuses::build(&buses, &kinds, &adapters, settings, true)?;
    let mut watch = Watch { signals, virtual_buses: &virtual_buses, trace: Vec::new() };
    let played = perform(act, run, &buses, pattern, &mut watch);
    let trace = watch.trace;
    let started_at = virtual_buses.running.started_at();
    // The rest of the trace only shows nodes that leave.
    let (report, _rest) = virtual_buses.dismantle()?;
    let sent = played?;
    check_validity(&buses, &report, &trace)?;
    Ok(Latencies::of(&sent, &ends(act, &trace), started_at))
}

/// Configures the interfaces, starts the gateway and sends.
fn perform(
    act: &Act,
    run: &Run,
    buses: &[BusSpec],
    pattern: &Pattern,
    watch: &mut Watch<'_>,
) -> Result<Vec<Sent>, Failure> {
    lengthen_queues(buses)?;
    let Some(gateway) = &run.gateway else {
        apply(&run.files)?;
        return send(act, pattern, watch);
    };
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile()?;
    file.write_all(text_of(gateway)?.as_bytes())?;
    let gateway = Device::start(&std::env::current_exe()?, &Gateway::of_file(file.path()))?;
    let sent = send(act, pattern, watch)?;
    gateway.stop()?;
    Ok(sent)
}

fn lengthen_queues(buses: &[BusSpec]) -> Result<(), Failure> {
    let mut client = Client::open()?;
    for name in buses.iter().flat_map(|bus| &bus.interfaces) {
        let link = interfaces::find(&mut client, name)?;
        link::set_tx_queue_len(&mut client, link.index, QUEUE_FRAMES)?;
    }
    Ok(())
}

/// Applies `[egress]` of these files, like `candor egress apply`.
fn apply(files: &[String]) -> Result<(), Failure> {
    let mut targets = Vec::new();
    for file in files {
        let plan = plan_of(file)?;
        for (bus, tree) in compile::trees(plan.egress()) {
            let (name, bus) = (plan.bus(bus).interface.clone(), plan.bus(bus).name.clone());
            targets.push(Target { kernel: kernel::open(&name, Some(&bus))?, name, wanted: tree });
        }
    }
    kernel::apply(&mut targets)?;
    Ok(())
}

/// Runs the programs until the last urgent frame was sent, and waits until it was transmitted.
fn send(act: &Act, pattern: &Pattern, watch: &mut Watch<'_>) -> Result<Vec<Sent>, Failure> {
    let begin = MonotonicNs(clock::monotonic()?.0 + nanoseconds(LEAD)?);
    let urgent = act.urgent_frames(pattern.frames)?;
    let urgent_socket = open(&act.urgent.interface)?;
    let bursts = act.bursts.iter().map(|burst| Ok((burst, open(&burst.interface)?, burst.frames()?)));
    let bursts = bursts.collect::<Result<Vec<_>, Failure>>()?;
    let ended = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let programs: Vec<_> = bursts
            .iter()
            .map(|(burst, socket, frames)| scope.spawn(|| send_bursts(burst, socket, frames, begin, &ended)))
            .collect();
        let urgent = scope.spawn(|| send_urgent(&urgent_socket, &urgent, pattern.every, begin, &ended));
        let watched = watch.until(|_| Ok(urgent.is_finished()));
        if watched.is_err() {
            ended.store(true, Ordering::Relaxed);
        }
        let sent = join(urgent);
        ended.store(true, Ordering::Relaxed);
        for program in programs {
            join(program)?;
        }
        watched.and(sent)
    })?;
    let accepted = sent.iter().filter(|sent| !sent.is_refused).count();
    let deadline = clock::monotonic()?.0 + nanoseconds(DRAIN_TIMEOUT)?;
    watch.until(|trace| Ok(ends(act, trace).len() >= accepted || clock::monotonic()?.0 >= deadline))?;
    Ok(sent)
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T, Failed>>) -> Result<T, Failure> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|error| -> Failure { error })
}

impl Watch<'_> {
    /// Collects the trace until `is_done`.
    fn until(&mut self, is_done: impl Fn(&[Traced]) -> Result<bool, Failure>) -> Result<(), Failure> {
        while !is_done(&self.trace)? {
            if self.signals.wait(LOOK)?.is_some() {
                return Err("Interrupted by a signal".into());
            }
            if self.virtual_buses.running.has_ended() {
                return Err("The bus thread has ended".into());
            }
            self.trace.extend(self.virtual_buses.running.trace());
        }
        Ok(())
    }
}

/// Numbers and end times of urgent frames on the bus where they wait.
fn ends(act: &Act, trace: &[Traced]) -> Vec<(u16, BusNs)> {
    let end = |traced: &Traced| match traced.what {
        TraceEntry::Event(Event::Delivered { end, frame, .. }) if traced.bus == act.waits_on => {
            Some((act.number(&frame)?, end))
        }
        _ => None,
    };
    trace.iter().filter_map(end).collect()
}

fn send_urgent(
    socket: &CanSocket,
    frames: &[Frame],
    every: Duration,
    MonotonicNs(begin): MonotonicNs,
    ended: &AtomicBool,
) -> Result<Vec<Sent>, Failed> {
    schedule::set_policy(URGENT)
        .map_err(|error| format!("The urgent program needs SCHED_FIFO (CAP_SYS_NICE): {error}"))?;
    let every = i64::try_from(every.as_nanos())?;
    let mut sent = Vec::with_capacity(frames.len());
    for (number, frame) in (0..).zip(frames) {
        clock::sleep_until(MonotonicNs(begin + i64::from(number) * every))?;
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let at = clock::monotonic()?;
        sent.push(Sent { number, at, is_refused: !send_now(socket, frame)? });
    }
    Ok(sent)
}

fn send_bursts(
    burst: &Burst,
    socket: &CanSocket,
    frames: &[Frame],
    MonotonicNs(begin): MonotonicNs,
    ended: &AtomicBool,
) -> Result<(), Failed> {
    let every = i64::try_from(burst.every().as_nanos())?;
    let mut moment = begin;
    while !ended.load(Ordering::Relaxed) {
        clock::sleep_until(MonotonicNs(moment))?;
        moment += every;
        for frame in frames {
            // Frames of a burst may be refused.
            send_now(socket, frame)?;
        }
    }
    Ok(())
}

/// Returns false if the queue is full.
fn send_now(socket: &CanSocket, frame: &Frame) -> io::Result<bool> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    match socket.send_now(&bytes[..len]) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(ENOBUFS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A socket that only sends.
fn open(interface: &str) -> Result<CanSocket, Failure> {
    let link = interfaces::find(&mut Client::open()?, interface)?;
    let options = Options { filters: &[], loopback: Loopback::Off, ..Options::default() };
    Ok(CanSocket::open(link.index, &options)?)
}

/// The times are invalid if the buses were late or frames were retransmitted.
fn check_validity(buses: &[BusSpec], report: &Report, trace: &[Traced]) -> Result<(), Failure> {
    for (number, (bus, of)) in buses.iter().zip(&report.buses).enumerate() {
        let is_error =
            |traced: &&Traced| traced.bus == number && matches!(traced.what, TraceEntry::Event(Event::Error { .. }));
        let errors = trace.iter().filter(is_error).count();
        if of.worst_late > LATE || of.dropped > 0 || of.lost_devices > 0 || errors > 0 {
            return Err(format!(
                "The bus {} was up to {:?} late, with {} and {} that the kernel did not fetch: its times are invalid \
                 (candor-lab wire needs a dedicated CPU)",
                bus.name,
                of.worst_late,
                plural(errors, "error frame"),
                plural(usize::try_from(of.dropped).unwrap_or(usize::MAX), "message")
            )
            .into());
        }
    }
    Ok(())
}

fn nanoseconds(time: Duration) -> Result<i64, Failure> {
    Ok(i64::try_from(time.as_nanos())?)
}
