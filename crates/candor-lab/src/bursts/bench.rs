use std::io;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use crate::stats::LatencyNs;
use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_io::can::{CanSocket, Loopback, Options, TimedSender};
use candor_io::clock::{self, RealtimeNs};
use candor_io::packet::Hears;
use candor_netlink::client::Client;

use super::figures::Burst;
use crate::tap::Tap;
use crate::tester::{InterfacesError, interfaces};

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
            _ => return Err("a way is FROM:TO, or SEND:FROM:TO where another interface sends".to_owned()),
        };
        if [send, comes_in, leaves].contains(&"") {
            return Err("a name is missing".to_owned());
        }
        Ok(Self { send: send.to_owned(), comes_in: comes_in.to_owned(), leaves: leaves.to_owned() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taps {
    /// Only sending is measured.
    None,
    /// On each outgoing interface.
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

/// How often the tester waits for missing frames of a burst.
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
        let leaving = ways.iter().map(|way| Tap::open(&mut client, &way.leaves, Hears::Outgoing, REMEMBERED));
        self.leaving = leaving.collect::<Result<_, _>>()?;
        if taps == Taps::Both
            && let Some(way) = ways.first()
        {
            self.comes_in = Some(Tap::open(&mut client, &way.comes_in, Hears::Incoming, REMEMBERED)?);
            self.timed = Some(interfaces::open_timed(&mut client, &way.send)?);
        }
        Ok(())
    }

    /// Waits until pending frames have passed, and discards them.
    pub(super) fn settle(&mut self, time: Duration) -> io::Result<()> {
        thread::sleep(time);
        self.leaving.iter_mut().chain(&mut self.comes_in).try_for_each(Tap::forget)
    }

    /// Sends a burst on each way, alternating, and after `time` counts what has left.
    pub(super) fn burst(&mut self, size: u16, time: Duration) -> io::Result<Burst> {
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
    pub(super) fn single(&mut self, time: Duration) -> io::Result<Option<LatencyNs>> {
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
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    (bytes, len)
}

fn tag(frame: &Frame) -> Option<(usize, u16)> {
    match frame.payload() {
        [way, high, low] => Some((usize::from(*way), u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_written() {
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
    fn a_frame_says_its_way_and_number() {
        for (way, number) in [(0, 0), (15, 0xBEEF), (3, 0xFFFF)] {
            let (bytes, len) = bytes(way, number);
            assert_eq!(tag(&Frame::from_kernel(&bytes[..len]).unwrap()), Some((way, number)));
        }
        assert_eq!(tag(&"123#00".parse().unwrap()), None);
    }
}
