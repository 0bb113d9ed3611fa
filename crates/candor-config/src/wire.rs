//! Software buses of a file for `candor-lab wire`: `[wire]`, validated.

use std::num::NonZeroU8;
use std::time::Duration;

use candor_core::units::BitRate;

/// `None`: as without the option on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// At least one, in the order of the file.
    pub buses: Vec<WireBus>,
    /// Interfaces of each adapter: at least one, and each interface in one adapter at most.
    pub adapters: Vec<Vec<String>>,
    pub model: Option<WireModel>,
    /// Transmit frames that a controller holds.
    pub depth: Option<NonZeroU8>,
    pub order: Option<WireOrder>,
    /// The bit rates of the buses replace those of the interfaces.
    pub force_rates: bool,
    /// Seed of all random choices.
    pub seed: Option<u64>,
    /// Lateness above which a run is invalid.
    pub late: Option<Duration>,
    pub log: Option<String>,
    pub pcapng: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBus {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// Bit rate of the arbitration phase.
    pub bitrate: BitRate,
    /// Bit rate of the CAN FD data phase; not below `bitrate`.
    pub data_bitrate: Option<BitRate>,
    /// One node each; unique.
    pub interfaces: Vec<String>,
}

/// Returns true if a bus may have this name: the log separates fields by spaces, `--bus` by colons.
pub fn is_bus_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    !name.is_empty() && name.chars().all(is_plain)
}

/// Emulated adapter, by its kernel driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireModel {
    GsUsb,
    Ucan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireOrder {
    Fifo,
    LowestId,
}
