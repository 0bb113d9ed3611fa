//! The bits of a signal, as one load, shift and mask.

use crate::database::{ByteOrder, mirrored};

/// Where a signal is in a payload. Reading and writing take no allocation and no loop over bits.
///
/// ```
/// use candor_signals::{ByteOrder, Field};
///
/// // Motorola: start is the most significant bit, here that of byte 1.
/// let field = Field::new(15, 12, ByteOrder::Big).unwrap();
/// let mut payload = [0; 8];
/// assert!(field.set(&mut payload, 0xABC));
/// assert_eq!(payload[..3], [0x00, 0xAB, 0xC0]);
/// assert_eq!(field.get(&payload), Some(0xABC));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    mask: u64,
    /// The first byte with a bit of it.
    first: u16,
    /// The number of bytes that a payload needs.
    end: u16,
    /// Little: bits of the first byte below it. Big: bits of the first byte above it.
    lead: u8,
    bits: u8,
    order: ByteOrder,
}

/// A field that spans nine bytes needs at least this many bits: lead + bits above 64.
const WINDOW: u32 = u64::BITS;

impl Field {
    /// A field whose position is counted as DBC does ([`Signal::start`](crate::Signal::start)). `None` if the number of bits is
    /// not 1 to 64, or if the end is beyond the largest payload that a `u16` counts.
    #[must_use]
    pub fn new(start: u16, bits: u16, order: ByteOrder) -> Option<Self> {
        let width = u8::try_from(bits).ok().filter(|bits| (1..=64).contains(bits))?;
        let first_bit = match order {
            ByteOrder::Little => u32::from(start),
            ByteOrder::Big => mirrored(u32::from(start)),
        };
        Some(Self {
            mask: u64::MAX >> (WINDOW - u32::from(bits)),
            first: u16::try_from(first_bit / 8).ok()?,
            end: u16::try_from((first_bit + u32::from(bits)).div_ceil(8)).ok()?,
            lead: u8::try_from(first_bit % 8).ok()?,
            bits: width,
            order,
        })
    }

    /// The number of bits.
    #[must_use]
    pub const fn bits(&self) -> u8 {
        self.bits
    }

    /// The bits of the largest unsigned value.
    #[must_use]
    pub const fn mask(&self) -> u64 {
        self.mask
    }

    /// The number of bytes that a payload needs to have it.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.end as usize
    }

    /// Its bits, the least significant one last. `None` if the payload is shorter than [`end`](Self::end).
    #[inline]
    #[must_use]
    pub fn get(&self, payload: &[u8]) -> Option<u64> {
        if payload.len() < self.end() {
            return None;
        }
        let (window, at) = match payload.len().checked_sub(8) {
            // Eight bytes that end with the payload at the latest.
            Some(last) => {
                let at = usize::from(self.first).min(last);
                (payload[at..].first_chunk().copied().unwrap_or_default(), at)
            }
            None => (padded(payload), 0),
        };
        let lead = self.lead_from(at);
        let value = match self.order {
            ByteOrder::Little => {
                let low = u64::from_le_bytes(window) >> lead;
                match self.ninth(lead) {
                    Some(_) => low | u64::from(payload[at + 8]) << (WINDOW - lead),
                    None => low,
                }
            }
            ByteOrder::Big => {
                let high = u64::from_be_bytes(window);
                match self.ninth(lead) {
                    Some(more) => high << more | u64::from(payload[at + 8]) >> (8 - more),
                    None => high >> (WINDOW - lead - u32::from(self.bits)),
                }
            }
        };
        Some(value & self.mask)
    }

    /// Writes the low bits of `value` and leaves all other bits of the payload as they are. False, without a change, if the
    /// payload is shorter than [`end`](Self::end).
    #[inline]
    #[must_use]
    pub fn set(&self, payload: &mut [u8], value: u64) -> bool {
        if payload.len() < self.end() {
            return false;
        }
        let value = value & self.mask;
        let Some(last) = payload.len().checked_sub(8) else {
            let window = self.changed(padded(payload), self.lead_from(0), value);
            let len = payload.len();
            payload.copy_from_slice(&window[..len]);
            return true;
        };
        let at = usize::from(self.first).min(last);
        let lead = self.lead_from(at);
        if let Some(more) = self.ninth(lead) {
            let (mask, part) = match self.order {
                ByteOrder::Little => (self.mask >> (WINDOW - lead), value >> (WINDOW - lead)),
                ByteOrder::Big => (self.mask << (8 - more), value << (8 - more)),
            };
            payload[at + 8] = payload[at + 8] & !mask.to_le_bytes()[0] | part.to_le_bytes()[0];
        }
        if let Some(window) = payload[at..].first_chunk_mut() {
            *window = self.changed(*window, lead, value);
        }
        true
    }

    /// The eight bytes with the part of the value that is in them.
    #[inline]
    fn changed(&self, window: [u8; 8], lead: u32, value: u64) -> [u8; 8] {
        let place = |bits: u64| match (self.order, self.ninth(lead)) {
            (ByteOrder::Little, _) => bits << lead,
            (ByteOrder::Big, Some(more)) => bits >> more,
            (ByteOrder::Big, None) => bits << (WINDOW - lead - u32::from(self.bits)),
        };
        let change = |window: u64| window & !place(self.mask) | place(value);
        match self.order {
            ByteOrder::Little => change(u64::from_le_bytes(window)).to_le_bytes(),
            ByteOrder::Big => change(u64::from_be_bytes(window)).to_be_bytes(),
        }
    }

    /// Bits before the field in a window that starts at this byte.
    #[inline]
    fn lead_from(&self, at: usize) -> u32 {
        // A window starts at most 7 bytes before the field.
        let [before, ..] = usize::from(self.first).wrapping_sub(at).to_le_bytes();
        u32::from(self.lead) + 8 * u32::from(before & 7)
    }

    /// The number of bits in the ninth byte, if there are any. Only a window that starts with the field has one.
    #[inline]
    fn ninth(&self, lead: u32) -> Option<u32> {
        (lead + u32::from(self.bits)).checked_sub(WINDOW).filter(|more| *more > 0)
    }
}

/// A payload of fewer than 8 bytes, with zeros after it.
#[inline]
fn padded(payload: &[u8]) -> [u8; 8] {
    let mut window = [0; 8];
    window[..payload.len()].copy_from_slice(payload);
    window
}
