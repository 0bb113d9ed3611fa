//! Random message sets on one bus, whose response times must be those of pyRTA.
//!
//! `CANDOR_PYRTA` is a directory with `venv`, in which the Python package is installed. `cargo xtask test` makes it and sets the
//! variable; without it, the test prints `SKIP` and the reason.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

#[path = "../../../candor-lab/tests/support/judge.rs"]
mod judge;
#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;

use candor_bounds::{
    Assumptions, Bus, BusId, Controller, Lengths, Message, Network, Node, NodeId, Ns, Origin, Queue, published,
};
use candor_core::frame::{FrameFormat, RawId};
use candor_core::random::SplitMix64;
use judge::judged;
use require::require;

const SETS: u32 = 12_000;
/// At 1 Mbit/s.
const BIT_NS: u64 = 1_000;
const INTERMISSION_BITS: u64 = 3;
const ASSUMPTIONS: Assumptions = Assumptions { lengths: Lengths::Published, error_frames: 0, error_frame_bits: 31 };

#[test]
fn pyrta_has_the_same_response_times() {
    let Some(peer) = peer() else { return };
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pyrta/judge.py");
    let counts = judged(Command::new(peer.join("venv/bin/python")).arg(judge), cases);
    assert!(counts["priority"] > 40_000 && counts["fifo"] > 4_000, "{counts:?}");
}

/// The directory of the package. `None` after saying why there is none.
fn peer() -> Option<PathBuf> {
    let found = std::env::var_os("CANDOR_PYRTA").map(PathBuf::from);
    require("response-time-analysis", found, "CANDOR_PYRTA is not set; cargo xtask pyrta prints it")
}

/// The lines that judge.py describes.
fn cases() -> String {
    let mut random = SplitMix64::new(13);
    let mut text = String::new();
    for set in 0..SETS {
        let is_fifo = set % 8 == 0;
        let network = network(&mut random, is_fifo);
        let analysis = network.analyse(ASSUMPTIONS).unwrap();
        text.push_str(if is_fifo { "fifo" } else { "priority" });
        for (message, bound) in network.messages.iter().zip(analysis.bounds()) {
            let Origin::Queued { period, jitter } = message.origin else { unreachable!("all are queued") };
            let cost = u64::from(published(message.id.is_eff(), message.format, false, message.len).total());
            let response = bound.1.response.unwrap().0 / BIT_NS + INTERMISSION_BITS;
            write!(text, " {cost},{},{},{response}", period.0 / BIT_NS, jitter.0 / BIT_NS).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Two to nine messages with a load of 10 to 95 %, in the order of priority.
fn network(random: &mut SplitMix64, is_fifo: bool) -> Network {
    let mut below = |end: u64| random.next_u64() % end;
    let count = 2 + below(8);
    // Shares of the load.
    let load = 100 + below(850);
    let weights: Vec<u64> = (0..count).map(|_| 1 + below(10)).collect();
    let all: u64 = weights.iter().sum();
    let message = |(at, weight): (u64, &u64)| {
        let is_extended = below(2) == 0;
        let len = u8::try_from(below(9)).unwrap();
        let id = u32::try_from(at).unwrap();
        let id = RawId(if is_extended { 0x8000_0000 | id << 18 } else { id });
        let cost = u64::from(published(is_extended, FrameFormat::Classic, false, len).total());
        let period = cost * all * 1000 / (weight * load) + 1;
        let jitter = if is_fifo || below(2) == 0 { 0 } else { below(period) };
        Message {
            node: NodeId(if is_fifo { 0 } else { usize::try_from(at).unwrap() }),
            id,
            format: FrameFormat::Classic,
            bit_rate_switch: false,
            len,
            origin: Origin::Queued { period: Ns(period * BIT_NS), jitter: Ns(jitter * BIT_NS) },
            deadline: Ns(period * BIT_NS),
            band: 0,
            socket: 0,
        }
    };
    let messages: Vec<_> = (0..).zip(&weights).map(message).collect();
    let node = if is_fifo {
        Node { bus: BusId(0), queue: Queue::fifo(), controller: Controller::Fifo(NonZeroU32::MIN) }
    } else {
        Node { bus: BusId(0), queue: Queue::Arbitration, controller: Controller::Abortable }
    };
    let buses = vec![Bus { nominal: "1Mbit/s".parse().unwrap(), data: None }];
    Network { buses, nodes: vec![node; messages.len()], messages }
}
