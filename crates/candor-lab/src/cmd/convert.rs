//! `candor-lab convert`.

pub(super) mod files;
mod view;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_cli::{Exit, Outcome, render};
use candor_recording::{Format, ReadError, ReadRecords, Record, Sink};

use super::{database, patience};
use crate::cli::ConvertArgs;
use files::{Opened, is_standard};
pub(super) use view::{LeftOut, View, counted};

#[derive(Debug, thiserror::Error)]
pub(super) enum ConvertError {
    #[error("cannot tell the format of {name} from its ending; add {option}, one of {formats}")]
    Ending { name: String, option: &'static str, formats: String },
    #[error("{0} has no columns for signals; write --to csv or --to parquet, or leave out --decode")]
    NoColumns(&'static str),
    #[error("{name} has no frame that can be read as {title}: {error}{hint}")]
    Unreadable { name: String, title: &'static str, error: String, hint: String },
    #[error("{name} is compressed with {with}; unpack it on the way: {tool} {name} | {command}")]
    Compressed { name: String, with: &'static str, tool: &'static str, command: String },
    #[error("{0} is empty: not even the beginning of a recording is there")]
    Empty(String),
    #[error("--json needs standard output, which is OUT; write a file")]
    NoRoom,
    #[error("{0} is IN and OUT; give OUT another name")]
    Same(String),
}

impl ConvertError {
    /// Of a recording that gave no frame. Its ending may be wrong.
    pub(super) fn unreadable(path: &Path, from: Format, error: &ReadError) -> Self {
        let seen = files::format_seen(path).filter(|seen| *seen != from);
        let hint = seen.map(|seen| format!("; it begins as {}: try --from {}", seen.title(), seen.name()));
        let (name, title) = (files::name(path), from.title());
        Self::Unreadable { name, title, error: error.to_string(), hint: hint.unwrap_or_default() }
    }
}

/// Frames between two updates of what is shown as progress.
const OFTEN: u64 = 4096;

pub(crate) fn run(args: &ConvertArgs) -> Outcome {
    let command = |from: &str| format!("candor-lab convert --from {from} - {}", files::name(&args.output));
    let from = input_format(&args.input, args.from, command)?;
    if args.json && is_standard(&args.output) {
        return Err(ConvertError::NoRoom.into());
    }
    let to = format_of(&args.output, args.to, "--to")?;
    if files::are_same(&args.input, &args.output) {
        return Err(ConvertError::Same(args.input.display().to_string()).into());
    }
    let read = Arc::new(AtomicU64::new(0));
    let Opened { input, size } = files::open(&args.input, from, &read)?;
    let mut reader = from.reader(input);
    let output = files::Output::create(&args.output, to)?;
    let writer = match &args.decode {
        None => to.writer(output.file()?),
        Some(path) => {
            let database = database::read(path)?;
            to.decoding_writer(output.file()?, &database).ok_or_else(|| ConvertError::NoColumns(to.title()))?
        }
    };
    let mut sink = Sink::of(to.limits(), writer);
    let frames = AtomicU64::new(0);
    let shown = || progress(&args.input, frames.load(Ordering::Relaxed), read.load(Ordering::Relaxed), size);
    let (summary, ended) = patience::watch(shown, || {
        let mut summary = Summary::default();
        let ended = all(&mut *reader, &mut sink, &mut summary, &frames);
        (summary, ended)
    });
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => return Err(output.failed(error)),
    };
    if read.load(Ordering::Relaxed) == 0 {
        return Err(ConvertError::Empty(files::name(&args.input)).into());
    }
    if let (0, Some(error)) = (summary.frames, &ended) {
        return Err(ConvertError::unreadable(&args.input, from, error).into());
    }
    let lost = sink.finish().map_err(|error| output.failed(error))?;
    let view = View::of(args, &summary, &*reader, &sink, &lost, ended.as_ref());
    drop(reader);
    drop(sink);
    output.complete()?;
    match is_standard(&args.output) {
        _ if args.json => render::out(&render::object(&view))?,
        true => render::err(&view.text()),
        false => render::out(&view.text())?,
    }
    match ended {
        None => Ok(Exit::Fine),
        Some(error) => {
            let name = files::name(&args.input);
            render::err(&format!("candor-lab: {name} ends at {error}; what is before it was converted\n"));
            Ok(Exit::No)
        }
    }
}

/// Converts up to the end, or up to a place that cannot be read.
fn all(
    reader: &mut dyn ReadRecords,
    sink: &mut Sink,
    summary: &mut Summary,
    frames: &AtomicU64,
) -> std::io::Result<Option<ReadError>> {
    let mut record = Record::EMPTY;
    loop {
        match reader.read(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(ReadError::Io(error)) => return Err(error),
            Err(error) => return Ok(Some(error)),
        }
        sink.write(&record, reader.buses())?;
        summary.add(&record);
        if summary.frames.is_multiple_of(OFTEN) {
            frames.store(summary.frames, Ordering::Relaxed);
        }
    }
}

/// The format of a recording that is read. The command reads standard input in a format.
pub(super) fn input_format(
    path: &Path,
    given: Option<Format>,
    command: impl FnOnce(&str) -> String,
) -> Result<Format, ConvertError> {
    if let Some((with, tool)) = files::compression_of(path) {
        // Of drive.log.gz, drive.log has the ending.
        let inner = path.file_stem().map(Path::new);
        let from = given.or_else(|| of_ending(inner?)).map_or("FORMAT", Format::name);
        return Err(ConvertError::Compressed { name: files::name(path), with, tool, command: command(from) });
    }
    format_of(path, given, "--from")
}

fn format_of(path: &Path, given: Option<Format>, option: &'static str) -> Result<Format, ConvertError> {
    given.or_else(|| of_ending(path)).ok_or_else(|| ConvertError::Ending {
        name: files::name(path),
        option,
        formats: Format::all().map(Format::name).collect::<Vec<_>>().join(", "),
    })
}

fn of_ending(path: &Path) -> Option<Format> {
    path.extension().and_then(|ending| Format::of_ending(ending.to_str()?))
}

fn progress(input: &Path, frames: u64, read: u64, size: Option<u64>) -> String {
    let part = size.filter(|size| *size > 0).map(|size| format!(", {} %", (read.min(size) * 100) / size));
    format!("Converting {}: {frames} frames{}", files::name(input), part.unwrap_or_default())
}

/// What was read.
#[derive(Debug, Default)]
struct Summary {
    frames: u64,
    span: Option<(i64, i64)>,
}

impl Summary {
    fn add(&mut self, record: &Record) {
        self.frames += 1;
        let (first, last) = self.span.get_or_insert((record.at_ns, record.at_ns));
        *first = record.at_ns.min(*first);
        *last = record.at_ns.max(*last);
    }
}

type Failure = Box<dyn Error>;

#[cfg(test)]
mod tests;
