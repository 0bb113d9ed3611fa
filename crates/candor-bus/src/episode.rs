//! Bit by bit: what nodes do when something is wrong.
//!
//! A frame that nothing disturbs needs none of this; [`Bus`](crate::Bus) knows its end from its length. From the first
//! bit that somebody finds wrong on, every node is played here one bit at a time, until all of them are ready for the
//! next frame.
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

/// A time in bits since the start of frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Bits at the nominal bit rate.
    pub(crate) nominal: u32,
    /// Bits at the data bit rate.
    pub(crate) data: u32,
}

/// The wire and all nodes on it, bit by bit.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    players: Vec<Player>,
    /// The frames of the senders, alike up to the first bit played here. None if nobody was sending.
    frames: Vec<WireBits>,
    /// The frame that somebody sends, or sent last.
    lead: usize,
    /// Where those are who receive it.
    reading: Option<Reading>,
    /// The next bit to be played.
    bit: u32,
    /// Length of the current run of equal bits, and their level.
    run: u32,
    recessive: bool,
    /// When it begins.
    moment: Moment,
    /// The end of the last dominant bit.
    quiet_since: Moment,
    /// The end of the first bit that somebody found wrong.
    noticed: Option<Moment>,
    flip: Option<u32>,
    acknowledged: bool,
    /// Somebody holds the wire dominant.
    pub(crate) stuck: bool,
}

impl Episode {
    /// The nodes at the beginning of a bit of a frame that went well so far.
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

    pub(crate) fn flip(&mut self, bit: u32) {
        self.flip = Some(bit);
    }

    pub(crate) const fn do_not_acknowledge(&mut self) {
        self.acknowledged = false;
    }

    /// Number of the next bit, counted from the start of frame.
    pub(crate) const fn bit(&self) -> u32 {
        self.bit
    }

    /// When the next bit begins.
    pub(crate) const fn moment(&self) -> Moment {
        self.moment
    }

    /// When it ends.
    pub(crate) fn next_moment(&self) -> Moment {
        // Who sends flags, or waits, does so at the nominal bit rate.
        let fast = self.senders().next().is_some() && self.frame().is_some_and(|frame| frame.is_fast(self.bit));
        let Moment { nominal, data } = self.moment;
        if fast { Moment { nominal, data: data + 1 } } else { Moment { nominal: nominal + 1, data } }
    }

    /// The end of the last dominant bit.
    pub(crate) const fn quiet_since(&self) -> Moment {
        self.quiet_since
    }

    /// The end of the first bit that somebody found wrong, if somebody has.
    pub(crate) const fn noticed(&self) -> Option<Moment> {
        self.noticed
    }

    pub(crate) fn players(&self) -> &[Player] {
        &self.players
    }

    pub(crate) fn player_mut(&mut self, node: NodeId) -> Option<&mut Player> {
        self.players.iter_mut().find(|player| player.node == node)
    }

    /// A node is switched off: it drives nothing any more.
    pub(crate) fn leave(&mut self, node: NodeId) {
        self.players.retain(|player| player.node != node);
    }

    /// Returns true if a node may begin the next frame after an intermission. Other nodes do not wait for an error-passive one.
    pub(crate) fn is_over(&self) -> bool {
        let mut waiting = self.players.iter().filter(|player| !player.is_gone()).peekable();
        let nobody = waiting.peek().is_none();
        !self.stuck && !self.players.iter().any(Player::is_busy) && (nobody || waiting.any(Player::is_ready))
    }

    /// Returns true if further bits change nothing, because the wire is dominant and all counters have reached their limits.
    pub(crate) fn is_numb(&self) -> bool {
        let is_flipped = self.flip.is_some_and(|bit| bit >= self.bit);
        self.stuck && !is_flipped && !self.recessive && self.players.iter().all(Player::is_numb)
    }

    /// Lets so many of such bits go by. Gives how many times `rate` bits were not counted, and still went by.
    pub(crate) fn pass_over(&mut self, bits: u64, rate: u64) -> u64 {
        for player in &mut self.players {
            player.pass_over(bits);
        }
        let nominal = u64::from(self.moment.nominal) + bits;
        let kept = if nominal < rate { nominal } else { nominal % rate };
        // What is kept is less than a 32-bit rate, or than what was there.
        self.moment.nominal = u32::try_from(kept).unwrap_or(u32::MAX);
        self.quiet_since = self.moment;
        let bits = u32::try_from(bits).unwrap_or(u32::MAX);
        (self.run, self.bit) = (self.run.saturating_add(bits), self.bit.saturating_add(bits));
        (nominal - kept) / rate
    }

    /// Plays one bit; the nodes whose state has changed at its end are named to `changed`.
    pub(crate) fn step(&mut self, mut changed: impl FnMut(NodeId, Counters)) {
        let (bit, expected) = (self.bit, self.expected());
        let bits_after = self.reading.as_ref().and_then(Reading::bits_after_next);
        let driven =
            !self.players.iter().all(|player| player.drives_recessive(bit, expected, &self.frames, self.acknowledged));
        let recessive = (driven || self.stuck) == (self.flip == Some(bit));
        let before = (self.run, self.recessive);
        // What the frame says here: the level of those who send it and were not overruled.
        let right = self.senders().any(|frame| self.frames[frame].is_recessive(bit) == recessive)
            || self.senders().next().is_none() && self.frame().is_none_or(|frame| frame.is_recessive(bit) == recessive);
        self.pass(recessive);
        let view = View { bit, expected, recessive, before, run: self.run, bits_after, driven };
        for player in &mut self.players {
            let state = player.counters.state();
            let own = player.sends().map(|frame| &self.frames[frame]);
            player.see(view, own, right);
            if player.counters.state() != state {
                changed(player.node, player.counters);
            }
        }
        // Of several frames, alike so far, the one that somebody goes on with says what the next bits are.
        let lead = self.senders().next().filter(|&lead| lead != self.lead);
        if let Some(lead) = lead {
            self.lead = lead;
            // Alike so far, but perhaps of another length.
            let mut reading = Reading::new(&self.frames[lead]);
            (0..self.bit).for_each(|bit| reading.see(self.frames[lead].is_recessive(bit)));
            self.reading = Some(reading);
        }
        if self.noticed.is_none() && self.players.iter().any(|player| player.report().error.is_some()) {
            self.noticed = Some(self.moment);
        }
    }

    /// The frames that are being sent.
    fn senders(&self) -> impl Iterator<Item = usize> {
        let following = self.players.iter().filter(|player| player.is_following());
        following.filter_map(Player::sends)
    }

    fn frame(&self) -> Option<&WireBits> {
        self.frames.get(self.lead)
    }

    fn expected(&self) -> Expected {
        // Without a sender there is only a dominant level that nodes take for a start of frame.
        self.reading.as_ref().map_or(Expected::Stuffed, Reading::expected)
    }

    /// A bit goes by.
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
