//! The buses of the test, with a socket on each.

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use candor_io::can::{Batch, First};

use super::case::{CLASSIC_ONLY, DOWN, FENCE, INTERFACES, SOURCES};
use crate::kernel;
use crate::prelude::*;

/// The same as [`PATIENCE`] for a gateway that has lost a fence.
const PATIENCE_AFTER_LOSS: Duration = Duration::from_millis(500);
/// Longer than the kernel takes to deliver a frame.
const MISSING_AFTER: Duration = Duration::from_millis(500);
/// A frame takes about 800 bytes; a burst gives at most 3200.
const RECEIVE_BUFFER_BYTES: u32 = 16 << 20;
const CLASSIC_MTU: u32 = 16;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) client: Client,
    pub(super) abilities: Abilities,
    interfaces: Interfaces,
    /// By bus; after those, for pairs, one beside the gateway on each source.
    sockets: Vec<CanSocket>,
    batch: Batch,
    /// For fences. Short after a loss, because that case runs many times while it is shrunk.
    patience: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    pub(super) max_hops: u8,
    /// CRC8 positions from the end stay inside the frame.
    pub(super) relative_crc8: bool,
}

impl Abilities {
    /// Of programs, which count no hops.
    pub(super) const PROGRAMS: Self = Self { max_hops: 1, relative_crc8: true };
}

#[derive(Debug)]
enum Interfaces {
    /// Jobs and sockets share an interface, and see each other's frames by echo.
    Virtual(Vec<Bus>),
    /// Frames are sent and received at the other end of each bus.
    Pairs(Vec<Pair>),
}

/// Condition for the end of a burst.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until<'a> {
    /// After this many frames, by bus.
    Counts(&'a [usize]),
    Fences(usize),
}

impl Machine {
    pub(super) fn new() -> Self {
        let buses: Vec<_> = INTERFACES.iter().map(|name| Bus::new(name.strip_prefix("t-").unwrap())).collect();
        let sees: Vec<_> = buses.iter().map(|bus| bus.index).collect();
        narrow(sees[CLASSIC_ONLY.0]);
        buses[DOWN.0].set_down();
        let relative_crc8 = candor_engine::relative_crc8_by_trial().unwrap();
        let abilities = Abilities { max_hops: kernel::max_hops(), relative_crc8 };
        Self::with(Interfaces::Virtual(buses), &sees, abilities)
    }

    pub(super) fn of_pairs() -> Self {
        let far = |name: &str| name.replace("t-", "t-x-");
        let pairs: Vec<_> = INTERFACES.iter().map(|name| Pair::new([name, &far(name)])).collect();
        narrow(pairs[CLASSIC_ONLY.0].near);
        pairs[CLASSIC_ONLY.0].wait();
        link::set_down(&mut Client::open().unwrap(), pairs[DOWN.0].near).unwrap();
        let beside = pairs[..SOURCES].iter().map(|pair| pair.near);
        let sees: Vec<_> = pairs.iter().map(|pair| pair.far).chain(beside).collect();
        Self::with(Interfaces::Pairs(pairs), &sees, Abilities::PROGRAMS)
    }

    fn with(interfaces: Interfaces, sees: &[InterfaceIndex], abilities: Abilities) -> Self {
        let client = Client::open().unwrap();
        let sockets = sees.iter().map(|interface| {
            let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
            let options = Options { filters: &[Filter::ALL, errors], ..Options::default() };
            let socket = CanSocket::open(*interface, &options).unwrap();
            socket.set_receive_buffer(RECEIVE_BUFFER_BYTES).unwrap();
            socket
        });
        let sockets = sockets.collect();
        Self { client, abilities, interfaces, sockets, batch: Batch::default(), patience: PATIENCE }
    }

    pub(super) fn kernel(&self) -> String {
        let Abilities { max_hops, relative_crc8 } = self.abilities;
        let crc8 = if relative_crc8 { "with" } else { "without" };
        format!("kernel {}, max_hops {max_hops}, {crc8} CRC8 positions from the end", kernel::release())
    }

    pub(super) fn index(&self, bus: BusIndex) -> InterfaceIndex {
        match &self.interfaces {
            Interfaces::Virtual(buses) => buses[bus.0].index,
            Interfaces::Pairs(pairs) => pairs[bus.0].near,
        }
    }

    pub(super) fn cangw(&self, job: &Job) -> CangwJob {
        CangwJob::new(job, self.index(job.from), self.index(job.to))
    }

    pub(super) fn send(&mut self, from: BusIndex, frames: &[Frame], until: Until<'_>) -> Vec<Vec<Frame>> {
        for frame in frames {
            try_send(&self.sockets[from.0], frame).unwrap_or_else(|error| panic!("sending {frame:?}: {error}"));
        }
        match until {
            Until::Counts(counts) => {
                counts.iter().enumerate().map(|(bus, &count)| self.wait_for(bus, count, MISSING_AFTER)).collect()
            }
            Until::Fences(fences) => {
                let fence_frames = self.wait_for(FENCE.0, fences, self.patience);
                if fence_frames.len() < fences {
                    self.patience = PATIENCE_AFTER_LOSS;
                }
                let mut by_bus: Vec<_> = (0..FENCE.0).map(|bus| self.take(bus)).collect();
                by_bus.push(fence_frames);
                by_bus.extend((INTERFACES.len()..self.sockets.len()).map(|beside| self.take(beside)));
                by_bus
            }
        }
    }

    /// Waits until this many frames have arrived on a bus, or none comes for this time.
    fn wait_for(&mut self, bus: usize, count: usize, patience: Duration) -> Vec<Frame> {
        let mut frames = self.take(bus);
        while frames.len() < count && !can::poll(&[&self.sockets[bus]], Some(patience)).unwrap().is_empty() {
            frames.extend(self.take(bus));
        }
        frames
    }

    /// Discards late frames of a case with a loss.
    pub(super) fn discard_late_frames(&mut self) {
        if self.patience < PATIENCE {
            (0..self.sockets.len()).for_each(|bus| drop(self.take(bus)));
        }
    }

    /// A frame that a socket of the test has lost is no difference.
    pub(super) fn assert_no_loss(&self) {
        for (socket, name) in self.sockets.iter().zip(INTERFACES.iter().chain(&INTERFACES)) {
            assert_eq!(socket.dropped().unwrap(), 0, "the socket of the test on {name} has lost frames");
        }
    }

    /// The frames in the socket of a bus. That of an interface that is down returns only an error.
    fn take(&mut self, bus: usize) -> Vec<Frame> {
        let mut frames = Vec::new();
        while bus != DOWN.0 && self.sockets[bus].recv_batch(&mut self.batch, First::DoesNotWait).unwrap() > 0 {
            frames.extend(self.batch.frames().map(|frame| Frame::from_kernel(frame.bytes).unwrap()));
        }
        frames
    }
}

/// The interface takes classic frames only.
fn narrow(interface: InterfaceIndex) {
    let mut client = Client::open().unwrap();
    link::set_down(&mut client, interface).unwrap();
    link::set_mtu(&mut client, interface, CLASSIC_MTU).unwrap();
    link::set_up(&mut client, interface).unwrap();
}
