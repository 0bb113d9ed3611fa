//! vhci-hcd: a USB host controller whose devices are peers on sockets.
//!
//! # Kernel
//! Module vhci-hcd, part of usbip in all distributions; several controllers from Linux 4.13 on. It is global, not per
//! network namespace. Attaching needs root.
//!
//! # Source
//! Linux 6.1: [`attach_store()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/vhci_sysfs.c#L314),
//! [`detach_store()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/vhci_sysfs.c#L239),
//! [`status_show()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/vhci_sysfs.c#L153).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_core::realtime::RtPriority;
use candor_io::can::InterfaceIndex;
use candor_io::schedule::{self, Policy};

use crate::exchange::Channel;

const SYSFS: &str = "/sys";
const CONTROLLER: &str = "devices/platform/vhci_hcd.0";
/// `USB_SPEED_HIGH`.
const HIGH_SPEED: u8 = 3;
/// `VDEV_ST_NULL`: the port has no device.
const FREE: u32 = 4;
/// `VDEV_ST_USED`: a device with an address.
const USED: u32 = 6;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VhciError {
    #[error("Cannot use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error(
        "The kernel has no virtual USB host controller: run sudo modprobe vhci-hcd. If that fails, install the package \
         linux-modules-extra-$(uname -r) (Ubuntu), linux-image-amd64 instead of a -cloud- kernel (Debian), or \
         kernel-modules-extra (Fedora)"
    )]
    NoController,
    #[error("The kernel has no driver {0}: run sudo modprobe {0}. If that fails, it is in the package of vhci-hcd")]
    NoDriver(&'static str),
    #[error("All {0} high-speed ports of the virtual USB host controller are in use; `usbip port` lists them")]
    NoPort(usize),
    #[error("Only root can attach devices to the virtual USB host controller: run sudo candor-lab wire …")]
    NotPermitted,
}

#[derive(Clone, Debug)]
pub struct Vhci {
    sysfs: PathBuf,
}

/// A port with one of our devices.
#[derive(Clone, Debug)]
pub struct Port {
    vhci: Vhci,
    number: u32,
}

/// An interface that a driver made for a channel of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netdev {
    pub channel: Channel,
    pub index: InterfaceIndex,
    pub name: String,
}

impl Vhci {
    /// Finds the controller; loads its module if necessary.
    pub fn find() -> Result<Self, VhciError> {
        let vhci = Self { sysfs: SYSFS.into() };
        if !vhci.controller().is_dir() {
            load("vhci-hcd");
        }
        if vhci.controller().is_dir() { Ok(vhci) } else { Err(VhciError::NoController) }
    }

    /// Attaches the peer of a stream to a free high-speed port. The kernel keeps the socket and sends requests at once;
    /// [`Port::netdevs`] appear when they are answered. Its threads for the port get a real-time priority if possible.
    ///
    /// # Errors
    /// [`VhciError`] if the kernel refuses it.
    pub fn attach(&self, stream: &UnixStream) -> Result<Port, VhciError> {
        let before = kernel_threads();
        let port = self.attach_to_free(stream)?;
        for thread in kernel_threads().difference(&before) {
            // The bus thread reports a lack of permission.
            let _refused = prioritise(*thread);
        }
        Ok(port)
    }

    fn attach_to_free(&self, stream: &UnixStream) -> Result<Port, VhciError> {
        let path = self.controller().join("attach");
        let ports: Vec<Status> = self.ports()?.into_iter().filter(|port| port.is_high_speed).collect();
        for port in ports.iter().filter(|port| port.state == FREE) {
            // Bus and device number for `usbip port`; the kernel only displays it.
            let device = 0x1_0000 + port.number;
            let line = format!("{} {} {device} {HIGH_SPEED}", port.number, stream.as_raw_fd());
            match fs::write(&path, line) {
                Ok(()) => return Ok(Port { vhci: self.clone(), number: port.number }),
                // Another process took the port.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(VhciError::NotPermitted),
                Err(source) => return Err(VhciError::File { path, source }),
            }
        }
        Err(VhciError::NoPort(ports.len()))
    }

    fn controller(&self) -> PathBuf {
        self.sysfs.join(CONTROLLER)
    }

    /// The ports of all controllers; the kernel lists those of further controllers in `status.1` and so on.
    fn ports(&self) -> Result<Vec<Status>, VhciError> {
        let mut ports = Vec::new();
        for further in 0.. {
            let name = if further == 0 { "status".to_owned() } else { format!("status.{further}") };
            let path = self.controller().join(name);
            match fs::read_to_string(&path) {
                Ok(text) => ports.extend(text.lines().filter_map(Status::read)),
                Err(error) if further > 0 && error.kind() == io::ErrorKind::NotFound => break,
                Err(source) => return Err(VhciError::File { path, source }),
            }
        }
        Ok(ports)
    }
}

impl Port {
    /// Returns true if the port is free again.
    pub fn is_free(&self) -> Result<bool, VhciError> {
        Ok(self.status()?.is_none_or(|status| status.state == FREE))
    }

    /// The interfaces that exist so far, in the order of their channels.
    pub fn netdevs(&self) -> Result<Vec<Netdev>, VhciError> {
        let Some(status) = self.status()?.filter(|status| status.state == USED) else { return Ok(Vec::new()) };
        let folder = self.vhci.sysfs.join(format!("bus/usb/devices/{}:1.0/net", status.device));
        // Not there yet, or just gone.
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut netdevs: Vec<Netdev> = entries.filter_map(|entry| netdev(&entry.ok()?.path())).collect();
        // Drivers that do not number their interfaces create them in order.
        netdevs.sort_by_key(|netdev| (netdev.channel, netdev.index.number()));
        if netdevs.iter().all(|netdev| netdev.channel == Channel(0)) {
            for (channel, netdev) in (0..).zip(&mut netdevs) {
                netdev.channel = Channel(channel);
            }
        }
        Ok(netdevs)
    }

    fn status(&self) -> Result<Option<Status>, VhciError> {
        Ok(self.vhci.ports()?.into_iter().find(|port| port.number == self.number))
    }
}

/// Loads the driver of the devices, for machines without udev.
pub fn load_driver(name: &'static str) -> Result<(), VhciError> {
    let folder = Path::new(SYSFS).join("bus/usb/drivers").join(name);
    if !folder.is_dir() {
        load(name);
    }
    if folder.is_dir() { Ok(()) } else { Err(VhciError::NoDriver(name)) }
}

/// Success is checked by the caller, because the module may be built in.
fn load(module: &str) {
    let mut modprobe = Command::new("modprobe");
    let _checked_later = modprobe.args(["-q", module]).stdin(Stdio::null()).stderr(Stdio::null()).status();
}

/// Thread ids of the kernel threads that carry the packets of the ports.
fn kernel_threads() -> BTreeSet<u32> {
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let number = |process: io::Result<fs::DirEntry>| process.ok()?.file_name().to_str()?.parse().ok();
    let is_port = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        matches!(name.trim_end(), "vhci_rx" | "vhci_tx")
    };
    processes.filter_map(number).filter(is_port).collect()
}

/// Sets the priority of a port thread. Without it, the thread competes with a process that floods the interface, and a
/// controller runs empty although frames are queued.
fn prioritise(thread: u32) -> io::Result<()> {
    let priority = RtPriority::new(super::PORT_PRIORITY).ok_or(io::ErrorKind::InvalidInput)?;
    schedule::set_policy_of_process(thread, Policy::Fifo(priority))
}

fn netdev(folder: &Path) -> Option<Netdev> {
    let read = |file| fs::read_to_string(folder.join(file)).ok();
    let hexadecimal = |text: String| u8::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
    // gs_usb sets dev_id, and from 6.9 on dev_port.
    let id = read("dev_id").and_then(hexadecimal).unwrap_or(0);
    let port = read("dev_port").and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let index: NonZeroU32 = read("ifindex")?.trim().parse().ok()?;
    Some(Netdev {
        channel: Channel(id.max(port)),
        index: InterfaceIndex::new(index.get())?,
        name: folder.file_name()?.to_str()?.to_owned(),
    })
}

/// A line of `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    is_high_speed: bool,
    number: u32,
    state: u32,
    /// Name of the device in sysfs, if there is one.
    device: String,
}

impl Status {
    /// `None` for the headline.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let is_high_speed = words.next()? == "hs";
        let number = words.next()?.parse().ok()?;
        let state = words.next()?.parse().ok()?;
        Some(Self { is_high_speed, number, state, device: words.next_back()?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Linux 6.1, with a device at port 1.
    const STATUS: &str = "hub port sta spd dev      sockfd local_busid\n\
                          hs  0000 004 000 00000000 000000 0-0\n\
                          hs  0001 006 003 00010001 000005 1-2\n\
                          ss  0015 004 000 00000000 000000 0-0\n\n";

    fn vhci(folder: &tempfile::TempDir) -> Vhci {
        let vhci = Vhci { sysfs: folder.path().into() };
        fs::create_dir_all(vhci.controller()).unwrap();
        fs::write(vhci.controller().join("status"), STATUS).unwrap();
        vhci
    }

    #[test]
    fn ports_of_all_controllers_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let vhci = vhci(&folder);
        fs::write(vhci.controller().join("status.1"), "hs  0030 005 000 00000000 000000 0-0\n").unwrap();
        let port = |is_high_speed, number, state, device: &str| Status {
            is_high_speed,
            number,
            state,
            device: device.to_owned(),
        };
        let expected =
            [port(true, 0, 4, "0-0"), port(true, 1, 6, "1-2"), port(false, 15, 4, "0-0"), port(true, 30, 5, "0-0")];
        assert_eq!(vhci.ports().unwrap(), expected);
    }

    #[test]
    fn attaches_to_first_free_high_speed_port() {
        let folder = tempfile::tempdir().unwrap();
        let vhci = vhci(&folder);
        let attach = vhci.controller().join("attach");
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert_eq!(vhci.attach(&ours).unwrap().number, 0);
        let line = format!("0 {} 65536 3", ours.as_raw_fd());
        assert_eq!(fs::read_to_string(&attach).unwrap(), line);

        let taken = STATUS.replace("0000 004", "0000 005");
        fs::write(vhci.controller().join("status"), taken).unwrap();
        assert!(matches!(vhci.attach(&ours), Err(VhciError::NoPort(2))));
    }

    #[test]
    fn interfaces_are_sorted_by_channel() {
        let folder = tempfile::tempdir().unwrap();
        let port = Port { vhci: vhci(&folder), number: 1 };
        assert_eq!(port.netdevs().unwrap(), [], "no driver yet");
        assert!(!port.is_free().unwrap());
        let net = folder.path().join("bus/usb/devices/1-2:1.0/net");
        for (name, id, dev_port, index) in [("can7", "0x0\n", "0\n", "9\n"), ("can3", "0x1\n", "0\n", "8\n")] {
            fs::create_dir_all(net.join(name)).unwrap();
            for (file, text) in [("dev_id", id), ("dev_port", dev_port), ("ifindex", index)] {
                fs::write(net.join(name).join(file), text).unwrap();
            }
        }
        let of = |netdevs: Vec<Netdev>| {
            netdevs.into_iter().map(|netdev| (netdev.channel.0, netdev.name)).collect::<Vec<_>>()
        };
        assert_eq!(of(port.netdevs().unwrap()), [(0, "can7".to_owned()), (1, "can3".to_owned())]);
        fs::write(net.join("can3/dev_id"), "0x0\n").unwrap();
        let by_index = [(0, "can3".to_owned()), (1, "can7".to_owned())];
        assert_eq!(of(port.netdevs().unwrap()), by_index, "the driver does not number them");
    }
}
