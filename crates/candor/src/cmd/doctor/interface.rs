//! One CAN interface: its state, configuration, queue, driver and interrupt.

mod driver;
mod interrupt;

pub(super) use driver::check as driver;
pub(in crate::cmd) use driver::{frames_ahead, recovers_itself};
pub(super) use interrupt::{InterruptThread, interrupt_threads};

use candor_core::frame::CANFD_MTU;
use candor_core::units::BitRate;
use candor_io::machine::Machine;
use candor_netlink::link::{CanState, Link};

use super::check::{self, Check};
use super::needs::{Needs, Wanted};

/// The default of most drivers, and less than a typical burst.
const SHORT_QUEUE: u32 = 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    pub(super) links: Vec<Link>,
    /// Kind of the root qdisc by interface index.
    pub(super) roots: Vec<(u32, String)>,
}

impl Network {
    fn root(&self, link: &Link) -> Option<&str> {
        let number = link.index.number();
        self.roots.iter().find(|(index, _)| *index == number).map(|(_, kind)| kind.as_str())
    }
}

/// Checks of an interface in the file.
pub(super) fn of_file(
    machine: &Machine,
    network: &Network,
    threads: &[InterruptThread],
    needs: &Needs,
    wanted: &Wanted,
) -> Vec<Check> {
    let name = &wanted.bus.interface;
    let link = network.links.iter().find(|link| link.name == *name);
    match link {
        Some(link) if link.can.is_some() => of_link(machine, network, threads, needs, link, Some(wanted)),
        Some(_) => vec![Check::missing(
            check::INTERFACE,
            format!("{name} is not a CAN interface"),
            "choose another one: ip link show type can, ip link show type vcan",
        )],
        None => {
            let there: Vec<_> =
                network.links.iter().filter(|link| link.can.is_some()).map(|link| &*link.name).collect();
            let found = if there.is_empty() {
                "not found; this machine has no CAN interface".to_owned()
            } else {
                format!("not found; found: {}", there.join(", "))
            };
            let remedy = if name.starts_with("vcan") {
                format!("sudo ip link add dev {name} type vcan && sudo ip link set {name} up")
            } else {
                "plug it in and check the messages of its driver: sudo dmesg | grep -i can".to_owned()
            };
            vec![Check::missing(check::INTERFACE, found, remedy)]
        }
    }
}

/// Checks of an existing interface; `wanted` if it is in the file.
pub(super) fn of_link(
    machine: &Machine,
    network: &Network,
    threads: &[InterruptThread],
    needs: &Needs,
    link: &Link,
    wanted: Option<&Wanted>,
) -> Vec<Check> {
    let mut checks = vec![is_up(link, wanted)];
    if link.kind.as_deref() == Some("can") {
        checks.extend(state(link, wanted));
        checks.push(bit_rate(link, wanted));
        checks.push(restart(machine, link, wanted));
    }
    checks.push(fd(link, wanted));
    let sends = wanted.is_none_or(|wanted| wanted.is_destination);
    checks.extend(sends.then(|| queue(link, network.root(link))));
    checks.extend(sends.then(|| qdisc(link, network.root(link))));
    checks.push(driver(machine, link));
    checks.extend(napi(machine, threads, link));
    checks.extend(interrupt::check(machine, threads, needs, link));
    checks
}

fn is_up(link: &Link, wanted: Option<&Wanted>) -> Check {
    let kind = link.kind.as_deref().unwrap_or("unknown kind");
    if link.up {
        return Check::ok(check::INTERFACE, format!("{kind}, up"));
    }
    let remedy = format!("sudo ip link set {} up", link.name);
    match wanted {
        Some(_) => Check::missing(check::INTERFACE, format!("{kind}, DOWN: nothing is forwarded"), remedy),
        None => Check::weak(check::INTERFACE, format!("{kind}, down"), remedy),
    }
}

pub(super) fn state(link: &Link, wanted: Option<&Wanted>) -> Option<Check> {
    let name = &link.name;
    let counters = format!("ip -details -statistics link show {name}");
    Some(match link.can?.state? {
        CanState::ErrorActive => Check::ok(check::STATE, "error-active"),
        CanState::ErrorWarning => Check::weak(
            check::STATE,
            "error-warning: more than 95 errors",
            format!("check wiring, termination and bit rates; counters: {counters}"),
        ),
        CanState::ErrorPassive => Check::weak(
            check::STATE,
            "error-passive: frames are not acknowledged or are corrupted",
            format!(
                "check that another node is on the bus, with the same bit rate, and the termination; counters: {counters}"
            ),
        ),
        CanState::BusOff => {
            let (found, remedy) =
                ("bus-off: the controller has left the bus", format!("sudo ip link set {name} type can restart"));
            match wanted {
                Some(_) => Check::missing(check::STATE, found, remedy),
                None => Check::weak(check::STATE, found, remedy),
            }
        }
        // Reported by is_up().
        CanState::Stopped => return None,
        CanState::Sleeping => {
            Check::weak(check::STATE, "sleeping", format!("sudo ip link set {name} down && sudo ip link set {name} up"))
        }
    })
}

fn bit_rate(link: &Link, wanted: Option<&Wanted>) -> Check {
    let can = link.can.unwrap_or_default();
    let name = &link.name;
    let text = |rate: Option<BitRate>| rate.map_or_else(|| "not set".to_owned(), |rate| rate.to_string());
    let mut found = text(can.bitrate);
    if let Some(rate) = can.data_bitrate {
        found += &format!(", data phase {rate}");
    }
    let down_and_set = |rates: String| {
        format!(
            "sudo ip link set {name} down && sudo ip link set {name} type can {rates} && sudo ip link set {name} up"
        )
    };
    let Some(bus) = wanted.map(|wanted| &wanted.bus) else {
        return match can.bitrate {
            Some(_) => Check::ok(check::BIT_RATE, found),
            None => Check::weak(check::BIT_RATE, found, down_and_set("bitrate 500000".into())),
        };
    };
    let differs = |wanted: Option<BitRate>, is: Option<BitRate>| wanted.is_some() && wanted != is;
    if differs(bus.bitrate, can.bitrate) || differs(bus.data_bitrate, can.data_bitrate) || can.bitrate.is_none() {
        let nominal = bus.bitrate.or(can.bitrate).map_or(500_000, BitRate::bits_per_second);
        let mut rates = format!("bitrate {nominal}");
        if let Some(data) = bus.data_bitrate {
            rates += &format!(" dbitrate {} fd on", data.bits_per_second());
        }
        let says = bus.bitrate.map(|rate| format!(", but the file has {rate}")).unwrap_or_default();
        let says_data = bus.data_bitrate.map(|rate| format!(", data phase {rate}")).unwrap_or_default();
        return Check::missing(check::BIT_RATE, format!("{found}{says}{says_data}"), down_and_set(rates));
    }
    Check::ok(check::BIT_RATE, found)
}

fn restart(machine: &Machine, link: &Link, wanted: Option<&Wanted>) -> Check {
    let name = &link.name;
    if let Some(after) = wanted.and_then(|wanted| wanted.bus.restart_after) {
        return Check::ok(check::RESTART, format!("by candor run, {after:?} after bus-off"));
    }
    match link.can.and_then(|can| can.restart_ms) {
        Some(after) => Check::ok(check::RESTART, format!("{after} ms after bus-off")),
        None if recovers_itself(machine, name) => Check::ok(check::RESTART, "by the adapter itself, after bus-off"),
        None => Check::weak(
            check::RESTART,
            "never: the interface stays off after bus-off",
            format!(
                "sudo ip link set {name} down && sudo ip link set {name} type can restart-ms 100; sudo ip link set {name} up"
            ),
        ),
    }
}

fn fd(link: &Link, wanted: Option<&Wanted>) -> Check {
    let name = &link.name;
    let takes_fd = usize::try_from(link.mtu).is_ok_and(|mtu| mtu >= CANFD_MTU);
    match (takes_fd, wanted.is_some_and(|wanted| wanted.wants_fd)) {
        (true, _) => Check::ok(check::FD, format!("classic and FD frames (MTU {})", link.mtu)),
        (false, false) => Check::ok(check::FD, format!("classic frames only (MTU {})", link.mtu)),
        (false, true) => {
            let set = if link.kind.as_deref() == Some("can") { fd_on(link, wanted) } else { "mtu 72".to_owned() };
            Check::missing(
                check::FD,
                format!("classic frames only (MTU {}), but a route sends FD frames there", link.mtu),
                format!("sudo ip link set {name} down && sudo ip link set {name} {set} && sudo ip link set {name} up"),
            )
        }
    }
}

/// With the bit rates of the file, of the controller, or common ones.
fn fd_on(link: &Link, wanted: Option<&Wanted>) -> String {
    let of_file = |rate: fn(&Wanted) -> Option<BitRate>| wanted.and_then(rate);
    let is = link.can.unwrap_or_default();
    let nominal = of_file(|wanted| wanted.bus.bitrate).or(is.bitrate).map_or(500_000, BitRate::bits_per_second);
    let data =
        of_file(|wanted| wanted.bus.data_bitrate).or(is.data_bitrate).map_or(2_000_000, BitRate::bits_per_second);
    format!("type can bitrate {nominal} dbitrate {data} fd on")
}

fn queue(link: &Link, root: Option<&str>) -> Check {
    let length = link.tx_queue_len;
    if root == Some("noqueue") {
        return Check::ok(check::QUEUE, "none: frames are delivered at once");
    }
    if length > SHORT_QUEUE {
        return Check::ok(check::QUEUE, format!("{length} frames"));
    }
    Check::weak(
        check::QUEUE,
        format!("{length} frames: the rest of a burst is handled by when-full (default: dropped)"),
        format!("sudo ip link set {} txqueuelen 100", link.name),
    )
}

fn qdisc(link: &Link, root: Option<&str>) -> Check {
    let replace = format!("sudo tc qdisc replace dev {} root pfifo_fast", link.name);
    match root {
        None => Check::ok(check::QDISC, "unknown, or none while the interface is down"),
        Some(kind @ ("pfifo_fast" | "pfifo" | "bfifo" | "noqueue" | "mq" | "prio" | "skbprio" | "noop")) => {
            Check::ok(check::QDISC, kind)
        }
        Some(kind @ ("etf" | "taprio")) => Check::missing(
            check::QDISC,
            format!("{kind} drops frames without a transmit time, as those of a gateway are"),
            replace,
        ),
        Some(
            kind @ ("fq_codel" | "codel" | "fq_pie" | "pie" | "cake" | "red" | "choke" | "sfb" | "hhf"
            | "pfifo_head_drop"),
        ) => Check::weak(check::QDISC, format!("{kind} drops queued frames silently"), replace),
        Some("netem") => Check::weak(check::QDISC, "netem delays or drops frames on purpose", replace),
        Some(kind) => Check::ok(check::QDISC, format!("{kind}, not the default")),
    }
}

/// The thread that polls the controller, and its priority.
fn napi(machine: &Machine, threads: &[InterruptThread], link: &Link) -> Option<Check> {
    let name = &link.name;
    let has_device = machine.has(&format!("/sys/class/net/{name}/device"));
    let threaded = machine.number(&format!("/sys/class/net/{name}/threaded")).filter(|_| has_device)?;
    if threaded != 1 {
        return Some(Check::ok(check::NAPI, "in the interrupt (softirq)"));
    }
    let of_interface = || threads.iter().filter(|thread| thread.empties(name));
    Some(match of_interface().find(|thread| !thread.policy.is_realtime()) {
        Some(late) => Check::weak(
            check::NAPI,
            format!("in a thread ({}) that any other may delay", late.policy),
            format!("for pid in $(pgrep ^napi/{name}-); do sudo chrt -f -p 50 $pid; done"),
        ),
        None => Check::ok(check::NAPI, "in a thread with a real-time policy"),
    })
}

#[cfg(test)]
mod tests;
