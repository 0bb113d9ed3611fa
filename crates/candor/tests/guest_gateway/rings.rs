//! Transmit rings, without an engine around them: both formats in the order of the frames, and nobody's memory but theirs.

use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_io::packet::TransmitRing;
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::frames::{classic, hear, listener_on};
use crate::pair::Pair;
use crate::require::{Feature, require};

const PATIENCE: Duration = Duration::from_secs(5);
const SLOTS: usize = 16;

fn fd(id: u32, payload: &[u8]) -> Frame {
    Frame::fd(RawId(id), 0, payload).unwrap()
}

fn kernels(frames: &[Frame]) -> Vec<Vec<u8>> {
    let bytes = |frame: &Frame| {
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        bytes[..len].to_vec()
    };
    frames.iter().map(bytes).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn both_formats_leave_in_the_order_of_the_frames() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let pair = Pair::new(["t-near", "t-far"]);
    let mut ring = TransmitRing::open(pair.near, SLOTS, None).unwrap();
    let listener = listener_on(pair.far);
    // Several times around both rings, so that what was written into each slot at the start has to be there still.
    for round in 0..5 {
        let one = |number: u8| {
            let payload = [round, number, 3, 4, 5, 6, 7, 8];
            // One, two and three of a format behind each other.
            if [0, 2, 3, 6, 7, 8].contains(&(number % 12)) {
                classic(0x100, &payload)
            } else {
                fd(0x100, &[number; 64])
            }
        };
        let frames: Vec<_> = (0..16).map(one).collect();
        let bytes = kernels(&frames);
        let batch = ring.send(bytes.iter().map(Vec::as_slice));
        assert!(batch.taken == frames.len() && batch.refused.is_none(), "{batch:?}");
        for frame in &frames {
            assert_eq!(hear(&listener, PATIENCE).as_ref(), Some(frame));
        }
    }
}

/// A driver of a classic controller would take the length of such a frame from its bytes.
#[test]
#[ignore = "runs in a guest"]
fn a_frame_beyond_the_mtu_never_reaches_a_driver() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
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
    let bytes = kernels(&frames);
    let batch = ring.send(bytes.iter().map(Vec::as_slice));
    let errno = batch.refused.as_ref().and_then(std::io::Error::raw_os_error);
    assert_eq!((batch.taken, errno), (1, Some(libc::EMSGSIZE)), "{batch:?}");
    // Nothing of what was refused is left in a ring.
    let batch = ring.send([bytes[2].as_slice()]);
    assert!(batch.taken == 1 && batch.refused.is_none(), "{batch:?}");
    for expected in [&frames[0], &frames[2]] {
        assert_eq!(hear(&listener, PATIENCE).as_ref(), Some(expected));
    }
    assert_eq!(hear(&listener, Duration::from_millis(50)), None);
}
