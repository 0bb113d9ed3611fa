//! Receive rings.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use candor_core::frame::{CAN_MTU, CANFD_MTU};

use super::layout::{self, FREE, LOSING, SLOT_BYTES, USER};
use super::mapping::{Mapping, Slot};
use crate::can::InterfaceIndex;
use crate::clock::RealtimeNs;
use crate::poll::ppoll;
use crate::socket;
use crate::socket_filter::{self, IF_OUTGOING, Instruction, PASS_OVER, TAKE};

/// Frame formats that reach the filter of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RingFormats {
    /// Classic frames (`ETH_P_CAN`).
    Classic,
    /// FD frames (`ETH_P_CANFD`).
    Fd,
    /// Both, in order of arrival (`ETH_P_ALL`).
    Both,
}

impl RingFormats {
    /// True if the frame has such a format.
    const fn contains(self, frame: &[u8]) -> bool {
        match self {
            Self::Classic => frame.len() == CAN_MTU,
            Self::Fd => frame.len() == CANFD_MTU,
            Self::Both => true,
        }
    }
}

/// Direction of a tap ([`ReceiveRing::tap`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TapDirection {
    /// Received frames, timestamped when the driver passes them to the kernel.
    Incoming,
    /// Sent frames of all senders, timestamped when the driver gets them.
    Outgoing,
}

/// Senders of the frames in a ring ([`ReceiveRing::from_senders`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Senders {
    /// Sockets of this machine, whose frames the driver echoes.
    ThisMachine,
    /// All others: nodes on the bus, and the routing of the kernel.
    Others,
}

/// A packet socket with a receive ring. It receives everything that arrives on its interface, including echoed frames
/// of this process unless the filter rejects their mark, but not outgoing frames.
#[derive(Debug)]
pub struct ReceiveRing {
    mapping: Mapping,
    /// The next slot that the kernel fills.
    next: usize,
    /// Losses since the last [`take_lost`](Self::take_lost).
    lost: u32,
    formats: RingFormats,
    /// The kernel rejects outgoing packets; otherwise the filter does.
    ignores_outgoing: bool,
    fd: OwnedFd,
}

#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// `struct can_frame`, `struct canfd_frame`, or anything else.
    pub bytes: &'a [u8],
    pub at: RealtimeNs,
    pub more: bool,
}

impl ReceiveRing {
    /// Opens a ring on an interface with at least this many slots.
    ///
    /// # Kernel
    /// Needs CAP_NET_RAW. A waiting frame takes 256 bytes of locked memory.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENODEV` if the interface is gone, `EINVAL` for a filter that the kernel does not
    /// take, `ENOMEM`.
    pub fn open(
        interface: InterfaceIndex,
        formats: RingFormats,
        instructions: &[Instruction],
        slots: usize,
    ) -> io::Result<Self> {
        let fd = super::open()?;
        let ignores_outgoing = match socket::set_int(&fd, libc::SOL_PACKET, layout::PACKET_IGNORE_OUTGOING, 1) {
            // Unknown before Linux 4.20.
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => false,
            outcome => outcome.map(|()| true)?,
        };
        replace_filter(&fd, instructions, ignores_outgoing)?;
        let mapping = Mapping::new(&fd, libc::PACKET_RX_RING, &layout::request(slots)?)?;
        let protocol = match formats {
            RingFormats::Classic => layout::ETH_P_CAN,
            RingFormats::Fd => libc::ETH_P_CANFD,
            RingFormats::Both => libc::ETH_P_ALL,
        };
        socket::with_address(&fd, libc::bind, &super::address(interface, protocol)?)?;
        Ok(Self { mapping, next: 0, lost: 0, formats, ignores_outgoing, fd })
    }

    /// Opens a ring for measuring: all frames that arrive on an interface, or all that it sends, including those of
    /// can-gw and transmit rings, which no other socket receives unless the driver echoes.
    ///
    /// # Kernel
    /// As [`open`](Self::open). Each frame costs the copy into the ring.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn tap(interface: InterfaceIndex, direction: TapDirection, slots: usize) -> io::Result<Self> {
        let fd = super::open()?;
        socket::set_int(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        match direction {
            TapDirection::Incoming => socket::set_int(&fd, libc::SOL_PACKET, layout::PACKET_IGNORE_OUTGOING, 1)?,
            TapDirection::Outgoing => socket_filter::attach(&fd, &[&IF_OUTGOING[..], &[TAKE, PASS_OVER]].concat())?,
        }
        Self::bound(fd, interface, slots)
    }

    /// Opens a ring for the frames of some senders only. Each frame is in exactly one of two such rings. It is the same
    /// distinction as that of [`Heard::is_local`](crate::can::Heard), which a ring cannot give for each frame.
    ///
    /// # Kernel
    /// Linux 5.1. As [`open`](Self::open), and CAP_BPF (before Linux 5.8 CAP_SYS_ADMIN).
    ///
    /// # Errors
    /// As [`open`](Self::open); `ENOSYS` without eBPF.
    pub fn from_senders(interface: InterfaceIndex, senders: Senders, slots: usize) -> io::Result<Self> {
        let fd = super::open()?;
        socket::set_int(&fd, libc::SOL_PACKET, layout::PACKET_IGNORE_OUTGOING, 1)?;
        socket_filter::attach_by_sender(&fd, senders == Senders::ThisMachine)?;
        Self::bound(fd, interface, slots)
    }

    /// For all formats, with the filter of the socket.
    fn bound(fd: OwnedFd, interface: InterfaceIndex, slots: usize) -> io::Result<Self> {
        let mapping = Mapping::new(&fd, libc::PACKET_RX_RING, &layout::request(slots)?)?;
        socket::with_address(&fd, libc::bind, &super::address(interface, libc::ETH_P_ALL)?)?;
        Ok(Self { mapping, next: 0, lost: 0, formats: RingFormats::Both, ignores_outgoing: true, fd })
    }

    #[must_use]
    pub const fn formats(&self) -> RingFormats {
        self.formats
    }

    /// Returns the capacity in frames.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.mapping.slots()
    }

    /// Waits for a frame; false after the timeout.
    ///
    /// # Errors
    /// `Interrupted` if a signal came, `ENETDOWN` once when the interface goes down or away.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut entry = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN | libc::POLLERR, revents: 0 };
        ppoll(std::slice::from_mut(&mut entry), timeout)?;
        if entry.revents & libc::POLLERR != 0 {
            self.fault()?;
        }
        Ok(entry.revents & libc::POLLIN != 0)
    }

    /// Returns the pending error of the socket (`SO_ERROR`), once.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn fault(&self) -> io::Result<()> {
        match socket::get_int(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// True if the interface was unplugged or deleted; [`fault`](Self::fault) says only that it went down.
    ///
    /// # Errors
    /// Of `getsockname()`; none is known.
    pub fn is_detached(&self) -> io::Result<bool> {
        Ok(super::interface(&self.fd)?.is_none())
    }

    /// True if a frame is waiting.
    #[must_use]
    #[inline]
    pub fn has_frame(&self) -> bool {
        self.mapping.slot(self.next).status() & USER != 0
    }

    /// Passes the oldest frame to `take` and returns the slot to the kernel; false if there is none.
    pub fn receive(&mut self, take: impl FnMut(Received<'_>)) -> bool {
        self.receive_all(1, take) == 1
    }

    /// Passes waiting frames, oldest first and at most `most`, to `take`, and returns each slot to the kernel after its
    /// frame. Returns their number.
    #[inline(always)]
    pub fn receive_all(&mut self, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        let mut status = self.mapping.slot(self.next).status();
        for taken in 0..most {
            if status & USER == 0 {
                return taken;
            }
            let slot = self.mapping.slot(self.next);
            let after = self.mapping.after(self.next);
            let status_after = self.mapping.slot(after).status();
            let (at, bytes) = look(slot);
            take(Received { bytes, at, more: status_after & USER != 0 });
            slot.set_status(FREE);
            self.next = after;
            if status & LOSING != 0 {
                self.count_lost();
            }
            status = status_after;
        }
        most
    }

    /// Replaces the filter atomically.
    ///
    /// # Errors
    /// `EINVAL` for a filter that the kernel does not take.
    pub fn set_instructions(&self, instructions: &[Instruction]) -> io::Result<()> {
        replace_filter(&self.fd, instructions, self.ignores_outgoing)
    }

    /// Opens a ring for other formats, and closes this one to further frames. Waiting frames stay here, later ones go
    /// there; no frame is in both rings, and none in neither.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn hand_over(
        &self,
        interface: InterfaceIndex,
        formats: RingFormats,
        instructions: &[Instruction],
    ) -> io::Result<Self> {
        let common = if self.formats == RingFormats::Both { formats } else { self.formats };
        let before = self.waiting().filter(|frame| common.contains(frame)).count();
        let mut next = Self::open(interface, formats, instructions, self.slots())?;
        let known = self.waiting().filter(|frame| common.contains(frame)).count();
        // Bound to a protocol that no frame has. The call returns after frames in progress have been stored.
        socket::with_address(&self.fd, libc::bind, &super::address(interface, layout::ETH_P_NOBODY)?)?;
        let here: Vec<_> = self.waiting().filter(|frame| common.contains(frame)).collect();
        let there: Vec<_> = next.waiting().collect();
        // Frames that arrived meanwhile may be in both.
        let passed_over = overlap(&here, &there, here.len() - known..=here.len() - before, common);
        for _ in 0..passed_over {
            next.receive(|_is_in_the_other| {});
        }
        Ok(next)
    }

    /// The waiting frames, oldest first.
    fn waiting(&self) -> impl Iterator<Item = &[u8]> {
        let slots = std::iter::successors(Some(self.next), |slot| Some(self.mapping.after(*slot)));
        let slots = slots.take(self.slots()).map(|slot| self.mapping.slot(slot));
        slots.take_while(|slot| slot.status() & USER != 0).map(|slot| look(slot).1)
    }

    /// Known losses since the previous call of this or [`take_lost`](Self::take_lost), without a system call.
    pub fn known_lost(&mut self) -> u32 {
        std::mem::take(&mut self.lost)
    }

    /// Losses since the previous call because the ring was full.
    pub fn take_lost(&mut self) -> u32 {
        self.count_lost();
        std::mem::take(&mut self.lost)
    }

    /// Reading the statistics resets them.
    #[cold]
    fn count_lost(&mut self) {
        let statistics: io::Result<[u32; 2]> = socket::get_array(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS);
        if let Ok([_packets, drops]) = statistics {
            self.lost = self.lost.wrapping_add(drops);
        }
    }
}

impl AsFd for ReceiveRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Timestamp and bytes of a frame in a slot of ours.
#[inline]
fn look(slot: Slot<'_>) -> (RealtimeNs, &[u8]) {
    // SAFETY: the status says that the slot is ours, so the kernel writes nothing into it until the status is set back.
    // The header is aligned and inside the mapping, and consists of integers.
    let header = unsafe { slot.header().read() };
    let (mac, sec, nsec) = (header.tp_mac, header.tp_sec, header.tp_nsec);
    let at = RealtimeNs(i64::from(sec) * 1_000_000_000 + i64::from(nsec));
    /// One byte more than the largest frame, so that a larger packet is not mistaken for a frame.
    const MOST: usize = CANFD_MTU + 1;
    let (start, len) = (usize::from(mac), (header.tp_snaplen as usize).min(MOST));
    if start > SLOT_BYTES - MOST {
        return (at, &[]);
    }
    // SAFETY: start and length are inside the slot, which is ours until its status is set back, and that is done by
    // `receive_all` only, after its last use of the slice; no code in this process writes into it.
    (at, unsafe { std::slice::from_raw_parts(slot.at(start), len) })
}

/// Replaces the filter, including the rejection of outgoing packets if the kernel does not do it.
fn replace_filter(fd: &OwnedFd, instructions: &[Instruction], ignores_outgoing: bool) -> io::Result<()> {
    if ignores_outgoing {
        return socket_filter::replace(fd, instructions);
    }
    let rest = if instructions.is_empty() { &[TAKE] } else { instructions };
    socket_filter::replace(fd, &[&IF_OUTGOING, &[PASS_OVER][..], rest].concat())
}

/// Number of leading frames of the newer ring that are also at the end of the older one, or stand between such.
/// `possible` bounds the overlap of the formats that both receive.
fn overlap(older: &[&[u8]], newer: &[&[u8]], possible: std::ops::RangeInclusive<usize>, common: RingFormats) -> usize {
    let known: Vec<_> = (0..newer.len()).filter(|at| common.contains(newer[*at])).collect();
    let is_tail = |len: &usize| {
        let tail = &older[older.len() - len..];
        known.len() >= *len && known.iter().zip(tail).all(|(at, frame)| newer[*at] == *frame)
    };
    let len = possible.rev().find(is_tail).unwrap_or_default();
    len.checked_sub(1).map_or(0, |last| known[last] + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lower-case letters are classic frames.
    fn frames(letters: &str) -> Vec<Vec<u8>> {
        let len = |letter: char| if letter.is_lowercase() { CAN_MTU } else { CANFD_MTU };
        letters.chars().map(|letter| vec![letter as u8; len(letter)]).collect()
    }

    #[test]
    fn frames_in_two_rings_are_found() {
        for (older, newer, possible, common, passed_over) in [
            ("abc", "bcd", 0..=2, RingFormats::Classic, 2),
            ("abc", "BbXcDd", 0..=2, RingFormats::Classic, 4),
            ("abc", "defg", 0..=2, RingFormats::Classic, 0),
            ("", "a", 0..=0, RingFormats::Classic, 0),
            ("abc", "", 0..=1, RingFormats::Classic, 0),
            ("ABC", "cBCd", 1..=3, RingFormats::Fd, 3),
            // Equal frames: only the bounds decide.
            ("aaa", "aaaa", 0..=0, RingFormats::Classic, 0),
            ("aaa", "aaaa", 2..=2, RingFormats::Classic, 2),
        ] {
            let (older, newer) = (frames(older), frames(newer));
            let (older, newer): (Vec<_>, Vec<_>) =
                (older.iter().map(Vec::as_slice).collect(), newer.iter().map(Vec::as_slice).collect());
            assert_eq!(overlap(&older, &newer, possible, common), passed_over, "{older:?} {newer:?}");
        }
    }
}
