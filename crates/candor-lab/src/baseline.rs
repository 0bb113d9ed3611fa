//! Baseline gateways: the system calls of an engine and nothing else. No rules, no counters, no persistent queue.
//!
//! The difference between an engine and its baseline is the cost of candor. A baseline forwards every frame of one bus
//! to another, unchanged; when there is no room, it drops the frame.

mod receive;
mod send;

use std::io;

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_io::can::{InterfaceIndex, Loopback};

use receive::Receive;
use send::Transmit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub from: InterfaceIndex,
    pub to: InterfaceIndex,
    /// Whether other sockets on this machine receive what is sent.
    pub loopback: Loopback,
    /// Whether that matches the echo of the driver, which a transmit ring cannot change.
    pub ring_echoes_right: bool,
}

/// A loop with all sockets open. It runs until an error, which it returns.
pub type Loop = Box<dyn FnOnce() -> io::Error + Send>;

/// Most frames received before they are sent.
const AT_ONCE: usize = 64;

/// Opens the sockets and rings of an engine.
pub fn open(engine: UserEngine, way: Way) -> io::Result<Loop> {
    match engine.receiver() {
        Receiver::Read => with_receiver(engine, way, receive::Read::open(way)?),
        Receiver::ReadNb => with_receiver(engine, way, receive::Spinning::open(way)?),
        Receiver::ReadBusy => with_receiver(engine, way, receive::Read::open_polled(way)?),
        Receiver::Mmap => with_receiver(engine, way, receive::Ring::<false>::open(way)?),
        Receiver::MmapBusy => with_receiver(engine, way, receive::Ring::<true>::open(way)?),
        Receiver::Mmsg => with_receiver(engine, way, receive::Mmsg::open(way)?),
        Receiver::Uring => with_receiver(engine, way, receive::Uring::open(way)?),
    }
}

fn with_receiver<R: Receive>(engine: UserEngine, way: Way, receiver: R) -> io::Result<Loop> {
    Ok(match engine.sender() {
        Sender::Write => ready(receiver, send::Write::open(way)?),
        Sender::Mmap => ready(receiver, send::Ring::open(way)?),
        Sender::Mmsg => ready(receiver, send::Mmsg::open(way)?),
        Sender::Adaptive => ready(receiver, send::Adaptive::open(way)?),
        Sender::Uring => ready(receiver, send::Uring::open(way)?),
    })
}

fn ready<R: Receive, S: Transmit>(mut receiver: R, mut sender: S) -> Loop {
    Box::new(move || {
        loop {
            if let Err(error) = forward(&mut receiver, &mut sender)
                && !passes(&error)
            {
                return error;
            }
        }
    })
}

fn forward(receiver: &mut impl Receive, sender: &mut impl Transmit) -> io::Result<()> {
    let mut outcome = Ok(());
    let received = receiver.receive(sender.collects(true), |frame, more| {
        if sender.holds() || sender.collects(more) {
            sender.keep(frame);
        } else if let Err(error) = sender.send(frame) {
            outcome = Err(error);
        }
    });
    let sent = if sender.holds() { sender.send_kept() } else { Ok(()) };
    received.and(outcome).and(sent)
}

/// Interrupted by a signal, or no room for a frame.
fn passes(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
        || error.raw_os_error() == Some(candor_io::errno::ENOBUFS)
}
