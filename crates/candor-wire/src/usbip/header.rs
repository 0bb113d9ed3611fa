//! The 48 bytes before everything.
//!
//! ```text
//!  byte  0        4        8        12         16        20 ...
//!       │command │seqnum  │devid   │direction │endpoint │
//!  1 CMD_SUBMIT                                         │flags│length│start frame│packets│interval│setup, 8 bytes│
//!  2 CMD_UNLINK                                         │seqnum of the victim│ 24 bytes of nothing              │
//!  3 RET_SUBMIT                                         │status│actual length│start frame│packets│errors│ 8 × 0 │
//!  4 RET_UNLINK                                         │status│ 24 bytes of nothing                            │
//! ```
//!
//! All words are big endian; the setup bytes stay as they are on USB.

use std::fmt;

/// Size of `struct usbip_header`.
pub const HEADER_BYTES: usize = 48;

/// The number of a submission or of an unlink request; both count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seqnum(pub u32);

impl fmt::Display for Seqnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A header as bytes with names. Any bytes are a header; what they mean is for [`Command`](super::Command) and
/// [`Reply`](super::Reply) to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header([u8; HEADER_BYTES]);

impl Header {
    pub(crate) const CMD_SUBMIT: u32 = 1;
    pub(crate) const CMD_UNLINK: u32 = 2;
    pub(crate) const RET_SUBMIT: u32 = 3;
    pub(crate) const RET_UNLINK: u32 = 4;
    pub(crate) const DIRECTION_OUT: u32 = 0;
    pub(crate) const DIRECTION_IN: u32 = 1;

    /// A header with all but its command and number 0.
    #[must_use]
    pub fn new(command: u32, seqnum: Seqnum) -> Self {
        let mut header = Self([0; HEADER_BYTES]);
        header.set_word(0, command);
        header.set_word(1, seqnum.0);
        header
    }

    /// The header at the beginning of some bytes, if it is all there.
    #[must_use]
    pub fn first_of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|&bytes| Self(bytes))
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; HEADER_BYTES] {
        &self.0
    }

    /// `command`.
    #[must_use]
    pub const fn command(&self) -> u32 {
        self.word(0)
    }

    /// `seqnum`.
    #[must_use]
    pub const fn seqnum(&self) -> Seqnum {
        Seqnum(self.word(1))
    }

    /// `direction` of a submission.
    #[must_use]
    pub const fn direction(&self) -> u32 {
        self.word(3)
    }

    /// `ep` of a submission.
    #[must_use]
    pub const fn endpoint(&self) -> u32 {
        self.word(4)
    }

    /// `transfer_buffer_length` of a submission, in bytes.
    #[must_use]
    pub const fn length(&self) -> i32 {
        self.word(6).cast_signed()
    }

    /// `number_of_packets` of a submission.
    #[must_use]
    pub const fn packets(&self) -> i32 {
        self.word(8).cast_signed()
    }

    /// `setup` of a submission.
    #[must_use]
    pub const fn setup(&self) -> [u8; 8] {
        let [.., a, b, c, d, e, f, g, h] = self.0;
        [a, b, c, d, e, f, g, h]
    }

    /// The number that an unlink request wants back.
    #[must_use]
    pub const fn victim(&self) -> Seqnum {
        Seqnum(self.word(5))
    }

    /// `status` of a reply: 0 or a negative errno.
    #[must_use]
    pub const fn status(&self) -> i32 {
        self.word(5).cast_signed()
    }

    /// `actual_length` of a reply, in bytes.
    #[must_use]
    pub const fn actual_length(&self) -> i32 {
        self.word(6).cast_signed()
    }

    pub(crate) fn set_word(&mut self, index: usize, value: u32) {
        if let Some(word) = self.0.chunks_exact_mut(4).nth(index) {
            word.copy_from_slice(&value.to_be_bytes());
        }
    }

    pub(crate) fn set_setup(&mut self, setup: [u8; 8]) {
        self.0[HEADER_BYTES - 8..].copy_from_slice(&setup);
    }

    const fn word(&self, index: usize) -> u32 {
        let at = index * 4;
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
}
