//! The formats by name, with their readers, writers and limits.

use std::io;

use crate::limits::Limits;
#[cfg(feature = "all")]
use crate::limits::{BusNames, Directions, Errors};
use crate::stream::{ReadRecords, WriteRecords};
use crate::{Buses, Counts, Record, candump, pcapng};
#[cfg(feature = "all")]
use crate::{asc, blf, csv, mcap, mdf4, trc};

/// A format of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Logs of `candump -L` and `candor dump --log`.
    Candump,
    /// Captures of Wireshark, with link type 227.
    Pcapng,
    /// Vector ASC.
    #[cfg(feature = "all")]
    Asc,
    /// Vector BLF.
    #[cfg(feature = "all")]
    Blf,
    /// ASAM MDF4 with bus logging.
    #[cfg(feature = "all")]
    Mdf4,
    /// PEAK TRC.
    #[cfg(feature = "all")]
    Trc,
    /// MCAP, for Foxglove and ROS.
    #[cfg(feature = "all")]
    Mcap,
    /// A table as text.
    #[cfg(feature = "all")]
    Csv,
    /// A table for programs of data analysis.
    #[cfg(feature = "tables")]
    Parquet,
}

/// A file to read. Only formats that are [not read from their beginning to their end](Format::seeks_in_input) seek.
pub trait Input: io::Read + io::Seek + Send + 'static {}
impl<T: io::Read + io::Seek + Send + 'static> Input for T {}

/// A file to write. Only formats that [complete their beginning](Format::seeks_in_output) at the end seek.
pub trait Output: io::Write + io::Seek + Send {}
impl<T: io::Write + io::Seek + Send> Output for T {}

/// A writer, and what its format could not hold.
pub struct Sink {
    writer: Box<dyn WriteRecords>,
    limits: &'static Limits,
    lost: Counts,
    written: u64,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("lost", &self.lost).field("written", &self.written).finish_non_exhaustive()
    }
}

impl Sink {
    /// Starts a recording.
    #[must_use]
    pub fn new(format: Format, output: impl Output + 'static) -> Self {
        Self::of(format.limits(), format.writer(output))
    }

    /// Writes with this writer what these limits allow.
    #[must_use]
    pub fn of(limits: &'static Limits, writer: Box<dyn WriteRecords>) -> Self {
        Self { writer, limits, lost: Counts::new(), written: 0 }
    }

    /// Writes what the format can hold of a record.
    ///
    /// # Errors
    /// As [`WriteRecords::write`].
    pub fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let mut fitted = *record;
        if self.limits.fit(&mut fitted, &mut self.lost) {
            self.writer.write(&fitted, buses)?;
            self.written += 1;
        }
        Ok(())
    }

    /// Records written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// As [`WriteRecords::numbers`].
    #[must_use]
    pub fn numbers<'a>(&'a self, buses: &'a Buses) -> Vec<(&'a str, u16)> {
        self.writer.numbers(buses)
    }

    /// Writes the end, and returns what was lost.
    ///
    /// # Errors
    /// The output failed.
    pub fn finish(&mut self) -> io::Result<Counts> {
        let more = self.writer.finish()?;
        self.lost.merge(&more);
        Ok(std::mem::take(&mut self.lost))
    }
}

struct Facts {
    format: Format,
    /// The word in commands.
    name: &'static str,
    /// In texts.
    title: &'static str,
    endings: &'static [&'static str],
    limits: Limits,
}

/// All formats of this build.
const FACTS: &[Facts] = &[
    Facts {
        format: Format::Candump,
        name: "candump",
        title: "candump log",
        endings: &["log", "candump"],
        limits: Limits::ALL,
    },
    Facts {
        format: Format::Pcapng,
        name: "pcapng",
        title: "pcapng",
        endings: &["pcapng", "ntar"],
        limits: Limits::ALL,
    },
    #[cfg(feature = "all")]
    Facts {
        format: Format::Asc,
        name: "asc",
        title: "Vector ASC",
        endings: &["asc"],
        limits: Limits {
            errors: Errors::Mark,
            directions: Directions::Always,
            buses: BusNames::Numbers(1),
            step_ns: 1000,
        },
    },
    #[cfg(feature = "all")]
    Facts {
        format: Format::Blf,
        name: "blf",
        title: "Vector BLF",
        endings: &["blf"],
        limits: Limits { directions: Directions::Always, buses: BusNames::Numbers(1), ..Limits::ALL },
    },
    #[cfg(feature = "all")]
    Facts {
        format: Format::Mdf4,
        name: "mdf4",
        title: "ASAM MDF4 bus logging",
        endings: &["mf4", "mdf4"],
        limits: Limits { directions: Directions::Always, buses: BusNames::Numbers(0), ..Limits::ALL },
    },
    #[cfg(feature = "all")]
    Facts {
        format: Format::Trc,
        name: "trc",
        title: "PEAK TRC",
        endings: &["trc"],
        limits: Limits {
            errors: Errors::No,
            directions: Directions::Always,
            buses: BusNames::Numbers(1),
            step_ns: 1000,
        },
    },
    #[cfg(feature = "all")]
    Facts { format: Format::Mcap, name: "mcap", title: "MCAP", endings: &["mcap"], limits: Limits::ALL },
    #[cfg(feature = "all")]
    Facts { format: Format::Csv, name: "csv", title: "CSV", endings: &["csv"], limits: Limits::ALL },
    #[cfg(feature = "tables")]
    Facts { format: Format::Parquet, name: "parquet", title: "Parquet", endings: &["parquet"], limits: Limits::ALL },
];

impl Format {
    /// All formats of this build.
    pub fn all() -> impl Iterator<Item = Self> {
        FACTS.iter().map(|facts| facts.format)
    }

    fn facts(self) -> &'static Facts {
        FACTS.iter().find(|facts| facts.format == self).unwrap_or(&FACTS[0])
    }

    /// The word for it in commands: `candump`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Its name in texts.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// Endings of its files, without the dot. The first is the usual one.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        self.facts().endings
    }

    /// The format of files with this ending, in any case.
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<Self> {
        Self::all().find(|format| format.endings().iter().any(|one| one.eq_ignore_ascii_case(ending)))
    }

    /// What it can hold.
    #[must_use]
    pub fn limits(self) -> &'static Limits {
        &self.facts().limits
    }

    /// Returns true if its reader seeks.
    #[must_use]
    pub const fn seeks_in_input(self) -> bool {
        match self {
            #[cfg(feature = "all")]
            Self::Mdf4 => true,
            #[cfg(feature = "tables")]
            Self::Parquet => true,
            _ => false,
        }
    }

    /// Returns true if its writer seeks.
    #[must_use]
    pub const fn seeks_in_output(self) -> bool {
        match self {
            #[cfg(feature = "all")]
            Self::Blf | Self::Mdf4 => true,
            _ => false,
        }
    }

    /// A reader.
    #[must_use]
    pub fn reader(self, input: impl Input) -> Box<dyn ReadRecords> {
        match self {
            Self::Candump => Box::new(candump::Reader::new(input)),
            Self::Pcapng => Box::new(pcapng::Reader::new(input)),
            #[cfg(feature = "all")]
            Self::Asc => Box::new(asc::Reader::new(input)),
            #[cfg(feature = "all")]
            Self::Blf => Box::new(blf::Reader::new(input)),
            #[cfg(feature = "all")]
            Self::Mdf4 => Box::new(mdf4::Reader::new(input)),
            #[cfg(feature = "all")]
            Self::Trc => Box::new(trc::Reader::new(input)),
            #[cfg(feature = "all")]
            Self::Csv => Box::new(csv::Reader::new(input)),
            #[cfg(feature = "all")]
            Self::Mcap => Box::new(mcap::Reader::new(input)),
            #[cfg(feature = "tables")]
            Self::Parquet => Box::new(crate::parquet::Reader::new(input)),
        }
    }

    /// A writer.
    #[must_use]
    pub fn writer(self, output: impl Output + 'static) -> Box<dyn WriteRecords> {
        match self {
            Self::Candump => Box::new(candump::Writer::new(output)),
            Self::Pcapng => Box::new(pcapng::Writer::new(output)),
            #[cfg(feature = "all")]
            Self::Asc => Box::new(asc::Writer::new(output)),
            #[cfg(feature = "all")]
            Self::Blf => Box::new(blf::Writer::new(output)),
            #[cfg(feature = "all")]
            Self::Mdf4 => Box::new(mdf4::Writer::new(output)),
            #[cfg(feature = "all")]
            Self::Trc => Box::new(trc::Writer::new(output)),
            #[cfg(feature = "all")]
            Self::Mcap => Box::new(mcap::Writer::new(output)),
            #[cfg(feature = "all")]
            Self::Csv => Box::new(csv::Writer::new(output)),
            #[cfg(feature = "tables")]
            Self::Parquet => Box::new(crate::parquet::Writer::new(output)),
        }
    }

    /// A writer with columns for the signals of a database. `None` if the format has no columns.
    #[cfg(feature = "tables")]
    #[must_use]
    pub fn decoding_writer(
        self,
        output: impl Output + 'static,
        database: &candor_signals::Database,
    ) -> Option<Box<dyn WriteRecords>> {
        let decoder = crate::decode::Decoder::new(database);
        match self {
            Self::Csv => Some(Box::new(csv::Writer::decoding(output, decoder))),
            Self::Parquet => Some(Box::new(crate::parquet::Writer::decoding(output, decoder))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
