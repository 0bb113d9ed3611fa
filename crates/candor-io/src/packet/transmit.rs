//! Sending through a ring.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use candor_core::frame::{CAN_MTU, CANFD_MTU};

use super::layout::{self, FREE, SEND_OFFSET, SEND_REQUEST, SLOT_BYTES, WRONG_FORMAT};
use super::mapping::Mapping;
use crate::can::InterfaceIndex;
use crate::socket;

/// A PF_PACKET socket that sends through a ring. Controllers echo its frames to local sockets, those of this process
/// too, whatever CAN_RAW sockets ask for; plain vcan does not.
#[derive(Debug)]
pub struct TransmitRing {
    mapping: Mapping,
    interface: InterfaceIndex,
    /// The next slot that the kernel sends from.
    next: usize,
    fd: OwnedFd,
}

/// What became of frames that were handed over.
#[derive(Debug)]
pub struct Batch {
    /// So many of the first ones are in the queue of the interface.
    pub taken: usize,
    /// Why the next one is not; `None` if all were taken.
    pub refused: Option<io::Error>,
}

/// What came into a ring of frames that follow each other.
#[derive(Clone, Copy, Debug)]
struct Put {
    count: usize,
    /// Whether there was no room for a further one.
    is_full: bool,
}

impl TransmitRing {
    /// Opens a ring on an interface for at least so many frames, each of which bears the mark (`SO_MARK`).
    ///
    /// # Kernel
    /// Needs CAP_NET_RAW, and for a mark before 5.17 CAP_NET_ADMIN.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENOMEM`.
    pub fn open(interface: InterfaceIndex, slots: usize, mark: Option<u32>) -> io::Result<Self> {
        // Never bound, so it hears nothing and each call can say which protocol its frames have.
        let fd = super::open()?;
        if let Some(mark) = mark {
            socket::set_slice(&fd, libc::SOL_SOCKET, libc::SO_MARK, &[mark])?;
        }
        let mapping = Mapping::new(&fd, libc::PACKET_TX_RING, &layout::request(slots)?)?;
        Ok(Self { mapping, interface, next: 0, fd })
    }

    /// Hands frames of 16 or 72 bytes to the interface, in their order, without waiting for room.
    ///
    /// What was not taken leaves no trace in the ring. Errors: `ENOBUFS` if the interface's queue is full, `EAGAIN` if
    /// the socket's share of waiting frames is used up or the ring is full of frames that wait for the bus, `ENETDOWN`,
    /// `ENXIO` or `ENODEV` as with CAN_RAW, `EMSGSIZE` if a frame does not fit the MTU, `EINVAL` for another length.
    pub fn send<'a>(&mut self, frames: impl IntoIterator<Item = &'a [u8]>) -> Batch {
        let mut frames = frames.into_iter();
        let mut next = frames.next();
        let mut taken = 0;
        // The kernel takes frames of one protocol with each call.
        while let Some(first) = next {
            let start = self.next;
            let (protocol, put) = match first.len() {
                CAN_MTU => (layout::ETH_P_CAN, self.put_all::<CAN_MTU>(&mut next, &mut frames)),
                CANFD_MTU => (libc::ETH_P_CANFD, self.put_all::<CANFD_MTU>(&mut next, &mut frames)),
                _ => return Batch { taken, refused: Some(io::ErrorKind::InvalidInput.into()) },
            };
            let outcome = if put.count == 0 { Ok(()) } else { self.push(protocol) };
            let sent = self.settle(start, put.count);
            taken += sent;
            if sent < put.count || put.is_full {
                // The kernel says nothing of the frames that had no room behind those that had.
                let refused = outcome.err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN));
                return Batch { taken, refused: Some(refused) };
            }
        }
        Batch { taken, refused: None }
    }

    /// Puts frames of one length into the ring, as many as follow each other and as there is room for.
    #[inline]
    fn put_all<'a, const LEN: usize>(
        &mut self,
        next: &mut Option<&'a [u8]>,
        frames: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Put {
        const { assert!(SEND_OFFSET + LEN <= SLOT_BYTES && LEN <= u32::MAX as usize) };
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        let len = LEN as u32;
        let mut count = 0;
        // An array, because a copy of a size that is known needs no call.
        while let Some(frame) = next.and_then(|frame| <&[u8; LEN]>::try_from(frame).ok()) {
            let slot = self.mapping.slot(self.next);
            if slot.status() != FREE {
                return Put { count, is_full: true };
            }
            // SAFETY: the slot's status is free, so the kernel does not look at the rest of it until the status is set below.
            // The header is inside the slot and aligned, and `self` is borrowed exclusively.
            unsafe { (*slot.header()).tp_len = len };
            let place = slot.at(SEND_OFFSET).cast::<[u8; LEN]>();
            // SAFETY: as above; the payload (32 bytes behind the start, as long as asserted) is inside the slot, and an array
            // of bytes has no alignment.
            unsafe { place.write(*frame) };
            slot.set_status(SEND_REQUEST);
            self.next = self.mapping.after(self.next);
            count += 1;
            *next = frames.next();
        }
        Put { count, is_full: false }
    }

    /// Has the kernel send what is in the ring.
    fn push(&self, protocol: libc::c_int) -> io::Result<()> {
        let address = super::address(self.interface, protocol)?;
        let (len, flags) = (socket::socklen::<libc::sockaddr_ll>(), libc::MSG_DONTWAIT);
        let to = (&raw const address).cast();
        // SAFETY: no bytes are given (null, 0), because they are in the ring; the address is live and as long as said.
        let sent = unsafe { libc::sendto(self.fd.as_raw_fd(), std::ptr::null(), 0, flags, to, len) };
        socket::check_len(sent).map(drop)
    }

    /// Counts the frames that the kernel took, and takes those back that it did not.
    fn settle(&mut self, start: usize, put: usize) -> usize {
        let is_taken = |slot| {
            let status = self.mapping.slot(slot).status();
            status != SEND_REQUEST && status & WRONG_FORMAT == 0
        };
        // The kernel takes them in their order and stops at the first that it does not take: who sees that it has the last
        // one needs no look at the others.
        if put > 0 && is_taken(self.mapping.before(self.next)) {
            return put;
        }
        let mut slot = start;
        let mut taken = 0;
        while taken < put && is_taken(slot) {
            slot = self.mapping.after(slot);
            taken += 1;
        }
        // The kernel stands at the first that it did not take, and so does this process now.
        self.next = slot;
        for _ in taken..put {
            self.mapping.slot(slot).set_status(FREE);
            slot = self.mapping.after(slot);
        }
        taken
    }
}
