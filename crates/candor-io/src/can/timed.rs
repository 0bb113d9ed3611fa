//! Timed transmission by the broadcast manager (`CAN_BCM`).

use std::fs::File;
use std::io::{self, Write as _};
use std::mem::{offset_of, size_of};
use std::time::Duration;

use libc::{bcm_msg_head, c_long};

use candor_core::frame::CANFD_MTU;

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
        let fd = socket::open(libc::PF_CAN, libc::SOCK_DGRAM, libc::CAN_BCM)?;
        socket::with_address(&fd, libc::connect, &super::address(interface)?)?;
        Ok(Self { socket: File::from(fd) })
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

/// Frames in the message, and transmissions: the timer fires once.
const FRAMES: u32 = 2;

/// `TX_SETUP` for two frames: one sent with the call, one by the timer.
fn message(lead: &[u8], frame: &[u8], after: Duration) -> io::Result<Vec<u8>> {
    let id = lead.first_chunk::<4>().filter(|_id| lead.len() == frame.len()).ok_or(io::ErrorKind::InvalidInput)?;
    let fd = if frame.len() == CANFD_MTU { libc::CAN_FD_FRAME } else { 0 };
    let (when, start) = (libc::SETTIMER | libc::STARTTIMER, libc::TX_RESET_MULTI_IDX);
    let seconds = c_long::try_from(after.as_secs()).map_err(io::Error::other)?;
    let micros = c_long::from(i32::try_from(after.subsec_micros()).map_err(io::Error::other)?);
    let mut bytes = vec![0; size_of::<bcm_msg_head>()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(offset_of!(bcm_msg_head, opcode), &libc::TX_SETUP.to_ne_bytes());
    put(offset_of!(bcm_msg_head, flags), &(when | start | fd).to_ne_bytes());
    put(offset_of!(bcm_msg_head, count), &FRAMES.to_ne_bytes());
    put(offset_of!(bcm_msg_head, ival1), &seconds.to_ne_bytes());
    put(offset_of!(bcm_msg_head, ival1) + size_of::<c_long>(), &micros.to_ne_bytes());
    put(offset_of!(bcm_msg_head, can_id), id);
    put(offset_of!(bcm_msg_head, nframes), &FRAMES.to_ne_bytes());
    bytes.extend_from_slice(lead);
    bytes.extend_from_slice(frame);
    Ok(bytes)
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
