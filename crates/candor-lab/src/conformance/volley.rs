//! Frames sent in one go, and what arrived.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, Frame};
use candor_io::clock::RealtimeNs;

use super::frames::{self, Random};
use super::{Bench, Received, Side};

/// Extra wait after everything has arrived, to detect more.
const QUIET: Duration = Duration::from_millis(30);
/// After this many timeouts of lost frames it is clear that some kind of frame does not arrive.
const MAX_STALLS: usize = 4;
/// More copies of every frame than this: the gateway floods.
const FLOOD: usize = 8;
/// Frames received per probe.
const MOST_PER_PROBE: usize = 16;
/// Payloads of at least this length identify their frame.
const TAG_BYTES: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Groups of this size; the next when the last has arrived or is lost.
    Bursts(usize),
    /// Groups of this size with a pause between them, whether or not they arrive.
    Steady(usize, Duration),
}

#[derive(Debug)]
pub(super) struct Volleys<'a, B> {
    bench: &'a mut B,
    lost_after: Duration,
    before: HashSet<Frame>,
    pub(super) total: Total,
}

#[derive(Debug, Default)]
pub(super) struct Total {
    pub(super) sent: u64,
    /// Frames that arrived more often than expected.
    pub(super) doubled: Tally,
    /// Frames received on the side that sent them.
    pub(super) returned: Tally,
    /// Frames that were not sent.
    pub(super) foreign: Tally,
    pub(super) flooded: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) first: Option<Frame>,
}

impl Tally {
    fn add(&mut self, frame: Frame) {
        self.count += 1;
        self.first.get_or_insert(frame);
    }
}

/// Frames received before the first one crossed.
#[derive(Debug, Default)]
pub(super) struct Probes {
    pub(super) crossed: bool,
    /// Frames received on the side that sent them.
    pub(super) returned: u64,
    /// Frames that were not sent.
    pub(super) foreign: u64,
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) frames: Vec<Frame>,
    /// Copies of each frame, as they arrived.
    pub(super) copies: Vec<Vec<Frame>>,
    /// Positions of frames, in the order of their first copies.
    pub(super) order: Vec<usize>,
}

impl<'a, B: Bench> Volleys<'a, B> {
    pub(super) fn new(bench: &'a mut B, lost_after: Duration) -> Self {
        Self { bench, lost_after, before: HashSet::new(), total: Total::default() }
    }

    pub(super) fn missed(&mut self) -> io::Result<u32> {
        self.bench.missed()
    }

    /// Sends frames with distinct identifiers and collects what arrives on the other side.
    ///
    /// Ends early if nothing of the first group arrives; frames not sent are not in the result.
    pub(super) fn send(&mut self, side: Side, frames: &[Frame], pace: Pace) -> io::Result<Outcome> {
        let mut flight = InFlight::new(side, frames);
        let (group, pause) = match pace {
            Pace::Bursts(group) => (group, None),
            Pace::Steady(group, pause) => (group, Some(pause)),
        };
        let (mut sent, mut lost, mut stalls) = (0, 0, 0);
        for group in frames.chunks(group.max(1)) {
            for frame in group {
                self.bench.send(side, frame)?;
            }
            sent += group.len();
            match pause {
                Some(pause) => self.bench.pause(pause),
                None => {
                    let patience = if stalls < MAX_STALLS { self.lost_after } else { QUIET };
                    self.gather(&mut flight, sent - lost, patience)?;
                    let lost_now = sent - flight.arrived();
                    stalls += usize::from(lost_now > lost);
                    lost = lost_now;
                    if flight.arrived() == 0 || self.total.flooded {
                        break;
                    }
                }
            }
        }
        if pause.is_some() {
            self.gather(&mut flight, sent, self.lost_after)?;
        }
        self.gather(&mut flight, usize::MAX, QUIET)?;
        self.before.extend(&frames[..sent]);
        self.total.sent += sent as u64;
        flight.copies.truncate(sent);
        Ok(Outcome { frames: frames[..sent].to_vec(), copies: flight.copies, order: flight.order })
    }

    /// Sends one frame and counts frames until none has arrived for this time.
    pub(super) fn probe(&mut self, frame: &Frame, every: Duration, probes: &mut Probes) -> io::Result<()> {
        self.bench.send(Side::From, frame)?;
        self.total.sent += 1;
        self.before.insert(*frame);
        for _ in 0..MOST_PER_PROBE {
            let Some(received) = self.bench.receive(every)? else { break };
            let looks_alike = bits(&received.frame) == bits(frame)
                || self.before.iter().any(|sent| tag(sent) == tag(&received.frame));
            match received.side {
                _ if !looks_alike => probes.foreign += 1,
                Side::From => probes.returned += 1,
                Side::To => {
                    probes.crossed = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// True if anything crosses from this side: every gateway forwards data frames of 8 bytes.
    pub(super) fn any_crosses(&mut self, side: Side, random: &mut Random) -> io::Result<bool> {
        Ok(!self.send(side, &frames::numbered(8, random), Pace::Bursts(8))?.order.is_empty())
    }

    pub(super) fn settle(&mut self) -> io::Result<()> {
        for _ in 0..FLOOD * 100 {
            if self.bench.receive(QUIET)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Frames that arrive although none was sent, until none has for `time`.
    pub(super) fn listen(&mut self, time: Duration) -> io::Result<Vec<Received>> {
        let mut received = Vec::new();
        while received.len() < FLOOD * 100 {
            match self.bench.receive(time)? {
                Some(frame) => received.push(frame),
                None => break,
            }
        }
        Ok(received)
    }

    pub(super) fn stamps(&mut self, frame: &Frame) -> io::Result<Option<(RealtimeNs, RealtimeNs)>> {
        self.total.sent += 1;
        self.before.insert(*frame);
        let stamps = self.bench.stamps(frame, self.lost_after)?;
        self.settle()?;
        Ok(stamps)
    }

    /// Receives until `enough` frames of the volley have arrived, or none has for `patience`.
    fn gather(&mut self, flight: &mut InFlight, enough: usize, patience: Duration) -> io::Result<()> {
        while flight.arrived() < enough {
            let Some(Received { side, frame }) = self.bench.receive(patience)? else { break };
            if side == flight.side {
                self.total.returned.add(frame);
            } else if let Some(at) = flight.which(&frame) {
                if !flight.copies[at].is_empty() {
                    self.total.doubled.add(flight.frames[at]);
                }
                flight.arrive(at, frame);
            } else if self.before.contains(&frame) {
                self.total.doubled.add(frame);
            } else {
                self.total.foreign.add(frame);
            }
            flight.received += 1;
            if flight.received > FLOOD * flight.frames.len() + 100 {
                self.total.flooded = true;
                break;
            }
        }
        Ok(())
    }
}

impl Outcome {
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        self.copies.iter().enumerate().filter(|(_, copies)| copies.is_empty()).map(|(at, _)| at)
    }
}

struct InFlight {
    side: Side,
    frames: Vec<Frame>,
    /// Lookup by the whole frame, by payload, and by less and less of the identifier.
    exact: HashMap<Frame, usize>,
    by_id: HashMap<u32, usize>,
    by_bits: HashMap<u32, usize>,
    by_cut_bits: HashMap<u32, usize>,
    by_payload: HashMap<Vec<u8>, usize>,
    copies: Vec<Vec<Frame>>,
    order: Vec<usize>,
    received: usize,
}

impl InFlight {
    fn new(side: Side, frames: &[Frame]) -> Self {
        let numbered = || frames.iter().enumerate();
        Self {
            side,
            frames: frames.to_vec(),
            exact: numbered().map(|(at, frame)| (*frame, at)).collect(),
            by_id: numbered().map(|(at, frame)| (frame.id.0, at)).collect(),
            by_bits: numbered().map(|(at, frame)| (bits(frame), at)).collect(),
            by_cut_bits: numbered().filter_map(|(at, frame)| Some((cut_bits(frame)?, at))).collect(),
            by_payload: numbered().filter_map(|(at, frame)| Some((tag(frame)?, at))).collect(),
            copies: vec![Vec::new(); frames.len()],
            order: Vec::new(),
            received: 0,
        }
    }

    /// The frame that this one was when sent. The payload is more reliable than the identifier, which may have become
    /// that of another frame.
    fn which(&self, frame: &Frame) -> Option<usize> {
        let found = self.exact.get(frame).or_else(|| self.by_payload.get(&tag(frame)?));
        let found = found.or_else(|| self.by_id.get(&frame.id.0)).or_else(|| self.by_bits.get(&bits(frame)));
        found.or_else(|| self.by_cut_bits.get(&frame.id.0)).copied()
    }

    fn arrive(&mut self, at: usize, frame: Frame) {
        if self.copies[at].is_empty() {
            self.order.push(at);
        }
        self.copies[at].push(frame);
    }

    const fn arrived(&self) -> usize {
        self.order.len()
    }
}

/// Identifier without the flags of remote and error frames.
fn bits(frame: &Frame) -> u32 {
    frame.id.0 & CAN_EFF_FLAG | frame.id.bits()
}

/// A 29-bit identifier truncated to 11 bits.
fn cut_bits(frame: &Frame) -> Option<u32> {
    frame.id.is_eff().then_some(frame.id.0 & (CAN_SFF_MASK | CAN_RTR_FLAG))
}

fn tag(frame: &Frame) -> Option<Vec<u8>> {
    let payload = frame.payload();
    (!frame.id.is_rtr() && payload.len() >= TAG_BYTES).then(|| payload.to_vec())
}
