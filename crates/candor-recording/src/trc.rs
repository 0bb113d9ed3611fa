//! PEAK TRC, versions 1.0 to 2.1: `      1      1059.900 DT  1     0300 Rx -  7    00 00 00 00 04 00 00`.
//!
//! Versions differ in their columns, which version 2 names in its header. Buses are numbered from 1; `can0` is 1. Written is 2.1.
//! The start time in the header is read and written as UTC, because it has no time zone. Error frames of PEAK have no class.
//!
//! # Source
//! [PEAK CAN TRC file format](https://www.peak-system.com/produktcd/Pdf/English/PEAK_CAN_TRC_File_Format.pdf)

mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// From 1899-12-30, from which start times count, to 1970-01-01 in ms.
const TO_1970_MS: i64 = 25_569 * 86_400_000;
const DAY_S: f64 = 86_400.0;

#[cfg(test)]
mod tests;
