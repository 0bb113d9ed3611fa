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
use std::time::{Duration, Instant};

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_core::frame::CANXL_MTU;
use candor_io::can::{CanSocket, Heard};
use candor_io::errno::{ENETDOWN, ENODEV, ENXIO};
use candor_io::poll::{self, Interest, Watched};
use candor_io::signal::EndingSignals;

use crate::cli::DumpArgs;
use crate::netns;
use decode::{Bus, Decoder};
use frame::Any;
#[cfg(test)]
pub(super) use json::Event;
use text::{Printer, Received};
use wanted::Wanted;

/// For bursts while the terminal is slow; a frame takes about 800 bytes.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 20;
/// Frames until the next look at signals and the time, if no pause comes first.
const WITHOUT_A_LOOK: u32 = 256;

pub(crate) fn run(args: &DumpArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let Some(found) = buses::find(args)? else { return Ok(Exit::No) };
    let (buses, indexes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let wanted = buses::wanted(&args.filter, &buses)?;
    // Before the first frame, so that none is printed without being counted at the end.
    let signals = EndingSignals::block()?;
    let mut ports = Vec::new();
    for (bus, index) in buses.iter().zip(indexes) {
        let socket = CanSocket::open_for_all(index).map_err(|error| {
            format!("cannot listen on {}: {error}; is can-raw loaded? sudo modprobe can-raw", bus.interface)
        })?;
        socket.set_receive_buffer(RECEIVE_BUFFER_BYTES)?;
        ports.push(Port { socket, buffer: Box::new([0; CANXL_MTU]), held: None, is_gone: false });
    }
    let mut writer = Writer::new(args, &buses);
    let end = listen(args, &buses, &mut ports, &wanted, &mut writer, &signals)?;
    let mut lost = Vec::new();
    for (port, bus) in ports.iter().zip(&buses) {
        lost.push((bus, port.socket.dropped().unwrap_or_default()));
    }
    writer.end(&lost)?;
    if let (Some(time), End::Time, 0) = (args.duration, end, writer.frames) {
        render::err(&format!("no frame in {time:?}\n"));
        return Ok(Exit::No);
    }
    Ok(Exit::Fine)
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
    socket: CanSocket,
    buffer: Box<[u8; CANXL_MTU]>,
    /// A frame that is not printed yet.
    held: Option<Heard>,
    /// The interface was unplugged or deleted.
    is_gone: bool,
}

impl Port {
    /// Receives the next frame if none is held.
    fn fill(&mut self, bus: &Bus) -> io::Result<()> {
        if self.held.is_some() || self.is_gone {
            return Ok(());
        }
        let interface = &bus.interface;
        match self.socket.hear(&mut self.buffer) {
            Ok(heard) => self.held = heard,
            Err(error) => match error.raw_os_error() {
                Some(ENETDOWN) => {
                    render::err(&format!("{interface} is down; set it up: sudo ip link set {interface} up\n"));
                }
                Some(ENODEV | ENXIO) => {
                    self.is_gone = true;
                    render::err(&format!("{interface} is gone: unplugged or deleted\n"));
                }
                _ => return Err(error),
            },
        }
        Ok(())
    }
}

/// Prints frames in the order in which they were received.
fn listen(
    args: &DumpArgs,
    buses: &[Bus],
    ports: &mut [Port],
    wanted: &[Vec<Wanted>],
    writer: &mut Writer<'_>,
    signals: &EndingSignals,
) -> Result<End, Box<dyn Error>> {
    let signal = signals.descriptor()?;
    let deadline = args.duration.map(|time| Instant::now() + time);
    let most = args.count.map_or(u64::MAX, |count| count.get().into());
    let mut before_look = WITHOUT_A_LOOK;
    loop {
        for (port, bus) in ports.iter_mut().zip(buses) {
            port.fill(bus)?;
        }
        let held = ports.iter().enumerate().filter_map(|(number, port)| Some((port.held?.at, number)));
        let next = held.min().map(|(_, number)| number);
        if let Some(number) = next
            && let port = &mut ports[number]
            && let Some(heard) = port.held.take()
            && let Some(frame) = Any::read(&port.buffer[..heard.len])
        {
            let is_wanted = args.filter.is_empty() || wanted[number].iter().any(|one| one.takes(&frame));
            if is_wanted {
                writer.frame(&Received { at_ns: heard.at.0, is_local: heard.is_local, number, frame });
            }
            if writer.frames == most {
                return Ok(End::Count);
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
    let there = ports.iter().filter(|port| !port.is_gone);
    let mut watched: Vec<_> = there.map(|port| Watched::new(port.socket.as_fd(), Interest::Read)).collect();
    if watched.is_empty() {
        return Err("no interface is left".into());
    }
    watched.push(Watched::new(signal, Interest::Read));
    match poll::wait(&mut watched, left) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error.into()),
        _ => Ok(()),
    }
}

/// Lines until they are written.
struct Writer<'d> {
    buses: &'d [Bus],
    form: Form<'d>,
    text: String,
    /// Frames that were printed.
    frames: u64,
}

enum Form<'d> {
    /// Signals with `--decode`.
    Json(Option<Decoder<'d>>),
    Log,
    Text(Printer<'d>),
}

impl<'d> Writer<'d> {
    fn new(args: &DumpArgs, buses: &'d [Bus]) -> Self {
        let form = match (args.json, args.log) {
            (true, _) => Form::Json(args.decode.then(Decoder::default)),
            (false, true) => Form::Log,
            (false, false) => Form::Text(Printer::new(buses, args.time, args.decode, render::wants_colour_out())),
        };
        Self { buses, form, text: String::new(), frames: 0 }
    }

    fn frame(&mut self, received: &Received<'_>) {
        self.frames += 1;
        let bus = &self.buses[received.number];
        match &mut self.form {
            Form::Json(decoder) => self.text += &render::line(&json::Event::of(bus, received, decoder.as_mut())),
            Form::Log => text::log(&mut self.text, bus, received),
            Form::Text(printer) => printer.print(&mut self.text, received),
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
    fn end(&mut self, lost: &[(&Bus, u32)]) -> io::Result<()> {
        if let Form::Json(_) = self.form {
            let lost = lost.iter().map(|(_, lost)| u64::from(*lost)).sum();
            self.text += &render::line(&json::Event::End { frames: self.frames, lost });
            return self.flush();
        }
        self.flush()?;
        let count = |count: u64| plural(usize::try_from(count).unwrap_or(usize::MAX), "frame");
        let mut said = format!("{}\n", count(self.frames));
        for (bus, lost) in lost.iter().filter(|(_, lost)| *lost > 0) {
            let (frames, interface) = (count((*lost).into()), &bus.interface);
            said +=
                &format!("{frames} lost: {interface} received them faster than they were printed; write to a file\n");
        }
        render::err(&said);
        Ok(())
    }
}
