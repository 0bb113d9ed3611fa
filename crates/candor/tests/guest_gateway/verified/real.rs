//! The kernel's can-gw between virtual interfaces.

use std::time::{Duration, Instant};

use candor_config::plan::{BusIndex, Timestamp};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MTU, Frame, FrameFormat};
use candor_core::job::Job;
use candor_core::oracle::vectors::{Expected, Gateway};
use candor_core::oracle::{Errno, Interface, Loopback, State};
use candor_io::can::{self, CanSocket, InterfaceIndex, Options, Stamps};
use candor_io::clock::RealtimeNs;
use candor_netlink::cangw::{self, CangwError, CangwJob};
use candor_netlink::client::Client;
use candor_netlink::codec::{MessageWriter, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST};
use candor_netlink::link;

use crate::frames::try_send;

/// The kernel delivers before `write()` returns, unless it is very busy.
const SILENCE: Duration = Duration::from_millis(5);
/// No interface has it.
const NOBODY: u32 = 99_999;
/// The time that the kernel takes to see that both ends of a vxcan pair are up.
const PATIENCE: Duration = Duration::from_secs(10);

// What no job of candor needs to say.
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const AF_CAN: u8 = 29;
const CGW_TYPE_CAN_CAN: u8 = 1;
const CGW_SRC_IF: u16 = 9;
const CGW_DST_IF: u16 = 10;
const CGW_LIM_HOPS: u16 = 13;
/// The parent of a root qdisc.
pub(super) const TC_H_ROOT: u32 = u32::MAX;

/// Interfaces of its own, and the kernel's jobs.
#[derive(Debug)]
pub(super) struct Real {
    client: Client,
    ends: Vec<End>,
}

/// An interface and a socket that listens there.
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
                limit_queue(&mut client, index, u32::try_from(frames).unwrap());
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
                wait_until_operational(&name(at));
            }
            real.set(BusIndex(at), interface.state);
        }
        real
    }

    pub(super) fn index(&self, bus: BusIndex) -> InterfaceIndex {
        self.ends.get(bus.0).map_or_else(|| InterfaceIndex::new(NOBODY).unwrap(), |end| end.index)
    }

    /// Every value as it is written, whether or not the kernel has a use for it.
    fn cangw(&self, job: &Job) -> CangwJob {
        let (modifications, checksums) = (job.modifications, job.checksums);
        let uid = job.uid.map_or(0, std::num::NonZeroU32::get);
        CangwJob { modifications, checksums, uid, ..CangwJob::new(job, self.index(job.from), self.index(job.to)) }
    }

    /// What listeners have got, by interface, until they get no more; on this interface something must come.
    fn heard(&mut self, awaited: Option<BusIndex>) -> Vec<Vec<(Frame, RealtimeNs)>> {
        let mut heard = vec![Vec::new(); self.ends.len()];
        let started = Instant::now();
        loop {
            let up: Vec<_> = (0..self.ends.len()).filter(|&at| self.ends[at].is_up).collect();
            let listeners: Vec<_> = up.iter().map(|&at| &self.ends[at].listener).collect();
            let ready = can::poll(&listeners, Some(SILENCE)).unwrap();
            // On a busy machine a silence is no proof.
            let is_missing = awaited.is_some_and(|bus| heard[bus.0].is_empty());
            if ready.is_empty() && is_missing && started.elapsed() < PATIENCE {
                continue;
            }
            if ready.is_empty() {
                return heard;
            }
            for (position, &at) in up.iter().enumerate().filter(|(position, _)| ready.contains(*position)) {
                let mut bytes = [0; CANFD_MTU];
                // One that was down says so once.
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
            // In a CangwJob this is none.
            let mut message = MessageWriter::new(RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK);
            message.header(&cangw.to_bytes()).attribute(CGW_LIM_HOPS, &[0]);
            return self.client.request(message).map_err(|error| match error.errno().unwrap().0 {
                22 => Errno::Einval,
                other => panic!("errno {other}"),
            });
        }
        cangw::add(&mut self.client, &cangw).map_err(errno)
    }

    fn delete(&mut self, job: &Job) -> Result<(), Errno> {
        let cangw = self.cangw(job);
        cangw::delete(&mut self.client, &cangw).map_err(errno)
    }

    fn detach(&mut self, interface: BusIndex) {
        let end = &mut self.ends[interface.0];
        end.is_up = false;
        link::delete(&mut self.client, end.index).unwrap();
    }

    fn flush(&mut self) {
        let mut message = MessageWriter::new(RTM_DELROUTE, NLM_F_REQUEST | NLM_F_ACK);
        let (source, destination) = (CGW_SRC_IF, CGW_DST_IF);
        message.header(&[AF_CAN, CGW_TYPE_CAN_CAN, 0, 0]).attribute(source, &[0; 4]).attribute(destination, &[0; 4]);
        self.client.request(message).unwrap();
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
        // What is refused nobody sees.
        let _ = try_send(&sender, frame);
        let own = (loopback == Loopback::On).then_some(on);
        let mut heard = self.heard(own);
        // The first on the sender's interface is the frame itself.
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
            // Its other end may have taken it along, or the vector.
            let _ = link::delete(&mut self.client, end.index);
        }
    }
}

/// Whether this kernel refuses a job that leads back to where it comes from.
pub(super) fn refuses_same_interface() -> bool {
    let mut real = Real::new(&[Interface::vcan("vcan0")]);
    let itself = Job::plain(BusIndex(0), BusIndex(0), FrameFormat::Classic, Filter::ALL);
    real.add(&itself).is_err()
}

/// Until then a pair takes frames and loses them.
fn wait_until_operational(name: &str) {
    assert!(can::wait_until_operational(name, PATIENCE), "{name} is not operational after {PATIENCE:?}");
}

/// Lets an interface queue so many frames and send none of them: the qdisc netem with a long delay.
fn limit_queue(client: &mut Client, interface: InterfaceIndex, frames: u32) {
    /// In units of 64 ns: a minute.
    const DELAY: u32 = 937_500_000;
    let netem = [DELAY, frames, 0, 0, 0, 0].map(u32::to_ne_bytes).concat();
    add_qdisc(client, interface, TC_H_ROOT, 0, "netem", &netem);
}

/// Adds a qdisc below a parent, with a handle or, for 0, one that the kernel chooses.
pub(super) fn add_qdisc(
    client: &mut Client,
    interface: InterfaceIndex,
    parent: u32,
    handle: u32,
    kind: &str,
    options: &[u8],
) {
    const RTM_NEWQDISC: u16 = 36;
    const TCA_KIND: u16 = 1;
    const TCA_OPTIONS: u16 = 2;
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&interface.number().to_ne_bytes());
    header[8..12].copy_from_slice(&handle.to_ne_bytes());
    header[12..16].copy_from_slice(&parent.to_ne_bytes());
    let mut message = MessageWriter::new(RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    message.header(&header).text(TCA_KIND, kind).attribute(TCA_OPTIONS, options);
    client.request(message).unwrap();
}

fn errno(error: CangwError) -> Errno {
    match error {
        CangwError::InvalidJob | CangwError::NoSuchJob => Errno::Einval,
        CangwError::NoSuchInterface => Errno::Enodev,
        other => panic!("{other}"),
    }
}
