//! The buses of the test and a socket on each of them.

use std::time::Duration;

use candor_config::plan::BusIndex;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MTU, Frame};
use candor_core::job::Job;
use candor_io::can::{self, Batch, CanSocket, First, InterfaceIndex, Options};
use candor_netlink::cangw::CangwJob;
use candor_netlink::client::Client;
use candor_netlink::link;

use super::case::{CLASSIC_ONLY, DOWN, FENCE, INTERFACES};
use crate::kernel;
use crate::require::Bus;

/// How long a fence may take, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same for a gateway that has lost one.
const PATIENCE_WITH_A_LOSER: Duration = Duration::from_millis(500);
/// How long a frame may take that the kernel's own gateway delivers.
const MISSING_AFTER: Duration = Duration::from_millis(500);
/// A frame takes about 800 bytes; a burst gives at most 3200.
const RECEIVE_BUFFER_BYTES: u32 = 16 << 20;
/// Largest frame of an interface that takes no FD, in bytes.
const CLASSIC_MTU: u32 = 16;

/// Interfaces, sockets, and what the kernel can do.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) client: Client,
    pub(super) abilities: Abilities,
    buses: Vec<Bus>,
    sockets: Vec<CanSocket>,
    batch: Batch,
    /// How long a fence may take. Once one was missing, that case runs again and again, in smaller forms.
    patience: Duration,
}

/// What differs between kernels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// Parameter of the module can-gw.
    pub(super) max_hops: u8,
    /// Whether CRC8 positions from the end stay inside the frame.
    pub(super) relative_crc8: bool,
}

/// How long to wait for what a burst brings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until<'a> {
    /// As many frames as are expected, by bus.
    Counts(&'a [usize]),
    /// So many fences.
    Fences(usize),
}

impl Machine {
    pub(super) fn new() -> Self {
        let mut client = Client::open().unwrap();
        let buses: Vec<_> = INTERFACES.iter().map(|name| Bus::new(name.strip_prefix("t-").unwrap())).collect();
        let classic_only = &buses[CLASSIC_ONLY.0];
        classic_only.set_down();
        link::set_mtu(&mut client, classic_only.index, CLASSIC_MTU).unwrap();
        classic_only.set_up();
        buses[DOWN.0].set_down();
        let sockets = buses.iter().map(|bus| {
            let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
            let options = Options { filters: &[Filter::ALL, errors], ..Options::default() };
            let socket = CanSocket::open(bus.index, &options).unwrap();
            socket.set_receive_buffer(RECEIVE_BUFFER_BYTES).unwrap();
            socket
        });
        let sockets = sockets.collect();
        let relative_crc8 = candor_engine::relative_crc8_by_trial().unwrap();
        let abilities = Abilities { max_hops: kernel::max_hops(), relative_crc8 };
        Self { client, abilities, buses, sockets, batch: Batch::default(), patience: PATIENCE }
    }

    /// What the kernel is, in words.
    pub(super) fn kernel(&self) -> String {
        let Abilities { max_hops, relative_crc8 } = self.abilities;
        let crc8 = if relative_crc8 {
            "CRC8 positions from the end included"
        } else {
            "CRC8 positions from the end left out, because this kernel would write outside of the frame"
        };
        format!("kernel {}, max_hops {max_hops}, {crc8}", kernel::release())
    }

    pub(super) fn index(&self, bus: BusIndex) -> InterfaceIndex {
        self.buses[bus.0].index
    }

    /// The kernel's form of a job.
    pub(super) fn cangw(&self, job: &Job) -> CangwJob {
        CangwJob::new(job, self.index(job.from), self.index(job.to))
    }

    /// Sends frames, waits, and takes what was delivered, by bus.
    pub(super) fn send(&mut self, from: BusIndex, frames: &[Frame], until: Until<'_>) -> Vec<Vec<Frame>> {
        let mut bytes = [0; CANFD_MTU];
        for frame in frames {
            let len = frame.to_kernel(&mut bytes);
            self.sockets[from.0].write(&bytes[..len]).unwrap_or_else(|error| panic!("sending {frame:?}: {error}"));
        }
        match until {
            Until::Counts(counts) => {
                counts.iter().enumerate().map(|(bus, &count)| self.wait_for(bus, count, MISSING_AFTER)).collect()
            }
            Until::Fences(fences) => {
                let fence_frames = self.wait_for(FENCE.0, fences, self.patience);
                if fence_frames.len() < fences {
                    self.patience = PATIENCE_WITH_A_LOSER;
                }
                let by_bus = (0..FENCE.0).map(|bus| self.take(bus));
                by_bus.collect::<Vec<_>>().into_iter().chain([fence_frames]).collect()
            }
        }
    }

    /// Waits until so many frames have been delivered on a bus, or none comes for some time.
    fn wait_for(&mut self, bus: usize, count: usize, patience: Duration) -> Vec<Frame> {
        let mut frames = self.take(bus);
        while frames.len() < count && !can::poll(&[&self.sockets[bus]], Some(patience)).unwrap().is_empty() {
            frames.extend(self.take(bus));
        }
        frames
    }

    /// What a gateway that lost a frame has delivered late is no part of the next case.
    pub(super) fn forget_what_is_late(&mut self) {
        if self.patience < PATIENCE {
            (0..INTERFACES.len()).for_each(|bus| drop(self.take(bus)));
        }
    }

    /// A frame that the test itself has lost must not look like a difference.
    pub(super) fn lost_nothing(&self) {
        for (socket, name) in self.sockets.iter().zip(INTERFACES) {
            assert_eq!(socket.dropped().unwrap(), 0, "the test's own socket on {name} has lost frames");
        }
    }

    /// Everything that waits in the socket of a bus. One on an interface that is down has only that to say.
    fn take(&mut self, bus: usize) -> Vec<Frame> {
        let mut frames = Vec::new();
        while bus != DOWN.0 && self.sockets[bus].recv_batch(&mut self.batch, First::DoesNotWait).unwrap() > 0 {
            frames.extend(self.batch.frames().map(|frame| Frame::from_kernel(frame.bytes).unwrap()));
        }
        frames
    }
}
