//! Schedules on simulated buses with a real gateway between them.
//!
//! ```text
//!  Schedule ─▶ scripts of nodes without an adapter ─▶ buses ─▶ adapter of the gateway ─▶ candor run ─▶ adapter ─▶ buses
//!                                                       └────────────── trace: ends of frames ──────────────────────┘
//! ```
//!
//! The nodes of the file send at the times of the schedule, to the nanosecond of the bus; the gateway has the kernel's drivers,
//! queues and time.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use candor_bounds::simulation::{Queued, Response, Schedule};
use candor_bounds::{Controller, MessageId, Network, NodeId, Ns, Origin, Queue};
use candor_bus::{BusNs, Event, Order, Timing};
use candor_config::engine::Engine;
use candor_config::plan::{BusIndex, Plan};
use candor_core::bits::LongestFrames;
use candor_core::frame::Frame;
use candor_io::signal::EndingSignals;
use candor_lab::device::{Device, Gateway};
use candor_wire::fault::TraceEntry;
use candor_wire::host::{Reply, Traced};
use candor_wire::{Script, Settings};

use super::Failure;
use crate::cli::BusSpec;
use crate::cmd::wire::adapters::{Adapters, Kind};
use crate::cmd::wire::virtual_buses::VirtualBuses;

/// From the command to play to the first frame.
const LEAD: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_millis(5);
/// From the last queued frame to the end of all frames.
const PATIENCE: Duration = Duration::from_secs(2);
/// Nothing is sent any more.
const QUIET: Duration = Duration::from_millis(50);
const REPLY: Duration = Duration::from_secs(5);

/// A network whose gateway is that of a file. Each bus of the network is the one of the plan with this number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) file: &'a Path,
    /// In place of the one in the file.
    pub(super) engine: Option<Engine>,
    pub(super) plan: &'a Plan,
    pub(super) buses: &'a [BusIndex],
    pub(super) network: &'a Network,
    /// Nodes of the gateway, one on each bus that it sends on.
    pub(super) gateway: &'a [NodeId],
}

/// A node that plays a script, and which frames it queues.
struct Sender {
    bus: usize,
    order: Order,
    frames: Vec<Queued>,
}

/// Plays all schedules, and returns the longest response of each message in each of them.
///
/// # Errors
/// What the laboratory cannot play; frames that the gateway lost; buses that were late.
pub(super) fn play(
    scene: Scene<'_>,
    longest: &LongestFrames,
    schedules: &[Schedule],
    signals: &EndingSignals,
) -> Result<Vec<Vec<Option<Response>>>, Failure> {
    let specs: Vec<BusSpec> = scene.buses.iter().enumerate().map(|(at, bus)| scene.spec(at, *bus)).collect();
    let kinds =
        specs.iter().enumerate().map(|(at, spec)| Kind::choose(None, scene.depth(at)?, spec).map_err(Failure::from));
    let kinds = kinds.collect::<Result<Vec<_>, Failure>>()?;
    let adapters = Adapters::of(&specs, &kinds, &[])?;
    let settings = |_: &BusSpec| Settings { seed: 1, order: Order::Fifo, rates: None };
    let virtual_buses = VirtualBuses::build(&specs, &kinds, &adapters, settings, true)?;
    let played = perform(scene, longest, schedules, (&virtual_buses, signals));
    let (report, _rest) = virtual_buses.dismantle()?;
    let played = played?;
    match report.buses.iter().position(|bus| bus.errors > 0) {
        Some(bus) => Err(format!("bus {}: {} error frames", specs[bus].name, report.buses[bus].errors).into()),
        None => Ok(played),
    }
}

fn perform(
    scene: Scene<'_>,
    longest: &LongestFrames,
    schedules: &[Schedule],
    running: (&VirtualBuses, &EndingSignals),
) -> Result<Vec<Vec<Option<Response>>>, Failure> {
    let gateway = Gateway::of_file(scene.file);
    let gateway = match scene.engine {
        None => gateway,
        Some(engine) => gateway.with_engine(engine.name()),
    };
    let gateway = Device::start(&std::env::current_exe()?, &gateway)?;
    let mut all = Vec::with_capacity(schedules.len());
    for (at, schedule) in (1..).zip(schedules) {
        let played = scene.play_one(longest, schedule, running);
        all.push(played.map_err(|why| format!("schedule {at} of {}: {why}", schedules.len()))?);
    }
    gateway.stop()?;
    Ok(all)
}

impl Scene<'_> {
    fn spec(&self, at: usize, bus: BusIndex) -> BusSpec {
        let (rates, of_plan) = (self.network.buses[at], self.plan.bus(bus));
        BusSpec {
            name: of_plan.name.clone(),
            rate: rates.nominal,
            data_rate: rates.data,
            interfaces: vec![of_plan.interface.clone()],
        }
    }

    /// The frames that the gateway's controller on a bus holds, if they are not those of the usual adapter.
    fn depth(&self, bus: usize) -> Result<Option<std::num::NonZeroU8>, Failure> {
        let node = self.gateway.iter().find(|node| self.network.nodes[node.0].bus.0 == bus);
        match node.map(|node| self.network.nodes[node.0].controller) {
            None => Ok(None),
            Some(Controller::Fifo(frames)) => Ok(Some(u8::try_from(frames.get())?.try_into()?)),
            Some(Controller::Abortable | Controller::Mailboxes(_)) => Err(
                "the adapters of the laboratory send frames in the order in which they came: write the depth of the \
                     gateway's controller in [wire.bus.NAME]"
                    .into(),
            ),
        }
    }

    /// The nodes of a schedule, by bus.
    fn senders(&self, schedule: &Schedule) -> Result<Vec<Sender>, Failure> {
        let mut senders = Vec::new();
        for (at, node) in self.network.nodes.iter().enumerate() {
            if self.gateway.contains(&NodeId(at)) {
                continue;
            }
            let order = match (&node.queue, node.controller) {
                (Queue::Arbitration, Controller::Abortable) => Order::LowestId,
                (Queue::Bands(bands), Controller::Fifo(_))
                    if bands.len() == 1 && bands[0].rate.is_none() && !bands[0].turns =>
                {
                    Order::Fifo
                }
                _ => return Err("in the guest, nodes of the file have a priority queue or one FIFO queue".into()),
            };
            let is_of_node = |queued: &&Queued| self.network.messages[queued.message.0].node == NodeId(at);
            let mut frames: Vec<_> = schedule.frames.iter().filter(is_of_node).copied().collect();
            frames.sort_by_key(|queued| queued.at);
            senders.push(Sender { bus: node.bus.0, order, frames });
        }
        // Frames on a bus without another node are not acknowledged.
        for bus in 0..self.buses.len() {
            if !senders.iter().any(|sender| sender.bus == bus) {
                senders.push(Sender { bus, order: Order::Fifo, frames: Vec::new() });
            }
        }
        Ok(senders)
    }

    fn frame(&self, longest: &LongestFrames, MessageId(message): MessageId) -> Frame {
        let one = &self.network.messages[message];
        longest.frame(one.id, one.format, one.bit_rate_switch, one.len)
    }

    fn play_one(
        &self,
        longest: &LongestFrames,
        schedule: &Schedule,
        (virtual_buses, signals): (&VirtualBuses, &EndingSignals),
    ) -> Result<Vec<Option<Response>>, Failure> {
        let running = &virtual_buses.running;
        let senders = self.senders(schedule)?;
        drop(running.trace());
        let base = running.now()? + u64::try_from(LEAD.as_nanos())?;
        // By bus: the nodes of its scripts, and the sender of each.
        let mut playing: Vec<Vec<(candor_bus::NodeId, usize)>> = Vec::new();
        for bus in 0..self.buses.len() {
            let of_bus: Vec<_> = (0..senders.len()).filter(|at| senders[*at].bus == bus).collect();
            let rates = self.network.buses[bus];
            let script = |at: &usize| Script {
                timing: Timing { nominal: rates.nominal, data: rates.data },
                order: senders[*at].order,
                frames: senders[*at]
                    .frames
                    .iter()
                    .map(|one| (base + one.at.0, self.frame(longest, one.message)))
                    .collect(),
            };
            running.play(bus, of_bus.iter().map(script).collect())?;
            let nodes = running.replies(REPLY)?.into_iter().find_map(|reply| match reply {
                Reply::Playing { nodes, .. } => Some(nodes),
                Reply::Effect { .. } | Reply::Planned { .. } => None,
            });
            let nodes: Vec<_> = nodes.unwrap_or_default().iter().collect();
            if nodes.len() < of_bus.len() {
                return Err(format!("the bus {} has no room for its nodes", self.plan.bus(self.buses[bus]).name).into());
            }
            playing.push(nodes.into_iter().zip(of_bus).collect());
        }
        let last = schedule.frames.iter().map(|one| one.at.0).max().unwrap_or(0);
        let mut trace: Vec<Traced> = Vec::new();
        let mut quiet_since = base + last;
        let end = base + last + u64::try_from(PATIENCE.as_nanos())?;
        loop {
            if signals.wait(LOOK)?.is_some() {
                return Err("interrupted by a signal".into());
            }
            if running.has_ended() {
                return Err("the bus thread has ended".into());
            }
            let new = running.trace();
            let now = running.now()?;
            if !new.is_empty() {
                quiet_since = quiet_since.max(now);
            }
            trace.extend(new);
            if now.since(quiet_since) > u64::try_from(QUIET.as_nanos())? && now > quiet_since || now > end {
                break;
            }
        }
        self.responses(&senders, &playing, &trace, base)
    }

    /// The longest response of each message. Frames of a message stay in order, so those that the gateway sends belong to those
    /// that it received, one after another.
    fn responses(
        &self,
        senders: &[Sender],
        playing: &[Vec<(candor_bus::NodeId, usize)>],
        trace: &[Traced],
        base: BusNs,
    ) -> Result<Vec<Option<Response>>, Failure> {
        let messages = self.network.messages.len();
        let mut longest: Vec<Option<Response>> = vec![None; messages];
        // Releases of frames that the gateway has, by the message that it sends.
        let mut inside: Vec<VecDeque<Ns>> = vec![VecDeque::new(); messages];
        let mut ends: Vec<_> = trace
            .iter()
            .filter_map(|traced| match traced.what {
                TraceEntry::Event(Event::Delivered { end, sender, tag, frame, .. }) => {
                    Some((end, traced.bus, sender, tag, frame))
                }
                _ => None,
            })
            .collect();
        ends.sort_by_key(|(end, ..)| *end);
        for (end, bus, sender, tag, frame) in ends {
            let of_script = playing[bus].iter().find(|(node, _)| *node == sender).map(|(_, at)| &senders[*at].frames);
            let (message, released) = match of_script {
                Some(frames) => {
                    let queued =
                        frames.get(usize::try_from(tag.0)?).ok_or("a node sent a frame of another schedule")?;
                    (queued.message, queued.released)
                }
                None => {
                    let is_sent = |at: &usize| {
                        let one = &self.network.messages[*at];
                        self.gateway.contains(&one.node)
                            && self.network.nodes[one.node.0].bus.0 == bus
                            && (one.id, one.format) == (frame.id, frame.format)
                    };
                    let at = (0..messages).find(is_sent).ok_or_else(|| {
                        format!(
                            "the gateway sent {frame} on {}, which is not in the traffic",
                            self.plan.bus(self.buses[bus]).name
                        )
                    })?;
                    // When it was due is not known of a frame of this machine's own.
                    if matches!(self.network.messages[at].origin, Origin::Queued { .. }) {
                        continue;
                    }
                    let released = inside[at].pop_front().ok_or("the gateway sent more frames than it received")?;
                    (MessageId(at), released)
                }
            };
            let response = Response { time: Ns(end.since(base).saturating_sub(released.0)), released };
            let most = &mut longest[message.0];
            if most.is_none_or(|most| most.time < response.time) {
                *most = Some(response);
            }
            for (at, one) in self.network.messages.iter().enumerate() {
                if matches!(one.origin, Origin::Forwarded { from, .. } if from == message) {
                    inside[at].push_back(released);
                }
            }
        }
        let lost = inside.iter().enumerate().filter(|(_, waiting)| !waiting.is_empty());
        let lost: Vec<_> = lost
            .map(|(at, waiting)| {
                let released: Vec<_> = waiting.iter().map(Ns::to_string).collect();
                format!("{:X}, released at {}", self.network.messages[at].id.bits(), released.join(", "))
            })
            .collect();
        if lost.is_empty() {
            Ok(longest)
        } else {
            Err(format!("the gateway did not send frames with the identifiers {}", lost.join("; ")).into())
        }
    }
}
