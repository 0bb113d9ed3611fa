//! vhci-hcd: a USB host controller whose devices are at the other end of sockets.
//!
//! # Kernel
//! Module vhci-hcd, in all distributions a part of usbip; Linux 4.13 for several controllers. It belongs to the whole
//! machine, not to a network namespace. Attaching needs root.
//!
//! # Source
//! `drivers/usb/usbip/vhci_sysfs.c`.

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
/// `VDEV_ST_NULL`: nothing is plugged in.
const FREE: u32 = 4;
/// `VDEV_ST_USED`: a device with an address.
const USED: u32 = 6;

/// Why there is no port for a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VhciError {
    /// The controller cannot be used.
    #[error("Cannot use {path}")]
    File {
        /// Which of its files.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No module.
    #[error(
        "This kernel has no virtual USB host controller: type: sudo modprobe vhci-hcd. Where that fails, it is in the \
         package linux-modules-extra-$(uname -r) (Ubuntu), in linux-image-amd64 but not in the -cloud- kernels \
         (Debian), in kernel-modules-extra (Fedora)"
    )]
    NoController,
    /// No driver.
    #[error(
        "This kernel has no driver {0}: type: sudo modprobe {0}. Where that fails, it is in the package of vhci-hcd"
    )]
    NoDriver(&'static str),
    /// All ports are taken.
    #[error("All {0} high-speed ports of the virtual USB host controller are taken; `usbip port` lists by what")]
    NoPort(usize),
    /// Not root.
    #[error("Only root can plug devices into the virtual USB host controller: type: sudo candor-lab wire …")]
    NotPermitted,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Vhci {
    sysfs: PathBuf,
}

/// A port with a device of ours.
#[derive(Clone, Debug)]
pub struct Port {
    vhci: Vhci,
    number: u32,
}

/// An interface that a driver made for a channel of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netdev {
    /// Which controller of the device it is.
    pub channel: Channel,
    /// Its number.
    pub index: InterfaceIndex,
    /// Its name just now.
    pub name: String,
}

impl Vhci {
    /// The controller of this machine; loads its module if it is not there yet.
    ///
    /// # Errors
    /// [`VhciError::NoController`] if there is none.
    pub fn find() -> Result<Self, VhciError> {
        let vhci = Self { sysfs: SYSFS.into() };
        if !vhci.controller().is_dir() {
            load("vhci-hcd");
        }
        if vhci.controller().is_dir() { Ok(vhci) } else { Err(VhciError::NoController) }
    }

    /// Gives the other end of a stream to the kernel, as a device at a free high-speed port. The kernel holds it from
    /// then on, and its threads for the port get a real-time priority if they may. It begins to ask at once, and only if that is answered there will be [`Port::netdevs`].
    ///
    /// # Errors
    /// [`VhciError`] if the kernel does not take it.
    pub fn attach(&self, stream: &UnixStream) -> Result<Port, VhciError> {
        let before = kernel_threads();
        let port = self.attach_to_free(stream)?;
        for thread in kernel_threads().difference(&before) {
            // Who may not has been told that about the thread of the buses.
            let _refused = hurry(*thread);
        }
        Ok(port)
    }

    fn attach_to_free(&self, stream: &UnixStream) -> Result<Port, VhciError> {
        let path = self.controller().join("attach");
        let ports: Vec<Status> = self.ports()?.into_iter().filter(|port| port.is_high_speed).collect();
        for port in ports.iter().filter(|port| port.state == FREE) {
            // A number that says which one it is in `usbip port`; the kernel only shows it.
            let device = 0x1_0000 + port.number;
            let line = format!("{} {} {device} {HIGH_SPEED}", port.number, stream.as_raw_fd());
            match fs::write(&path, line) {
                Ok(()) => return Ok(Port { vhci: self.clone(), number: port.number }),
                // Somebody was faster.
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

    /// All ports, of all controllers: the kernel shows those of the further ones in `status.1` and so on.
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
    /// Whether the port is free again.
    ///
    /// # Errors
    /// [`VhciError::File`] if the controller does not say.
    pub fn is_free(&self) -> Result<bool, VhciError> {
        Ok(self.status()?.is_none_or(|status| status.state == FREE))
    }

    /// The interfaces of the device so far, in the order of their channels.
    ///
    /// # Errors
    /// [`VhciError::File`] if the controller does not say.
    pub fn netdevs(&self) -> Result<Vec<Netdev>, VhciError> {
        let Some(status) = self.status()?.filter(|status| status.state == USED) else { return Ok(Vec::new()) };
        let folder = self.vhci.sysfs.join(format!("bus/usb/devices/{}:1.0/net", status.device));
        // Not there yet, or just gone.
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut netdevs: Vec<Netdev> = entries.filter_map(|entry| netdev(&entry.ok()?.path())).collect();
        // Drivers that do not number their interfaces make them in order.
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

/// Loads the driver of the devices, which nobody else does on machines without udev.
///
/// # Errors
/// [`VhciError::NoDriver`] if there is none.
pub fn load_driver(name: &'static str) -> Result<(), VhciError> {
    let folder = Path::new(SYSFS).join("bus/usb/drivers").join(name);
    if !folder.is_dir() {
        load(name);
    }
    if folder.is_dir() { Ok(()) } else { Err(VhciError::NoDriver(name)) }
}

/// Whether it worked is to be seen from what is there afterwards: it may be built in.
fn load(module: &str) {
    let mut modprobe = Command::new("modprobe");
    let _seen_later = modprobe.args(["-q", module]).stdin(Stdio::null()).stderr(Stdio::null()).status();
}

/// The threads of the kernel that carry the packets of the ports, by their numbers.
fn kernel_threads() -> BTreeSet<u32> {
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let number = |process: io::Result<fs::DirEntry>| process.ok()?.file_name().to_str()?.parse().ok();
    let is_port = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        matches!(name.trim_end(), "vhci_rx" | "vhci_tx")
    };
    processes.filter_map(number).filter(is_port).collect()
}

/// Gives such a thread its priority. Without one it shares the processor with whoever floods the
/// interface, and a controller of a fast bus runs empty although frames wait for it.
fn hurry(thread: u32) -> io::Result<()> {
    let priority = RtPriority::new(super::PORT_PRIORITY).ok_or(io::ErrorKind::InvalidInput)?;
    schedule::set_policy_of_process(thread, Policy::Fifo(priority))
}

fn netdev(folder: &Path) -> Option<Netdev> {
    let read = |file| fs::read_to_string(folder.join(file)).ok();
    let hexadecimal = |text: String| u8::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
    // gs_usb has used the one and, from 6.9 on, the other.
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
    /// Bus and port as sysfs names the device, once there is one.
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

    /// Of Linux 6.1, with a device at port 1.
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
    fn ports_are_read_from_all_controllers() {
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
    fn the_first_free_high_speed_port_is_taken() {
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
    fn interfaces_come_in_the_order_of_their_channels() {
        let folder = tempfile::tempdir().unwrap();
        let port = Port { vhci: vhci(&folder), number: 1 };
        assert_eq!(port.netdevs().unwrap(), [], "the driver has not come yet");
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
