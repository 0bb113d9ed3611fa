//! Drivers of CAN controllers.

use candor_io::machine::Machine;

/// Frames that the driver of an interface buffers, if known.
pub(crate) fn frames_ahead(machine: &Machine, interface: &str) -> Option<u64> {
    depth(&machine.link(&format!("/sys/class/net/{interface}/device/driver"))?)
}

/// True if the firmware of the adapter restarts after bus-off; the kernel cannot restart it.
///
/// # Source
/// Linux 6.12: [`gs_make_candev()`](https://github.com/gregkh/linux/blob/v6.12.117/drivers/net/can/usb/gs_usb.c#L1301) sets no
/// `do_set_mode`.
pub(crate) fn recovers_itself(machine: &Machine, interface: &str) -> bool {
    machine.link(&format!("/sys/class/net/{interface}/device/driver")).as_deref() == Some("gs_usb")
}

/// Frames that a driver buffers, if known.
///
/// # Source
/// Linux 6.12: `echo_skb_max` of [`alloc_candev_mqs()`](https://github.com/gregkh/linux/blob/v6.12.117/drivers/net/can/dev/dev.c#L255)
/// in each driver, or its ring.
pub(crate) fn depth(driver: &str) -> Option<u64> {
    match driver {
        "cc770_platform" | "ems_pci" | "f81604" | "flexcan" | "hi3110" | "kvaser_pci" | "mcp251x" => Some(1),
        "peak_pci" | "plx_pci" | "sja1000_isa" | "sja1000_platform" | "slcan" | "sun4i_can" => Some(1),
        "bxcan" | "mscan" => Some(3),
        "rcar_can" => Some(4),
        "mcp251xfd" | "rcar_canfd" => Some(8),
        "ems_usb" | "gs_usb" | "peak_usb" => Some(10),
        "esd_usb" => Some(16),
        "kvaser_pciefd" => Some(17),
        "mcba_usb" | "usb_8dev" => Some(20),
        "peak_pciefd" => Some(24),
        _ => None,
    }
}
