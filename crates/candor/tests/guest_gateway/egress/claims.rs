//! Single claims of the report of 2011 that no other test comes by.

use std::ops::RangeInclusive;

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use nix::sys::socket::{setsockopt, sockopt};

use super::line::{self, Line};
use super::paced::tree;
use super::*;
use crate::frames::{classic, send, sender_on};

const ENOBUFS: i32 = 105;
/// On x86-64 the least socket has 4608 bytes of memory, of which a frame takes 768; with Linux 6.12 it is a frame less.
const FRAMES_OF_THE_LEAST_SOCKET: RangeInclusive<usize> = 5..=6;

/// The report says that a number of bands is for ever.
#[test]
#[ignore = "runs in a guest"]
fn bands_are_added_where_frames_wait() {
    let Some(_machine) = require(line::NEEDS) else { return };
    let mut line = Line::new();
    let prio = tree("qdisc root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
    line.block(&prio).unwrap();
    let sender = sender_on(line.index);
    send(&sender, &classic(0x100, &[1]));
    let more = tree("qdisc root handle 1: prio bands 3 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    line.kernel.carry_out(&Step::ChangeQdisc(more.qdiscs[0].clone())).unwrap();
    assert_eq!(line.kernel.observe().unwrap().bands.len(), 3);
    send(&sender, &classic(0x100, &[2]));
    assert_eq!(line.read(2), [2, 1]);
    line.clear();
}

/// Section 3.4: `ENOBUFS` is a full queue. A socket that has as many frames on their way as it may waits, or is told to come
/// again.
#[test]
#[ignore = "runs in a guest"]
fn a_full_queue_refuses_and_a_full_socket_waits() {
    const EAGAIN: i32 = 11;
    let Some(_machine) = require(line::NEEDS) else { return };
    let mut line = Line::new();
    let frame = classic(0x100, &[0; 8]);
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    for (limit, least, ends, expected) in
        [(1000, true, EAGAIN, FRAMES_OF_THE_LEAST_SOCKET), (4, true, ENOBUFS, 4..=4), (100, false, ENOBUFS, 100..=100)]
    {
        line.block(&tree(&format!("qdisc root handle 1: pfifo limit {limit}"))).unwrap();
        let sender = sender_on(line.index);
        if least {
            setsockopt(&sender, sockopt::SndBuf, &0).unwrap();
        }
        let mut taken = 0;
        let error = loop {
            match sender.send_now(&bytes[..len]) {
                Ok(()) => taken += 1,
                Err(error) => break error.raw_os_error(),
            }
        };
        assert!(error == Some(ends) && expected.contains(&taken), "{error:?} after {taken} frames");
        assert_eq!(line.read(taken).len(), taken);
        line.clear();
    }
}

/// The length of a frame in queues, as filters see it.
#[test]
#[ignore = "runs in a guest"]
fn lengths_are_those_of_structs() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    place.make(&tree("qdisc root handle 1: prio\nfilter prio 1 basic match 'meta(pkt_len eq 72)' flowid 1:1")).unwrap();
    let sender = sender_on(place.pair.near);
    for payload in [&[][..], &[1; 8]] {
        send(&sender, &classic(0x100, payload));
        send(&sender, &Frame::fd(RawId(1), 0, payload).unwrap());
    }
    let found = place.observe();
    assert_eq!(found.filters[0].hits.as_ref().map(|hits| hits.hit), Some(2));
    assert_eq!((found.qdiscs[0].frames, found.qdiscs[0].bytes), (4, 2 * 16 + 2 * 72));
}
