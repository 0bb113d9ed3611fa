//! Authenticated CAN frames: AUTOSAR Secure Onboard Communication (SecOC) with CMAC of AES-128.
//!
//! ```text
//!  Scheme + Key ──Protection::new──▶ Protection ─┬─▶ Check    verdict on each frame, and the plain frame if wanted
//!  (as described)                   (compiled)   └─▶ Protect  MAC and freshness for plain frames
//!                                                     │ ▲
//!                    Check of the sync frame ── Shared trip and reset counters
//! ```
//!
//! A secured frame is the payload, a part of the freshness value and a part of the MAC. The MAC covers the Data-ID, the payload
//! and the whole freshness value, so the receiver must know the part of it that is not sent.
//!
//! ```
//! use candor_secoc::{Check, Freshness, Key, OnBad, Options, Payload, Protect, Scheme, Verdict};
//! use candor_core::{frame::Frame, job::{Compute as _, RealtimeNs}, rule};
//!
//! let key = Key::parse(b"000102030405060708090A0B0C0D0E0F").unwrap();
//! let scheme = Scheme::profile_1(0x131, 4, 32);
//! let sender = Protect::new(scheme.clone(), &key, None)?;
//! let receiver = Check::new(scheme, &key, None, Options { on_bad: OnBad::Drop, payload: Payload::Plain })?;
//!
//! let mut frame: Frame = "131#01020304".parse().unwrap();
//! assert_eq!(sender.change_frame(RealtimeNs::UNKNOWN, &mut frame), rule::Verdict::Send);
//! let secured = frame;
//! assert_eq!(receiver.change_frame(RealtimeNs::UNKNOWN, &mut frame), rule::Verdict::Send);
//! assert_eq!(frame, "131#01020304".parse().unwrap());
//! // The same frame again is not accepted.
//! assert_eq!(receiver.change_frame(RealtimeNs::UNKNOWN, &mut { secured }), rule::Verdict::Delete);
//! # Ok::<(), candor_secoc::SchemeError>(())
//! ```
//!
//! | scheme | freshness value | sent | MAC |
//! |---|---|--:|--:|
//! | [profile 1](Scheme::profile_1), 24Bit-CMAC-8Bit-FV | a counter | 8 bits | 24 bits |
//! | [profile 2](Scheme::profile_2), 24Bit-CMAC-No-FV | none: a frame that is sent again is accepted | 0 | 24 bits |
//! | [profile 3](Scheme::profile_3), JASPAR | trip and reset counter of the sync frame, message counter, reset flag | 4 bits | 28 bits |
//! | its [sync frame](Scheme::sync) | trip and reset counter | 36 bits | 28 bits |
//!
//! Other widths are fields of [`Scheme`]. All numbers are big-endian, and bits follow each other without gaps, as in AUTOSAR.
//!
//! The crate uses no clock, file or environment, and no `unsafe` code. It allocates only when a scheme is compiled.
//!
//! # Source
//! AUTOSAR SWS Secure Onboard Communication (profiles, build attempts), and
//! [RFC 4493, section 2](https://www.rfc-editor.org/rfc/rfc4493#section-2) (AES-CMAC).
//!
//! # Features
//! * `testing`: what must hold for any frame, for fuzzing
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod bits;
mod cmac;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
mod key;
mod protection;
mod route;
mod scheme;
mod verdict;

pub use candor_core::job::OnBad;
pub use cmac::Cmac;
pub use error::{Part, SchemeError};
pub use key::{Key, KeyError};
pub use protection::Protection;
pub use route::{Check, Options, Payload, Protect, SyncSource, relinked};
pub use scheme::{Freshness, Scheme, Synchronised};
pub use verdict::Verdict;
