//! Frames with a fixed period, for saturation and endurance.
//!
//! The tester has a higher priority than the gateway, sends each frame when it is due, and sleeps. Taps on the gateway's two
//! interfaces record frames and are rarely read, so the period is kept whatever the gateway does. The tester's share of a
//! common processor is measured by a stream without a gateway, with a period that is too short to be kept.

use std::collections::VecDeque;
use std::io;
use std::thread;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_io::can::{CanSocket, Loopback, Options};
use candor_io::clock::{self, MonotonicNs, RealtimeNs};
use candor_io::errno::ENOBUFS;
use candor_io::packet::TapDirection;
use candor_netlink::client::Client;

use crate::bursts::Way;
use crate::stats::{LatencyNs, Quantile, Series};
use crate::tap::Tap;
use crate::tester::{InterfacesError, interfaces, to_kernel};

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
            comes_in: Tap::open(&mut client, &way.comes_in, TapDirection::Incoming, REMEMBERED)?,
            leaves: Tap::open(&mut client, &way.leaves, TapDirection::Outgoing, REMEMBERED)?,
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

fn tag(frame: &Frame) -> Option<u8> {
    frame.payload().first().copied()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub came: RealtimeNs,
    pub left: RealtimeNs,
}

/// Matches frames by their number (0 to 255) and order.
#[derive(Debug, Default)]
pub struct Matcher {
    pending: VecDeque<(u8, RealtimeNs)>,
    first: Option<RealtimeNs>,
    last: Option<RealtimeNs>,
    pub came: u32,
    /// Frames that left in order.
    pub left: u32,
    /// Frames overtaken by others: lost or out of order.
    pub overtaken: u32,
    /// Frames that left but were not pending: doubled, out of order, or not from the tester.
    pub strange: u32,
}

impl Matcher {
    pub fn came(&mut self, tag: u8, at: RealtimeNs) {
        self.came += 1;
        self.first.get_or_insert(at);
        self.last = Some(at);
        self.pending.push_back((tag, at));
    }

    /// A frame left. Earlier frames that are still pending are overtaken.
    pub fn left(&mut self, tag: u8, at: RealtimeNs) -> Option<Passage> {
        let Some(position) = self.pending.iter().position(|(other, came)| *other == tag && *came <= at) else {
            self.strange += 1;
            return None;
        };
        self.overtaken += u32::try_from(position).unwrap_or(u32::MAX);
        let (_, came) = self.pending.drain(..=position).next_back()?;
        self.left += 1;
        Some(Passage { came, left: at })
    }

    pub const fn seen(&self) -> u32 {
        self.came.wrapping_add(self.left).wrapping_add(self.strange)
    }

    /// Frames that came in and have not left, including overtaken ones.
    pub const fn missing(&self) -> u32 {
        self.came - self.left
    }

    /// Mean period of incoming frames; `None` for less than two.
    pub fn period_ns(&self) -> Option<i64> {
        let between = i64::from(self.came.checked_sub(1).filter(|between| *between > 0)?);
        Some((self.last?.0 - self.first?.0) / between)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    pub period_ns: i64,
    /// Frames that did not come in.
    pub not_sent: u32,
    /// Frames that came in and did not leave.
    pub lost: u32,
    /// `None` if no frame left.
    pub p50: Option<LatencyNs>,
    pub p90: Option<LatencyNs>,
    pub max: Option<LatencyNs>,
    pub behind: u32,
}

impl Saturation {
    /// Frames that left after the last one had come in.
    pub fn of(frames: u32, matcher: &Matcher, passages: &[Passage]) -> Self {
        let series = Series::new(passages.iter().map(|one| LatencyNs(one.left.0 - one.came.0)).collect());
        let series = series.as_ref();
        let behind = passages.iter().filter(|one| matcher.last.is_some_and(|last| one.left > last)).count();
        Self {
            period_ns: matcher.period_ns().unwrap_or_default(),
            not_sent: frames.saturating_sub(matcher.came),
            lost: matcher.missing(),
            p50: series.map(|series| series.quantile(Quantile::P50)),
            p90: series.map(|series| series.quantile(Quantile::P90)),
            max: series.map(Series::max),
            behind: u32::try_from(behind).unwrap_or(u32::MAX),
        }
    }
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

    const fn at(ns: i64) -> RealtimeNs {
        RealtimeNs(ns)
    }

    #[test]
    fn frames_are_matched_by_number_and_order() {
        let mut matcher = Matcher::default();
        for number in 0..=5 {
            matcher.came(number, at(100 * i64::from(number)));
        }
        assert_eq!(matcher.left(0, at(70)), Some(Passage { came: at(0), left: at(70) }));
        assert_eq!(matcher.left(3, at(370)), Some(Passage { came: at(300), left: at(370) }));
        assert_eq!((matcher.overtaken, matcher.missing()), (2, 4));
        assert_eq!((matcher.left(3, at(380)), matcher.left(1, at(390))), (None, None));
        assert_eq!((matcher.left, matcher.strange), (2, 2));
        assert_eq!(matcher.period_ns(), Some(100));
    }

    #[test]
    fn numbers_repeat_after_256_frames() {
        let mut matcher = Matcher::default();
        for number in 0..600_i64 {
            matcher.came(u8::try_from(number % 256).unwrap(), at(10 * number));
            if number != 300 {
                let left = matcher.left(u8::try_from(number % 256).unwrap(), at(10 * number + 3));
                assert_eq!(left, Some(Passage { came: at(10 * number), left: at(10 * number + 3) }));
            }
        }
        assert_eq!((matcher.came, matcher.left, matcher.overtaken, matcher.strange), (600, 599, 1, 0));
    }

    #[test]
    fn frame_does_not_leave_before_it_comes_in() {
        let mut matcher = Matcher::default();
        matcher.came(1, at(100));
        assert_eq!(matcher.left(1, at(99)), None);
        assert_eq!(matcher.strange, 1);
    }

    #[test]
    fn backlog_of_a_gateway_is_counted() {
        let mut matcher = Matcher::default();
        (0..10).for_each(|number| matcher.came(number, at(100 * i64::from(number))));
        let passages: Vec<_> = (0..8).filter_map(|number| matcher.left(number, at(200 * i64::from(number)))).collect();
        let saturation = Saturation::of(12, &matcher, &passages);
        assert_eq!((saturation.not_sent, saturation.lost, saturation.behind), (2, 2, 3));
        assert_eq!(
            (saturation.period_ns, saturation.p50, saturation.max),
            (100, Some(LatencyNs(300)), Some(LatencyNs(700)))
        );
        let nothing = Saturation::of(3, &Matcher::default(), &[]);
        assert_eq!((nothing.not_sent, nothing.p50, nothing.period_ns), (3, None, 0));
    }
}
