//! The profiles of AUTOSAR E2E, as lines of a table.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::catalogue::{self, Named};
use crate::checksum::Checksum;
use crate::error::SchemeError;
use crate::names::{IdMode, Profile};
use crate::place::{ByteOrder, Place};
use crate::scheme::{Counter, DataId, Scheme};

/// Where a profile has its Data-ID.
enum Id {
    /// Before the payload, by mode.
    Mode { has_all: bool },
    /// After the payload, one of 16 bytes by counter.
    List,
    /// After the payload, 16 bits.
    After(ByteOrder),
    /// In the header, 32 bits.
    Header { byte: u16 },
}

/// A line of the table, which has the order of [`Profile::ALL`]. Bytes are counted from the start of the header.
struct Layout {
    crc: &'static Named,
    /// Byte of the CRC and its order.
    result: (u16, ByteOrder),
    /// Bytes of the header.
    header: u16,
    /// The longest payload in bytes.
    longest: usize,
    counter: Place,
    /// The largest and the first counter.
    values: (u32, u32),
    id: Id,
    /// Byte and number of bytes of the length; then the length is variable.
    length: Option<(u16, u8)>,
    /// The rule of the receiver for lost frames.
    widens: bool,
}

use ByteOrder::{Big, Little};

const NIBBLE: Place = Place::low_nibble(1);
/// The standard allows 4 MiB in P07, but no CAN frame has more than 2048 bytes.
const LONGEST: usize = 4096;

#[rustfmt::skip]
static TABLE: [Layout; 8] = [
    Layout { crc: &catalogue::P01, result: (0, Little), header: 2, longest: 30,
             counter: NIBBLE, values: (14, 0), id: Id::Mode { has_all: true }, length: None, widens: true },
    Layout { crc: &catalogue::P02, result: (0, Little), header: 2, longest: 32,
             counter: NIBBLE, values: (15, 1), id: Id::List, length: None, widens: true },
    Layout { crc: &catalogue::P04, result: (8, Big), header: 12, longest: LONGEST,
             counter: Place::bytes(2, 2, Big), values: (0xFFFF, 0), id: Id::Header { byte: 4 }, length: Some((0, 2)), widens: false },
    Layout { crc: &catalogue::P05, result: (0, Little), header: 3, longest: LONGEST,
             counter: Place::byte(2), values: (0xFF, 0), id: Id::After(Little), length: None, widens: false },
    Layout { crc: &catalogue::P05, result: (0, Big), header: 5, longest: LONGEST,
             counter: Place::byte(4), values: (0xFF, 0), id: Id::After(Big), length: Some((2, 2)), widens: false },
    Layout { crc: &catalogue::P07, result: (0, Big), header: 20, longest: LONGEST,
             counter: Place::bytes(12, 4, Big), values: (u32::MAX, 0), id: Id::Header { byte: 16 }, length: Some((8, 4)), widens: false },
    Layout { crc: &catalogue::P01, result: (0, Little), header: 2, longest: 30,
             counter: NIBBLE, values: (14, 0), id: Id::Mode { has_all: false }, length: None, widens: false },
    Layout { crc: &catalogue::P02, result: (0, Little), header: 2, longest: 32,
             counter: NIBBLE, values: (15, 1), id: Id::List, length: None, widens: false },
];

impl Profile {
    /// The number of Data-IDs: 16 if the counter chooses one, otherwise 1.
    #[must_use]
    pub fn data_ids(self) -> usize {
        if matches!(self.layout().id, Id::List) { 16 } else { 1 }
    }

    /// Bytes of the header.
    #[must_use]
    pub fn header(self) -> usize {
        self.layout().header.into()
    }

    fn layout(self) -> &'static Layout {
        &TABLE[self as usize]
    }
}

/// A profile and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The profile.
    pub profile: Profile,
    /// One Data-ID, or 16 in P02 and P22.
    pub data_ids: Vec<u32>,
    /// For P01 and P11.
    pub mode: IdMode,
    /// The first byte of the header.
    pub offset: u16,
    /// Lengths of payloads in bytes; more than one in P04, P06 and P07.
    pub len: RangeInclusive<usize>,
    /// MaxDeltaCounter, in P01 and P02 MaxDeltaCounterInit. In these two, one more is accepted: with 1, the counters 2 and 3
    /// after 1; and another one for each rejected or repeated frame in between.
    pub max_delta: u32,
    /// As [`Counter::resync`].
    pub resync: u32,
}

impl Settings {
    /// Header at byte 0, mode [`Both`](IdMode::Both), MaxDeltaCounter 1, payloads of this length.
    #[must_use]
    pub fn new(profile: Profile, data_ids: impl Into<Vec<u32>>, len: usize) -> Self {
        let data_ids = data_ids.into();
        Self { profile, data_ids, mode: IdMode::default(), offset: 0, len: len..=len, max_delta: 1, resync: 0 }
    }

    /// The scheme. Change its places if CRC, counter and nibble are not where variants A, B and C have them.
    ///
    /// # Errors
    /// If the Data-IDs, the mode, the offset or the length are not possible in this profile.
    pub fn scheme(&self) -> Result<Scheme, SchemeError> {
        let Self { profile, offset, .. } = *self;
        let line = profile.layout();
        self.check_len(line)?;
        let place = |place: Place| Place { start: place.start + 8 * offset, ..place };
        let (crc_byte, crc_order) = line.result;
        let mut scheme = Scheme::new(
            Checksum::Crc(line.crc.algorithm),
            place(Place::bytes(crc_byte, line.crc.algorithm.width / 8, crc_order)),
            0,
        );
        scheme.len = self.len.clone();
        scheme.length = line.length.map(|(byte, count)| place(Place::bytes(byte, count, Big)));
        let counter = Counter::new(place(line.counter));
        let (max, first) = line.values;
        let (max_delta, resync, widens) = (self.max_delta, self.resync, line.widens);
        scheme.counter = Some(Counter { max, first, max_delta, widens, resync, ..counter });
        (scheme.data_id, scheme.constants) = self.data_id(line)?;
        Ok(scheme)
    }

    fn check_len(&self, line: &Layout) -> Result<(), SchemeError> {
        let Self { profile, offset, .. } = *self;
        let (first, last) = (*self.len.start(), *self.len.end());
        let (min, max) = (usize::from(line.header) + usize::from(offset), line.longest);
        if min > max {
            return Err(SchemeError::Offset { profile, offset, byte: min - 1, max });
        }
        if let Some(len) = [first, last].into_iter().find(|len| !(min..=max).contains(len)) {
            return Err(SchemeError::ProfileLen { profile, offset, min, max, len });
        }
        if first != last && line.length.is_none() {
            return Err(SchemeError::VariableLen { profile, min: first, max: last });
        }
        Ok(())
    }

    /// Bytes that are only in the CRC, and fields in the header.
    fn data_id(&self, line: &Layout) -> Result<(DataId, Vec<(Place, u64)>), SchemeError> {
        let Self { profile, mode, offset, .. } = *self;
        let (needed, count) = (profile.data_ids(), self.data_ids.len());
        let [id, ..] = self.data_ids[..] else {
            return Err(SchemeError::DataIdCount { profile, needed, count });
        };
        if count != needed {
            return Err(SchemeError::DataIdCount { profile, needed, count });
        }
        let largest = match (&line.id, mode) {
            (Id::List, _) => 0xFF,
            (Id::Mode { .. }, IdMode::Nibble) => 0xFFF,
            (Id::Header { .. }, _) => u32::MAX,
            _ => 0xFFFF,
        };
        if let Some(value) = self.data_ids.iter().copied().find(|id| *id > largest) {
            return Err(SchemeError::DataId { profile, value, largest });
        }
        let [low, high, ..] = id.to_le_bytes();
        let (mut data_id, mut constants) = (DataId::default(), Vec::new());
        match (&line.id, mode) {
            (Id::Mode { .. }, IdMode::Both) => data_id.before = [[low, high].into()].into(),
            (Id::Mode { .. }, IdMode::Nibble) => {
                data_id.before = [[low, 0].into()].into();
                constants.push((Place::high_nibble(1 + offset), high.into()));
            }
            (Id::Mode { has_all: true }, IdMode::Alternating) => data_id.before = [[low].into(), [high].into()].into(),
            (Id::Mode { has_all: true }, IdMode::Low) => data_id.before = [[low].into()].into(),
            (Id::Mode { .. }, _) => return Err(SchemeError::Mode { profile, mode, allowed: "use both or nibble" }),
            (_, mode) if mode != IdMode::Both => {
                return Err(SchemeError::Mode { profile, mode, allowed: "only P01 and P11 have modes" });
            }
            (Id::List, _) => {
                let bytes = self.data_ids.iter().map(|id| id.to_le_bytes()[..1].into());
                data_id.after = bytes.collect();
            }
            (Id::After(Little), _) => data_id.after = [[low, high].into()].into(),
            (Id::After(Big), _) => data_id.after = [[high, low].into()].into(),
            (Id::Header { byte }, _) => constants.push((Place::bytes(byte + offset, 4, Big), id.into())),
        }
        Ok((data_id, constants))
    }
}
