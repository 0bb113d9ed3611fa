//! Buses in software that a file declares for `candor-lab wire`: `[wire]`, proven.

use std::num::NonZeroU8;
use std::time::Duration;

use candor_core::units::BitRate;

/// Buses, and how they are played. `None` is as on the command line without the option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// At least one, in the order of the file.
    pub buses: Vec<WireBus>,
    /// Adapters that have these interfaces of the buses, each at least one and none that another has.
    pub adapters: Vec<Vec<String>>,
    /// Emulated adapter.
    pub model: Option<WireModel>,
    /// Frames that a controller holds.
    pub depth: Option<NonZeroU8>,
    /// Transmit order of the controllers.
    pub order: Option<WireOrder>,
    /// True if the bit rates of the buses apply, whatever the interfaces are configured for.
    pub force_rates: bool,
    /// Of everything random.
    pub seed: Option<u64>,
    /// Lateness from which on a run is invalid.
    pub late: Option<Duration>,
    /// File for the log.
    pub log: Option<String>,
    /// File for the capture.
    pub pcapng: Option<String>,
}

/// A bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBus {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// Bit rate, with CAN FD that of arbitration.
    pub bitrate: BitRate,
    /// Bit rate of the data phase, with CAN FD; not below the other.
    pub data_bitrate: Option<BitRate>,
    /// A node each; no interface is there twice.
    pub interfaces: Vec<String>,
}

/// Returns true if a bus may have this name: the log separates fields by spaces, `--bus` by colons.
#[must_use]
pub fn is_bus_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    !name.is_empty() && name.chars().all(is_plain)
}

/// Emulated adapter, by the name of its kernel driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireModel {
    /// `gs_usb`.
    GsUsb,
    /// `ucan`.
    Ucan,
}

/// Transmit order of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireOrder {
    /// `fifo`: what came first.
    Fifo,
    /// `lowest-id`.
    LowestId,
}
