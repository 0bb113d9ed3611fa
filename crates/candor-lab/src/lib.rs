//! The laboratories: guests, topologies, tester, records and reports.
#![forbid(unsafe_code)]

pub mod device;
pub mod record;
pub mod report;
pub mod tester;
