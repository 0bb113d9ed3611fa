//! `[egress.BUS]` as a value: bands from the most urgent one to the background, with their frames and limits.
//!
//! [`super::compile`] turns a [`Policy`] into a [`super::tree::Tree`].

use std::num::{NonZeroU8, NonZeroU32};
use std::ops::RangeInclusive;

use super::arbitration::Arbitration;
use super::control_group::{GroupName, MOST_GROUPS};
use super::tree::Tree;
use candor_core::frame::RawId;
use candor_core::ids::IdSet;
use candor_core::job::BusIndex;
use candor_core::units::BitRate;

/// `[egress.BUS]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Egress {
    pub bus: BusIndex,
    pub queueing: Queueing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queueing {
    Arbitration {
        queue: Arbitration,
        /// For kernels that have no such queues.
        otherwise: Policy,
    },
    Bands(Policy),
    Tree(Tree),
}

/// `TCQ_PRIO_BANDS` of `prio`.
pub const MOST_BANDS: usize = 16;
/// Largest flow of `sfq` (`SFQ_MAX_DEPTH`), and its default number of flows.
pub const MOST_FRAMES_OF_A_SENDER: u32 = 127;
/// More than half an hour at 500 kbit/s.
pub const MOST_FRAMES: u32 = 1 << 20;
/// Identifier rules of a policy. Each may become a filter to create, read and compare.
pub const MOST_RULES: u64 = 1 << 14;
/// Rules of a limit, which is one filter and has to fit into a netlink attribute.
pub const MOST_RULES_OF_A_LIMIT: u64 = 2000;
pub const MOST_SELECTIONS_OF_A_LIMIT: usize = 100;
/// The longest classic frame: 29-bit identifier, 8 bytes, all possible stuff bits, and the intermission.
pub const LONGEST_CLASSIC_BITS: u64 = 160;

/// The priorities, queues and limits of one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    bands: Vec<Band>,
    limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("Band {0} selects no frames")]
    EmptyBand(usize),
    #[error(
        "Limit {0} has more than {MOST_RULES_OF_A_LIMIT} rules for identifiers, {MOST_SELECTIONS_OF_A_LIMIT} selections or \
         {MOST_GROUPS} control groups, the maximum of one kernel filter"
    )]
    LargeLimit(usize),
    #[error("The bands with a share must be the last ones, and at least two; band {0} breaks this rule")]
    LonelyShare(usize),
    #[error("Limit {0} mixes selections by control group with others")]
    MixedLimit(usize),
    #[error("A selection combines a control group with other criteria")]
    MixedSelection,
    #[error("The policy has no band")]
    NoBand,
    #[error("The last band takes all remaining frames and cannot have a selection")]
    LastChooses,
    #[error("Band {0} has a share and a rate")]
    ShareAndRate(usize),
    #[error("{0} bands exceed the {MOST_BANDS} that prio supports")]
    TooManyBands(usize),
    #[error("The identifiers need {0} rules, more than the limit of {MOST_RULES}")]
    TooManyRules(u64),
}

impl Policy {
    /// Bands, the most urgent first, and limits that apply before them.
    pub fn new(bands: Vec<Band>, limits: Vec<Limit>) -> Result<Self, PolicyError> {
        if bands.len() > MOST_BANDS {
            return Err(PolicyError::TooManyBands(bands.len()));
        }
        let (last, others) = bands.split_last().ok_or(PolicyError::NoBand)?;
        if !last.take.is_empty() {
            return Err(PolicyError::LastChooses);
        }
        if let Some(empty) = others.iter().position(|band| band.take.is_empty()) {
            return Err(PolicyError::EmptyBand(empty));
        }
        if let Some(both) = bands.iter().position(|band| band.share.is_some() && band.rate.is_some()) {
            return Err(PolicyError::ShareAndRate(both));
        }
        if let Some(lonely) = lonely_share(&bands) {
            return Err(PolicyError::LonelyShare(lonely));
        }
        if let Some(large) = limits.iter().position(Limit::is_large) {
            return Err(PolicyError::LargeLimit(large));
        }
        let selections = bands.iter().flat_map(|band| &band.take).chain(limits.iter().flat_map(|limit| &limit.take));
        if selections.clone().any(Selection::is_mixed) {
            return Err(PolicyError::MixedSelection);
        }
        if let Some(mixed) = limits.iter().position(Limit::is_mixed) {
            return Err(PolicyError::MixedLimit(mixed));
        }
        let rules = selections.filter_map(|selection| selection.ids.as_ref()).map(IdSet::cube_count);
        let rules = rules.fold(0, u64::saturating_add);
        if rules > MOST_RULES { Err(PolicyError::TooManyRules(rules)) } else { Ok(Self { bands, limits }) }
    }

    /// The most urgent first. The last one takes the rest.
    #[must_use]
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The band to which a frame belongs: the first one that takes it.
    #[must_use]
    pub fn band_of(&self, frame: &Outgoing<'_>) -> usize {
        let takes = |band: &Band| band.take.iter().any(|selection| selection.takes(frame));
        self.bands.iter().position(takes).unwrap_or_else(|| self.bands.len().saturating_sub(1))
    }
}

/// The first band that violates the rule for shares.
fn lonely_share(bands: &[Band]) -> Option<usize> {
    let first = bands.iter().position(|band| band.share.is_some())?;
    let without = bands[first..].iter().position(|band| band.share.is_none()).map(|after| first + after);
    without.or_else(|| (first + 1 == bands.len()).then_some(first))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    pub name: String,
    /// Matching frames belong to it, unless they belong to a more urgent band.
    pub take: Vec<Selection>,
    pub queue: Queue,
    /// Maximum frame rate; unlimited if `None`.
    pub rate: Option<FrameRate>,
    /// Frames per round among the bands with a share, which come after all others. Bands can use each other's
    /// unused share.
    pub share: Option<NonZeroU8>,
}

/// A frame rate across bands; frames above it are refused and never queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub take: Vec<Selection>,
    pub rate: FrameRate,
    pub burst_frames: NonZeroU32,
}

impl Limit {
    fn is_large(&self) -> bool {
        let rules = self.take.iter().filter_map(|selection| selection.ids.as_ref()).map(IdSet::cube_count);
        let groups: usize = self.take.iter().map(|selection| selection.groups.len()).sum();
        self.take.len() > MOST_SELECTIONS_OF_A_LIMIT
            || rules.fold(0, u64::saturating_add) > MOST_RULES_OF_A_LIMIT
            || groups > MOST_GROUPS
    }

    fn is_mixed(&self) -> bool {
        let by_group = self.take.iter().filter(|selection| !selection.groups.is_empty()).count();
        (1..self.take.len()).contains(&by_group)
    }
}

/// Frames that meet all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub ids: Option<IdSet>,
    pub kind: Option<FrameKind>,
    /// By length of payload in bytes.
    pub length: Option<RangeInclusive<u8>>,
    /// The bus from which the kernel forwards them; any of these, or any frame if empty.
    pub from: Vec<BusIndex>,
    /// `SO_PRIORITY`; any of these.
    pub socket_priorities: Vec<u32>,
    /// `SO_MARK`; any of these.
    pub marks: Vec<Mark>,
    /// Control groups of the sending socket; any of these, and then no other condition.
    pub groups: Vec<GroupName>,
}

impl Selection {
    /// True if it combines a control group with other criteria.
    fn is_mixed(&self) -> bool {
        !self.groups.is_empty() && *self != Self { groups: self.groups.clone(), ..Self::default() }
    }

    fn takes(&self, frame: &Outgoing<'_>) -> bool {
        let any_of = |is_empty: bool, fits: bool| is_empty || fits;
        self.ids.as_ref().is_none_or(|ids| ids.contains(frame.id))
            && self.kind.is_none_or(|kind| (kind == FrameKind::Remote) == frame.id.is_rtr())
            && self.length.as_ref().is_none_or(|length| length.contains(&frame.len))
            && any_of(self.from.is_empty(), frame.from.is_some_and(|from| self.from.contains(&from)))
            && any_of(self.socket_priorities.is_empty(), self.socket_priorities.contains(&frame.priority))
            && any_of(self.marks.is_empty(), self.marks.iter().any(|mark| mark.fits(frame.mark)))
            && any_of(self.groups.is_empty(), self.groups.iter().any(|group| frame.groups.contains(group)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Data,
    Remote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub value: u32,
    pub mask: u32,
}

impl Mark {
    const fn fits(self, mark: u32) -> bool {
        (mark ^ self.value) & self.mask == 0
    }
}

/// The properties of a frame that policies select by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'f> {
    pub id: RawId,
    pub len: u8,
    pub priority: u32,
    /// Its mark: that of its source, if a policy selects by origin.
    pub mark: u32,
    /// The bus from which the kernel forwards it.
    pub from: Option<BusIndex>,
    /// All names of the control groups of its socket.
    pub groups: &'f [GroupName],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    fair: Fair,
    frames: u32,
    full: Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A queue must hold 1 to {most} frames")]
pub struct QueueError {
    pub most: u32,
}

impl Queue {
    /// A queue of this length; for each sender, if it is fair.
    pub fn new(fair: Fair, frames: u32, full: Full) -> Result<Self, QueueError> {
        let most = fair.most_frames();
        if (1..=most).contains(&frames) { Ok(Self { fair, frames, full }) } else { Err(QueueError { most }) }
    }

    #[must_use]
    pub const fn fair(self) -> Fair {
        self.fair
    }

    /// Its length; for each sender, if it is fair.
    #[must_use]
    pub const fn frames(self) -> u32 {
        self.frames
    }

    #[must_use]
    pub const fn full(self) -> Full {
        self.full
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fair {
    No,
    PerMark,
    /// All forwarded frames count as one socket.
    PerSocket,
    PerUser,
}

impl Fair {
    /// Largest length of a queue, or of a sender in it.
    #[must_use]
    pub const fn most_frames(self) -> u32 {
        match self {
            Self::No => MOST_FRAMES,
            Self::PerMark | Self::PerSocket | Self::PerUser => MOST_FRAMES_OF_A_SENDER,
        }
    }
}

/// Policy of a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Drops the oldest frame silently.
    DropOldest,
    /// The sender gets `ENOBUFS`.
    Refuse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameRate(NonZeroU32);

impl FrameRate {
    /// Returns `None` for a rate of 0.
    #[must_use]
    pub const fn new(frames_per_second: u32) -> Option<Self> {
        match NonZeroU32::new(frames_per_second) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// A share of a bus in thousandths, based on the longest classic frames. `None` if that is less than a frame per second.
    #[must_use]
    pub fn share(bus: BitRate, per_mille: u32) -> Option<Self> {
        let bits = u64::from(bus.bits_per_second()) * u64::from(per_mille) / 1000;
        Self::new(u32::try_from(bits / LONGEST_CLASSIC_BITS).unwrap_or(u32::MAX))
    }

    #[must_use]
    pub const fn frames_per_second(self) -> u32 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(name: &str, take: Vec<Selection>) -> Band {
        let queue = Queue::new(Fair::No, 10, Full::Refuse).unwrap();
        Band { name: name.to_owned(), take, queue, rate: None, share: None }
    }

    fn some() -> Vec<Selection> {
        vec![Selection { kind: Some(FrameKind::Data), ..Selection::default() }]
    }

    #[test]
    fn rejects_policies_with_unreachable_bands() {
        let new = |bands| Policy::new(bands, Vec::new());
        assert_eq!(new(Vec::new()), Err(PolicyError::NoBand));
        assert_eq!(new(vec![band("a", some())]), Err(PolicyError::LastChooses));
        assert_eq!(
            new(vec![band("a", some()), band("b", Vec::new()), band("c", Vec::new())]),
            Err(PolicyError::EmptyBand(1))
        );
        let many = |count: usize| {
            let mut bands: Vec<_> = (1..count).map(|_| band("a", some())).collect();
            bands.push(band("rest", Vec::new()));
            bands
        };
        assert_eq!(new(many(17)), Err(PolicyError::TooManyBands(17)));
        assert_eq!(new(many(16)).unwrap().bands().len(), 16);
    }

    #[test]
    fn shares_are_for_the_last_bands() {
        let of = |shares: &[u8]| {
            let bands = shares.iter().enumerate().map(|(at, share)| {
                let take = if at + 1 == shares.len() { Vec::new() } else { some() };
                Band { share: NonZeroU8::new(*share), ..band("a", take) }
            });
            bands.collect::<Vec<_>>()
        };
        let new = |bands| Policy::new(bands, Vec::new()).map(|policy| policy.bands().len());
        assert_eq!(new(of(&[0, 3, 1])), Ok(3));
        assert_eq!(new(of(&[3, 1, 6])), Ok(3));
        assert_eq!(new(of(&[3, 0, 1])), Err(PolicyError::LonelyShare(1)));
        assert_eq!(new(of(&[3, 1, 0])), Err(PolicyError::LonelyShare(2)));
        assert_eq!(new(of(&[0, 1])), Err(PolicyError::LonelyShare(1)));
        assert_eq!(new(of(&[1])), Err(PolicyError::LonelyShare(0)));
        let mut held_back = of(&[3, 1]);
        held_back[1].rate = FrameRate::new(20);
        assert_eq!(new(held_back), Err(PolicyError::ShareAndRate(1)));
    }

    #[test]
    fn fair_queues_are_shorter() {
        assert!(Queue::new(Fair::PerSocket, 127, Full::Refuse).is_ok());
        assert_eq!(Queue::new(Fair::PerSocket, 128, Full::Refuse), Err(QueueError { most: 127 }));
        assert!(Queue::new(Fair::No, 128, Full::Refuse).is_ok());
        assert!(Queue::new(Fair::No, 0, Full::Refuse).is_err());
    }

    #[test]
    fn bus_shares_assume_the_longest_frames() {
        let bus = BitRate::from_bits_per_second(500_000).unwrap();
        assert_eq!(FrameRate::share(bus, 200).map(FrameRate::frames_per_second), Some(625));
        assert_eq!(FrameRate::share(bus, 1000).map(FrameRate::frames_per_second), Some(3125));
        let slow = BitRate::from_bits_per_second(10_000).unwrap();
        assert_eq!(FrameRate::share(slow, 10), None);
    }
}
