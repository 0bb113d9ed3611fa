//! `candor record`: frames of CAN buses in pcapng files.
//!
//! ```text
//!  rings or sockets ─▶ listening ─┬─ Before: the last seconds, until a trigger
//!                                 └─ blocks ─▶ Files ─▶ system (each second) ─▶ disk (each --sync)
//! ```

mod before;
mod files;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};
use candor_core::frame::Frame;
use candor_io::can::Heard;
use candor_io::signal::EndingSignals;
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};
use candor_recording::{Direction, pcapng};
use serde::Serialize;

use super::dump::buses;
use super::dump::frame::Any;
use super::dump::{Bus, wanted::Wanted};
use super::listening::{self, End, Listener, Port};
use crate::cli::RecordArgs;
use crate::netns;
use before::Before;
use files::{Files, Policy};

/// Until blocks are given to the system.
const FLUSH: Duration = Duration::from_secs(1);
/// Or when there are so many bytes of them.
const CHUNK: usize = 64 << 10;
const CLOCK: &str = "times: CLOCK_REALTIME of the kernel at reception";

pub(crate) fn run(args: &RecordArgs) -> Outcome {
    netns::enter(&args.netns)?;
    // Before the first frame is received, so that all are counted at the end.
    let signals = EndingSignals::block()?;
    let Some(mut ports) = buses::open(&args.buses, false, Form::once(args.json), args.through)? else {
        return Ok(Exit::No);
    };
    let mut recorder = Recorder::new(args, &ports)?;
    if !args.json {
        let names: Vec<_> = ports.iter().map(|port| port.bus.name.as_str()).collect();
        render::err(&format!("recording {} to {}\n", names.join(", "), recorder.files.shown()));
    }
    let listened = listening::listen(&mut ports, args.duration, &signals, &mut recorder);
    let finished = recorder.finish(&ports);
    recorder.say(args.json, &ports);
    let end = listened?;
    finished?;
    Ok(if end == End::Time && recorder.frames() == 0 { Exit::No } else { Exit::Fine })
}

/// At the end.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    /// Recorded.
    frames: u64,
    files: usize,
    /// Files removed early because the disk was full.
    removed_files: usize,
    /// Frames that could not be written.
    unwritten: u64,
    /// CAN XL frames, which were not recorded.
    xl_frames: u64,
    /// Frames that matched --trigger; `null` without it.
    triggers: Option<u64>,
    /// Triggers before which there were more frames than fit into memory.
    incomplete_triggers: Option<u64>,
    buses: Vec<BusView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BusView<'a> {
    bus: &'a str,
    interface: &'a str,
    /// Frames that matched --match.
    received: u64,
    /// Received faster than they were taken.
    lost: u64,
    /// Dropped by the driver or the kernel before that.
    dropped: u64,
}

/// A frame to record.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Unix time.
    at_ns: i64,
    /// Of its bus.
    number: u32,
    direction: Direction,
    frame: Frame,
}

/// Blocks that are not written yet.
struct Blocks {
    bytes: Vec<u8>,
    /// Frames so far, including those that could not be written.
    frames: u64,
    last_ns: i64,
}

impl Blocks {
    #[inline]
    fn record(&mut self, at_ns: i64, number: u32, direction: Direction, frame: &Frame) {
        self.frames += 1;
        self.last_ns = at_ns;
        let at_ns = u64::try_from(at_ns).unwrap_or_default();
        pcapng::packet_block(&mut self.bytes, number, at_ns, frame, Some(direction), "");
    }
}

struct Recorder {
    files: Files,
    blocks: Blocks,
    flushed: Instant,
    /// `None` without `--trigger`.
    before: Option<Before>,
    /// By bus.
    triggers: Vec<Vec<Wanted>>,
    takes_all: bool,
    /// By bus.
    counts: Vec<Count>,
    most: u64,
    xl_frames: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Frames that matched --match.
    received: u64,
    /// By the socket.
    lost: u64,
    /// By the driver or the kernel, since the interface exists.
    dropped: u64,
    /// When the recording began.
    dropped_before: u64,
    /// When the file began: received, and lost or dropped.
    at_start: (u64, u64),
}

impl Count {
    /// In the recording so far: received, and lost or dropped.
    const fn now(&self) -> (u64, u64) {
        (self.received, self.lost + self.dropped())
    }

    const fn dropped(&self) -> u64 {
        self.dropped.saturating_sub(self.dropped_before)
    }
}

impl Recorder {
    fn new(args: &RecordArgs, ports: &[Port<Bus>]) -> Result<Self, Box<dyn Error>> {
        let policy = Policy {
            size: args.file_size.map(Into::into),
            time: args.file_time,
            keep: args.keep.map(|keep| keep.get() as usize),
            sync: Some(args.sync).filter(|every| !every.is_zero()),
        };
        let triggers = triggers(args, ports)?;
        let links = link::list(&mut Client::open()?)?;
        let files = Files::new(&args.out, policy, header(ports, &links))?;
        let count = |port: &Port<Bus>| {
            let dropped = dropped(&links, port).unwrap_or_default();
            Count { dropped, dropped_before: dropped, ..Count::default() }
        };
        Ok(Self {
            files,
            blocks: Blocks { bytes: Vec::with_capacity(2 * CHUNK), frames: 0, last_ns: 0 },
            flushed: Instant::now(),
            before: (!args.trigger.is_empty()).then(|| Before::new(args.before, args.after)),
            triggers,
            takes_all: args.buses.filter.is_empty(),
            counts: ports.iter().map(count).collect(),
            most: args.count.map_or(u64::MAX, |count| count.get().into()),
            xl_frames: 0,
        })
    }

    /// Recorded frames.
    const fn frames(&self) -> u64 {
        self.blocks.frames.saturating_sub(self.files.lost)
    }

    /// Gives all blocks to the system, with what buses have lost since the last time; at the end of a file, with what all received.
    fn write(&mut self, ports: &[Port<Bus>], is_end: bool) -> io::Result<()> {
        let at_ns = u64::try_from(self.blocks.last_ns).unwrap_or_default();
        let links = if is_end { Client::open().and_then(|mut client| link::list(&mut client)).ok() } else { None };
        for ((number, port), count) in (0..).zip(ports).zip(&mut self.counts) {
            let lost = port.lost();
            let is_loss = lost != count.lost;
            count.lost = lost;
            if let Some(dropped) = links.as_ref().and_then(|links| dropped(links, port)) {
                count.dropped = dropped;
            }
            if is_end || is_loss {
                let (received_before, lost_before) = count.at_start;
                let (received, lost) = count.now();
                let (received, lost) = (received - received_before, lost.saturating_sub(lost_before));
                pcapng::statistics(&mut self.blocks.bytes, number, at_ns, received + lost, lost);
            }
            if is_end {
                count.at_start = count.now();
            }
        }
        // Blocks that cannot be written are not tried again.
        let result = self.files.append(&self.blocks.bytes);
        self.blocks.bytes.clear();
        self.flushed = Instant::now();
        result
    }

    fn finish(&mut self, ports: &[Port<Bus>]) -> io::Result<()> {
        let is_begun = self.files.is_open() || !self.blocks.bytes.is_empty();
        let written = if is_begun { self.write(ports, true) } else { Ok(()) };
        let finished = self.files.finish();
        written.and(finished)
    }

    fn say(&self, json: bool, ports: &[Port<Bus>]) {
        let (frames, files) = (self.frames(), &self.files);
        let (triggers, incomplete) = self.before.as_ref().map(|before| (before.triggers, before.incomplete)).unzip();
        if json {
            let buses = ports.iter().zip(&self.counts).map(|(port, count)| BusView {
                bus: &port.bus.name,
                interface: &port.interface,
                received: count.received,
                lost: count.lost,
                dropped: count.dropped(),
            });
            let view = View {
                frames,
                files: files.written,
                removed_files: files.removed,
                unwritten: files.lost,
                xl_frames: self.xl_frames,
                triggers,
                incomplete_triggers: incomplete,
                buses: buses.collect(),
            };
            // The status says that an output failed.
            let _ = render::out(&render::object(&view));
            return;
        }
        let mut said = format!("frames: {frames} in {}\n", plural(files.written, "file"));
        for (port, count) in ports.iter().zip(&self.counts) {
            let (lost, dropped, interface) = (count.lost, count.dropped(), &port.interface);
            if lost > 0 {
                said += &format!("{lost} frames lost: {interface} received them faster than they were taken\n");
            }
            if dropped > 0 {
                said += &format!("{dropped} frames lost: the driver of {interface} or the kernel dropped them\n");
            }
        }
        let before = "triggers before which there were more frames than fit into memory";
        let others = [
            (files.lost, "frames not written"),
            (files.removed as u64, "files removed early, because the disk was full"),
            (self.xl_frames, "CAN XL frames left out"),
            (incomplete.unwrap_or_default(), before),
        ];
        for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
            said += &format!("{count} {what}\n");
        }
        if let Some(triggers) = triggers {
            said += &format!("triggers: {triggers}\n");
        }
        render::err(&said);
    }
}

/// The start of each file: its buses, where times come from.
fn header(ports: &[Port<Bus>], links: &[Link]) -> Vec<u8> {
    let mut header = Vec::new();
    pcapng::section(&mut header);
    for port in ports {
        let link = links.iter().find(|link| link.name == port.interface);
        let bitrate = link.and_then(|link| link.can?.bitrate).map(|rate| u64::from(rate.bits_per_second()));
        let comment = if port.bus.name == port.interface {
            CLOCK.to_owned()
        } else {
            format!("interface {}; {CLOCK}", port.interface)
        };
        pcapng::interface(&mut header, &port.bus.name, bitrate, &comment);
    }
    header
}

/// Frames that a driver or the kernel has dropped.
fn dropped(links: &[Link], port: &Port<Bus>) -> Option<u64> {
    links.iter().find(|link| link.name == port.interface).map(|link| link.received.dropped)
}

/// Entries of `--trigger` by bus. Each must be possible for one of them, because their databases differ.
fn triggers(args: &RecordArgs, ports: &[Port<Bus>]) -> Result<Vec<Vec<Wanted>>, String> {
    let mut triggers = vec![Vec::new(); ports.len()];
    for text in &args.trigger {
        let (mut is_possible, mut reason) = (false, String::new());
        for (port, of_bus) in ports.iter().zip(&mut triggers) {
            match Wanted::parse(text, &port.bus.databases) {
                Ok(one) => {
                    is_possible = true;
                    of_bus.push(one);
                }
                Err(why) => reason = why,
            }
        }
        if !is_possible {
            return Err(format!("--trigger {text:?}: {reason}"));
        }
    }
    Ok(triggers)
}

impl Listener<Bus> for Recorder {
    /// A hundred frames of a full bus with 1 Mbit/s. The receive buffer of a user without privileges has room for 250.
    const GATHER: Duration = Duration::from_millis(20);

    fn frame(&mut self, number: usize, bus: &Bus, heard: Heard, bytes: &[u8]) -> bool {
        let Some(any) = Any::read(bytes) else { return true };
        if !self.takes_all && !bus.wanted.iter().any(|one| one.takes(&any)) {
            return true;
        }
        self.counts[number].received += 1;
        let Any::Can(frame) = &any else {
            self.xl_frames += 1;
            return true;
        };
        let direction = if heard.is_local { Direction::Sent } else { Direction::Received };
        let (at_ns, of_bus) = (heard.at.0, u32::try_from(number).unwrap_or(u32::MAX));
        let Self { blocks, before, triggers, .. } = self;
        match before {
            None => blocks.record(at_ns, of_bus, direction, frame),
            Some(before) => {
                let is_trigger = triggers[number].iter().any(|one| one.takes(&any));
                let kept = Kept { at_ns, number: of_bus, direction, frame: *frame };
                before.add(kept, is_trigger, |one| blocks.record(one.at_ns, one.number, one.direction, &one.frame));
            }
        }
        blocks.frames < self.most
    }

    fn look(&mut self, ports: &[Port<Bus>]) -> io::Result<Option<Duration>> {
        let is_time = self.flushed.elapsed() >= FLUSH;
        if self.blocks.bytes.len() >= CHUNK || (is_time && !self.blocks.bytes.is_empty()) {
            self.write(ports, false)?;
        }
        if self.files.is_full() {
            self.write(ports, true)?;
            self.files.end();
        }
        self.files.sync()?;
        Ok(Some(FLUSH))
    }
}

#[cfg(test)]
mod tests;
