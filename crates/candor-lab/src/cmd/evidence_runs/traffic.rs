//! Frames sent on a schedule on two virtual buses, and what taps see.

use std::io;
use std::thread;
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, Options};
use candor_io::clock::{self, MonotonicNs};
use candor_io::errno::ENOBUFS;
use candor_io::packet::TapDirection;
use candor_lab::tap::Tap;
use candor_lab::tester as interfaces;
use candor_netlink::client::Client;

use super::super::method::Failed;

/// After the last frame, taps are read at this interval …
const QUIET: Duration = Duration::from_millis(50);
/// … until this many reads were empty.
const IDLE_LOOKS: u32 = 2;
const LOOKS: u32 = 40;
/// From the call to the first frame.
const LEAD_NS: i64 = 5_000_000;
/// Frames of others for which taps have room.
const ROOM: usize = 1024;

/// The bus on which a frame is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Untrusted,
    Trusted,
}

/// A frame to send at a time after the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at_ns: i64,
    pub(super) on: On,
    pub(super) frame: Frame,
}

/// A frame that a tap saw at a time after the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at_ns: i64,
    pub(super) frame: Frame,
}

/// What happened, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Frames that the untrusted bus carried.
    pub(super) came: Vec<Seen>,
    /// Frames that were given to the interface of the trusted bus.
    pub(super) left: Vec<Seen>,
}

/// Sends frames in the order of their times, and waits until no more arrive. The thread should be a tester.
pub(super) fn play((untrusted, trusted): (&str, &str), schedule: &[Due]) -> Result<Passed, Failed> {
    let mut client = Client::open()?;
    let mut tap = |name: &str, direction| Tap::open(&mut client, name, direction, 2 * schedule.len() + ROOM);
    let (mut came, mut left) = (tap(untrusted, TapDirection::Incoming)?, tap(trusted, TapDirection::Outgoing)?);
    let (on_untrusted, on_trusted) = (open(untrusted)?, open(trusted)?);
    let start = clock::realtime()?.0;
    let begin = clock::monotonic()?.0;
    for due in schedule {
        clock::sleep_until(MonotonicNs(begin + LEAD_NS + due.at_ns))?;
        let socket = if due.on == On::Untrusted { &on_untrusted } else { &on_trusted };
        send(socket, &due.frame)?;
    }
    let mut passed = Passed::default();
    let mut idle = 0;
    for _ in 0..LOOKS {
        let before = passed.left.len();
        thread::sleep(QUIET);
        let since = |at: i64| at - start - LEAD_NS;
        came.read(|seen| passed.came.push(Seen { at_ns: since(seen.at.0), frame: seen.frame }))?;
        left.read(|seen| passed.left.push(Seen { at_ns: since(seen.at.0), frame: seen.frame }))?;
        idle = if passed.left.len() == before { idle + 1 } else { 0 };
        if idle == IDLE_LOOKS {
            break;
        }
    }
    Ok(passed)
}

/// A socket that only sends.
pub(super) fn open(interface: &str) -> Result<CanSocket, Failed> {
    let link = interfaces::find(&mut Client::open()?, interface)?;
    Ok(CanSocket::open(link.index, &Options { filters: &[], ..Options::default() })?)
}

/// Returns false if the queue, or the buffer of the socket, is full.
pub(super) fn send(socket: &CanSocket, frame: &Frame) -> io::Result<bool> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    match socket.send_now(&bytes[..len]) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(ENOBUFS) || error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}
