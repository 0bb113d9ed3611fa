//! The engines of candor in user space, and what a gateway needs around any engine.
//!
//! A [`UserGateway`](user::UserGateway) forwards frames by one thread for each source bus. The other modules serve engines in the
//! kernel as well: interfaces that come and go ([`preflight`]), who owns which routes ([`run_dir`]), counters and notices.
//!
//! This crate is compiled for speed, because a frame passes through it; candor-engine, which starts and changes gateways, for size.
#![forbid(unsafe_code)]

pub mod counters;
pub mod ended;
pub mod job_identity;
pub mod latency;
pub mod notice;
pub mod owner;
pub mod preflight;
pub mod realtime;
pub mod run_dir;
pub mod running_kernel;
pub mod system_error;
pub mod temporary;
pub mod user;
