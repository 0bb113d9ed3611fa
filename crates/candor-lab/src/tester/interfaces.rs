//! The tester's two buses as CAN_RAW sockets of this machine.

use std::io;
use std::time::Duration;

use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{self, CanSocket, Loopback, Options, SendStage, Stamps, TimedSender};
use candor_io::clock::{self, RealtimeNs};
use candor_io::errno::EPROTONOSUPPORT;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, Link};

use super::{AdapterEar, Bench, Origin, Pattern, StampSource, Stamped, share_a_clock};

/// How the kernel's stamps are asked for.
pub(super) const KERNELS: &str = "--stamps kernel, or stamps = \"kernel\" in a plan";

/// Three sockets: one sends, one watches the first bus, one receives on the second.
#[derive(Debug)]
pub struct Interfaces {
    send: Sender,
    monitor: Ear,
    receive: Ear,
}

/// What hears a bus.
#[derive(Debug)]
enum Ear {
    Adapter(AdapterEar),
    Kernel(CanSocket),
}

/// What sends on the first bus.
#[derive(Debug)]
enum Sender {
    Now(CanSocket),
    Later(TimedSender),
}

/// The names of the interfaces that [`Interfaces`] opens.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Sends.
    pub send: &'a str,
    /// Watches the first bus. May be the sending interface where an interface is a bus of its own (vcan).
    pub monitor: &'a str,
    /// Receives on the second bus.
    pub receive: &'a str,
}

/// A tester that cannot reach its buses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfacesError {
    /// The kernel's list of interfaces cannot be read.
    #[error("Cannot ask the kernel for its interfaces")]
    List(#[source] NetlinkError),
    /// There is none of this name.
    #[error("There is no interface {name}; `ip link` lists those that are there")]
    Missing {
        /// The name asked for.
        name: String,
    },
    /// It is something else.
    #[error("Interface {name} is no CAN interface")]
    NoCan {
        /// The name asked for.
        name: String,
    },
    /// It is down.
    #[error("Interface {name} is down; bring it up with `ip link set {name} up`")]
    Down {
        /// The name asked for.
        name: String,
    },
    /// The kernel has no broadcast manager.
    #[error("This kernel has no frames from a timer: load the module with `sudo modprobe can-bcm`")]
    NoTimer {
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
    /// Stamps of an adapter were asked for, and two adapters have two clocks.
    #[error(
        "{monitor} and {receive} are not channels of one adapter, and stamps of two clocks cannot be subtracted: watch both buses by \
         channels of one adapter, or take the kernel's stamps ({KERNELS})"
    )]
    TwoClocks {
        /// Watches the first bus.
        monitor: String,
        /// Receives on the second.
        receive: String,
    },
    /// Stamps of an adapter were asked for, and one interface hears both.
    #[error(
        "{name} is monitor and far side at once, so that both stamps of a frame would be one: the adapter's stamps need two of its \
         channels"
    )]
    OneInterface {
        /// The name asked for.
        name: String,
    },
    /// Stamps of an adapter were asked for, and there is none.
    #[error(
        "Interface {name} has no adapter that could stamp (no /sys/class/net/{name}/device): take the kernel's \
         stamps ({KERNELS})"
    )]
    NoAdapter {
        /// The name asked for.
        name: String,
    },
    /// Stamps of an adapter were asked for, and it takes none.
    #[error(
        "The adapter of {name} takes no receive stamps, or its driver does not tell them (`ethtool -T {name}`): take the \
         kernel's stamps ({KERNELS})"
    )]
    NoAdapterStamps {
        /// The name asked for.
        name: String,
    },
    /// What an interface is cannot be learnt.
    #[error("Cannot find out whether the adapter of {name} stamps frames")]
    Ask {
        /// The name asked for.
        name: String,
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
    /// The socket cannot be opened.
    #[error("Cannot open a CAN socket on {name}")]
    Open {
        /// The name asked for.
        name: String,
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
}

impl Interfaces {
    /// Opens the sockets. The sender's frames are seen by other sockets of this machine only if the monitor sits on
    /// the same interface: everywhere else the echo would run on the processor that is being measured. The pattern says what sends and
    /// whose stamps are taken.
    ///
    /// # Errors
    /// [`InterfacesError`] names the interface and what is wrong with it.
    pub fn open(names: Names<'_>, pattern: &Pattern) -> Result<Self, InterfacesError> {
        let loopback = if names.send == names.monitor { Loopback::On } else { Loopback::Off };
        let mut client = Client::open().map_err(InterfacesError::List)?;
        let send = match pattern.origin {
            Origin::Call => {
                let only_sends = Options { filters: &[], loopback, ..Options::default() };
                let socket = open(&mut client, names.send, &only_sends)?;
                if pattern.inside == Stamps::On {
                    socket
                        .stamp_sending()
                        .map_err(|source| InterfacesError::Open { name: names.send.to_owned(), source })?;
                }
                Sender::Now(socket)
            }
            Origin::Timer => Sender::Later(open_timed(&mut client, names.send)?),
        };
        let mut listen = |name: &str| match pattern.stamps {
            StampSource::Hardware => AdapterEar::open(&mut client, name).map(Ear::Adapter),
            StampSource::Kernel => {
                let options = Options {
                    stamps: Stamps::On,
                    filters: &[Filter::ALL],
                    loopback: Loopback::Off,
                    ..Options::default()
                };
                open(&mut client, name, &options).map(Ear::Kernel)
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
    CanSocket::open(link.index, options).map_err(|source| InterfacesError::Open { name: name.to_owned(), source })
}

pub(crate) fn open_timed(client: &mut Client, name: &str) -> Result<TimedSender, InterfacesError> {
    let link = find(client, name)?;
    TimedSender::open(link.index).map_err(|source| match source.raw_os_error() {
        // The kernel has CAN, but no broadcast manager.
        Some(EPROTONOSUPPORT) => InterfacesError::NoTimer { source },
        _ => InterfacesError::Open { name: name.to_owned(), source },
    })
}

/// The CAN interface of this name, if it is up.
///
/// # Errors
/// [`InterfacesError`] says what is wrong with it.
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

impl Ear {
    /// The next frame, waiting for it at most so long.
    fn next(&self, timeout: Duration) -> io::Result<Option<Stamped>> {
        let socket = match self {
            Self::Adapter(ear) => return ear.next(timeout),
            Self::Kernel(socket) => socket,
        };
        if can::poll(&[socket], Some(timeout))?.is_empty() {
            return Ok(None);
        }
        let mut bytes = [0; CANFD_MTU];
        let seen = socket.recv_stamped(&mut bytes)?;
        let frame = Frame::from_kernel(&bytes[..seen.len]).map_err(io::Error::other)?;
        let at = seen.at.ok_or_else(|| io::Error::other("the kernel gave a frame without its receive stamp"))?;
        Ok(Some(Stamped { frame, at, adapter: None }))
    }
}
