//! A bus that sends a frame when the test reads one: a serial adapter whose other end the test holds.
//!
//! The driver hands a frame to the line and stops its queue until the line is read. So frames wait as with any busy controller,
//! for any time and without a clock, the tree is at the root as usual, and the test reads the order in which frames leave. A
//! `tbf` above a tree (section 3.3 of the report of 2011) also paces frames, but dequeues the next frame from most disciplines
//! before it may leave ([`paced`](super::paced)), so a later frame sees another order.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

use candor_io::poll::{self, Interest, Watched};

use super::*;
use crate::serial::{Serial, set_up};

const NAME: &str = "t-line";
/// Longer than the driver needs to wake up.
const QUIET: Duration = Duration::from_millis(20);
/// Identifier of the frames that fill the driver.
pub(super) const PLUG: u32 = 0x7EF;
/// More than any driver of this kind holds.
pub(super) const MOST_PLUGS: usize = 5;

pub(super) struct Line {
    serial: Serial,
    /// What has been read of the line, and not returned.
    rest: Vec<u8>,
    pub(super) index: InterfaceIndex,
    pub(super) kernel: Interface,
    _machine: MutexGuard<'static, ()>,
}

impl Line {
    pub(super) fn new(features: &[Feature]) -> Option<Self> {
        let machine = require(features)?;
        let mut serial = Serial::attach(NAME);
        let index = while_read(&mut serial.line, || set_up(NAME));
        Some(Self { serial, rest: Vec::new(), index, kernel: interface(NAME), _machine: machine })
    }

    /// Fills the driver, so that no frame leaves, and makes the tree, which is empty.
    pub(super) fn block(&mut self, tree: &Tree) -> Result<(), TcError> {
        self.plug();
        // Its frames are dropped with the former discipline.
        make(&mut self.kernel, tree)
    }

    /// Fills the driver, until a frame waits at the root.
    pub(super) fn plug(&mut self) {
        let sender = sender_on(self.index);
        let waits = |kernel: &mut Interface| {
            let found = kernel.observe().unwrap();
            let default = found.defaults.first().map(|(_, stats)| stats);
            default.or_else(|| found.qdiscs.first()).unwrap().backlog_frames > 0
        };
        let mut plugs = 0;
        while !waits(&mut self.kernel) {
            assert!(plugs < MOST_PLUGS, "the driver takes everything");
            send(&sender, &classic(PLUG, &[]));
            plugs += 1;
        }
    }

    pub(super) fn backlog(&mut self) -> usize {
        self.kernel.observe().unwrap().qdiscs[0].backlog_frames.try_into().unwrap()
    }

    /// The first byte of each frame in the order in which they leave, at least of this many.
    pub(super) fn read(&mut self, count: usize) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.rest);
        let frames = |text: &[u8]| -> Vec<u8> { text.split(|byte| *byte == b'\r').filter_map(first_byte).collect() };
        loop {
            let patience = if frames(&text).len() < count { PATIENCE } else { QUIET };
            match read_some(&mut self.serial.line, patience) {
                bytes if bytes.is_empty() => return frames(&text),
                bytes => text.extend(bytes),
            }
        }
    }

    /// The first byte of each frame up to the first frame with this one, which is not included.
    pub(super) fn read_until(&mut self, last: u8) -> Vec<u8> {
        let mut before = Vec::new();
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\r') {
                let frame: Vec<u8> = self.rest.drain(..=end).collect();
                match first_byte(&frame) {
                    Some(byte) if byte == last => return before,
                    byte => before.extend(byte),
                }
            }
            let bytes = read_some(&mut self.serial.line, PATIENCE);
            assert!(!bytes.is_empty(), "only {before:?} left");
            self.rest.extend(bytes);
        }
    }

    /// Frames from the bus, in the notation of the driver.
    pub(super) fn write(&mut self, text: &[u8]) {
        self.serial.line.write_all(text).unwrap();
    }

    /// The frames in the notation of the driver, without those that fill it, in the order in which they leave, at least this
    /// many.
    pub(super) fn texts(&mut self, count: usize) -> Vec<String> {
        let plug = format!("t{PLUG:03X}0");
        let mut text = Vec::new();
        let frames = |text: &[u8]| -> Vec<String> {
            let lines = text.split(|byte| *byte == b'\r').map(|line| String::from_utf8(line.to_vec()).unwrap());
            lines.filter(|line| line.starts_with(['t', 'T', 'r', 'R']) && *line != plug).collect()
        };
        loop {
            let patience = if frames(&text).len() < count { PATIENCE } else { QUIET };
            match read_some(&mut self.serial.line, patience) {
                bytes if bytes.is_empty() => return frames(&text),
                bytes => text.extend(bytes),
            }
        }
    }

    pub(super) fn clear(&mut self) {
        clear(&mut self.kernel);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut line = self.serial.line.try_clone().unwrap();
        while_read(&mut line, || self.serial.detach());
    }
}

/// The first payload byte of a frame in the notation of the driver: `t1231AA`, `T123456781AA`.
fn first_byte(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).unwrap();
    let digits = match text.chars().next()? {
        't' => 3,
        'T' => 8,
        _ => return None,
    };
    text.get(1 + digits + 1..1 + digits + 3).map(|byte| u8::from_str_radix(byte, 16).unwrap())
}

/// The next bytes, or none after this time.
fn read_some(line: &mut File, patience: Duration) -> Vec<u8> {
    let mut watched = [Watched::new(line.as_fd(), Interest::Read)];
    poll::wait(&mut watched, Some(patience)).unwrap();
    if !watched[0].is_ready {
        return Vec::new();
    }
    let mut bytes = [0; 64];
    // Reading fails after the other end is closed.
    let count = line.read(&mut bytes).unwrap_or(0);
    bytes[..count].to_vec()
}

/// Reads the line meanwhile, because the kernel waits for room on it.
fn while_read<T>(line: &mut File, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if read_some(line, Duration::from_millis(5)).is_empty() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let outcome = work();
        done.store(true, Ordering::Relaxed);
        outcome
    })
}
