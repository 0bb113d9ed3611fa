//! The laboratories: guests, topologies, tester, records and reports.
#![forbid(unsafe_code)]
