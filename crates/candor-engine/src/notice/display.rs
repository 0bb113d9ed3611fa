//! Texts of notices: the condition, its effect, and a command where one helps.

use std::fmt;

use candor_config::placement::Missing;
use candor_io::errno::{EINVAL, EMSGSIZE, ENETDOWN};

use super::{Notice, Restart};

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adopted { jobs, pid } => {
                write!(f, "Adopted {} of candor process {pid}, which died", count(*jobs))
            }
            Self::BitRateDiffers { interface, which, expected, found } => {
                write!(f, "Interface {interface} has {which} {found}, but the file says {expected}")
            }
            Self::BusBack { interface, meanwhile } => {
                write!(f, "Interface {interface} is back on its bus")?;
                match meanwhile {
                    0 => Ok(()),
                    frames => write!(
                        f,
                        "; {frames} frames accepted during bus-off may be lost, although they are counted as handled"
                    ),
                }
            }
            Self::BusOff { interface, restart } => {
                write!(
                    f,
                    "Interface {interface} is bus-off: its controller left the bus after too many errors (check wiring, \
                     termination and bit rate); "
                )?;
                match restart {
                    Restart::Candor { after } => {
                        write!(f, "frames to it are dropped, and candor restarts it in {after:?}")
                    }
                    Restart::Driver { after } => {
                        write!(f, "frames to it are lost, and its driver restarts it in {after:?} (restart-ms)")
                    }
                    Restart::Manual => write!(
                        f,
                        "frames to it are lost until you restart it: sudo ip link set {interface} down && sudo ip link set \
                         {interface} up; with restart-after = \"1s\" for this bus candor restarts it"
                    ),
                }
            }
            Self::CangwBack => f.write_str("The kernel module can-gw is loaded again; its jobs are being reinstalled"),
            Self::CangwGone => f.write_str(
                "The kernel module can-gw was unloaded, which removed the jobs of all routes in the kernel; they are \
                 reinstalled after: sudo modprobe can-gw",
            ),
            Self::CheckFailed { why } => write!(
                f,
                "Cannot check jobs and interfaces ({why}); forwarding continues, and candor retries every second"
            ),
            Self::CountersInconsistent(numbers) => write!(
                f,
                "Internal error: frame counters do not add up: {numbers}; please report this with the gateway file and the \
                 whole output of candor"
            ),
            Self::EtfDrops { interface } => write!(
                f,
                "{interface} has the qdisc etf, which drops frames without a transmit time, and a gateway sets none; replace \
                 it: sudo tc qdisc replace dev {interface} root pfifo_fast"
            ),
            Self::FdDoesNotFit { route, interface } => write!(
                f,
                "Route {route:?} forwards FD frames, but {interface} sends only classic frames and drops them; set it down \
                 and type: sudo ip link set {interface} mtu 72 (vcan) or sudo ip link set {interface} type can fd on \
                 dbitrate RATE"
            ),
            Self::ForeignDuplicate { route } => write!(
                f,
                "can-gw already had a job equal to that of route {route:?}, installed by another program; frames are \
                 forwarded twice until it is deleted (list it: cangw -L)"
            ),
            Self::InterfaceBack { interface } => write!(f, "Interface {interface} is back; its routes continue"),
            Self::InterfaceDown { interface } => write!(
                f,
                "Interface {interface} is down, and nothing is forwarded from or to it; set it up: sudo ip link set \
                 {interface} up"
            ),
            Self::InterfaceGone { bus, was, interface } => write!(
                f,
                "Interface {was} (bus {bus:?}) is gone: unplugged or deleted; its routes wait for an interface {interface}, \
                 the other routes continue"
            ),
            Self::InterfaceRenamed { bus, was, interface } => write!(
                f,
                "Interface {was} (bus {bus:?}) was renamed to {interface}; its routes continue, but the next start looks for \
                 the name in the file"
            ),
            Self::InterfaceUp { interface } => write!(f, "Interface {interface} is up again"),
            Self::JobsPutBack { jobs, route } => write!(
                f,
                "Another program deleted {} of route {route:?} and perhaps of others (cangw -F does, and so does reloading \
                 can-gw); candor reinstalled {}",
                count(*jobs),
                if *jobs == 1 { "it" } else { "them" }
            ),
            Self::MayCircle { route, other } => write!(
                f,
                "Route {route:?} and a route of {other} in the opposite direction forward the same frames in an endless \
                 loop; put both directions into one file, or give them filters that exclude each other"
            ),
            Self::NoLatency { engine: None } => {
                f.write_str("Cannot measure latency: all routes are in the kernel, and can-gw does not report it")
            }
            Self::NoLatency { engine: Some(engine) } => write!(
                f,
                "Cannot measure latency: the kernel gives no receive timestamps with {}; use another engine (candor engines \
                 lists them)",
                engine.name()
            ),
            Self::NotAnnounced { path } => write!(
                f,
                "Cannot use {}, so a second candor that runs the same routes is not detected; with routes in both directions \
                 that floods the buses; set XDG_RUNTIME_DIR or CANDOR_RUN_DIR to a directory of your own",
                path.display()
            ),
            Self::OddList { path, reason } => write!(
                f,
                "Cannot read {path} ({reason}), so can-gw jobs that it lists may stay in the kernel; if no candor of another \
                 version runs, list them with cangw -L, delete all jobs with sudo cangw -F, and type: sudo rm {path}",
                path = path.display()
            ),
            Self::QueueFull { interface } => write!(
                f,
                "The transmit queue of {interface} is full, and frames to it are dropped; check its state and errors: ip \
                 -details -statistics link show {interface} (bus-off, or no node that acknowledges?); if the bus is only \
                 slow: sudo ip link set {interface} txqueuelen 1000"
            ),
            Self::ReceiveOverflow { interface, frames } => {
                write!(f, "{frames} frames from {interface} were lost because they arrived faster than they were read")
            }
            Self::RemovedLeftovers { jobs, pid } => {
                write!(f, "Removed {} of candor process {pid}, which died", count(*jobs))
            }
            Self::RestartFailed { interface, why } => {
                write!(f, "Interface {interface} is bus-off and cannot be set down and up: {why}")
            }
            Self::SendFailed { interface, errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "Frames to {interface} are dropped: {error}{}", advice(*errno, interface))
            }
            Self::SpinsOnAll { sched, processors, is_throttled } => write!(
                f,
                "Busy-polling threads at {sched} occupy {}: {}; use a receiver that blocks (mmap), sched = \"other\", or \
                 leave one processor free with `cpus`",
                if *processors == 1 { "the only processor".into() } else { format!("all {processors} processors") },
                if *is_throttled {
                    "everything else, including Ctrl-C, gets the 50 ms of each second that real-time throttling leaves"
                } else {
                    "nothing else can run, not even Ctrl-C or ssh"
                }
            ),
            Self::SpinsThrottled { sched } => write!(
                f,
                "The kernel throttles busy-polling threads at {sched} for a part of every second \
                 (kernel.sched_rt_runtime_us), and frames wait meanwhile; if they have a processor of their own: sudo sysctl \
                 kernel.sched_rt_runtime_us=-1"
            ),
            Self::TimestampDrops { route, interface } => write!(
                f,
                "Route {route:?} keeps timestamps, which the qdisc fq of {interface} takes for the transmit time: it drops \
                 every frame that has one; remove keep-timestamp, or type: sudo tc qdisc replace dev {interface} root \
                 pfifo_fast"
            ),
            Self::WaitsForStart { path } => {
                write!(f, "Waiting for another candor to finish starting: {} is locked", path.display())
            }
            Self::WithoutKernel { missing: Missing::Module } => f.write_str(
                "All routes run in user space, because the kernel module can-gw is not loaded; to use the kernel: sudo \
                 modprobe can-gw, and restart candor",
            ),
            Self::WithoutKernel { missing: Missing::Privilege } => f.write_str(
                "All routes run in user space, because can-gw needs CAP_NET_ADMIN in the initial user namespace; to use the \
                 kernel, run candor as root (sudo candor run …)",
            ),
        }
    }
}

fn count(jobs: usize) -> String {
    if jobs == 1 { "1 can-gw job".into() } else { format!("{jobs} can-gw jobs") }
}

/// Remedies for errnos of `send()` on a CAN_RAW socket.
fn advice(errno: i32, interface: &str) -> String {
    match errno {
        EINVAL | EMSGSIZE => " (FD frames to an interface that sends only classic frames)".into(),
        ENETDOWN => format!("; set it up: sudo ip link set {interface} up"),
        _ => String::new(),
    }
}
