//! Reception with two timestamps: of the kernel and of the adapter.

use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use candor_core::filter::Filter;
use candor_core::frame::CANFD_MTU;

use super::ancillary::{messages, times};
use super::{CanSocket, InterfaceIndex, Loopback, Options, Stamps};
use crate::clock::{self, AdapterNs, RealtimeNs};
use crate::poll::ppoll;
use crate::socket;

/// A receive-only CAN_RAW socket for all data and remote frames of an interface.
#[derive(Debug)]
pub struct AdapterReceiver {
    socket: CanSocket,
}

/// A frame with both timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwiceStamped {
    /// Bytes of the frame in the buffer: 16 or 72.
    pub len: usize,
    /// Kernel receive timestamp; for a frame that arrived before timestamping was enabled, the time of the call.
    pub kernel: RealtimeNs,
    /// Adapter timestamp; `None` if the driver gave none.
    pub adapter: Option<AdapterNs>,
}

impl AdapterReceiver {
    /// Opens a socket on an interface.
    ///
    /// # Kernel
    /// As [`CanSocket::open`]. Drivers of CAN adapters that can stamp always do ([`stamps_receptions`](super::stamps_receptions)), so
    /// nothing is asked of the interface (`SO_TIMESTAMPING` without `SIOCSHWTSTAMP`).
    ///
    /// # Errors
    /// As [`CanSocket::open`].
    pub fn open(interface: InterfaceIndex) -> io::Result<Self> {
        let fd = socket::open(libc::PF_CAN, libc::SOCK_RAW, libc::CAN_RAW)?;
        Options { filters: &[Filter::ALL], loopback: Loopback::Off, stamps: Stamps::Off, ..Options::default() }
            .apply(&fd)?;
        let flags = libc::SOF_TIMESTAMPING_RX_HARDWARE
            | libc::SOF_TIMESTAMPING_RAW_HARDWARE
            | libc::SOF_TIMESTAMPING_RX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE;
        socket::set_int(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())?;
        Ok(Self { socket: CanSocket::bound(fd, interface, true)? })
    }

    /// Waits for a frame or an error; false after the timeout.
    ///
    /// # Errors
    /// `Interrupted` if a signal came.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let mut entry = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        ppoll(std::slice::from_mut(&mut entry), Some(at_most))?;
        Ok(entry.revents != 0)
    }

    /// Receives the next frame; `None` if none is waiting.
    ///
    /// # Errors
    /// As [`CanSocket::read`].
    pub fn recv_waiting(&self, frame: &mut [u8; CANFD_MTU]) -> io::Result<Option<TwiceStamped>> {
        match self.socket.recv_with(frame, libc::MSG_DONTWAIT, |control, _flags| parse(control)) {
            Ok((len, Both { kernel, adapter })) => {
                // As the kernel itself does for SO_TIMESTAMPNS.
                let kernel = kernel.map_or_else(clock::realtime, Ok)?;
                Ok(Some(TwiceStamped { len, kernel, adapter }))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the receive buffer, as [`CanSocket::set_receive_buffer`].
    ///
    /// # Errors
    /// As for the method of [`CanSocket`].
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        self.socket.set_receive_buffer(bytes)
    }

    /// Number of lost frames, as [`CanSocket::dropped`].
    ///
    /// # Errors
    /// As there.
    pub fn dropped(&self) -> io::Result<u32> {
        self.socket.dropped()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Both {
    kernel: Option<RealtimeNs>,
    adapter: Option<AdapterNs>,
}

fn parse(control: &[u8]) -> Both {
    let mut both = Both::default();
    for (level, kind, value) in messages(control) {
        if (level, kind) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
            let [software, _legacy, hardware] = times(value);
            both = Both { kernel: software.map(RealtimeNs), adapter: hardware.map(AdapterNs) };
        }
    }
    both
}

#[cfg(test)]
#[cfg(target_pointer_width = "64")]
mod tests {
    use super::*;

    fn message(kind: i32, value: &[u8]) -> Vec<u8> {
        let header = [&(16 + value.len()).to_ne_bytes()[..], &libc::SOL_SOCKET.to_ne_bytes(), &kind.to_ne_bytes()];
        [&header.concat(), value].concat()
    }

    fn stamps(seconds: [i64; 3]) -> Vec<u8> {
        let times: Vec<_> = seconds.iter().flat_map(|&seconds| [seconds, 5 * seconds]).map(i64::to_ne_bytes).collect();
        message(libc::SO_TIMESTAMPING, &times.concat())
    }

    #[test]
    fn software_is_first_and_hardware_last() {
        let both = parse(&[message(libc::SO_RXQ_OVFL, &[0; 8]), stamps([3, 4, 7])].concat());
        let (kernel, adapter) = (RealtimeNs(3_000_000_015), AdapterNs(7_000_000_035));
        assert_eq!(both, Both { kernel: Some(kernel), adapter: Some(adapter) });
        assert_eq!(parse(&stamps([3, 4, 0])), Both { kernel: Some(kernel), adapter: None });
        assert_eq!(parse(&stamps([0, 0, 7])), Both { kernel: None, adapter: Some(adapter) });
    }

    #[test]
    fn other_messages_have_no_stamp() {
        assert_eq!(parse(&[]), Both::default());
        assert_eq!(parse(&message(libc::SO_TIMESTAMPNS, &[1; 16])), Both::default());
        assert_eq!(parse(&message(libc::SO_TIMESTAMPING, &[1; 47])), Both::default());
        // A time beyond what 64 bits of nanoseconds hold.
        assert_eq!(parse(&message(libc::SO_TIMESTAMPING, &[0x7f; 48])), Both::default());
    }

    #[test]
    fn no_end_of_the_bytes_and_no_byte_makes_it_fail() {
        let whole = stamps([3, 0, 7]);
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), Both::default(), "{end}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _any = parse(&bytes);
        }
    }
}
