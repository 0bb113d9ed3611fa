//! The laboratories: guests, topologies, tester, records and reports.
#![forbid(unsafe_code)]

pub mod record;
pub mod report;
