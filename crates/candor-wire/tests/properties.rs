//! Properties that hold for arbitrary sequences.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

mod driver;

use std::num::NonZeroU8;

use candor_bus::{BusNs, Counters, ErrorState, Tag};
use candor_core::arbitrary::wire_frame;
use candor_core::frame::{Frame, FrameFormat};
use candor_wire::model::{GsUsb, Ucan, gs_usb};
use candor_wire::usbip::{
    Command, HEADER_BYTES, Header, MAX_OUT_BYTES, ProtocolError, Reader, Reply, Seqnum, Submit, Transfer,
};
use candor_wire::{Channel, Device, DeviceError, Notice, Request, invariants};
use driver::gs_usb::{GsUsbDriver, MODE_FD};
use driver::ucan::UcanDriver;
use driver::{Driver, Heard};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn gs_usb_driver(channels: u8) -> GsUsbDriver {
    let channels = NonZeroU8::new(channels).unwrap();
    let options = gs_usb::Options { channels, depth: 10, fd: true, serial: String::new() };
    let mut driver = GsUsbDriver::probe(GsUsb::new(options), 16);
    for channel in 0..channels.get() {
        driver.open(channel, MODE_FD).unwrap();
    }
    driver.host.requests();
    driver
}

fn ucan_driver(depth: u8) -> UcanDriver {
    let mut driver = UcanDriver::probe(Ucan::new(NonZeroU8::new(depth).unwrap(), String::new()), 16);
    driver.set_bit_timing().unwrap();
    driver.open(0).unwrap();
    driver.host.requests();
    driver
}

/// A frame that ucan can carry: no CAN FD, no raw data length code.
fn for_ucan(mut frame: Frame) -> Frame {
    frame.len8_dlc = 0;
    if frame.format == FrameFormat::Fd {
        (frame.format, frame.flags, frame.len) = (FrameFormat::Classic, 0, frame.len.min(8));
        frame.data[8..].fill(0);
    }
    frame
}

#[derive(Clone, Debug)]
enum Step {
    Send { channel: u8, frame: Box<Frame> },
    Sent(Index),
    Failed(Index),
    Received { channel: u8, frame: Box<Frame> },
    State { channel: u8, state: ErrorState },
    Kill { channel: u8, slot: u32 },
    Poll,
}

fn step() -> impl Strategy<Value = Step> {
    use ErrorState::{Active, BusOff, Passive, Warning};
    let boxed = || wire_frame().prop_map(Box::new);
    prop_oneof![
        6 => (0..3_u8, boxed()).prop_map(|(channel, frame)| Step::Send { channel, frame }),
        3 => any::<Index>().prop_map(Step::Sent),
        1 => any::<Index>().prop_map(Step::Failed),
        3 => (0..3_u8, boxed()).prop_map(|(channel, frame)| Step::Received { channel, frame }),
        1 => (0..3_u8, prop::sample::select(&[Active, Warning, Passive, BusOff][..]))
            .prop_map(|(channel, state)| Step::State { channel, state }),
        1 => (0..3_u8, 0..10_u32).prop_map(|(channel, slot)| Step::Kill { channel, slot }),
        2 => Just(Step::Poll),
    ]
}

/// Frames on the bus, and counters of their disposition.
#[derive(Default)]
struct Accounting {
    on_the_bus: Vec<(u8, Tag, Frame)>,
    sends: usize,
    ends: usize,
    killed: usize,
}

impl Accounting {
    fn requests<D: Driver>(&mut self, driver: &mut D) {
        for request in driver.host().requests() {
            match request {
                Request::Send { channel, tag, frame } => self.on_the_bus.push((channel.0, tag, frame)),
                Request::Cancel { tag, .. } => self.on_the_bus.retain(|(_, known, _)| *known != tag),
                Request::Restart { .. } => {}
                Request::Start { .. } | Request::Stop { .. } => panic!("{request:?}"),
            }
        }
    }

    fn poll<D: Driver>(&mut self, driver: &mut D) {
        loop {
            let heard = driver.poll();
            self.requests(driver);
            if heard.is_empty() {
                return;
            }
            self.ends += heard.iter().filter(|heard| matches!(heard, Heard::Echo(..) | Heard::Dropped(..))).count();
        }
    }
}

/// Every frame has one disposition. The drivers check that no transfer is answered twice.
fn conserves_frames<D: Driver>(mut driver: D, channels: u8, steps: &[Step], fit: impl Fn(Frame) -> Frame) {
    let mut accounting = Accounting::default();
    for step in steps {
        match step {
            Step::Send { channel, frame } => {
                accounting.sends += usize::from(driver.send(channel % channels, &fit(**frame)).is_some());
                accounting.requests(&mut driver);
            }
            Step::Sent(index) if !accounting.on_the_bus.is_empty() => {
                let (channel, tag, frame) = accounting.on_the_bus.remove(index.index(accounting.on_the_bus.len()));
                driver.host().sent(channel, (tag, frame), 7);
                driver.host().sent(channel, (tag, frame), 8); // reported twice
            }
            Step::Failed(index) if !accounting.on_the_bus.is_empty() => {
                let (channel, tag, _) = accounting.on_the_bus.remove(index.index(accounting.on_the_bus.len()));
                driver.host().failed(channel, tag);
            }
            Step::Sent(_) | Step::Failed(_) => {}
            Step::Received { channel, frame } => driver.host().received(channel % channels, fit(**frame), 9),
            Step::State { channel, state } => {
                let channel = Channel(channel % channels);
                let at = driver.host().now;
                driver.host().notice(Notice::State { channel, state: *state, counters: Counters::default(), at });
                accounting.requests(&mut driver);
            }
            Step::Kill { channel, slot } => {
                accounting.poll(&mut driver);
                let before = driver.taken();
                driver.kill(channel % channels, *slot);
                accounting.killed += before - driver.taken();
                accounting.requests(&mut driver);
            }
            Step::Poll => accounting.poll(&mut driver),
        }
    }
    for (channel, tag, frame) in std::mem::take(&mut accounting.on_the_bus) {
        driver.host().sent(channel, (tag, frame), 10);
    }
    accounting.poll(&mut driver);
    assert_eq!(driver.taken(), 0, "leaked slots");
    assert_eq!(accounting.sends, accounting.ends + accounting.killed);
}

#[derive(Clone, Debug)]
struct Parts {
    seqnum: u32,
    other: u32,
    setup: [u8; 8],
    room: Option<usize>,
    data: Vec<u8>,
}

fn parts() -> impl Strategy<Value = Parts> {
    let room = prop::option::of(0..=i32::MAX.cast_unsigned() as usize);
    (any::<u32>(), any::<u32>(), any::<[u8; 8]>(), room, vec(any::<u8>(), 0..100))
        .prop_map(|(seqnum, other, setup, room, data)| Parts { seqnum, other, setup, room, data })
}

impl Parts {
    /// An unlink request in one of three cases.
    fn command(&self) -> Command<'_> {
        let Self { seqnum, other, setup, room, ref data } = *self;
        let seqnum = Seqnum(seqnum);
        if seqnum.0.is_multiple_of(3) {
            return Command::Unlink { seqnum, victim: Seqnum(other) };
        }
        let transfer = room.map_or(Transfer::Out { data }, |room| Transfer::In { room });
        Command::Submit(Submit { seqnum, endpoint: other, setup, transfer })
    }
}

proptest! {
    #[test]
    fn gs_usb_conserves_frames(steps in vec(step(), 0..100)) {
        conserves_frames(gs_usb_driver(3), 3, &steps, |frame| frame);
    }

    #[test]
    fn ucan_conserves_frames(depth in 1..6_u8, steps in vec(step(), 0..100)) {
        conserves_frames(ucan_driver(depth), 1, &steps, for_ucan);
    }

    #[test]
    fn gs_usb_carries_any_frame(frame in wire_frame(), at_us in any::<u32>()) {
        let mut driver = gs_usb_driver(1);
        driver.send(0, &frame).unwrap();
        prop_assert_eq!(driver.host.sends(), [(Tag(0), frame)]);
        driver.host.received(0, frame, at_us.into());
        prop_assert_eq!(driver.poll(), [Heard::Received(0, frame, Some(at_us))]);
    }

    #[test]
    fn ucan_carries_any_classic_frame(frame in wire_frame()) {
        let frame = for_ucan(frame);
        let mut driver = ucan_driver(1);
        driver.send(0, &frame).unwrap();
        prop_assert_eq!(driver.host.sends(), [(Tag(0), frame)]);
        driver.host.received(0, frame, 1);
        prop_assert_eq!(driver.poll(), [Heard::Received(0, frame, None)]);
    }

    #[test]
    fn commands_survive_any_split(parts in vec(parts(), 0..8), cuts in vec(any::<Index>(), 0..8)) {
        let commands: Vec<Command<'_>> = parts.iter().map(Parts::command).collect();
        let mut bytes = Vec::new();
        commands.iter().for_each(|command| command.encode(&mut bytes));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let (mut reader, mut read) = (Reader::default(), 0);
        for range in cuts.windows(2) {
            let mut piece = &bytes[range[0]..range[1]];
            while let Some(command) = reader.read(&mut piece).unwrap() {
                prop_assert_eq!(command, commands[read]);
                read += 1;
            }
            prop_assert!(piece.is_empty());
        }
        prop_assert_eq!(read, commands.len());
    }

    #[test]
    fn replies_round_trip(seqnum in any::<u32>(), status in any::<i32>(), actual_length in 0..=i32::MAX.cast_unsigned()) {
        let seqnum = Seqnum(seqnum);
        for reply in [Reply::Submit { seqnum, status, actual_length: actual_length as usize }, Reply::Unlink { seqnum, status }] {
            let mut bytes = Vec::new();
            reply.encode(&mut bytes);
            prop_assert_eq!(Reply::decode(&Header::first_of(&bytes).unwrap()), Some(reply));
            prop_assert_eq!(bytes.len(), HEADER_BYTES);
        }
    }

    #[test]
    fn any_bytes_hold_the_invariants(bytes in vec(any::<u8>(), 0..400)) {
        invariants::check(&bytes);
    }

    #[test]
    fn mutated_dialogues_hold_the_invariants(
        is_ucan in any::<bool>(),
        steps in vec((128..=255_u8, any::<u8>()), 0..40),
        sends in 0..12_u32,
        hits in vec((any::<Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = vec![u8::from(is_ucan) | 0b110];
        let dialogue = dialogue(is_ucan, sends + 6);
        // The last frames follow the notices.
        let (before, after) = dialogue.split_at(dialogue.len() - 6 * if is_ucan { 59 } else { 124 });
        bytes.extend(invariants::stream_steps(before));
        bytes.extend(steps.iter().flat_map(|&(notice, choice)| [notice, choice]));
        bytes.extend(invariants::stream_steps(after));
        for (at, byte) in &hits {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        invariants::check(&bytes);
    }

    #[test]
    fn header_cannot_make_device_allocate(header in any::<[u8; 48]>(), is_out in any::<bool>(), length in any::<u32>()) {
        let mut bytes = header;
        bytes[..4].copy_from_slice(&[0, 0, 0, 1]);
        bytes[12..20].copy_from_slice(&[0, 0, 0, u8::from(!is_out), 0, 0, 0, 1 + u8::from(is_out)]);
        bytes[24..28].copy_from_slice(&length.to_be_bytes());
        bytes[32..36].fill(0);
        let channels = NonZeroU8::MIN;
        let options = gs_usb::Options { channels, depth: 10, fd: false, serial: String::new() };
        let mut device = Device::new(Box::new(GsUsb::new(options)), 1);
        let done = device.receive(&bytes, BusNs(0), &mut Vec::new());
        let expected = match i32::try_from(length) {
            Err(_) => Err(DeviceError::Protocol(ProtocolError::NegativeLength { length: length.cast_signed() })),
            Ok(4097..) if is_out => {
                Err(DeviceError::Protocol(ProtocolError::TooLong { length: length as usize, max: MAX_OUT_BYTES }))
            }
            Ok(_) => Ok(()),
        };
        prop_assert_eq!(done, expected);
        prop_assert!(device.output().capacity() < 1024);
    }
}

/// The bytes that a driver writes to open an interface and to send frames.
fn dialogue(is_ucan: bool, sends: u32) -> Vec<u8> {
    let frame = |id| Frame::classic(candor_core::frame::RawId(id), &[1, 2, 3]).unwrap();
    if is_ucan {
        let mut driver = ucan_driver(4);
        for id in 0..sends {
            driver.send(0, &frame(id));
        }
        driver.host.written
    } else {
        let mut driver = gs_usb_driver(4);
        for id in 0..sends {
            driver.send(u8::try_from(id % 4).unwrap(), &frame(id));
        }
        driver.host.written
    }
}
