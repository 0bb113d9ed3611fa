//! A model of one machine: CAN interfaces, can-gw jobs, and the path of a frame through them.
//!
//! # Source
//! Linux 6.1:
//! [`can_send()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L200),
//! [`can_receive()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L651),
//! [`can_can_gw_rcv()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L457),
//! [`vcan_tx()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/vcan.c#L86),
//! [`vxcan_xmit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/vxcan.c#L37).

use std::collections::VecDeque;

use super::change;
use super::outcome::{Deleted, Did, Dropped, End, Errno, JobId, Outcome, Seen, Sent, Visit};
use super::receive::receivers;
use crate::frame::{CAN_MTU, CANFD_FDF, CANFD_MTU, Frame, FrameFormat};
use crate::job::{BusIndex, Echo, Incoming, Job, Timestamp};
use crate::rule::Verdict;

/// Receptions of one frame after which it is considered to circulate forever.
const MAX_RECEPTIONS: usize = 10_000;

/// One network namespace with its CAN interfaces and can-gw jobs.
///
/// A bus of a [`Job`] is the interface at that position. Payload patterns and format conversion, which only user space
/// supports, are simulated too, so the same world can run candor's own gateway.
///
/// ```
/// use candor_core::filter::Filter;
/// use candor_core::frame::FrameFormat;
/// use candor_core::job::{BusIndex, Echo, Job};
/// use candor_core::oracle::{Interface, Kernel, World};
///
/// let mut world = World::new(Kernel::DEFAULT);
/// let (can0, can1) = (world.attach(Interface::vcan("can0")), world.attach(Interface::vcan("can1")));
/// let filter = Filter::parse("123:7FF").unwrap();
/// world.add(&Job { echo: Echo::On, ..Job::plain(can0, can1, FrameFormat::Classic, filter) }).unwrap();
/// let outcome = world.receive(can0, &"123#11".parse().unwrap());
/// assert_eq!(outcome.seen.iter().map(|seen| seen.on).collect::<Vec<_>>(), [can0, can1]);
/// assert_eq!(world.list()[0].handled, 1);
/// ```
#[derive(Clone, Debug)]
pub struct World {
    pub(super) kernel: Kernel,
    /// `None` after removal.
    pub(super) interfaces: Vec<Option<Interface>>,
    /// Newest first, as the kernel keeps and lists them.
    pub(super) jobs: Vec<Installed>,
    pub(super) next_job: u32,
}

/// Behaviour that depends on the kernel version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Parameter `max_hops` of the module can-gw, 1 to 6.
    pub max_hops: u8,
    /// Treatment of jobs whose source is their destination.
    pub same_interface: SameInterface,
}

/// Treatment of a job from an interface to itself without `CGW_FLAGS_CAN_IIF_TX_OK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameInterface {
    /// The kernel accepts the job, which never matches a frame. Observed on 6.1.
    Accepted,
    /// The kernel refuses the job with EINVAL. From the sources of 2026.
    Refused,
}

impl Kernel {
    /// Default parameters: `max_hops` is 1.
    pub const DEFAULT: Self = Self { max_hops: 1, same_interface: SameInterface::Accepted };
}

/// A CAN network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name, which jobs do not depend on.
    pub name: String,
    /// Only an interface that is up receives and sends.
    pub state: State,
    /// Largest accepted frame in bytes: [`CAN_MTU`] or [`CANFD_MTU`].
    pub mtu: usize,
    /// Origin of the echo of sent frames.
    pub echo_by: EchoBy,
    /// Free space in the queue, in frames. `None`: unlimited.
    pub room: Option<usize>,
    /// Other end of a vxcan pair, which receives the sent frames.
    pub peer: Option<BusIndex>,
}

/// Link state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Neither receives nor sends.
    Down,
    /// Receives and sends.
    Up,
}

/// Origin of the echo of sent frames, if echo is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoBy {
    /// The network layer, as soon as the queue accepts the frame: vcan and vxcan by default.
    Core,
    /// The driver (`IFF_ECHO`), after transmission: real controllers.
    Driver,
}

/// Loopback of a socket's frames to other local sockets, and to can-gw (`CAN_RAW_LOOPBACK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loopback {
    /// Other sockets do not receive the frames.
    Off,
    /// Other sockets receive the frames.
    On,
}

impl Interface {
    /// A vcan interface that is up and accepts all frames.
    #[must_use]
    pub fn vcan(name: &str) -> Self {
        Self { name: name.into(), state: State::Up, mtu: CANFD_MTU, echo_by: EchoBy::Core, room: None, peer: None }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Installed {
    pub(super) id: JobId,
    pub(super) job: Job,
    pub(super) handled: u32,
    pub(super) dropped: u32,
    pub(super) deleted: u32,
}

/// A received frame that waits for the network layer.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    on: BusIndex,
    frame: Frame,
    stamp: Timestamp,
    hops: u8,
    /// Interface where it first entered this machine.
    origin: BusIndex,
}

/// Pending work of the network layer.
#[derive(Debug, Default)]
struct Backlog {
    /// In order of reception.
    now: VecDeque<Arrival>,
    /// Echo by drivers, after all other pending work.
    after_transmission: VecDeque<Arrival>,
}

impl World {
    /// A world without interfaces and jobs.
    #[must_use]
    pub const fn new(kernel: Kernel) -> Self {
        Self { kernel, interfaces: Vec::new(), jobs: Vec::new(), next_job: 0 }
    }

    /// Adds an interface and returns its index.
    pub fn attach(&mut self, interface: Interface) -> BusIndex {
        self.interfaces.push(Some(interface));
        BusIndex(self.interfaces.len() - 1)
    }

    /// The interface at an index, to inspect it, set it up or down, or rename it; its jobs stay. `None` after removal.
    pub fn interface(&mut self, index: BusIndex) -> Option<&mut Interface> {
        self.interfaces.get_mut(index.0)?.as_mut()
    }

    /// Removes an interface and all jobs from or to it.
    pub fn detach(&mut self, index: BusIndex) {
        if let Some(interface) = self.interfaces.get_mut(index.0) {
            *interface = None;
        }
        self.jobs.retain(|installed| installed.job.from != index && installed.job.to != index);
    }

    /// Receives a frame from the bus of an interface.
    pub fn receive(&mut self, on: BusIndex, frame: &Frame) -> Outcome {
        let arrival = Arrival { on, frame: marked(frame), stamp: Timestamp::Fresh, hops: 0, origin: on };
        self.settle(Backlog { now: [arrival].into(), ..Backlog::default() }, Outcome::default())
    }

    /// Sends a frame from a local socket. can-gw receives it only with loopback.
    ///
    /// # Errors
    /// EINVAL if the frame is too long for its format or for the interface, ENODEV, ENETDOWN, ENOBUFS.
    pub fn send_locally(&mut self, on: BusIndex, frame: &Frame, loopback: Loopback) -> Result<Outcome, Errno> {
        let interface = self.interface(on).ok_or(Errno::Enodev)?;
        if usize::from(frame.len) > frame.format.max_len() || bytes_of(frame) > interface.mtu {
            return Err(Errno::Einval);
        }
        let mut outcome = Outcome::default();
        let mut backlog = Backlog::default();
        let arrival = Arrival { on, frame: marked(frame), stamp: Timestamp::Fresh, hops: 0, origin: on };
        match self.transmit(arrival, loopback, &mut backlog, &mut outcome) {
            Ok(()) => Ok(self.settle(backlog, outcome)),
            Err(Dropped::Down) => Err(Errno::Enetdown),
            Err(Dropped::QueueFull) => Err(Errno::Enobufs),
            Err(Dropped::TooLarge) => Err(Errno::Einval),
        }
    }

    /// Processes the backlog until it is empty.
    fn settle(&mut self, mut backlog: Backlog, mut outcome: Outcome) -> Outcome {
        while let Some(arrival) = backlog.now.pop_front().or_else(|| backlog.after_transmission.pop_front()) {
            if outcome.seen.len() == MAX_RECEPTIONS {
                outcome.end = End::Circulates;
                break;
            }
            let is_malformed = usize::from(arrival.frame.len) > arrival.frame.format.max_len();
            let is_up = self.interface(arrival.on).is_some_and(|interface| interface.state == State::Up);
            if is_malformed || !is_up {
                continue;
            }
            let Arrival { on, frame, stamp, hops, .. } = arrival;
            outcome.seen.push(Seen { on, frame, stamp, hops });
            for position in receivers(self.jobs.iter().map(|installed| &installed.job), on, &frame) {
                if self.jobs[position].job.takes(&frame) {
                    self.work(position, &arrival, &mut backlog, &mut outcome);
                }
            }
        }
        outcome
    }

    /// Runs one job for a frame that it accepts, in the order of `can_can_gw_rcv()`.
    fn work(&mut self, position: usize, arrival: &Arrival, backlog: &mut Backlog, outcome: &mut Outcome) {
        let job = self.jobs[position].job.clone();
        let did = self.outcome_of(&job, arrival, backlog, outcome);
        let installed = &mut self.jobs[position];
        match did {
            Did::Handled(_) => installed.handled = installed.handled.wrapping_add(1),
            Did::Dropped(_) => installed.dropped = installed.dropped.wrapping_add(1),
            Did::Deleted(_) => installed.deleted = installed.deleted.wrapping_add(1),
            Did::Skipped => {}
        }
        outcome.visits.push(Visit { job: installed.id, did });
    }

    fn outcome_of(&mut self, job: &Job, arrival: &Arrival, backlog: &mut Backlog, outcome: &mut Outcome) -> Did {
        if arrival.hops >= self.kernel.max_hops {
            return Did::Deleted(Deleted::Hops);
        }
        if self.interface(job.to).is_none_or(|interface| interface.state == State::Down) {
            return Did::Dropped(Dropped::Down);
        }
        if job.incoming == Incoming::Skipped && arrival.origin == job.to {
            return Did::Skipped;
        }
        let mut hops = arrival.hops + 1;
        if let (Some(limit), 1) = (job.hop_limit, hops) {
            hops = self.kernel.max_hops - limit + 1;
        }
        let (frame, verdict) = change::apply(job, &arrival.frame);
        if verdict == Verdict::Delete {
            return Did::Deleted(Deleted::Length);
        }
        let leaves = Arrival { on: job.to, frame, stamp: job.timestamp, hops, origin: arrival.origin };
        let loopback = if job.echo == Echo::On { Loopback::On } else { Loopback::Off };
        match self.transmit(leaves, loopback, backlog, outcome) {
            Ok(()) => Did::Handled(frame),
            Err(dropped) => Did::Dropped(dropped),
        }
    }

    /// `can_send()`, the queue and the driver.
    fn transmit(
        &mut self,
        leaves: Arrival,
        loopback: Loopback,
        backlog: &mut Backlog,
        outcome: &mut Outcome,
    ) -> Result<(), Dropped> {
        let Some(interface) = self.interface(leaves.on) else { return Err(Dropped::Down) };
        if bytes_of(&leaves.frame) > interface.mtu {
            return Err(Dropped::TooLarge);
        }
        if interface.state == State::Down {
            return Err(Dropped::Down);
        }
        match &mut interface.room {
            Some(0) => return Err(Dropped::QueueFull),
            Some(room) => *room -= 1,
            None => {}
        }
        outcome.sent.push(Sent { on: leaves.on, frame: leaves.frame });
        if let Some(peer) = interface.peer {
            // vxcan resets the hops, but not the interface where the frame first appeared.
            backlog.now.push_back(Arrival { on: peer, hops: 0, ..leaves });
        }
        match (loopback, interface.echo_by) {
            (Loopback::Off, _) => {}
            (Loopback::On, EchoBy::Core) => backlog.now.push_back(leaves),
            (Loopback::On, EchoBy::Driver) => backlog.after_transmission.push_back(leaves),
        }
        Ok(())
    }
}

/// Sets `CANFD_FDF`, as the kernel does for sent FD frames and current drivers for received ones.
fn marked(frame: &Frame) -> Frame {
    match frame.format {
        FrameFormat::Classic => *frame,
        FrameFormat::Fd => Frame { flags: frame.flags | CANFD_FDF, ..*frame },
    }
}

fn bytes_of(frame: &Frame) -> usize {
    match frame.format {
        FrameFormat::Classic => CAN_MTU,
        FrameFormat::Fd => CANFD_MTU,
    }
}
