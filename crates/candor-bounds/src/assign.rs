//! Proposals: identifiers and bands for which deadlines hold.
//!
//! # Source
//! Audsley: On priority assignment in fixed priority scheduling. Information Processing Letters 79, 2001,
//! <https://doi.org/10.1016/S0020-0190(00)00165-4>; for CAN, Davis, Burns, Bril, Lukkien 2007, section 6,
//! <https://doi.org/10.1007/s11241-007-9012-7>.

use alloc::vec;
use alloc::vec::Vec;

use candor_core::frame::{CAN_RTR_FLAG, RawId};
use candor_core::order::sort_by_key;

use crate::analysis::Analysis;
use crate::length::Clock;
use crate::model::{Band, BusId, Controller, MessageId, Network, NodeId, Queue};
use crate::time::Ns;

/// Other identifiers for the messages of a bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Identifiers {
    /// The messages, the most urgent first, and the identifier that each gets. The set of identifiers is the same.
    pub order: Vec<(MessageId, RawId)>,
    /// The network with these identifiers.
    pub network: Network,
    /// True if all deadlines of the messages on this bus hold in [`Self::network`]. If all nodes always compete with their most
    /// urgent frame, they hold whenever there is an order for which they do. For other nodes the order is a guess.
    pub holds: bool,
}

/// Bands for the messages of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Bands {
    /// The messages of each band, the most urgent band first.
    pub bands: Vec<Vec<MessageId>>,
    /// The network with these bands.
    pub network: Network,
    /// True if all deadlines of the messages of this node hold in [`Self::network`].
    pub holds: bool,
}

impl Analysis {
    /// Proposes identifiers by Audsley's assignment: the least urgent identifier goes to a message that meets its deadline with
    /// it, whatever the order of the others, and so on. Of several such messages, the one with the least urgent identifier now.
    ///
    /// `None` if no message can have one of the identifiers. Jitter of other buses stays as it is.
    ///
    /// # Panics
    /// If the network has no such bus.
    #[must_use]
    pub fn propose_identifiers(&self, bus: BusId) -> Option<Identifiers> {
        let mut ideal = self.network().clone();
        for node in ideal.nodes.iter_mut().filter(|node| node.bus == bus) {
            node.queue = Queue::Arbitration;
            node.controller = Controller::Abortable;
        }
        // The least urgent last.
        let mut open: Vec<usize> = self.messages_on(bus).to_vec();
        sort_by_key(&mut open, |at| (self.prepared(*at).priority, *at));
        let present: Vec<RawId> = open.iter().map(|at| ideal.messages[*at].id).collect();
        let mut order = Vec::new();
        let mut less_urgent = Vec::new();
        while !open.is_empty() {
            let fits = |at: &usize| self.holds_with(&ideal, *at, &less_urgent);
            let found = open.iter().rposition(fits)?;
            let message = open.remove(found);
            less_urgent.push(message);
            order.push(message);
        }
        order.reverse();
        let mut network = self.network().clone();
        for (at, id) in order.iter().zip(&present) {
            let remote = network.messages[*at].id.0 & CAN_RTR_FLAG;
            network.messages[*at].id = RawId(id.0 & !CAN_RTR_FLAG | remote);
        }
        let clock = Clock::new(self.assumptions().lengths, &network.messages);
        let analysis = Self::new(network.clone(), self.assumptions(), &clock);
        let holds = order.iter().all(|at| analysis.bound(MessageId(*at)).holds());
        let order = order.into_iter().map(|at| (MessageId(at), network.messages[at].id)).collect();
        Some(Identifiers { order, network, holds })
    }

    /// Proposes bands of FIFO queues for a node, as few as possible: the last band takes each message that meets its deadline
    /// there with those that are in it already, whatever the order of the others, and so on. Messages with long deadlines are
    /// tried first.
    ///
    /// `None` if a message meets its deadline in no band, or if there would be more than `most` bands.
    ///
    /// # Panics
    /// If the network has no such node.
    #[must_use]
    pub fn propose_bands(&self, node: NodeId, most: usize) -> Option<Bands> {
        let messages = &self.network().messages;
        let mut open: Vec<usize> = (0..messages.len()).filter(|at| messages[*at].node == node).collect();
        sort_by_key(&mut open, |at| (core::cmp::Reverse(messages[*at].deadline), *at));
        let clock = Clock::new(self.assumptions().lengths, messages);
        let analyse = |network: Network| Self::new(network, self.assumptions(), &clock);
        // The last band first.
        let mut done: Vec<Vec<usize>> = Vec::new();
        while !open.is_empty() {
            let mut band: Vec<usize> = Vec::new();
            for at in open.clone() {
                let mut tried = band.clone();
                tried.push(at);
                let rest: Vec<usize> = open.iter().copied().filter(|one| !tried.contains(one)).collect();
                let bands: Vec<&[usize]> =
                    [&rest[..], &tried[..]].into_iter().chain(done.iter().rev().map(Vec::as_slice)).collect();
                let analysis = analyse(self.with_bands(node, &bands));
                if tried.iter().all(|at| analysis.bound(MessageId(*at)).holds()) {
                    band = tried;
                }
            }
            if band.is_empty() || done.len() == most {
                return None;
            }
            open.retain(|at| !band.contains(at));
            done.push(band);
        }
        let bands: Vec<&[usize]> = done.iter().rev().map(Vec::as_slice).collect();
        let network = self.with_bands(node, &bands);
        let analysis = analyse(network.clone());
        let holds = done.iter().flatten().all(|at| analysis.bound(MessageId(*at)).holds());
        let named = |band: &&[usize]| band.iter().copied().map(MessageId).collect();
        Some(Bands { bands: bands.iter().map(named).collect(), network, holds })
    }

    fn with_bands(&self, node: NodeId, bands: &[&[usize]]) -> Network {
        let mut network = self.network().clone();
        network.nodes[node.0].queue = Queue::Bands(vec![Band::default(); bands.len()]);
        for (band, messages) in bands.iter().enumerate() {
            for at in *messages {
                network.messages[*at].band = band;
            }
        }
        network
    }

    /// True if a message meets its deadline on an ideal bus when these are less urgent and all others more urgent.
    fn holds_with(&self, ideal: &Network, message: usize, less_urgent: &[usize]) -> bool {
        let priority = |at: usize| {
            if at == message {
                1
            } else if less_urgent.contains(&at) {
                2
            } else {
                0
            }
        };
        let response = self.ideal_response(ideal, message, priority);
        response.is_some_and(|response| response <= self.bound(MessageId(message)).deadline)
    }
}

impl Bands {
    /// The deadlines of the messages of a band: the shortest and the longest.
    #[must_use]
    pub fn deadlines(&self, band: usize) -> Option<(Ns, Ns)> {
        let deadlines = || self.bands.get(band).into_iter().flatten().map(|at| self.network.messages[at.0].deadline);
        deadlines().min().zip(deadlines().max())
    }
}
