//! Both sides as CAN_RAW sockets.

pub use crate::tester::InterfacesError;

use std::io;
use std::time::Duration;

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_MTU, Frame};
use candor_io::can::{self, CanSocket, Options, Stamps};
use candor_io::clock::RealtimeNs;
use candor_io::errno::ENOBUFS;
use candor_netlink::client::Client;
use candor_netlink::link::Link;

use super::{Bench, Received, Side};
use crate::tester::{interfaces, to_kernel};

/// Maximum time that a transmit queue may stay full.
const QUEUE_PATIENCE: Duration = Duration::from_secs(2);
const QUEUE_LOOK: Duration = Duration::from_millis(1);
/// A frame takes about 800 bytes.
const RECEIVE_BUFFER_BYTES: u32 = 8 << 20;
const VIRTUAL_KINDS: [&str; 2] = ["vcan", "vxcan"];

/// A socket on each side, which does not receive its own frames.
#[derive(Debug)]
pub struct Interfaces {
    from: End,
    to: End,
}

#[derive(Debug)]
struct End {
    link: Link,
    socket: CanSocket,
}

impl Interfaces {
    pub fn open(from: &str, to: &str) -> Result<Self, InterfacesError> {
        let mut client = Client::open().map_err(InterfacesError::List)?;
        Ok(Self { from: End::open(&mut client, from)?, to: End::open(&mut client, to)? })
    }

    /// The first interface that only takes classic frames.
    pub fn without_fd(&self) -> Option<&str> {
        let ends = [&self.from, &self.to];
        ends.into_iter().find(|end| (end.link.mtu as usize) < CANFD_MTU).map(|end| end.link.name.as_str())
    }

    /// The first interface that is not virtual.
    pub fn real(&self) -> Option<&str> {
        let ends = [&self.from, &self.to];
        ends.into_iter().find(|end| !is_virtual(&end.link)).map(|end| end.link.name.as_str())
    }

    const fn end(&self, side: Side) -> &End {
        match side {
            Side::From => &self.from,
            Side::To => &self.to,
        }
    }
}

impl End {
    fn open(client: &mut Client, name: &str) -> Result<Self, InterfacesError> {
        let link = interfaces::find(client, name)?;
        // A controller reports errors of its own bus, not of the gateway.
        let errors = Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK };
        let filters: &[Filter] = if is_virtual(&link) { &[Filter::ALL, errors] } else { &[Filter::ALL] };
        let options = Options { filters, stamps: Stamps::On, ..Options::default() };
        let socket = CanSocket::open(link.index, &options).map_err(InterfacesError::opening(name))?;
        socket.set_receive_buffer(RECEIVE_BUFFER_BYTES).map_err(InterfacesError::opening(name))?;
        Ok(Self { link, socket })
    }

    fn take(&self) -> io::Result<Option<(Frame, RealtimeNs)>> {
        let mut bytes = [0; CANFD_MTU];
        let Some(seen) = self.socket.recv_waiting(&mut bytes)? else { return Ok(None) };
        let frame = Frame::from_kernel(&bytes[..seen.len]).map_err(io::Error::other)?;
        let at = seen.at.ok_or_else(|| io::Error::other("the kernel delivered a frame without a receive stamp"))?;
        Ok(Some((frame, at)))
    }
}

impl Bench for Interfaces {
    fn send(&mut self, side: Side, frame: &Frame) -> io::Result<()> {
        let (bytes, len) = to_kernel(frame);
        let mut waited = Duration::ZERO;
        loop {
            match self.end(side).socket.write(&bytes[..len]) {
                Err(error) if error.raw_os_error() == Some(ENOBUFS) && waited < QUEUE_PATIENCE => {
                    self.pause(QUEUE_LOOK);
                    waited += QUEUE_LOOK;
                }
                result => return result,
            }
        }
    }

    fn receive(&mut self, timeout: Duration) -> io::Result<Option<Received>> {
        for patience in [Duration::ZERO, timeout] {
            let ready = can::poll(&[&self.from.socket, &self.to.socket], Some(patience))?;
            for (position, side) in [Side::From, Side::To].into_iter().enumerate() {
                if ready.contains(position)
                    && let Some((frame, _at)) = self.end(side).take()?
                {
                    return Ok(Some(Received { side, frame }));
                }
            }
        }
        Ok(None)
    }

    fn pause(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn stamps(&mut self, frame: &Frame, timeout: Duration) -> io::Result<Option<(RealtimeNs, RealtimeNs)>> {
        // A socket does not receive its own frames.
        let options = Options { stamps: Stamps::On, ..Options::default() };
        let monitor = CanSocket::open(self.from.link.index, &options)?;
        self.send(Side::From, frame)?;
        if can::poll(&[&self.to.socket], Some(timeout))?.is_empty() || can::poll(&[&monitor], Some(timeout))?.is_empty()
        {
            return Ok(None);
        }
        let sent = monitor.recv_stamped(&mut [0; CANFD_MTU])?.at;
        Ok(sent.zip(self.to.take()?.map(|(_frame, at)| at)))
    }

    fn missed(&mut self) -> io::Result<u32> {
        Ok(self.from.socket.dropped()?.saturating_add(self.to.socket.dropped()?))
    }
}

fn is_virtual(link: &Link) -> bool {
    link.kind.as_deref().is_some_and(|kind| VIRTUAL_KINDS.contains(&kind))
}
