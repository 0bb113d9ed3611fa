//! A gateway file as a network of messages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::time::Duration;

use candor_bounds::{
    Band, Basis, Bus, BusId, Controller, Judgement, Latency, Message, MessageId, Network, Node, NodeId, Ns, Origin,
    Problem, Queue, Term,
};

pub use candor_bounds::{Assumptions, Lengths};
use candor_core::frame::{Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::rule::convert;
use candor_egress::policy::{Fair, Outgoing, Policy};
use candor_signals::{MessageId as DatabaseId, SendMode};

use crate::plan::{BusIndex, ComposedFrame, OnTimeout, Plan, Queueing, Route, Sending, Timing, Traffic};

/// What the file does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The longest time from the end of a frame on one bus to its copy in the queue of the next.
    pub latency: Option<Duration>,
    /// The latency is this quantile of a measurement, 0 to 1; `None`: it is a budget.
    pub quantile: Option<f64>,
    /// Frames that the controllers of this machine hold, the one on the wire included.
    pub controller: NonZeroU32,
    /// Of frames and faults.
    pub assumptions: Assumptions,
}

impl Default for Question {
    fn default() -> Self {
        Self { latency: None, quantile: None, controller: NonZeroU32::MIN, assumptions: Assumptions::default() }
    }
}

/// What prevents bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoBounds {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// The part of a gateway file that something is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Bus(BusIndex),
    /// Of this bus.
    Egress(BusIndex),
    File,
    Message(BusIndex, RawId),
    Route(String),
}

/// A network, and what its parts are called.
#[derive(Debug)]
pub struct Model<'p> {
    pub plan: &'p Plan,
    pub network: Network,
    /// By bus of the network.
    pub buses: Vec<BusIndex>,
    /// By node: the name of the sender.
    senders: Vec<Option<String>>,
    nodes: BTreeMap<(BusId, String), NodeId>,
    controller: Controller,
}

impl<'p> Model<'p> {
    /// # Errors
    /// If something is not known that bounds need.
    pub fn of(plan: &'p Plan, question: &Question) -> Result<Self, NoBounds> {
        let controller = Controller::Fifo(question.controller);
        let (network, buses, senders, nodes) = Default::default();
        let mut model = Self { plan, network, buses, senders, nodes, controller };
        let all = traffic(plan, question);
        // In the order of the file.
        for bus in (0..plan.buses().len()).map(BusIndex) {
            let brings = |one: &Traffic| copies(plan, one).iter().any(|(to, _)| *to == bus);
            if all.iter().any(|one| one.bus == bus || !one.is_of_this_machine() && brings(one)) {
                model.add_bus(bus)?;
            }
        }
        for traffic in all {
            let bus = model.add_bus(traffic.bus)?;
            let node = match traffic.sender.as_deref() {
                Some(Traffic::THIS_MACHINE) => model.this_machine(bus)?,
                sender => model.sender_node(bus, sender, &traffic.sending),
            };
            let is_own = traffic.is_of_this_machine();
            let socket = 1 + u32::try_from(model.network.messages.len()).unwrap_or(0);
            let (period, jitter) = (Ns::from(traffic.period), Ns::from(traffic.jitter));
            let origin = Origin::Queued { period, jitter };
            let message = Message {
                node,
                id: traffic.id,
                format: traffic.format,
                bit_rate_switch: traffic.bit_rate_switch,
                len: traffic.len,
                origin,
                deadline: traffic.deadline.into(),
                band: if is_own { model.band(bus, traffic.id, traffic.len, None) } else { 0 },
                socket,
            };
            let number = MessageId(model.network.messages.len());
            model.network.messages.push(message);
            // Frames that this machine sends are not received by it.
            if !is_own {
                model.forward(number, &traffic, question)?;
            }
        }
        if model.network.messages.is_empty() {
            let text =
                "the file has no traffic: add [[traffic]] tables, which candor learn traffic writes of a log, or a \
                        database with cycle times"
                    .to_owned();
            return Err(NoBounds { text, place: Place::File });
        }
        Ok(model)
    }

    pub fn sender(&self, message: MessageId) -> &str {
        self.senders[self.network.messages[message.0].node.0].as_deref().unwrap_or("a node of its own")
    }

    /// True unless it is a node for this message alone.
    pub fn has_name(&self, message: MessageId) -> bool {
        self.senders[self.network.messages[message.0].node.0].is_some()
    }

    /// What the network does not know of frames that this machine sends, in words.
    pub fn left_out(&self) -> Vec<String> {
        // A payload in place of one that is missing, and repeated frames of a timeout.
        let on_timeout = |route: &&Route| {
            let timeout = route.timing.as_ref().and_then(|timing| timing.timeout.as_ref());
            timeout.is_some_and(|(_, action)| !matches!(action, OnTimeout::Stop))
        };
        let all = in_all_modes(self.plan);
        let mut events: Vec<_> =
            all.iter().map(|(route, _)| route).filter(on_timeout).map(|route| &route.name).collect();
        events.dedup();
        let events = events.into_iter().map(|name| format!("route {name}: its frames after a timeout"));
        let is_known = |frame: &ComposedFrame| {
            shortest(frame).is_some() || self.plan.traffic().iter().any(|one| (one.bus, one.id) == (frame.to, frame.id))
        };
        let composed = self.plan.frames().iter().filter(|frame| !is_known(frame));
        let composed = composed.map(|frame| {
            format!("composed frame {}: no shortest time between two frames; describe it in [[traffic]]", frame.name)
        });
        let announced = self.plan.modes().iter().filter(|mode| mode.announce.is_some());
        let announced = announced.map(|mode| {
            format!(
                "mode {}: frames that announce it; describe them in [[traffic]] with sender = \"candor\"",
                mode.name
            )
        });
        composed.chain(announced).chain(events).collect()
    }

    /// Adds the messages that routes make of a message.
    fn forward(&mut self, number: MessageId, traffic: &Traffic, question: &Question) -> Result<(), NoBounds> {
        for (route, job) in in_all_modes(self.plan) {
            let Some(frame) = forwarded(&job, traffic) else { continue };
            let Some(longest) = question.latency else {
                let text = format!(
                    "[[route]] {} forwards messages: give its longest latency, such as --latency 200us",
                    route.name
                );
                return Err(NoBounds { text, place: Place::Route(route.name) });
            };
            let basis = question.quantile.map_or(Basis::Budget, Basis::Measured);
            let bus = self.add_bus(job.to)?;
            let node = self.this_machine(bus)?;
            let (of_receptions, cycle) = paced(route.timing.as_ref());
            let of_receptions = of_receptions.map(|delay| Origin::Forwarded {
                from: number,
                latency: Latency { shortest: Ns(0), longest: (longest + delay).into(), basis },
            });
            let cyclic = cycle.map(|cycle| Origin::Queued { period: cycle.into(), jitter: longest.into() });
            for origin in of_receptions.into_iter().chain(cyclic) {
                self.network.messages.push(Message {
                    node,
                    id: frame.id,
                    format: frame.format,
                    bit_rate_switch: frame.format == FrameFormat::Fd
                        && frame.flags & candor_core::frame::CANFD_BRS != 0,
                    len: frame.len,
                    origin,
                    deadline: traffic.deadline_forwarded.into(),
                    band: self.band(bus, frame.id, frame.len, Some(traffic.bus)),
                    socket: 0,
                });
            }
        }
        Ok(())
    }

    fn add_bus(&mut self, index: BusIndex) -> Result<BusId, NoBounds> {
        if let Some(at) = self.buses.iter().position(|bus| *bus == index) {
            return Ok(BusId(at));
        }
        let bus = &self.plan.buses()[index.0];
        let no_rate = || NoBounds {
            text: format!("[bus.{}] has traffic and no bitrate: add bitrate = \"500kbit/s\"", bus.name),
            place: Place::Bus(index),
        };
        let nominal = bus.bitrate.ok_or_else(no_rate)?;
        self.buses.push(index);
        self.network.buses.push(Bus { nominal, data: bus.data_bitrate });
        Ok(BusId(self.buses.len() - 1))
    }

    fn add_node(&mut self, bus: BusId, queue: Queue, controller: Controller, sender: Option<&str>) -> NodeId {
        self.network.nodes.push(Node { bus, queue, controller });
        self.senders.push(sender.map(str::to_owned));
        NodeId(self.senders.len() - 1)
    }

    /// Another node.
    fn sender_node(&mut self, bus: BusId, sender: Option<&str>, Sending { queue, controller }: &Sending) -> NodeId {
        let new = |model: &mut Self| model.add_node(bus, queue.clone(), *controller, sender);
        let Some(name) = sender else { return new(self) };
        if let Some(node) = self.nodes.get(&(bus, name.to_owned())) {
            return *node;
        }
        let node = new(self);
        self.nodes.insert((bus, name.to_owned()), node);
        node
    }

    /// This machine, with the queue of `[egress.BUS]`.
    fn this_machine(&mut self, bus: BusId) -> Result<NodeId, NoBounds> {
        let key = (bus, Traffic::THIS_MACHINE.to_owned());
        if let Some(node) = self.nodes.get(&key) {
            return Ok(*node);
        }
        let queue = match self.queueing(bus) {
            None => Queue::fifo(),
            Some(Queueing::Arbitration { .. }) => Queue::Arbitration,
            Some(Queueing::Bands(policy)) => Queue::Bands(policy.bands().iter().map(band).collect()),
            Some(Queueing::Tree(_)) => {
                let name = &self.plan.buses()[self.buses[bus.0].0].name;
                let text =
                    format!("[egress.{name}]: there are no bounds for a tree; write bands or queue in its place");
                return Err(NoBounds { text, place: Place::Egress(self.buses[bus.0]) });
            }
        };
        let node = self.add_node(bus, queue, self.controller, Some(Traffic::THIS_MACHINE));
        self.nodes.insert(key, node);
        Ok(node)
    }

    fn queueing(&self, bus: BusId) -> Option<&'p Queueing> {
        let index = self.buses[bus.0];
        self.plan.egress().iter().find(|egress| egress.bus == index).map(|egress| &egress.queueing)
    }

    fn policy(&self, bus: BusId) -> Option<&'p Policy> {
        match self.queueing(bus) {
            Some(Queueing::Bands(policy)) => Some(policy),
            _ => None,
        }
    }

    fn band(&self, bus: BusId, id: RawId, len: u8, from: Option<BusIndex>) -> usize {
        let frame = Outgoing { id, len, priority: 0, mark: 0, from, groups: &[] };
        self.policy(bus).map_or(0, |policy| policy.band_of(&frame))
    }
}

/// With three decimals, rounded up.
#[must_use]
pub fn milliseconds(time: Ns) -> String {
    time.up_to_us().to_string()
}

/// With one decimal, rounded up.
#[must_use]
pub fn percent(ppm: u64) -> String {
    let tenths = ppm.div_ceil(1000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// In hexadecimal, with 3 or 8 digits.
#[must_use]
pub fn id_text(id: RawId) -> String {
    if id.is_eff() { format!("{:08X}", id.bits()) } else { format!("{:03X}", id.bits()) }
}

impl Model<'_> {
    /// Identifier and bus of a message.
    pub fn name(&self, message: MessageId) -> String {
        let bus = self.network.bus_of(message);
        format!("{} on bus {}", id_text(self.network.messages[message.0].id), self.bus(bus))
    }

    /// Name of a bus.
    pub fn bus(&self, bus: BusId) -> &str {
        &self.plan.buses()[self.buses[bus.0].0].name
    }

    /// Nodes of this machine, at most one on each bus.
    pub fn nodes_of_this_machine(&self) -> impl Iterator<Item = NodeId> {
        let is_own = |(at, sender): (usize, &Option<String>)| {
            (sender.as_deref() == Some(Traffic::THIS_MACHINE)).then_some(NodeId(at))
        };
        self.senders.iter().enumerate().filter_map(is_own)
    }

    /// Messages that this machine sends on a bus.
    pub fn sent_here(&self, bus: &str) -> Vec<MessageId> {
        let is_own = |message: &MessageId| {
            let node = self.network.messages[message.0].node;
            self.senders[node.0].as_deref() == Some(Traffic::THIS_MACHINE)
                && self.bus(self.network.nodes[node.0].bus) == bus
        };
        (0..self.network.messages.len()).map(MessageId).filter(is_own).collect()
    }

    /// Tables of bands for a queue of this machine. The last band takes all other frames.
    pub fn egress_with_bands(&self, bus: &str, bands: &[Vec<MessageId>]) -> String {
        let mut text = format!("[egress.{bus}]\n");
        for (at, band) in (1..).zip(bands) {
            let _ = write!(text, "\n[[egress.{bus}.band]]\nname = \"{at}\"\n");
            if at < bands.len() {
                let mut ids: Vec<_> = band.iter().map(|message| id_text(self.network.messages[message.0].id)).collect();
                ids.sort();
                ids.dedup();
                let _ = writeln!(text, "match = {ids:?}");
            }
        }
        text
    }

    /// What cannot hold, with the sum that shows it.
    pub fn sum(&self, judgement: &Judgement) -> String {
        const MOST_TERMS: usize = 5;
        match judgement {
            Judgement::DeadlineShorterThanFrame { message, deadline, frame } => format!(
                "{}: its frame alone takes {}, its deadline is {}",
                self.name(*message),
                milliseconds(*frame),
                milliseconds(*deadline)
            ),
            Judgement::Overload { bus, load } => {
                let term = |term: &Term| {
                    let (frame, period) = (milliseconds(term.frame), milliseconds(term.period));
                    format!("{} {frame} / {period}", id_text(self.network.messages[term.message.0].id))
                };
                let terms: Vec<_> = load.terms.iter().take(MOST_TERMS).map(term).collect();
                let others = load.terms.len().saturating_sub(MOST_TERMS);
                let others = if others > 0 { format!(" + {others} others") } else { String::new() };
                let (bus, percent, terms) = (self.bus(*bus), percent(load.ppm), terms.join(" + "));
                format!("bus {bus}: more traffic than it can carry: {percent} = {terms}{others}")
            }
        }
    }

    /// What prevents an analysis, in words.
    pub fn problems(&self, problems: &[Problem]) -> NoBounds {
        let text = |problem: &Problem| match problem {
            Problem::SameIdentifier(one, other) => format!(
                "{} is sent by {} and by {}: two nodes must not send one identifier",
                self.name(*one),
                self.sender(*one),
                self.sender(*other)
            ),
            Problem::Frame(message) => format!("{} is a frame that the bus cannot carry", self.name(*message)),
            other => other.to_string(),
        };
        let first = problems.iter().find_map(|problem| match problem {
            Problem::SameIdentifier(message, _) | Problem::Frame(message) => Some(self.first(*message)),
            _ => None,
        });
        let place = first.map_or(Place::File, |message| {
            Place::Message(self.buses[self.network.bus_of(message).0], self.network.messages[message.0].id)
        });
        NoBounds { text: problems.iter().map(text).collect::<Vec<_>>().join("; "), place }
    }

    /// The message that was forwarded to become this one.
    pub(crate) fn first(&self, mut message: MessageId) -> MessageId {
        while let Origin::Forwarded { from, .. } = self.network.messages[message.0].origin {
            message = from;
        }
        message
    }
}

fn band(band: &candor_egress::policy::Band) -> Band {
    let rate = band.rate.and_then(|rate| rate.frames_per_second().try_into().ok());
    Band { rate, share: band.share, turns: band.queue.fair() != Fair::No }
}

/// Bus and identifier of all frames that this machine makes of one of these.
#[must_use]
pub fn copies(plan: &Plan, message: &Traffic) -> Vec<(BusIndex, RawId)> {
    let copy = |(_, job): (Route, Job)| forwarded(&job, message).map(|frame| (job.to, frame.id));
    in_all_modes(plan).into_iter().filter_map(copy).collect()
}

/// All jobs, as if all modes lasted at once: more frames than there are in any of them, also around a change of the mode.
fn in_all_modes(plan: &Plan) -> Vec<(Route, Job)> {
    let plans = plan.in_each_mode();
    let of_mode = |plan: Plan| {
        let is_new = |route: &Route| plan.mode().is_none() || route.mode.is_some();
        let jobs = crate::lower(&plan).into_iter().map(|job| (plan.route(job.route).clone(), job));
        jobs.filter(|(route, _)| is_new(route)).collect::<Vec<_>>()
    };
    plans.flat_map(of_mode).collect()
}

/// How long frames of a route wait at most, if they are sent because of receptions, and the interval of those that time causes.
///
/// A frame that waits for `min-delay` was received after the one before it was sent, and at most one is sent for each reception.
fn paced(timing: Option<&Timing>) -> (Option<Duration>, Option<Duration>) {
    let Some(timing) = timing else { return (Some(Duration::ZERO), None) };
    let is_periodic = timing.composition().send.mode == SendMode::Periodic;
    ((!is_periodic).then_some(timing.min_delay), timing.cycle)
}

/// The frame that a job makes of a message, whatever its payload is. `None` if it does not take it.
fn forwarded(job: &Job, message: &Traffic) -> Option<Frame> {
    if job.is_xl
        || job.from != message.bus
        || job.format != message.format
        || !job.filter.normalise().matches(message.id)
    {
        return None;
    }
    let payload = [0; candor_core::frame::CANFD_MAX_DLEN];
    let payload = &payload[..message.len.into()];
    let mut frame = match message.format {
        FrameFormat::Classic => Frame::classic(message.id, payload).ok()?,
        FrameFormat::Fd => {
            let flags = if message.bit_rate_switch { candor_core::frame::CANFD_BRS } else { 0 };
            Frame::fd(message.id, flags, payload).ok()?
        }
    };
    if let Some(send_as) = job.send_as {
        convert(&mut frame, send_as);
    }
    job.modifications.apply(&mut frame);
    Some(frame)
}

/// The shortest time between two frames, if it is known. Its timers do not wait for the bus.
fn shortest(frame: &ComposedFrame) -> Option<Duration> {
    let send = &frame.composition.send;
    let delay = Some(send.min_delay).filter(|delay| send.delays_all && !delay.is_zero());
    let has_only_cycle = send.mode == SendMode::Periodic && send.fast.is_none();
    delay.or_else(|| send.cycle.filter(|_| has_only_cycle))
}

/// That of the file, then frames that this machine composes, then messages with a cycle time of databases. A bus and an
/// identifier are in it once.
fn traffic(plan: &Plan, question: &Question) -> Vec<Traffic> {
    let mut all = plan.traffic().to_vec();
    let is_new = |all: &[Traffic], bus, id| !all.iter().any(|known| (known.bus, known.id) == (bus, id));
    for frame in plan.frames() {
        let (Some(period), Ok(len)) = (shortest(frame), u8::try_from(frame.composition.initial.len())) else {
            continue;
        };
        if is_new(&all, frame.to, frame.id) {
            all.push(Traffic {
                bus: frame.to,
                id: frame.id,
                format: frame.format,
                bit_rate_switch: frame.bit_rate_switch,
                len,
                period,
                // From the timer to the queue.
                jitter: question.latency.unwrap_or_default(),
                deadline: period,
                deadline_forwarded: period,
                sender: Some(Traffic::THIS_MACHINE.to_owned()),
                sending: Sending::default(),
            });
        }
    }
    for bus in (0..plan.buses().len()).map(BusIndex) {
        for message in plan.databases(bus).iter().flat_map(|database| &database.messages) {
            let Some((id, period)) = message.id.map(DatabaseId::raw).zip(message.timing.cycle) else { continue };
            let Ok(len) = u8::try_from(message.len) else { continue };
            if len > 64 || !is_new(&all, bus, id) {
                continue;
            }
            let is_fd = len > 8 || message.format.as_ref().is_some_and(|format| format.contains("FD"));
            all.push(Traffic {
                bus,
                id,
                format: if is_fd { FrameFormat::Fd } else { FrameFormat::Classic },
                bit_rate_switch: is_fd,
                len,
                period,
                jitter: Duration::ZERO,
                deadline: period,
                deadline_forwarded: period,
                sender: message.senders.first().cloned(),
                sending: Sending::default(),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn routes_of_modes_and_with_a_timing_send_what_they_can() {
        let route = |name: &str, id: &str, more: &str| {
            format!(
                "[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{id}\"\nframes = \"classic\"\n{more}\n"
            )
        };
        let message = |id: &str| format!("[[traffic]]\nbus = \"a\"\nid = \"{id}\"\nlength = 8\nperiod = \"10ms\"\n");
        let bus = |name: &str, at: u8| format!("[bus.{name}]\ninterface = \"can{at}\"\nbitrate = \"500kbit/s\"\n");
        let mode = "[mode.service]\nfor = \"1min\"\nenter = { from = \"a\", frame = \"7A0#01\" }\n";
        let text = [
            "engine = \"read-write\"\n".to_owned(),
            bus("a", 0) + &bus("b", 1) + mode,
            route("cyclic", "100", "cycle = \"5ms\""),
            route("later", "200", "min-delay = \"7ms\""),
            route("both", "300", "cycle = \"20ms\"\non-change = true"),
            route("service", "400", "mode = \"service\""),
            ["100", "200", "300", "400"].map(message).concat(),
        ];
        let loaded = config::load(text.concat().as_bytes()).unwrap();
        let question = Question { latency: Some(Duration::from_millis(1)), ..Question::default() };
        let model = Model::of(&loaded.plan, &question).unwrap();
        let ms = |ms: u64| Ns::from_us(ms * 1000);
        let sent = model.sent_here("b").into_iter().map(|at| {
            let one = &model.network.messages[at.0];
            let times = match one.origin {
                Origin::Queued { period, jitter } => ("queued", period, jitter),
                Origin::Forwarded { latency, .. } => ("forwarded", latency.shortest, latency.longest),
            };
            (one.id.bits(), times)
        });
        assert_eq!(
            sent.collect::<Vec<_>>(),
            [
                (0x100, ("queued", ms(5), ms(1))),
                (0x200, ("forwarded", ms(0), ms(8))),
                (0x300, ("forwarded", ms(0), ms(1))),
                (0x300, ("queued", ms(20), ms(1))),
                (0x400, ("forwarded", ms(0), ms(1))),
            ]
        );
        assert_eq!(model.left_out(), Vec::<String>::new());
        let missing = Model::of(&loaded.plan, &Question::default()).unwrap_err();
        let text = text.concat();
        let line = 1 + text.lines().position(|line| line == "[[route]]").unwrap();
        assert!(
            missing
                .in_file("car.toml", &text, &loaded.plan)
                .starts_with(&format!("car.toml:{line}: [[route]] cyclic "))
        );
    }
}
