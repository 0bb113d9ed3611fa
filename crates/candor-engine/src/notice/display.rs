//! A notice as people read it: what is the matter, and what to type.

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
                write!(f, "Interface {interface} has the {which} {found}, but the file says {expected}")
            }
            Self::BusBack { interface, meanwhile } => {
                write!(f, "Interface {interface} is on its bus again")?;
                match meanwhile {
                    0 => Ok(()),
                    frames => write!(
                        f,
                        "; {frames} frames that were handed over meanwhile may be lost, though they count as handled"
                    ),
                }
            }
            Self::BusOff { interface, restart } => {
                write!(
                    f,
                    "Interface {interface} is bus-off: its controller left the bus after too many errors (look at wires, \
                     termination and bit rate); "
                )?;
                match restart {
                    Restart::Candor { after } => {
                        write!(f, "frames to it are dropped, and candor starts it again in {after:?}")
                    }
                    Restart::Driver { after } => {
                        write!(f, "frames to it are lost, and its driver starts it again in {after:?} (restart-ms)")
                    }
                    Restart::Nobody => write!(
                        f,
                        "frames to it are lost until you type: sudo ip link set {interface} down && sudo ip link set \
                         {interface} up; to have candor do that write restart-after = \"1s\" for this bus"
                    ),
                }
            }
            Self::CangwBack => f.write_str("The kernel module can-gw is loaded again, and its jobs are put back"),
            Self::CangwGone => f.write_str(
                "The kernel module can-gw was unloaded, and with it the jobs of all routes in the kernel; they are put \
                 back as soon as you type: sudo modprobe can-gw",
            ),
            Self::CheckFailed { why } => write!(
                f,
                "candor cannot look after jobs and interfaces just now ({why}); what runs goes on, and it tries again \
                 every second"
            ),
            Self::EtfDrops { interface } => write!(
                f,
                "{interface} has the qdisc etf, which drops frames without a time to send them, and a gateway gives none; \
                 type: sudo tc qdisc replace dev {interface} root pfifo_fast"
            ),
            Self::FdDoesNotFit { route, interface } => write!(
                f,
                "Route {route:?} takes FD frames, but {interface} sends classic ones only and will drop them; set it \
                 down and type: sudo ip link set {interface} mtu 72 (vcan) or sudo ip link set {interface} type can \
                 fd on dbitrate RATE"
            ),
            Self::ForeignDuplicate { route } => write!(
                f,
                "can-gw already had a job equal to that of route {route:?}, which candor did not make; frames are \
                 forwarded twice until it is deleted (cangw -L lists it)"
            ),
            Self::InterfaceBack { interface } => write!(f, "Interface {interface} is back, and its routes go on"),
            Self::InterfaceDown { interface } => write!(
                f,
                "Interface {interface} is down; nothing is forwarded from or to it until you type: sudo ip link set \
                 {interface} up"
            ),
            Self::InterfaceGone { bus, was, interface } => write!(
                f,
                "Interface {was} (bus {bus:?}) is gone: it was unplugged or deleted; its routes wait for an interface \
                 {interface}, the others go on"
            ),
            Self::InterfaceRenamed { bus, was, interface } => write!(
                f,
                "Interface {was} (bus {bus:?}) is called {interface} now; its routes go on, but the next start will \
                 look for the name in the file"
            ),
            Self::InterfaceUp { interface } => write!(f, "Interface {interface} is up again"),
            Self::JobsPutBack { jobs, route } => write!(
                f,
                "Somebody deleted {} of route {route:?} and perhaps others (cangw -F does that, and so does loading \
                 can-gw anew); candor put {} back",
                count(*jobs),
                if *jobs == 1 { "it" } else { "them" }
            ),
            Self::CountersInconsistent(numbers) => write!(
                f,
                "candor has lost sight of a frame, which is a mistake in candor: {numbers}; please report it with the \
                 gateway file and all that candor has said"
            ),
            Self::MayCircle { route, other } => write!(
                f,
                "Route {route:?} and a route of {other} the other way pass the same frames to and fro \
                 without end; put both directions into one file, or give them filters that exclude each other"
            ),
            Self::NoLatency { engine: None } => f.write_str(
                "No latency can be measured: all routes are in the kernel, which does not say how long frames take there",
            ),
            Self::NoLatency { engine: Some(engine) } => write!(
                f,
                "No latency can be measured: with {} the kernel does not say when frames came in; take another engine \
                 (candor engines lists them)",
                engine.name()
            ),
            Self::NotAnnounced { path } => write!(
                f,
                "{} cannot be used, so nobody will notice if a second candor runs the same routes, which floods buses \
                 that are routed both ways; set XDG_RUNTIME_DIR or CANDOR_RUN_DIR to a folder of yours",
                path.display()
            ),
            Self::OddList { path, reason } => write!(
                f,
                "{path} cannot be understood ({reason}), so can-gw jobs that it lists may stay in the kernel; \
                 if no candor of another version runs, look with cangw -L, delete all jobs with sudo cangw -F, and \
                 type: sudo rm {path}",
                path = path.display()
            ),
            Self::QueueFull { interface } => write!(
                f,
                "The queue of {interface} is full, and frames to it are dropped; look at its state and errors: ip \
                 -details -statistics link show {interface} (bus-off, or nobody on the bus who acknowledges?), and if \
                 it is only slow type: sudo ip link set {interface} txqueuelen 1000"
            ),
            Self::ReceiveOverflow { interface, frames } => {
                write!(f, "{frames} frames from {interface} were lost because they came faster than they were read")
            }
            Self::RemovedLeftovers { jobs, pid } => {
                write!(f, "Removed {} of candor process {pid}, which died", count(*jobs))
            }
            Self::RestartFailed { interface, why } => {
                write!(f, "Interface {interface} is off its bus and cannot be set down and up again: {why}")
            }
            Self::SendFailed { interface, errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "Frames to {interface} are dropped: {error}{}", advice(*errno, interface))
            }
            Self::SpinsOnAll { sched, processors, is_throttled } => write!(
                f,
                "Threads that spin at {sched} have {}: {}; take a receiver that waits (mmap), sched = \"other\", or leave a \
                 processor to the others by `cpus`",
                if *processors == 1 { "the only processor".into() } else { format!("all {processors} processors") },
                if *is_throttled {
                    "everything else, Ctrl-C too, gets what the kernel takes away from them, 50 ms of a second"
                } else {
                    "nothing else will run any more, not even Ctrl-C or ssh"
                }
            ),
            Self::SpinsThrottled { sched } => write!(
                f,
                "Threads that spin at {sched} are stopped by the kernel for a part of every second \
                 (kernel.sched_rt_runtime_us), and frames wait as long; if a processor is theirs alone, type: sudo sysctl \
                 kernel.sched_rt_runtime_us=-1"
            ),
            Self::TimestampDrops { route, interface } => write!(
                f,
                "Route {route:?} keeps time stamps, which the qdisc fq of {interface} takes for the time to send: it drops \
                 every frame that has one; remove keep-timestamp, or type: sudo tc qdisc replace dev {interface} root \
                 pfifo_fast"
            ),
            Self::WaitsForStart { path } => {
                write!(f, "Waiting for another candor to finish starting: somebody holds {}", path.display())
            }
            Self::WithoutKernel { missing: Missing::Module } => f.write_str(
                "All routes run in user space, because the kernel module can-gw is not loaded; to have them in the \
                 kernel type: sudo modprobe can-gw, and start again",
            ),
            Self::WithoutKernel { missing: Missing::Privilege } => f.write_str(
                "All routes run in user space, because can-gw wants the capability CAP_NET_ADMIN in the initial user \
                 namespace; to have them in the kernel run it as root (sudo candor run …)",
            ),
        }
    }
}

fn count(jobs: usize) -> String {
    if jobs == 1 { "1 can-gw job".into() } else { format!("{jobs} can-gw jobs") }
}

/// What the errnos of a CAN_RAW `send()` mean for a gateway.
fn advice(errno: i32, interface: &str) -> String {
    match errno {
        EINVAL | EMSGSIZE => " (FD frames for an interface that sends classic ones only)".into(),
        ENETDOWN => format!("; type: sudo ip link set {interface} up"),
        _ => String::new(),
    }
}
