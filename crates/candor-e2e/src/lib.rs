//! Valid checksums and counters in frames: the profiles of AUTOSAR E2E, and any CRC, XOR or sum with any counter.
//!
//! ```text
//!  Settings ──scheme──▶ Scheme ──Protection::new──▶ Protection ─┬─▶ Sender    counter of its own
//!  (a profile)          (any scheme)   (compiled)               ├─▶ Receiver  verdict on each frame
//!                                                               └─▶ follow    counter of the received frame
//! ```
//!
//! A receiver of P01, and a sender that takes the place of the original one:
//! ```
//! use std::sync::Arc;
//!
//! use candor_e2e::{IdMode, Profile, Protection, Receiver, Sender, Settings, Verdict};
//!
//! let settings = Settings { mode: IdMode::Nibble, ..Settings::new(Profile::P01, [0x123], 8) };
//! let protection = Arc::new(Protection::new(&settings.scheme()?)?);
//! let mut sender = Sender::new(protection.clone());
//! let mut receiver = Receiver::new(protection.clone());
//!
//! let mut payload = [0; 8];
//! assert!(sender.protect(&mut payload));
//! assert_eq!(payload, [0x2A, 0x10, 0, 0, 0, 0, 0, 0]);
//! assert_eq!(receiver.check(&payload), Verdict::Initial);
//! assert_eq!(receiver.check(&payload), Verdict::Repeated);
//! assert!(sender.protect(&mut payload));
//! assert_eq!(receiver.check(&payload), Verdict::Ok);
//!
//! payload[7] = 1;
//! assert_eq!(receiver.check(&payload), Verdict::WrongChecksum);
//! assert!(protection.follow(&mut payload));
//! assert_eq!(receiver.check(&payload), Verdict::Repeated);
//! # Ok::<(), candor_e2e::SchemeError>(())
//! ```
//!
//! | profile | CRC | counter | Data-ID | header |
//! |---|---|---|---|---|
//! | P01, P11 | 8 bits, 1D | 0 to 14 | 16 bits before the payload, by [mode](IdMode) | byte 0: CRC; byte 1: counter in the low half |
//! | P02, P22 | 8 bits, 2F | 0 to 15, the first is 1 | 16 of 8 bits after the payload, chosen by the counter | as P01 |
//! | P04 | 32 bits, F4ACFB13 | 16 bits | 32 bits in the header | length (2), counter (2), Data-ID (4), CRC (4) |
//! | P05 | 16 bits, 1021 | 8 bits | 16 bits after the payload, low byte first | CRC (2, little-endian), counter (1) |
//! | P06 | 16 bits, 1021 | 8 bits | 16 bits after the payload, high byte first | CRC (2), length (2), counter (1) |
//! | P07 | 64 bits, 42F0E1EBA9EA3693 | 32 bits | 32 bits in the header | CRC (8), length (4), counter (4), Data-ID (4) |
//!
//! Checksums find faults, not attacks: whoever knows the scheme can compute them.
//!
//! The crate uses no clock, file or environment, and no `unsafe` code. It needs an allocator, and only when a scheme is
//! compiled.
//!
//! # Features
//! * `testing`: the same in simple code, bit by bit, to compare with
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod can_gw;
mod catalogue;
mod checksum;
mod compile;
mod crc;
mod error;
mod names;
#[cfg(any(test, feature = "testing"))]
pub mod oracle;
mod place;
mod profile;
mod protection;
mod route;
mod scheme;
mod state;
mod verdict;

pub use candor_core::job::OnBad;
pub use catalogue::{CATALOGUE, Named};
pub use checksum::{Checksum, Unit};
pub use crc::{Algorithm, Crc};
pub use error::{Part, SchemeError};
pub use names::{IdMode, Profile};
pub use place::{ByteOrder, Place};
pub use profile::Settings;
pub use protection::Protection;
pub use route::{Check, Counted, Protect};
pub use scheme::{Counter, DataId, Scheme};
pub use state::{Receiver, Sender};
pub use verdict::Verdict;
