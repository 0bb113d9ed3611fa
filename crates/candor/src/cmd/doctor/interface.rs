//! One CAN interface: its state, configuration, queue, driver and interrupt.

mod interrupt;

pub(super) use interrupt::{InterruptThread, interrupt_threads};

use candor_cli::gateway_file::plural;
use candor_core::frame::CANFD_MTU;
use candor_core::units::BitRate;
use candor_io::machine::Machine;
use candor_netlink::link::{CanState, Link};

use super::check::{self, Check};
use super::needs::{Needs, Wanted};
use crate::cmd::driver::{depth, recovers_itself};

/// Bits of the longest classic frame with an 11-bit identifier, with stuff bits and interframe space.
const LONGEST_FRAME_BITS: u64 = 135;

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
        Some(_) => vec![check::INTERFACE.missing(
            format!("{name} is not a CAN interface"),
            "choose another one: ip link show type can, ip link show type vcan",
        )],
        None => {
            let interfaces = network.links.iter().filter(|link| link.can.is_some());
            let found = match interfaces.map(|link| &*link.name).collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "not found; this machine has no CAN interface".to_owned(),
                others => format!("not found; found: {others}"),
            };
            let remedy = if name.starts_with("vcan") {
                format!("sudo ip link add dev {name} type vcan && sudo ip link set {name} up")
            } else {
                "plug it in and check the messages of its driver: sudo dmesg | grep -i can".to_owned()
            };
            vec![check::INTERFACE.missing(found, remedy)]
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
    checks.extend(wanted.and_then(|wanted| deadlines(machine, link, needs, wanted)));
    checks.extend(boot(machine, link));
    checks.extend(napi(machine, threads, link));
    checks.extend(interrupt::check(machine, threads, needs, link));
    checks
}

fn is_up(link: &Link, wanted: Option<&Wanted>) -> Check {
    let kind = link.kind.as_deref().unwrap_or("unknown kind");
    if link.up {
        return check::INTERFACE.ok(format!("{kind}, up"));
    }
    let remedy = format!("sudo ip link set {} up", link.name);
    let found = if wanted.is_some() { "DOWN: nothing is forwarded" } else { "down" };
    check::INTERFACE.lacks(wanted.is_some(), format!("{kind}, {found}"), remedy)
}

pub(super) fn state(link: &Link, wanted: Option<&Wanted>) -> Option<Check> {
    let name = &link.name;
    let counters = format!("ip -details -statistics link show {name}");
    Some(match link.can?.state? {
        CanState::ErrorActive => check::STATE.ok("error-active"),
        CanState::ErrorWarning => check::STATE.weak("error-warning: more than 95 errors",
            format!("check wiring, termination and bit rates; counters: {counters}"),
        ),
        CanState::ErrorPassive => check::STATE.weak("error-passive: frames are not acknowledged or are corrupted",
            format!(
                "check that another node is on the bus, with the same bit rate, and the termination; counters: {counters}"
            ),
        ),
        CanState::BusOff => check::STATE.lacks(
            wanted.is_some(),
            "bus-off: the controller has left the bus",
            format!("sudo ip link set {name} type can restart"),
        ),
        // Reported by is_up().
        CanState::Stopped => return None,
        CanState::Sleeping => {
            check::STATE.weak("sleeping", format!("sudo ip link set {name} down && sudo ip link set {name} up"))
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
            Some(_) => check::BIT_RATE.ok(found),
            None => check::BIT_RATE.weak(found, down_and_set("bitrate 500000".into())),
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
        return check::BIT_RATE.missing(format!("{found}{says}{says_data}"), down_and_set(rates));
    }
    check::BIT_RATE.ok(found)
}

fn restart(machine: &Machine, link: &Link, wanted: Option<&Wanted>) -> Check {
    let name = &link.name;
    if let Some(after) = wanted.and_then(|wanted| wanted.bus.restart_after) {
        return check::RESTART.ok(format!("by candor run, {after:?} after bus-off"));
    }
    match link.can.and_then(|can| can.restart_ms) {
        Some(after) => check::RESTART.ok(format!("{after} ms after bus-off")),
        None if recovers_itself(machine, name) => check::RESTART.ok("by the adapter itself, after bus-off"),
        None => check::RESTART.weak("never: the interface stays off after bus-off",
            format!(
                "sudo ip link set {name} down && sudo ip link set {name} type can restart-ms 100; sudo ip link set {name} up"
            ),
        ),
    }
}

fn fd(link: &Link, wanted: Option<&Wanted>) -> Check {
    let name = &link.name;
    let mtu = usize::try_from(link.mtu).unwrap_or(0);
    let (takes_fd, is_beyond_fd) = (mtu >= CANFD_MTU, mtu > CANFD_MTU);
    match (takes_fd, wanted.is_some_and(|wanted| wanted.wants_fd)) {
        (true, _) => {
            let xl = if is_beyond_fd { "; CAN XL frames by eBPF programs only" } else { "" };
            check::FD.ok(format!("classic and FD frames{xl} (MTU {})", link.mtu))
        }
        (false, false) => check::FD.ok(format!("classic frames only (MTU {})", link.mtu)),
        (false, true) => {
            let set = if link.kind.as_deref() == Some("can") { fd_on(link, wanted) } else { "mtu 72".to_owned() };
            check::FD.missing(
                format!("classic frames only (MTU {}), but a route sends FD frames there", link.mtu),
                format!("sudo ip link set {name} down && sudo ip link set {name} {set} && sudo ip link set {name} up"),
            )
        }
    }
}

/// With the bit rates of the file, of the controller, or common ones.
fn fd_on(link: &Link, wanted: Option<&Wanted>) -> String {
    let is = link.can.unwrap_or_default();
    let nominal = wanted.and_then(|wanted| wanted.bus.bitrate).or(is.bitrate);
    let nominal = nominal.map_or(500_000, BitRate::bits_per_second);
    let data = wanted.and_then(|wanted| wanted.bus.data_bitrate).or(is.data_bitrate);
    let data = data.map_or(2_000_000, BitRate::bits_per_second);
    format!("type can bitrate {nominal} dbitrate {data} fd on")
}

fn queue(link: &Link, root: Option<&str>) -> Check {
    let length = link.tx_queue_len;
    if root == Some("noqueue") {
        return check::QUEUE.ok("none: frames are delivered at once");
    }
    if length > SHORT_QUEUE {
        return check::QUEUE.ok(format!("{length} frames"));
    }
    check::QUEUE.weak(
        format!("{length} frames: the rest of a burst is handled by when-full (default: dropped)"),
        format!("sudo ip link set {} txqueuelen 100", link.name),
    )
}

fn qdisc(link: &Link, root: Option<&str>) -> Check {
    let replace = format!("sudo tc qdisc replace dev {} root pfifo_fast", link.name);
    match root {
        None => check::QDISC.ok("unknown, or none while the interface is down"),
        Some(kind @ ("pfifo_fast" | "pfifo" | "bfifo" | "noqueue" | "mq" | "prio" | "skbprio" | "noop")) => {
            check::QDISC.ok(kind)
        }
        Some(kind @ ("etf" | "taprio")) => check::QDISC
            .missing(format!("{kind} drops frames without a transmit time, as those of a gateway are"), replace),
        Some(
            kind @ ("fq_codel" | "codel" | "fq_pie" | "pie" | "cake" | "red" | "choke" | "sfb" | "hhf"
            | "pfifo_head_drop"),
        ) => check::QDISC.weak(format!("{kind} drops queued frames silently"), replace),
        Some("netem") => check::QDISC.weak("netem delays or drops frames on purpose", replace),
        Some(kind) => check::QDISC.ok(format!("{kind}, not the default")),
    }
}

/// systemd-networkd waits at boot for every interface that it configures, by default.
fn boot(machine: &Machine, link: &Link) -> Option<Check> {
    let state = machine.text(&format!("/run/systemd/netif/links/{}", link.index.number()))?;
    let has = |line: &str| state.lines().any(|written| written == line);
    if has("ADMIN_STATE=unmanaged") || has("REQUIRED_FOR_ONLINE=no") {
        return Some(check::BOOT.ok("systemd-networkd does not wait for it"));
    }
    has("REQUIRED_FOR_ONLINE=yes").then(|| {
        check::BOOT.weak(
            "systemd-networkd waits for it up to 2 minutes: a CAN interface gets no address",
            "set RequiredForOnline=no in its .network file; candor generate networkd FILE writes it",
        )
    })
}

/// The thread that polls the controller, and its priority.
fn napi(machine: &Machine, threads: &[InterruptThread], link: &Link) -> Option<Check> {
    let name = &link.name;
    let has_device = machine.has(&format!("/sys/class/net/{name}/device"));
    let threaded = machine.number(&format!("/sys/class/net/{name}/threaded")).filter(|_| has_device)?;
    if threaded != 1 {
        return Some(check::NAPI.ok("in the interrupt (softirq)"));
    }
    let of_interface = || threads.iter().filter(|thread| thread.empties(name));
    Some(match of_interface().find(|thread| !thread.policy.is_realtime()) {
        Some(late) => check::NAPI.weak(
            format!("in a thread ({}) that any other may delay", late.policy),
            format!("for pid in $(pgrep ^napi/{name}-); do sudo chrt -f -p 50 $pid; done"),
        ),
        None => check::NAPI.ok("in a thread with a real-time policy"),
    })
}

/// With what the driver buffers, and the queue if it is the kernel's.
fn deadlines(machine: &Machine, link: &Link, needs: &Needs, wanted: &Wanted) -> Option<Check> {
    let plan = needs.traffic.as_deref()?;
    let buffered =
        |name: &str| machine.link(&format!("/sys/class/net/{name}/device/driver")).and_then(|name| depth(&name));
    let has_egress = plan.egress().iter().any(|egress| plan.bus(egress.bus).name == wanted.bus.name);
    super::deadlines::check(plan, &wanted.bus.name, buffered, (!has_egress).then_some(link.tx_queue_len))
}

/// The driver of a controller, and the frames that it buffers beyond any queue.
pub(super) fn driver(machine: &Machine, link: &Link) -> Check {
    let folder = format!("/sys/class/net/{}/device", link.name);
    let Some(driver) = machine.link(&format!("{folder}/driver")) else {
        let kind = link.kind.as_deref().unwrap_or("unknown kind");
        return check::DRIVER.ok(format!("{kind}, no hardware"));
    };
    let usb = if machine.link(&format!("{folder}/subsystem")).as_deref() == Some("usb") {
        "; USB adds up to 1 ms each way"
    } else {
        ""
    };
    let Some(depth) = depth(&driver) else {
        return check::DRIVER.ok(format!("{driver}, number of buffered frames unknown{usb}"));
    };
    let frames = plural(usize::try_from(depth).unwrap_or(usize::MAX), "frame");
    let wait = link.can.and_then(|can| can.bitrate).map(|rate| {
        let microseconds = depth * LONGEST_FRAME_BITS * 1_000_000 / u64::from(rate.bits_per_second());
        format!(", a high-priority frame may wait {}.{:02} ms", microseconds / 1000, microseconds % 1000 / 10)
    });
    let found = format!("{driver}, buffers {frames}{}{usb}", wait.unwrap_or_default());
    if driver == "mcp251xfd" {
        return check::DRIVER.weak(found, format!("sudo ethtool -G {} tx 2 (with the interface down)", link.name));
    }
    check::DRIVER.ok(found)
}

#[cfg(test)]
mod tests;
