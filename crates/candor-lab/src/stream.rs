//! Frames with a fixed period, for saturation and endurance.
//!
//! The tester has a higher priority than the gateway, sends each frame when it is due, and sleeps. Taps on the gateway's two
//! interfaces record frames and are rarely read, so the period is kept whatever the gateway does. The tester's share of a
//! common processor is measured by a stream without a gateway, with a period that is too short to be kept.

mod passage;

pub use passage::{Matcher, Passage, Saturation};

use std::io;
use std::thread;
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, Loopback, Options};
use candor_io::clock::{self, MonotonicNs};
use candor_io::errno::ENOBUFS;
use candor_io::packet::Hears;
use candor_netlink::client::Client;

use crate::bursts::Way;
use crate::tap::Tap;
use crate::tester::{InterfacesError, interfaces};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// A number replaces the first payload byte.
    pub template: Frame,
    pub period: Duration,
    pub frames: u32,
    /// Frames after which the taps are read: before they are full, but rarely, because the gateway does not run
    /// meanwhile.
    pub look: u32,
}

/// After the last frame, taps are read at this interval …
const QUIET: Duration = Duration::from_millis(100);
/// … until this many reads were empty.
const IDLE_LOOKS: u32 = 2;

/// Capacity of a tap.
pub const REMEMBERED: usize = 8192;

#[derive(Debug)]
pub struct Bench {
    sender: CanSocket,
    comes_in: Tap,
    leaves: Tap,
}

impl Bench {
    pub fn open(way: &Way) -> Result<Self, InterfacesError> {
        let mut client = Client::open().map_err(InterfacesError::List)?;
        // If another interface sends, frames only reach the tap by the wire.
        let loopback = if way.send == way.comes_in { Loopback::On } else { Loopback::Off };
        let options = Options { filters: &[], loopback, ..Options::default() };
        Ok(Self {
            sender: interfaces::open(&mut client, &way.send, &options)?,
            comes_in: Tap::open(&mut client, &way.comes_in, Hears::Incoming, REMEMBERED)?,
            leaves: Tap::open(&mut client, &way.leaves, Hears::Outgoing, REMEMBERED)?,
        })
    }

    /// Sends a stream and reports each frame that left. `looked` is called after the taps were read; its error ends the
    /// stream. Frames that the sending interface refuses are skipped.
    pub fn pass(
        &mut self,
        pattern: &Pattern,
        mut passed: impl FnMut(Passage),
        mut looked: impl FnMut(&Matcher) -> io::Result<()>,
    ) -> io::Result<Matcher> {
        thread::sleep(QUIET);
        self.comes_in.forget()?;
        self.leaves.forget()?;
        let frames: Vec<_> = frames_in_turn(&pattern.template).map(|frame| to_kernel(&frame)).collect();
        let period = i64::try_from(pattern.period.as_nanos()).map_err(io::Error::other)?;
        let mut matcher = Matcher::default();
        let mut moment = clock::monotonic()?.0;
        for (number, (bytes, len)) in (1..=pattern.frames).zip(frames.iter().cycle()) {
            moment += period;
            clock::sleep_until(MonotonicNs(moment))?;
            match self.sender.send_now(&bytes[..*len]) {
                Err(error) if error.raw_os_error() != Some(ENOBUFS) => return Err(error),
                _ => {}
            }
            if number % pattern.look.max(1) == 0 {
                self.look(&mut matcher, &mut passed)?;
                looked(&matcher)?;
            }
        }
        let mut idle = 0;
        while idle < IDLE_LOOKS {
            let seen = matcher.seen();
            thread::sleep(QUIET);
            self.look(&mut matcher, &mut passed)?;
            idle = if matcher.seen() == seen { idle + 1 } else { 0 };
        }
        looked(&matcher)?;
        Ok(matcher)
    }

    fn look(&mut self, matcher: &mut Matcher, passed: &mut impl FnMut(Passage)) -> io::Result<()> {
        // First those that left: they have also come in.
        let mut left = Vec::new();
        self.leaves.read(|frame| left.extend(tag(&frame.frame).map(|tag| (tag, frame.at))))?;
        self.comes_in.read(|frame| {
            if let Some(tag) = tag(&frame.frame) {
                matcher.came(tag, frame.at);
            }
        })?;
        left.into_iter().filter_map(|(tag, at)| matcher.left(tag, at)).for_each(passed);
        Ok(())
    }
}

/// The frames of a stream, sent in turn; the first payload byte is their number.
pub fn frames_in_turn(template: &Frame) -> impl Iterator<Item = Frame> {
    let template = *template;
    (0..=u8::MAX).map(move |number| {
        let mut frame = template;
        frame.data[0] = number;
        frame
    })
}

/// In the kernel's layout, with the length.
pub(crate) fn to_kernel(frame: &Frame) -> ([u8; CANFD_MTU], usize) {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    (bytes, len)
}

fn tag(frame: &Frame) -> Option<u8> {
    frame.payload().first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_turn_have_all_numbers() {
        let template: Frame = "123#FF00".parse().unwrap();
        let tags: Vec<_> = frames_in_turn(&template).map(|frame| tag(&frame)).collect();
        assert_eq!(tags, (0..=u8::MAX).map(Some).collect::<Vec<_>>());
    }
}
