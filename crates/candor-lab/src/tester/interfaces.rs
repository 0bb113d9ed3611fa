//! The tester's two buses as CAN_RAW sockets.

use std::io;
use std::time::Duration;

use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{self, CanSocket, Loopback, Options, SendStage, Stamps, TimedSender};
use candor_io::clock::{self, RealtimeNs};
use candor_io::errno::EPROTONOSUPPORT;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, Link};

use super::{AdapterListener, Bench, Origin, Pattern, StampSource, Stamped, share_a_clock};

/// Options that select kernel stamps.
pub(super) const KERNELS: &str = "--stamps kernel, or stamps = \"kernel\" in a plan";

#[derive(Debug)]
pub struct Interfaces {
    send: Sender,
    monitor: Listener,
    receive: Listener,
}

#[derive(Debug)]
enum Listener {
    Adapter(AdapterListener),
    Kernel(CanSocket),
}

#[derive(Debug)]
enum Sender {
    Now(CanSocket),
    Later(TimedSender),
}

#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    pub send: &'a str,
    /// Monitors the first bus. The same as `send` if an interface is a bus of its own (vcan).
    pub monitor: &'a str,
    /// On the second bus.
    pub receive: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum InterfacesError {
    #[error("Cannot list the kernel's interfaces")]
    List(#[source] NetlinkError),
    #[error("Interface {name} not found; `ip link` lists the interfaces")]
    Missing { name: String },
    #[error("Interface {name} is not a CAN interface")]
    NoCan { name: String },
    #[error("Interface {name} is down; bring it up with `ip link set {name} up`")]
    Down { name: String },
    #[error("This kernel cannot send frames from a timer: load the module with `sudo modprobe can-bcm`")]
    NoTimer { source: io::Error },
    #[error(
        "{monitor} and {receive} are not channels of one adapter, and stamps of two clocks cannot be subtracted: monitor both buses with \
         channels of one adapter, or use the kernel's stamps ({KERNELS})"
    )]
    TwoClocks { monitor: String, receive: String },
    #[error(
        "{name} is both monitor and receiver, so both stamps of a frame would be the same: adapter stamps need two of its \
         channels"
    )]
    OneInterface { name: String },
    #[error(
        "Interface {name} has no adapter to take stamps (no /sys/class/net/{name}/device): use the kernel's \
         stamps ({KERNELS})"
    )]
    NoAdapter { name: String },
    #[error(
        "The adapter of {name} takes no receive stamps, or its driver does not report them (`ethtool -T {name}`): use the \
         kernel's stamps ({KERNELS})"
    )]
    NoAdapterStamps { name: String },
    #[error("Cannot determine whether the adapter of {name} stamps frames")]
    Ask { name: String, source: io::Error },
    #[error("Cannot open a CAN socket on {name}")]
    Open { name: String, source: io::Error },
}

impl InterfacesError {
    pub(crate) fn opening(name: &str) -> impl Fn(io::Error) -> Self {
        let name = name.to_owned();
        move |source| Self::Open { name: name.clone(), source }
    }
}

impl Interfaces {
    /// Loopback is on only if the monitor shares the sending interface: elsewhere the echo would use CPU time that is
    /// being measured.
    pub fn open(names: Names<'_>, pattern: &Pattern) -> Result<Self, InterfacesError> {
        let loopback = if names.send == names.monitor { Loopback::On } else { Loopback::Off };
        let mut client = Client::open().map_err(InterfacesError::List)?;
        let send = match pattern.origin {
            Origin::Call => {
                let only_sends = Options { filters: &[], loopback, ..Options::default() };
                let socket = open(&mut client, names.send, &only_sends)?;
                if pattern.inside == Stamps::On {
                    socket.stamp_sending().map_err(InterfacesError::opening(names.send))?;
                }
                Sender::Now(socket)
            }
            Origin::Timer => Sender::Later(open_timed(&mut client, names.send)?),
        };
        let mut listen = |name: &str| match pattern.stamps {
            StampSource::Hardware => AdapterListener::open(&mut client, name).map(Listener::Adapter),
            StampSource::Kernel => {
                let options = Options {
                    stamps: Stamps::On,
                    filters: &[Filter::ALL],
                    loopback: Loopback::Off,
                    ..Options::default()
                };
                open(&mut client, name, &options).map(Listener::Kernel)
            }
        };
        let (monitor, receive) = (listen(names.monitor)?, listen(names.receive)?);
        if pattern.stamps == StampSource::Hardware {
            share_a_clock(names.monitor, names.receive)?;
        }
        Ok(Self { send, monitor, receive })
    }
}

pub(crate) fn open(client: &mut Client, name: &str, options: &Options<'_>) -> Result<CanSocket, InterfacesError> {
    let link = find(client, name)?;
    CanSocket::open(link.index, options).map_err(InterfacesError::opening(name))
}

pub(crate) fn open_timed(client: &mut Client, name: &str) -> Result<TimedSender, InterfacesError> {
    let link = find(client, name)?;
    TimedSender::open(link.index).map_err(|source| match source.raw_os_error() {
        Some(EPROTONOSUPPORT) => InterfacesError::NoTimer { source },
        _ => InterfacesError::opening(name)(source),
    })
}

/// The CAN interface of this name; it has to be up.
pub fn find(client: &mut Client, name: &str) -> Result<Link, InterfacesError> {
    let found = link::by_name(client, name).map_err(InterfacesError::List)?;
    let name = name.to_owned();
    let Some(link) = found else { return Err(InterfacesError::Missing { name }) };
    if link.can.is_none() {
        return Err(InterfacesError::NoCan { name });
    }
    if !link.up {
        return Err(InterfacesError::Down { name });
    }
    Ok(link)
}

impl Bench for Interfaces {
    fn now(&mut self) -> io::Result<RealtimeNs> {
        clock::realtime()
    }

    fn pause(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        let Sender::Now(socket) = &self.send else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        socket.write(&bytes[..len])
    }

    fn send_now_and_later(&mut self, lead: &Frame, frame: &Frame, after: Duration) -> io::Result<()> {
        let Sender::Later(socket) = &self.send else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut bytes = [[0; CANFD_MTU]; 2];
        let lens = [lead.to_kernel(&mut bytes[0]), frame.to_kernel(&mut bytes[1])];
        socket.send_now_and_later(&bytes[0][..lens[0]], &bytes[1][..lens[1]], after)
    }

    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Stamped>> {
        self.receive.next(timeout)
    }

    fn monitored(&mut self, timeout: Duration) -> io::Result<Option<Stamped>> {
        self.monitor.next(timeout)
    }

    fn sending(&mut self, position: u32) -> io::Result<[Option<RealtimeNs>; 2]> {
        let Sender::Now(socket) = &self.send else { return Ok([None; 2]) };
        let mut at = [None; 2];
        socket.read_send_stamps(|stamp| {
            if stamp.number == position {
                at[usize::from(stamp.stage == SendStage::HandedOver)] = Some(stamp.at);
            }
        })?;
        Ok(at)
    }
}

impl Listener {
    fn next(&self, timeout: Duration) -> io::Result<Option<Stamped>> {
        let socket = match self {
            Self::Adapter(listener) => return listener.next(timeout),
            Self::Kernel(socket) => socket,
        };
        if can::poll(&[socket], Some(timeout))?.is_empty() {
            return Ok(None);
        }
        let mut bytes = [0; CANFD_MTU];
        let seen = socket.recv_stamped(&mut bytes)?;
        let frame = Frame::from_kernel(&bytes[..seen.len]).map_err(io::Error::other)?;
        let at = seen.at.ok_or_else(|| io::Error::other("the kernel delivered a frame without a receive stamp"))?;
        Ok(Some(Stamped { frame, at, adapter: None }))
    }
}
