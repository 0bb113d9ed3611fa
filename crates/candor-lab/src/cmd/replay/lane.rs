//! An interface onto which frames are sent.

use std::error::Error;
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{CanSocket, Options};
use candor_io::clock::{self, MonotonicNs};
use candor_io::errno::{EAGAIN, EINVAL, ENETDOWN, ENOBUFS, ENODEV, ENXIO};
use candor_lab::stats::LatencyNs;
use candor_lab::tester as interfaces;
use candor_netlink::client::Client;

use super::late::Late;
use crate::cli::Onto;
use crate::cmd::method::Failed;

/// Pause after a refused frame.
const AGAIN_NS: i64 = 200_000;
/// After this time the interface is stuck.
const STUCK: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) onto: Onto,
    socket: CanSocket,
    pub(super) late: Late,
    /// Calls that a full queue refused.
    pub(super) refused: u64,
    /// Frames that the interface does not send, such as CAN FD.
    pub(super) unfit: u64,
}

/// Opens the interfaces, which must be up.
pub(super) fn open(all: &[Onto]) -> Result<Vec<Lane>, Box<dyn Error>> {
    let mut client = Client::open()?;
    let mut lanes: Vec<Lane> = Vec::new();
    for onto in all {
        if lanes.iter().any(|lane| lane.onto.bus == onto.bus) {
            let bus = onto.bus.as_ref().map_or_else(String::new, |bus| format!(" for {bus}"));
            return Err(format!("--onto names two interfaces{bus}").into());
        }
        let index = interfaces::find(&mut client, &onto.interface)?.index;
        let socket = CanSocket::open(index, &Options { filters: &[], ..Options::default() })?;
        lanes.push(Lane { onto: onto.clone(), socket, late: Late::new(), refused: 0, unfit: 0 });
    }
    Ok(lanes)
}

impl Lane {
    /// Sends a frame that is due at this time, as soon as there is room for it.
    pub(super) fn send(&mut self, frame: &Frame, due_ns: i64) -> Result<(), Failed> {
        let mut bytes = [0; CANFD_MTU];
        let length = frame.to_kernel(&mut bytes);
        let mut since = None;
        loop {
            let result = self.socket.send_now(&bytes[..length]);
            let MonotonicNs(now) = clock::monotonic()?;
            let Err(error) = result else {
                self.late.add(LatencyNs(now - due_ns));
                return Ok(());
            };
            let interface = &self.onto.interface;
            match error.raw_os_error() {
                Some(EAGAIN | ENOBUFS) => {
                    self.refused += 1;
                    if now - *since.get_or_insert(now) > i64::try_from(STUCK.as_nanos())? {
                        let what =
                            "has sent nothing for 10 s; another node must acknowledge its frames, at the same bit rate";
                        return Err(format!("{interface} {what}").into());
                    }
                    clock::sleep_until(MonotonicNs(now + AGAIN_NS))?;
                }
                Some(EINVAL) => {
                    self.unfit += 1;
                    return Ok(());
                }
                Some(ENETDOWN) => {
                    return Err(format!("{interface} is down; set it up: sudo ip link set {interface} up").into());
                }
                Some(ENODEV | ENXIO) => return Err(format!("{interface} is gone: unplugged or deleted").into()),
                _ => return Err(format!("cannot send {frame} on {interface}: {error}").into()),
            }
        }
    }
}
