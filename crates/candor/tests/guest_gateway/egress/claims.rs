//! Single claims of the report of 2011, and the number of frames that a program can write before it waits or fails.

use std::ops::RangeInclusive;

use nix::sys::socket::{setsockopt, sockopt};

use super::line::Line;
use super::paced::tree;
use super::*;
use crate::serial::SERIAL;

/// On x86-64 the smallest socket has 4608 bytes of memory, of which a frame takes 768; on Linux 6.12 it holds one frame less.
pub(super) const FRAMES_OF_THE_SMALLEST_SOCKET: RangeInclusive<usize> = 5..=6;

/// Writes until an error. Returns the number of accepted frames, and the errno.
pub(super) fn fill(socket: &CanSocket) -> (usize, Option<i32>) {
    let bytes = bytes_of(&classic(0x100, &[0; 8]));
    let mut taken = 0;
    loop {
        match socket.send_now(&bytes) {
            Ok(()) => taken += 1,
            Err(error) => return (taken, error.raw_os_error()),
        }
    }
}

/// According to the report the number of bands is fixed.
#[test]
#[ignore = "runs in a guest"]
fn adds_bands_while_frames_wait() {
    let Some(mut line) = Line::new(SERIAL) else { return };
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

/// Section 3.4: `ENOBUFS` means a full queue. A socket with its maximum of frames in flight waits, or fails with `EAGAIN`.
#[test]
#[ignore = "runs in a guest"]
fn a_full_queue_refuses_and_a_full_socket_waits() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    for (limit, smallest, expected, frames) in [
        (1000, true, errno::EAGAIN, FRAMES_OF_THE_SMALLEST_SOCKET),
        (4, true, errno::ENOBUFS, 4..=4),
        (100, false, errno::ENOBUFS, 100..=100),
    ] {
        line.block(&tree(&format!("qdisc root handle 1: pfifo limit {limit}"))).unwrap();
        let sender = sender_on(line.index);
        if smallest {
            setsockopt(&sender, sockopt::SndBuf, &0).unwrap();
        }
        let (taken, error) = fill(&sender);
        assert!(error == Some(expected) && frames.contains(&taken), "{error:?} after {taken} frames");
        assert_eq!(line.read(taken).len(), taken);
        line.clear();
    }
}

/// `candor doctor egress` predicts when a program waits or fails.
#[test]
#[ignore = "runs in a guest"]
fn doctor_predicts_the_room_of_queue_and_socket() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    // One frame leaves in ten seconds, so all wait.
    for (limit, expected, words) in
        [(10, errno::ENOBUFS, "after "), (100, errno::ENOBUFS, "after "), (1000, errno::EAGAIN, "blocks at ")]
    {
        let tbf = "qdisc root handle 1: tbf rate 13bit burst 16 limit 100000";
        fixture.make(&tree(&format!("{tbf}\nqdisc parent 1:1 handle 2: pfifo limit {limit}"))).unwrap();
        let (frames, error) = fill(&listener_on(fixture.pair.near));
        let doctor = output(Command::new(program()).args(["doctor", "egress", "--interface", NEAR, "--json"])).json();
        let mut checks = doctor["checks"].as_array().unwrap().iter();
        let found = checks.find(|check| check["check"] == "ENOBUFS").unwrap()["found"].as_str().unwrap();
        let (_, number) = found.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {found:?}"));
        let predicted: usize = number.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(error, Some(expected), "{limit}: {frames} frames; {found}");
        assert!(frames.abs_diff(predicted) <= 1, "{limit}: {frames} frames were accepted; {found}");
        fixture.clear();
    }
}

/// The length of a frame in queues and filters.
#[test]
#[ignore = "runs in a guest"]
fn lengths_are_those_of_the_kernel_structs() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    fixture
        .make(&tree("qdisc root handle 1: prio\nfilter prio 1 basic match 'meta(pkt_len eq 72)' flowid 1:1"))
        .unwrap();
    let sender = fixture.sender();
    for payload in [&[][..], &[1; 8]] {
        send(&sender, &classic(0x100, payload));
        send(&sender, &Frame::fd(RawId(1), 0, payload).unwrap());
    }
    let found = fixture.observe();
    assert_eq!(found.filters[0].hits.as_ref().map(|hits| hits.hit), Some(2));
    assert_eq!((found.qdiscs[0].frames, found.qdiscs[0].bytes), (4, 2 * 16 + 2 * 72));
}
