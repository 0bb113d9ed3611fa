//! Bits of a payload.

/// The order of the bytes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Intel.
    Little,
    /// Motorola.
    Big,
}

/// Where a field is in a payload, counted as DBC files do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Bit 0 of byte 0 is 0, bit 7 of byte 1 is 15. Little: the least significant bit. Big: the most significant bit.
    pub start: u16,
    /// 1 to 64. With the bits before its start, at most 8 bytes.
    pub bits: u8,
    /// The order of the bytes.
    pub order: ByteOrder,
}

impl Place {
    /// A whole byte.
    #[must_use]
    pub const fn byte(at: u16) -> Self {
        Self { start: at.saturating_mul(8), bits: 8, order: ByteOrder::Little }
    }

    /// The low half of a byte.
    #[must_use]
    pub const fn low_nibble(at: u16) -> Self {
        Self { start: at.saturating_mul(8), bits: 4, order: ByteOrder::Little }
    }

    /// The high half of a byte.
    #[must_use]
    pub const fn high_nibble(at: u16) -> Self {
        Self { start: at.saturating_mul(8).saturating_add(4), bits: 4, order: ByteOrder::Little }
    }

    /// Whole bytes, up to 8.
    #[must_use]
    pub const fn bytes(at: u16, count: u8, order: ByteOrder) -> Self {
        let start = match order {
            ByteOrder::Little => at.saturating_mul(8),
            ByteOrder::Big => at.saturating_mul(8).saturating_add(7),
        };
        Self { start, bits: count.saturating_mul(8), order }
    }
}

/// A compiled place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    first: u16,
    /// Number of bytes.
    bytes: u8,
    /// Bits of its last byte (big) or first byte (little) that are below it.
    shift: u8,
    order: ByteOrder,
    mask: u64,
}

impl Field {
    /// `None` if the bits are not 1 to 64 in at most 8 bytes.
    pub(crate) fn new(place: Place) -> Option<Self> {
        let Place { start, bits, order } = place;
        let first = start / 8;
        let before = match order {
            ByteOrder::Little => start % 8,
            ByteOrder::Big => 7 - start % 8,
        };
        let bytes = (before + u16::from(bits)).div_ceil(8);
        if bits == 0 || bytes > 8 {
            return None;
        }
        let shift = match order {
            ByteOrder::Little => before,
            ByteOrder::Big => 8 * bytes - before - u16::from(bits),
        };
        let mask = u64::MAX >> (64 - u32::from(bits));
        Some(Self { first, bytes: u8::try_from(bytes).ok()?, shift: u8::try_from(shift).ok()?, order, mask })
    }

    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.first.into()
    }

    /// One after its last byte.
    pub(crate) fn end(&self) -> usize {
        usize::from(self.first) + usize::from(self.bytes)
    }

    /// Its lowest bit in the first 8 bytes as a little-endian number. `None` if its bits are not next to each other there.
    pub(crate) fn in_word(&self) -> Option<u32> {
        let is_in_order = self.bytes == 1 || self.order == ByteOrder::Little;
        (is_in_order && self.end() <= 8).then(|| 8 * u32::from(self.first) + u32::from(self.shift))
    }

    /// The largest value.
    pub(crate) const fn max(&self) -> u64 {
        self.mask
    }

    /// True if no other bits are in its bytes.
    pub(crate) const fn is_whole(&self) -> bool {
        self.shift == 0 && self.mask.count_ones() == 8 * self.bytes as u32
    }

    /// Its bits in the byte at this position.
    pub(crate) fn bits_in(&self, at: usize) -> u8 {
        self.byte_of(self.mask, at)
    }

    /// The byte at this position if only this field were there. 0 if the field does not reach it.
    fn byte_of(&self, value: u64, at: usize) -> u8 {
        if !(self.first()..self.end()).contains(&at) {
            return 0;
        }
        let bytes = match self.order {
            ByteOrder::Little => at - self.first(),
            ByteOrder::Big => self.end() - 1 - at,
        };
        let [byte, ..] = (value << self.shift >> (8 * (bytes & 7))).to_le_bytes();
        byte
    }

    /// Its value. 0 if the payload is too short.
    #[inline]
    pub(crate) fn get(&self, payload: &[u8]) -> u64 {
        // Most fields are in one byte.
        let bytes = match payload.get(self.first()) {
            Some(byte) if self.bytes == 1 => u64::from(*byte),
            _ => self.joined(payload),
        };
        bytes >> self.shift & self.mask
    }

    #[inline(never)]
    fn joined(&self, payload: &[u8]) -> u64 {
        let bytes = payload.get(self.first()..self.end()).unwrap_or_default();
        let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match self.order {
            ByteOrder::Little => bytes.iter().rev().fold(0, join),
            ByteOrder::Big => bytes.iter().fold(0, join),
        }
    }

    /// Writes the low bits of `value`. The payload is long enough.
    #[inline]
    pub(crate) fn set(&self, payload: &mut [u8], value: u64) {
        if self.bytes != 1 {
            self.set_bytes(payload, value & self.mask);
        } else if let Some(byte) = payload.get_mut(self.first()) {
            let [bits, ..] = (self.mask << self.shift).to_le_bytes();
            let [value, ..] = (value << self.shift).to_le_bytes();
            *byte = *byte & !bits | value & bits;
        }
    }

    #[inline(never)]
    fn set_bytes(&self, payload: &mut [u8], value: u64) {
        for at in self.first()..self.end() {
            if let Some(byte) = payload.get_mut(at) {
                *byte = *byte & !self.bits_in(at) | self.byte_of(value, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_as_in_dbc_files() {
        // 12 bits from bit 7 of byte 1 to bit 4 of byte 2.
        let field = Field::new(Place { start: 15, bits: 12, order: ByteOrder::Big }).unwrap();
        let mut payload = [0; 4];
        field.set(&mut payload, 0xABC);
        assert_eq!(payload, [0, 0xAB, 0xC0, 0]);
        assert_eq!(field.get(&payload), 0xABC);
        let field = Field::new(Place { start: 12, bits: 12, order: ByteOrder::Little }).unwrap();
        field.set(&mut payload, 0x123);
        assert_eq!(payload, [0, 0x3B, 0x12, 0]);
        assert_eq!(field.get(&payload), 0x123);
        assert_eq!(field.get(&payload[..2]), 0);
        assert_eq!(Field::new(Place { start: 1, bits: 64, order: ByteOrder::Little }), None);
        let whole = |place| Field::new(place).unwrap().is_whole();
        assert!(whole(Place::byte(3)) && whole(Place::bytes(1, 8, ByteOrder::Big)));
        assert!(!whole(Place::low_nibble(0)) && !whole(Place::high_nibble(0)));
    }
}
