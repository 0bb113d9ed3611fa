//! Transmit timestamps, from the error queue of the socket.

use std::io;
use std::os::fd::AsRawFd as _;

use super::CanSocket;
use super::ancillary::{ControlBuffer, messages, times};
use crate::clock::RealtimeNs;
use crate::socket;

/// Position of a frame in the transmit path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendStage {
    /// Before the qdisc (`SCM_TSTAMP_SCHED`).
    Queued,
    /// In the driver (`SCM_TSTAMP_SND`, software).
    HandedOver,
}

/// The time at which a frame left the driver or the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendStamp {
    /// Index of the frame since [`CanSocket::stamp_sending`], from 0, including frames that the qdisc refused. Wraps.
    pub number: u32,
    pub stage: SendStage,
    /// `CLOCK_REALTIME`, as in receive timestamps.
    pub at: RealtimeNs,
}

/// `SCM_CAN_RAW_ERRQUEUE` of `linux/can/raw.h`.
const SCM_CAN_RAW_ERRQUEUE: i32 = 1;
/// `SCM_TSTAMP_SND` and `SCM_TSTAMP_SCHED` of `linux/errqueue.h`.
const SCM_TSTAMP_SND: u32 = 0;
const SCM_TSTAMP_SCHED: u32 = 1;

impl CanSocket {
    /// Enables transmit timestamps for subsequent frames (`SO_TIMESTAMPING`), one before the qdisc and one in the
    /// driver. They wait until [read](Self::read_send_stamps), up to 1 KiB each, and are lost silently when the receive
    /// buffer is full.
    ///
    /// # Kernel
    /// Needs `MSG_ERRQUEUE` in `raw_recvmsg()`, as in Debian 12 (6.1) and later. A driver without `can_put_echo_skb()`
    /// or `skb_tx_timestamp()` gives no driver timestamp.
    pub fn stamp_sending(&self) -> io::Result<()> {
        let flags = libc::SOF_TIMESTAMPING_TX_SCHED
            | libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        socket::set_int(&self.fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())
    }

    /// Reads all waiting timestamps in order. Only for send-only sockets: kernels without an error queue for CAN_RAW
    /// would return a frame.
    ///
    /// # Errors
    /// Those of `recvmsg()`.
    pub fn read_send_stamps(&self, mut take: impl FnMut(SendStamp)) -> io::Result<()> {
        let mut control = ControlBuffer::new();
        loop {
            // SAFETY: msghdr consists of integers and raw pointers, for which all-zero bytes are valid values.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            control.attach_to(&mut message);
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            // SAFETY: `message` has no vectors and points to the live control buffer with its true length, to which nothing else
            // refers during the call; the descriptor is open as long as `self` is borrowed.
            let received = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, flags) };
            match socket::check_len(received) {
                Ok(_no_bytes) => parse(control.written(&message)).into_iter().for_each(&mut take),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The timestamp in an entry of the error queue; `None` for other entries.
fn parse(control: &[u8]) -> Option<SendStamp> {
    let (mut at, mut which) = (None, None);
    for (level, kind, value) in messages(control) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => at = times(value)[0].map(RealtimeNs),
            (libc::SOL_CAN_RAW, SCM_CAN_RAW_ERRQUEUE) => which = frame(value),
            _ => {}
        }
    }
    let (number, stage) = which?;
    Some(SendStamp { number, stage, at: at? })
}

/// Index and stage in a `struct sock_extended_err`: errno, origin, type, code, padding, info, data.
fn frame(value: &[u8]) -> Option<(u32, SendStage)> {
    let fields: &[u8; 16] = value.first_chunk()?;
    let word = |at: usize| fields[at..].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let is_stamp = word(0)? == libc::ENOMSG.cast_unsigned() && fields[4] == libc::SO_EE_ORIGIN_TIMESTAMPING;
    let stage = match word(8)? {
        SCM_TSTAMP_SND => SendStage::HandedOver,
        SCM_TSTAMP_SCHED => SendStage::Queued,
        _ => return None,
    };
    is_stamp.then_some((word(12)?, stage))
}

#[cfg(test)]
#[cfg(target_pointer_width = "64")]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, value: &[u8]) -> Vec<u8> {
        [&(16 + value.len()).to_ne_bytes()[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), value].concat()
    }

    fn times(seconds: [i64; 3]) -> Vec<u8> {
        let times: Vec<_> = seconds.iter().flat_map(|&seconds| [seconds, 5 * seconds]).map(i64::to_ne_bytes).collect();
        message(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &times.concat())
    }

    fn error(origin: u8, info: u32, number: u32) -> Vec<u8> {
        let fields =
            [&42_u32.to_ne_bytes()[..], &[origin, 0, 0, 0], &info.to_ne_bytes(), &number.to_ne_bytes()].concat();
        message(libc::SOL_CAN_RAW, SCM_CAN_RAW_ERRQUEUE, &fields)
    }

    #[test]
    fn stage_and_number_are_those_of_the_error() {
        let at = RealtimeNs(3_000_000_015);
        let queued = [times([3, 0, 0]), error(4, 1, 7)].concat();
        assert_eq!(parse(&queued), Some(SendStamp { number: 7, stage: SendStage::Queued, at }));
        let handed = [error(4, 0, u32::MAX), times([3, 0, 0])].concat();
        assert_eq!(parse(&handed), Some(SendStamp { number: u32::MAX, stage: SendStage::HandedOver, at }));
    }

    #[test]
    fn what_is_no_stamp_of_software_is_none() {
        assert_eq!(parse(&[times([0, 0, 3]), error(4, 0, 7)].concat()), None);
        assert_eq!(parse(&[times([3, 0, 0]), error(2, 0, 7)].concat()), None);
        // An acknowledgement, which CAN has none of.
        assert_eq!(parse(&[times([3, 0, 0]), error(4, 2, 7)].concat()), None);
        assert_eq!(parse(&times([3, 0, 0])), None);
        assert_eq!(parse(&error(4, 0, 7)), None);
    }

    #[test]
    fn no_end_of_the_bytes_and_no_byte_makes_it_fail() {
        let whole = [times([3, 0, 0]), error(4, 1, 7)].concat();
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None, "{end}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _any = parse(&bytes);
        }
    }
}
