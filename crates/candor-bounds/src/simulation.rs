//! Responses on the bit-exact bus of `candor-bus`, for one schedule or for the worst one that a search finds.
//!
//! ```text
//!  Schedule ─▶ queues in simple code ─▶ candor_bus::Bus ─▶ Delivered ─┬─▶ response of the frame
//!                    ▲                                                └─▶ gateway: the frame is queued again
//!                    └────────────────────────────────────────────────────────────┘
//! ```
//!
//! All frames are the longest ones of their messages. Each bus has a further node that acknowledges.

mod search;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU8;

use candor_bus::{Bus, BusNs, Event, NodeConfig, Order, Tag, Timing};
use candor_core::bits::LongestFrames;
use candor_core::frame::Frame;
use candor_core::random::SplitMix64;

use crate::model::{Controller, MessageId, Network, Node, Origin, Queue};
use crate::time::Ns;
pub use search::{Found, How, Search};

/// Nodes are active after 11 recessive bits.
const START: u64 = 10_000_000;

/// When programs queue frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// In any order. Frames of a message that are queued at one time keep the order that they have here.
    pub frames: Vec<Queued>,
    /// Chooses the latencies of gateways between their bounds.
    pub seed: u64,
}

/// A frame that a program queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its message, whose origin is [`Origin::Queued`].
    pub message: MessageId,
    /// Its release, from which its response counts.
    pub released: Ns,
    /// When the program queues it.
    pub at: Ns,
}

/// The longest response of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// From the release at the first sender to the end of the frame.
    pub time: Ns,
    /// The release of this frame, in the time of the schedule.
    pub released: Ns,
}

/// One frame of a message.
#[derive(Clone, Copy, Debug)]
struct Sent {
    message: usize,
    /// At the first sender.
    release: u64,
}

/// Of a band.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    /// Theoretical arrival time of a bucket with one frame and 50 µs.
    full_at: u64,
    deficit: u8,
}

/// What tbf has in its bucket besides one frame.
const BURST_NS: u64 = 50_000;

struct Machine<'n> {
    network: &'n Network,
    frames: Vec<Frame>,
    buses: Vec<Bus>,
    nodes: Vec<candor_bus::NodeId>,
    /// Queued, in the order in which they came.
    queues: Vec<VecDeque<Sent>>,
    /// In the controllers.
    held: Vec<BTreeMap<Tag, Sent>>,
    /// Sockets that had their turn, last one at the end.
    turns: Vec<Vec<u32>>,
    /// By node and band: when its next frame has a token, and the frames that it may still send in this turn.
    bands: Vec<Vec<Tokens>>,
    /// Bands with a share and frames, in the order of their turns.
    rounds: Vec<VecDeque<usize>>,
    next_tag: u32,
    arrivals: BTreeMap<u64, Vec<Sent>>,
    longest: Vec<Option<Response>>,
    /// When the last frame of each message was forwarded: a gateway keeps the order of a message.
    forwarded: Vec<u64>,
    random: SplitMix64,
}

impl Network {
    /// The longest response of each message when programs queue these frames; `None` if no frame of it was sent.
    ///
    /// # Panics
    /// If the network has problems, if a bus has more than 63 nodes, or if `longest` has shorter frames than the messages.
    #[must_use]
    pub fn simulate(&self, longest: &LongestFrames, schedule: &Schedule) -> Vec<Option<Response>> {
        let mut arrivals: BTreeMap<u64, Vec<Sent>> = BTreeMap::new();
        for &Queued { message: MessageId(message), released, at } in &schedule.frames {
            arrivals.entry(START + at.0).or_default().push(Sent { message, release: START + released.0 });
        }
        let mut machine = Machine::new(self, longest, arrivals, schedule.seed);
        machine.run();
        machine.longest
    }
}

impl<'n> Machine<'n> {
    fn new(network: &'n Network, longest: &LongestFrames, arrivals: BTreeMap<u64, Vec<Sent>>, seed: u64) -> Self {
        let frame = |at: usize| {
            let one = &network.messages[at];
            longest.frame(one.id, one.format, one.bit_rate_switch, one.len)
        };
        let timing = |bus: usize| Timing { nominal: network.buses[bus].nominal, data: network.buses[bus].data };
        let mut buses: Vec<Bus> = network.buses.iter().map(|_| Bus::new(0)).collect();
        let mut add = |bus: usize, order, depth| {
            let config = NodeConfig { timing: timing(bus), order, depth, listen_only: false, one_shot: false };
            let node = buses[bus].add_node().expect("the bus has room");
            buses[bus].switch_on(BusNs(0), node, config);
            node
        };
        // A receiver acknowledges all frames.
        for bus in 0..network.buses.len() {
            add(bus, Order::Fifo, 1);
        }
        let nodes = network.nodes.iter().map(|node| {
            let frames = |frames: core::num::NonZeroU32| usize::try_from(frames.get()).unwrap_or(usize::MAX);
            let (order, depth) = match node.controller {
                Controller::Abortable => (Order::LowestId, 1000),
                Controller::Fifo(held) => (Order::Fifo, frames(held)),
                Controller::Mailboxes(held) => (Order::LowestId, frames(held)),
            };
            add(node.bus.0, order, depth)
        });
        let nodes: Vec<_> = nodes.collect();
        let bands = |node: &Node| if let Queue::Bands(bands) = &node.queue { bands.len() } else { 0 };
        let bands = network.nodes.iter().map(bands).max().unwrap_or(0);
        Self {
            network,
            frames: (0..network.messages.len()).map(frame).collect(),
            queues: vec![VecDeque::new(); nodes.len()],
            held: vec![BTreeMap::new(); nodes.len()],
            turns: vec![Vec::new(); nodes.len()],
            bands: vec![vec![Tokens::default(); bands]; nodes.len()],
            rounds: vec![VecDeque::new(); nodes.len()],
            nodes,
            buses,
            next_tag: 0,
            arrivals,
            longest: vec![None; network.messages.len()],
            forwarded: vec![0; network.messages.len()],
            random: SplitMix64::new(seed),
        }
    }

    fn run(&mut self) {
        let mut events = Vec::new();
        for bus in &mut self.buses {
            bus.advance(BusNs(START - 1), &mut events);
        }
        loop {
            let next_arrival = self.arrivals.keys().next().copied();
            let next_event = self.buses.iter().filter_map(Bus::next_event).map(|at| at.0).min();
            let Some(now) = next_arrival.into_iter().chain(next_event).min() else { break };
            let Some(arrived) = self.arrivals.remove(&now) else {
                self.advance(now, &mut events);
                continue;
            };
            let mut touched = BTreeSet::new();
            for sent in arrived {
                let node = self.network.messages[sent.message].node.0;
                self.queues[node].push_back(sent);
                touched.insert(node);
            }
            if touched.is_empty() {
                // A bucket has a token again.
                touched.extend(0..self.nodes.len());
            }
            // All frames of a moment are in the queue before one of them goes to the controller.
            touched.into_iter().for_each(|node| self.refill(now, node));
            self.advance(now, &mut events);
        }
    }

    fn advance(&mut self, now: u64, events: &mut Vec<Event>) {
        for bus in 0..self.buses.len() {
            events.clear();
            self.buses[bus].advance(BusNs(now), events);
            for event in core::mem::take(events) {
                self.on_event(bus, &event);
            }
        }
    }

    fn on_event(&mut self, bus: usize, event: &Event) {
        let &Event::Delivered { end, sender, tag, .. } = event else { return };
        let is_sender = |at: &usize| self.network.nodes[*at].bus.0 == bus && self.nodes[*at] == sender;
        let node = (0..self.nodes.len()).find(is_sender).expect("only these send");
        let sent = self.held[node].remove(&tag).expect("it was given to the controller");
        let response = Response { time: Ns(end.0 - sent.release), released: Ns(sent.release - START) };
        let longest = &mut self.longest[sent.message];
        if longest.is_none_or(|longest| longest.time < response.time) {
            *longest = Some(response);
        }
        for (message, one) in self.network.messages.iter().enumerate() {
            if let Origin::Forwarded { from: MessageId(from), latency } = one.origin
                && from == sent.message
            {
                let room = latency.longest.0 - latency.shortest.0;
                let latency = match self.random.next_u64() % 3 {
                    0 => latency.shortest.0,
                    1 => latency.longest.0,
                    _ => latency.shortest.0 + self.random.next_u64() % (room + 1),
                };
                let queued = (end.0 + latency.max(1)).max(self.forwarded[message]);
                self.forwarded[message] = queued;
                self.arrivals.entry(queued).or_default().push(Sent { message, ..sent });
            }
        }
        self.refill(end.0, node);
    }

    /// Moves frames to the controller while it has room.
    fn refill(&mut self, now: u64, node: usize) {
        while let Some(at) = self.next_of(now, node) {
            let sent = self.queues[node][at];
            let tag = Tag(self.next_tag);
            let bus = &mut self.buses[self.network.nodes[node].bus.0];
            if bus.submit(BusNs(now), self.nodes[node], tag, self.frames[sent.message]).is_err() {
                return;
            }
            self.next_tag += 1;
            self.queues[node].remove(at);
            self.held[node].insert(tag, sent);
            let socket = self.network.messages[sent.message].socket;
            self.turns[node].retain(|turn| *turn != socket);
            self.turns[node].push(socket);
            self.take_token(now, node, self.network.messages[sent.message].band);
        }
    }

    /// A frame of this band has gone to the controller.
    fn take_token(&mut self, now: u64, node: usize, band: usize) {
        let Queue::Bands(bands) = &self.network.nodes[node].queue else { return };
        let tokens = &mut self.bands[node][band];
        if let Some(rate) = bands[band].rate {
            let spacing = 1_000_000_000 / u64::from(rate.get());
            tokens.full_at = tokens.full_at.max(now) + spacing;
            // When the next one has a token.
            self.arrivals.entry((tokens.full_at - BURST_NS.min(spacing)).max(now + 1)).or_default();
        }
        tokens.deficit = tokens.deficit.saturating_sub(1);
    }

    /// The position of the frame that goes to the controller next.
    fn next_of(&mut self, now: u64, node: usize) -> Option<usize> {
        let network = self.network;
        let queue = &self.queues[node];
        let message = |at: usize| &network.messages[queue[at].message];
        let positions = 0..queue.len();
        let bands = match &network.nodes[node].queue {
            Queue::Arbitration => return positions.min_by_key(|at| (crate::problem::priority(message(*at)), *at)),
            Queue::Bands(bands) => bands,
        };
        let has_frames = |band: usize| positions.clone().any(|at| message(at).band == band);
        let has_token = |band: usize| {
            let Some(rate) = bands[band].rate else { return true };
            let spacing = 1_000_000_000 / u64::from(rate.get());
            self.bands[node][band].full_at <= now + BURST_NS.min(spacing)
        };
        let share = |band: usize| bands[band].share.map_or(0, NonZeroU8::get);
        let strict =
            (0..bands.len()).find(|band| bands[*band].share.is_none() && has_frames(*band) && has_token(*band));
        let band = match strict {
            Some(band) => band,
            None => {
                // Deficit round robin, as ets: a band that gets frames is the last one.
                let rounds = &mut self.rounds[node];
                rounds.retain(|band| has_frames(*band));
                for band in (0..bands.len()).filter(|band| bands[*band].share.is_some() && has_frames(*band)) {
                    if !rounds.contains(&band) {
                        rounds.push_back(band);
                        self.bands[node][band].deficit = share(band);
                    }
                }
                let first = *rounds.front()?;
                if self.bands[node][first].deficit == 0 {
                    rounds.rotate_left(1);
                    self.bands[node][first].deficit = share(first);
                }
                rounds[0]
            }
        };
        let of_band = positions.filter(|at| message(*at).band == band);
        if bands[band].turns {
            let last = |at: &usize| {
                self.turns[node].iter().position(|turn| *turn == message(*at).socket).map_or(0, |turn| turn + 1)
            };
            of_band.min_by_key(|at| (last(at), *at))
        } else {
            of_band.min()
        }
    }
}
