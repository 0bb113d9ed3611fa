//! One frame at a time: the measuring method of the 2011 paper, section 2.1.
//!
//! ```text
//!   send ──▶ first bus ──▶ device under test ──▶ second bus ──▶ receive
//!               │                                                 │
//!            monitor: kernel stamp t_A             kernel stamp t_B
//!                        latency = t_B − t_A − time of the frame on the second wire
//! ```
//!
//! The first two payload bytes of every frame carry a number that the gateway must not change. The next frame is sent
//! when the last one has arrived or is lost, after a pause of random length, so that the frames do not keep step with
//! the timer tick of the system under test.
//!
//! The tester does not wait on the monitor while a frame is under way: on a machine that is tester and gateway at once
//! such a wake-up would run between the two stamps. It collects the monitor's stamps afterwards.

pub(crate) mod interfaces;
mod pause;

pub use interfaces::{Interfaces, InterfacesError, Names};

use std::io;
use std::time::Duration;

use candor_core::bits::FrameBits;
use candor_core::frame::Frame;
use candor_core::units::BitRate;
use candor_io::clock::RealtimeNs;

use crate::record::Sample;
use pause::Pauses;

/// How long the monitor's stamp may come after the far one.
const MONITOR_PATIENCE: Duration = Duration::from_millis(20);

/// What the tester needs of the world: two buses and a clock. The real one is [`Interfaces`].
pub trait Bench {
    /// The clock that the receive stamps are taken from.
    ///
    /// # Errors
    /// If it cannot be read.
    fn now(&mut self) -> io::Result<RealtimeNs>;

    /// Waits between frames.
    fn pause(&mut self, duration: Duration);

    /// Sends on the first bus.
    ///
    /// # Errors
    /// What the interface says.
    fn send(&mut self, frame: &Frame) -> io::Result<()>;

    /// The next frame on the second bus, waiting for it at most this long.
    ///
    /// # Errors
    /// What the interface says.
    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Stamped>>;

    /// The next frame that the monitor has seen on the first bus, waiting for it at most this long.
    ///
    /// # Errors
    /// What the interface says.
    fn monitored(&mut self, timeout: Duration) -> io::Result<Option<Stamped>>;
}

/// A received frame and when the kernel received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The frame.
    pub frame: Frame,
    /// Its receive stamp.
    pub at: RealtimeNs,
}

/// The bit rates of a wire on which frames take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Nominal bit rate.
    pub nominal: BitRate,
    /// Data-phase bit rate, if frames switch.
    pub data: Option<BitRate>,
}

/// One series to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// The frame to send; its first two payload bytes are replaced by the tag.
    pub template: Frame,
    /// Samples to take.
    pub frames: u32,
    /// Frames before the first sample.
    pub warm_up: u32,
    /// Shortest and longest pause between a reception and the next frame.
    pub gap: (Duration, Duration),
    /// Seed of the pauses.
    pub seed: u64,
    /// When a frame counts as lost.
    pub timeout: Duration,
    /// The far wire, if frames take time on it.
    pub wire: Option<Wire>,
}

/// What a series gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// One sample per frame, in the order of sending.
    pub samples: Vec<Sample>,
    /// Frames that arrived again, or after their time was up.
    pub late_or_duplicate: u32,
    /// Frames that the tester never sent.
    pub foreign: u32,
}

/// A frame that cannot carry a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The frame needs two payload bytes for its number and has {0}")]
pub struct NoRoomForTag(u8);

impl Law {
    /// Checks that the template has room for a tag.
    ///
    /// # Errors
    /// [`NoRoomForTag`] for remote frames and payloads below two bytes.
    pub const fn check(&self) -> Result<(), NoRoomForTag> {
        if self.template.id.is_rtr() {
            return Err(NoRoomForTag(0));
        }
        if self.template.len < 2 { Err(NoRoomForTag(self.template.len)) } else { Ok(()) }
    }
}

/// Measures one series. `progress` is told the number of finished samples after each of them.
///
/// # Errors
/// The first error of the bench; a lost frame is none.
pub fn measure(bench: &mut impl Bench, law: &Law, mut progress: impl FnMut(u32)) -> io::Result<Series> {
    let mut series = Series { samples: Vec::with_capacity(law.frames as usize), ..Series::default() };
    let mut pauses = Pauses::new(law.seed, law.gap);
    let start = bench.now()?;
    for number in 0..law.warm_up + law.frames {
        bench.pause(pauses.next());
        let sample = one_frame(bench, law, number, start, &mut series)?;
        if let Some(sequence) = number.checked_sub(law.warm_up) {
            series.samples.push(Sample { sequence, ..sample });
            progress(sequence + 1);
        }
    }
    drain(bench, law, &mut series)?;
    Ok(series)
}

fn one_frame(
    bench: &mut impl Bench,
    law: &Law,
    number: u32,
    start: RealtimeNs,
    series: &mut Series,
) -> io::Result<Sample> {
    let tag = tag_of_number(number);
    let mut frame = law.template;
    frame.data[..2].copy_from_slice(&tag.to_be_bytes());
    let sent = bench.now()?;
    bench.send(&frame)?;
    let far = wait_for(bench, law, number, sent, series)?;
    let mut monitor = None;
    loop {
        // Usually it is there. On hardware the monitor's adapter may be slower than the gateway.
        let patience = if monitor.is_none() && far.is_some() { MONITOR_PATIENCE } else { Duration::ZERO };
        let Some(seen) = bench.monitored(patience)? else { break };
        if tag_of(&seen.frame) == Some(tag) {
            monitor.get_or_insert(seen.at);
        }
    }
    let since_start = |at: RealtimeNs| at.0 - start.0;
    Ok(Sample {
        sequence: 0,
        tag,
        sent_ns: since_start(sent),
        monitor_ns: monitor.map(since_start),
        far_ns: far.map(|far| since_start(far.at)),
        wire_ns: far.map_or(0, |far| wire_ns(law.wire, &far.frame)),
    })
}

/// Waits for the frame with this number and sorts everything else that arrives.
fn wait_for(
    bench: &mut impl Bench,
    law: &Law,
    number: u32,
    sent: RealtimeNs,
    series: &mut Series,
) -> io::Result<Option<Stamped>> {
    let mut left = law.timeout;
    loop {
        let Some(seen) = bench.receive(left)? else { return Ok(None) };
        if tag_of(&seen.frame) == Some(tag_of_number(number)) {
            return Ok(Some(seen));
        }
        sort(&seen.frame, number, series);
        let waited = u64::try_from(bench.now()?.0 - sent.0).unwrap_or(0);
        left = law.timeout.saturating_sub(Duration::from_nanos(waited));
        if left.is_zero() {
            return Ok(None);
        }
    }
}

/// Counts what still arrives on the far side when the series is over.
fn drain(bench: &mut impl Bench, law: &Law, series: &mut Series) -> io::Result<()> {
    while let Some(seen) = bench.receive(Duration::ZERO)? {
        sort(&seen.frame, law.warm_up + law.frames, series);
    }
    Ok(())
}

/// A frame nobody waits for: one of the numbers sent so far, or a stranger.
fn sort(frame: &Frame, number: u32, series: &mut Series) {
    let known = tag_of(frame).is_some_and(|tag| number > 0xFFFF || u32::from(tag) < number);
    if known {
        series.late_or_duplicate += 1;
    } else {
        series.foreign += 1;
    }
}

/// The lowest 16 bits: unique among all frames that can still be under way.
fn tag_of_number(number: u32) -> u16 {
    u16::try_from(number & 0xFFFF).expect("masked to 16 bits")
}

fn tag_of(frame: &Frame) -> Option<u16> {
    let payload = frame.payload();
    (payload.len() >= 2).then(|| u16::from_be_bytes([payload[0], payload[1]]))
}

/// The time of the frame as it left the gateway, from start of frame to end of frame: the intermission after it is not
/// part of what a receiver waits for.
fn wire_ns(wire: Option<Wire>, frame: &Frame) -> u32 {
    let Some(wire) = wire else { return 0 };
    let bits = FrameBits::of(frame).without_intermission();
    u32::try_from(bits.wire_time_ns(wire.nominal, wire.data)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
