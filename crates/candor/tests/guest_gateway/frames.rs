//! Frames, and the sockets at which a test sits on a bus: one frame out, one frame in.

use std::io;
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_io::can::{self, CanSocket, InterfaceIndex, Options};

/// A socket that hears nothing.
pub(crate) fn sender_on(interface: InterfaceIndex) -> CanSocket {
    CanSocket::open(interface, &Options { filters: &[], ..Options::default() }).unwrap()
}

/// A socket that hears every frame but its own.
pub(crate) fn listener_on(interface: InterfaceIndex) -> CanSocket {
    CanSocket::open(interface, &Options::default()).unwrap()
}

pub(crate) fn classic(id: u32, payload: &[u8]) -> Frame {
    Frame::classic(RawId(id), payload).unwrap()
}

/// A frame that is told from others by its number.
pub(crate) fn numbered(number: u32) -> Frame {
    classic(0x123, &number.to_be_bytes())
}

pub(crate) fn number_of(frame: &Frame) -> u32 {
    u32::from_be_bytes(*frame.data.first_chunk().unwrap())
}

#[track_caller]
pub(crate) fn send(socket: &CanSocket, frame: &Frame) {
    try_send(socket, frame).unwrap();
}

pub(crate) fn try_send(socket: &CanSocket, frame: &Frame) -> io::Result<()> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    socket.write(&bytes[..len])
}

/// The next frame; `None` if none comes for so long.
#[track_caller]
pub(crate) fn hear(socket: &CanSocket, patience: Duration) -> Option<Frame> {
    if can::poll(&[socket], Some(patience)).unwrap().is_empty() {
        return None;
    }
    let mut bytes = [0; CANFD_MTU];
    let len = socket.read(&mut bytes).unwrap();
    Some(Frame::from_kernel(&bytes[..len]).unwrap())
}
