//! The files that tell what happened on the wires.

use std::io;

use candor_wire::host::Told;

use super::capture::Capture;
use super::faults::Places;
use super::log::Log;
use crate::cli::WireArgs;

/// Those that are wanted.
#[derive(Debug)]
pub(crate) struct Witness {
    log: Option<Log>,
    capture: Option<Capture>,
}

impl Witness {
    pub(super) fn create(args: &WireArgs, places: &Places) -> io::Result<Self> {
        let log = args.log.as_deref().map(|path| Log::create(path, places)).transpose()?;
        let capture = args.pcapng.as_deref().map(|path| Capture::create(path, &args.bus)).transpose()?;
        Ok(Self { log, capture })
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.log.is_some() || self.capture.is_some()
    }

    pub(crate) fn write(&mut self, story: &[Told]) -> io::Result<()> {
        if let Some(log) = &mut self.log {
            log.write(story)?;
        }
        if let Some(capture) = &mut self.capture {
            capture.write(story)?;
        }
        Ok(())
    }
}
