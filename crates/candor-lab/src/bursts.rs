//! Cost of a frame in a burst, in instructions.
//!
//! The tester has a higher priority than the gateway. It sends a burst, so that all of it is queued before the gateway
//! runs, and sleeps. A tap records when each frame leaves.
//!
//! ```text
//!   first send ─── last send ─────────────── last frame leaves
//!   └───── tester ───────┘└──────── gateway and tap ──────────┘      (can-gw forwards within the sends)
//! ```
//!
//! The part of the tester is measured without a gateway, that of the tap by sending on its interface with and without it.
//! Both are subtracted ([`Overhead`]).

use std::io;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_io::can::{CanSocket, Loopback, Options, TimedSender};
use candor_io::clock::{self, RealtimeNs};
use candor_io::packet::TapDirection;
use candor_netlink::client::Client;
use serde::Serialize;

use crate::stats::{LatencyNs, Quantile, Series};
use crate::tap::Tap;
use crate::tester::pause::Pauses;
use crate::tester::{InterfacesError, interfaces, to_kernel};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub size: u16,
    pub bursts: u32,
    /// Bursts before the first that counts.
    pub warm_up: u32,
    /// Shortest and longest time between bursts. The gateway has to finish within it.
    pub gap: (Duration, Duration),
    pub seed: u64,
}

impl Pattern {
    /// Chooses a gap that is long enough for the slowest engine at 1 ns per instruction.
    pub fn new(size: u16, ways: usize, bursts: u32, warm_up: u32) -> Self {
        const EACH: Duration = Duration::from_micros(40);
        const REST: Duration = Duration::from_millis(1);
        let frames = u32::from(size) * u32::try_from(ways).unwrap_or(u32::MAX);
        let shortest = EACH * frames + REST;
        Self { size, bursts, warm_up, gap: (shortest, shortest + REST), seed: 1 }
    }
}

/// Sends bursts and records when they leave.
pub fn measure(bench: &mut Bench, pattern: &Pattern) -> io::Result<Vec<Burst>> {
    let mut pauses = Pauses::new(pattern.seed, pattern.gap);
    bench.settle(pauses.next())?;
    let mut all = Vec::with_capacity(pattern.bursts as usize);
    for position in 0..pattern.warm_up + pattern.bursts {
        let burst = bench.burst(pattern.size, pauses.next())?;
        if position >= pattern.warm_up {
            all.push(burst);
        }
    }
    Ok(all)
}

/// Single frames, sent by a timer while the tester sleeps. Latency is from tap to tap; `None` if the frame was lost.
pub fn measure_single(bench: &mut Bench, pattern: &Pattern) -> io::Result<Vec<Option<LatencyNs>>> {
    let mut pauses = Pauses::new(pattern.seed, pattern.gap);
    bench.settle(pauses.next())?;
    let all: io::Result<Vec<_>> = (0..pattern.warm_up + pattern.bursts).map(|_| bench.single(pauses.next())).collect();
    Ok(all?.split_off(pattern.warm_up as usize))
}

/// Interfaces of one direction through the gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// The tester's interface. A virtual interface is a bus of its own, so it is also `comes_in`.
    pub send: String,
    /// The gateway's interface on the first bus.
    pub comes_in: String,
    /// The gateway's interface on the second bus.
    pub leaves: String,
}

impl FromStr for Way {
    type Err = String;

    /// `vcan0:vcan1`, or `can0:can2:can3` if another interface sends.
    fn from_str(written: &str) -> Result<Self, String> {
        let names: Vec<_> = written.split(':').collect();
        let [send, comes_in, leaves] = match names[..] {
            [from, to] => [from, from, to],
            [send, from, to] => [send, from, to],
            _ => return Err("expected FROM:TO, or SEND:FROM:TO if another interface sends".to_owned()),
        };
        if [send, comes_in, leaves].contains(&"") {
            return Err("a name is missing".to_owned());
        }
        Ok(Self { send: send.to_owned(), comes_in: comes_in.to_owned(), leaves: leaves.to_owned() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taps {
    None,
    Leaving,
    /// Also on the incoming interface of the first way.
    Both,
}

#[derive(Debug)]
pub struct Bench {
    senders: Vec<CanSocket>,
    leaving: Vec<Tap>,
    comes_in: Option<Tap>,
    timed: Option<TimedSender>,
    number: u16,
}

/// More than any burst, even on an interface that is the start of one way and the end of another.
const REMEMBERED: usize = 4096;

/// Number of waits for missing frames of a burst.
const PATIENCE: u32 = 10;

const ID: RawId = RawId(0x123);

impl Bench {
    /// Senders at the start of each way, and taps.
    pub fn open(ways: &[Way], taps: Taps) -> Result<Self, InterfacesError> {
        let mut bench = Self::open_senders(ways.iter().map(|way| &way.send), Loopback::On)?;
        bench.listen(ways, taps)?;
        Ok(bench)
    }

    /// Senders at the end of each way, without loopback: as the gateway sends.
    pub fn open_at_the_end(ways: &[Way], taps: Taps) -> Result<Self, InterfacesError> {
        let mut bench = Self::open_senders(ways.iter().map(|way| &way.leaves), Loopback::Off)?;
        bench.listen(ways, taps)?;
        Ok(bench)
    }

    fn open_senders<'a>(names: impl Iterator<Item = &'a String>, loopback: Loopback) -> Result<Self, InterfacesError> {
        let mut client = Client::open().map_err(InterfacesError::List)?;
        let options = Options { filters: &[], loopback, ..Options::default() };
        let senders = names.map(|name| interfaces::open(&mut client, name, &options)).collect::<Result<_, _>>()?;
        Ok(Self { senders, leaving: Vec::new(), comes_in: None, timed: None, number: 0 })
    }

    fn listen(&mut self, ways: &[Way], taps: Taps) -> Result<(), InterfacesError> {
        let mut client = Client::open().map_err(InterfacesError::List)?;
        if taps == Taps::None {
            return Ok(());
        }
        let leaving = ways.iter().map(|way| Tap::open(&mut client, &way.leaves, TapDirection::Outgoing, REMEMBERED));
        self.leaving = leaving.collect::<Result<_, _>>()?;
        if taps == Taps::Both
            && let Some(way) = ways.first()
        {
            self.comes_in = Some(Tap::open(&mut client, &way.comes_in, TapDirection::Incoming, REMEMBERED)?);
            self.timed = Some(interfaces::open_timed(&mut client, &way.send)?);
        }
        Ok(())
    }

    /// Waits until pending frames have passed, and discards them.
    fn settle(&mut self, time: Duration) -> io::Result<()> {
        thread::sleep(time);
        self.leaving.iter_mut().chain(&mut self.comes_in).try_for_each(Tap::forget)
    }

    /// Sends a burst on each way, alternating, and after `time` counts what has left.
    fn burst(&mut self, size: u16, time: Duration) -> io::Result<Burst> {
        let first = self.number.wrapping_add(1);
        let frames: Vec<Vec<_>> = (0..size)
            .map(|position| {
                let number = first.wrapping_add(position);
                (0..self.senders.len()).map(|way| bytes(way, number)).collect()
            })
            .collect();
        self.number = self.number.wrapping_add(size);
        let start = clock::realtime()?;
        for turn in &frames {
            for (sender, (bytes, len)) in self.senders.iter().zip(turn) {
                sender.write(&bytes[..*len])?;
            }
        }
        let sending_ns = clock::realtime()?.0 - start.0;
        let sent = u32::from(size) * u32::try_from(self.senders.len()).map_err(io::Error::other)?;
        let mut burst = Burst { sent, sending_ns, ..Burst::default() };
        let mut next = vec![0; self.leaving.len()];
        // A slow gateway gets more time; frames still missing then are lost.
        for _ in 0..if self.leaving.is_empty() { 1 } else { PATIENCE } {
            thread::sleep(time);
            self.count_leaving(&mut burst, &mut next, start, first..=first.wrapping_add(size - 1))?;
            if burst.left >= burst.sent {
                break;
            }
        }
        Ok(burst)
    }

    fn count_leaving(
        &mut self,
        burst: &mut Burst,
        next: &mut [u16],
        start: RealtimeNs,
        numbers: RangeInclusive<u16>,
    ) -> io::Result<()> {
        let size = numbers.end().wrapping_sub(*numbers.start());
        for ((way, tap), next) in self.leaving.iter_mut().enumerate().zip(next) {
            tap.read(|passed| {
                // If the interface also starts another way, the tester's own frames leave there.
                let Some((_, number)) = tag(&passed.frame).filter(|(of, _)| *of == way) else { return };
                let position = number.wrapping_sub(*numbers.start());
                if position > size {
                    return;
                }
                burst.left += 1;
                burst.reordered += u32::from(position < *next);
                *next = position.saturating_add(1);
                burst.leaving_ns = burst.leaving_ns.max(Some(passed.at.0 - start.0));
            })?;
        }
        Ok(())
    }

    /// Sends a frame on the first way from a kernel timer, after half of `time`. Returns its latency.
    fn single(&mut self, time: Duration) -> io::Result<Option<LatencyNs>> {
        let (Some(timed), Some(comes_in)) = (&self.timed, &mut self.comes_in) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let (lead, number) = (self.number.wrapping_add(1), self.number.wrapping_add(2));
        self.number = number;
        let [lead, frame] = [lead, number].map(|number| bytes(0, number));
        timed.send_now_and_later(&lead.0[..lead.1], &frame.0[..frame.1], time / 2)?;
        thread::sleep(time);
        let came = moment(comes_in, number)?;
        let left = self.leaving.first_mut().map(|tap| moment(tap, number)).transpose()?.flatten();
        Ok(came.zip(left).map(|(came, left)| LatencyNs(left.0 - came.0)))
    }
}

/// Time at which the frame with this number passed the tap.
fn moment(tap: &mut Tap, number: u16) -> io::Result<Option<RealtimeNs>> {
    let mut at = None;
    tap.read(|passed| {
        if tag(&passed.frame) == Some((0, number)) {
            at = Some(passed.at);
        }
    })?;
    Ok(at)
}

/// The way and a number as payload, in the kernel's layout.
fn bytes(way: usize, number: u16) -> ([u8; CANFD_MTU], usize) {
    let [high, low] = number.to_be_bytes();
    let payload = [u8::try_from(way).unwrap_or(u8::MAX), high, low];
    let frame = Frame::classic(ID, &payload).expect("three bytes fit into a frame");
    to_kernel(&frame)
}

fn tag(frame: &Frame) -> Option<(usize, u16)> {
    match frame.payload() {
        [way, high, low] => Some((usize::from(*way), u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    pub sent: u32,
    /// Of these, frames that left the gateway.
    pub left: u32,
    /// Frames that left after one that was sent later on the same way.
    pub reordered: u32,
    /// From before the first send to after the last.
    pub sending_ns: i64,
    /// From before the first send until the last frame left.
    pub leaving_ns: Option<i64>,
}

/// The tester's own share of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overhead {
    /// Sending a burst without a gateway.
    pub sending_ns: i64,
    /// One frame through the tap.
    pub tap_ns: i64,
}

impl Overhead {
    /// Time per frame of the gateway alone. `None` if a frame is missing, because the end of the burst is then unknown.
    ///
    /// can-gw forwards each frame within the call that sends it, so the burst ends no earlier than the last call.
    pub fn take_off(self, burst: &Burst) -> Option<LatencyNs> {
        let frames = i64::from(burst.sent);
        if burst.left != burst.sent || frames == 0 {
            return None;
        }
        let over_ns = burst.leaving_ns?.max(burst.sending_ns);
        Some(LatencyNs((over_ns - self.sending_ns) / frames - self.tap_ns))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub p50: LatencyNs,
    pub p99: LatencyNs,
    pub lost: u32,
    pub reordered: u32,
}

impl Figures {
    /// `None` if no burst was complete.
    pub fn of(bursts: &[Burst], overhead: Overhead) -> Option<Self> {
        let series = Series::new(bursts.iter().filter_map(|burst| overhead.take_off(burst)).collect())?;
        Some(Self {
            p50: series.quantile(Quantile::P50),
            p99: series.quantile(Quantile::P99),
            lost: bursts.iter().map(|burst| burst.sent.saturating_sub(burst.left)).sum(),
            reordered: bursts.iter().map(|burst| burst.reordered).sum(),
        })
    }
}

/// 0 if there are none.
pub fn median(times_ns: impl IntoIterator<Item = i64>) -> i64 {
    let series = Series::new(times_ns.into_iter().map(LatencyNs).collect());
    series.map_or(0, |series| series.quantile(Quantile::P50).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ways() {
        let way = |send: &str, comes_in: &str, leaves: &str| Way {
            send: send.to_owned(),
            comes_in: comes_in.to_owned(),
            leaves: leaves.to_owned(),
        };
        assert_eq!("vcan0:vcan1".parse(), Ok(way("vcan0", "vcan0", "vcan1")));
        assert_eq!("can0:can2:can3".parse(), Ok(way("can0", "can2", "can3")));
        for wrong in ["", "vcan0", "vcan0:", ":vcan1", "a::b", "a:b:c:d"] {
            assert!(wrong.parse::<Way>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn frame_encodes_way_and_number() {
        for (way, number) in [(0, 0), (15, 0xBEEF), (3, 0xFFFF)] {
            let (bytes, len) = bytes(way, number);
            assert_eq!(tag(&Frame::from_kernel(&bytes[..len]).unwrap()), Some((way, number)));
        }
        assert_eq!(tag(&"123#00".parse().unwrap()), None);
    }

    const OVERHEAD: Overhead = Overhead { sending_ns: 16_000, tap_ns: 800 };

    fn burst(leaving_ns: i64) -> Burst {
        Burst { sent: 16, left: 16, reordered: 0, sending_ns: 20_000, leaving_ns: Some(leaving_ns) }
    }

    #[test]
    fn subtracts_the_testers_overhead() {
        // Tester: 16 000 in all. Per frame: 800 for the tap, 4000 for the gateway.
        assert_eq!(OVERHEAD.take_off(&burst(16_000 + 16 * 4800)), Some(LatencyNs(4000)));
        assert_eq!(Overhead::default().take_off(&burst(32_000)), Some(LatencyNs(2000)));
    }

    #[test]
    fn burst_ends_no_earlier_than_its_last_send() {
        let within_the_calls = Burst { sending_ns: 16_000 + 16 * 1900, ..burst(16_000 + 16 * 1800) };
        assert_eq!(OVERHEAD.take_off(&within_the_calls), Some(LatencyNs(1100)));
    }

    #[test]
    fn incomplete_burst_has_no_cost() {
        let whole = burst(90_000);
        assert_eq!(OVERHEAD.take_off(&Burst { left: 15, ..whole }), None);
        assert_eq!(OVERHEAD.take_off(&Burst { leaving_ns: None, ..whole }), None);
        assert_eq!(OVERHEAD.take_off(&Burst::default()), None);
    }

    #[test]
    fn quantiles_leave_incomplete_bursts_out() {
        let bursts: Vec<_> = (1..=100).map(|step| burst(16_000 + 16 * (800 + step))).collect();
        let mut with_hole = bursts.clone();
        with_hole.push(Burst { left: 13, reordered: 1, ..burst(0) });
        let figures = Figures::of(&with_hole, OVERHEAD).unwrap();
        assert_eq!((figures.p50, figures.p99), (LatencyNs(50), LatencyNs(99)));
        assert_eq!((figures.lost, figures.reordered), (3, 1));
        assert_eq!(Figures::of(&with_hole[100..], OVERHEAD), None);
    }

    #[test]
    fn median_is_a_measured_value() {
        assert_eq!(median([3, 1, 100, 2]), 2);
        assert_eq!(median([]), 0);
    }
}
