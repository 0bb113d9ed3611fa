//! Names and numbers of interfaces, disciplines, classes and filters.

use super::args::Wrong;
use super::units::{hex, number};
use crate::filter::{ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD};
use crate::handle::{Handle, HandleError};
use candor_core::document::quote;
use candor_core::interface_name::{self, InterfaceNameError};

/// The name of an interface, or the variable that stands for it.
pub(super) fn interface(text: &str) -> Result<String, Wrong> {
    if !text.starts_with('$') {
        let wrong = |error: InterfaceNameError| Wrong::new(error.to_string(), "write the name that `ip link` prints");
        interface_name::check(text).map_err(wrong)?;
    }
    Ok(text.to_owned())
}

/// `1:`, `1:2`, or one of the kernel's words for a place.
pub(super) fn handle(text: &str) -> Result<Handle, Wrong> {
    text.parse().map_err(|_no_handle: HandleError| {
        Wrong::new(format!("{} is no handle", quote(text)), "write it as in 1: or 1:2, in hexadecimal")
    })
}

/// The name of a discipline, with or without its colon.
pub(super) fn qdisc_handle(text: &str) -> Result<Handle, Wrong> {
    let with_colon = if text.contains(':') { text.to_owned() } else { format!("{text}:") };
    match handle(&with_colon) {
        Ok(handle) if handle.minor() == 0 && handle.major() != 0 => Ok(handle),
        _ => Err(Wrong::new(format!("{} is no name of a discipline", quote(text)), "write it as in 1: (hexadecimal)")),
    }
}

/// The name of a class.
pub(super) fn class_handle(text: &str) -> Result<Handle, Wrong> {
    match handle(text) {
        Ok(handle) if handle.minor() != 0 && text.contains(':') => Ok(handle),
        _ => Err(Wrong::new(format!("{} is no name of a class", quote(text)), "write it as in 1:2 (hexadecimal)")),
    }
}

/// `all`, `can`, or a number. `canfd` is candor's.
pub(super) fn protocol(text: &str) -> Result<u16, Wrong> {
    let help = "write all, can (classic frames only), canfd (0x000d) or a number";
    match text {
        "all" => Ok(ETH_P_ALL),
        "can" => Ok(ETH_P_CAN),
        "canfd" => Ok(ETH_P_CANFD),
        _ => number(text)
            .ok()
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| Wrong::new(format!("{} is no protocol of CAN", quote(text)), help)),
    }
}

pub(super) fn preference(text: &str) -> Result<u16, Wrong> {
    let number = number(text)?;
    u16::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| {
        Wrong::new("The order of a filter goes from 1 to 65535", "write a smaller number; lower ones are asked first")
    })
}

/// A handle of `u32`: table, slot and node, in hexadecimal, such as `1:`, `1:a:` and `800::801`; or all in one with 0x.
pub(super) fn node(text: &str) -> Result<u32, Wrong> {
    let wrong =
        || Wrong::new(format!("{} is no handle of u32", quote(text)), "write TABLE:SLOT:NODE, such as 1: or 1:a:");
    if !text.contains(':') {
        return if text.starts_with("0x") { hex(text) } else { Err(wrong()) };
    }
    let mut fields = text.split(':');
    let mut field = |bits: u32| match fields.next() {
        None | Some("") => Ok(0),
        Some(digits) => hex(digits).ok().filter(|number| number >> bits == 0).ok_or_else(wrong),
    };
    let (table, slot, node) = (field(12)?, field(8)?, field(12)?);
    if fields.next().is_some() { Err(wrong()) } else { Ok(table << 20 | slot << 12 | node) }
}
