//! CAN frames over a network: the protocols of cannelloni and socketcand, and candor's own, without sockets or a clock.
//!
//! ```text
//!  bytes of a peer ─▶ Decoder ─▶ Protocol ─▶ Session ─▶ frames, closing, counters
//!  frames of a bus ─▶ Queue (bounded, max-age) ─▶ batch ─▶ bytes for the peer
//! ```
//!
//! The caller owns the socket. It hands received bytes to a [`Session`](session::Session), writes the bytes that it is
//! given as far as the socket takes them, and the time. A peer that does not read stops the bytes, not the
//! caller: its queue drops frames and counts them.
//!
//! | protocol | frames | lost frames |
//! |---|---|---|
//! | [`cannelloni`] over UDP | classic, FD, remote | datagrams, modulo 256 |
//! | [`cannelloni`] over TCP | classic, FD, remote | – |
//! | [`socketcand`] | classic data frames | – |
//! | [`candor`] | all, with raw DLC | frames, exactly |
//!
//! Error messages of drivers are never on a bus and do not cross a link.
//!
//! The tests exchange frames with the clients python-can 4.6.1 (socketcand) and can-cannelloni 0.1.0, and compare with bytes
//! of cannelloni 2.1.2.
//!
//! ```
//! use std::time::Duration;
//! use candor_link::session::{Action, Options, Outgoing, Role, Session, Tcp};
//!
//! let start = Duration::ZERO;
//! let mut session = Session::<Tcp>::new(&Options::new(Role::Listens, &["can0"]), start, 1);
//! session.connected(start);
//! session.received(start, b"CANNELLONIv1\x00\x00\x01\x23\x02\x11\x22", |received| {
//!     assert_eq!(Ok(received.frame), "123#1122".parse());
//! });
//! assert_eq!(session.poll(start), Action::Write);
//! assert_eq!(session.outgoing(), b"CANNELLONIv1");
//! session.written(start, 12);
//!
//! session.send(start, Outgoing::local(0, "7FF#".parse().unwrap(), None));
//! let flush = start + Duration::from_millis(2);
//! assert_eq!(session.poll(start), Action::Wait(Some(flush)));
//! assert_eq!(session.poll(flush), Action::Write);
//! assert_eq!(session.outgoing(), b"\x00\x00\x07\xFF\x00");
//! session.written(flush, 5);
//! assert_eq!(session.counts().sent, 1);
//! ```
//!
//! The crate uses no clock, file, socket or environment. CI builds it for `wasm32-unknown-unknown`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod candor;
pub mod cannelloni;
mod check;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
pub mod session;
pub mod socketcand;
mod stamp;
pub mod stream;

pub use error::{Cannot, DecodeError, Fault};
pub use stamp::{Clock, Origin, Stamp};
