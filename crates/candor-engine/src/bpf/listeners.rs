//! Sockets of other programs on an interface, which do not receive the frames of exclusive routes.
//!
//! # Source
//! Linux 7.0: [`can_rcvlist_proc_show()`](https://github.com/torvalds/linux/blob/v7.0/net/can/proc.c).

use std::collections::BTreeMap;

use candor_config::placement::{KernelAbilities, Placement, Side};
use candor_config::plan::{BusIndex, Plan, RouteIndex};

use candor_userspace::notice::Notice;

/// One file for each way to compare identifiers; error frames never pass a program.
const LISTS: [&str; 5] = ["all", "fil", "inv", "sff", "eff"];
/// Receivers that are jobs of can-gw.
const CANGW: &str = "gw";

/// What is to be said about sockets of this machine that do not receive the frames of exclusive routes: for each bus, by the
/// first of its routes. `in_program` says which routes run in programs.
pub(crate) fn deaf(plan: &Plan, in_program: impl Fn(RouteIndex) -> bool) -> Vec<Notice> {
    let routes = plan.routes().iter().enumerate().rev();
    let exclusive = routes.filter(|(at, route)| route.is_exclusive && in_program(RouteIndex(*at)));
    let by_bus: BTreeMap<BusIndex, &String> =
        candor_core::order::map(exclusive.map(|(_, route)| (route.from, &route.name)));
    let notice = |(bus, route): (BusIndex, &String)| {
        let interface = plan.bus(bus).interface.clone();
        let sockets = count(&interface);
        (sockets > 0).then(|| Notice::Deaf { route: route.clone(), interface, sockets })
    };
    by_bus.into_iter().filter_map(notice).collect()
}

/// What is to be said if this machine runs the file: sockets of other programs that will not receive the frames of exclusive
/// routes. Nothing without the interfaces of the file.
#[must_use]
pub fn deaf_sockets(plan: &Plan) -> Vec<Notice> {
    let Some(placement) = Placement::known(plan, KernelAbilities::NEWEST) else { return Vec::new() };
    deaf(plan, |route| placement.side(route) == Side::Bpf)
}

/// Receivers on this interface, or on all, that are not jobs of can-gw. 0 if the kernel does not list them.
fn count(interface: &str) -> usize {
    let read = |list| std::fs::read_to_string(format!("/proc/net/can/rcvlist_{list}")).unwrap_or_default();
    LISTS.into_iter().map(|list| count_in(&read(list), interface)).sum()
}

/// Lines are `device can_id can_mask function userdata matches ident`.
fn count_in(list: &str, interface: &str) -> usize {
    let is_one = |line: &&str| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        words.len() == 7
            && [interface, "any"].contains(&words[0])
            && u32::from_str_radix(words[1], 16).is_ok()
            && words[6] != CANGW
    };
    list.lines().filter(is_one).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_of_an_interface_and_of_all_are_counted() {
        let list = "\nreceive list 'rx_all':\n\
            \x20 device   can_id   can_mask  function  userdata   matches  ident\n\
            \x20  can0     000   00000000  0000000000000000  0000000000000000         0  raw\n\
            \x20 device   can_id   can_mask  function  userdata   matches  ident\n\
            \x20  any      000   00000000  0000000000000000  0000000000000000        12  bcm\n\
            \x20  can0     123   000007ff  0000000000000000  0000000000000000         3  gw\n\
            \x20  can1     123   000007ff  0000000000000000  0000000000000000         3  raw\n\
            \x20  (can2: no entry)\n";
        assert_eq!((count_in(list, "can0"), count_in(list, "can2"), count_in("", "can0")), (2, 1, 0));
    }
}
