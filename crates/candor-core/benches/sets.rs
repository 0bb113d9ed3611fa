//! Rule sets of any size, and frames for them, for the measurements of `docs/speed.md`.

use std::collections::BTreeSet;

use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, Frame, FrameFormat, RawId};
use candor_core::job::{BusIndex, Job};
use candor_core::random::SplitMix64;
use candor_core::rule::{ChecksumSpan, Checksums, Modifications, Operand, XorChecksum};

/// Number of buses. Frames are received on the first.
pub(crate) const BUSES: usize = 9;
/// Number of frames prepared for a set.
pub(crate) const FRAMES: usize = 4096;

const EFF: u32 = CAN_EFF_FLAG;
/// Masks of 29-bit identifiers as in J1939: without the source, the destination, the priority, and so on.
const MASKS: [u32; 8] =
    [0x9FFF_FF00, 0x9FFF_00FF, 0x83FF_FFFF, 0x83FF_FF00, 0x9FFF_FFF0, 0x9FF0_FFFF, 0x9F0F_FFFF, 0x8FFF_FFFE];
/// The high bits of all identifiers in the mixed set: priority 6 of J1939.
const PRIORITY: u32 = EFF | 0x1800_0000;
/// Masks of some of the bits of [`PRIORITY`].
const PRIORITY_MASKS: [u32; 8] =
    [0x9C00_0000, 0x9800_0000, 0x9000_0000, 0x8800_0000, 0x8C00_0000, 0x9400_0000, 0x8400_0000, 0x8000_0000];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Single 11-bit identifiers, 2048 of each source bus.
    ExactStandard,
    /// Single 29-bit identifiers.
    ExactExtended,
    /// The same; each job sets the identifier, changes data and computes an XOR checksum.
    ExactExtendedChanging,
    /// A random mix of eight masks.
    MaskedExtended,
    /// Eight masks for each of a few identifiers: eight jobs match a frame.
    Overlapping,
    /// A random mix of eight masks; each excludes every frame.
    InvertedSilent,
    /// A quarter of single 11-bit identifiers, single 29-bit identifiers, masks, and inverted filters each.
    Mixed,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::ExactStandard,
        Self::ExactExtended,
        Self::ExactExtendedChanging,
        Self::MaskedExtended,
        Self::Overlapping,
        Self::InvertedSilent,
        Self::Mixed,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ExactStandard => "exact, 11 bits",
            Self::ExactExtended => "exact, 29 bits",
            Self::ExactExtendedChanging => "exact, 29 bits, changing",
            Self::MaskedExtended => "masked, 29 bits, 8 masks",
            Self::Overlapping => "masked, 8 masks, 8 fire",
            Self::InvertedSilent => "inverted, 8 masks, none fires",
            Self::Mixed => "mixed",
        }
    }

    pub(crate) fn jobs(self, count: usize) -> Vec<Job> {
        let mut random = Random(SplitMix64::new(2011));
        (0..count).map(|at| self.job(at, &mut random)).collect()
    }

    fn job(self, at: usize, random: &mut Random) -> Job {
        let low = u32::try_from(at).unwrap_or(0);
        match self {
            Self::ExactStandard => {
                let bus = BusIndex(at / 2048 % (BUSES - 1));
                Job { from: bus, ..job(Filter::exact(RawId(low % 2048))) }
            }
            Self::ExactExtended => job(Filter::exact(RawId(EFF | random.below(CAN_EFF_MASK)))),
            Self::ExactExtendedChanging => Job {
                modifications: Modifications {
                    set: Operand { id: Some(EFF | random.below(CAN_EFF_MASK)), ..Operand::NONE },
                    and: Operand { data: Some([0xF0; 64]), ..Operand::NONE },
                    or: Operand { data: Some([0x0A; 64]), ..Operand::NONE },
                    ..Modifications::NONE
                },
                checksums: Checksums {
                    xor: Some(XorChecksum { span: ChecksumSpan { from: 0, to: 6, result: 7 }, init: 0 }),
                    crc8: None,
                },
                ..Self::ExactExtended.job(at, random)
            },
            Self::MaskedExtended => {
                let (mask, id) = (MASKS[random.below(8) as usize], EFF | random.below(CAN_EFF_MASK));
                job(Filter { id, mask })
            }
            Self::Overlapping => {
                // The same number for eight rules.
                let id = EFF | Random(SplitMix64::new(at as u64 / 8)).below(CAN_EFF_MASK);
                job(Filter { id, mask: MASKS[at % 8] })
            }
            Self::InvertedSilent => {
                let mask = PRIORITY_MASKS[random.below(8) as usize];
                job(Filter { id: PRIORITY & mask | CAN_INV_FILTER, mask })
            }
            Self::Mixed => match at % 4 {
                0 => job(Filter::exact(RawId(PRIORITY | random.below(0x03FF_FFFF)))),
                1 => job(Filter { id: PRIORITY | random.below(0x03FF_FFFF), mask: MASKS[random.below(8) as usize] }),
                2 => job(Filter::exact(RawId(low / 4 % 2048))),
                _ => Self::InvertedSilent.job(at, random),
            },
        }
    }

    /// Returns the number of jobs that match each frame.
    pub(crate) fn fire(self, count: usize) -> usize {
        match self {
            Self::InvertedSilent => 0,
            Self::Overlapping => count.min(8),
            _ => 1,
        }
    }

    /// Frames that match the number of jobs of [`fire`](Self::fire), spread over all jobs.
    pub(crate) fn frames(self, jobs: &[Job]) -> Vec<Frame> {
        let mut random = Random(SplitMix64::new(2014));
        let targets: Vec<&Job> = jobs.iter().filter(|job| job.from == BusIndex(0) && self.is_target(job)).collect();
        let matching = |id: u32| {
            let on_bus = jobs.iter().filter(|job| job.from == BusIndex(0));
            on_bus.filter(|job| job.filter.normalise().matches(RawId(id))).count()
        };
        let wanted = self.fire(jobs.len());
        let mut known: BTreeSet<u32> = BTreeSet::new();
        let mut ids = Vec::new();
        let mut tries = 0;
        // Ambiguous identifiers are rare. A few distinct ones suffice, because they are repeated.
        while ids.len() < FRAMES.min(512) && tries < 4096 {
            tries += 1;
            let Filter { id, mask } = targets[random.below(u32::try_from(targets.len()).unwrap_or(1)) as usize].filter;
            let id = match self {
                Self::InvertedSilent => PRIORITY | random.below(0x03FF_FFFF),
                Self::Overlapping => id,
                _ => id & mask & !CAN_INV_FILTER | random.below(CAN_EFF_MASK) & !mask,
            };
            if known.insert(id) && matching(id) == wanted {
                ids.push(id);
            }
        }
        assert!(!ids.is_empty(), "{} has no frame", self.name());
        let frame = |id: &u32| Frame::classic(RawId(*id), &[1, 2, 3, 4, 5, 6, 7, 8]).expect("8 bytes");
        ids.iter().cycle().take(FRAMES).map(frame).collect()
    }

    /// Returns true if the job can match frames of this kind.
    fn is_target(self, job: &Job) -> bool {
        let is_extended = job.filter.id & EFF != 0;
        match self {
            Self::Mixed => is_extended && job.filter.id & CAN_INV_FILTER == 0,
            _ => true,
        }
    }
}

fn job(filter: Filter) -> Job {
    Job::plain(BusIndex(0), BusIndex(BUSES - 1), FrameFormat::Classic, filter)
}

struct Random(SplitMix64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.0.next_u64() % u64::from(end)).unwrap_or(0)
    }
}
