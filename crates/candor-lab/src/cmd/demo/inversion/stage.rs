//! One run: buses, queues, a gateway, and the programs that send.

use std::error::Error;
use std::io::{self, Write as _};
use std::num::NonZeroU8;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use candor_bus::{BusNs, Event, Order};
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
use candor_wire::fault::Happening;
use candor_wire::host::{Report, Told};

use super::act::{Act, Burst, File, Run, Source};
use super::latency::{self, Latencies, Sent};
use crate::cmd::wire::adapters::{Fleet, Kind};
use crate::cmd::wire::spec::BusSpec;
use crate::cmd::wire::virtual_buses::VirtualBuses;
use candor_cli::gateway_file::plural;

/// How the urgent frames are sent, and to what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    pub(super) every: Duration,
    pub(super) frames: u16,
    /// Frames that a controller holds.
    pub(super) depth: NonZeroU8,
}

/// Frames that an interface lets wait, so that no burst is refused: the default of drivers is 10, less than any burst.
pub(super) const QUEUE_FRAMES: u32 = 200;
/// Of the program whose frames are urgent: it is never late itself, and the buses come first all the same.
const URGENT: Policy = Policy::Fifo(RtPriority::new(80).expect("80 is between 1 and 99"));
/// Beyond this the buses were none.
const LATE: Duration = Duration::from_millis(1);
/// Programs begin so much later than they are started.
const LEAD: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_millis(10);
/// The longest queue of an act is empty after a part of this.
const PATIENCE: Duration = Duration::from_secs(2);

type Failure = Box<dyn Error>;
/// Of a thread.
type Failed = Box<dyn Error + Send + Sync>;

/// Plays a run. Whatever happens, nothing is left of it.
pub(super) fn play(act: &Act, run: &Run, pattern: &Pattern, signals: &EndingSignals) -> Result<Latencies, Failure> {
    let buses = act.buses.iter().map(|bus| Ok(bus.parse()?)).collect::<Result<Vec<BusSpec>, Failure>>()?;
    let kinds = buses.iter().map(|bus| Kind::choose(None, Some(pattern.depth), bus)).collect::<Result<Vec<_>, _>>()?;
    let fleet = Fleet::of(&buses, &kinds, &[])?;
    let settings = |_: &BusSpec| Settings { seed: 1, order: Order::Fifo, rates: None };
    let virtual_buses = VirtualBuses::build(&buses, &kinds, &fleet, settings, true)?;
    let mut story = Vec::new();
    let played = perform(act, run, pattern, signals, &virtual_buses, &mut story);
    let started_at = virtual_buses.started_at();
    // What happens from here on is that nodes leave while others still send.
    let (report, _rest, _) = virtual_buses.dismantle()?;
    let sent = played?;
    believe(&buses, &report, &story)?;
    Ok(latency::of(&sent, &ends(act, &story), started_at))
}

/// With the buses there.
fn perform(
    act: &Act,
    run: &Run,
    pattern: &Pattern,
    signals: &EndingSignals,
    virtual_buses: &VirtualBuses,
    story: &mut Vec<Told>,
) -> Result<Vec<Sent>, Failure> {
    lengthen_queues(act)?;
    let Some(text) = run.gateway else {
        apply(run.files)?;
        return send(act, pattern, signals, virtual_buses, story);
    };
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile()?;
    file.write_all(text.as_bytes())?;
    let gateway = Device::start(&std::env::current_exe()?, &Gateway::of_file(file.path()))?;
    let sent = send(act, pattern, signals, virtual_buses, story)?;
    gateway.stop()?;
    Ok(sent)
}

fn lengthen_queues(act: &Act) -> Result<(), Failure> {
    let mut client = Client::open()?;
    for bus in act.buses {
        for name in &bus.parse::<BusSpec>()?.interfaces {
            let link = interfaces::find(&mut client, name)?;
            link::set_tx_queue_len(&mut client, link.index, QUEUE_FRAMES)?;
        }
    }
    Ok(())
}

/// Gives the interfaces what `[egress]` of these files says, as `candor egress apply` does.
fn apply(files: &[File]) -> Result<(), Failure> {
    let mut targets = Vec::new();
    for file in files {
        let plan = file.plan()?;
        for (bus, tree) in compile::trees(plan.egress()) {
            let (name, bus) = (plan.bus(bus).interface.clone(), plan.bus(bus).name.clone());
            targets.push(Target { kernel: kernel::open(&name, Some(&bus))?, name, wanted: tree });
        }
    }
    kernel::apply(&mut targets)?;
    Ok(())
}

/// Lets the programs send until the last urgent frame was sent, and waits until the buses have carried it.
fn send(
    act: &Act,
    pattern: &Pattern,
    signals: &EndingSignals,
    virtual_buses: &VirtualBuses,
    story: &mut Vec<Told>,
) -> Result<Vec<Sent>, Failure> {
    let begin = MonotonicNs(clock::monotonic()?.0 + nanoseconds(LEAD)?);
    let urgent = (0..pattern.frames).map(|number| act.urgent_frame(number)).collect::<Result<Vec<_>, _>>()?;
    let urgent_socket = open(&act.urgent)?;
    let bursts = act.bursts.iter().map(|burst| Ok((burst, open(&burst.source)?, burst.frames()?)));
    let bursts = bursts.collect::<Result<Vec<_>, Failure>>()?;
    let ended = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let programs: Vec<_> = bursts
            .iter()
            .map(|(burst, socket, frames)| scope.spawn(|| send_bursts(burst, socket, frames, begin, &ended)))
            .collect();
        let urgent = scope.spawn(|| send_urgent(&urgent_socket, &urgent, pattern.every, begin, &ended));
        let watched = watch(&urgent, signals, virtual_buses, story);
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
    await_the_last(act, &sent, signals, virtual_buses, story)?;
    Ok(sent)
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T, Failed>>) -> Result<T, Failure> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|error| -> Failure { error })
}

/// Collects what happens on the buses, until the urgent frames are sent.
fn watch<T>(
    urgent: &ScopedJoinHandle<'_, T>,
    signals: &EndingSignals,
    virtual_buses: &VirtualBuses,
    story: &mut Vec<Told>,
) -> Result<(), Failure> {
    while !urgent.is_finished() {
        look(signals, virtual_buses, story)?;
    }
    Ok(())
}

fn look(signals: &EndingSignals, virtual_buses: &VirtualBuses, story: &mut Vec<Told>) -> Result<(), Failure> {
    if signals.wait(LOOK)?.is_some() {
        return Err("Ended by a signal".into());
    }
    if virtual_buses.has_ended() {
        return Err("The thread that plays the buses has ended".into());
    }
    story.extend(virtual_buses.story());
    Ok(())
}

fn await_the_last(
    act: &Act,
    sent: &[Sent],
    signals: &EndingSignals,
    virtual_buses: &VirtualBuses,
    story: &mut Vec<Told>,
) -> Result<(), Failure> {
    let taken = sent.iter().filter(|sent| !sent.is_refused).count();
    let deadline = clock::monotonic()?.0 + nanoseconds(PATIENCE)?;
    while ends(act, story).len() < taken && clock::monotonic()?.0 < deadline {
        look(signals, virtual_buses, story)?;
    }
    Ok(())
}

/// Where urgent frames have to wait: the number of each that went over the wire, and when its last bit was over.
fn ends(act: &Act, story: &[Told]) -> Vec<(u16, BusNs)> {
    let end = |told: &Told| match told.what {
        Happening::Event(Event::Delivered { end, frame, .. }) if told.bus == act.waits_on => {
            Some((act.number(&frame)?, end))
        }
        _ => None,
    };
    story.iter().filter_map(end).collect()
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
    let every = i64::try_from(burst.every.as_nanos())?;
    let mut moment = begin;
    while !ended.load(Ordering::Relaxed) {
        clock::sleep_until(MonotonicNs(moment))?;
        moment += every;
        for frame in frames {
            // A frame for which there is no room is the loss of who sends too much.
            send_now(socket, frame)?;
        }
    }
    Ok(())
}

/// Whether the interface has taken it.
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
fn open(source: &Source) -> Result<CanSocket, Failure> {
    let link = interfaces::find(&mut Client::open()?, source.interface)?;
    let options = Options { filters: &[], loopback: Loopback::Off, ..Options::default() };
    Ok(CanSocket::open(link.index, &options)?)
}

/// Times of buses that were late are worth nothing, nor are those of frames that were sent twice.
fn believe(buses: &[BusSpec], report: &Report, story: &[Told]) -> Result<(), Failure> {
    for (number, (bus, of)) in buses.iter().zip(&report.buses).enumerate() {
        let is_error = |told: &&Told| told.bus == number && matches!(told.what, Happening::Event(Event::Error { .. }));
        let errors = story.iter().filter(is_error).count();
        if of.worst_late > LATE || of.dropped > 0 || of.lost_devices > 0 || errors > 0 {
            return Err(format!(
                "The bus {} was {:?} late at worst, with {} and {} that the kernel did not fetch: its times are worth \
                 nothing (candor-lab wire needs a processor for itself)",
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
