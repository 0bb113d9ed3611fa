//! Sockets without an engine: transmit rings with both formats, and transmit timestamps before and after the queue.

use std::thread;

use candor_io::can::{SendStage, SendStamp};
use candor_io::packet::TransmitRing;

use crate::prelude::*;
use crate::queues;

const SLOTS: usize = 16;
const DELAY: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

fn fd(id: u32, payload: &[u8]) -> Frame {
    Frame::fd(RawId(id), 0, payload).unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn both_formats_leave_in_order() {
    let Some(_machine) = require(VCAN) else { return };
    let pair = Pair::new(["t-near", "t-far"]);
    let mut ring = TransmitRing::open(pair.near, SLOTS, None).unwrap();
    let listener = listener_on(pair.far);
    // Several times around both rings: the headers written into the slots at the start must still be there.
    for round in 0..5 {
        let one = |number: u8| {
            let payload = [round, number, 3, 4, 5, 6, 7, 8];
            // Runs of one, two and three frames of a format.
            if [0, 2, 3, 6, 7, 8].contains(&(number % 12)) {
                classic(0x100, &payload)
            } else {
                fd(0x100, &[number; 64])
            }
        };
        let frames: Vec<_> = (0..16).map(one).collect();
        let bytes: Vec<_> = frames.iter().map(bytes_of).collect();
        let batch = ring.send(bytes.iter().map(Vec::as_slice));
        assert!(batch.taken == frames.len() && batch.refused.is_none(), "{batch:?}");
        for frame in &frames {
            assert_eq!(next_frame(&listener), *frame);
        }
    }
}

/// The driver of a classic controller would read the length of such a frame from its bytes.
#[test]
#[ignore = "runs in a guest"]
fn a_frame_beyond_the_mtu_never_reaches_a_driver() {
    let Some(_machine) = require(VCAN) else { return };
    let pair = Pair::new(["t-near", "t-far"]);
    let mut client = Client::open().unwrap();
    for end in [pair.near, pair.far] {
        link::set_down(&mut client, end).unwrap();
        link::set_mtu(&mut client, end, 16).unwrap();
        link::set_up(&mut client, end).unwrap();
    }
    pair.wait();
    let mut ring = TransmitRing::open(pair.near, SLOTS, None).unwrap();
    let listener = listener_on(pair.far);
    let frames = [classic(0x101, &[1]), fd(0x102, &[2; 64]), classic(0x103, &[3])];
    let bytes = frames.each_ref().map(bytes_of);
    let batch = ring.send(bytes.iter().map(Vec::as_slice));
    let refused = batch.refused.as_ref().and_then(std::io::Error::raw_os_error);
    assert_eq!((batch.taken, refused), (1, Some(errno::EMSGSIZE)), "{batch:?}");
    // The refused frame is in no ring.
    let batch = ring.send([bytes[2].as_slice()]);
    assert!(batch.taken == 1 && batch.refused.is_none(), "{batch:?}");
    for expected in [&frames[0], &frames[2]] {
        assert_eq!(next_frame(&listener), *expected);
    }
    assert_eq!(hear(&listener, Duration::from_millis(50)), None);
}

fn send_now(socket: &CanSocket, frame: &Frame) -> std::io::Result<()> {
    socket.send_now(&bytes_of(frame))
}

fn stamps(socket: &CanSocket) -> Vec<SendStamp> {
    let mut all = Vec::new();
    socket.read_send_stamps(|stamp| all.push(stamp)).unwrap();
    all
}

fn of(all: &[SendStamp], stage: SendStage) -> impl Iterator<Item = &SendStamp> {
    all.iter().filter(move |stamp| stamp.stage == stage)
}

#[test]
#[ignore = "runs in a guest"]
fn stamps_a_frame_before_and_after_the_queue() {
    let Some(scene) = Scenario::new(VCAN, ["left"]) else { return };
    queues::delay(scene.index("left"), DELAY, 50);
    let socket = scene.sender("left");
    socket.stamp_sending().unwrap();
    for number in 0..5 {
        send_now(&socket, &numbered(number)).unwrap();
    }
    thread::sleep(20 * DELAY);
    let all = stamps(&socket);
    for stage in [SendStage::Queued, SendStage::HandedOver] {
        assert!(of(&all, stage).map(|stamp| stamp.number).eq(0..5), "{all:?}");
    }
    for (queued, handed) in of(&all, SendStage::Queued).zip(of(&all, SendStage::HandedOver)) {
        let waited = handed.at.0 - queued.at.0;
        assert!(u128::try_from(waited).unwrap() >= DELAY.as_nanos(), "{waited} ns: {all:?}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_refused_frame_has_a_number() {
    let Some(scene) = Scenario::new(VCAN, ["left"]) else { return };
    queues::delay(scene.index("left"), LONG, 2);
    let socket = scene.sender("left");
    socket.stamp_sending().unwrap();
    let taken: Vec<bool> = (0..4).map(|number| send_now(&socket, &numbered(number)).is_ok()).collect();
    assert!(taken.contains(&false), "a queue of two took four");
    queues::delete_root(scene.index("left"));
    drop(stamps(&socket));
    send_now(&socket, &numbered(4)).unwrap();
    thread::sleep(DELAY);
    let all = stamps(&socket);
    assert_eq!(of(&all, SendStage::HandedOver).map(|stamp| stamp.number).collect::<Vec<_>>(), [4]);
}

/// A CAN XL frame with 64 bytes: priority and virtual network, flags with XLF, SDU type, length, acceptance field, data.
pub(crate) fn xl(priority_and_network: u32) -> Vec<u8> {
    let mut bytes = priority_and_network.to_ne_bytes().to_vec();
    bytes.extend([0x80, 0]);
    bytes.extend(64_u16.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([0xAA; 64]);
    bytes
}

/// Its priority lies where other frames have their identifier, so the filter matches it.
#[test]
#[ignore = "runs in a guest"]
fn xl_frames_are_not_forwarded() {
    const XL_MTU: u32 = 2060;
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let mut client = Client::open().unwrap();
    for bus in ["left", "right"] {
        scene.bus(bus).set_down();
        let set = link::set_mtu(&mut client, scene.index(bus), XL_MTU);
        scene.bus(bus).set_up();
        set.unwrap();
    }
    let text = LEFT_RIGHT.to_owned() + &route("over", "left", "right", "match = \"123\"\necho = true");
    for engine in ["kernel", "read-write", "mmap-write", "uring-uring"] {
        let (sender, listener) = (scene.sender("left"), scene.listener("right"));
        [&sender, &listener].iter().for_each(|socket| socket.enable_xl().unwrap());
        let witness = scene.listener("left");
        witness.enable_xl().unwrap();
        let candor = scene.start(&text, engine);
        sender.write(&xl(0x123)).unwrap();
        send(&sender, &classic(0x123, &[1]));
        assert_eq!(witness.read(&mut [0; CANFD_MTU]).unwrap(), CANFD_MTU, "the first 72 bytes of the CAN XL frame");
        assert_eq!(next_frame(&listener), classic(0x123, &[1]), "{engine}");
        assert_eq!(hear(&listener, Duration::from_millis(50)), None, "{engine}");
        assert_eq!(candor.stop().counted("over"), [1, 0, 0], "{engine}");
    }
}
