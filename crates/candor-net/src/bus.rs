//! The local end of a link: a CAN interface, or lines of text.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, InterfaceIndex, Loopback, Options, Stamps};
use candor_link::{Clock, Stamp};
use nix::net::if_::if_nametoindex;

/// Longest line of a frame: identifier, flags and 64 bytes in hex.
const MOST_LINE_BYTES: usize = 256;
/// Receive buffer of the socket in bytes, of which a frame takes about 760: thousands of frames of a short burst.
const BUFFER_BYTES: u32 = 4 << 20;

/// Where frames come from and go to.
#[derive(Debug)]
pub(crate) enum Bus {
    /// `None` while the interface is not there.
    Can { interface: String, socket: Option<CanSocket>, overflowed: u32 },
    /// Not the buffered input of the standard library, whose contents nothing can wait for.
    Lines { input: File, text: Vec<u8>, has_ended: bool },
}

#[derive(Debug, thiserror::Error)]
#[error("cannot open the CAN interface {interface}")]
pub(crate) struct BusError {
    interface: String,
    source: io::Error,
}

/// A frame of the bus.
pub(crate) struct OfBus {
    pub(crate) frame: Frame,
    pub(crate) stamp: Option<Stamp>,
}

impl Bus {
    /// # Errors
    /// If the interface cannot be opened now.
    pub(crate) fn can(interface: &str) -> Result<Self, BusError> {
        let named = |source| BusError { interface: interface.to_owned(), source };
        let socket = Some(open(interface).map_err(named)?);
        Ok(Self::Can { interface: interface.to_owned(), socket, overflowed: 0 })
    }

    /// Standard input and output.
    pub(crate) fn lines() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Self::Lines { input, text: Vec::new(), has_ended: false })
    }

    /// To wait for frames; `None` if there is nothing to wait for.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Can { socket, .. } => socket.as_ref().map(CanSocket::as_fd),
            Self::Lines { has_ended: true, .. } => None,
            Self::Lines { input, .. } => Some(input.as_fd()),
        }
    }

    /// Nothing comes any more.
    pub(crate) const fn has_ended(&self) -> bool {
        matches!(self, Self::Lines { has_ended: true, .. })
    }

    /// An interface that was away is opened again, if it is there.
    pub(crate) fn look(&mut self) {
        if let Self::Can { interface, socket: socket @ None, .. } = self {
            *socket = open(interface).ok();
        }
    }

    /// Reads the frames that wait, up to `most`. Returns how many were lost before, because the link did not read them in time.
    pub(crate) fn read(&mut self, most: usize, mut take: impl FnMut(OfBus)) -> u32 {
        match self {
            Self::Can { socket, overflowed, .. } => {
                let mut lost = 0;
                let mut bytes = [0; CANFD_MTU];
                for _ in 0..most {
                    let Some(open) = &*socket else { break };
                    match open.recv_waiting(&mut bytes) {
                        Ok(Some(stamped)) => {
                            lost += stamped.dropped.wrapping_sub(*overflowed);
                            *overflowed = stamped.dropped;
                            let ns = stamped.at.and_then(|at| u64::try_from(at.0).ok());
                            let stamp = ns.map(|ns| Stamp { ns, clock: Clock::Realtime });
                            if let Ok(frame) = Frame::from_kernel(&bytes[..stamped.len]) {
                                take(OfBus { frame, stamp });
                            }
                        }
                        Ok(None) => break,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        // It is down or gone; it may come back under its name.
                        Err(_) => (*socket, *overflowed) = (None, 0),
                    }
                }
                lost
            }
            Self::Lines { input, text, has_ended } => {
                let mut bytes = [0; 4096];
                match input.read(&mut bytes) {
                    Ok(0) => *has_ended = true,
                    Ok(len) => text.extend_from_slice(&bytes[..len]),
                    Err(error) => *has_ended = error.kind() != io::ErrorKind::Interrupted,
                }
                while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = text.drain(..=end).collect();
                    let line = String::from_utf8_lossy(&line);
                    match line.trim().parse() {
                        Ok(frame) => take(OfBus { frame, stamp: None }),
                        Err(why) => candor_cli::render::err(&format!("{}: {why}\n", line.trim().escape_debug())),
                    }
                }
                *has_ended |= text.len() > MOST_LINE_BYTES;
                0
            }
        }
    }

    /// Puts a frame on the bus, without waiting. False if it has no room, or is not there.
    pub(crate) fn write(&mut self, frame: &Frame) -> bool {
        match self {
            Self::Can { socket, .. } => {
                let mut bytes = [0; CANFD_MTU];
                let len = frame.to_kernel(&mut bytes);
                socket.as_ref().is_some_and(|socket| socket.send_now(&bytes[..len]).is_ok())
            }
            Self::Lines { .. } => {
                let mut output = io::stdout().lock();
                writeln!(output, "{frame}").and_then(|()| output.flush()).is_ok()
            }
        }
    }
}

fn open(interface: &str) -> io::Result<CanSocket> {
    let index = InterfaceIndex::new(if_nametoindex(interface)?).ok_or(io::ErrorKind::NotFound)?;
    // The other end of the pair receives what is sent; this end needs no copy.
    let options = Options { loopback: Loopback::Off, stamps: Stamps::On, ..Options::default() };
    let socket = CanSocket::open(index, &options)?;
    // Less than that is what an unprivileged program can have; then bursts are lost earlier, and counted.
    let _ = socket.set_receive_buffer(BUFFER_BYTES);
    Ok(socket)
}
