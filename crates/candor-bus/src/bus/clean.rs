//! Undisturbed frames. Their end follows from their length.

use super::{Bus, FrameBits, NodeId, NodeSet, Presence, Priority, Tag, Wire, WireBits, bits_ns};
use crate::episode::{FLAG_BITS, Player};
use crate::event::Event;
use crate::fault::Disturbance;
use crate::node::{BusNs, Timing};
use candor_core::bits::END_OF_FRAME_BITS;
use candor_core::frame::{CANFD_ESI, Frame, FrameFormat};

/// Equal bits after which a receiver with another bit rate detects an error, at the slower of both rates.
const MISTIMED_BITS: u32 = 6;

/// Acknowledge delimiter and end of frame.
const AFTER_ACKNOWLEDGEMENT: u32 = 1 + END_OF_FRAME_BITS;

/// A frame on the wire.
#[derive(Clone, Debug)]
pub(super) struct Clean {
    pub(super) start: BusNs,
    end: BusNs,
    /// End of the frame, or start of the first disturbed bit.
    pub(super) next: BusNs,
    /// End of the intermission.
    free: BusNs,
    pub(super) timing: Timing,
    /// Usually one; several if nodes send the same identifier at the same time.
    pub(super) senders: Vec<Sending>,
    pub(super) losers: Vec<Loser>,
    pub(super) receivers: NodeSet,
    /// First disturbed bit, and the faults.
    pub(super) wrong: Option<(u32, Wrong)>,
}

/// A node and its frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) node: NodeId,
    pub(super) tag: Tag,
    pub(super) frame: Frame,
    pub(super) retries: u32,
    pub(super) lost: u32,
}

/// A node that loses arbitration at this bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loser {
    pub(super) sending: Sending,
    pub(super) bit: u32,
}

/// Faults of a frame, for which it is simulated bit by bit.
#[derive(Clone, Debug, Default)]
pub(super) struct Wrong {
    pub(super) flip: Option<u32>,
    pub(super) unacknowledged: bool,
    /// Receivers that misread a bit, with the bit and the length of their flags.
    pub(super) misread: Vec<(NodeId, u32, u32)>,
    /// Nodes that have not finished the previous frame.
    pub(super) stragglers: Vec<Player>,
}

impl Clean {
    /// The first bit that is simulated.
    pub(super) fn breaks_at(&self) -> Option<u32> {
        self.wrong.as_ref().map(|(bit, _)| *bit)
    }

    /// Start of a bit.
    pub(super) fn time_of(&self, bit: u32) -> BusNs {
        self.time_in(&WireBits::of(&self.senders[0].frame), bit)
    }

    fn time_in(&self, levels: &WireBits, bit: u32) -> BusNs {
        let (nominal, data) = levels.before(bit);
        let bits = FrameBits { nominal, data, stuff: 0 };
        self.start + bits.wire_time_ns(self.timing.nominal, self.timing.data)
    }

    /// The first bit that begins at this time or later.
    pub(super) fn bit_at(&self, time: BusNs) -> u32 {
        let levels = WireBits::of(&self.senders[0].frame);
        let bit = (0..levels.len()).find(|&bit| self.time_in(&levels, bit) >= time).unwrap_or_else(|| levels.len());
        self.breaks_at().map_or(bit, |breaks| bit.min(breaks))
    }

    pub(super) fn involves(&self, node: NodeId) -> bool {
        self.receivers.contains(node) || self.sends(node).is_some()
    }

    pub(super) fn sends(&self, node: NodeId) -> Option<Tag> {
        self.senders.iter().find(|sending| sending.node == node).map(|sending| sending.tag)
    }
}

impl Bus {
    /// Starts the frames of all nodes that may send.
    pub(super) fn start(&mut self, at: BusNs) {
        let mut contenders: Vec<(Priority, Sending)> = self.contenders(at);
        contenders.sort_by_key(|(priority, sending)| (*priority, sending.node));
        let Some(&(priority, first)) = contenders.first() else { return };
        self.end_silence(at);
        let timing = self.nodes[usize::from(first.node.0)].config.timing;
        self.bit_rate = timing.nominal;

        let timing_of = |node: NodeId| self.nodes[usize::from(node.0)].config.timing;
        let wins = |(other, sending): &(Priority, Sending)| *other == priority && timing_of(sending.node) == timing;
        let senders: Vec<Sending> = contenders.iter().filter(|one| wins(one)).map(|(_, sending)| *sending).collect();
        let others: Vec<Sending> = contenders.iter().filter(|one| !wins(one)).map(|(_, sending)| *sending).collect();
        let losers = losers(&first, &others);

        for sending in &senders {
            self.nodes[usize::from(sending.node.0)].straggler = None;
        }
        let length = FrameBits::of(&first.frame);
        let time = |bits: FrameBits| at + bits.wire_time_ns(timing.nominal, timing.data);
        let receiving = |node: &NodeId| {
            let on = matches!(self.nodes[usize::from(node.0)].presence, Presence::On);
            on && !senders.iter().any(|sending| sending.node == *node)
        };
        let receivers: NodeSet = self.node_ids().filter(receiving).collect();
        let (end, free) = (time(length.without_intermission()), time(length));
        let mut clean = Clean { start: at, end, next: end, free, timing, senders, losers, receivers, wrong: None };
        clean.wrong = self.faults_of(&clean, length.without_intermission().total());
        clean.next = clean.breaks_at().map_or(end, |bit| clean.time_of(bit));
        self.wire = Wire::Clean(clean);
    }

    /// Ends an undisturbed frame.
    pub(super) fn deliver(&mut self, events: &mut Vec<Event>) {
        let Wire::Clean(clean) = std::mem::replace(&mut self.wire, Wire::Idle) else { return };
        self.report_losers(&clean, events);
        self.intermission_until = clean.free;
        self.last_senders = clean.senders.iter().map(|sending| sending.node).collect();
        let (end, start) = (clean.end, clean.start);
        self.quiet_since = BusNs(end.0 - bits_ns(AFTER_ACKNOWLEDGEMENT.into(), clean.timing.nominal));
        self.busy_ns += clean.free.since(start);
        for node in clean.receivers.iter() {
            if let Some(receiver) = self.node_mut(node) {
                receiver.free_at = clean.free;
                let mut counters = receiver.counters;
                if !receiver.config.listen_only {
                    counters.received();
                }
                self.count(self.quiet_since, node, counters, events);
            }
        }
        let mut receivers = clean.receivers;
        for &Sending { node, tag, frame, retries, lost } in &clean.senders {
            let mut counters = self.counters(node);
            counters.sent();
            self.count(end, node, counters, events);
            if let Some(sender) = self.node_mut(node) {
                sender.controller.remove(tag);
                sender.free_at = clean.free + bits_ns(counters.suspend_bits().into(), clean.timing.nominal);
            }
            let receivers = std::mem::take(&mut receivers);
            events.push(Event::Delivered { end, start, sender: node, tag, frame, retries, lost, receivers });
        }
    }

    /// Reports lost arbitration. One-shot frames are given up.
    pub(super) fn report_losers(&mut self, clean: &Clean, events: &mut Vec<Event>) {
        for loser in &clean.losers {
            self.lose(loser.sending, loser.bit, clean.time_of(loser.bit), events);
        }
    }

    pub(super) fn lose(&mut self, sending: Sending, bit: u32, at: BusNs, events: &mut Vec<Event>) {
        let Sending { node, tag, .. } = sending;
        let Some(loser) = self.node_mut(node) else { return };
        let mut given_up = None;
        // The node may have been switched off.
        if let Some(pending) = loser.controller.pending_mut(tag) {
            pending.lost += 1;
            given_up = loser.config.one_shot.then_some(tag);
        }
        if given_up.is_some() {
            loser.controller.remove(tag);
        }
        events.push(Event::LostArbitration { at, node, bit, given_up });
    }

    pub(super) fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u8::try_from(self.nodes.len()).unwrap_or(u8::MAX)).map(NodeId)
    }

    fn contenders(&self, at: BusNs) -> Vec<(Priority, Sending)> {
        let ready = |id: NodeId| {
            let node = self.node(id)?;
            let rate = self.bit_rate;
            self.earliest_start(node)
                .filter(|&start| start <= at || node.straggler_is_about_to_start(at, start, rate))?;
            let pending = node.controller.next(at)?;
            let (tag, mut frame, retries, lost) = (pending.tag, pending.frame, pending.retries, pending.lost);
            if frame.format == FrameFormat::Fd && node.counters.is_passive() {
                frame.flags |= CANFD_ESI;
            }
            Some((pending.priority, Sending { node: id, tag, frame, retries, lost }))
        };
        self.node_ids().filter_map(ready).collect()
    }

    /// The first bit to simulate, and the faults.
    fn faults_of(&mut self, clean: &Clean, len: u32) -> Option<(u32, Wrong)> {
        let first = clean.senders[0];
        let disturbance = self.faults.next(first.node, &first.frame, |node| clean.involves(node), len);
        let mut wrong = Wrong { stragglers: self.stragglers(clean), ..Wrong::default() };
        let mut bits = Vec::new();
        if !wrong.stragglers.is_empty() {
            bits.push(0);
        }
        match disturbance {
            Some(Disturbance::ErrorFlag { node, bit }) if clean.involves(node) && bit < len => {
                wrong.misread.push((node, bit, FLAG_BITS));
            }
            Some(Disturbance::Flip { bit }) if bit < len => {
                wrong.flip = Some(bit);
                bits.push(bit);
            }
            Some(Disturbance::NoAcknowledge) => wrong.unacknowledged = true,
            _ => {}
        }
        for node in clean.receivers.iter() {
            wrong.misread.extend(self.mistimed(clean, node, len).map(|(bit, flag_bits)| (node, bit, flag_bits)));
        }
        bits.extend(wrong.misread.iter().map(|(_, bit, _)| *bit));
        let acknowledge_slot = len - 1 - AFTER_ACKNOWLEDGEMENT;
        let hears = |node: NodeId| self.node(node).is_some_and(|node| !node.config.listen_only);
        if wrong.unacknowledged || !clean.receivers.iter().any(hears) {
            bits.push(acknowledge_slot);
        }
        if clean.senders.len() > 1 {
            let levels = WireBits::of(&first.frame);
            let differences = clean.senders.iter().map(|other| levels.first_difference(&WireBits::of(&other.frame)));
            bits.extend(differences.flatten());
        }
        // Receivers change their counters in the slot, even if errors follow.
        bits.into_iter().min().map(|bit| (bit.min(acknowledge_slot), wrong))
    }

    /// The bit at which a receiver with other bit rates detects an error, and the length of its flag.
    fn mistimed(&self, clean: &Clean, node: NodeId, len: u32) -> Option<(u32, u32)> {
        let timing = self.node(node)?.config.timing;
        let frame = &clean.senders[0].frame;
        if timing == clean.timing {
            return None;
        }
        let (sent, heard) = (clean.timing.nominal.bits_per_second(), timing.nominal.bits_per_second());
        if sent != heard {
            let flag = (u64::from(MISTIMED_BITS) * u64::from(sent)).div_ceil(u64::from(heard)).max(1);
            let bit = flag.max(MISTIMED_BITS.into()).min(u64::from(len) - 1);
            return Some((u32::try_from(bit).unwrap_or(u32::MAX), u32::try_from(flag).unwrap_or(u32::MAX)));
        }
        if frame.format == FrameFormat::Classic {
            return None;
        }
        let levels = WireBits::of(frame);
        match timing.data {
            // A classic controller takes FDF for a reserved bit, and reads a length after it.
            None => levels.fd_format().map(|bit| (bit + 1, FLAG_BITS)),
            Some(_) => levels.switch().map(|bit| (bit + MISTIMED_BITS, FLAG_BITS)),
        }
    }

    /// Removes and returns nodes that have not finished the previous frame.
    fn stragglers(&mut self, clean: &Clean) -> Vec<Player> {
        let rate = self.bit_rate;
        let straggler = |node| self.node_mut(node).and_then(|node| node.take_straggler(clean.start, rate));
        clean.receivers.iter().filter_map(straggler).filter(|player| !player.is_listening()).collect()
    }
}

/// Losers of arbitration, with the bits at which they lose.
fn losers(winner: &Sending, others: &[Sending]) -> Vec<Loser> {
    if others.is_empty() {
        return Vec::new();
    }
    let winning = WireBits::of(&winner.frame);
    let bit = |loser: &Sending| winning.first_difference(&WireBits::of(&loser.frame)).unwrap_or_default();
    others.iter().map(|loser| Loser { sending: *loser, bit: bit(loser) }).collect()
}
