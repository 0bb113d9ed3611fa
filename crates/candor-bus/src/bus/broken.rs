//! Disturbed frames and a dominant wire, simulated bit by bit.

use super::clean::{Clean, Sending};
use super::{Bus, Counters, FrameBits, INTERMISSION_BITS, NodeId, NodeSet, Presence, Tag, Wire, WireBits, bits_ns};
use crate::episode::{Episode, Moment, Player};
use crate::event::{ErrorKind, Event};
use crate::node::{BusNs, Timing};
use candor_core::units::BitRate;

/// Look-ahead for the next event, in bits.
const LOOK_AHEAD_BITS: u32 = 64;
/// The same in nanoseconds while a dominant wire saturates all counters.
const SATURATED_NS: u64 = SECOND_NS;
const SECOND_NS: u64 = 1_000_000_000;

/// A disturbed frame, or a dominant wire.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    /// The disturbed frame. `None` for a dominant wire without a frame.
    clean: Option<Clean>,
    start: BusNs,
    timing: Timing,
    episode: Episode,
    /// Skipped time that the episode does not count, in whole seconds.
    skipped_ns: u64,
    /// Changes of state that are not reported yet.
    changes: Vec<(BusNs, NodeId, Counters)>,
    /// Time of the next event.
    pub(super) next: BusNs,
}

impl Broken {
    fn new(clean: Option<Clean>, start: BusNs, timing: Timing, episode: Episode) -> Self {
        let mut broken = Self { clean, start, timing, episode, skipped_ns: 0, changes: Vec::new(), next: start };
        broken.look_ahead();
        broken
    }

    /// Simulates the bits that begin before this time. Later actions do not change them.
    pub(super) fn catch_up(&mut self, to: BusNs) {
        while !self.episode.is_over() && self.time_of(self.episode.moment) < to {
            if self.episode.is_saturated() {
                self.skip(to);
            }
            let end_of_bit = self.time_of(self.episode.next_moment());
            let changes = &mut self.changes;
            self.episode.step(|node, counters| changes.push((end_of_bit, node, counters)));
        }
        self.look_ahead();
    }

    /// Skips the bits before this time except the last. They change nothing.
    fn skip(&mut self, to: BusNs) {
        let ns = to.since(self.time_of(self.episode.moment));
        let rate = u64::from(self.timing.nominal.bits_per_second());
        let (seconds, rest) = (ns / SECOND_NS, ns % SECOND_NS * rate / SECOND_NS);
        // The episode counts less than two seconds of bits.
        let all = seconds.saturating_mul(rate).saturating_add(rest).saturating_sub(1);
        let uncounted = self.episode.skip(all, rate);
        self.skipped_ns = self.skipped_ns.saturating_add(uncounted.saturating_mul(SECOND_NS));
    }

    /// The current counters of a node.
    pub(super) fn counters(&self, node: NodeId) -> Option<Counters> {
        self.episode.players.iter().find(|player| player.node == node).map(|player| player.counters)
    }

    /// Sets the counters of a node.
    pub(super) fn set_counters(&mut self, now: BusNs, node: NodeId, counters: Counters) {
        self.catch_up(now);
        if let Some(player) = self.episode.player_mut(node) {
            player.counters = counters;
        }
        self.changes.retain(|(_, other, _)| *other != node);
        self.look_ahead();
    }

    pub(super) fn leave(&mut self, now: BusNs, node: NodeId) {
        self.catch_up(now);
        self.episode.leave(node);
        self.changes.retain(|(_, other, _)| *other != node);
        self.look_ahead();
    }

    pub(super) fn sends(&self, node: NodeId) -> Option<Tag> {
        self.clean.as_ref().and_then(|clean| clean.sends(node))
    }

    /// Start of a bit that is not simulated yet.
    fn time_of(&self, moment: Moment) -> BusNs {
        self.time_without_skips(moment) + self.skipped_ns
    }

    /// Start of a bit, without skipped time.
    fn time_without_skips(&self, Moment { nominal, data }: Moment) -> BusNs {
        let bits = FrameBits { nominal, data, stuff: 0 };
        self.start + bits.wire_time_ns(self.timing.nominal, self.timing.data)
    }

    /// Simulates a copy to find the time of the next event.
    fn look_ahead(&mut self) {
        if let Some(&(at, ..)) = self.changes.first() {
            self.next = at;
            return;
        }
        if self.episode.is_saturated() {
            self.next = self.time_of(self.episode.moment) + SATURATED_NS;
            return;
        }
        let mut ahead = self.episode.clone();
        let mut has_event = false;
        for _ in 0..LOOK_AHEAD_BITS {
            if has_event || ahead.is_over() {
                break;
            }
            ahead.step(|_, _| has_event = true);
        }
        self.next = self.time_of(ahead.moment);
    }
}

impl Bus {
    /// Simulates the frame on the wire from this bit on.
    pub(super) fn break_at(&mut self, bit: u32) {
        let Wire::Clean(mut clean) = std::mem::replace(&mut self.wire, Wire::Idle) else { return };
        let (_, wrong) = clean.wrong.take().unwrap_or_default();
        // Nodes that lose later are still senders.
        let contending = clean.losers.extract_if(.., |loser| loser.bit >= bit).map(|loser| loser.sending);
        clean.senders.extend(contending);
        let frames: Vec<WireBits> = clean.senders.iter().map(|sending| WireBits::of(&sending.frame)).collect();
        let mut players: Vec<Player> = wrong.stragglers;
        for (frame, sending) in clean.senders.iter().enumerate() {
            players.push(Player::sender(sending.node, self.counters(sending.node), frame));
        }
        for node in clean.receivers.iter() {
            if !players.iter().any(|player| player.node == node) {
                players.push(self.receiver(node));
            }
        }
        // The acknowledge slot is simulated, because it changes counters.
        let bit = frames[0].acknowledge_slot().min(bit);
        let mut episode = Episode::new(frames, players, bit);
        if let Some(bit) = wrong.flip {
            episode.flip = Some(bit);
        }
        if wrong.unacknowledged {
            episode.acknowledged = false;
        }
        for (node, bit, flag_bits) in wrong.misread {
            if let Some(player) = episode.player_mut(node) {
                player.misreads = Some(player.misreads.map_or(bit, |other| other.min(bit)));
                player.flag_bits = flag_bits;
            }
        }
        let (start, timing) = (clean.start, clean.timing);
        self.wire = Wire::Broken(Broken::new(Some(clean), start, timing, episode));
    }

    /// Simulates up to this time.
    pub(super) fn play(&mut self, to: BusNs, events: &mut Vec<Event>) {
        let Wire::Broken(mut broken) = std::mem::replace(&mut self.wire, Wire::Idle) else { return };
        broken.catch_up(to);
        for (at, node, counters) in broken.changes.extract_if(.., |(at, ..)| *at <= to) {
            self.count(at, node, counters, events);
        }
        if broken.episode.is_over() && broken.time_of(broken.episode.moment) <= to {
            self.settle(&broken, events);
        } else {
            broken.look_ahead();
            self.wire = Wire::Broken(broken);
        }
    }

    /// Holds the wire dominant from now on, or releases it.
    pub fn stick(&mut self, now: BusNs, stuck: bool) {
        match &mut self.wire {
            Wire::Idle if stuck => {
                self.end_silence(now);
                let players = self.players_at_rest(now);
                let episode = Episode::new(Vec::new(), players, 0);
                let timing = Timing { nominal: self.bit_rate, data: None };
                self.wire = Wire::Broken(Broken::new(None, now, timing, episode));
            }
            Wire::Clean(clean) if stuck => {
                let bit = clean.bit_at(now);
                self.break_at(bit);
            }
            _ => {}
        }
        if let Wire::Broken(broken) = &mut self.wire {
            broken.catch_up(now);
            broken.episode.stuck = stuck;
            broken.look_ahead();
        }
    }

    pub(super) fn tag_on_wire(&self, node: NodeId) -> Option<Tag> {
        match &self.wire {
            Wire::Idle => None,
            Wire::Clean(clean) => clean.sends(node),
            Wire::Broken(broken) => broken.sends(node),
        }
    }

    /// All active nodes, between two frames.
    fn players_at_rest(&mut self, now: BusNs) -> Vec<Player> {
        let rate = self.bit_rate;
        let left = self.intermission_until.since(now).div_ceil(bits_ns(1, rate).max(1));
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let mut players = Vec::new();
        for id in self.node_ids() {
            let Some(node) = self.node_mut(id).filter(|node| matches!(node.presence, Presence::On)) else { continue };
            let straggler = node.take_straggler(now, rate);
            players.push(straggler.unwrap_or_else(|| self.receiver(id).waiting(left, self.last_senders.contains(id))));
        }
        players
    }

    fn receiver(&self, node: NodeId) -> Player {
        let listen_only = self.node(node).is_some_and(|node| node.config.listen_only);
        Player::receiver(node, self.counters(node), listen_only)
    }

    /// Ends the episode: reports results, and computes when nodes may send again.
    fn settle(&mut self, broken: &Broken, events: &mut Vec<Event>) {
        let episode = &broken.episode;
        let end = broken.time_of(episode.moment);
        let free = end + bits_ns(INTERMISSION_BITS.into(), broken.timing.nominal);
        self.intermission_until = free;
        self.last_senders = named(episode, |player| player.transmitter);
        self.quiet_since = broken.time_of(episode.quiet_since);
        self.busy_ns += free.since(broken.start);
        for player in &episode.players {
            self.count(end, player.node, player.counters, events);
            self.set_free(player, end, broken.timing.nominal);
        }
        let Some(clean) = &broken.clean else { return };
        self.report_losers(clean, events);
        let mut receivers: NodeSet = named(episode, |player| player.report.accepted);
        let report = |node: NodeId| {
            let player = episode.players.iter().find(|player| player.node == node);
            player.map(|player| player.report).unwrap_or_default()
        };
        for sending in &clean.senders {
            let report = report(sending.node);
            let &Sending { node, tag, frame, retries, lost } = sending;
            let start = clean.start;
            if report.sent {
                if let Some(node) = self.node_mut(node) {
                    node.controller.remove(tag);
                }
                let receivers = std::mem::take(&mut receivers);
                let bits = FrameBits::of(&frame).without_intermission();
                let end = start + bits.wire_time_ns(clean.timing.nominal, clean.timing.data);
                events.push(Event::Delivered { end, start, sender: node, tag, frame, retries, lost, receivers });
            } else if let Some(bit) = report.lost {
                // The arbitration field is sent at the nominal bit rate.
                self.lose(*sending, bit, broken.time_without_skips(Moment { nominal: bit, data: 0 }), events);
            } else {
                let given_up = self.try_again(node, tag);
                events.push(self.error(broken, sending, end, given_up));
            }
        }
        if clean.senders.iter().all(|sending| report(sending.node).lost.is_some()) {
            // A dominant bit without a sender: arbitration has no winner, and the frame broke.
            events.push(self.error(broken, &clean.senders[0], end, None));
        }
    }

    /// The error of a frame, as seen by all nodes.
    fn error(&self, broken: &Broken, sending: &Sending, end: BusNs, given_up: Option<Tag>) -> Event {
        let players = &broken.episode.players;
        let first = players.iter().filter_map(|player| player.report.error).min_by_key(|(bit, _)| *bit);
        let own = players.iter().find(|player| player.node == sending.node).and_then(|player| player.report.error);
        let (bit, kind) = match (own, first) {
            (Some(own), Some(first)) if own.0 == first.0 => own,
            // No node detected an error after a sender left: it ends there.
            (_, first) => first.unwrap_or_else(|| (broken.episode.bit - 1, ErrorKind::Form)),
        };
        let detected = named(&broken.episode, |player| player.report.error.is_some());
        let at = broken.episode.noticed.map_or(end, |moment| broken.time_without_skips(moment));
        let start = broken.start;
        Event::Error { at, start, end, sender: sending.node, frame: sending.frame, bit, kind, detected, given_up }
    }

    /// Keeps the frame for a retry, or gives it up in one-shot mode.
    fn try_again(&mut self, node: NodeId, tag: Tag) -> Option<Tag> {
        let node = self.node_mut(node)?;
        let one_shot = node.config.one_shot;
        let pending = node.controller.pending_mut(tag)?;
        pending.retries += 1;
        one_shot.then(|| {
            node.controller.remove(tag);
            tag
        })
    }

    fn set_free(&mut self, player: &Player, end: BusNs, rate: BitRate) {
        let Some(node) = self.node_mut(player.node) else { return };
        if !matches!(node.presence, Presence::On) {
            return;
        }
        let bits = player.bits_until_ready() + INTERMISSION_BITS + player.suspend_bits();
        node.free_at = end + bits_ns(bits.into(), rate);
        if !player.is_ready() {
            node.straggler = Some((player.unfinished(), end));
        }
    }
}

fn named(episode: &Episode, which: impl Fn(&Player) -> bool) -> NodeSet {
    episode.players.iter().filter(|player| which(player)).map(|player| player.node).collect()
}
