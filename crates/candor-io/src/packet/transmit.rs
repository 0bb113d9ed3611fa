//! Sending through a ring.

use std::io;

use candor_core::frame::{CAN_MTU, CANFD_MTU};

use super::frame_ring::{FrameRing, Packet};
use super::layout;
use crate::can::InterfaceIndex;

/// PF_PACKET sockets that send through rings. Controllers echo their frames to local sockets, those of this process too,
/// whatever CAN_RAW sockets ask for; plain vcan does not.
///
/// Frames of each format have a ring of their own: those of CAN CC go the shorter way, which has no look at the MTU because
/// they fit every interface. Both are handed over in the order of the frames.
#[derive(Debug)]
pub struct TransmitRing {
    classic: FrameRing<CAN_MTU>,
    fd: FrameRing<CANFD_MTU>,
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
    /// Opens rings on an interface, each for at least so many frames. Each frame bears the mark (`SO_MARK`).
    ///
    /// # Kernel
    /// Needs CAP_NET_RAW, and for a mark before 5.17 CAP_NET_ADMIN.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENOMEM`.
    pub fn open(interface: InterfaceIndex, slots: usize, mark: Option<u32>) -> io::Result<Self> {
        Ok(Self {
            classic: FrameRing::open((interface, layout::ETH_P_CAN), slots, mark, Packet::Copied)?,
            // A driver of a classic controller would read and write beyond its frame, if nobody refused these.
            fd: FrameRing::open((interface, libc::ETH_P_CANFD), slots, mark, Packet::Referring)?,
        })
    }

    /// Hands frames of 16 or 72 bytes to the interface, in their order, without waiting for room.
    ///
    /// What was not taken leaves no trace in a ring. Errors: `ENOBUFS` if the interface's queue is full, `EAGAIN` if
    /// the socket's share of waiting frames is used up or the ring is full of frames that wait for the bus, `ENETDOWN`,
    /// `ENXIO` or `ENODEV` as with CAN_RAW, `EMSGSIZE` if a frame does not fit the MTU, `EINVAL` for another length.
    pub fn send<'a>(&mut self, frames: impl IntoIterator<Item = &'a [u8]>) -> Batch {
        let mut frames = frames.into_iter();
        let mut next = frames.next();
        let mut taken = 0;
        // The kernel takes frames of one protocol with each call.
        while let Some(first) = next {
            let (put, (sent, outcome)) = match first.len() {
                CAN_MTU => {
                    let put = self.classic.put_all(&mut next, &mut frames);
                    (put, self.classic.send(put))
                }
                CANFD_MTU => {
                    let put = self.fd.put_all(&mut next, &mut frames);
                    (put, self.fd.send(put))
                }
                _ => return Batch { taken, refused: Some(io::ErrorKind::InvalidInput.into()) },
            };
            taken += sent;
            if sent < put.count || put.is_full {
                // The kernel says nothing of the frames that had no room behind those that had.
                let refused = outcome.err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN));
                return Batch { taken, refused: Some(refused) };
            }
        }
        Batch { taken, refused: None }
    }
}
