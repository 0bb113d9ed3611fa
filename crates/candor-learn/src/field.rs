//! Reads fields, and says which bytes a checksum covers.

use candor_e2e::{ByteOrder, Place};

/// The bytes of a field: its first, and one after its last.
pub(crate) fn bytes(place: Place) -> (usize, usize) {
    let first = usize::from(place.start / 8);
    (first, first + usize::from((before(place) + u16::from(place.bits)).div_ceil(8)))
}

/// Bits of its first byte that are before its start.
fn before(place: Place) -> u16 {
    if place.order == ByteOrder::Big { 7 - place.start % 8 } else { place.start % 8 }
}

/// Bits of its bytes, joined in their order, that are below it.
fn below(place: Place) -> u16 {
    let used = before(place) + u16::from(place.bits);
    if place.order == ByteOrder::Big { used.next_multiple_of(8) - used } else { before(place) }
}

/// The value of a field. Bits after the end of the payload are zeros.
pub(crate) fn value(place: Place, payload: &[u8]) -> u64 {
    let (first, end) = bytes(place);
    let part = payload.get(first..end).unwrap_or_default();
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let joined = match place.order {
        ByteOrder::Little => part.iter().rev().fold(0, join),
        ByteOrder::Big => part.iter().fold(0, join),
    };
    joined >> below(place) & largest(place)
}

/// The largest value of a field.
pub(crate) fn largest(place: Place) -> u64 {
    u64::MAX >> (64 - u32::from(place.bits.clamp(1, 64)))
}

/// The bits of a field in one byte of the payload.
pub(crate) fn mask(place: Place, at: usize) -> u8 {
    let (first, end) = bytes(place);
    if !(first..end).contains(&at) {
        return 0;
    }
    let index = if place.order == ByteOrder::Big { end - 1 - at } else { at - first };
    let [byte, ..] = (largest(place) << below(place) >> (8 * index.min(7))).to_le_bytes();
    byte
}

/// True if two fields share bits.
pub(crate) fn overlap(one: Place, other: Place) -> bool {
    let (first, end) = bytes(one);
    (first..end).any(|at| mask(one, at) & mask(other, at) != 0)
}

/// What a checksum covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cover {
    pub(crate) place: Place,
    /// First and last byte.
    pub(crate) over: (usize, usize),
    /// The bits of the checksum count as zeros; otherwise its bytes are left out.
    pub(crate) zeroed: bool,
    /// Position and used bits of each byte.
    pub(crate) bytes: Vec<(usize, u8)>,
}

impl Cover {
    fn new(place: Place, over: (usize, usize), zeroed: bool) -> Self {
        let used = |at: usize| match mask(place, at) {
            0 => Some((at, 0xFF)),
            own => zeroed.then_some((at, !own)),
        };
        Self { place, over, zeroed, bytes: (over.0..=over.1).filter_map(used).collect() }
    }

    /// That of a scheme.
    pub(crate) fn of_scheme(place: Place, over: (usize, usize), zeroed: bool) -> Self {
        Self::new(place, over, zeroed)
    }

    /// All covers of a checksum at a place, the simplest first.
    ///
    /// Payloads of up to 8 bytes: all ranges. Longer ones: from one of the first bytes or from the checksum on, up to one of
    /// the last bytes or up to the checksum.
    pub(crate) fn all(place: Place, len: usize) -> Vec<Self> {
        let (first, end) = bytes(place);
        let is_whole = (first..end).all(|at| mask(place, at) == 0xFF);
        let is_long = len > 16;
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for from in 0..len {
            for to in from..len {
                let is_likely = (from <= 2 || from == end) && (to + 1 == len || to + 2 == len || to + 1 == first);
                if len <= 8 || is_likely {
                    ranges.push((from, to));
                }
            }
        }
        ranges.sort_by_key(|(from, to)| (from + len - 1 - to, *from));
        let mut covers: Vec<Self> = Vec::new();
        for over in ranges {
            for zeroed in [!is_whole, is_whole] {
                if is_long && zeroed == is_whole {
                    continue;
                }
                let cover = Self::new(place, over, zeroed);
                if !cover.bytes.is_empty() && covers.iter().all(|other| other.bytes != cover.bytes) {
                    covers.push(cover);
                }
            }
        }
        covers
    }

    /// The covered bytes of a payload.
    pub(crate) fn of(&self, payload: &[u8], covered: &mut Vec<u8>) {
        covered.clear();
        covered.extend(self.bytes.iter().map(|(at, used)| payload.get(*at).copied().unwrap_or_default() & used));
    }

    /// True if this bit field is covered.
    pub(crate) fn contains(&self, place: Place) -> bool {
        let (first, end) = bytes(place);
        let used = |at: usize| self.bytes.iter().find(|(byte, _)| *byte == at).map_or(0, |(_, used)| *used);
        (first..end).all(|at| mask(place, at) & !used(at) == 0)
    }
}

/// Where checksums are looked for: whole bytes, halves of bytes, and 2, 3, 4 or 8 bytes in both orders.
pub(crate) fn places(len: usize) -> Vec<Place> {
    let mut places = Vec::new();
    let at = |byte: usize| u16::try_from(byte).unwrap_or(u16::MAX);
    for byte in 0..len {
        places.push(Place::byte(at(byte)));
        places.push(Place::low_nibble(at(byte)));
        places.push(Place::high_nibble(at(byte)));
        for (count, size) in [(2, 2), (3, 3), (4, 4), (8, 8)] {
            if byte + size <= len {
                places.push(Place::bytes(at(byte), count, ByteOrder::Little));
                places.push(Place::bytes(at(byte), count, ByteOrder::Big));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use candor_e2e::oracle;

    use super::*;

    #[test]
    fn fields_are_those_of_the_oracle() {
        let payload = [0x12, 0x9A, 0xF3, 0x47, 0x55, 0xC8, 0x0E, 0xB1];
        for start in 0..64 {
            for bits in 1..=64 {
                for order in [ByteOrder::Little, ByteOrder::Big] {
                    let place = Place { start, bits, order };
                    if bytes(place).1 > 8 {
                        continue;
                    }
                    assert_eq!(value(place, &payload), oracle::get(place, &payload), "{place:?}");
                    let mut ones = [0; 8];
                    oracle::set(place, &mut ones, u64::MAX);
                    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|at| mask(place, at)), ones, "{place:?}");
                }
            }
        }
    }
}
