//! `[egress.BUS]` as a value: bands from the most urgent one to the background, what belongs to each, and what it may do.
//!
//! A [`Policy`] says what is wanted and never how. [`super::compile`] makes the [`super::tree::Tree`] of it.

use std::num::{NonZeroU8, NonZeroU32};
use std::ops::RangeInclusive;

use super::control_group::{GroupName, MOST_GROUPS};
use super::tree::Tree;
use candor_core::frame::RawId;
use candor_core::ids::IdSet;
use candor_core::job::BusIndex;
use candor_core::units::BitRate;

/// What waits before a bus, and in which order: `[egress.BUS]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Egress {
    pub bus: BusIndex,
    pub wish: Wish,
}

/// How a file says what is to wait before a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Bands(Policy),
    Tree(Tree),
}

/// `TCQ_PRIO_BANDS` of `prio`.
pub const MOST_BANDS: usize = 16;
/// What one flow of `sfq` holds at most (`SFQ_MAX_DEPTH`), and how many flows it has unless told otherwise.
pub const MOST_FRAMES_OF_A_SENDER: u32 = 127;
/// A queue of half an hour and more at 500 kbit/s; who wants more wants something else.
pub const MOST_FRAMES: u32 = 1 << 20;
/// Identifier rules of a policy. Each may become a filter that has to be made, read and compared, so more would be felt.
pub const MOST_RULES: u64 = 1 << 14;
/// Of those, in a limit: it has to be one filter, which has to fit into an attribute of netlink.
pub const MOST_RULES_OF_A_LIMIT: u64 = 2000;
pub const MOST_SELECTIONS_OF_A_LIMIT: usize = 100;
/// The longest classic frame: 29-bit identifier, 8 bytes, every stuff bit there can be, and the intermission.
pub const LONGEST_CLASSIC_BITS: u64 = 160;

/// What leaves first, what waits, and what is dropped, on one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    bands: Vec<Band>,
    limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("Band {0} says not which frames belong to it")]
    EmptyBand(usize),
    #[error(
        "Limit {0} has more than {MOST_RULES_OF_A_LIMIT} rules for identifiers, {MOST_SELECTIONS_OF_A_LIMIT} selections or \
         {MOST_GROUPS} control groups, the most that one filter of the kernel has room for"
    )]
    LargeLimit(usize),
    #[error("Band {0} is alone with its share, or has none behind one that has: the last bands share, two or more")]
    LonelyShare(usize),
    #[error("Limit {0} chooses some of its frames by control group and others not")]
    MixedLimit(usize),
    #[error("A selection chooses by control group and by something else at once")]
    MixedSelection,
    #[error("There is no band")]
    NoBand,
    #[error("The last band takes what is left and cannot choose")]
    LastChooses,
    #[error("Band {0} has a share and a rate")]
    ShareAndRate(usize),
    #[error("There are {0} bands, and prio has at most {MOST_BANDS}")]
    TooManyBands(usize),
    #[error("The identifiers need {0} rules, more than the {MOST_RULES} that candor gives to the kernel")]
    TooManyRules(u64),
}

impl Policy {
    /// Bands, the most urgent first, and limits that hold before any of them.
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

    /// The bands, the most urgent first. The last one takes what is left.
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

/// The band that keeps the last ones from sharing.
fn lonely_share(bands: &[Band]) -> Option<usize> {
    let first = bands.iter().position(|band| band.share.is_some())?;
    let without = bands[first..].iter().position(|band| band.share.is_none()).map(|behind| first + behind);
    without.or_else(|| (first + 1 == bands.len()).then_some(first))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    pub name: String,
    /// Frames that any of these takes belong to it, unless they belong to a band above.
    pub take: Vec<Selection>,
    pub queue: Queue,
    /// How many may leave; as many as the bus takes if nobody says it.
    pub rate: Option<FrameRate>,
    /// Frames for each round with the other bands that have a share, which come behind all that have none. What one of them
    /// leaves the others get.
    pub share: Option<NonZeroU8>,
}

/// No more than so many frames of some kind, whatever band they belong to: what is above is refused and never waits.
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

/// Some frames: those for which all is true that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub ids: Option<IdSet>,
    pub kind: Option<FrameKind>,
    /// By length of payload in bytes.
    pub length: Option<RangeInclusive<u8>>,
    /// By the bus from which the kernel forwards them; any of these, or any frame if there are none.
    pub from: Vec<BusIndex>,
    /// By `SO_PRIORITY`; any of these.
    pub socket_priorities: Vec<u32>,
    /// By `SO_MARK`; any of these.
    pub marks: Vec<Mark>,
    /// By the control group of the socket that sends them; any of these, and then by nothing else.
    pub groups: Vec<GroupName>,
}

impl Selection {
    /// Whether it chooses by control group and by something else.
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

/// A frame on its way out, as far as policies look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'f> {
    pub id: RawId,
    pub len: u8,
    pub priority: u32,
    /// The mark that it bears: that of its source, if a policy knows frames by where they came from.
    pub mark: u32,
    /// The bus from which the kernel forwards it.
    pub from: Option<BusIndex>,
    /// The control groups that its socket belongs to, by all their names.
    pub groups: &'f [GroupName],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    fair: Fair,
    frames: u32,
    full: Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A queue has 1 to {most} frames")]
pub struct QueueError {
    pub most: u32,
}

impl Queue {
    /// A queue for so many frames; where it is fair, for so many of each sender.
    pub fn new(fair: Fair, frames: u32, full: Full) -> Result<Self, QueueError> {
        let most = fair.most_frames();
        if (1..=most).contains(&frames) { Ok(Self { fair, frames, full }) } else { Err(QueueError { most }) }
    }

    #[must_use]
    pub const fn fair(self) -> Fair {
        self.fair
    }

    /// How many frames wait at most; where it is fair, of each sender.
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
    /// Sockets take turns. All that gateways forward counts as one.
    PerSocket,
    PerUser,
}

impl Fair {
    /// How many frames a queue may have, or one sender in it.
    #[must_use]
    pub const fn most_frames(self) -> u32 {
        match self {
            Self::No => MOST_FRAMES,
            Self::PerMark | Self::PerSocket | Self::PerUser => MOST_FRAMES_OF_A_SENDER,
        }
    }
}

/// What happens to a frame for which a band has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The oldest frame goes, and nobody hears of it.
    DropOldest,
    /// The sender gets `ENOBUFS`.
    Refuse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameRate(NonZeroU32);

impl FrameRate {
    /// So many; `None` for none.
    #[must_use]
    pub const fn new(frames_per_second: u32) -> Option<Self> {
        match NonZeroU32::new(frames_per_second) {
            Some(rate) => Some(Self(rate)),
            None => None,
        }
    }

    /// A share of a bus in thousandths, reckoned with the longest classic frames. `None` if that is no frame in a second.
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
    fn every_frame_belongs_to_a_band_and_every_band_can_have_one() {
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
    fn the_last_bands_share_or_none() {
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
    fn a_sender_in_a_fair_band_has_less_room() {
        assert!(Queue::new(Fair::PerSocket, 127, Full::Refuse).is_ok());
        assert_eq!(Queue::new(Fair::PerSocket, 128, Full::Refuse), Err(QueueError { most: 127 }));
        assert!(Queue::new(Fair::No, 128, Full::Refuse).is_ok());
        assert!(Queue::new(Fair::No, 0, Full::Refuse).is_err());
    }

    #[test]
    fn a_share_of_a_bus_is_reckoned_with_its_longest_frames() {
        let bus = BitRate::from_bits_per_second(500_000).unwrap();
        assert_eq!(FrameRate::share(bus, 200).map(FrameRate::frames_per_second), Some(625));
        assert_eq!(FrameRate::share(bus, 1000).map(FrameRate::frames_per_second), Some(3125));
        let slow = BitRate::from_bits_per_second(10_000).unwrap();
        assert_eq!(FrameRate::share(slow, 10), None);
    }
}
