//! The traps, with their messages. Codes are stable; `docs/egress.md` lists them.

use std::fmt;

/// A tree with an unexpected effect.
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
                format!("{kind} treats all CAN frames as one flow, regardless of the sender"),
                "add a filter such as flow hash keys src divisor 1024, which makes each socket a flow; in bands: fair = \
                 \"per-socket\"",
            ),
            Self::CoarseRounds { kind, frames } => (
                "W1062",
                format!("Kernels since 2025 raise the quantum of {kind} to 256 bytes, {frames} classic frames"),
                "make each frame count as 256 bytes: stab mpu 256 at the root; scale rates and limits accordingly",
            ),
            Self::Parked { below } => (
                "W1063",
                format!("tbf takes the next frame out of {below} before it may be sent, delaying more urgent ones"),
                "put the shaper below the scheduler, one for each band, or use prio as the scheduler",
            ),
            Self::Burst { burst_bytes, frame_bytes } => (
                "W1064",
                format!(
                    "Frames count as {frame_bytes} bytes, but the bucket holds {burst_bytes}: all fail with ENOBUFS"
                ),
                "make the bucket as large as one frame: 16 bytes for classic frames, 72 with CAN FD",
            ),
            Self::NoDefault => (
                "W1065",
                "Unmatched frames are sent at once, before all classes and without a limit".to_owned(),
                "add default and the minor number of a class for unmatched frames",
            ),
            Self::CoarseClass { frames } => (
                "W1066",
                format!("Without a quantum this class sends at least 1000 bytes in a row: {frames} classic frames"),
                "write the quantum, such as quantum 16 for one classic frame",
            ),
            Self::DropsRest { kind } => (
                "W1067",
                format!("{kind} drops unmatched frames silently"),
                "add a last filter that matches every frame: matchall flowid …",
            ),
            Self::OneProtocol { leaves_out_fd } => {
                let (protocol, others) =
                    if *leaves_out_fd { ("can", "FD frames") } else { ("canfd", "classic frames") };
                let message = format!("protocol {protocol} excludes {others}");
                ("W1068", message, "write protocol all, or a second filter for the other format")
            }
            Self::HalfRest { leaves_out_extended } => {
                let (format, bits) = if *leaves_out_extended { ("sff", 29) } else { ("eff", 11) };
                let message = format!("canid({format} 0:0) matches no {bits}-bit identifier");
                ("W1069", message, "write canid(sff 0:0 eff 0:0), or matchall")
            }
            Self::InnerTable => (
                "W1070",
                "Newer kernels reject stab below the root, older ones ignore it".to_owned(),
                "move stab to the root: it applies to the whole tree",
            ),
            Self::LengthByAccident { frames } => (
                "W1071",
                frames.map_or_else(
                    || "The queue length is the txqueuelen at the creation of the qdisc".to_owned(),
                    |frames| format!("The queue length is the txqueuelen at creation, now {frames} frames"),
                ),
                "give each class a queue with a length: pfifo limit 100",
            ),
            Self::Reorders => (
                "W1072",
                "pfifo_fast of Linux 5.2 to 5.5 may reorder frames".to_owned(),
                "use pfifo, which keeps the order",
            ),
            Self::Rejected => (
                "N1081",
                "The report of 2011 advises against drr on CAN: each class must be created by hand".to_owned(),
                "use ets, or prio with a queue in each band",
            ),
            Self::Silent { why } => (
                "N1082",
                format!("{why}, although write() succeeded"),
                "where silent loss is not acceptable, use pfifo: its senders get ENOBUFS",
            ),
            Self::DeepDriver { frames, us } => (
                "N1083",
                format!("Up to {frames} frames held by the driver are sent before any other, for up to {us} us"),
                "add this to the deadlines of urgent frames; byte_queue_limits/limit_max or ethtool -G makes some drivers hold \
                 fewer",
            ),
            Self::NeverBlocks { queue_frames, socket_frames } => (
                "N1084",
                format!(
                    "A socket may have {socket_frames} frames queued, but this queue holds {queue_frames}: write() fails \
                     with ENOBUFS and never blocks"
                ),
                "retry after ENOBUFS in the programs, or set a smaller SO_SNDBUF",
            ),
            Self::StaysOff => (
                "N1085",
                "This controller is not restarted after bus-off; until then its frames are lost, although write() \
                 succeeds"
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
