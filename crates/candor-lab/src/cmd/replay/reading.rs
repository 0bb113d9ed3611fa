//! Reads a recording ahead of the time, in a thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use candor_core::causes::in_full;
use candor_core::frame::Frame;
use candor_recording::{BusIndex, Counts, Format, ReadError, Record};

use crate::cli::{Onto, ReplayArgs};
use crate::cmd::convert::files;
use crate::cmd::method::Failed;

/// Chunks that wait in the channel.
pub(super) const CHUNKS: usize = 4;
/// Frames of a chunk: those of a full bus of 1 Mbit/s in 0.1 s.
const CHUNK: usize = 1024;
const ERRORS: &str = "error frames left out";

#[derive(Debug)]
pub(super) enum Step {
    /// The recording begins again.
    Again,
    Frames(Vec<Due>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// In the recording.
    pub(super) at_ns: i64,
    /// Number of the interface.
    pub(super) lane: usize,
    pub(super) frame: Frame,
}

/// What was read, of all rounds.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) left_out: Counts,
    /// Frames of buses that go nowhere, by name.
    pub(super) others: BTreeMap<String, u64>,
    /// Where the recording is cut or damaged.
    pub(super) ended: Option<ReadError>,
}

/// Reads all rounds, until the receiver is gone.
pub(super) fn read(args: &ReplayArgs, format: Format, to: &SyncSender<Step>) -> Result<Read, Failed> {
    let mut read = Read::default();
    for round in 0..args.repeat.get() {
        if round > 0 && to.send(Step::Again).is_err() {
            break;
        }
        if !once(args, format, to, &mut read)? || read.ended.is_some() {
            break;
        }
    }
    Ok(read)
}

/// Reads the recording once; returns false if the receiver is gone.
fn once(args: &ReplayArgs, format: Format, to: &SyncSender<Step>, read: &mut Read) -> Result<bool, Failed> {
    let opened = files::open(&args.file, format, &Arc::default()).map_err(|error| in_full(&*error))?;
    let mut reader = format.reader(opened.input);
    let mut lanes: Vec<Option<usize>> = Vec::new();
    let (mut record, mut chunk) = (Record::EMPTY, Vec::with_capacity(CHUNK));
    let goes_on = loop {
        match reader.read(&mut record) {
            Ok(true) => {}
            Ok(false) => break true,
            Err(ReadError::Io(error)) => return Err(error.into()),
            Err(error) => {
                read.ended = Some(error);
                break true;
            }
        }
        let bus = usize::from(record.bus.0);
        while lanes.len() <= bus {
            let name = reader.buses().name(BusIndex(u16::try_from(lanes.len())?));
            lanes.push(lane(&args.onto, name));
        }
        if record.frame.id.is_err() {
            read.left_out.add(ERRORS);
        } else if let Some(lane) = lanes[bus] {
            chunk.push(Due { at_ns: record.at_ns, lane, frame: record.frame });
        } else {
            *read.others.entry(reader.buses().name(record.bus).to_owned()).or_default() += 1;
        }
        if chunk.len() == CHUNK
            && to.send(Step::Frames(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)))).is_err()
        {
            break false;
        }
    };
    read.left_out.merge(reader.skipped());
    Ok(goes_on && to.send(Step::Frames(chunk)).is_ok())
}

/// Number of the entry for a bus.
fn lane(onto: &[Onto], name: &str) -> Option<usize> {
    let named = onto.iter().position(|onto| onto.bus.as_deref() == Some(name));
    named.or_else(|| onto.iter().position(|onto| onto.bus.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_precedes_all_others() {
        let onto = |bus: Option<&str>| Onto { bus: bus.map(str::to_owned), interface: "vcan0".to_owned() };
        let all = [onto(None), onto(Some("body"))];
        assert_eq!(["body", "can0"].map(|name| lane(&all, name)), [Some(1), Some(0)]);
        assert_eq!(lane(&all[1..], "can0"), None);
    }
}
