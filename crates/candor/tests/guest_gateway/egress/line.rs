//! A bus that takes a frame when the test takes one: an adapter on a serial line, played by the test.
//!
//! The driver hands a frame to the line and stops its queue until the line is read. So what waits, waits as behind any
//! controller that is busy, as long as the test likes, without a clock; the tree stands at the root, where its users have
//! it; and what the test reads is the order in which frames leave. `tbf` above a tree (section 3.3 of the report of 2011)
//! paces too, but takes the next frame out of most disciplines before it may leave ([`paced`](super::paced) shows it), and
//! who sends late meets another order.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use candor_io::can::InterfaceIndex;
use candor_io::poll::{self, Interest, Watched};
use candor_netlink::client::Client;
use candor_netlink::link;
use nix::pty::openpty;
use nix::unistd::ttyname;

use super::{Interface, TcError, Tree, clear, interface, make};
use crate::frames::{classic, send, sender_on};
use crate::require::Feature;

pub(super) const NEEDS: &[Feature] = &[Feature::Root, Feature::Slcan, Feature::Vcan];
const NAME: &str = "t-line";
const PATIENCE: Duration = Duration::from_secs(20);
/// Nothing more comes: what could wake the driver has long run.
const QUIET: Duration = Duration::from_millis(20);
/// Frames that the driver takes before anything waits, and what follows them, have this identifier.
const PLUG: u32 = 0x7EF;
/// More than any driver of this kind holds.
const MOST_PLUGS: usize = 5;

/// The adapter at the other end of a pseudo terminal, and its interface.
pub(super) struct Line {
    line: File,
    /// Holds the line discipline until its input ends.
    attached: Child,
    pub(super) index: InterfaceIndex,
    pub(super) kernel: Interface,
}

impl Line {
    pub(super) fn new() -> Self {
        let pair = openpty(None, None).unwrap();
        let path = ttyname(&pair.slave).unwrap();
        let mut line = File::from(pair.master);
        let mut attach = Command::new("slcan_attach");
        attach.args(["-w", "-n", NAME]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::null());
        let attached = attach.spawn().unwrap();
        let index = while_read(&mut line, || {
            let deadline = Instant::now() + PATIENCE;
            let client = &mut Client::open().unwrap();
            while link::by_name(client, NAME).unwrap().is_none() {
                assert!(Instant::now() < deadline, "slcan_attach makes no interface");
                std::thread::sleep(Duration::from_millis(5));
            }
            let index = link::by_name(client, NAME).unwrap().unwrap().index;
            link::set_up(client, index).unwrap();
            index
        });
        Self { line, attached, index, kernel: interface(NAME) }
    }

    /// Lets nothing leave any more, with a tree in which nothing waits yet.
    ///
    /// # Errors
    /// What the kernel refuses the tree with.
    pub(super) fn block(&mut self, tree: &Tree) -> Result<(), TcError> {
        let sender = sender_on(self.index);
        let waits = |kernel: &mut Interface| kernel.observe().unwrap().defaults[0].1.backlog_frames > 0;
        let mut plugs = 0;
        while !waits(&mut self.kernel) {
            assert!(plugs < MOST_PLUGS, "the driver takes everything");
            send(&sender, &classic(PLUG, &[]));
            plugs += 1;
        }
        // What waits goes with the discipline of before.
        make(&mut self.kernel, tree)
    }

    /// Frames that wait in the tree.
    pub(super) fn backlog(&mut self) -> usize {
        self.kernel.observe().unwrap().qdiscs[0].backlog_frames.try_into().unwrap()
    }

    /// The first byte of each frame in the order in which they leave, until nothing more does.
    pub(super) fn read(&mut self, count: usize) -> Vec<u8> {
        let mut said = Vec::new();
        let frames = |said: &[u8]| -> Vec<u8> { said.split(|byte| *byte == b'\r').filter_map(first_byte).collect() };
        loop {
            let patience = if frames(&said).len() < count { PATIENCE } else { QUIET };
            match read_some(&mut self.line, patience) {
                bytes if bytes.is_empty() => return frames(&said),
                bytes => said.extend(bytes),
            }
        }
    }

    /// As it was at first.
    pub(super) fn clear(&mut self) {
        clear(&mut self.kernel);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.attached.stdin.take());
        let Self { line, attached, .. } = self;
        while_read(line, || attached.wait().map(drop)).unwrap();
    }
}

/// The first byte of the payload of what the driver says of a frame: `t1231AA`, `T123456781AA`.
fn first_byte(said: &[u8]) -> Option<u8> {
    let said = std::str::from_utf8(said).unwrap();
    let digits = match said.chars().next()? {
        't' => 3,
        'T' => 8,
        _ => return None,
    };
    said.get(1 + digits + 1..1 + digits + 3).map(|byte| u8::from_str_radix(byte, 16).unwrap())
}

/// What has come, nothing if nothing comes for so long.
fn read_some(line: &mut File, patience: Duration) -> Vec<u8> {
    let mut watched = [Watched::new(line.as_fd(), Interest::Read)];
    poll::wait(&mut watched, Some(patience)).unwrap();
    if !watched[0].is_ready {
        return Vec::new();
    }
    let mut bytes = [0; 64];
    // The other end of a terminal that nobody holds is an error.
    let count = line.read(&mut bytes).unwrap_or(0);
    bytes[..count].to_vec()
}

/// The kernel waits for room on the line, so somebody has to read.
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
