//! What the gateway has to do, in memory at [`memory::PARAMETERS`](crate::memory::PARAMETERS).

use alloc::vec::Vec;

use candor_core::job::Job;

use crate::jobs::{self, DecodeError};

const MAGIC: [u8; 8] = *b"candor-1";

/// Place of a card: `bus:device.function` of PCI as in its configuration addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Number of the bus.
    pub bus: u8,
    /// Device and function: `device << 3 | function`.
    pub devfn: u8,
    /// Line of its interrupt on the interrupt controller that all processors share. The system that ran before may have chosen
    /// another than the firmware.
    pub line: u8,
}

/// The task of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Cards of bus 0 and bus 1 of the jobs.
    pub cards: [Card; 2],
    /// Bit rate of both buses.
    pub bits_per_second: u32,
    /// What is forwarded.
    pub jobs: Vec<Job>,
}

impl Parameters {
    /// Length of what precedes the jobs.
    pub const HEADER_BYTES: usize = 22;

    /// Magic number, length of the jobs, cards, bit rate, jobs.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let jobs = jobs::encode(&self.jobs);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(u32::try_from(jobs.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(self.cards.iter().flat_map(|card| [card.bus, card.devfn, card.line]));
        bytes.extend(self.bits_per_second.to_le_bytes());
        bytes.extend(jobs);
        bytes
    }

    /// Length of all parameters with this header. `None` if there are none in memory.
    #[must_use]
    pub fn length(header: &[u8; Self::HEADER_BYTES]) -> Option<usize> {
        let jobs = u32::from_le_bytes(*header.strip_prefix(&MAGIC)?.first_chunk()?);
        usize::try_from(jobs).ok()?.checked_add(Self::HEADER_BYTES)
    }

    /// Reads parameters.
    ///
    /// # Errors
    /// [`DecodeError`]
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (header, jobs) = bytes.split_first_chunk::<{ Self::HEADER_BYTES }>().ok_or(DecodeError)?;
        let [.., bus_0, devfn_0, line_0, bus_1, devfn_1, line_1, a, b, c, d] = *header;
        if Self::length(header) != Some(bytes.len()) {
            return Err(DecodeError);
        }
        Ok(Self {
            cards: [
                Card { bus: bus_0, devfn: devfn_0, line: line_0 },
                Card { bus: bus_1, devfn: devfn_1, line: line_1 },
            ],
            bits_per_second: u32::from_le_bytes([a, b, c, d]),
            jobs: jobs::decode(jobs)?,
        })
    }
}
