//! A scheme as described.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::checksum::Checksum;
use crate::place::{Field, Place};

/// Bytes that belong to the checksum but are not in the payload. A list of several is chosen by the counter: the entry
/// (counter modulo length of the list). Empty: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataId {
    /// Before the payload.
    pub before: Vec<Vec<u8>>,
    /// After the payload.
    pub after: Vec<Vec<u8>>,
}

/// A counter in the payload. It goes from `max` to `min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Where it is: up to 32 bits.
    pub place: Place,
    /// The smallest value.
    pub min: u32,
    /// The largest value.
    pub max: u32,
    /// The value of the first frame that a sender sends.
    pub first: u32,
    /// Up to this step, frames are lost but accepted. At least 1.
    pub max_delta: u32,
    /// `max_delta` grows by 1 with every frame after an accepted one, including the next: the rule of P01 and P02.
    pub widens: bool,
    /// After this many frames that follow each other, but not the accepted ones, a receiver starts again with the next. 0:
    /// never; the frames before the next turn of the counter are rejected, for example after a restart of the sender.
    pub resync: u32,
}

impl Counter {
    /// A counter of all values of its field, from 0 on.
    #[must_use]
    pub fn new(place: Place) -> Self {
        let max = Field::new(place).map_or(0, |field| u32::try_from(field.max()).unwrap_or(u32::MAX));
        Self { place, min: 0, max, first: 0, max_delta: 1, widens: false, resync: 0 }
    }
}

/// How payloads are protected.
///
/// A checksum over the payload, for example that of Toyota: the sum of the identifier's bytes, the length and all bytes but
/// the last, which holds it.
/// ```
/// use candor_e2e::{Checksum, Place, Protection, Scheme, Unit};
///
/// let sum = Checksum::Sum { unit: Unit::Byte, init: 0x2 + 0x60 + 8, negated: false, xorout: 0 };
/// let protection = Protection::new(&Scheme::new(sum, Place::byte(7), 8)).unwrap();
/// let mut payload = [0x00, 0xFF, 0xF4, 0x00, 0x00, 0xFF, 0xC5, 0];
/// assert!(protection.protect_with(0, &mut payload));
/// assert_eq!(payload[7], 0x21);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// How the checksum is computed.
    pub checksum: Checksum,
    /// Where it is.
    pub place: Place,
    /// The first and the last byte that it covers. Without a last one, up to the end of the payload.
    pub over: (u16, Option<u16>),
    /// Its own bits count as zeros. Otherwise the bytes in which it is are left out.
    pub zeroed: bool,
    /// What else it covers.
    pub data_id: DataId,
    /// The counter, if there is one.
    pub counter: Option<Counter>,
    /// Fields with a constant value, which senders write and receivers check.
    pub constants: Vec<(Place, u64)>,
    /// A field with the length of the payload in bytes.
    pub length: Option<Place>,
    /// Lengths of payloads in bytes.
    pub len: RangeInclusive<usize>,
}

impl Scheme {
    /// A checksum over all bytes of payloads of this length. If it fills whole bytes, these are left out; otherwise its own
    /// bits count as zeros.
    #[must_use]
    pub fn new(checksum: Checksum, place: Place, len: usize) -> Self {
        Self {
            checksum,
            place,
            over: (0, None),
            zeroed: Field::new(place).is_some_and(|field| !field.is_whole()),
            data_id: DataId::default(),
            counter: None,
            constants: Vec::new(),
            length: None,
            len: len..=len,
        }
    }
}
