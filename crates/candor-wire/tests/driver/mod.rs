//! A fake kernel: a virtual host controller, and the drivers gs_usb and ucan with their posted transfers, slots and echoes.
//!
//! Modelled on `vhci_rx.c`, `gs_usb.c` and `ucan.c` of Linux 6.1.192. Panics where these report an error.
#![allow(dead_code, reason = "each test program uses a part of the driver")]

pub(crate) mod gs_usb;
pub(crate) mod ucan;

use std::collections::BTreeMap;

use candor_bus::{BusNs, Counters, ErrorState, Tag};
use candor_core::frame::{Frame, RawId};
use candor_wire::usbip::{Command, HEADER_BYTES, Header, Reply, Seqnum, Submit, Transfer};
use candor_wire::{Channel, Device, Model, Notice, Request};

/// An event in a driver. The first field is the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A frame was transmitted: slot, timestamp if there is one.
    Echo(u8, u32, Option<u32>),
    /// A frame was dropped: slot.
    Dropped(u8, u32),
    /// A frame of another node, timestamp if there is one.
    Received(u8, Frame, Option<u32>),
    /// An error frame: identifier, data.
    Error(u8, u32, [u8; 8]),
    /// Frames were lost.
    Overflow(u8),
}

pub(crate) trait Driver {
    fn host(&mut self) -> &mut Host;
    /// Sends a frame if a slot is free, and returns the slot.
    fn send(&mut self, channel: u8, frame: &Frame) -> Option<u32>;
    /// Handles the output of the device.
    fn poll(&mut self) -> Vec<Heard>;
    /// Used slots.
    fn taken(&self) -> usize;
    /// Cancels the transfer of a frame, as when the interface goes down, and frees its slot.
    fn kill(&mut self, channel: u8, slot: u32);
}

/// A pending transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    In { room: usize },
    Out { bytes: usize },
    Unlink,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) seqnum: Seqnum,
    pub(crate) status: i32,
    pub(crate) data: Vec<u8>,
}

/// vhci-hcd with one device.
pub(crate) struct Host {
    pub(crate) device: Device,
    pub(crate) requests: Vec<Request>,
    pub(crate) now: BusNs,
    /// All bytes sent, for the corpus.
    pub(crate) written: Vec<u8>,
    next: u32,
    waiting: BTreeMap<Seqnum, Waiting>,
}

impl Host {
    pub(crate) fn new(model: impl Model + 'static, queue_frames: usize) -> Self {
        Self {
            device: Device::new(Box::new(model), queue_frames),
            requests: Vec::new(),
            now: BusNs(1_000_000_000),
            written: Vec::new(),
            next: 1,
            waiting: BTreeMap::new(),
        }
    }

    fn write(&mut self, command: &Command<'_>) {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        self.written.extend_from_slice(&bytes);
        self.device.receive(&bytes, self.now, &mut self.requests).expect("the protocol is valid");
    }

    fn number(&mut self, waiting: Waiting) -> Seqnum {
        let seqnum = Seqnum(self.next);
        self.next += 1;
        self.waiting.insert(seqnum, waiting);
        seqnum
    }

    fn submit(&mut self, endpoint: u32, setup: [u8; 8], transfer: Transfer<'_>) -> Seqnum {
        let seqnum = self.number(match transfer {
            Transfer::In { room } => Waiting::In { room },
            Transfer::Out { data } => Waiting::Out { bytes: data.len() },
        });
        self.write(&Command::Submit(Submit { seqnum, endpoint, setup, transfer }));
        seqnum
    }

    pub(crate) fn post(&mut self, room: usize) -> Seqnum {
        self.submit(1, [0; 8], Transfer::In { room })
    }

    pub(crate) fn bulk_out(&mut self, data: &[u8]) -> Seqnum {
        self.submit(2, [0; 8], Transfer::Out { data })
    }

    /// Cancels a transfer; `true` if it was pending. Other answers are dropped.
    pub(crate) fn unlink(&mut self, victim: Seqnum) -> bool {
        let seqnum = self.number(Waiting::Unlink);
        self.write(&Command::Unlink { seqnum, victim });
        let answers = self.answers();
        let answer =
            answers.iter().find(|answer| answer.seqnum == seqnum).expect("an unlink request is answered at once");
        match answer.status {
            -104 => assert!(self.waiting.remove(&victim).is_some(), "{victim} was answered and unlinked"),
            0 => assert!(!self.waiting.contains_key(&victim), "{victim} is neither answered nor unlinked"),
            status => panic!("unlink status {status}"),
        }
        answer.status == -104
    }

    /// Parses the output of the device as `vhci_rx.c` does.
    pub(crate) fn answers(&mut self) -> Vec<Answer> {
        let bytes = std::mem::take(self.device.output());
        let mut rest = &bytes[..];
        let mut answers = Vec::new();
        while !rest.is_empty() {
            let header = Header::first_of(rest).expect("replies are complete");
            rest = &rest[HEADER_BYTES..];
            let reply = Reply::decode(&header).expect("a device only replies");
            let (seqnum, status, length) = match reply {
                Reply::Submit { seqnum, status, actual_length } => (seqnum, status, actual_length),
                Reply::Unlink { seqnum, status } => (seqnum, status, 0),
            };
            let waiting =
                self.waiting.remove(&seqnum).unwrap_or_else(|| panic!("cannot find a urb of seqnum {seqnum}"));
            let taken = match waiting {
                Waiting::In { room } => {
                    assert!(length <= room, "{length} bytes for a room of {room}");
                    length
                }
                Waiting::Out { bytes } => {
                    assert!(
                        length == if status == 0 { bytes } else { 0 },
                        "{length} of {bytes} bytes, status {status}"
                    );
                    0
                }
                Waiting::Unlink => 0,
            };
            assert_eq!(waiting == Waiting::Unlink, matches!(reply, Reply::Unlink { .. }));
            answers.push(Answer { seqnum, status, data: rest[..taken].to_vec() });
            rest = &rest[taken..];
        }
        answers
    }

    /// The only answer.
    fn answer(&mut self, seqnum: Seqnum) -> Result<Vec<u8>, i32> {
        let mut answers = self.answers();
        let answer = answers.pop().expect("control transfers are answered at once");
        assert!(answers.is_empty() && answer.seqnum == seqnum, "{answers:?} before {answer:?}");
        if answer.status == 0 { Ok(answer.data) } else { Err(answer.status) }
    }

    /// A control transfer to the host: `usb_control_msg`.
    pub(crate) fn control_in(
        &mut self,
        kind: u8,
        request: u8,
        value: u16,
        index: u16,
        room: u16,
    ) -> Result<Vec<u8>, i32> {
        let seqnum = self.submit(0, setup(kind, request, value, index, room), Transfer::In { room: room.into() });
        self.answer(seqnum)
    }

    /// A control transfer to the device.
    pub(crate) fn control_out(
        &mut self,
        kind: u8,
        request: u8,
        value: u16,
        index: u16,
        data: &[u8],
    ) -> Result<(), i32> {
        let length = u16::try_from(data.len()).unwrap();
        self.control_out_raw(setup(kind, request, value, index, length), data)
    }

    /// A control transfer whose data may contradict its setup packet.
    pub(crate) fn control_out_raw(&mut self, setup: [u8; 8], data: &[u8]) -> Result<(), i32> {
        let seqnum = self.submit(0, setup, Transfer::Out { data });
        self.answer(seqnum).map(|_| ())
    }

    /// Enumerates the device as usbcore does, and returns vendor and product.
    pub(crate) fn enumerate(&mut self) -> (u16, u16) {
        let device = self.control_in(0x80, 6, 0x0100, 0, 64).unwrap();
        assert_eq!(device.len(), 18);
        assert_eq!((device[0], device[1], device[7], device[17]), (18, 1, 64, 1), "high speed, one configuration");
        assert!(u16::from_le_bytes([device[2], device[3]]) <= 0x0200, "no BOS descriptor is requested");
        let head = self.control_in(0x80, 6, 0x0200, 0, 9).unwrap();
        let total = u16::from_le_bytes([head[2], head[3]]);
        let all = self.control_in(0x80, 6, 0x0200, 0, total).unwrap();
        assert_eq!((head.len(), all.len()), (9, 32));
        assert_eq!(all[..9], head);
        let mut rest = &all[..];
        let mut endpoints = Vec::new();
        while !rest.is_empty() {
            if rest[1] == 5 {
                assert_eq!((rest[3], u16::from_le_bytes([rest[4], rest[5]])), (2, 512), "bulk of high speed");
                endpoints.push(rest[2]);
            }
            rest = &rest[usize::from(rest[0])..];
        }
        assert_eq!(endpoints, [0x81, 0x02]);
        let languages = self.control_in(0x80, 6, 0x0300, 0, 255).unwrap();
        assert_eq!(languages, [4, 3, 0x09, 0x04]);
        for index in [device[14], device[15], device[16]] {
            let text = self.control_in(0x80, 6, 0x0300 | u16::from(index), 0x0409, 255).unwrap();
            assert_eq!((usize::from(text[0]), text[1]), (text.len(), 3));
        }
        assert_eq!(self.control_in(0x80, 6, 0x0600, 0, 10), Err(-32), "there is no other speed");
        self.control_out(0x00, 9, 1, 0, &[]).unwrap();
        assert_eq!(self.control_in(0x80, 8, 0, 0, 1).unwrap(), [1]);
        (u16::from_le_bytes([device[8], device[9]]), u16::from_le_bytes([device[10], device[11]]))
    }

    /// `usb_set_configuration` while other transfers are pending; their answers are dropped.
    pub(crate) fn set_configuration(&mut self, configuration: u16) {
        let seqnum = self.submit(0, setup(0x00, 9, configuration, 0, 0), Transfer::Out { data: &[] });
        let answers = self.answers();
        assert!(answers.iter().any(|answer| answer.seqnum == seqnum && answer.status == 0));
    }

    /// Pending transfers to the device.
    pub(crate) fn held(&self) -> usize {
        self.waiting.values().filter(|waiting| matches!(waiting, Waiting::Out { .. })).count()
    }

    /// Requests since the last call.
    pub(crate) fn requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// Frames to send since the last call of [`Self::requests`], with their tags.
    pub(crate) fn sends(&mut self) -> Vec<(Tag, Frame)> {
        sends(&self.requests())
    }

    pub(crate) fn notice(&mut self, notice: Notice) {
        self.device.notice(&notice, &mut self.requests);
    }

    /// The bus has transmitted a frame of this device.
    pub(crate) fn sent(&mut self, channel: u8, (tag, frame): (Tag, Frame), at_us: u64) {
        self.notice(Notice::Sent { channel: Channel(channel), tag, frame, at: BusNs(at_us * 1000) });
    }

    /// The bus has dropped a frame of this device.
    pub(crate) fn failed(&mut self, channel: u8, tag: Tag) {
        self.notice(Notice::Failed { channel: Channel(channel), tag, at: self.now });
    }

    pub(crate) fn received(&mut self, channel: u8, frame: Frame, at_us: u64) {
        self.notice(Notice::Received { channel: Channel(channel), frame, at: BusNs(at_us * 1000) });
    }
}

pub(crate) fn frame(id: u32, payload: &[u8]) -> Frame {
    Frame::classic(RawId(id), payload).unwrap()
}

/// A new state of channel 0.
pub(crate) fn state(state: ErrorState, transmit: u16) -> Notice {
    Notice::State { channel: Channel(0), state, counters: Counters { transmit, receive: 0 }, at: BusNs(0) }
}

/// The frames in `requests`, with their tags.
pub(crate) fn sends(requests: &[Request]) -> Vec<(Tag, Frame)> {
    let send = |request: &Request| match *request {
        Request::Send { tag, frame, .. } => Some((tag, frame)),
        _ => None,
    };
    requests.iter().filter_map(send).collect()
}

fn setup(kind: u8, request: u8, value: u16, index: u16, length: u16) -> [u8; 8] {
    let ([v0, v1], [i0, i1], [l0, l1]) = (value.to_le_bytes(), index.to_le_bytes(), length.to_le_bytes());
    [kind, request, v0, v1, i0, i1, l0, l1]
}

/// Little-endian word at an offset.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Words, little endian.
pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
