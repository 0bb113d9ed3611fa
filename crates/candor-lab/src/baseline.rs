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
    /// Delivery of sent frames to other sockets on this machine.
    pub loopback: Loopback,
    /// True if that matches the echo of the driver, which a transmit ring cannot change.
    pub ring_echoes_right: bool,
}

/// A loop with all sockets open. It runs until an error, which it returns.
pub type Loop = Box<dyn FnOnce() -> io::Error + Send>;

/// Most frames received before they are sent.
const AT_ONCE: usize = 64;

/// Opens the sockets and rings of an engine.
pub fn open(engine: UserEngine, way: Way) -> io::Result<Loop> {
    match engine.receiver() {
        Receiver::Read => with_receiver::<receive::Read>(engine, way),
        Receiver::ReadNb => with_receiver::<receive::NonBlocking>(engine, way),
        Receiver::ReadBusy => with_receiver::<receive::BusyPoll>(engine, way),
        Receiver::Mmap => with_receiver::<receive::Ring<false>>(engine, way),
        Receiver::MmapBusy => with_receiver::<receive::Ring<true>>(engine, way),
        Receiver::Mmsg => with_receiver::<receive::Mmsg>(engine, way),
        Receiver::Uring => with_receiver::<receive::Uring>(engine, way),
    }
}

fn with_receiver<R: Receive>(engine: UserEngine, way: Way) -> io::Result<Loop> {
    let receiver = R::open(way)?;
    match engine.sender() {
        Sender::Write => with_both::<R, send::Write>(receiver, way),
        Sender::Mmap => with_both::<R, send::Ring>(receiver, way),
        Sender::Mmsg => with_both::<R, send::Mmsg>(receiver, way),
        Sender::Adaptive => with_both::<R, send::Adaptive>(receiver, way),
        Sender::Uring => with_both::<R, send::Uring>(receiver, way),
    }
}

fn with_both<R: Receive, S: Transmit>(mut receiver: R, way: Way) -> io::Result<Loop> {
    let mut sender = S::open(way)?;
    Ok(Box::new(move || {
        loop {
            if let Err(error) = forward(&mut receiver, &mut sender)
                && !is_temporary(&error)
            {
                return error;
            }
        }
    }))
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
fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
        || error.raw_os_error() == Some(candor_io::errno::ENOBUFS)
}
