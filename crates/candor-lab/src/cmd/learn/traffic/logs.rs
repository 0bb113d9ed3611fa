//! Logs of any format, by bus.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_cli::render;
use candor_core::frame::{CANFD_BRS, FrameFormat};
use candor_learn::Recorded;
use candor_recording::{Format, ReadError, Record};

use super::file::Known;
use crate::cli::BusLog;
use crate::cmd::convert::files::{Opened, name, open};
use crate::cmd::learn::log::identifier;
use crate::cmd::patience;

#[derive(Debug, thiserror::Error)]
enum LogsError {
    #[error("cannot use {name}: {error}")]
    Bad { name: String, error: ReadError },
    #[error("{name} has no frames{}", of.as_ref().map_or_else(String::new, |of| format!(" of {of}")))]
    Empty { name: String, of: Option<String> },
    #[error("{name} has frames of {first} and {other}, and a bus is one of them; select it with --interface {first}")]
    Interfaces { name: String, first: String, other: String },
    #[error(
        "{name}: frame {frame} of {interface} is {back_ns} ns before the one before it; cut the log where its clock was set"
    )]
    Back { name: String, interface: String, frame: usize, back_ns: u64 },
}

/// Everything that the logs have, by bus.
#[derive(Debug, Default)]
pub(super) struct Logs {
    pub(super) names: Vec<String>,
    pub(super) buses: BTreeMap<String, LoggedBus>,
}

/// A bus in the logs.
#[derive(Debug, Default)]
pub(super) struct LoggedBus {
    /// By log.
    pub(super) logs: Vec<Vec<Recorded>>,
    /// By identifier.
    pub(super) shapes: BTreeMap<u32, Shape>,
    pub(super) error_frames: usize,
}

/// What no frame of an identifier is longer than.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) format: FrameFormat,
    /// All frames are CAN FD with bit-rate switch.
    pub(super) bit_rate_switch: bool,
    pub(super) len: u8,
    pub(super) remote: usize,
}

impl LoggedBus {
    fn add(&mut self, record: &Record) {
        let frame = &record.frame;
        if frame.id.is_err() {
            self.error_frames += 1;
            return;
        }
        let id = identifier(frame.id).0;
        let is_remote = frame.id.is_rtr();
        let len = if is_remote { 0 } else { u8::try_from(frame.payload().len()).unwrap_or(u8::MAX) };
        let switches = frame.format == FrameFormat::Fd && frame.flags & CANFD_BRS != 0;
        let new = Shape { format: frame.format, bit_rate_switch: switches, len, remote: 0 };
        let shape = self.shapes.entry(id).or_insert(new);
        if frame.format == FrameFormat::Fd {
            shape.format = FrameFormat::Fd;
        }
        shape.bit_rate_switch &= switches;
        shape.len = shape.len.max(len);
        shape.remote += usize::from(is_remote);
        let at_ns = u64::try_from(record.at_ns).unwrap_or(0);
        if self.logs.is_empty() {
            self.logs.push(Vec::new());
        }
        self.logs[0].push(Recorded { at_ns, id, is_remote, payload: Vec::new() });
    }

    /// Adds another log of the same bus.
    fn merge(&mut self, other: Self) {
        self.logs.extend(other.logs);
        self.error_frames += other.error_frames;
        for (id, shape) in other.shapes {
            let known = self.shapes.entry(id).or_insert(shape);
            *known = Shape {
                format: if known.format == FrameFormat::Fd { known.format } else { shape.format },
                bit_rate_switch: known.bit_rate_switch && shape.bit_rate_switch,
                len: known.len.max(shape.len),
                remote: known.remote + shape.remote,
            };
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        let spans = self.logs.iter().filter_map(|log| Some(log.last()?.at_ns - log.first()?.at_ns));
        spans.map(|span| span as f64 / 1e9).sum()
    }

    pub(super) fn frames(&self) -> usize {
        self.logs.iter().map(Vec::len).sum()
    }
}

impl Logs {
    pub(super) fn read(
        &mut self,
        log: &BusLog,
        wanted: Option<&str>,
        known: Option<&Known<'_>>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let path = name(&log.path);
        if let (Some(known), Some(bus)) = (known, &log.bus) {
            known.has(bus)?;
        }
        let of_ending = log.path.extension().and_then(|ending| Format::of_ending(ending.to_str()?));
        let format = of_ending.unwrap_or(Format::Candump);
        let read = Arc::new(AtomicU64::new(0));
        let Opened { input, .. } = open(&log.path, format, &read)?;
        let mut reader = format.reader(input);
        // By bus of the recording.
        let mut buses: BTreeMap<u16, LoggedBus> = BTreeMap::new();
        let mut record = Record::EMPTY;
        let shown = || format!("Reading {path}: {} MB", read.load(Ordering::Relaxed) / 1_000_000);
        let ended = patience::watch(shown, || {
            while reader.read(&mut record)? {
                if wanted.is_none_or(|wanted| wanted == reader.buses().name(record.bus)) {
                    buses.entry(record.bus.0).or_default().add(&record);
                }
            }
            Ok(())
        });
        buses.retain(|_, bus| bus.frames() > 0);
        match ended {
            Ok(()) => {}
            // As a killed candump leaves it.
            Err(error @ ReadError::Cut { .. }) if !buses.is_empty() => {
                render::err(&format!("note: {path}: {error}; what is before it is used\n"));
            }
            Err(error) => return Err(LogsError::Bad { name: path, error }.into()),
        }
        if buses.is_empty() {
            return Err(LogsError::Empty { name: path, of: wanted.map(str::to_owned) }.into());
        }
        let interface = |index: u16| reader.buses().name(candor_recording::BusIndex(index)).to_owned();
        let mut several = buses.keys();
        if let (Some(_), Some(first), Some(other)) = (&log.bus, several.next(), several.next()) {
            let (first, other) = (interface(*first), interface(*other));
            return Err(LogsError::Interfaces { name: path, first, other }.into());
        }
        for (index, bus) in buses {
            let interface = interface(index);
            let frames = &bus.logs[0];
            if let Some(at) = frames.windows(2).position(|pair| pair[1].at_ns < pair[0].at_ns) {
                let back_ns = frames[at].at_ns - frames[at + 1].at_ns;
                return Err(LogsError::Back { name: path, interface, frame: at + 2, back_ns }.into());
            }
            let name = match (&log.bus, known) {
                (Some(bus), _) => bus.clone(),
                (None, Some(known)) => known.bus_of(&interface, &path)?,
                (None, None) => interface,
            };
            self.buses.entry(name).or_default().merge(bus);
        }
        self.names.push(path);
        Ok(())
    }
}
