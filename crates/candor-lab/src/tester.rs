//! One frame at a time: the method of the 2011 paper, section 2.1.
//!
//! ```text
//!   send ──▶ first bus ──▶ device under test ──▶ second bus ──▶ receive
//!               │                                                 │
//!               monitor: stamp t_A                       stamp t_B
//!                        latency = t_B − t_A − time of the frame on the second wire
//! ```
//!
//! The first two payload bytes of every frame carry a number that the gateway must not change. The next frame is sent
//! when the last one has arrived or is lost, after a random pause, so that frames are not synchronised with the timer
//! tick of the gateway's machine.
//!
//! Stamps are the kernel's, or with [`StampSource::Hardware`] the adapter's: then both interfaces are channels of one adapter
//! and share its clock.
//!
//! The tester does not wait on the monitor while a frame is in flight: on a machine that is both tester and gateway, the
//! wake-up would run between the two stamps. It reads the monitor's stamps afterwards.
//!
//! A gateway that never sleeps shares a single processor with the tester only if the tester has a higher priority, and then
//! everything the tester does after sending is measured too. In that case a timer sends the frames ([`Origin::Timer`])
//! while the tester sleeps.

mod adapter;
pub(crate) mod interfaces;
pub(crate) mod pause;

pub use crate::experiment::{StampSource, Wire};
pub use crate::record::Origin;
pub use adapter::share_a_clock;
pub(crate) use adapter::{AdapterListener, TimeLine};
pub use interfaces::{Interfaces, InterfacesError, Names, find};

use std::io;
use std::time::Duration;

use candor_core::bits::FrameBits;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::Stamps;
use candor_io::clock::{AdapterNs, RealtimeNs};

use crate::record::{Disposition, Inside, Sample};
use pause::{Ahead, Pauses};

/// Maximum time from the far stamp to that of the monitor.
const MONITOR_PATIENCE: Duration = Duration::from_millis(20);

/// Two buses and a clock. The real one is [`Interfaces`].
pub trait Bench {
    /// The clock of the kernel's receive stamps.
    fn now(&mut self) -> io::Result<RealtimeNs>;

    fn pause(&mut self, duration: Duration);

    fn send(&mut self, frame: &Frame) -> io::Result<()>;

    /// Sends `lead` on the first bus, and `frame` from a kernel timer after this time.
    fn send_now_and_later(&mut self, lead: &Frame, frame: &Frame, after: Duration) -> io::Result<()>;

    /// The next frame on the second bus.
    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Stamped>>;

    /// The next frame of the monitor on the first bus.
    fn monitored(&mut self, timeout: Duration) -> io::Result<Option<Stamped>>;

    /// Times at which the frame with this position among all [sent](Self::send) was queued and handed to the driver.
    fn sending(&mut self, position: u32) -> io::Result<[Option<RealtimeNs>; 2]>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    pub frame: Frame,
    pub at: RealtimeNs,
    /// The adapter's receive stamp: for all frames of a series, or for none.
    pub adapter: Option<AdapterNs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The number replaces its first two payload bytes.
    pub template: Frame,
    pub frames: u32,
    pub warm_up: u32,
    /// Shortest and longest pause before the next frame.
    pub gap: (Duration, Duration),
    pub seed: u64,
    pub timeout: Duration,
    /// The second wire, if frames take time on it.
    pub wire: Option<Wire>,
    pub origin: Origin,
    /// Recording of transmit stamps ([`Origin::Call`] only).
    pub inside: Stamps,
    pub stamps: StampSource,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// One per frame, in the order of sending.
    pub samples: Vec<Sample>,
    /// Frames that arrived again, or after the timeout.
    pub late_or_duplicate: u32,
    /// Frames that the tester did not send.
    pub foreign: u32,
    /// Samples whose frame was sent while the leading one was in flight: both used the gateway's time.
    pub overlapped: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("The frame needs two payload bytes for its number and has {0}")]
    NoRoomForTag(u8),
    #[error("--gap-min is longer than --gap-max")]
    Gap,
    #[error("With frames from a timer, --gap-min must be at least {} us, for the leading frame", .0.as_micros())]
    ShortGap(Duration),
}

impl Pattern {
    /// Shortest pause before a frame from a timer.
    const AHEAD: Duration = Duration::from_micros(200);

    /// Checks that the template has room for the number, and the pauses.
    pub fn check(&self) -> Result<(), PatternError> {
        let payload = if self.template.id.is_rtr() { 0 } else { self.template.len };
        match self.gap {
            _ if payload < 2 => Err(PatternError::NoRoomForTag(payload)),
            (shortest, longest) if shortest > longest => Err(PatternError::Gap),
            (shortest, _) if self.origin == Origin::Timer && shortest < Self::AHEAD => {
                Err(PatternError::ShortGap(Self::AHEAD))
            }
            _ => Ok(()),
        }
    }

    fn frame(&self, number: u32) -> Frame {
        let mut frame = self.template;
        frame.data[..2].copy_from_slice(&tag_of_number(number).to_be_bytes());
        frame
    }
}

/// Measures one series. `progress` gets the number of samples. A lost frame is not an error.
pub fn measure(bench: &mut impl Bench, pattern: &Pattern, mut progress: impl FnMut(u32)) -> io::Result<Series> {
    let mut series = Series { samples: Vec::with_capacity(pattern.frames as usize), ..Series::default() };
    let (mut pauses, mut ahead) = (Pauses::new(pattern.seed, pattern.gap), Ahead::default());
    let (start, mut line) = (bench.now()?, TimeLine::default());
    for position in 0..pattern.warm_up + pattern.frames {
        let pause = pauses.next();
        if position == pattern.warm_up {
            // During warm-up the time for leading frames is learnt.
            series.overlapped = 0;
        }
        let sample = one_frame(
            bench,
            pattern,
            position * pattern.origin.frames(),
            pause,
            (start, &mut line),
            &mut ahead,
            &mut series,
        )?;
        if let Some(sequence) = position.checked_sub(pattern.warm_up) {
            series.samples.push(Sample { sequence, ..sample });
            progress(sequence + 1);
        }
    }
    drain(bench, pattern, &mut series)?;
    Ok(series)
}

/// Sends the frame with this number, or for a timer this and the next, of which the last is measured.
fn one_frame(
    bench: &mut impl Bench,
    pattern: &Pattern,
    first: u32,
    pause: Duration,
    (start, line): (RealtimeNs, &mut TimeLine),
    ahead: &mut Ahead,
    series: &mut Series,
) -> io::Result<Sample> {
    let number = first + pattern.origin.frames() - 1;
    let frame = pattern.frame(number);
    let mut read = None;
    let (sent, far) = match pattern.origin {
        Origin::Call => {
            bench.pause(pause);
            let sent = bench.now()?;
            bench.send(&frame)?;
            let far = wait_for(bench, number, sent, pattern.timeout, |seen| classify(&seen.frame, number, series))?;
            if pattern.inside == Stamps::On && far.is_some() {
                read = Some(bench.now()?);
            }
            (sent, far)
        }
        Origin::Timer => {
            let (called, interval) = (bench.now()?, ahead.interval(pattern.gap.0, pause));
            bench.send_now_and_later(&pattern.frame(first), &frame, interval)?;
            let due = RealtimeNs(called.0 + i64::try_from(interval.as_nanos()).unwrap_or(0));
            // If the leading frame is lost, the tester still has to sleep while the measured one is in flight.
            let mut leader = wait_for(bench, first, called, interval / 2, |seen| classify(&seen.frame, first, series))?;
            let far = wait_for(bench, number, called, interval + pattern.timeout, |seen| {
                if leader.is_none() && tag_of(&seen.frame) == Some(tag_of_number(first)) {
                    leader = Some(seen);
                } else {
                    classify(&seen.frame, number, series);
                }
            })?;
            if let Some(leader) = leader {
                ahead.took(Duration::from_nanos(u64::try_from(leader.at.0 - called.0).unwrap_or(0)));
                series.overlapped += u32::from(leader.at >= due);
            }
            (due, far)
        }
    };
    let tag = tag_of_number(number);
    let mut monitor = None;
    loop {
        // Usually it is there. The monitor's adapter may be slower than the gateway.
        let patience = if monitor.is_none() && far.is_some() { MONITOR_PATIENCE } else { Duration::ZERO };
        let Some(seen) = bench.monitored(patience)? else { break };
        if tag_of(&seen.frame) == Some(tag) {
            monitor.get_or_insert(seen);
        }
    }
    let [queued, handed] = match (pattern.inside, pattern.origin) {
        (Stamps::On, Origin::Call) => bench.sending(number)?,
        _ => [None; 2],
    };
    let since_start = |at: RealtimeNs| at.0 - start.0;
    let inside = Inside {
        queued_ns: queued.map(since_start),
        handed_ns: handed.map(since_start),
        read_ns: read.map(since_start),
    };
    let mut place = |seen: Stamped| line.place(since_start(seen.at), seen.adapter);
    let (monitor_ns, far_ns) = (monitor.map(&mut place), far.map(&mut place));
    Ok(Sample {
        sequence: 0,
        tag,
        due_ns: since_start(sent),
        sent_ns: since_start(sent),
        monitor_ns,
        far_ns,
        inside,
        disposition: Disposition::of_stamps(monitor_ns, far_ns),
        wire_ns: far.map_or(0, |far| wire_ns(pattern.wire, &far.frame)),
    })
}

/// Waits for the frame with this number; passes others to `other`.
fn wait_for(
    bench: &mut impl Bench,
    number: u32,
    since: RealtimeNs,
    timeout: Duration,
    mut other: impl FnMut(Stamped),
) -> io::Result<Option<Stamped>> {
    let mut left = timeout;
    loop {
        let Some(seen) = bench.receive(left)? else { return Ok(None) };
        if tag_of(&seen.frame) == Some(tag_of_number(number)) {
            return Ok(Some(seen));
        }
        other(seen);
        let waited = u64::try_from(bench.now()?.0 - since.0).unwrap_or(0);
        left = timeout.saturating_sub(Duration::from_nanos(waited));
        if left.is_zero() {
            return Ok(None);
        }
    }
}

/// Counts frames that arrive after the series.
fn drain(bench: &mut impl Bench, pattern: &Pattern, series: &mut Series) -> io::Result<()> {
    while let Some(seen) = bench.receive(Duration::ZERO)? {
        classify(&seen.frame, (pattern.warm_up + pattern.frames) * pattern.origin.frames(), series);
    }
    Ok(())
}

/// Classifies a frame that is not expected.
fn classify(frame: &Frame, number: u32, series: &mut Series) {
    let known = tag_of(frame).is_some_and(|tag| number > 0xFFFF || u32::from(tag) < number);
    if known {
        series.late_or_duplicate += 1;
    } else {
        series.foreign += 1;
    }
}

/// In the kernel's layout, with the length.
pub(crate) fn to_kernel(frame: &Frame) -> ([u8; CANFD_MTU], usize) {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    (bytes, len)
}

/// The lowest 16 bits: unique among all frames in flight.
pub(crate) fn tag_of_number(number: u32) -> u16 {
    u16::try_from(number & 0xFFFF).expect("masked to 16 bits")
}

pub(crate) fn tag_of(frame: &Frame) -> Option<u16> {
    let payload = frame.payload();
    (payload.len() >= 2).then(|| u16::from_be_bytes([payload[0], payload[1]]))
}

/// Time of the frame as it left the gateway, from start of frame to end of frame: a receiver does not wait for the
/// intermission.
pub(crate) fn wire_ns(wire: Option<Wire>, frame: &Frame) -> u32 {
    let Some(wire) = wire else { return 0 };
    let bits = FrameBits::of(frame).without_intermission();
    u32::try_from(bits.wire_time_ns(wire.nominal, wire.data)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
