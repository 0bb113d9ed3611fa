//! `candor dump`: prints the frames of CAN buses.

pub(super) mod buses;
mod decode;
mod error;
pub(super) mod frame;
mod json;
mod text;
pub(super) mod wanted;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_cli::gateway_file::Form as Findings;
use candor_cli::{Exit, Outcome, render};
use candor_io::can::Heard;
use candor_io::signal::EndingSignals;
use candor_signals::Database;

use super::listening::{self, End, Listener, Port};
use crate::cli::{DumpArgs, Through};
use crate::netns;
use decode::Decoder;
use frame::Any;
pub(super) use json::Event;
use text::Printer;
use wanted::Wanted;

pub(crate) fn run(args: &DumpArgs) -> Outcome {
    netns::enter(&args.netns)?;
    // Before the first frame is received, so that all are counted at the end.
    let signals = EndingSignals::block()?;
    let Some(mut ports) = buses::open(&args.buses, args.decode, Findings::running(args.json), Some(Through::Socket))?
    else {
        return Ok(Exit::No);
    };
    let mut writer = Writer::new(args, &ports);
    let end = listening::listen(&mut ports, args.duration, &signals, &mut writer)?;
    writer.end(&ports)?;
    if end == End::Time && writer.frames == 0 {
        return Ok(Exit::No);
    }
    Ok(Exit::Fine)
}

/// A bus of which frames are printed or recorded.
#[derive(Debug, Default)]
pub(super) struct Bus {
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) databases: Vec<Arc<Database>>,
    /// Frames that match one of these; all without `--match`.
    pub(super) wanted: Vec<Wanted>,
}

/// A frame and where it was received.
#[derive(Clone, Copy, Debug)]
struct Received<'a> {
    /// Unix time in ns.
    at_ns: i64,
    /// A program of this machine sent it.
    is_local: bool,
    /// Number of the bus.
    number: usize,
    frame: Any<'a>,
}

/// Lines until they are written.
struct Writer {
    form: Form,
    text: String,
    /// Frames that were printed.
    frames: u64,
    /// The largest number of them.
    most: u64,
    /// Without `--match`, all frames are printed.
    prints_all: bool,
}

enum Form {
    /// Signals with `--decode`.
    Json(Option<Decoder>),
    Log,
    Text(Printer),
}

impl Writer {
    fn new(args: &DumpArgs, ports: &[Port<Bus>]) -> Self {
        let decoder = args.decode.then(Decoder::default);
        let form = if args.json {
            Form::Json(decoder)
        } else if args.log {
            Form::Log
        } else {
            let width = ports.iter().map(|port| port.bus.name.chars().count()).max().unwrap_or_default();
            let has_colour = render::wants_colour_out();
            Form::Text(Printer { from_zero: args.zero, has_colour, decoder, width, first_ns: None })
        };
        let most = args.count.map_or(u64::MAX, |count| count.get().into());
        Self { form, text: String::new(), frames: 0, most, prints_all: args.buses.filter.is_empty() }
    }

    fn print(&mut self, bus: &Bus, received: &Received<'_>) {
        self.frames += 1;
        match &mut self.form {
            Form::Json(decoder) => {
                let decoded = decoder.as_mut().and_then(|decoder| decoder.decode(bus, received));
                self.text += &render::line(&json::frame(bus, received, decoded));
            }
            Form::Log => text::log(&mut self.text, bus, received),
            Form::Text(printer) => printer.print(&mut self.text, bus, received),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            render::out(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// The number of frames, and of those that the sockets dropped.
    fn end(&mut self, ports: &[Port<Bus>]) -> io::Result<()> {
        let frames = self.frames;
        let mut said = format!("frames: {frames}\n");
        let mut all = 0;
        for port in ports {
            let (lost, interface) = (port.lost(), &port.interface);
            all += lost;
            if lost > 0 {
                said += &format!(
                    "{lost} frames lost: {interface} received them faster than they were printed; write to a file\n"
                );
            }
        }
        if matches!(self.form, Form::Json(_)) {
            self.text += &render::line(&Event::End { frames, lost: all });
        } else {
            render::err(&said);
        }
        self.flush()
    }
}

impl Listener<Bus> for Writer {
    fn frame(&mut self, number: usize, bus: &Bus, heard: Heard, bytes: &[u8]) -> bool {
        if let Some(frame) = Any::read(bytes)
            && (self.prints_all || bus.wanted.iter().any(|one| one.takes(&frame)))
        {
            self.print(bus, &Received { at_ns: heard.at.0, is_local: heard.is_local, number, frame });
        }
        self.frames != self.most
    }

    fn look(&mut self, _ports: &[Port<Bus>]) -> io::Result<Option<Duration>> {
        self.flush().map(|()| None)
    }
}
