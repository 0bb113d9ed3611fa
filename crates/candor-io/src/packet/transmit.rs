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
        let mut frames = frames.into_iter().peekable();
        let mut taken = 0;
        // The kernel takes frames of one protocol with each call.
        while let Some(first) = frames.peek() {
            let len = first.len();
            let protocol = match len {
                CAN_MTU => layout::ETH_P_CAN,
                CANFD_MTU => libc::ETH_P_CANFD,
                _ => return Batch { taken, refused: Some(io::ErrorKind::InvalidInput.into()) },
            };
            let start = self.next;
            let mut put = 0;
            let mut is_full = false;
            while frames.peek().is_some_and(|frame| frame.len() == len) {
                is_full = self.mapping.status(self.next) != FREE;
                let Some(frame) = frames.next_if(|_| !is_full) else { break };
                self.put(frame);
                put += 1;
            }
            let outcome = if put == 0 { Ok(()) } else { self.push(protocol) };
            let sent = self.settle(start, put);
            taken += sent;
            if sent < put || is_full {
                // The kernel says nothing of the frames that had no room behind those that had.
                let refused = outcome.err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN));
                return Batch { taken, refused: Some(refused) };
            }
        }
        Batch { taken, refused: None }
    }

    /// Writes a frame into the next slot, which is free.
    fn put(&mut self, frame: &[u8]) {
        // Arrays, because copies of a size that is known need no call.
        if let Ok(frame) = <&[u8; CAN_MTU]>::try_from(frame) {
            self.put_array(frame);
        } else if let Ok(frame) = <&[u8; CANFD_MTU]>::try_from(frame) {
            self.put_array(frame);
        }
    }

    fn put_array<const LEN: usize>(&mut self, frame: &[u8; LEN]) {
        const { assert!(SEND_OFFSET + LEN <= SLOT_BYTES && LEN <= u32::MAX as usize) };
        let header = self.mapping.header(self.next);
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        let len = LEN as u32;
        // SAFETY: the slot's status is free, so the kernel does not look at the rest of it until the status is set below. The
        // header is inside the slot and aligned, and `self` is borrowed exclusively.
        unsafe { (*header).tp_len = len };
        let place = self.mapping.at(self.next, SEND_OFFSET).cast::<[u8; LEN]>();
        // SAFETY: as above; the payload (32 bytes behind the start, as long as asserted) is inside the slot, and an array of
        // bytes has no alignment.
        unsafe { place.write(*frame) };
        self.mapping.set_status(self.next, SEND_REQUEST);
        self.next = self.mapping.after(self.next);
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
            let status = self.mapping.status(slot);
            status != SEND_REQUEST && status & WRONG_FORMAT == 0
        };
        let mut slot = start;
        let mut taken = 0;
        while taken < put && is_taken(slot) {
            slot = self.mapping.after(slot);
            taken += 1;
        }
        // The kernel stands at the first that it did not take, and so does this process now.
        self.next = slot;
        for _ in taken..put {
            self.mapping.set_status(slot, FREE);
            slot = self.mapping.after(slot);
        }
        taken
    }
}
