//! Frames, and sockets that send and receive one at a time.

use std::io;

use crate::prelude::*;

/// Longer than any frame takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn sender_on(interface: InterfaceIndex) -> CanSocket {
    CanSocket::open(interface, &Options { filters: &[], ..Options::default() }).unwrap()
}

/// A socket that receives every frame except its own.
pub(crate) fn listener_on(interface: InterfaceIndex) -> CanSocket {
    CanSocket::open(interface, &Options::default()).unwrap()
}

pub(crate) fn classic(id: u32, payload: &[u8]) -> Frame {
    Frame::classic(RawId(id), payload).unwrap()
}

/// A frame with a number as payload.
pub(crate) fn numbered(number: u32) -> Frame {
    classic(0x123, &number.to_be_bytes())
}

pub(crate) fn number_of(frame: &Frame) -> u32 {
    u32::from_be_bytes(*frame.data.first_chunk().unwrap())
}

pub(crate) fn bytes_of(frame: &Frame) -> Vec<u8> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    bytes[..len].to_vec()
}

#[track_caller]
pub(crate) fn send(socket: &CanSocket, frame: &Frame) {
    try_send(socket, frame).unwrap();
}

pub(crate) fn try_send(socket: &CanSocket, frame: &Frame) -> io::Result<()> {
    socket.write(&bytes_of(frame))
}

/// The next frame, or `None` after this time.
#[track_caller]
pub(crate) fn hear(socket: &CanSocket, patience: Duration) -> Option<Frame> {
    if can::poll(&[socket], Some(patience)).unwrap().is_empty() {
        return None;
    }
    let mut bytes = [0; CANFD_MTU];
    let len = socket.read(&mut bytes).unwrap();
    Some(Frame::from_kernel(&bytes[..len]).unwrap())
}

#[track_caller]
pub(crate) fn next_frame(socket: &CanSocket) -> Frame {
    hear(socket, PATIENCE).expect("a frame is missing")
}
