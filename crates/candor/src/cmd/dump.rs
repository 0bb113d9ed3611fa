//! `candor dump`: prints the frames of CAN buses.

mod buses;
mod decode;
mod error;
mod frame;
mod json;
mod text;
mod wanted;

use std::error::Error;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_cli::{Exit, Outcome, render};
use candor_core::frame::CANXL_MTU;
use candor_io::can::{CanSocket, Heard};
use candor_io::clock::RealtimeNs;
use candor_io::errno::{ENETDOWN, ENODEV, ENXIO};
use candor_io::poll::{self, Interest, Watched};
use candor_io::signal::EndingSignals;
use candor_signals::Database;

use crate::cli::DumpArgs;
use crate::netns;
use decode::Decoder;
use frame::Any;
pub(super) use json::Event;
use text::Printer;
use wanted::Wanted;

/// Frames until the next look at signals and the time, if no pause comes first.
const WITHOUT_A_LOOK: u32 = 256;

pub(crate) fn run(args: &DumpArgs) -> Outcome {
    netns::enter(&args.netns)?;
    // Before the first frame is received, so that all are counted at the end.
    let signals = EndingSignals::block()?;
    let Some(mut ports) = buses::open(args)? else { return Ok(Exit::No) };
    let mut writer = Writer::new(args, &ports);
    let end = listen(args, &mut ports, &mut writer, &signals)?;
    writer.end(&ports)?;
    if end == End::Time && writer.frames == 0 {
        return Ok(Exit::No);
    }
    Ok(Exit::Fine)
}

/// A bus of which frames are printed.
#[derive(Debug, Default)]
struct Bus {
    name: String,
    interface: String,
    databases: Vec<Arc<Database>>,
    /// Frames that match one of these; all without `--match`.
    wanted: Vec<Wanted>,
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

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Count,
    Signal,
    Time,
}

/// A socket, and the frame that it received last.
struct Port {
    bus: Bus,
    socket: CanSocket,
    buffer: Box<[u8; CANXL_MTU]>,
    /// A frame that is not printed yet.
    held: Option<Heard>,
    /// The interface was unplugged or deleted.
    is_gone: bool,
}

impl Port {
    /// Receives the next frame if none is held.
    fn fill(&mut self) -> io::Result<()> {
        if self.held.is_some() || self.is_gone {
            return Ok(());
        }
        let error = match self.socket.hear(&mut self.buffer) {
            Ok(heard) => {
                self.held = heard;
                return Ok(());
            }
            Err(error) => error,
        };
        let interface = &self.bus.interface;
        render::err(&match error.raw_os_error() {
            Some(ENETDOWN) => format!("{interface} is down; set it up: sudo ip link set {interface} up\n"),
            Some(ENODEV | ENXIO) => {
                self.is_gone = true;
                format!("{interface} is gone: unplugged or deleted\n")
            }
            _ => return Err(error),
        });
        Ok(())
    }
}

/// Prints frames in the order in which they were received.
fn listen(
    args: &DumpArgs,
    ports: &mut [Port],
    writer: &mut Writer,
    signals: &EndingSignals,
) -> Result<End, Box<dyn Error>> {
    let signal = signals.descriptor()?;
    let deadline = args.duration.map(|time| Instant::now() + time);
    let most = args.count.map_or(u64::MAX, |count| count.get().into());
    let mut before_look = WITHOUT_A_LOOK;
    loop {
        let mut next: Option<(RealtimeNs, usize)> = None;
        for (number, port) in ports.iter_mut().enumerate() {
            port.fill()?;
            if let Some(heard) = port.held
                && next.is_none_or(|(first, _)| heard.at < first)
            {
                next = Some((heard.at, number));
            }
        }
        if let Some((at, number)) = next
            && let port = &mut ports[number]
            && let Some(heard) = port.held.take()
            && let Some(frame) = Any::read(&port.buffer[..heard.len])
        {
            let wanted = &port.bus.wanted;
            if args.filter.is_empty() || wanted.iter().any(|one| one.takes(&frame)) {
                writer.frame(&port.bus, &Received { at_ns: at.0, is_local: heard.is_local, number, frame });
                if writer.frames == most {
                    return Ok(End::Count);
                }
            }
        }
        before_look -= 1;
        if next.is_some() && before_look > 0 {
            continue;
        }
        before_look = WITHOUT_A_LOOK;
        writer.flush()?;
        if signals.wait(Duration::ZERO)?.is_some() {
            return Ok(End::Signal);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(End::Time);
        }
        if next.is_none() {
            wait(ports, signal.as_fd(), left)?;
        }
    }
}

/// Waits for a frame, a signal or the end of the time.
fn wait(ports: &[Port], signal: BorrowedFd<'_>, left: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let mut watched = vec![Watched::new(signal, Interest::Read)];
    for port in ports {
        if !port.is_gone {
            watched.push(Watched::new(port.socket.as_fd(), Interest::Read));
        }
    }
    if watched.len() == 1 {
        return Err("no interface is left".into());
    }
    match poll::wait(&mut watched, left) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
        _ => Ok(()),
    }
}

/// Lines until they are written.
struct Writer {
    form: Form,
    text: String,
    /// Frames that were printed.
    frames: u64,
}

enum Form {
    /// Signals with `--decode`.
    Json(Option<Decoder>),
    Log,
    Text(Printer),
}

impl Writer {
    fn new(args: &DumpArgs, ports: &[Port]) -> Self {
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
        Self { form, text: String::new(), frames: 0 }
    }

    fn frame(&mut self, bus: &Bus, received: &Received<'_>) {
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
    fn end(&mut self, ports: &[Port]) -> io::Result<()> {
        let frames = self.frames;
        let mut said = format!("frames: {frames}\n");
        let mut all = 0;
        for Port { bus: Bus { interface, .. }, socket, .. } in ports {
            let lost = socket.dropped().unwrap_or_default();
            all += u64::from(lost);
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
