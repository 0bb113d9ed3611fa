//! Options of a kernel that guests need.

use crate::arch::Arch;
use crate::job::Topology;
use crate::kernel::Options;

/// Part of the image: the guest's init, and its connection with the host, run before any module is loaded.
const BUILT_IN: &[&str] = &[
    "BINFMT_ELF",
    "BLK_DEV_INITRD",
    "DEVTMPFS",
    "MODULES",
    "NET",
    "PCI",
    "PROC_FS",
    "SERIAL_8250_CONSOLE",
    "SYSFS",
    "TMPFS",
    "UNIX",
    "UNIX98_PTYS",
];

/// Part of the image, or modules.
const ALWAYS: &[&str] = &["CAN", "CAN_RAW", "PACKET"];

/// Port 0xe9 is the guest's channel on x86, a serial port on arm64.
const fn channel(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "X86_IOPL_IOPERM",
        Arch::Arm64 => "SERIAL_8250_PCI",
    }
}

const fn of_topology(topology: Topology) -> &'static [&'static str] {
    match topology {
        Topology::Kvaser => &["CAN_DEV", "CAN_CALC_BITTIMING", "CAN_SJA1000", "CAN_KVASER_PCI"],
        Topology::Vcan => &["CAN_VCAN"],
        Topology::Wire => &["USB", "USBIP_CORE", "USBIP_VHCI_HCD", "CAN_DEV", "CAN_GS_USB"],
    }
}

/// All options that are missing, those that cannot be modules with `=y`.
pub(super) fn missing(options: &Options, topology: Topology, arch: Arch) -> Vec<String> {
    let built_in = BUILT_IN.iter().copied().chain([channel(arch)]).filter(|name| options.value(name) != Some("y"));
    let is_there = |name: &&&str| matches!(options.value(name), Some("y" | "m"));
    let any = ALWAYS.iter().chain(of_topology(topology)).filter(|name| !is_there(name));
    built_in.map(|name| format!("CONFIG_{name}=y")).chain(any.map(|name| format!("CONFIG_{name}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_options_are_named_together() {
        let text: String = { BUILT_IN.iter().chain(["X86_IOPL_IOPERM", "CAN_RAW", "PACKET"].iter()) }
            .filter(|name| **name != "SERIAL_8250_CONSOLE")
            .map(|name| format!("CONFIG_{name}=y\n"))
            .collect();
        let options = |more: &str| Options::parse(&(text.clone() + more));
        let named = |more: &str, topology| missing(&options(more), topology, Arch::X86_64).join(" ");
        assert_eq!(
            named("CONFIG_SERIAL_8250_CONSOLE=m\n# CONFIG_CAN is not set\n", Topology::Vcan),
            "CONFIG_SERIAL_8250_CONSOLE=y CONFIG_CAN CONFIG_CAN_VCAN"
        );
        let all = "CONFIG_SERIAL_8250_CONSOLE=y\nCONFIG_CAN=m\nCONFIG_CAN_VCAN=m\n";
        assert_eq!(named(all, Topology::Vcan), "");
        assert!(named(all, Topology::Kvaser).ends_with("CONFIG_CAN_KVASER_PCI"));
        assert_eq!(missing(&options(all), Topology::Vcan, Arch::Arm64), ["CONFIG_SERIAL_8250_PCI=y"]);
    }
}
