//! Bits of a payload: bit 0 is the most significant bit of byte 0.

/// Up to 128 bits that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    first: usize,
    /// Number of bytes, up to 17.
    bytes: usize,
    /// Bits of the last byte that are after it.
    shift: u32,
    bits: u32,
}

impl Field {
    /// `bits` is at most 128.
    pub(crate) fn new(at: u16, bits: u8) -> Self {
        let before = u32::from(at % 8);
        let bytes = (before + u32::from(bits)).div_ceil(8);
        let shift = 8 * bytes - before - u32::from(bits);
        Self { first: usize::from(at / 8), bytes: bytes as usize, shift, bits: bits.into() }
    }

    /// One after its last byte.
    pub(crate) const fn end(&self) -> usize {
        self.first + self.bytes
    }

    const fn mask(&self) -> u128 {
        if self.bits == 0 { 0 } else { u128::MAX >> (128 - self.bits) }
    }

    /// Its bits in the byte with this number, counted from its first one.
    fn byte_of(&self, value: u128, at: usize) -> u8 {
        let [byte, ..] = match (self.bytes - 1 - at) * 8 {
            0 => value << self.shift,
            // The first of 17 bytes is above 128 bits.
            below => value >> (below - self.shift as usize),
        }
        .to_le_bytes();
        byte
    }

    /// Its bits in a byte of the payload.
    pub(crate) fn bits_in(&self, at: usize) -> u8 {
        if (self.first..self.end()).contains(&at) { self.byte_of(self.mask(), at - self.first) } else { 0 }
    }

    /// The 8 bytes that end with it, if it is in them. A MAC at the end of a classic frame is.
    #[inline]
    fn window<'p>(&self, payload: &'p [u8]) -> Option<&'p [u8; 8]> {
        let start = self.end().checked_sub(8).filter(|start| *start <= self.first)?;
        payload.get(start..)?.first_chunk()
    }

    /// Its value. 0 if the payload is too short.
    #[inline]
    pub(crate) fn get(&self, payload: &[u8]) -> u128 {
        if let Some(bytes) = self.window(payload) {
            return u128::from(u64::from_be_bytes(*bytes) >> self.shift) & self.mask();
        }
        let byte = payload.get(self.first).filter(|_| self.bytes == 1);
        byte.map_or_else(|| self.joined(payload), |byte| u128::from(*byte) >> self.shift & self.mask())
    }

    #[inline(never)]
    fn joined(&self, payload: &[u8]) -> u128 {
        let bytes = payload.get(self.first..self.end()).unwrap_or_default();
        let Some((last, before)) = bytes.split_last() else { return 0 };
        let above = before.iter().fold(0, |value: u128, byte| value << 8 | u128::from(*byte));
        let last = u128::from(*last) >> self.shift;
        (above << (8 - self.shift) | last) & self.mask()
    }

    /// Writes the low bits of `value`. The payload is long enough.
    #[inline]
    pub(crate) fn set(&self, payload: &mut [u8], value: u128) {
        let Some(bytes) = self.window(payload) else { return self.set_bytes(payload, value & self.mask()) };
        let [mask, value] =
            [self.mask(), value].map(|bits| u64::try_from(bits & self.mask()).unwrap_or(0) << self.shift);
        let new = (u64::from_be_bytes(*bytes) & !mask | value).to_be_bytes();
        if let Some(bytes) = payload.get_mut(self.end() - 8..self.end()) {
            bytes.copy_from_slice(&new);
        }
    }

    #[inline(never)]
    fn set_bytes(&self, payload: &mut [u8], value: u128) {
        for (at, byte) in payload.iter_mut().skip(self.first).take(self.bytes).enumerate() {
            *byte = *byte & !self.byte_of(self.mask(), at) | self.byte_of(value, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_bits_say() {
        for at in 0..20u16 {
            for bits in 0..=128u8 {
                let field = Field::new(at, bits);
                let mut payload = [0u8; 20];
                field.set(&mut payload, u128::MAX);
                let ones = |bit: usize| payload[bit / 8] >> (7 - bit % 8) & 1 == 1;
                let (first, end) = (usize::from(at), usize::from(at) + usize::from(bits));
                assert!((0..160).all(|bit| ones(bit) == (first..end).contains(&bit)), "{at} {bits} {payload:02X?}");
                assert!((0..20).all(|byte| field.bits_in(byte) == payload[byte]));
                let value = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3211 & field.mask();
                for fill in [0, 0xFF] {
                    let mut payload = [fill; 20];
                    field.set(&mut payload, value);
                    assert_eq!(field.get(&payload), value, "{at} {bits}");
                    field.set(&mut payload, if fill == 0 { 0 } else { u128::MAX });
                    assert_eq!(payload, [fill; 20]);
                }
            }
        }
        assert_eq!(Field::new(0, 64).get(&[1]), 0);
    }
}
