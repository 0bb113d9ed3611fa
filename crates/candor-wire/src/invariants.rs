//! Invariants of a device for arbitrary bytes, checked by a fuzzer, its corpus, and property tests.
//!
//! ```text
//!  scenario = │model│ step │ step │ …     step = │ 0 to 127: length      │ the bytes …│  of the stream
//!                                                │ 128 to 255: a notice    │ choice     │  of the bus
//! ```

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use candor_bus::{BusNs, Counters, ErrorKind, ErrorState, Tag};
use candor_core::frame::{Frame, RawId};

use crate::model::{GsUsb, Ucan, gs_usb};
use crate::usb::BULK_PACKET_BYTES;
use crate::usbip::{Command, HEADER_BYTES, Header, MAX_OUT_BYTES, Reader, Reply, Seqnum, Transfer};
use crate::{Channel, Device, Model, Notice, Part, Request};

/// Queue length of the devices.
const QUEUE: usize = 4;

/// Runs a scenario and checks the invariants.
///
/// # Panics
/// An invariant is violated: splitting the stream makes no difference, replies are complete, each answers a pending
/// transfer or unlink request and has no more data than there is room for, each frame has its own tag, and the queues
/// stay within their bounds.
pub fn check(scenario: &[u8]) {
    let mut whole = Player::new(scenario, usize::MAX);
    let mut cut = Player::new(scenario, 7);
    loop {
        let (more, same) = (whole.step(), cut.step());
        assert_eq!(whole.device.output(), cut.device.output(), "the same answers");
        assert_eq!(whole.requests, cut.requests, "the same requests");
        assert_eq!(more, same);
        whole.check();
        cut.device.output().clear();
        cut.requests.clear();
        if !more {
            return;
        }
    }
}

/// Steps that pass these bytes of the stream.
pub fn stream_steps(bytes: &[u8]) -> Vec<u8> {
    let mut steps = Vec::new();
    for part in bytes.chunks(127) {
        steps.extend(u8::try_from(part.len()));
        steps.extend_from_slice(part);
    }
    steps
}

/// A device, its scenario, and the state of its host.
struct Player<'a> {
    device: Device,
    rest: &'a [u8],
    /// The stream is passed in pieces of this size.
    cut: usize,
    is_over: bool,
    requests: Vec<Request>,
    now: BusNs,
    on_the_bus: Vec<(Channel, Tag, Frame)>,
    next_tag: u32,
    /// Reads the stream too, to know which answers to expect.
    reader: Reader,
    /// Room of each pending transfer; `None` for one without data in its answer.
    waiting: BTreeMap<Seqnum, Vec<Option<usize>>>,
}

impl<'a> Player<'a> {
    fn new(scenario: &'a [u8], cut: usize) -> Self {
        let (&model, rest) = scenario.split_first().unwrap_or((&0, &[]));
        let one_more = NonZeroU8::MIN.saturating_add(model >> 1 & 3);
        let model: Box<dyn Model> = if model & 1 == 0 {
            let (depth, fd) = (10 - (model >> 3 & 7), model & 0x80 == 0);
            Box::new(GsUsb::new(gs_usb::Options { channels: one_more, depth, fd, serial: String::new() }))
        } else {
            Box::new(Ucan::new(one_more, String::new()))
        };
        Self {
            device: Device::new(model, QUEUE),
            rest,
            cut,
            is_over: false,
            requests: Vec::new(),
            now: BusNs::default(),
            on_the_bus: Vec::new(),
            next_tag: 0,
            reader: Reader::default(),
            waiting: BTreeMap::new(),
        }
    }

    /// Runs the next step; `false` at the end.
    fn step(&mut self) -> bool {
        let Some((&step, rest)) = self.rest.split_first() else { return false };
        self.rest = rest;
        self.now = self.now + 1000;
        if step < 128 {
            let length = usize::from(step).min(self.rest.len());
            let (bytes, rest) = self.rest.split_at(length);
            self.rest = rest;
            self.stream(bytes);
        } else {
            let (&choice, rest) = self.rest.split_first().unwrap_or((&0, &[]));
            self.rest = rest;
            self.bus(step & 127, choice);
        }
        for request in &self.requests {
            if let Request::Send { channel, tag, frame } = *request {
                assert!(tag.0 >= self.next_tag, "a tag is not used twice");
                self.next_tag = tag.0 + 1;
                self.on_the_bus.push((channel, tag, frame));
            }
        }
        assert!(self.on_the_bus.len() <= 4096, "a scenario of reasonable length");
        true
    }

    fn stream(&mut self, bytes: &[u8]) {
        if !self.is_over {
            self.expect(bytes);
        }
        for piece in bytes.chunks(self.cut) {
            let done = self.device.receive(piece, self.now, &mut self.requests);
            self.is_over |= done.is_err();
        }
    }

    /// Records the expected answers, including those after an error, which may be missing.
    fn expect(&mut self, mut bytes: &[u8]) {
        while let Ok(Some(command)) = self.reader.read(&mut bytes) {
            let (seqnum, room) = match command {
                Command::Unlink { seqnum, .. } => (seqnum, None),
                Command::Submit(submit) => match submit.transfer {
                    Transfer::In { room } => (submit.seqnum, Some(room)),
                    Transfer::Out { data } => {
                        assert!(data.len() <= MAX_OUT_BYTES);
                        (submit.seqnum, None)
                    }
                },
            };
            self.waiting.entry(seqnum).or_default().push(room);
        }
    }

    fn bus(&mut self, kind: u8, choice: u8) {
        let (channel, at) = (Channel(choice & 3), self.now);
        let counters = Counters { transmit: choice.into(), receive: (choice / 2).into() };
        let known = self.on_the_bus.get(usize::from(choice)).copied();
        let notice = match (kind % 8, known) {
            (0, Some((channel, tag, frame))) => Notice::Sent { channel, tag, frame, at },
            (1, Some((channel, tag, _))) => Notice::Failed { channel, tag, at },
            (0 | 2, _) => match Frame::classic(RawId(choice.into()), &[kind; 8]) {
                Ok(frame) => Notice::Received { channel, frame, at },
                Err(_) => return,
            },
            (1 | 3, _) => {
                let states = [ErrorState::Active, ErrorState::Warning, ErrorState::Passive, ErrorState::BusOff];
                Notice::State { channel, state: states[usize::from(choice >> 2 & 3)], counters, at }
            }
            (4, _) => Notice::BusError { channel, kind: ErrorKind::Form, part: Part::Receiver, counters, at },
            (5, _) => Notice::LostArbitration { channel, bit: choice.into(), at },
            (6, _) => Notice::Overflow { channel },
            (_, _) => Notice::Failed { channel, tag: Tag(choice.into()), at },
        };
        self.device.notice(&notice, &mut self.requests);
    }

    /// Reads the answers as a host does, and drops them.
    fn check(&mut self) {
        let output = std::mem::take(self.device.output());
        let mut rest = &output[..];
        while let Some(header) = Header::first_of(rest) {
            rest = &rest[HEADER_BYTES..];
            let Some(reply) = Reply::decode(&header) else { panic!("{header:?} is not a reply") };
            let (Reply::Submit { seqnum, .. } | Reply::Unlink { seqnum, .. }) = reply;
            let rooms = self.waiting.get_mut(&seqnum).unwrap_or_else(|| panic!("{seqnum} is not pending"));
            if rooms.is_empty() {
                panic!("{seqnum} is answered twice");
            }
            let room = rooms.remove(0);
            if let (Reply::Submit { actual_length, .. }, Some(room)) = (reply, room) {
                assert!(actual_length <= room && actual_length <= usize::from(BULK_PACKET_BYTES), "{actual_length}");
                rest = &rest[actual_length..];
            }
        }
        assert!(rest.is_empty(), "replies are complete");
        self.requests.clear();
        let channels = self.device.health().len();
        // A state may exceed the queue by one; completions have their slots.
        let most = channels * (QUEUE + 1 + usize::from(gs_usb::SLOTS));
        assert!(self.device.statistics().waiting_most <= most, "{:?}", self.device.statistics());
    }
}
