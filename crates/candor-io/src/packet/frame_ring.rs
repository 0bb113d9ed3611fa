//! Transmit rings for frames of one length.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::layout::{self, FREE, SEND_OFFSET, SEND_REQUEST, SLOT_BYTES, VIRTIO_HEADER_BYTES, WRONG_FORMAT};
use super::mapping::Mapping;
use crate::can::InterfaceIndex;
use crate::socket;

/// A socket and its transmit ring, for frames of `LEN` bytes.
#[derive(Debug)]
pub(super) struct FrameRing<const LEN: usize> {
    mapping: Mapping,
    address: libc::sockaddr_ll,
    /// The next slot that the kernel reads.
    next: usize,
    /// Offset of the frame in its slot.
    place: usize,
    fd: OwnedFd,
}

/// Construction of the packet from a ring slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    /// The packet refers to the ring. CAN drivers cannot send from there, so it is copied once more before the driver.
    /// The MTU is checked.
    Referring,
    /// The packet is a copy (`PACKET_VNET_HDR`). Saves 40 instructions, but **the MTU is not checked**, and drivers
    /// rely on it: only for frames that fit every CAN interface.
    Copied,
}

/// Consecutive frames written to the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put {
    pub(super) count: usize,
    /// The ring was full before the next frame.
    pub(super) is_full: bool,
    /// Slot of the first frame.
    start: usize,
}

impl<const LEN: usize> FrameRing<LEN> {
    /// Opens a ring with at least this many slots.
    pub(super) fn open(
        (interface, protocol): (InterfaceIndex, libc::c_int),
        slots: usize,
        mark: Option<u32>,
        packet: Packet,
    ) -> io::Result<Self> {
        const { assert!(SEND_OFFSET + VIRTIO_HEADER_BYTES + LEN <= SLOT_BYTES && LEN + VIRTIO_HEADER_BYTES <= 0xFFFF) };
        // Not bound, so it receives nothing.
        let fd = super::open()?;
        if let Some(mark) = mark {
            socket::set_slice(&fd, libc::SOL_SOCKET, libc::SO_MARK, &[mark])?;
        }
        let lead = match packet {
            Packet::Referring => 0,
            Packet::Copied => {
                socket::set_int(&fd, libc::SOL_PACKET, layout::PACKET_VNET_HDR, 1)?;
                VIRTIO_HEADER_BYTES
            }
        };
        let mapping = Mapping::new(&fd, libc::PACKET_TX_RING, &layout::request(slots)?)?;
        let address = super::address(interface, protocol)?;
        let frame_ring = Self { mapping, address, next: 0, place: SEND_OFFSET + lead, fd };
        (0..frame_ring.mapping.slots()).for_each(|slot| frame_ring.prepare(slot, packet));
        Ok(frame_ring)
    }

    /// Writes the fields that are the same for every frame; the kernel does not change them.
    fn prepare(&self, slot: usize, packet: Packet) {
        #[expect(clippy::cast_possible_truncation, reason = "open() asserts that the numbers fit into 16 bits")]
        let (len, whole) = (LEN as u16, (self.place - SEND_OFFSET + LEN) as u32);
        let slot = self.mapping.slot(slot);
        // SAFETY: the ring is new, so every slot is free and the kernel does not look at the rest of it. The header is inside
        // the slot and aligned.
        unsafe { (*slot.header()).tp_len = whole };
        if packet == Packet::Copied {
            // All zero but for how much is copied: nothing is left to be segmented or summed up.
            let mut header = [0; VIRTIO_HEADER_BYTES];
            header[layout::VIRTIO_COPIED].copy_from_slice(&len.to_ne_bytes());
            let place = slot.at(SEND_OFFSET).cast::<[u8; VIRTIO_HEADER_BYTES]>();
            // SAFETY: as above; the header ends in front of the payload, which ends inside the slot as open() asserts, and an
            // array of bytes has no alignment.
            unsafe { place.write(header) };
        }
    }

    /// Writes frames to the ring, as far as they have this length and there is room.
    #[inline]
    pub(super) fn put_all<'a>(
        &mut self,
        next: &mut Option<&'a [u8]>,
        frames: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Put {
        let start = self.next;
        let mut count = 0;
        // An array, because a copy of a size that is known needs no call.
        while let Some(frame) = next.and_then(|frame| <&[u8; LEN]>::try_from(frame).ok()) {
            let slot = self.mapping.slot(self.next);
            if slot.status() != FREE {
                return Put { count, is_full: true, start };
            }
            let place = slot.at(self.place).cast::<[u8; LEN]>();
            // SAFETY: the slot's status is free, so the kernel does not look at the rest of it until the status is set below,
            // and `self` is borrowed exclusively. The payload is inside the slot, as open() asserts of the larger of the two
            // places that `place` is one of, and an array of bytes has no alignment.
            unsafe { place.write(*frame) };
            slot.set_status(SEND_REQUEST);
            self.next = self.mapping.after(self.next);
            count += 1;
            *next = frames.next();
        }
        Put { count, is_full: false, start }
    }

    /// Makes the kernel send the ring; returns how many frames it accepted, and its answer.
    pub(super) fn send(&mut self, put: Put) -> (usize, io::Result<()>) {
        let outcome = if put.count == 0 { Ok(()) } else { self.push() };
        (self.settle(put), outcome)
    }

    fn push(&self) -> io::Result<()> {
        let (len, flags) = (socket::socklen::<libc::sockaddr_ll>(), libc::MSG_DONTWAIT);
        let to = (&raw const self.address).cast();
        // SAFETY: no bytes are given (null, 0), because they are in the ring; the address is live and as long as said.
        let sent = unsafe { libc::sendto(self.fd.as_raw_fd(), std::ptr::null(), 0, flags, to, len) };
        socket::check_len(sent).map(drop)
    }

    /// Counts the accepted frames, and takes the others back.
    fn settle(&mut self, Put { count, start, .. }: Put) -> usize {
        let is_taken = |slot| {
            let status = self.mapping.slot(slot).status();
            status != SEND_REQUEST && status & WRONG_FORMAT == 0
        };
        // The kernel processes them in order and stops at the first refusal: if the last one was accepted, all were.
        if count > 0 && is_taken(self.mapping.before(self.next)) {
            return count;
        }
        let mut slot = start;
        let mut taken = 0;
        while taken < count && is_taken(slot) {
            slot = self.mapping.after(slot);
            taken += 1;
        }
        // The kernel stopped at the first refused frame, where this process continues.
        self.next = slot;
        for _ in taken..count {
            self.mapping.slot(slot).set_status(FREE);
            slot = self.mapping.after(slot);
        }
        taken
    }
}
