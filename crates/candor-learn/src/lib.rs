//! Finds the checksum and the counter of an identifier in recorded payloads: CRC of any polynomial, XOR, sums, Data-IDs chosen by
//! the counter, and the profiles of AUTOSAR E2E.
//!
//! ```text
//!  payloads ──▶ Frames ─┬─▶ counters ──────────┐
//!  of one id            │                      ▼
//!                       └─▶ places × ranges ─▶ crc, plain, profile ─▶ candidates ─▶ all frames ─▶ Hypothesis
//!                                              (on a sample)                        (verified)
//! ```
//!
//! ```
//! use candor_e2e::{Checksum, Place, Protection, Scheme, Unit};
//! use candor_learn::{Outcome, learn};
//!
//! let sum = Checksum::Sum { unit: Unit::Byte, init: 0, negated: false, xorout: 0 };
//! let protection = Protection::new(&Scheme::new(sum, Place::byte(7), 8)).unwrap();
//! let mut payloads = Vec::new();
//! for at in 0..100_u8 {
//!     let mut payload = [at, at.wrapping_mul(37), 0, at.wrapping_mul(91) / 3, 0, 0, at / 7, 0];
//!     assert!(protection.follow(&mut payload));
//!     payloads.push(payload);
//! }
//! let learned = learn(payloads.iter().map(|payload| &payload[..]), None);
//! assert_eq!(learned.outcome, Outcome::Found);
//! assert_eq!(learned.schemes[0].scheme.checksum, sum);
//! assert_eq!((learned.schemes[0].explained, learned.schemes[0].of), (100, 100));
//! ```
//!
//! # What a log cannot say
//! For payloads of one length, start value, final value and a constant Data-ID before the payload are one constant; bytes that do
//! not vary are covered or not; XOR and complemented sums hold for each of their fields. [`Ambiguity`] names what is undecided,
//! and the scheme has the simplest choice.
//!
//! # What it does not find
//! * Checksums with a part that is not in the payload, but for constants and Data-IDs chosen by a counter: authentication codes,
//!   and checksums over several frames
//! * CRCs that are cut to fewer bits, that cover the bytes in reversed order, or whose field is not whole bytes or half a byte
//! * Sums of units wider than a byte, sums of signals, and sums whose carry is added again
//! * Ranges with gaps, and in payloads of more than 8 bytes those that start or end far from both ends
//!
//! The crate uses no clock, file or environment.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod allow;
mod arrivals;
mod candidate;
mod counter;
mod crc;
pub mod detect;
mod field;
mod frames;
mod gf2;
mod hypothesis;
mod listed;
mod plain;
mod profile;
mod scheme;
mod traffic;
mod written;

pub use allow::duration;
pub use arrivals::Arrivals;
pub use candidate::Ambiguity;
pub use counter::FoundCounter;
pub use hypothesis::Hypothesis;
pub use traffic::{EXTENDED, Recorded, name};
pub use written::{Follows, NotWritable, Written, written};

use frames::Frames;

/// The longest payload that is looked at, in bytes.
const LONGEST: usize = 64;
/// Different payloads below which "nothing" cannot be said.
pub const FEWEST: usize = 8;

/// The result in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// All payloads are equal: no evidence of anything.
    Constant,
    /// At least one scheme with strong evidence.
    Found,
    /// No scheme explains the payloads. There may be counters.
    Nothing,
    /// The payloads are empty, or have more than 64 bytes.
    Length,
    /// Fewer than 8 different payloads, and no scheme with any evidence.
    TooFew,
    /// Schemes explain the payloads, but so few different ones that this can be an accident.
    Weak,
}

/// What was learned from the payloads of one identifier.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The result in one word.
    pub outcome: Outcome,
    /// Bytes of the payloads that were looked at: the most frequent length.
    pub len: usize,
    /// Payloads of this length.
    pub frames: usize,
    /// Different ones among them.
    pub distinct: usize,
    /// Payloads of other lengths, which were not looked at.
    pub others: usize,
    /// Fields that count, the best first. None shares bits with another.
    pub counters: Vec<FoundCounter>,
    /// Schemes that explain at least 7 of 10 frames, the best first. None shares bits with the checksum of another.
    pub schemes: Vec<Hypothesis>,
}

/// Finds the schemes of the payloads of one identifier, in the order of reception. With the identifier, its bytes are recognised
/// in sums and XOR.
#[must_use]
pub fn learn<'a>(payloads: impl IntoIterator<Item = &'a [u8]>, identifier: Option<u32>) -> Learned {
    let frames = Frames::new(payloads);
    let mut learned = Learned {
        outcome: Outcome::Length,
        len: frames.len,
        frames: frames.count(),
        distinct: frames.distinct,
        others: frames.others,
        counters: Vec::new(),
        schemes: Vec::new(),
    };
    if !(1..=LONGEST).contains(&frames.len) {
        return learned;
    }
    if frames.distinct < 2 {
        learned.outcome = Outcome::Constant;
        return learned;
    }
    let counters = counter::find(&frames);
    let varying = frames.varying();
    let mut places = field::places(frames.len);
    // Every byte of a checksum varies.
    places.retain(|place| {
        let (first, end) = field::bytes(*place);
        (first..end).all(|at| field::mask(*place, at) & varying.get(at).copied().unwrap_or_default() != 0)
    });
    let mut candidates = profile::find(&frames, &counters);
    candidates.extend(plain::find(&frames, &places, &counters, identifier));
    candidates.extend(crc::find(&frames, &places, &counters));
    learned.schemes = hypothesis::ranked(&frames, candidates, &counters);
    learned.counters = counters;
    learned.outcome = match learned.schemes.first() {
        Some(best) if best.is_strong() => Outcome::Found,
        Some(_) => Outcome::Weak,
        None if frames.distinct < FEWEST => Outcome::TooFew,
        None => Outcome::Nothing,
    };
    learned
}
