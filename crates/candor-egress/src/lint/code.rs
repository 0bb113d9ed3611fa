//! The traps, with their codes and what people read of them. Codes are stable; `docs/egress.md` lists them.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    BlindFlows {
        kind: &'static str,
    },
    CoarseRounds {
        kind: &'static str,
        frames: u32,
    },
    /// A frame is taken out of a scheduler before it may leave.
    Parked {
        below: String,
    },
    Burst {
        burst_bytes: u32,
        frame_bytes: u32,
    },
    /// `htb` without a class for the rest.
    NoDefault,
    /// A class of `htb` whose quantum the kernel chooses.
    CoarseClass {
        frames: u32,
    },
    DropsRest {
        kind: &'static str,
    },
    /// A filter for frames of one format of the bus.
    OneProtocol {
        /// Whether it leaves out frames of CAN FD, rather than classic ones.
        leaves_out_fd: bool,
    },
    /// A filter for all frames that is only for all of one identifier format.
    HalfRest {
        /// Whether it leaves out those of 29 bits.
        leaves_out_extended: bool,
    },
    InnerTable,
    LengthByAccident {
        frames: Option<u32>,
    },
    /// `pfifo_fast` on kernels in which it mixes up frames.
    Reorders,
    /// A discipline that the report of 2011 rejects.
    Rejected,
    /// Frames that are dropped while their sender hears that all is well.
    Silent {
        why: &'static str,
    },
    DeepDriver {
        frames: u32,
        us: u64,
    },
    /// A controller that nobody brings back after bus-off, while frames are lost silently.
    StaysOff,
    /// A queue that is full before a sender has to wait.
    NeverBlocks {
        queue_frames: u32,
        socket_frames: u32,
    },
}

pub const ALL: &[&str] = &[
    "W1061", "W1062", "W1063", "W1064", "W1065", "W1066", "W1067", "W1068", "W1069", "W1070", "W1071", "W1072",
    "N1081", "N1082", "N1083", "N1084", "N1085",
];

impl Trap {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BlindFlows { .. } => "W1061",
            Self::CoarseRounds { .. } => "W1062",
            Self::Parked { .. } => "W1063",
            Self::Burst { .. } => "W1064",
            Self::NoDefault => "W1065",
            Self::CoarseClass { .. } => "W1066",
            Self::DropsRest { .. } => "W1067",
            Self::OneProtocol { .. } => "W1068",
            Self::HalfRest { .. } => "W1069",
            Self::InnerTable => "W1070",
            Self::LengthByAccident { .. } => "W1071",
            Self::Reorders => "W1072",
            Self::Rejected => "N1081",
            Self::Silent { .. } => "N1082",
            Self::DeepDriver { .. } => "N1083",
            Self::NeverBlocks { .. } => "N1084",
            Self::StaysOff => "N1085",
        }
    }

    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::BlindFlows { .. } => {
                "give it a filter, such as flow hash keys src divisor 1024, for which a socket is a flow; fair = \"per-socket\" \
                 of a band does that"
            }
            Self::CoarseRounds { .. } => {
                "let frames count as 256 bytes: stab mpu 256 at the root, and rates and limits in these"
            }
            Self::Parked { .. } => {
                "put the shaper below the scheduler, one for each band, or take prio as the scheduler"
            }
            Self::Burst { .. } => "make the bucket as large as one frame: 16 bytes for classic frames, 72 with CAN FD",
            Self::NoDefault => "add default and the minor number of a class for what is left over",
            Self::CoarseClass { .. } => "write the quantum, such as quantum 16 for one classic frame",
            Self::DropsRest { .. } => "add a last filter for every frame: matchall flowid …",
            Self::OneProtocol { .. } => "write protocol all, or a second filter for the other format",
            Self::HalfRest { .. } => "write canid(sff 0:0 eff 0:0), or matchall",
            Self::InnerTable => "move stab to the root: it counts in the whole tree",
            Self::LengthByAccident { .. } => "give each class a queue with a length: pfifo limit 100",
            Self::Reorders => "take pfifo, which keeps the order",
            Self::Rejected => "take ets, or prio with a queue in each band",
            Self::Silent { .. } => {
                "take pfifo, whose sender gets ENOBUFS, where frames must not be lost without a word"
            }
            Self::DeepDriver { .. } => {
                "count it into the deadlines of urgent frames; byte_queue_limits/limit_max or ethtool -G makes some drivers hold \
                 fewer"
            }
            Self::StaysOff => {
                "write restart-after = \"100ms\" in [bus.NAME], or: ip link set IF type can restart-ms 100"
            }
            Self::NeverBlocks { .. } => {
                "let programs take ENOBUFS for what it is and try again; or set SO_SNDBUF smaller"
            }
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlindFlows { kind } => write!(f, "{kind} takes all CAN frames for one flow, whoever sends them"),
            Self::CoarseRounds { kind, frames } => write!(
                f,
                "Kernels since 2025 raise the quantum of {kind} to 256 bytes: {frames} classic frames in a row"
            ),
            Self::Parked { below } => {
                write!(
                    f,
                    "tbf takes the next frame out of {below} before it may leave, so that it goes before more urgent ones"
                )
            }
            Self::Burst { burst_bytes, frame_bytes } => write!(
                f,
                "Frames count as {frame_bytes} bytes and the bucket holds {burst_bytes}: every one is refused with ENOBUFS"
            ),
            Self::NoDefault => {
                f.write_str("Frames that no filter takes leave at once, ahead of all classes and without a limit")
            }
            Self::CoarseClass { frames } => {
                write!(
                    f,
                    "Without a quantum htb lets this class send at least 1000 bytes in a row: {frames} classic frames"
                )
            }
            Self::DropsRest { kind } => write!(f, "{kind} drops frames that no filter takes, and nobody hears of it"),
            Self::OneProtocol { leaves_out_fd: true } => f.write_str("protocol can leaves out frames of CAN FD"),
            Self::OneProtocol { leaves_out_fd: false } => f.write_str("protocol canfd leaves out classic frames"),
            Self::HalfRest { leaves_out_extended: true } => f.write_str("canid(sff 0:0) takes no frame of 29 bits"),
            Self::HalfRest { leaves_out_extended: false } => f.write_str("canid(eff 0:0) takes no frame of 11 bits"),
            Self::InnerTable => {
                f.write_str("stab below the root is refused by newer kernels and ignored by older ones")
            }
            Self::LengthByAccident { frames: None } => {
                f.write_str("A queue here is as long as txqueuelen is when it is made, and stays so")
            }
            Self::LengthByAccident { frames: Some(frames) } => {
                write!(f, "A queue here holds {frames} frames, because that is txqueuelen now, and stays so")
            }
            Self::Reorders => f.write_str("pfifo_fast of Linux 5.2 to 5.5 may mix up the order of frames"),
            Self::Rejected => {
                f.write_str("drr is not for CAN, says the report of 2011: all its classes have to be made by hand")
            }
            Self::Silent { why } => write!(f, "{why}, and write() says that all is well"),
            Self::DeepDriver { frames, us } => {
                write!(f, "Up to {frames} frames that the driver holds go before any other: {us} us at most on the bus")
            }
            Self::StaysOff => f.write_str(
                "A controller that has left the bus (bus-off) stays off here; meanwhile frames vanish, and write() says that all is \
                 well",
            ),
            Self::NeverBlocks { queue_frames, socket_frames } => write!(
                f,
                "A socket may have {socket_frames} frames under way and this queue holds {queue_frames}: write() fails with \
                 ENOBUFS and never waits"
            ),
        }
    }
}
