//! `candor doctor egress`: which program waits, which one gets `ENOBUFS`, and after how many frames.
//!
//! A frame that was written is in three places one after another: the queue of the interface, the driver, the bus. Until it
//! has left the last one it counts for its socket (`SO_SNDBUF`). `write()` waits when the buffer of the socket is full, and
//! fails with `ENOBUFS` when the queue is: what happens depends on which of the two is full first.
//!
//! # Source
//! SocketCAN and queueing disciplines (Sojka, Lisový, Píša, 2011), section 3.4; `can_send()` in `net/can/af_can.c`,
//! `sock_alloc_send_pskb()` in `net/core/sock.c`, `pfifo_enqueue()` in `net/sched/sch_fifo.c`.

use candor_egress::discipline::Discipline;
use candor_egress::handle::Handle;
use candor_egress::lint::{self, Facts};
use candor_egress::netlink::{Observed, QdiscStats};
use candor_egress::policy::LONGEST_CLASSIC_BITS;
use candor_io::machine::Machine;
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};

use super::check::{self, Check, Section, Verdict};
use super::{interface, report};
use crate::cli::DoctorEgressArgs;
use crate::cmd::egress::{self, facts};
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::plural;
use candor_cli::render;
use candor_egress::kernel::LookError;

/// The smallest send buffer that the kernel grants (`SOCK_MIN_SNDBUF`).
const SMALLEST_BUFFER_BYTES: u64 = 4608;

pub(super) fn run(args: &DoctorEgressArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let (machine, mut client) = (Machine::here(), Client::open()?);
    let mut sections = Vec::new();
    for name in egress::named_or_all(&args.interface)? {
        let observed = candor_egress::kernel::observe(&name, None)?;
        let missing = || LookError::Missing { interface: name.clone(), bus: None };
        let link = link::by_name(&mut client, &name)?.ok_or_else(missing)?;
        let facts = facts::of(&machine, &link);
        let checks = checks(&machine, &link, &observed, &facts, args.programs.get());
        sections.push(Section { title: name, checks });
    }
    let exit = if report::worst(&sections) == Verdict::Missing { Exit::No } else { Exit::Fine };
    if args.json {
        return render::answer(&render::object(&report::json(None, &sections)), exit);
    }
    let nothing = if sections.is_empty() { "There is no CAN interface\n" } else { "" };
    render::answer(&(report::table(&sections) + nothing), exit)
}

fn checks(machine: &Machine, link: &Link, observed: &Observed, facts: &Facts, programs: u32) -> Vec<Check> {
    let waits = Queue::of(link, observed);
    let mut checks = vec![is_up(link)];
    checks.extend(interface::state(link, None));
    checks.push(queue(&waits, observed, facts));
    checks.push(buffer(machine, facts));
    checks.push(interface::driver(machine, link));
    checks.push(answer(machine, link, &waits, facts, programs));
    for finding in lint::lint(&observed.tree, facts) {
        checks.push(check::TRAP.weak(format!("{}: {}", finding.code(), finding.trap), finding.trap.help()));
    }
    checks
}

fn is_up(link: &Link) -> Check {
    if link.up {
        return check::INTERFACE.ok("up");
    }
    check::INTERFACE.missing("DOWN: write() fails with ENETDOWN", format!("sudo ip link set {} up", link.name))
}

/// Where frames wait.
enum Queue {
    /// Nowhere: virtual interfaces hand them over at once.
    None,
    /// In one queue of the kernel's own, or of somebody's.
    One { kind: String, frames: u32, is_default: bool },
    /// In a tree, whose queues have lengths of their own.
    Tree { queues: usize, shortest: Option<u32> },
}

impl Queue {
    fn of(link: &Link, observed: &Observed) -> Self {
        let tree = &observed.tree;
        let is_queue = |qdisc: &&candor_egress::tree::Qdisc| qdisc.parent != Handle::CLSACT;
        let made: Vec<_> = tree.qdiscs.iter().filter(is_queue).collect();
        let own = |discipline: &Discipline| frames(discipline).unwrap_or(link.tx_queue_len);
        match made.as_slice() {
            [] => match observed.defaults.iter().find(|(qdisc, _)| qdisc.parent == Handle::ROOT) {
                Some((qdisc, _)) if qdisc.discipline != Discipline::Noqueue => Self::One {
                    kind: qdisc.discipline.kind().to_owned(),
                    frames: own(&qdisc.discipline),
                    is_default: true,
                },
                _ => Self::None,
            },
            [only] if !has_classes(&only.discipline) => {
                Self::One { kind: only.discipline.kind().to_owned(), frames: own(&only.discipline), is_default: false }
            }
            many => {
                let leaves = many.iter().filter_map(|qdisc| frames(&qdisc.discipline));
                Self::Tree { queues: leaves.clone().count(), shortest: leaves.min() }
            }
        }
    }
}

fn has_classes(discipline: &Discipline) -> bool {
    matches!(
        discipline,
        Discipline::Prio(_) | Discipline::Ets(_) | Discipline::Htb(_) | Discipline::Drr | Discipline::Tbf(_)
    )
}

/// How many frames of one sender a discipline holds before it refuses one, if it says so itself.
fn frames(discipline: &Discipline) -> Option<u32> {
    match discipline {
        Discipline::Pfifo { limit_frames }
        | Discipline::PfifoHeadDrop { limit_frames }
        | Discipline::Skbprio { limit_frames } => *limit_frames,
        // Classic frames, which count as 16 bytes.
        Discipline::Bfifo { limit_bytes } => limit_bytes.map(|bytes| bytes / 16),
        Discipline::Sfq(sfq) => Some(sfq.depth_frames.unwrap_or(127)),
        _ => None,
    }
}

fn queue(waits: &Queue, observed: &Observed, facts: &Facts) -> Check {
    let counted = observed.qdiscs.first().or_else(|| observed.defaults.first().map(|(_, stats)| stats));
    let counted = counted.map(|QdiscStats { drops, backlog_frames, .. }| {
        format!("; {} wait now, {} refused or dropped so far", plural(*backlog_frames as usize, "frame"), drops)
    });
    let counted = counted.unwrap_or_default();
    match waits {
        Queue::None => check::QUEUE.ok("none: frames are handed over at once"),
        Queue::One { kind, frames, is_default: true } => {
            let length = facts.queue_frames.unwrap_or(*frames);
            check::QUEUE.ok(format!("{kind}, the kernel's own, {frames} frames (txqueuelen is {length}){counted}"))
        }
        Queue::One { kind, frames, .. } => check::QUEUE.ok(format!("{kind}, {frames} frames{counted}")),
        Queue::Tree { queues, shortest } => {
            let shortest = shortest.map(|frames| format!(", the shortest of {frames} frames")).unwrap_or_default();
            check::QUEUE.ok(format!("a tree with {}{shortest}{counted}", plural(*queues, "queue")))
        }
    }
}

fn buffer(machine: &Machine, facts: &Facts) -> Check {
    match (machine.number("/proc/sys/net/core/wmem_default"), facts.socket_frames) {
        (Some(bytes), Some(frames)) => check::BUFFER
            .ok(format!("{bytes} bytes unless a program sets SO_SNDBUF: {frames} of its frames may be under way")),
        _ => check::BUFFER.ok("not told"),
    }
}

/// Who waits and who fails, and how to have it otherwise.
fn answer(machine: &Machine, link: &Link, waits: &Queue, facts: &Facts, programs: u32) -> Check {
    let length = match waits {
        Queue::None => {
            return check::ENOBUFS.ok("cannot happen: write() neither waits nor fails here");
        }
        Queue::One { frames, .. } => *frames,
        Queue::Tree { shortest, .. } => shortest.unwrap_or(link.tx_queue_len),
    };
    let Some(buffer) = facts.socket_frames else {
        return check::ENOBUFS.ok(format!("after {length} frames in the queue; how large buffers are is not told"));
    };
    let room = length.saturating_add(facts.driver_frames.unwrap_or(1));
    let needed = buffer.saturating_mul(programs);
    let last = facts.bitrate.map(|rate| {
        let us = u64::from(room) * LONGEST_CLASSIC_BITS * 1_000_000 / u64::from(rate.bits_per_second());
        format!("; the last frame of a full queue leaves after up to {} ms", us.div_ceil(1000))
    });
    let last = last.unwrap_or_default();
    let who = if programs == 1 { "a program writes".to_owned() } else { format!("{programs} programs write") };
    if room >= needed {
        return check::ENOBUFS.ok(format!(
                "does not come: where {who} faster than the bus takes it, write() waits, at {buffer} frames of its own{last}"
            ),
        );
    }
    let fewer = length / programs;
    let longer = match waits {
        Queue::Tree { .. } => format!("give each band queue = {needed}"),
        _ => format!("sudo ip link set {} txqueuelen {needed}", link.name),
    };
    let truesize_bytes = facts::frame_truesize_bytes(machine);
    let fewest = u32::try_from(SMALLEST_BUFFER_BYTES.div_ceil(truesize_bytes)).unwrap_or(u32::MAX);
    let remedy = if fewer >= fewest {
        // The kernel doubles what a program asks for.
        let bytes = u64::from(fewer) * truesize_bytes / 2;
        format!("to have it wait: {longer}; or in each program setsockopt(SO_SNDBUF, {bytes}), {fewer} frames")
    } else {
        let least = fewest.saturating_mul(programs);
        format!(
            "to have it wait: {longer}; SO_SNDBUF is never less than {fewest} frames, too many for a queue below {least}"
        )
    };
    check::ENOBUFS.weak(format!(
            "comes after {} if {who} faster than the bus takes it: the queue is full before its buffer ({buffer} frames), so \
             write() never waits, and poll() says that it can write{last}",
            plural(room as usize, "frame"),
        ),
        remedy,
    )
}

#[cfg(test)]
mod tests;
