//! Frames with a fixed period, whatever the gateway makes of them: where it saturates, and whether it bears a load for long.
//!
//! The tester comes before the gateway, sends each frame at its moment, and sleeps. Taps on the gateway's own two interfaces
//! write down what comes in and what leaves, and are read seldom. So the period is kept whatever the gateway does; what the
//! tester takes of the processor that it shares with the gateway is told by a stream without one, whose period is shorter
//! than can be kept.

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

/// Frames of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The frame; a number replaces its first payload byte.
    pub template: Frame,
    /// Time from frame to frame.
    pub period: Duration,
    /// How many.
    pub frames: u32,
    /// Frames after which the tester reads its taps: before they are full, and seldom, for the gateway does not run meanwhile.
    pub look: u32,
}

/// What passes after the last frame was sent is read in such steps, …
const QUIET: Duration = Duration::from_millis(100);
/// … until so many of them brought nothing.
const IDLE_LOOKS: u32 = 2;

/// Frames that a tap writes down until the tester looks.
pub const REMEMBERED: usize = 8192;

/// One way with its taps.
#[derive(Debug)]
pub struct Bench {
    sender: CanSocket,
    comes_in: Tap,
    leaves: Tap,
}

impl Bench {
    /// Opens the taps.
    ///
    /// # Errors
    /// [`InterfacesError`] names the interface and what is wrong with it.
    pub fn open(way: &Way) -> Result<Self, InterfacesError> {
        let mut client = Client::open().map_err(InterfacesError::List)?;
        // Where another interface sends, only the wire carries its frames.
        let loopback = if way.send == way.comes_in { Loopback::On } else { Loopback::Off };
        let options = Options { filters: &[], loopback, ..Options::default() };
        Ok(Self {
            sender: interfaces::open(&mut client, &way.send, &options)?,
            comes_in: Tap::open(&mut client, &way.comes_in, Hears::Incoming, REMEMBERED)?,
            leaves: Tap::open(&mut client, &way.leaves, Hears::Outgoing, REMEMBERED)?,
        })
    }

    /// Sends a stream, and tells of each frame that left. `looked` is called after each look at the taps, and ends the
    /// stream with an error. A frame that the sending interface does not take is left out.
    ///
    /// # Errors
    /// That of `looked`, what the kernel says of the sender, or a tap that missed frames.
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
        // What leaves is read first: whatever is in there has also come in.
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

/// The frames of a stream, which are sent in turn: the number in the first payload byte tells one from the other.
pub fn frames_in_turn(template: &Frame) -> impl Iterator<Item = Frame> {
    let template = *template;
    (0..=u8::MAX).map(move |number| {
        let mut frame = template;
        frame.data[0] = number;
        frame
    })
}

/// The kernel's struct, and how long it is.
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
