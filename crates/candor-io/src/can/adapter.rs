//! Frames with two stamps: when the kernel got them, and when the adapter had them on the wire.

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

/// A CAN_RAW socket that only receives: all data and remote frames of one interface, each with both stamps.
#[derive(Debug)]
pub struct AdapterReceiver {
    socket: CanSocket,
}

/// A frame, when the kernel got it, and when the adapter had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwiceStamped {
    /// Bytes of the frame in the buffer: 16 or 72.
    pub len: usize,
    /// The kernel's receive stamp. Of a frame that came before the kernel had begun to stamp, when it was read.
    pub kernel: RealtimeNs,
    /// The adapter's; `None` if its driver gave none.
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

    /// Waits until a frame or an error is there, at most so long; `false` if the time ran out.
    ///
    /// # Errors
    /// `Interrupted` if a signal came.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let mut entry = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        ppoll(std::slice::from_mut(&mut entry), Some(at_most))?;
        Ok(entry.revents != 0)
    }

    /// Takes the next frame; `None` if none is waiting.
    ///
    /// # Errors
    /// As [`CanSocket::read`].
    pub fn recv_waiting(&self, frame: &mut [u8; CANFD_MTU]) -> io::Result<Option<TwiceStamped>> {
        match self.socket.recv_with(frame, libc::MSG_DONTWAIT, parse) {
            Ok((len, Both { kernel, adapter })) => {
                // As the kernel itself does for SO_TIMESTAMPNS.
                let kernel = kernel.map_or_else(clock::realtime, Ok)?;
                Ok(Some(TwiceStamped { len, kernel, adapter }))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes room for waiting frames, as [`CanSocket::set_receive_buffer`] does.
    ///
    /// # Errors
    /// As there.
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        self.socket.set_receive_buffer(bytes)
    }

    /// How many frames this socket has lost so far, as [`CanSocket::dropped`] says it.
    ///
    /// # Errors
    /// As there.
    pub fn dropped(&self) -> io::Result<u32> {
        self.socket.dropped()
    }
}

/// The stamps in the control messages of one frame.
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
