//! Simulation of errors, bit by bit.
//!
//! [`Bus`](crate::Bus) computes the end of an undisturbed frame from its length. From the first wrong bit on, an
//! episode simulates all nodes one bit at a time, until all of them are ready for the next frame.
//!
//! ```text
//!            wrong bit
//!  frame ────────┤ flag 6 ├──────────┤ delimiter 8 ├ intermission
//!                 └ flags of others 6 ┘
//! ```

mod player;
mod reading;

use candor_core::bits::WireBits;

use crate::confinement::Counters;
use crate::node::NodeId;

use player::View;
pub(crate) use player::{FLAG_BITS, Player};
use reading::{Expected, Reading};

/// Time since the start of frame, in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Bits at the nominal bit rate.
    pub(crate) nominal: u32,
    /// Bits at the data bit rate.
    pub(crate) data: u32,
}

/// The wire and all nodes, bit by bit.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) players: Vec<Player>,
    /// The frames of the senders, equal up to the first simulated bit. Empty without a sender.
    frames: Vec<WireBits>,
    /// The frame that is sent, or was sent last.
    lead: usize,
    /// The position of its receivers.
    reading: Option<Reading>,
    /// The next bit, counted from the start of frame.
    pub(crate) bit: u32,
    /// Length of the current run of equal bits, and their level.
    run: u32,
    recessive: bool,
    /// Start of the next bit.
    pub(crate) moment: Moment,
    /// End of the last dominant bit.
    pub(crate) quiet_since: Moment,
    /// End of the first bit that a node found wrong.
    pub(crate) noticed: Option<Moment>,
    pub(crate) flip: Option<u32>,
    pub(crate) acknowledged: bool,
    /// Set while the wire is held dominant.
    pub(crate) stuck: bool,
}

impl Episode {
    /// An episode that starts at a bit of a frame that was undisturbed so far.
    pub(crate) fn new(frames: Vec<WireBits>, players: Vec<Player>, bit: u32) -> Self {
        let mut episode = Self {
            players,
            frames,
            lead: 0,
            reading: None,
            bit: 0,
            run: 0,
            recessive: true,
            moment: Moment::default(),
            quiet_since: Moment::default(),
            noticed: None,
            flip: None,
            acknowledged: true,
            stuck: false,
        };
        episode.reading = episode.frames.first().map(Reading::new);
        while episode.bit < bit {
            let acknowledge = episode.expected() == Expected::Acknowledge;
            let recessive = !acknowledge && episode.frames.iter().all(|frame| frame.is_recessive(episode.bit));
            episode.pass(recessive);
        }
        episode
    }

    /// End of the next bit.
    pub(crate) fn next_moment(&self) -> Moment {
        // Flags and waiting nodes use the nominal bit rate.
        let fast = self.senders().next().is_some() && self.frame().is_some_and(|frame| frame.is_fast(self.bit));
        let Moment { nominal, data } = self.moment;
        if fast { Moment { nominal, data: data + 1 } } else { Moment { nominal: nominal + 1, data } }
    }

    pub(crate) fn player_mut(&mut self, node: NodeId) -> Option<&mut Player> {
        self.players.iter_mut().find(|player| player.node == node)
    }

    /// Removes a node that is switched off.
    pub(crate) fn leave(&mut self, node: NodeId) {
        self.players.retain(|player| player.node != node);
    }

    /// Returns true if a node may begin the next frame after an intermission. Nodes do not wait for an error-passive
    /// one.
    pub(crate) fn is_over(&self) -> bool {
        let mut waiting = self.players.iter().filter(|player| !player.is_gone()).peekable();
        let is_empty = waiting.peek().is_none();
        !self.stuck && !self.players.iter().any(Player::is_busy) && (is_empty || waiting.any(Player::is_ready))
    }

    /// Returns true if further bits change nothing, because the wire is dominant and all counters are at their limits.
    pub(crate) fn is_saturated(&self) -> bool {
        let is_flipped = self.flip.is_some_and(|bit| bit >= self.bit);
        self.stuck && !is_flipped && !self.recessive && self.players.iter().all(Player::is_saturated)
    }

    /// Skips bits of a saturated episode. Returns the number of skipped bits that were not counted, in multiples of
    /// `rate`.
    pub(crate) fn skip(&mut self, bits: u64, rate: u64) -> u64 {
        for player in &mut self.players {
            player.skip(bits);
        }
        let nominal = u64::from(self.moment.nominal) + bits;
        let kept = if nominal < rate { nominal } else { nominal % rate };
        // Less than a 32-bit rate, or than the previous value.
        self.moment.nominal = u32::try_from(kept).unwrap_or(u32::MAX);
        self.quiet_since = self.moment;
        let bits = u32::try_from(bits).unwrap_or(u32::MAX);
        (self.run, self.bit) = (self.run.saturating_add(bits), self.bit.saturating_add(bits));
        (nominal - kept) / rate
    }

    /// Simulates one bit. Calls `changed` for nodes whose state changes at its end.
    pub(crate) fn step(&mut self, mut changed: impl FnMut(NodeId, Counters)) {
        let (bit, expected) = (self.bit, self.expected());
        let bits_after = self.reading.as_ref().and_then(Reading::bits_after_next);
        let driven =
            !self.players.iter().all(|player| player.drives_recessive(bit, expected, &self.frames, self.acknowledged));
        let recessive = (driven || self.stuck) == (self.flip == Some(bit));
        let before = (self.run, self.recessive);
        // The level of the frame: that of senders that were not overwritten.
        let right = self.senders().any(|frame| self.frames[frame].is_recessive(bit) == recessive)
            || self.senders().next().is_none() && self.frame().is_none_or(|frame| frame.is_recessive(bit) == recessive);
        self.pass(recessive);
        let view = View { bit, expected, recessive, before, run: self.run, bits_after, driven };
        for player in &mut self.players {
            let state = player.counters.state();
            let own = player.sends.map(|frame| &self.frames[frame]);
            player.see(view, own, right);
            if player.counters.state() != state {
                changed(player.node, player.counters);
            }
        }
        // Of several frames that are equal so far, the one with a remaining sender determines the next bits.
        let lead = self.senders().next().filter(|&lead| lead != self.lead);
        if let Some(lead) = lead {
            self.lead = lead;
            // Equal so far, but possibly of another length.
            let mut reading = Reading::new(&self.frames[lead]);
            (0..self.bit).for_each(|bit| reading.see(self.frames[lead].is_recessive(bit)));
            self.reading = Some(reading);
        }
        if self.noticed.is_none() && self.players.iter().any(|player| player.report.error.is_some()) {
            self.noticed = Some(self.moment);
        }
    }

    /// The frames that are being sent.
    fn senders(&self) -> impl Iterator<Item = usize> {
        let following = self.players.iter().filter(|player| player.is_following());
        following.filter_map(|player| player.sends)
    }

    fn frame(&self) -> Option<&WireBits> {
        self.frames.get(self.lead)
    }

    fn expected(&self) -> Expected {
        // Without a sender, nodes take the dominant level for a start of frame.
        self.reading.as_ref().map_or(Expected::Stuffed, Reading::expected)
    }

    /// Advances by one bit.
    fn pass(&mut self, recessive: bool) {
        self.run = if recessive == self.recessive { self.run.saturating_add(1) } else { 1 };
        self.recessive = recessive;
        if let Some(reading) = &mut self.reading {
            reading.see(recessive);
        }
        self.moment = self.next_moment();
        if !recessive {
            self.quiet_since = self.moment;
        }
        self.bit = self.bit.saturating_add(1);
    }
}
