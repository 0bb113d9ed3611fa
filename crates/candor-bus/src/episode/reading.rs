//! Position of receivers in a frame, from the received bits.
//!
//! A wrong bit can turn a stuff bit into an ordinary one, or the other way round. Then receivers reach the end of the
//! CRC one bit before or after the sender, and see its flag in another field. The silence after a sender stops can look
//! like the beginning of an FD frame.

use candor_core::bits::{BitRule, TAIL_BITS, WireBits};

/// Equal bits that are followed by a stuff bit.
const STUFF_RUN: u32 = 5;

/// The bit that a receiver expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The ACK slot, in which receivers send dominant.
    Acknowledge,
    /// The reserved bit after a recessive FDF.
    Dominant,
    /// The opposite of the bit before it.
    FixedStuff,
    /// Any level: a bit between fixed stuff bits.
    Free,
    /// Delimiters and end of frame.
    Recessive,
    /// Any level except a sixth equal bit.
    Stuffed,
}

/// Positions of bits in a frame without stuff bits; start of frame is 0.
const IDE: u32 = 13;
const FDF_OF_STANDARD: u32 = 14;
const FDF_OF_EXTENDED: u32 = 33;

/// The position of all receivers of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Remaining bits of the stuffed field, without stuff bits.
    left: u32,
    /// Bits of the CRC field of an FD frame, including fixed stuff bits.
    crc_field: u32,
    /// Set if a stuff bit may follow the stuffed field: not in an FD frame, which has a fixed one there.
    stuffed_to_the_end: bool,
    /// Received bits of the stuffed field, without stuff bits.
    seen: u32,
    /// Position of FDF, depending on IDE.
    fdf: u32,
    /// Set if the next bit follows a recessive FDF.
    after_fdf: bool,
    /// Received bits after the stuffed field.
    after: u32,
    run: u32,
    recessive: bool,
}

impl Reading {
    /// At the start of a frame with the length of this one.
    pub(super) fn new(frame: &WireBits) -> Self {
        let start = Self {
            left: u32::MAX,
            crc_field: 0,
            stuffed_to_the_end: true,
            seen: 0,
            fdf: FDF_OF_STANDARD,
            after_fdf: false,
            after: 0,
            run: 0,
            recessive: true,
        };
        let mut reading = start;
        for bit in (0..frame.len()).take_while(|&bit| is_stuffed(frame.rule(bit))) {
            reading.see(frame.is_recessive(bit));
        }
        let in_crc_field = |bit: &u32| matches!(frame.rule(*bit), BitRule::FixedStuff | BitRule::Free);
        let crc_field = u32::try_from((0..frame.len()).filter(in_crc_field).count()).unwrap_or(u32::MAX);
        Self { left: reading.seen, crc_field, stuffed_to_the_end: crc_field == 0, ..start }
    }

    /// Returns the kind of the next bit.
    pub(super) const fn expected(&self) -> Expected {
        if self.is_in_stuffed_field() {
            if self.after_fdf && self.run != STUFF_RUN { Expected::Dominant } else { Expected::Stuffed }
        } else if self.after < self.crc_field {
            if self.after.is_multiple_of(STUFF_RUN) { Expected::FixedStuff } else { Expected::Free }
        } else if self.after == self.crc_field + 1 {
            Expected::Acknowledge
        } else {
            Expected::Recessive
        }
    }

    /// Returns the number of bits after the next one, once the stuffed field is over.
    pub(super) const fn bits_after_next(&self) -> Option<u32> {
        if self.is_in_stuffed_field() {
            None
        } else {
            Some((self.crc_field + TAIL_BITS - 1).saturating_sub(self.after))
        }
    }

    pub(super) fn see(&mut self, recessive: bool) {
        if self.is_in_stuffed_field() {
            if self.run != STUFF_RUN {
                if self.seen == IDE && recessive {
                    self.fdf = FDF_OF_EXTENDED;
                }
                self.after_fdf = self.seen == self.fdf && recessive;
                self.seen += 1;
                self.left -= 1;
            }
        } else {
            self.after += 1;
        }
        self.run = if recessive == self.recessive { self.run + 1 } else { 1 };
        self.recessive = recessive;
    }

    const fn is_in_stuffed_field(&self) -> bool {
        self.left > 0 || self.stuffed_to_the_end && self.after == 0 && self.run == STUFF_RUN
    }
}

const fn is_stuffed(rule: BitRule) -> bool {
    matches!(rule, BitRule::Arbitration | BitRule::Stuffed)
}
