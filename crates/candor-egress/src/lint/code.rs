//! The traps, with their messages. Codes are stable; `docs/egress.md` lists them.

use std::fmt;

/// A tree that does something else than it seems to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    BlindFlows { kind: &'static str },
    CoarseRounds { kind: &'static str, frames: u32 },
    Parked { below: String },
    Burst { burst_bytes: u32, frame_bytes: u32 },
    NoDefault,
    CoarseClass { frames: u32 },
    DropsRest { kind: &'static str },
    OneProtocol { leaves_out_fd: bool },
    HalfRest { leaves_out_extended: bool },
    InnerTable,
    LengthByAccident { frames: Option<u32> },
    Reorders,
    Rejected,
    Silent { why: &'static str },
    DeepDriver { frames: u32, us: u64 },
    StaysOff,
    NeverBlocks { queue_frames: u32, socket_frames: u32 },
}

pub const ALL: &[&str] = &[
    "W1061", "W1062", "W1063", "W1064", "W1065", "W1066", "W1067", "W1068", "W1069", "W1070", "W1071", "W1072",
    "N1081", "N1082", "N1083", "N1084", "N1085",
];

impl Trap {
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.words().0
    }

    #[must_use]
    pub fn help(&self) -> &'static str {
        self.words().2
    }

    /// Code, message and remedy.
    fn words(&self) -> (&'static str, String, &'static str) {
        match self {
            Self::BlindFlows { kind } => (
                "W1061",
                format!("{kind} takes all CAN frames for one flow, whoever sends them"),
                "give it a filter, such as flow hash keys src divisor 1024, for which a socket is a flow; fair = \"per-socket\" \
                 of a band does that",
            ),
            Self::CoarseRounds { kind, frames } => (
                "W1062",
                format!("Kernels since 2025 raise the quantum of {kind} to 256 bytes: {frames} classic frames in a row"),
                "let frames count as 256 bytes: stab mpu 256 at the root, and rates and limits in these",
            ),
            Self::Parked { below } => (
                "W1063",
                format!(
                    "tbf takes the next frame out of {below} before it may leave, so that it goes before more urgent ones"
                ),
                "put the shaper below the scheduler, one for each band, or take prio as the scheduler",
            ),
            Self::Burst { burst_bytes, frame_bytes } => (
                "W1064",
                format!(
                    "Frames count as {frame_bytes} bytes and the bucket holds {burst_bytes}: every one is refused with ENOBUFS"
                ),
                "make the bucket as large as one frame: 16 bytes for classic frames, 72 with CAN FD",
            ),
            Self::NoDefault => (
                "W1065",
                "Frames that no filter takes leave at once, ahead of all classes and without a limit".to_owned(),
                "add default and the minor number of a class for what is left over",
            ),
            Self::CoarseClass { frames } => (
                "W1066",
                format!("Without a quantum htb lets this class send at least 1000 bytes in a row: {frames} classic frames"),
                "write the quantum, such as quantum 16 for one classic frame",
            ),
            Self::DropsRest { kind } => (
                "W1067",
                format!("{kind} drops frames that no filter takes, and nobody hears of it"),
                "add a last filter for every frame: matchall flowid …",
            ),
            Self::OneProtocol { leaves_out_fd } => {
                let (protocol, others) = if *leaves_out_fd { ("can", "frames of CAN FD") } else { ("canfd", "classic frames") };
                let message = format!("protocol {protocol} leaves out {others}");
                ("W1068", message, "write protocol all, or a second filter for the other format")
            }
            Self::HalfRest { leaves_out_extended } => {
                let (format, bits) = if *leaves_out_extended { ("sff", 29) } else { ("eff", 11) };
                let message = format!("canid({format} 0:0) takes no frame of {bits} bits");
                ("W1069", message, "write canid(sff 0:0 eff 0:0), or matchall")
            }
            Self::InnerTable => (
                "W1070",
                "stab below the root is refused by newer kernels and ignored by older ones".to_owned(),
                "move stab to the root: it counts in the whole tree",
            ),
            Self::LengthByAccident { frames } => (
                "W1071",
                frames.map_or_else(
                    || "A queue here is as long as txqueuelen is when it is made, and stays so".to_owned(),
                    |frames| format!("A queue here holds {frames} frames, because that is txqueuelen now, and stays so"),
                ),
                "give each class a queue with a length: pfifo limit 100",
            ),
            Self::Reorders => (
                "W1072",
                "pfifo_fast of Linux 5.2 to 5.5 may mix up the order of frames".to_owned(),
                "take pfifo, which keeps the order",
            ),
            Self::Rejected => (
                "N1081",
                "drr is not for CAN, says the report of 2011: all its classes have to be made by hand".to_owned(),
                "take ets, or prio with a queue in each band",
            ),
            Self::Silent { why } => (
                "N1082",
                format!("{why}, and write() says that all is well"),
                "take pfifo, whose sender gets ENOBUFS, where frames must not be lost without a word",
            ),
            Self::DeepDriver { frames, us } => (
                "N1083",
                format!("Up to {frames} frames that the driver holds go before any other: {us} us at most on the bus"),
                "count it into the deadlines of urgent frames; byte_queue_limits/limit_max or ethtool -G makes some drivers hold \
                 fewer",
            ),
            Self::NeverBlocks { queue_frames, socket_frames } => (
                "N1084",
                format!(
                    "A socket may have {socket_frames} frames under way and this queue holds {queue_frames}: write() fails \
                     with ENOBUFS and never waits"
                ),
                "let programs take ENOBUFS for what it is and try again; or set SO_SNDBUF smaller",
            ),
            Self::StaysOff => (
                "N1085",
                "A controller that has left the bus (bus-off) stays off here; meanwhile frames vanish, and write() says that \
                 all is well"
                    .to_owned(),
                "write restart-after = \"100ms\" in [bus.NAME], or: ip link set IF type can restart-ms 100",
            ),
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().1)
    }
}
