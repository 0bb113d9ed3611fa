//! The driver of a controller, and the frames that it buffers beyond any queue.

use candor_cli::gateway_file::plural;
use candor_io::machine::Machine;
use candor_netlink::link::Link;

use super::super::check::{self, Check};

/// Bits of the longest classic frame with an 11-bit identifier, with stuff bits and interframe space.
const LONGEST_FRAME_BITS: u64 = 135;

/// Frames that each driver buffers.
///
/// # Source
/// Linux 6.12, `drivers/net/can`: `echo_skb_max` of `alloc_candev()`, or the ring of the driver.
const DEPTHS: &[(&str, u64)] = &[
    ("bxcan", 3),
    ("cc770_platform", 1),
    ("ems_usb", 10),
    ("ems_pci", 1),
    ("esd_usb", 16),
    ("f81604", 1),
    ("flexcan", 1),
    ("gs_usb", 10),
    ("hi3110", 1),
    ("kvaser_pci", 1),
    ("kvaser_pciefd", 17),
    ("mcba_usb", 20),
    ("mcp251x", 1),
    ("mcp251xfd", 8),
    ("mscan", 3),
    ("peak_pci", 1),
    ("peak_pciefd", 24),
    ("peak_usb", 10),
    ("plx_pci", 1),
    ("rcar_can", 4),
    ("rcar_canfd", 8),
    ("sja1000_isa", 1),
    ("sja1000_platform", 1),
    ("slcan", 1),
    ("sun4i_can", 1),
    ("usb_8dev", 20),
];

/// Frames that the driver of an interface buffers, if known.
pub(in crate::cmd) fn frames_ahead(machine: &Machine, interface: &str) -> Option<u64> {
    depth(&machine.link(&format!("/sys/class/net/{interface}/device/driver"))?)
}

/// True if the firmware of the adapter restarts after bus-off; the kernel cannot restart it.
///
/// # Source
/// Linux 6.12, `drivers/net/can/usb/gs_usb.c`: no `do_set_mode`.
pub(in crate::cmd) fn recovers_itself(machine: &Machine, interface: &str) -> bool {
    machine.link(&format!("/sys/class/net/{interface}/device/driver")).as_deref() == Some("gs_usb")
}

fn depth(driver: &str) -> Option<u64> {
    DEPTHS.iter().find(|(name, _)| *name == driver).map(|(_, depth)| *depth)
}

pub(in crate::cmd::doctor) fn check(machine: &Machine, link: &Link) -> Check {
    let folder = format!("/sys/class/net/{}/device", link.name);
    let Some(driver) = machine.link(&format!("{folder}/driver")) else {
        let kind = link.kind.as_deref().unwrap_or("unknown kind");
        return Check::ok(check::DRIVER, format!("{kind}, no hardware"));
    };
    let usb = if machine.link(&format!("{folder}/subsystem")).as_deref() == Some("usb") {
        "; USB adds up to 1 ms each way"
    } else {
        ""
    };
    let Some(depth) = depth(&driver) else {
        return Check::ok(check::DRIVER, format!("{driver}, number of buffered frames unknown{usb}"));
    };
    let frames = plural(usize::try_from(depth).unwrap_or(usize::MAX), "frame");
    let wait = link.can.and_then(|can| can.bitrate).map(|rate| {
        let microseconds = depth * LONGEST_FRAME_BITS * 1_000_000 / u64::from(rate.bits_per_second());
        format!(", a high-priority frame may wait {}.{:02} ms", microseconds / 1000, microseconds % 1000 / 10)
    });
    let found = format!("{driver}, buffers {frames}{}{usb}", wait.unwrap_or_default());
    if driver == "mcp251xfd" {
        return Check::weak(
            check::DRIVER,
            found,
            format!("sudo ethtool -G {} tx 2 (with the interface down)", link.name),
        );
    }
    Check::ok(check::DRIVER, found)
}
