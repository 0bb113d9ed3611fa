//! Who drives a controller, and how many frames are beyond the reach of any queue.

use candor_io::machine::Machine;
use candor_netlink::link::Link;

use super::super::check::{self, Check};

/// Bits of the longest classic frame with 11 bits, stuffed, and the space behind it.
const LONGEST_FRAME_BITS: u64 = 135;

/// Frames that a driver takes before one of them has left, by the name of the driver.
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

/// How many frames the driver of an interface takes before one of them has left, if that is known.
pub(in crate::cmd) fn frames_ahead(machine: &Machine, interface: &str) -> Option<u64> {
    depth(&machine.link(&format!("/sys/class/net/{interface}/device/driver"))?)
}

/// Whether the adapter of an interface comes back from bus-off by itself: its firmware does, and the kernel has no restart to offer.
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
        let kind = link.kind.as_deref().unwrap_or("not told");
        return Check::ok(check::DRIVER, format!("{kind}, no hardware"));
    };
    let usb = if machine.link(&format!("{folder}/subsystem")).as_deref() == Some("usb") {
        "; USB adds up to 1 ms each way"
    } else {
        ""
    };
    let Some(depth) = depth(&driver) else {
        return Check::ok(check::DRIVER, format!("{driver}, how many frames it takes ahead is not known{usb}"));
    };
    let ahead = if depth == 1 { "takes 1 frame".to_owned() } else { format!("takes {depth} frames ahead") };
    let wait = link.can.and_then(|can| can.bitrate).map(|rate| {
        let microseconds = depth * LONGEST_FRAME_BITS * 1_000_000 / u64::from(rate.bits_per_second());
        format!(", so an urgent one may wait {}.{:02} ms", microseconds / 1000, microseconds % 1000 / 10)
    });
    let found = format!("{driver}, {ahead}{}{usb}", wait.unwrap_or_default());
    if driver == "mcp251xfd" {
        return Check::weak(
            check::DRIVER,
            found,
            format!("sudo ethtool -G {} tx 2 (with the interface down)", link.name),
        );
    }
    Check::ok(check::DRIVER, found)
}
