//! The broadcast manager (`CAN_BCM`): timed transmission, and reception with a least distance.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::mem::{offset_of, size_of};
use std::time::Duration;

use libc::{bcm_msg_head, c_long};

use candor_core::frame::{CAN_MTU, CANFD_MTU};

use super::InterfaceIndex;
use crate::socket;

/// A broadcast manager socket on one interface, for one frame at a time.
///
/// Other local sockets receive its frames, as with [`Loopback::On`](super::Loopback::On).
#[derive(Debug)]
pub struct TimedSender {
    socket: File,
}

impl TimedSender {
    /// Opens a socket on an interface.
    ///
    /// # Kernel
    /// Needs the module can-bcm (loaded on demand), no capability. FD frames since 4.8.
    ///
    /// # Errors
    /// `EAFNOSUPPORT` or `EPROTONOSUPPORT` if the kernel has no CAN or no broadcast manager, `ENODEV` if the interface is
    /// gone or no CAN device.
    pub fn open(interface: InterfaceIndex) -> io::Result<Self> {
        Ok(Self { socket: manager(interface)? })
    }

    /// Sends a classic frame now and at every multiple of this time, cut to µs, until the socket is closed.
    ///
    /// # Errors
    /// As [`send_now_and_later`](Self::send_now_and_later).
    pub fn send_every(&self, frame: &[u8; CAN_MTU], cycle: Duration) -> io::Result<()> {
        let flags = libc::SETTIMER | libc::STARTTIMER;
        let head = Head { opcode: libc::TX_SETUP, flags, count: 0, ival1: Duration::ZERO, ival2: cycle, frames: 1 };
        (&self.socket).write_all(&head.message(&[frame])?)
    }

    /// Sends `lead` at once and `frame` after this time, cut to µs, from a timer interrupt. Both have 16 or both 72
    /// bytes.
    ///
    /// The kernel cannot start the timer without sending a frame, hence `lead`. A pending frame of an earlier call is
    /// cancelled.
    ///
    /// # Source
    /// [`bcm_tx_setup()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/bcm.c#L1022): `STARTTIMER` implies `TX_ANNOUNCE`, which counts as one of the frames.
    ///
    /// # Errors
    /// `EINVAL` for invalid frames, `ENODEV` or `ENXIO` if the interface is gone. An interface that is down or full is
    /// not reported.
    pub fn send_now_and_later(&self, lead: &[u8], frame: &[u8], after: Duration) -> io::Result<()> {
        (&self.socket).write_all(&message(lead, frame, after)?)
    }
}

/// A broadcast manager socket that receives classic frames with one identifier when they change, at a least distance.
#[derive(Debug)]
pub struct ChangeReceiver {
    socket: File,
}

impl ChangeReceiver {
    /// Receives frames with the identifier of `mask` whose payload differs from that of the last one in the bits that are set
    /// there, at most one in this time: the last one that came in it.
    ///
    /// # Source
    /// [`bcm_rx_setup()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/bcm.c#L1022) and
    /// `bcm_rx_update_and_send()`.
    ///
    /// # Errors
    /// As [`TimedSender::open`].
    pub fn open(interface: InterfaceIndex, mask: &[u8; CAN_MTU], at_most_every: Duration) -> io::Result<Self> {
        let socket = manager(interface)?;
        let (flags, ival1, ival2) = (libc::SETTIMER, Duration::ZERO, at_most_every);
        let head = Head { opcode: libc::RX_SETUP, flags, count: 0, ival1, ival2, frames: 1 };
        (&socket).write_all(&head.message(&[mask])?)?;
        Ok(Self { socket })
    }

    /// Waits for the next frame.
    ///
    /// # Errors
    /// `Interrupted` if a signal came, `InvalidData` for another message than one with a frame.
    pub fn read(&self) -> io::Result<[u8; CAN_MTU]> {
        let mut message = [0; size_of::<bcm_msg_head>() + CAN_MTU];
        let len = (&self.socket).read(&mut message)?;
        let frame = message.last_chunk::<CAN_MTU>().filter(|_| len == message.len());
        frame.copied().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn manager(interface: InterfaceIndex) -> io::Result<File> {
    let fd = socket::open(libc::PF_CAN, libc::SOCK_DGRAM, libc::CAN_BCM)?;
    socket::with_address(&fd, libc::connect, &super::address(interface)?)?;
    Ok(File::from(fd))
}

/// Frames in the message, and transmissions: the timer fires once.
const FRAMES: u32 = 2;

/// `struct bcm_msg_head`. Times are cut to µs.
struct Head {
    opcode: u32,
    flags: u32,
    count: u32,
    ival1: Duration,
    ival2: Duration,
    frames: u32,
}

impl Head {
    /// The message with these frames; its identifier is that of the first one.
    fn message(&self, frames: &[&[u8]]) -> io::Result<Vec<u8>> {
        let id = frames.first().and_then(|frame| frame.first_chunk::<4>()).ok_or(io::ErrorKind::InvalidInput)?;
        let mut bytes = vec![0; size_of::<bcm_msg_head>()];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(offset_of!(bcm_msg_head, opcode), &self.opcode.to_ne_bytes());
        put(offset_of!(bcm_msg_head, flags), &self.flags.to_ne_bytes());
        put(offset_of!(bcm_msg_head, count), &self.count.to_ne_bytes());
        for (at, time) in [(offset_of!(bcm_msg_head, ival1), self.ival1), (offset_of!(bcm_msg_head, ival2), self.ival2)]
        {
            let seconds = c_long::try_from(time.as_secs()).map_err(io::Error::other)?;
            let micros = c_long::from(i32::try_from(time.subsec_micros()).map_err(io::Error::other)?);
            put(at, &seconds.to_ne_bytes());
            put(at + size_of::<c_long>(), &micros.to_ne_bytes());
        }
        put(offset_of!(bcm_msg_head, can_id), id);
        put(offset_of!(bcm_msg_head, nframes), &self.frames.to_ne_bytes());
        frames.iter().for_each(|frame| bytes.extend_from_slice(frame));
        Ok(bytes)
    }
}

/// `TX_SETUP` for two frames: one sent with the call, one by the timer.
fn message(lead: &[u8], frame: &[u8], after: Duration) -> io::Result<Vec<u8>> {
    if lead.len() != frame.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let fd = if frame.len() == CANFD_MTU { libc::CAN_FD_FRAME } else { 0 };
    let flags = libc::SETTIMER | libc::STARTTIMER | libc::TX_RESET_MULTI_IDX | fd;
    let (ival1, ival2) = (after, Duration::ZERO);
    Head { opcode: libc::TX_SETUP, flags, count: FRAMES, ival1, ival2, frames: FRAMES }.message(&[lead, frame])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a C program on x86-64 wrote it for two frames with the number 0x123.
    #[test]
    #[cfg(all(target_pointer_width = "64", target_endian = "little"))]
    fn the_message_is_that_of_the_kernels_header() {
        let frame = |data: u8| [0x23, 1, 0, 0, 1, 0, 0, 0, data, 0, 0, 0, 0, 0, 0, 0];
        let message = message(&frame(0xAA), &frame(0xBB), Duration::from_micros(2_000_750)).unwrap();
        let mut head = [0_u8; 56];
        head[0] = 1;
        // SETTIMER | STARTTIMER | TX_RESET_MULTI_IDX.
        head[4..6].copy_from_slice(&[0x03, 0x02]);
        head[8] = 2;
        head[16] = 2;
        head[24..26].copy_from_slice(&750_u16.to_le_bytes());
        head[48..50].copy_from_slice(&[0x23, 1]);
        head[52] = 2;
        assert_eq!(message, [&head[..], &frame(0xAA), &frame(0xBB)].concat());
    }

    #[test]
    fn two_kinds_of_frames_make_no_message() {
        assert!(message(&[0; 16], &[0; 72], Duration::ZERO).is_err());
        assert!(message(&[], &[], Duration::ZERO).is_err());
        let fd = message(&[0; 72], &[0; 72], Duration::ZERO).unwrap();
        assert_eq!(fd[4..8], 0x0A03_u32.to_ne_bytes());
    }
}
