//! Cost of the system calls for frames, without driver and qdisc: the virtual CAN interface method.
//!
//! ```text
//!   write() or sendmmsg() ──▶ vcan ──▶ queue of a socket, room for all ──▶ read() or recvmmsg()
//!        timed until the last frame is in the queue                 timed until the last is out
//! ```
//!
//! # Source
//! Performance evaluation of Linux CAN-related system calls (Sojka, Píša, 2014), section 3.1, with the programs in
//! [can-benchmark](https://rtime.felk.cvut.cz/gitweb/can-benchmark.git).

use std::io;
use std::ops::Range;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, Loopback, Messages, Options};
use candor_io::clock::{self, MonotonicNs};
use candor_netlink::client::Client;

use crate::open_loop::numbered;
use crate::stats::Line;
use crate::tester::{InterfacesError, find};

/// Buffer space of a queued frame, including kernel structures; upper bound.
const BYTES_OF_A_FRAME: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtOnce {
    /// One `recvmmsg()`, and as few `sendmmsg()` as the kernel allows.
    All,
    /// `read()` and `write()`.
    One,
    /// `recvmmsg()` and `sendmmsg()` of this many.
    Some(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// From before the first call to after the last.
    pub sending_ns: i64,
    /// From before the first call to after the last.
    pub receiving_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub frames: usize,
    /// Medians over all passes.
    pub took: Pass,
}

#[derive(Debug)]
pub struct Bench {
    sender: CanSocket,
    receiver: CanSocket,
    sent: Messages,
    received: Messages,
    bytes: usize,
}

impl Bench {
    /// Only the receiver receives the sender's frames. Frames with a payload are numbered.
    pub fn open(client: &mut Client, name: &str, frame: Frame, frames: usize) -> Result<Self, InterfacesError> {
        let interface = find(client, name)?.index;
        let failed = InterfacesError::opening(name);
        let sends = Options { filters: &[], loopback: Loopback::On, ..Options::default() };
        let sender = CanSocket::open(interface, &sends).map_err(&failed)?;
        let receiver = CanSocket::open(interface, &Options::default()).map_err(&failed)?;
        let room = u32::try_from(frames.saturating_mul(BYTES_OF_A_FRAME)).unwrap_or(u32::MAX);
        receiver.set_receive_buffer(room).map_err(&failed)?;
        receiver.never_wait().map_err(&failed)?;
        let mut bytes = 0;
        let slot = |number: u32| {
            let mut slot = [0; CANFD_MTU];
            bytes = numbered(frame, number).to_kernel(&mut slot);
            slot
        };
        let slots = (0..u32::try_from(frames).unwrap_or(u32::MAX)).map(slot).collect();
        let (sent, received) = (Messages::to_send(slots, bytes), Messages::empty(frames));
        Ok(Self { sender, receiver, sent, received, bytes })
    }

    /// Sends frames, then receives them. Lost or changed frames are an error.
    pub fn pass(&mut self, frames: usize, at_once: AtOnce) -> io::Result<Pass> {
        let sending_ns = timed(|| self.send(frames, at_once))?;
        let receiving_ns = timed(|| self.receive(frames, at_once))?;
        self.check(frames, at_once)?;
        Ok(Pass { sending_ns, receiving_ns })
    }

    pub fn point(&mut self, frames: usize, at_once: AtOnce, repeats: usize) -> io::Result<Point> {
        let passes = (0..repeats.max(1)).map(|_| self.pass(frames, at_once)).collect::<io::Result<Vec<_>>>()?;
        let took = Pass {
            sending_ns: crate::bursts::median(passes.iter().map(|pass| pass.sending_ns)),
            receiving_ns: crate::bursts::median(passes.iter().map(|pass| pass.receiving_ns)),
        };
        Ok(Point { frames, took })
    }

    fn send(&mut self, frames: usize, at_once: AtOnce) -> io::Result<()> {
        if at_once == AtOnce::One {
            return self.sent.frames()[..frames].iter().try_for_each(|slot| self.sender.write(&slot[..self.bytes]));
        }
        let mut next = 0;
        while next < frames {
            next += self.sender.send_messages(&mut self.sent, part(next, frames, at_once))?;
        }
        Ok(())
    }

    fn receive(&mut self, frames: usize, at_once: AtOnce) -> io::Result<()> {
        if at_once == AtOnce::One {
            let mut slot = [0; CANFD_MTU];
            for _ in 0..frames {
                self.receiver.read(&mut slot).map_err(missing)?;
            }
            return Ok(());
        }
        let mut next = 0;
        while next < frames {
            let part = part(next, frames, at_once);
            next += self.receiver.receive_messages(&mut self.received, part).map_err(missing)?;
        }
        Ok(())
    }

    fn check(&self, frames: usize, at_once: AtOnce) -> io::Result<()> {
        if self.receiver.read_waiting(&mut [0; CANFD_MTU])?.is_some() {
            return Err(io::Error::other(
                "more frames arrived than were sent: another program sends on this interface",
            ));
        }
        let differs = |position: &usize| {
            self.sent.frames()[*position][..self.bytes] != self.received.frames()[*position][..self.bytes]
        };
        if at_once != AtOnce::One && (0..frames).any(|position| differs(&position)) {
            return Err(io::Error::other("frames did not arrive unchanged and in order"));
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "neither frames nor nanoseconds of a pass reach 2^53")]
pub fn line(points: &[Point], of: impl Fn(Pass) -> i64) -> Option<Line> {
    let points: Vec<_> = points.iter().map(|point| (point.frames as f64, of(point.took) as f64)).collect();
    Line::through(&points)
}

fn part(next: usize, frames: usize, at_once: AtOnce) -> Range<usize> {
    let most = match at_once {
        AtOnce::All => frames,
        AtOnce::One => 1,
        AtOnce::Some(most) => most.max(1),
    };
    next..frames.min(next + most)
}

fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<i64> {
    let MonotonicNs(start) = clock::monotonic()?;
    work()?;
    let MonotonicNs(end) = clock::monotonic()?;
    Ok(end - start)
}

/// All frames are queued before the first read, so a frame that is not there never comes.
fn missing(error: io::Error) -> io::Error {
    const LOST: &str =
        "frames were lost between the sockets: send fewer at once, or increase net.core.netdev_max_backlog";
    if error.kind() == io::ErrorKind::WouldBlock { io::Error::other(LOST) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_frames() {
        for at_once in [AtOnce::All, AtOnce::One, AtOnce::Some(64), AtOnce::Some(0)] {
            let mut next = 0;
            while next < 150 {
                let part = part(next, 150, at_once);
                assert_eq!(part.start, next, "{at_once:?}");
                assert!(part.end > next && part.end <= 150, "{at_once:?}");
                next = part.end;
            }
        }
        assert_eq!(part(0, 150, AtOnce::All), 0..150);
        assert_eq!(part(128, 150, AtOnce::Some(64)), 128..150);
    }
}
