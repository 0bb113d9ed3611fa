//! Where frames come from and go to.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, InterfaceIndex, Options, Stamps, poll};
use nix::net::if_::if_nametoindex;

/// Frames that are read before their sinks get a chance.
const MOST: usize = 256;
/// Receive buffer of the socket in bytes, of which a frame takes about 800.
const BUFFER_BYTES: u32 = 4 << 20;

/// A bus. One thread reads, any thread writes.
pub trait Bus: Send + Sync {
    /// Waits for frames, and passes those that wait, with their stamps in nanoseconds since 1970 or 0. Returns how many were
    /// lost before, because they were read too late.
    fn read(&self, timeout: Duration, take: &mut dyn FnMut(Frame, u64)) -> u64;

    /// Sends a frame without waiting. False if the bus has no room, or is not there.
    fn write(&self, frame: &Frame) -> bool;
}

/// A bus under its name.
#[derive(Clone)]
pub struct NamedBus {
    /// Name in the file.
    pub name: String,
    /// The bus.
    pub bus: Arc<dyn Bus>,
}

impl fmt::Debug for NamedBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedBus").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A CAN interface. It may go away and come back under its name. It does not receive what it sends.
#[derive(Debug)]
pub struct Interface {
    name: String,
    open: Mutex<Option<Open>>,
}

#[derive(Clone, Debug)]
struct Open {
    socket: Arc<CanSocket>,
    overflowed: u32,
}

impl Interface {
    /// # Errors
    /// If the interface cannot be opened now.
    pub fn new(name: &str) -> io::Result<Self> {
        Ok(Self { name: name.to_owned(), open: Mutex::new(Some(open(name)?)) })
    }

    fn set(&self, now: Option<Open>) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    fn current(&self) -> Option<Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Bus for Interface {
    fn read(&self, timeout: Duration, take: &mut dyn FnMut(Frame, u64)) -> u64 {
        let Some(Open { socket, mut overflowed }) = self.current() else {
            std::thread::sleep(timeout);
            self.set(open(&self.name).ok());
            return 0;
        };
        if !poll(&[&socket], Some(timeout)).is_ok_and(|ready| !ready.is_empty()) {
            return 0;
        }
        let (mut lost, mut bytes) = (0, [0; CANFD_MTU]);
        for _ in 0..MOST {
            match socket.recv_waiting(&mut bytes) {
                Ok(Some(stamped)) => {
                    lost += u64::from(stamped.dropped.wrapping_sub(overflowed));
                    overflowed = stamped.dropped;
                    if let Ok(frame) = Frame::from_kernel(&bytes[..stamped.len]) {
                        take(frame, stamped.at.and_then(|at| u64::try_from(at.0).ok()).unwrap_or(0));
                    }
                }
                Ok(None) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_down_or_gone) => {
                    self.set(None);
                    return lost;
                }
            }
        }
        self.set(Some(Open { socket, overflowed }));
        lost
    }

    fn write(&self, frame: &Frame) -> bool {
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        self.current().is_some_and(|open| open.socket.send_now(&bytes[..len]).is_ok())
    }
}

fn open(interface: &str) -> io::Result<Open> {
    let index = InterfaceIndex::new(if_nametoindex(interface)?).ok_or(io::ErrorKind::NotFound)?;
    let socket = CanSocket::open(index, &Options { stamps: Stamps::On, ..Options::default() })?;
    // Less than that is what an unprivileged program can have; then bursts are lost earlier, and counted.
    let _ = socket.set_receive_buffer(BUFFER_BYTES);
    Ok(Open { socket: Arc::new(socket), overflowed: 0 })
}
