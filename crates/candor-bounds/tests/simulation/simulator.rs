//! A network on the bit-exact bus of candor-bus, with queues as simple code.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use candor_bounds::{Controller, MessageId, Network, Ns, Origin, Queue};
use candor_bus::{Bus, BusNs, Event, NodeConfig, Order, Tag, Timing};
use candor_core::bits::LongestFrames;
use candor_core::frame::Frame;
use candor_core::random::SplitMix64;

/// Nodes are active after 11 recessive bits.
const START: u64 = 10_000_000;

/// One frame of a message.
#[derive(Clone, Copy, Debug)]
struct Sent {
    message: usize,
    /// At the first sender.
    release: u64,
}

/// When the frames of the messages with a period are released and queued.
pub(crate) struct Arrivals {
    /// By time: release and message.
    at: BTreeMap<u64, Vec<Sent>>,
}

impl Arrivals {
    /// Offsets from the start, and a jitter for each frame.
    pub(crate) fn new(
        network: &Network,
        until: Ns,
        offsets: &[u64],
        mut jitter: impl FnMut(usize, u64) -> u64,
    ) -> Self {
        let mut at: BTreeMap<u64, Vec<Sent>> = BTreeMap::new();
        for (message, one) in network.messages.iter().enumerate() {
            let Origin::Queued { period, jitter: most } = one.origin else { continue };
            let mut release = START + most.0 + offsets[message];
            let mut number = 0;
            while release < START + until.0 {
                let queued = release - most.0 + jitter(message, number).min(most.0);
                // The release is earlier by the jitter.
                at.entry(queued).or_default().push(Sent { message, release: release - most.0 });
                release += period.0;
                number += 1;
            }
        }
        Self { at }
    }
}

struct Machine<'n> {
    network: &'n Network,
    frames: Vec<Frame>,
    buses: Vec<Bus>,
    nodes: Vec<candor_bus::NodeId>,
    /// Queued, in the order in which they came.
    queues: Vec<VecDeque<Sent>>,
    /// In the controllers.
    held: Vec<BTreeMap<Tag, Sent>>,
    /// Sockets and bands that had their turn, last one at the end.
    turns: Vec<Vec<u32>>,
    next_tag: u32,
    arrivals: BTreeMap<u64, Vec<Sent>>,
    longest: Vec<u64>,
    /// When the last frame of each message was forwarded: a gateway keeps the order of a message.
    forwarded: Vec<u64>,
    random: SplitMix64,
}

/// The longest response of each message; 0 if none was sent.
pub(crate) fn longest_responses(network: &Network, longest: &LongestFrames, arrivals: Arrivals, seed: u64) -> Vec<u64> {
    let frame = |at: usize| {
        let one = &network.messages[at];
        longest.frame(one.id, one.format, one.bit_rate_switch, one.len)
    };
    let mut buses: Vec<Bus> = network.buses.iter().map(|_| Bus::new(0)).collect();
    for (bus, rates) in buses.iter_mut().zip(&network.buses) {
        let timing = Timing { nominal: rates.nominal, data: rates.data };
        let config = NodeConfig { timing, order: Order::Fifo, depth: 1, listen_only: false, one_shot: false };
        // A receiver acknowledges all frames.
        let receiver = bus.add_node().unwrap();
        bus.switch_on(BusNs(0), receiver, config);
    }
    let nodes = network.nodes.iter().map(|node| {
        let rates = network.buses[node.bus.0];
        let (order, depth) = match node.controller {
            Controller::Abortable => (Order::LowestId, 1000),
            Controller::Fifo(frames) => (Order::Fifo, frames.get()),
            Controller::Mailboxes(frames) => (Order::LowestId, frames.get()),
        };
        let timing = Timing { nominal: rates.nominal, data: rates.data };
        let depth = usize::try_from(depth).unwrap();
        let bus = &mut buses[node.bus.0];
        let id = bus.add_node().unwrap();
        bus.switch_on(BusNs(0), id, NodeConfig { timing, order, depth, listen_only: false, one_shot: false });
        id
    });
    let nodes: Vec<_> = nodes.collect();
    let mut machine = Machine {
        network,
        frames: (0..network.messages.len()).map(frame).collect(),
        queues: vec![VecDeque::new(); nodes.len()],
        held: vec![BTreeMap::new(); nodes.len()],
        turns: vec![Vec::new(); nodes.len()],
        nodes,
        buses,
        next_tag: 0,
        arrivals: arrivals.at,
        longest: vec![0; network.messages.len()],
        forwarded: vec![0; network.messages.len()],
        random: SplitMix64::new(seed),
    };
    machine.run();
    machine.longest
}

impl Machine<'_> {
    fn run(&mut self) {
        let mut events = Vec::new();
        for bus in &mut self.buses {
            bus.advance(BusNs(START - 1), &mut events);
        }
        loop {
            let next_arrival = self.arrivals.keys().next().copied();
            let next_event = self.buses.iter().filter_map(Bus::next_event).map(|at| at.0).min();
            let Some(now) = next_arrival.into_iter().chain(next_event).min() else { break };
            let arrived = self.arrivals.remove(&now).unwrap_or_default();
            let mut touched = BTreeSet::new();
            for sent in arrived {
                let node = self.network.messages[sent.message].node.0;
                self.queues[node].push_back(sent);
                touched.insert(node);
            }
            // All frames of a moment are in the queue before one of them goes to the controller.
            touched.into_iter().for_each(|node| self.refill(now, node));
            for bus in 0..self.buses.len() {
                events.clear();
                self.buses[bus].advance(BusNs(now), &mut events);
                for event in std::mem::take(&mut events) {
                    self.on_event(bus, event);
                }
            }
        }
    }

    fn on_event(&mut self, bus: usize, event: Event) {
        let Event::Delivered { end, sender, tag, .. } = event else { return };
        let is_sender = |at: &usize| self.network.nodes[*at].bus.0 == bus && self.nodes[*at] == sender;
        let node = (0..self.nodes.len()).find(is_sender).unwrap();
        let sent = self.held[node].remove(&tag).unwrap();
        self.longest[sent.message] = self.longest[sent.message].max(end.0 - sent.release);
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
        while let Some(at) = self.next_of(node) {
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
        }
    }

    /// The position of the frame that goes to the controller next.
    fn next_of(&self, node: usize) -> Option<usize> {
        let message = |at: usize| &self.network.messages[self.queues[node][at].message];
        let positions = 0..self.queues[node].len();
        match &self.network.nodes[node].queue {
            // Base identifiers only: lower wins.
            Queue::Arbitration => positions.min_by_key(|at| (message(*at).id.bits(), *at)),
            Queue::Bands(bands) => {
                let band = positions.clone().map(|at| message(at).band).min()?;
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
    }
}
