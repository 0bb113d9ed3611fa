//! Queueing disciplines, classes and filters on CAN interfaces.
//!
//! ```text
//!  [egress.BUS]  bands   ──compile──▶ Tree ──candor-netlink──▶ kernel
//!                tree    ──text─────▶   ▲                        │
//!  tc script            ◀──text────────┘    ◀──── observed ─────┘
//! ```
//!
//! A [`tree::Tree`] is the common representation: gateway files, `tc` scripts and kernel state
//! all become one, so the same code compares, lints and draws them.
//!
//! # Source
//! [`net/sched`](https://github.com/gregkh/linux/tree/v6.1.192/net/sched) of Linux 6.1;
//! [SocketCAN and queueing disciplines](https://rtime.felk.cvut.cz/can/socketcan-qdisc-final.pdf) (Sojka, Lisový, Píša, 2011).
#![forbid(unsafe_code)]

pub mod action;
#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod arbitration;
pub mod canonical;
pub mod classify;
pub mod compile;
#[cfg_attr(not(feature = "kernel"), expect(dead_code, reason = "only the kernel feature builds netlink messages"))]
mod constants;
pub mod control_group;
pub mod discipline;
pub mod ematch;
pub mod filter;
pub mod handle;
#[cfg(feature = "kernel")]
pub mod kernel;
#[cfg_attr(not(feature = "kernel"), expect(dead_code, reason = "only the kernel feature builds netlink messages"))]
mod kinds;
pub mod lint;
#[cfg(feature = "kernel")]
pub mod netlink;
pub mod outline;
pub mod policy;
pub mod steps;
pub mod text;
pub mod ticks;
pub mod tree;
