//! A scheme as described.

use alloc::vec::Vec;
use core::ops::Range;

use candor_core::frame::{FD_LENGTHS, fd_dlc};

/// The trip and reset counters of a sync frame as the first part of a freshness value, and the reset flag as its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronised {
    /// Bits of the trip counter.
    pub trip: u8,
    /// Bits of the reset counter.
    pub reset: u8,
    /// Low bits of the reset counter that are also sent, after the sent bits of the message counter. A receiver needs them near
    /// a change of the reset counter, which it may see before or after the sender: it accepts the period before, this one and the
    /// next. 0: this one only.
    pub flag: u8,
}

/// A freshness value: trip counter, reset counter, counter, reset flag; the first two and the last only if synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// What a sync frame says.
    pub synchronised: Option<Synchronised>,
    /// Bits of the counter, which starts again in every reset period if synchronised.
    pub counter: u8,
    /// Its low bits that are sent. 0: the receiver counts.
    pub sent: u8,
    /// Where they are, with the reset flag after them. Bit 0 is the most significant bit of byte 0.
    pub at: u16,
    /// How many values that end in the sent bits a receiver tries from the next one on: with 2 sent bits and 1 attempt, up to 3
    /// lost frames in a row are tolerated, with 2 attempts up to 7. Each costs a MAC. 1 to 16.
    pub attempts: u8,
    /// The first value, with all counters in one number: a receiver accepts no smaller one.
    pub start: u64,
}

/// How a frame is secured. The MAC covers the Data-ID, the payload and the freshness value, filled up to a whole byte with zeros.
///
/// Toyota's cars, as described by [`opendbc`](https://github.com/commaai/opendbc/blob/559d291c/opendbc/car/secoc.py):
/// ```
/// use candor_secoc::{Key, Protection, Scheme};
///
/// let key = Key::parse(b"000102030405060708090A0B0C0D0E0F").unwrap();
/// let protection = Protection::new(&Scheme::profile_3(0x131, 4), &key).unwrap();
/// let (trip, reset, message) = (1, 2, 3);
/// let mut frame = [1, 2, 3, 4, 0, 0, 0, 0];
/// assert!(protection.secure(&mut frame, trip << 28 | reset << 8 | message));
/// assert_eq!(frame, [0x01, 0x02, 0x03, 0x04, 0xE9, 0x63, 0x37, 0xA5]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// What the MAC covers first: usually the Data-ID of the message in two bytes.
    pub data_id: Vec<u8>,
    /// The bytes of the payload in the secured frame. Its length is that of the plain frame.
    pub payload: Range<usize>,
    /// The freshness value, if there is one.
    pub freshness: Option<Freshness>,
    /// Where the most significant bits of the MAC are, and how many. Bit 0 is the most significant bit of byte 0.
    pub mac: (u16, u8),
    /// Length of the secured frame in bytes. Bits that belong to nothing are zeros, and are not protected.
    pub len: usize,
}

impl Scheme {
    /// A freshness value and a MAC directly after a payload of this length in bytes, in the shortest frame that holds them. The
    /// place of the freshness value is set here.
    #[must_use]
    pub fn after(data_id: u16, payload: usize, freshness: Option<Freshness>, mac: u8) -> Self {
        let at = u16::try_from(8 * payload).unwrap_or(u16::MAX);
        let freshness = freshness.map(|freshness| Freshness { at, ..freshness });
        let flag = |freshness: &Freshness| freshness.synchronised.map_or(0, |synchronised| synchronised.flag);
        let sent = freshness.as_ref().map_or(0, |freshness| u16::from(freshness.sent) + u16::from(flag(freshness)));
        let mac_at = at.saturating_add(sent);
        let end = usize::from(mac_at.saturating_add(mac.into())).div_ceil(8);
        let dlc = fd_dlc(u8::try_from(end).unwrap_or(u8::MAX));
        let len = usize::from(FD_LENGTHS[usize::from(dlc)]).max(end);
        Self { data_id: data_id.to_be_bytes().into(), payload: 0..payload, freshness, mac: (mac_at, mac), len }
    }

    /// Profile 1, 24Bit-CMAC-8Bit-FV: 8 bits of a counter of `counter` bits and 24 bits of the MAC.
    #[must_use]
    pub fn profile_1(data_id: u16, payload: usize, counter: u8) -> Self {
        let freshness = Freshness { synchronised: None, counter, sent: 8, at: 0, attempts: 1, start: 0 };
        Self::after(data_id, payload, Some(freshness), 24)
    }

    /// Profile 2, 24Bit-CMAC-No-FV: 24 bits of the MAC and no freshness value. Nothing recognises a frame that is sent again.
    #[must_use]
    pub fn profile_2(data_id: u16, payload: usize) -> Self {
        Self::after(data_id, payload, None, 24)
    }

    /// Profile 3, JASPAR: the freshness value is a trip counter of 16 bits, a reset counter of 20, a message counter of 8, of which
    /// 2 are sent, and a reset flag of 2; 28 bits of the MAC.
    #[must_use]
    pub fn profile_3(data_id: u16, payload: usize) -> Self {
        let synchronised = Some(Synchronised { trip: 16, reset: 20, flag: 2 });
        let freshness = Freshness { synchronised, counter: 8, sent: 2, at: 0, attempts: 1, start: 0 };
        Self::after(data_id, payload, Some(freshness), 28)
    }

    /// The sync frame of profile 3: the trip counter of 16 bits and the reset counter of 20, both sent, and 28 bits of the MAC.
    #[must_use]
    pub fn sync(data_id: u16) -> Self {
        let freshness = Freshness { synchronised: None, counter: 36, sent: 36, at: 0, attempts: 1, start: 0 };
        Self::after(data_id, 0, Some(freshness), 28)
    }
}
