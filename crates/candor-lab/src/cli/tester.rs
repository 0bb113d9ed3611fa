//! Arguments of the commands that test and measure gateways.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::realtime::{RtPriority, Sched};
use candor_core::units::{BitRate, parse_duration};
use candor_io::schedule::Policy;
use candor_lab::arch::Arch;
use candor_lab::job::Topology;
use candor_lab::tester::{Names, Origin, StampSource};
use clap::Args;

use super::guests::{ARCHS, TOPOLOGIES};
use super::{Values, named};

/// Measure the latency of gateways between two buses of this machine, one frame at a time.
///
/// Sends a tagged frame, waits for it on the second bus, and takes the receive timestamps of the kernel, or of the adapter, on the
/// monitor and on the second bus. Each gateway file is started as a process, measured and stopped.
///
/// Exit status: 0 measured, 1 a gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct TesterArgs {
    /// Gateway files to measure, one after another (default: frames are forwarded by something else).
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) interfaces: InterfaceArgs,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Nominal bit rate of the second bus, whose frame time is subtracted. Omit it where frames take no time.
    #[arg(long, value_name = "RATE")]
    pub(crate) wire_bitrate: Option<BitRate>,
    /// Data bit rate of the second bus.
    #[arg(long, value_name = "RATE", requires = "wire_bitrate")]
    pub(crate) wire_data_bitrate: Option<BitRate>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// Directory for the records.
    #[arg(long, value_name = "DIR")]
    pub(crate) records: PathBuf,
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure gateway files in a guest that counts instructions, and report.
///
/// Boots one guest, measures every gateway with the same traffic, prints the table and writes the report.
///
/// Exit status: 0 measured, 1 a gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab bench gateway.toml --baselines --html report.html      a gateway file and its baseline")]
pub(crate) struct BenchArgs {
    /// Gateway files; their interfaces must be those of the topology's gateway (kvaser and wire: can2 to can3, vcan: vcan0 to
    /// vcan1 with echo).
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "kvaser", value_parser = named(TOPOLOGIES))]
    pub(crate) topology: Topology,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// Processor of the guest.
    #[arg(long, default_value = "x86-64", value_parser = named(ARCHS))]
    pub(crate) arch: Arch,
    /// Kernel, by its name in `candor-lab kernels` or its path (default: debian-6.1).
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) kernel: Option<String>,
    /// Load this module instead of the kernel's, as in `candor-lab run` (repeatable).
    #[arg(long, value_name = "PATH")]
    pub(crate) module: Vec<PathBuf>,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "30min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Directory for the raw records.
    #[arg(long, value_name = "DIR", default_value = "records")]
    pub(crate) records: PathBuf,
    /// Write a self-contained HTML report.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Test that any gateway between two interfaces forwards every kind of CAN frame unchanged.
///
/// Starts COMMAND, which keeps running or returns when the gateway is set up; sends frames of every kind on one interface
/// and monitors both; then ends COMMAND, or runs the command of --teardown. Both interfaces are used as they are; nothing else
/// should send on them.
///
/// Exit status: 0 conformant, 1 not conformant, 2 it could not be tested.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab conformance --from vcan0 --to vcan1 -- candor run gateway.toml
  candor-lab conformance --from vcan0 --to vcan1 --teardown 'cangw -F' -- \\
      cangw -A -s vcan0 -d vcan1 -e")]
pub(crate) struct ConformanceArgs {
    /// Interface to send on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) from: String,
    /// Interface on which the frames should arrive.
    #[arg(long, value_name = "IFACE")]
    pub(crate) to: String,
    /// Skip CAN FD.
    #[arg(long, conflicts_with = "fd")]
    pub(crate) classic_only: bool,
    /// Require CAN FD (default: skip it if an interface supports classic frames only).
    #[arg(long)]
    pub(crate) fd: bool,
    /// Require the reverse direction (default: test it if any frame crosses it).
    #[arg(long, conflicts_with = "one_way")]
    pub(crate) both_ways: bool,
    /// Skip the reverse direction.
    #[arg(long)]
    pub(crate) one_way: bool,
    /// Timeout for the first frame to cross.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub(crate) wait: Duration,
    /// Count missing frames as lost if no frame arrives for this time.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    pub(crate) lost_after: Duration,
    /// Command that removes the gateway, for a COMMAND that returns at once: program and arguments, split at spaces.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) teardown: Option<String>,
    /// Seed of the random identifiers and payloads.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Command that starts the gateway, after `--` (default: a gateway is running already).
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

const ORIGINS: Values<Option<Origin>> =
    &[("auto", "", None), ("call", "", Some(Origin::Call)), ("timer", "", Some(Origin::Timer))];

/// The source of the frames; `None` selects it by the engines. Not an `Option` for clap, whose options are optional then.
pub(crate) type FramesFrom = Option<Origin>;

/// The name of a source of frames on the command line.
pub(crate) fn origin_name(origin: FramesFrom) -> &'static str {
    ORIGINS.iter().find(|(.., known)| *known == origin).map_or("auto", |(name, ..)| name)
}

/// Conditions that all gateways of one command share.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ConditionArgs {
    /// Source of the frames: `call`, the tester itself, or `timer`, the kernel while the tester sleeps (needs can-bcm). `auto` is
    /// `timer` if an engine that never waits (readnb, mmapbusy) shares the only CPU with the tester, otherwise `call`.
    #[arg(long, value_name = "auto|call|timer", default_value = "auto", hide_possible_values = true, value_parser = named(ORIGINS))]
    pub(crate) frames_from: FramesFrom,
    /// Scheduling policy of the tester. `idle`: below the gateway, so that the tester does not delay it; `fifo` (`fifo:95`): above
    /// the gateway, so that the tester is never late; `other`: like the gateway. `auto` is `idle` if they share the only CPU
    /// and the tester sends, otherwise `fifo`.
    #[arg(long, value_name = "auto|idle|other|fifo|fifo:N|rr:N", default_value = "auto")]
    pub(crate) policy: TesterPolicy,
    /// After each gateway with a user-space engine, measure its baseline loop: the same system calls without rules (`candor-lab
    /// baseline`). The difference is the cost of candor.
    #[arg(long)]
    pub(crate) baselines: bool,
    /// After each gateway, measure its rules without an operating system, on the second processor of the guest (`candor-lab
    /// bare-metal`): what remains of the latency without Linux. Topology kvaser only.
    #[arg(long)]
    pub(crate) bare_metal: bool,
}

const STAMPS: Values<StampSource> = &[("kernel", "", StampSource::Kernel), ("hardware", "", StampSource::Hardware)];

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StampArgs {
    /// Source of the receive timestamps: the `kernel`, or with `hardware` the adapter. Hardware stamps need the monitor and the
    /// receiver on channels of one adapter, because adapters have separate clocks.
    #[arg(long = "stamps", value_name = "kernel|hardware", default_value = "kernel", hide_possible_values = true,
          value_parser = named(STAMPS))]
    pub(crate) source: StampSource,
}

/// Scheduling policy of the tester; `None` selects it by the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TesterPolicy(pub(crate) Option<Policy>);

impl TesterPolicy {
    /// Above every gateway, below the kernel threads that a gateway depends on.
    pub(crate) const FIFO: Policy = Policy::Fifo(RtPriority::new(95).expect("95 is between 1 and 99"));
}

impl FromStr for TesterPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let policy = match text {
            "auto" => return Ok(Self(None)),
            "idle" => Policy::Idle,
            "fifo" => Self::FIFO,
            _ => text
                .parse::<Sched>()
                .map_err(|error| format!("{error}; use auto, idle, other, fifo, fifo:N or rr:N"))?
                .into(),
        };
        Ok(Self(Some(policy)))
    }
}

impl fmt::Display for TesterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(Policy::Idle) => f.write_str("idle"),
            Some(Policy::Normal) => f.write_str("other"),
            Some(Policy::Fifo(priority)) => write!(f, "fifo:{priority}"),
            Some(Policy::RoundRobin(priority)) => write!(f, "rr:{priority}"),
        }
    }
}

/// Interfaces of the tester.
#[derive(Args, Debug)]
pub(crate) struct InterfaceArgs {
    /// Interface to send on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) send: String,
    /// Interface that monitors the first bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) monitor: String,
    /// Interface that receives on the second bus.
    #[arg(long, value_name = "IFACE")]
    pub(crate) receive: String,
}

impl InterfaceArgs {
    pub(crate) fn names(&self) -> Names<'_> {
        Names { send: &self.send, monitor: &self.monitor, receive: &self.receive }
    }
}

/// Traffic of a measurement.
#[derive(Args, Debug)]
pub(crate) struct TrafficArgs {
    /// Frames to measure for each gateway.
    #[arg(long, default_value_t = 10_000, value_parser = frames)]
    pub(crate) frames: u32,
    /// Frame to send, in can-utils notation; a number replaces its first two payload bytes.
    #[arg(long, default_value = "123#0000")]
    pub(crate) frame: Frame,
    /// Frames to send before the first measured one.
    #[arg(long, default_value_t = 500)]
    pub(crate) warm_up: u32,
    /// Shortest pause between a reception and the next frame.
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = parse_duration)]
    pub(crate) gap_min: Duration,
    /// Longest pause between a reception and the next frame.
    #[arg(long, value_name = "TIME", default_value = "1500us", value_parser = parse_duration)]
    pub(crate) gap_max: Duration,
    /// Seed of the random pauses.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Count a frame as lost after this time.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    pub(crate) lost_after: Duration,
}

fn frames(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|&frames| frames > 0).ok_or("write a number from 1 on, in digits only, such as 2000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_to_measure_are_at_least_one() {
        assert_eq!((frames("1"), frames("2000")), (Ok(1), Ok(2000)));
        for wrong in ["0", "2k", "-1", ""] {
            assert!(frames(wrong).unwrap_err().contains("such as 2000"), "{wrong}");
        }
    }

    #[test]
    fn policies_round_trip() {
        for text in ["auto", "idle", "other", "fifo:1", "fifo:99", "rr:1"] {
            assert_eq!(text.parse::<TesterPolicy>().map(|policy| policy.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("fifo".parse(), Ok(TesterPolicy(Some(TesterPolicy::FIFO))));
        for wrong in ["", "fifo:", "fifo:0", "fifo:100", "fifo:x", "rr"] {
            assert!(wrong.parse::<TesterPolicy>().is_err(), "{wrong}");
        }
    }
}
