//! Gateways that do nothing but the system calls of an engine: no rules, no counters, no queue that survives a moment.
//!
//! What candor's engines add to them is what candor costs. They forward every frame of one bus to one other, as it came. A
//! frame for which there is no room is dropped.

mod receive;
mod send;

use std::io;

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_io::can::{InterfaceIndex, Loopback};

use receive::Receive;
use send::Transmit;

/// From where to where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where they come in.
    pub from: InterfaceIndex,
    /// Where they leave.
    pub to: InterfaceIndex,
    /// Whether other sockets of this machine see what leaves.
    pub loopback: Loopback,
    /// Whether that is also what the driver does, which a transmit ring cannot change.
    pub ring_echoes_right: bool,
}

/// A loop with everything open. It forwards frames when it is called, and gives back what ended it.
pub type Loop = Box<dyn FnOnce() -> io::Error + Send>;

/// Frames that are taken before they are sent.
const AT_ONCE: usize = 64;

/// Opens what an engine of this name needs.
///
/// # Errors
/// What the kernel has against one of its sockets.
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

/// Takes frames that wait, and sends them.
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

/// A signal, or no room for a frame.
fn passes(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
        || error.raw_os_error() == Some(candor_io::errno::ENOBUFS)
}
