//! Sockets with adapter stamps, and interfaces that share a clock.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_core::frame::{CANFD_MTU, Frame};
use candor_io::can::{self, AdapterReceiver, TwiceStamped};
use candor_io::clock::AdapterNs;
use candor_netlink::client::Client;

use super::Stamped;
use super::interfaces::{InterfacesError, KERNELS, find};

const INTERFACES: &str = "/sys/class/net";

/// Buffer space of a waiting frame, as the kernel counts it.
const WAITING_BYTES: u32 = 1024;

#[derive(Debug)]
pub(crate) struct AdapterListener {
    receiver: AdapterReceiver,
    name: String,
}

impl AdapterListener {
    pub(crate) fn open(client: &mut Client, name: &str) -> Result<Self, InterfacesError> {
        let link = find(client, name)?;
        let receiver = AdapterReceiver::open(link.index).map_err(InterfacesError::opening(name))?;
        Ok(Self { receiver, name: name.to_owned() })
    }

    /// With room for this many unread frames. The kernel may grant less; see [`missed`](Self::missed).
    pub(crate) fn open_with_room(client: &mut Client, name: &str, frames: usize) -> Result<Self, InterfacesError> {
        let listener = Self::open(client, name)?;
        let bytes = u32::try_from(frames).unwrap_or(u32::MAX).saturating_mul(WAITING_BYTES);
        listener.receiver.set_receive_buffer(bytes).map_err(InterfacesError::opening(name))?;
        Ok(listener)
    }

    /// Fails if the adapter has not stamped the frame.
    pub(crate) fn next(&self, timeout: Duration) -> io::Result<Option<Stamped>> {
        if !self.receiver.wait(timeout)? {
            return Ok(None);
        }
        self.waiting()
    }

    pub(crate) fn waiting(&self) -> io::Result<Option<Stamped>> {
        let mut bytes = [0; CANFD_MTU];
        let received = self.receiver.recv_waiting(&mut bytes)?;
        received.map(|seen| stamped(&self.name, &bytes, seen)).transpose()
    }

    /// Frames dropped for lack of buffer space; wraps.
    pub(crate) fn missed(&self) -> io::Result<u32> {
        self.receiver.dropped()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Requires both stamps: one series must not mix stamps of kernel and adapter.
fn stamped(name: &str, bytes: &[u8], seen: TwiceStamped) -> io::Result<Stamped> {
    let frame = Frame::from_kernel(&bytes[..seen.len]).map_err(io::Error::other)?;
    if seen.adapter.is_none() {
        let message = format!(
            "{name} delivered the frame {frame} without an adapter stamp, and all stamps of a series need one source: use \
             the kernel's stamps ({KERNELS})"
        );
        return Err(io::Error::other(message));
    }
    Ok(Stamped { frame, at: seen.kernel, adapter: seen.adapter })
}

/// Checks that one clock stamps frames on both interfaces: they are channels of one adapter that takes stamps.
///
/// # Kernel
/// Channels of one USB interface or PCI function share a device. gs_usb before 6.5 still had one clock per channel.
pub fn share_a_clock(monitor: &str, receive: &str) -> Result<(), InterfacesError> {
    have_one_device(Path::new(INTERFACES), monitor, receive)?;
    for name in [monitor, receive].map(str::to_owned) {
        match can::stamps_receptions(&name) {
            Ok(true) => {}
            Ok(false) => return Err(InterfacesError::NoAdapterStamps { name }),
            Err(source) => return Err(InterfacesError::Ask { name, source }),
        }
    }
    Ok(())
}

fn have_one_device(interfaces: &Path, monitor: &str, receive: &str) -> Result<(), InterfacesError> {
    if monitor == receive {
        return Err(InterfacesError::OneInterface { name: monitor.to_owned() });
    }
    if device(interfaces, monitor)? == device(interfaces, receive)? {
        return Ok(());
    }
    Err(InterfacesError::TwoClocks { monitor: monitor.to_owned(), receive: receive.to_owned() })
}

fn device(interfaces: &Path, name: &str) -> Result<PathBuf, InterfacesError> {
    let name = name.to_owned();
    match interfaces.join(&name).join("device").canonicalize() {
        Ok(device) => Ok(device),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(InterfacesError::NoAdapter { name }),
        Err(source) => Err(InterfacesError::Ask { name, source }),
    }
}

/// Places stamps on the time line of the record.
///
/// Kernel stamps stay as they are. Adapter stamps, whose clock starts anywhere, are shifted by one constant so that the
/// first of a series falls on the kernel stamp of its frame. Differences remain the adapter's own; the series drifts
/// against the machine's clock as the two clocks do.
#[derive(Debug, Default)]
pub(crate) struct TimeLine {
    /// Start of the adapter's clock on the time line of the record.
    adapter_begins_ns: Option<i64>,
}

impl TimeLine {
    pub(crate) fn place(&mut self, kernel_ns: i64, adapter: Option<AdapterNs>) -> i64 {
        let Some(AdapterNs(adapter_ns)) = adapter else { return kernel_ns };
        let begin = *self.adapter_begins_ns.get_or_insert_with(|| kernel_ns.saturating_sub(adapter_ns));
        adapter_ns.saturating_add(begin)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use candor_io::clock::RealtimeNs;

    use super::*;

    #[test]
    fn channels_of_one_adapter_share_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("net");
        for (device, names) in [("1-1:1.0", vec!["can0", "can1"]), ("1-2:1.0", vec!["can2"])] {
            fs::create_dir_all(folder.path().join(device)).unwrap();
            for name in names {
                fs::create_dir_all(net.join(name)).unwrap();
                symlink(format!("../../{device}"), net.join(name).join("device")).unwrap();
            }
        }
        fs::create_dir(net.join("vcan0")).unwrap();
        let of = |monitor, receive| have_one_device(&net, monitor, receive).map_err(|error| error.to_string());
        assert_eq!(of("can0", "can1"), Ok(()));
        let refused = |monitor, receive| of(monitor, receive).unwrap_err();
        assert_eq!(
            refused("can0", "can2"),
            "can0 and can2 are not channels of one adapter, and stamps of two clocks cannot be subtracted: monitor both buses with \
             channels of one adapter, or use the kernel's stamps (--stamps kernel, or stamps = \"kernel\" in a plan)"
        );
        assert!(refused("can0", "can0").starts_with("can0 is both monitor and receiver"));
        let message =
            "Interface vcan0 has no adapter to take stamps (no /sys/class/net/vcan0/device): use the kernel's stamps";
        for of_virtual in [refused("can0", "vcan0"), refused("vcan0", "can0")] {
            assert!(of_virtual.starts_with(message), "{of_virtual}");
        }
    }

    #[test]
    fn missing_adapter_stamp_is_an_error() {
        let (frame, mut bytes): (Frame, _) = ("123#0007".parse().unwrap(), [0; CANFD_MTU]);
        let len = frame.to_kernel(&mut bytes);
        let (at, adapter) = (RealtimeNs(5), Some(AdapterNs(900)));
        let seen = TwiceStamped { len, kernel: at, adapter };
        assert_eq!(stamped("can4", &bytes, seen).unwrap(), Stamped { frame, at, adapter });
        let error = stamped("can4", &bytes, TwiceStamped { adapter: None, ..seen }).unwrap_err().to_string();
        assert!(error.starts_with("can4 delivered the frame 123#0007 without an adapter stamp"), "{error}");
    }

    #[test]
    fn adapter_stamps_are_shifted_by_one_constant() {
        let mut line = TimeLine::default();
        let mut place = |kernel_ns, adapter_ns| line.place(kernel_ns, Some(AdapterNs(adapter_ns)));
        assert_eq!(place(1_000, 7_000_000), 1_000);
        // Independent of the kernel stamps of later frames.
        assert_eq!((place(1_900, 7_000_350), place(0, 6_999_900)), (1_350, 900));
        assert_eq!((place(0, i64::MAX), place(0, i64::MIN)), (i64::MAX - 6_999_000, i64::MIN));
    }

    #[test]
    fn kernel_stamps_are_unchanged() {
        let mut line = TimeLine::default();
        assert_eq!([5, -3, 900].map(|ns| line.place(ns, None)), [5, -3, 900]);
    }
}
