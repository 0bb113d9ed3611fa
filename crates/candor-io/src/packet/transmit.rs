//! Transmit rings.

use std::io;

use candor_core::frame::{CAN_MTU, CANFD_MTU};

use super::frame_ring::{FrameRing, Packet};
use super::layout;
use crate::can::InterfaceIndex;

/// Packet sockets with transmit rings. Controllers echo the frames to local sockets, including those of this process,
/// regardless of socket options; vcan does not.
///
/// Each format has its own ring: classic frames use the shorter path without an MTU check, because they fit every
/// interface. Frames are sent in order across both.
#[derive(Debug)]
pub struct TransmitRing {
    classic: FrameRing<CAN_MTU>,
    fd: FrameRing<CANFD_MTU>,
}

#[derive(Debug)]
pub struct Batch {
    /// Number of frames in the transmit queue, from the first on.
    pub taken: usize,
    /// Error of the next frame; `None` if all were accepted.
    pub refused: Option<io::Error>,
}

impl TransmitRing {
    /// Opens rings on an interface, each with at least this many slots. Frames carry the mark (`SO_MARK`).
    ///
    /// # Kernel
    /// Needs CAP_NET_RAW, and for a mark before 5.17 CAP_NET_ADMIN.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENOMEM`.
    pub fn open(interface: InterfaceIndex, slots: usize, mark: Option<u32>) -> io::Result<Self> {
        Ok(Self {
            classic: FrameRing::open((interface, layout::ETH_P_CAN), slots, mark, Packet::Copied)?,
            // Drivers of classic controllers would access memory beyond their frame if the MTU were not checked.
            fd: FrameRing::open((interface, libc::ETH_P_CANFD), slots, mark, Packet::Referring)?,
        })
    }

    /// Sends frames of 16 or 72 bytes in order, without blocking.
    ///
    /// Refused frames are removed from the ring. Errors: `ENOBUFS` if the transmit queue is full, `EAGAIN` if the send
    /// buffer or the ring is full, `ENETDOWN`, `ENXIO` or `ENODEV` as with CAN_RAW, `EMSGSIZE` if a frame exceeds the
    /// MTU, `EINVAL` for another length.
    pub fn send<'a>(&mut self, frames: impl IntoIterator<Item = &'a [u8]>) -> Batch {
        let mut frames = frames.into_iter();
        let mut next = frames.next();
        let mut taken = 0;
        // Each call sends frames of one protocol.
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
                // The kernel gives no error for frames that did not fit into the ring.
                let refused = outcome.err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN));
                return Batch { taken, refused: Some(refused) };
            }
        }
        Batch { taken, refused: None }
    }
}
