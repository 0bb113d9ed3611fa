//! `candor doctor egress`: predicts whether programs block or get `ENOBUFS`, and after how many frames.
//!
//! A frame that was written passes through the queue of the interface, the driver and the bus. Until it is sent, it occupies
//! the send buffer of its socket (`SO_SNDBUF`). `write()` blocks when that buffer is full, and fails with `ENOBUFS` when the
//! queue is full, so the result depends on which of them fills first.
//!
//! # Source
//! [SocketCAN and queueing disciplines](https://rtime.felk.cvut.cz/can/socketcan-qdisc-final.pdf) (Sojka, Lisový, Píša, 2011),
//! section 3.4; Linux 6.1: [`can_send()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L200),
//! [`sock_alloc_send_pskb()`](https://github.com/gregkh/linux/blob/v6.1.192/net/core/sock.c#L2756),
//! [`pfifo_enqueue()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_fifo.c#L29).

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_egress::discipline::Discipline;
use candor_egress::handle::Handle;
use candor_egress::kernel::LookError;
use candor_egress::lint::{self, Facts};
use candor_egress::netlink::Observed;
use candor_egress::policy::LONGEST_CLASSIC_BITS;
use candor_io::machine::Machine;
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};

use super::check::{self, Check, Section, Verdict};
use super::{interface, report};
use crate::cli::DoctorEgressArgs;
use crate::cmd::egress::{self, facts};
use crate::netns;

/// The smallest send buffer that the kernel grants (`SOCK_MIN_SNDBUF`).
const SMALLEST_BUFFER_BYTES: u64 = 4608;

pub(super) fn run(args: &DoctorEgressArgs) -> Outcome {
    netns::enter(&args.kernel.netns)?;
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
    if args.kernel.json {
        return render::answer(&render::object(&report::json(None, &sections)), exit);
    }
    if sections.is_empty() {
        render::err(&egress::no_interface(&candor_io::can::support()));
    }
    render::answer(&report::table(&sections), exit)
}

fn checks(machine: &Machine, link: &Link, observed: &Observed, facts: &Facts, programs: u32) -> Vec<Check> {
    let waits = Queue::of(link, observed);
    let mut checks = vec![is_up(link)];
    checks.extend(interface::state(link, None));
    checks.push(queue(&waits, observed, facts));
    checks.push(buffer(machine, facts));
    checks.push(interface::driver(machine, link));
    checks.push(enobufs(machine, link, &waits, facts, programs));
    let trap =
        |finding: lint::Finding| check::TRAP.weak(format!("{}: {}", finding.code(), finding.trap), finding.trap.help());
    checks.extend(lint::lint(&observed.tree, facts).into_iter().map(trap));
    checks
}

fn is_up(link: &Link) -> Check {
    if link.up {
        return check::INTERFACE.ok("up");
    }
    check::INTERFACE.missing("DOWN: write() fails with ENETDOWN", format!("sudo ip link set {} up", link.name))
}

enum Queue {
    /// Virtual interfaces deliver frames at once.
    None,
    One {
        kind: String,
        frames: u32,
        is_default: bool,
    },
    /// A tree of qdiscs, in which several queue frames.
    Tree {
        queues: usize,
        shortest: Option<u32>,
    },
}

impl Queue {
    fn of(link: &Link, observed: &Observed) -> Self {
        let qdiscs = observed.tree.qdiscs.iter().filter(|qdisc| qdisc.parent != Handle::CLSACT);
        let configured: Vec<_> = qdiscs.map(|qdisc| &qdisc.discipline).collect();
        let one = |discipline: &Discipline, is_default| Self::One {
            kind: discipline.kind().to_owned(),
            frames: frames(discipline).unwrap_or(link.tx_queue_len),
            is_default,
        };
        match configured.as_slice() {
            [] => match observed.defaults.iter().find(|(qdisc, _)| qdisc.parent == Handle::ROOT) {
                Some((qdisc, _)) if qdisc.discipline != Discipline::Noqueue => one(&qdisc.discipline, true),
                _ => Self::None,
            },
            [only] if !has_classes(only) => one(only, false),
            many => {
                let lengths = many.iter().filter_map(|discipline| frames(discipline));
                Self::Tree { queues: lengths.clone().count(), shortest: lengths.min() }
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

/// Frames of one sender that a discipline queues, if it has a limit of its own.
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
    let stats = observed.qdiscs.first().or_else(|| observed.defaults.first().map(|(_, stats)| stats));
    let stats = stats.map_or_else(String::new, |stats| {
        format!("; {} queued, {} dropped so far", plural(stats.backlog_frames as usize, "frame"), stats.drops)
    });
    check::QUEUE.ok(match waits {
        Queue::None => "none: frames are delivered at once".into(),
        Queue::One { kind, frames, is_default: true } => {
            let length = facts.queue_frames.unwrap_or(*frames);
            format!("{kind} (kernel default), {frames} frames (txqueuelen {length}){stats}")
        }
        Queue::One { kind, frames, .. } => format!("{kind}, {frames} frames{stats}"),
        Queue::Tree { queues, shortest } => {
            let shortest = shortest.map_or_else(String::new, |frames| format!(", the shortest of {frames} frames"));
            format!("tree with {}{shortest}{stats}", plural(*queues, "queue"))
        }
    })
}

fn buffer(machine: &Machine, facts: &Facts) -> Check {
    let bytes = machine.number("/proc/sys/net/core/wmem_default");
    let found = bytes.zip(facts.socket_frames).map(|(bytes, frames)| {
        format!("{bytes} bytes unless a program sets SO_SNDBUF: room for {frames} of its frames")
    });
    check::BUFFER.ok(found.unwrap_or_else(|| "unknown".into()))
}

/// Checks that the send buffer fills before the queue.
fn enobufs(machine: &Machine, link: &Link, waits: &Queue, facts: &Facts, programs: u32) -> Check {
    let length = match waits {
        Queue::None => return check::ENOBUFS.ok("cannot occur: write() neither blocks nor fails"),
        Queue::One { frames, .. } => *frames,
        Queue::Tree { shortest, .. } => shortest.unwrap_or(link.tx_queue_len),
    };
    let Some(buffer) = facts.socket_frames else {
        return check::ENOBUFS.ok(format!("after {length} queued frames; the size of send buffers is unknown"));
    };
    let room = length.saturating_add(facts.driver_frames.unwrap_or(1));
    let needed = buffer.saturating_mul(programs);
    let last = facts.bitrate.map_or_else(String::new, |rate| {
        let us = u64::from(room) * LONGEST_CLASSIC_BITS * 1_000_000 / u64::from(rate.bits_per_second());
        format!("; the last frame of a full queue is sent after up to {} ms", us.div_ceil(1000))
    });
    let writers = if programs == 1 { "a program writes".to_owned() } else { format!("{programs} programs write") };
    if room >= needed {
        let found =
            format!("does not occur: if {writers} faster than the bus, write() blocks at {buffer} frames{last}");
        return check::ENOBUFS.ok(found);
    }
    let longer = match waits {
        Queue::Tree { .. } => format!("give each band queue = {needed}"),
        _ => format!("sudo ip link set {} txqueuelen {needed}", link.name),
    };
    let truesize_bytes = facts::frame_truesize_bytes(machine);
    let fewer = length / programs;
    let fewest = u32::try_from(SMALLEST_BUFFER_BYTES.div_ceil(truesize_bytes)).unwrap_or(u32::MAX);
    let smaller = if fewer >= fewest {
        // The kernel doubles the size that a program sets.
        let bytes = u64::from(fewer) * truesize_bytes / 2;
        format!("or in each program setsockopt(SO_SNDBUF, {bytes}), {fewer} frames")
    } else {
        let least = fewest.saturating_mul(programs);
        format!("SO_SNDBUF is never less than {fewest} frames, too many for a queue below {least}")
    };
    check::ENOBUFS.weak(
        format!(
            "after {} if {writers} faster than the bus: the queue fills before the send buffer ({buffer} frames), so write() \
             does not block, and poll() reports it as writable{last}",
            plural(room as usize, "frame"),
        ),
        format!("to make write() block: {longer}; {smaller}"),
    )
}

#[cfg(test)]
mod tests;
