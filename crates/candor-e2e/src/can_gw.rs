//! Protections that the kernel can compute.

use candor_core::job::CounterInByte;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};

use crate::checksum::{Engine, Unit};
use crate::protection::{Counting, Protection};

impl Protection {
    /// The checksum of can-gw that does the same as [`follow`](Self::follow) for all payloads of the length of the scheme.
    ///
    /// `None` if there is none: only CRCs and XORs of 8 bits in a byte of their own, over bytes that follow each other, with at
    /// most one byte after them, which the low nibble of byte 1 may select. can-gw writes no header, and refuses no counter.
    ///
    /// # Source
    /// `cgw_csum_xor_pos()` and `cgw_csum_crc8_pos()` in
    /// [`net/can/gw.c`](https://github.com/gregkh/linux/blob/v6.12/net/can/gw.c).
    #[must_use]
    pub fn can_gw(&self) -> Option<Checksums> {
        let counts_all = |field_max, min, max: u32| min == 0 && u64::from(max) == field_max;
        let has_refused_counters =
            self.counter.as_ref().is_some_and(|counting| !counts_all(counting.field.max(), counting.min, counting.max));
        if has_refused_counters { None } else { self.checksums() }
    }

    /// The counter, if it is inside a byte.
    pub(crate) fn counter_in_byte(&self, is_own: bool) -> Option<CounterInByte> {
        let Counting { field, min, max, .. } = self.counter.as_ref()?;
        let (first, number) = (field.first(), |number: u32| u8::try_from(number).ok());
        let mask = field.bits_in(first);
        let byte = u8::try_from(first).ok().filter(|_| field.end() - first == 1)?;
        let shift = number(mask.trailing_zeros())?;
        Some(CounterInByte { byte, shift, mask, min: number(*min)?, max: number(*max)?, is_own })
    }

    /// The checksum of can-gw for payloads of the length of the scheme with a counter that senders send.
    pub(crate) fn checksums(&self) -> Option<Checksums> {
        let is_byte = self.result.is_whole() && self.result.end() - self.result.first() == 1;
        if !is_byte || self.has_header || self.zeroed || self.min != self.max {
            return None;
        }
        let (first, end) = (self.over.start, self.over.end.min(self.min));
        let covered = if self.own.is_empty() {
            first..end
        } else if self.own.start == first {
            self.own.end..end
        } else if self.own.end == end {
            first..self.own.start
        } else {
            return None;
        };
        let position = |at: usize| i8::try_from(at).ok();
        let span = ChecksumSpan {
            from: position(covered.start)?,
            to: position(covered.end.checked_sub(1).filter(|last| *last >= covered.start)?)?,
            result: position(self.result.first())?,
        };
        let [init, ..] = self.choice.start.to_le_bytes();
        match &self.engine {
            Engine::Xor { unit: Unit::Byte, .. } if self.list.is_empty() => {
                let init = self.choice.after.iter().fold(init, |all, byte| all ^ byte);
                Some(Checksums { xor: Some(XorChecksum { span, init }), ..Checksums::NONE })
            }
            Engine::Crc(crc) => {
                let (table, final_xor) = crc.narrow()?;
                let profile = self.profile()?;
                let crc8 = Crc8Checksum { span, init, final_xor, table, profile };
                Some(Checksums { crc8: Some(crc8), ..Checksums::NONE })
            }
            Engine::Xor { .. } | Engine::Sum { .. } => None,
        }
    }

    /// What follows the payload.
    fn profile(&self) -> Option<Crc8Profile> {
        if self.list.is_empty() {
            return match *self.choice.after {
                [] => Some(Crc8Profile::None),
                [byte] => Some(Crc8Profile::Byte(byte)),
                _ => None,
            };
        }
        let field = &self.counter.as_ref()?.field;
        if field.first() != 1 || field.end() != 2 || field.bits_in(1) != 0x0F {
            return None;
        }
        let mut bytes = [0; 16];
        for (counter, byte) in (0..).zip(&mut bytes) {
            let choice = self.choice(counter);
            let [selected] = *choice.after else { return None };
            if choice.start != self.choice.start {
                return None;
            }
            *byte = selected;
        }
        Some(Crc8Profile::ByteByCounter(bytes))
    }
}
