//! Receiving whatever passes on a bus, for programs that show it.

use std::io;

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANXL_MTU};

use super::{CanSocket, InterfaceIndex, Options, Seen, Stamps, ancillary};
use crate::clock::{self, RealtimeNs};

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Bytes of the frame in the buffer: 16, 72, or for CAN XL 12 more than its payload.
    pub len: usize,
    pub at: RealtimeNs,
    /// A socket of this machine sent it.
    pub is_local: bool,
}

impl CanSocket {
    /// Opens a socket for all frames of an interface: of this machine and of others, error frames, and CAN XL frames of all
    /// virtual networks where the kernel has these.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_for_all(interface: InterfaceIndex) -> io::Result<Self> {
        let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
        let options = Options { filters: &[Filter::ALL, errors], stamps: Stamps::On, ..Options::default() };
        let socket = Self::open(interface, &options)?;
        // Linux before 6.1 has none.
        let _without_xl = socket.enable_xl();
        Ok(socket)
    }

    /// Receives the next frame of any format; `None` if none is waiting. A socket of [`open_for_all`](Self::open_for_all)
    /// returns the receive timestamp of the kernel, any other one the time of this call.
    ///
    /// # Kernel
    /// CAN_RAW marks frames of local sockets with `MSG_DONTROUTE`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn hear(&self, frame: &mut [u8; CANXL_MTU]) -> io::Result<Option<Heard>> {
        let parse = |control: &[u8], flags| (ancillary::parse(control), flags & libc::MSG_DONTROUTE != 0);
        match self.recv_with(frame, libc::MSG_DONTWAIT, parse) {
            Ok((len, (Seen { stamp, .. }, is_local))) => {
                Ok(Some(Heard { len, at: stamp.map_or_else(clock::realtime, Ok)?, is_local }))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
