//! A made-up plan of 650 cells: every state, and losses at high rates.

use candor_core::random::SplitMix64;
use candor_lab::cells::State;
use candor_lab::record::{Disposition, Header, Inside, Record, Sample};
use candor_lab::report::{Cell, Matrix, Measured};

const KERNELS: [&str; 2] = ["debian-6.1", "backports-6.12"];
const GATEWAYS: [&str; 5] = ["none", "kernel", "read-write", "mmap-adaptive", "cangw"];
const TRAFFIC: [&str; 5] = ["one at a time", "10 %", "50 %", "90 %", "flood"];
const LOADS: [&str; 13] = [
    "none",
    "cpu 10",
    "cpu 20",
    "cpu 40",
    "ethernet 1000",
    "ethernet 10000",
    "ethernet 60000",
    "memory 8",
    "memory 32",
    "memory 128",
    "timers 10",
    "timers 100",
    "timers 1000",
];

/// More than a profile keeps.
const FRAMES: u32 = 1000;

pub(crate) fn plan() -> Matrix {
    let mut cells = Vec::new();
    for kernel in 0..KERNELS.len() {
        for gateway in 0..GATEWAYS.len() {
            for traffic in 0..TRAFFIC.len() {
                for load in 0..LOADS.len() {
                    cells.push(cell([kernel, gateway, traffic, load], cells.len()));
                }
            }
        }
    }
    assert_eq!(cells.len(), 650);
    Matrix { name: "A plan <that> is made up".to_owned(), frames: FRAMES, warm_up: 500, seed: 7, cells }
}

fn cell(at: [usize; 4], index: usize) -> Cell {
    let [kernel, gateway, traffic, load] = at;
    let levels = [
        ("kernel", KERNELS[kernel]),
        ("gateway", GATEWAYS[gateway]),
        ("traffic", TRAFFIC[traffic]),
        ("load", LOADS[load]),
        ("topology", "wire"),
    ];
    let levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into();
    let state = match index % 100 {
        17 => Some(State::Invalid("the tester was late for more than a tenth of the period".to_owned())),
        41 => Some(State::Failed("The gateway ended before it was ready (exit status: 1)".to_owned())),
        63 => None,
        _ => Some(State::Ok),
    };
    let is_there = matches!(state, Some(State::Ok | State::Invalid(_)));
    let measured = is_there.then(|| Measured::of(&record(at, index)));
    Cell { name: format!("{index:016x}"), levels, state, measured }
}

/// Latencies that grow with gateway, load and rate, and a few slow frames.
pub(crate) fn record([kernel, gateway, traffic, load]: [usize; 4], index: usize) -> Record {
    let mut random = SplitMix64::new(index as u64);
    let mut below = |most: usize| i64::try_from(random.below(most)).unwrap();
    let [kernel, gateway, traffic, load] = [kernel, gateway, traffic, load].map(|at| i64::try_from(at).unwrap());
    let period_ns = [0, 2_300_000, 460_000, 255_000, 230_000][usize::try_from(traffic).unwrap()];
    let sample = |sequence: u32| {
        let due_ns = i64::from(sequence) * if period_ns == 0 { 1_000_000 } else { period_ns };
        let sent_ns = due_ns + if period_ns == 0 { 0 } else { below(900) };
        let monitor_ns = sent_ns + 240_000 + below(3000);
        let slow = if below(300) == 0 { below(400_000) } else { 0 };
        let service = 3000 * (gateway + 1) + 1000 * kernel + 700 * load + below(4000) + slow;
        let is_lost = traffic > 2 && gateway > 1 && below(12) < traffic;
        let far_ns = (!is_lost).then(|| monitor_ns + service + 226_000);
        let monitor_ns = Some(monitor_ns);
        let disposition = Disposition::of_stamps(monitor_ns, far_ns);
        let inside = Inside::default();
        Sample { sequence, tag: 0, due_ns, sent_ns, monitor_ns, far_ns, inside, wire_ns: 226_000, disposition }
    };
    let samples = (0..FRAMES).map(sample).collect();
    Record { header: header(period_ns == 0, kernel), samples }
}

fn header(is_closed_loop: bool, kernel: i64) -> Header {
    let mut header: Header = serde_json::from_str(include_str!("header.json")).unwrap();
    if is_closed_loop {
        header.traffic = "one-at-a-time".to_owned();
    }
    if kernel > 0 {
        header.kernel_release = "6.12.95+deb12-amd64".to_owned();
    }
    header
}
