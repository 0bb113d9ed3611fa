//! The thread of one source bus: the whole data path.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::plan::BusIndex;
use candor_core::ruleset::Routed;
use candor_io::signal::{self, WakeUp};

use super::shared::{Port, Shared, is_gone};
use crate::error::GatewayError;

/// The thread ended because it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopped;

/// Forwards frames of one bus until it is stopped. An interface that is gone is waited for: the socket is given another
/// one by the supervisor.
///
/// Nothing is allocated, formatted or locked for a frame.
pub(super) fn run(
    shared: &Shared,
    from: BusIndex,
    wake_up: &WakeUp,
    ended: &AtomicBool,
) -> Result<Stopped, GatewayError> {
    let _supervisor_looks_when_this_ends = Nudge { ended };
    let _woken_here =
        wake_up.target_this_thread().map_err(|source| GatewayError::System { what: "Unblocking SIGUSR2", source })?;
    let source = shared.port(from);
    let mut received = [0; CANFD_MTU];
    while !shared.stop.load(Ordering::Acquire) {
        let len = match source.socket.read(&mut received) {
            Ok(len) => len,
            Err(error) => {
                survive(source, error)?;
                continue;
            }
        };
        let Ok(frame) = Frame::from_kernel(&received[..len]) else { continue };
        shared.rules.route(from, &frame, |job, routed| {
            let counters = &shared.counters[job];
            match routed {
                Routed::Delete => counters.deleted.bump(),
                Routed::Send { to, frame } => match send(shared, to, frame) {
                    Ok(()) => counters.handled.bump(),
                    Err(error) => {
                        counters.dropped.bump();
                        // That an interface is gone is told by the supervisor.
                        if !is_gone(&error) {
                            shared.port(to).failures.note(error.raw_os_error().unwrap_or_default());
                        }
                    }
                },
            }
        });
    }
    Ok(Stopped)
}

/// Makes the supervisor look as soon as the thread ends, by an error or a panic.
struct Nudge<'a> {
    /// The nudge comes before the thread is gone, so the flag says what it is about.
    ended: &'a AtomicBool,
}

impl Drop for Nudge<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        signal::nudge();
    }
}

fn send(shared: &Shared, to: BusIndex, frame: &Frame) -> io::Result<()> {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    let socket = &shared.port(to).socket;
    match socket.send_now(&bytes[..len]) {
        // A socket on which nobody reads keeps for its next sender that the interface was down, even if it is up by now.
        Err(error) if error.kind() == ErrorKind::NetworkDown => socket.send_now(&bytes[..len]),
        result => result,
    }
}

/// Errors of `read()` after which it makes sense to read again.
fn survive(port: &Port, error: io::Error) -> Result<(), GatewayError> {
    match error.kind() {
        // The interface went down: it is told once, and frames come again when it is up.
        ErrorKind::NetworkDown | ErrorKind::Interrupted => Ok(()),
        // The kernel says so once. The next call waits until the supervisor has put another socket into this place.
        _ if is_gone(&error) => Ok(()),
        _ => Err(GatewayError::Socket { interface: port.interface.clone(), source: error }),
    }
}
