//! The files that record the trace.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use candor_wire::fault::TraceEntry;
use candor_wire::host::Traced;

use super::faults::Names;
use super::{capture, log};
use crate::cli::WireArgs;

#[derive(Debug)]
pub(super) struct Recorder<'a> {
    names: &'a Names,
    log: Option<Output>,
    capture: Option<Output>,
}

#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
}

impl<'a> Recorder<'a> {
    pub(super) fn create(args: &WireArgs, names: &'a Names) -> io::Result<Self> {
        let log = args.log.as_deref().map(|path| Output::create(path, log::HEADLINE.into())).transpose()?;
        let capture =
            args.pcapng.as_deref().map(|path| Output::create(path, capture::headers(&args.bus))).transpose()?;
        Ok(Self { names, log, capture })
    }

    pub(super) const fn is_needed(&self) -> bool {
        self.log.is_some() || self.capture.is_some()
    }

    pub(super) fn write(&mut self, trace: &[Traced]) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            trace.iter().for_each(|traced| log::line(&mut log.bytes, self.names, traced));
            log.flush()?;
        }
        if let Some(capture) = &mut self.capture {
            for traced in trace {
                // Injected faults are not packets; their effects on frames are.
                if let (Some(bus), TraceEntry::Event(event)) = (self.names.bus(traced.bus), &traced.what) {
                    capture::packet(&mut capture.bytes, traced.bus, bus, event);
                }
            }
            capture.flush()?;
        }
        Ok(())
    }
}

impl Output {
    fn create(path: &Path, bytes: Vec<u8>) -> io::Result<Self> {
        let file = File::create(path).map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), file, bytes })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.bytes).map_err(|error| failed(&self.path, &error))?;
        self.bytes.clear();
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("Cannot write {}: {error}", path.display()))
}
