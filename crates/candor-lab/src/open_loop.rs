//! Open-loop traffic: frames are sent on schedule, whatever the gateway does. Shows queueing, losses and saturation.
//!
//! ```text
//!   due ──▶ sent ──▶ first bus ──▶ device under test ──▶ second bus
//!                       │                                   │
//!                   tap: stamp A                        tap: stamp B
//!          service = B − A − time on the second wire;  response = B − due − that time
//! ```
//!
//! The tester has a higher priority than the gateway, sleeps until each frame is due, and reads its taps at the end:
//! reading thousands of frames takes milliseconds, in which it would be late and the gateway would wait. If there are more
//! frames than the taps hold, it reads them whenever they are half full. Every frame gets exactly one
//! [`Disposition`](crate::record::Disposition); other frames that arrive are counted as doubled or strange.

mod matching;

use std::io;
use std::thread;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_egress::policy::FrameRate;
use candor_io::can::{CanSocket, Loopback, Options, SendStage, Stamps};
use candor_io::clock::{self, MonotonicNs};
use candor_io::errno::ENOBUFS;
use candor_io::packet::TapDirection;
use candor_netlink::client::Client;

use crate::record::{ADAPTER_STAMPS, Inside, Sample};
use crate::stats::throughput::Trial;
use crate::tap::Tap;
use crate::tester::{InterfacesError, Stamped, Wire, interfaces, share_a_clock, tag_of_number, to_kernel};
use matching::{Events, Passed, Sent};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub frames: Frames,
    /// Due time of each frame, in nanoseconds after the start, ascending.
    pub moments: Vec<u64>,
    /// Frames that warm the gateway up and do not count.
    pub warm_up: u32,
    /// Age at which a frame is late.
    pub lost_after: Duration,
    /// The second wire, if frames take time on it.
    pub wire: Option<Wire>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frames {
    /// One per moment, sent unchanged. Arriving frames are identified by all of their bytes; equal frames by their
    /// order.
    Given(Vec<Frame>),
    /// One frame; a number replaces its first two payload bytes.
    Numbered(Frame),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Frames that count, in the order of sending.
    pub samples: Vec<Sample>,
    pub doubled: u32,
    /// Frames that arrived but were not sent.
    pub strange: u32,
    /// `CLOCK_REALTIME` at the start; times of samples are relative to it.
    pub start_realtime_ns: i64,
}

/// The frame after the gateway; `None` if it does not forward it.
pub type Expected<'a> = &'a dyn Fn(&Frame) -> Option<Frame>;

/// Frames that taps receive, and the source of the stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// Incoming frames on both buses, stamped by the adapter.
    Adapter,
    /// Incoming frames on both buses, stamped by the kernel.
    Arriving,
    /// Incoming frames on the first bus and outgoing on the second, stamped by the kernel.
    Leaving,
}

impl Hearing {
    pub const fn stamps(self) -> &'static str {
        match self {
            Self::Adapter => ADAPTER_STAMPS,
            Self::Arriving => "kernel receive stamps of PF_PACKET taps",
            Self::Leaving => {
                "kernel stamps of PF_PACKET taps: receive on the first bus, hand-over to the driver on the second"
            }
        }
    }
}

#[derive(Debug)]
pub struct Bench {
    sender: CanSocket,
    monitor: Tap,
    far: Tap,
    inside: Stamps,
    /// Frames after which taps and stamps are read.
    every: usize,
    /// Frames sent before this series: transmit stamps are numbered by socket.
    before: u32,
}

/// Limit per tap: 16 MiB of locked memory.
const MOST_REMEMBERED: usize = 65_536;
/// Limit of frames with unread transmit stamps.
const MOST_STAMPED: usize = 16_384;
/// Size of a frame's transmit stamps, at most.
const STAMPED_BYTES: u32 = 2048;
/// After the last frame, taps are read at this interval …
const QUIET: Duration = Duration::from_millis(100);
/// … until this many reads were empty.
const IDLE_LOOKS: u32 = 3;

impl Bench {
    pub fn open(
        (send, monitor, receive): (&str, &str, &str),
        hearing: Hearing,
        inside: Stamps,
        frames: usize,
    ) -> Result<Self, InterfacesError> {
        let mut client = Client::open().map_err(InterfacesError::List)?;
        // If another interface sends, frames only reach the monitor by the wire.
        let loopback = if send == monitor { Loopback::On } else { Loopback::Off };
        let options = Options { filters: &[], loopback, ..Options::default() };
        // Twice as many, in case the gateway doubles them.
        let remembered = (2 * frames + 64).min(MOST_REMEMBERED);
        let sender = interfaces::open(&mut client, send, &options)?;
        let mut every = remembered / 2;
        if inside == Stamps::On {
            every = every.min(MOST_STAMPED);
            let room = u32::try_from(every).unwrap_or(u32::MAX).saturating_mul(STAMPED_BYTES);
            let is_on = sender.set_receive_buffer(room).and_then(|()| sender.stamp_sending());
            is_on.map_err(InterfacesError::opening(send))?;
        }
        let mut tap = |name, hearing| match hearing {
            Hearing::Adapter => Tap::with_adapter(&mut client, name, remembered),
            Hearing::Arriving => Tap::open(&mut client, name, TapDirection::Incoming, remembered),
            Hearing::Leaving => Tap::open(&mut client, name, TapDirection::Outgoing, remembered),
        };
        let of_monitor = if hearing == Hearing::Adapter { hearing } else { Hearing::Arriving };
        let (monitor_tap, far) = (tap(monitor, of_monitor)?, tap(receive, hearing)?);
        if hearing == Hearing::Adapter {
            share_a_clock(monitor, receive)?;
        }
        Ok(Self { sender, monitor: monitor_tap, far, inside, every, before: 0 })
    }

    /// Sends all frames and collects them. `expected`: what the gateway makes of a frame, if that is known. `progress`
    /// is rarely called, with the number of frames sent.
    ///
    /// # Panics
    /// If there are more moments than given frames.
    pub fn measure(
        &mut self,
        pattern: &Pattern,
        expected: Option<Expected<'_>>,
        mut progress: impl FnMut(u32),
    ) -> io::Result<Series> {
        thread::sleep(QUIET);
        self.monitor.forget()?;
        self.far.forget()?;
        let mut events = Events::with_room_for(pattern.moments.len());
        // The sleep uses one clock, the stamps the other.
        let (begin, start) = (clock::monotonic()?.0 + BEGIN_NS, clock::realtime()?.0 + BEGIN_NS);
        events.start_realtime_ns = start;
        for (number, &moment) in (0_u32..).zip(&pattern.moments) {
            let due_ns = i64::try_from(moment).map_err(io::Error::other)?;
            clock::sleep_until(MonotonicNs(begin + due_ns))?;
            let sent_ns = clock::realtime()?.0 - start;
            let (bytes, len) = to_kernel(&pattern.frame(number));
            let is_taken = match self.sender.send_now(&bytes[..len]) {
                Ok(()) => true,
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => false,
                Err(error) => return Err(error),
            };
            events.sent.push(Sent { due_ns, sent_ns, is_taken, inside: Inside::default() });
            if number as usize % self.every == self.every - 1 {
                self.look(&mut events)?;
                progress(number + 1);
            }
        }
        let mut idle = 0;
        while idle < IDLE_LOOKS {
            let seen = events.passed();
            thread::sleep(QUIET);
            self.look(&mut events)?;
            idle = if events.passed() == seen { idle + 1 } else { 0 };
        }
        self.before = self.before.wrapping_add(u32::try_from(events.sent.len()).map_err(io::Error::other)?);
        Ok(matching::series(pattern, &events, expected))
    }

    fn look(&mut self, events: &mut Events) -> io::Result<()> {
        let Events { start_realtime_ns, monitored, arrived, sent } = events;
        let before = self.before;
        let passed =
            |Stamped { frame, at, adapter }: Stamped| Passed { frame, at_ns: at.0 - *start_realtime_ns, adapter };
        if self.inside == Stamps::On {
            self.sender.read_send_stamps(|stamp| {
                // Refused frames are numbered too; numbers of an earlier series wrap to large ones.
                let Some(sent) = sent.get_mut(stamp.number.wrapping_sub(before) as usize) else { return };
                let at_ns = Some(stamp.at.0 - *start_realtime_ns);
                match stamp.stage {
                    SendStage::Queued => sent.inside.queued_ns = at_ns,
                    SendStage::HandedOver => sent.inside.handed_ns = at_ns,
                }
            })?;
        }
        self.monitor.read(|frame| monitored.push(passed(frame)))?;
        self.far.read(|frame| arrived.push(passed(frame)))
    }
}

/// Delay of the first frame.
const BEGIN_NS: i64 = 10_000_000;

impl Pattern {
    fn frame(&self, number: u32) -> Frame {
        match &self.frames {
            Frames::Given(frames) => frames[number as usize],
            Frames::Numbered(template) => numbered(*template, number),
        }
    }
}

pub fn numbered(mut frame: Frame, number: u32) -> Frame {
    frame.data[..2].copy_from_slice(&tag_of_number(number).to_be_bytes());
    frame
}

/// Counts as lost: frames that did not arrive in time, and frames that the tester sent when the next was already due,
/// because that is another rate.
pub fn trial_of(samples: &[Sample], rate: FrameRate) -> Trial {
    let period_ns = i64::from(1_000_000_000 / rate.frames_per_second());
    let is_lost = |sample: &&Sample| sample.disposition.is_lost() || sample.sent_ns - sample.due_ns >= period_ns;
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Trial { sent: count(samples.len()), lost: count(samples.iter().filter(is_lost).count()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Disposition;

    #[test]
    fn frame_sent_when_the_next_was_due_counts_as_lost() {
        let sample = |late_ns: i64, disposition| Sample {
            sequence: 0,
            tag: 0,
            due_ns: 1000,
            sent_ns: 1000 + late_ns,
            monitor_ns: None,
            far_ns: None,
            wire_ns: 0,
            inside: Inside::default(),
            disposition,
        };
        let samples = [
            sample(0, Disposition::Ok),
            sample(999_999, Disposition::Ok),
            sample(1_000_000, Disposition::Ok),
            sample(0, Disposition::Lost),
        ];
        assert_eq!(trial_of(&samples, FrameRate::new(1000).unwrap()), Trial { sent: 4, lost: 2 });
    }
}
