//! The kernel's can-gw between virtual interfaces.

use candor_config::plan::Timestamp;
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use candor_core::oracle::vectors::{Expected, Gateway};
use candor_core::oracle::{Errno, Interface, Loopback, State};
use candor_io::can::Stamps;
use candor_io::clock::RealtimeNs;
use candor_netlink::cangw::CangwError;
use candor_netlink::codec::{MessageWriter, NLM_F_ACK, NLM_F_REQUEST};

use crate::prelude::*;
use crate::{kernel, queues};

/// The kernel delivers before `write()` returns, unless it is very busy.
const SILENCE: Duration = Duration::from_millis(5);
const NOBODY: u32 = 99_999;
/// The kernel takes a moment to see that both ends of a vxcan pair are up.
const PATIENCE: Duration = Duration::from_secs(10);

/// While it exists, the kernel stamps frames as they arrive and not only as they are read.
///
/// The first socket that asks for timestamps switches that on with a work item, so the first frames may still have none
/// (`net_enable_timestamp` in net/core/dev.c).
#[derive(Debug)]
pub(super) struct Stamping {
    _bus: Bus,
    _listeners: [CanSocket; 2],
}

impl Stamping {
    pub(super) fn start() -> Self {
        let bus = Bus::new("stamps");
        let options = Options { filters: &[Filter::ALL], stamps: Stamps::On, ..Options::default() };
        let listeners = [(); 2].map(|()| CanSocket::open(bus.index, &options).unwrap());
        let sender = sender_on(bus.index);
        wait_until("the kernel stamps frames as they arrive", || {
            send(&sender, &classic(1, &[]));
            let [one, other] = listeners.each_ref().map(|socket| {
                assert!(!can::poll(&[socket], Some(PATIENCE)).unwrap().is_empty(), "the frame does not arrive");
                socket.recv_stamped(&mut [0; CANFD_MTU]).unwrap().at.unwrap()
            });
            one == other
        });
        Self { _bus: bus, _listeners: listeners }
    }
}

#[derive(Debug)]
pub(super) struct Real {
    client: Client,
    ends: Vec<End>,
}

#[derive(Debug)]
struct End {
    index: InterfaceIndex,
    listener: CanSocket,
    is_up: bool,
}

impl Real {
    pub(super) fn new(interfaces: &[Interface]) -> Self {
        let mut client = Client::open().unwrap();
        let name = |at: usize| format!("t-end{at}");
        for (at, interface) in interfaces.iter().enumerate() {
            match interface.peer {
                None => link::create_vcan(&mut client, &name(at)).unwrap(),
                Some(BusIndex(peer)) if at < peer => {
                    link::create_vxcan(&mut client, [&name(at), &name(peer)]).unwrap();
                }
                Some(_made_already) => {}
            }
        }
        let ends = interfaces.iter().enumerate().map(|(at, interface)| {
            let index = link::by_name(&mut client, &name(at)).unwrap().unwrap().index;
            link::set_mtu(&mut client, index, u32::try_from(interface.mtu).unwrap()).unwrap();
            if let Some(frames) = interface.room {
                // No frame leaves during the test.
                queues::delay(index, Duration::from_secs(60), u32::try_from(frames).unwrap());
            }
            link::set_up(&mut client, index).unwrap();
            let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
            let options = Options { filters: &[Filter::ALL, errors], stamps: Stamps::On, ..Options::default() };
            End { index, listener: CanSocket::open(index, &options).unwrap(), is_up: true }
        });
        let ends = ends.collect();
        let mut real = Self { client, ends };
        for (at, interface) in interfaces.iter().enumerate() {
            if interface.peer.is_some() {
                let is_operational = can::wait_until_operational(&name(at), PATIENCE);
                assert!(is_operational, "{} is not operational after {PATIENCE:?}", name(at));
            }
            real.set(BusIndex(at), interface.state);
        }
        real
    }

    pub(super) fn index(&self, bus: BusIndex) -> InterfaceIndex {
        self.ends.get(bus.0).map_or_else(|| InterfaceIndex::new(NOBODY).unwrap(), |end| end.index)
    }

    /// With every value, also those that the kernel ignores.
    fn cangw(&self, job: &Job) -> CangwJob {
        let (modifications, checksums) = (job.modifications, job.checksums);
        let uid = job.uid.map_or(0, std::num::NonZeroU32::get);
        CangwJob { modifications, checksums, uid, ..CangwJob::new(job, self.index(job.from), self.index(job.to)) }
    }

    /// Frames that the sockets receive, by interface, until there are no more. Waits for a frame on `awaited`.
    fn heard(&mut self, awaited: Option<BusIndex>) -> Vec<Vec<(Frame, RealtimeNs)>> {
        let mut heard = vec![Vec::new(); self.ends.len()];
        let started = Instant::now();
        loop {
            let up: Vec<_> = (0..self.ends.len()).filter(|&at| self.ends[at].is_up).collect();
            let listeners: Vec<_> = up.iter().map(|&at| &self.ends[at].listener).collect();
            let ready = can::poll(&listeners, Some(SILENCE)).unwrap();
            // On a busy machine a frame may come after a silence.
            let is_missing = awaited.is_some_and(|bus| heard[bus.0].is_empty());
            if ready.is_empty() && is_missing && started.elapsed() < PATIENCE {
                continue;
            }
            if ready.is_empty() {
                return heard;
            }
            for (position, &at) in up.iter().enumerate().filter(|(position, _)| ready.contains(*position)) {
                let mut bytes = [0; CANFD_MTU];
                // A socket reports once that its interface was down.
                if let Ok(seen) = listeners[position].recv_stamped(&mut bytes) {
                    assert_eq!(seen.dropped, 0);
                    heard[at].push((Frame::from_kernel(&bytes[..seen.len]).unwrap(), seen.at.unwrap()));
                }
            }
        }
    }
}

impl Gateway for Real {
    fn add(&mut self, job: &Job) -> Result<(), Errno> {
        let cangw = self.cangw(job);
        if job.hop_limit == Some(0) {
            // CangwJob has no way to express this.
            const RTM_NEWROUTE: u16 = 24;
            const CGW_LIM_HOPS: u16 = 13;
            let mut message = MessageWriter::new(RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK);
            message.header(&cangw.to_bytes()).attribute(CGW_LIM_HOPS, &[0]);
            return self.client.request(message).map_err(|error| match error.errno().unwrap().0 {
                errno::EINVAL => Errno::Einval,
                other => panic!("errno {other}"),
            });
        }
        cangw::add(&mut self.client, &cangw).map_err(errno_of)
    }

    fn delete(&mut self, job: &Job) -> Result<(), Errno> {
        let cangw = self.cangw(job);
        cangw::delete(&mut self.client, &cangw).map_err(errno_of)
    }

    fn detach(&mut self, interface: BusIndex) {
        let end = &mut self.ends[interface.0];
        end.is_up = false;
        link::delete(&mut self.client, end.index).unwrap();
    }

    fn flush(&mut self) {
        kernel::flush();
    }

    fn list(&mut self) -> Vec<Expected> {
        let jobs = cangw::dump(&mut self.client).unwrap();
        let bus = |index| BusIndex(self.ends.iter().position(|end| end.index == index).unwrap());
        let expected = jobs.into_iter().map(|job| Expected {
            way: (bus(job.source), bus(job.destination)),
            filter_id: job.filter.id,
            counted: [job.counters.handled, job.counters.dropped, job.counters.deleted],
        });
        expected.collect()
    }

    fn rename(&mut self, interface: BusIndex, name: &str) {
        self.set(interface, State::Down);
        let index = self.index(interface);
        link::rename(&mut self.client, index, name).unwrap();
        self.set(interface, State::Up);
    }

    fn send(&mut self, on: BusIndex, frame: &Frame, loopback: Loopback) -> Vec<(BusIndex, Frame, Option<Timestamp>)> {
        let shown = match loopback {
            Loopback::Off => can::Loopback::Off,
            Loopback::On => can::Loopback::On,
        };
        let options = Options { filters: &[], loopback: shown, ..Options::default() };
        let sender = CanSocket::open(self.index(on), &options).unwrap();
        // Nothing is received of a refused frame.
        let _ = try_send(&sender, frame);
        let own = (loopback == Loopback::On).then_some(on);
        let mut heard = self.heard(own);
        // The first on the sender's interface is its own frame.
        let sent_at = own.map(|on| heard[on.0].remove(0).1);
        let stamp = |at| match sent_at {
            Some(sent) if sent == at => Timestamp::Kept,
            _ => Timestamp::Fresh,
        };
        let by_bus = heard.into_iter().enumerate();
        by_bus
            .flat_map(|(bus, frames)| {
                frames.into_iter().map(move |(frame, at)| (BusIndex(bus), frame, Some(stamp(at))))
            })
            .collect()
    }

    fn set(&mut self, interface: BusIndex, state: State) {
        let end = &mut self.ends[interface.0];
        end.is_up = state == State::Up;
        match state {
            State::Down => link::set_down(&mut self.client, end.index).unwrap(),
            State::Up => link::set_up(&mut self.client, end.index).unwrap(),
        }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for end in &self.ends {
            // It may be gone with its other end or by the vector.
            let _ = link::delete(&mut self.client, end.index);
        }
    }
}

/// True if this kernel refuses a job from an interface to itself.
pub(super) fn refuses_same_interface() -> bool {
    let mut real = Real::new(&[Interface::vcan("vcan0")]);
    let itself = Job::plain(BusIndex(0), BusIndex(0), FrameFormat::Classic, Filter::ALL);
    real.add(&itself).is_err()
}

fn errno_of(error: CangwError) -> Errno {
    match error {
        CangwError::InvalidJob | CangwError::NoSuchJob => Errno::Einval,
        CangwError::NoSuchInterface => Errno::Enodev,
        other => panic!("{other}"),
    }
}
