//! Published task sets with their results.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test")]

use std::num::NonZeroU32;

use candor_bounds::{
    Assumptions, Bus, BusId, Controller, Lengths, Message, MessageId, Network, Node, NodeId, Ns, Origin, Queue, Rule,
};
use candor_core::frame::{FrameFormat, RawId};

const PUBLISHED: Assumptions = Assumptions { lengths: Lengths::Published, error_frames: 0, error_frame_bits: 31 };

/// One bus with one node per message, as identifiers 1, 2, ….
fn one_bus(rate: &str, messages: &[(u8, Ns, Ns)]) -> Network {
    let node = Node { bus: BusId(0), queue: Queue::Arbitration, controller: Controller::Abortable };
    let message = |(at, &(len, period, deadline)): (usize, &(u8, Ns, Ns))| Message {
        node: NodeId(at),
        id: RawId(u32::try_from(at + 1).unwrap()),
        format: FrameFormat::Classic,
        bit_rate_switch: false,
        len,
        origin: Origin::Queued { period, jitter: Ns(0) },
        deadline,
        band: 0,
        socket: 0,
    };
    Network {
        buses: vec![Bus { nominal: rate.parse().unwrap(), data: None }],
        nodes: vec![node; messages.len()],
        messages: messages.iter().enumerate().map(message).collect(),
    }
}

fn responses(network: &Network, assumptions: Assumptions) -> Vec<Ns> {
    let analysis = network.analyse(assumptions).unwrap();
    analysis.bounds().map(|(_, bound)| bound.response.unwrap()).collect()
}

/// Davis, Burns, Bril, Lukkien 2007, table 2.
fn table_2() -> Network {
    let (us, seven_bytes) = (Ns::from_us, 7);
    one_bus(
        "125kbit/s",
        &[(seven_bytes, us(2500), us(2500)), (seven_bytes, us(3500), us(3250)), (seven_bytes, us(3500), us(3250))],
    )
}

#[test]
fn the_second_instance_of_table_2_misses_its_deadline() {
    let analysis = table_2().analyse(PUBLISHED).unwrap();
    let intermission = 3 * 8_000;
    let bounds: Vec<_> = analysis.bounds().map(|(_, bound)| bound).collect();
    let us: Vec<_> = bounds.iter().map(|bound| (bound.response.unwrap().0 + intermission) / 1000).collect();
    assert_eq!(us, [2000, 3000, 3500]);
    assert_eq!(bounds.iter().map(|bound| bound.instance).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(bounds.iter().map(candor_bounds::Bound::holds).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(bounds[2].slack_ns(), Some(-226_000));
    assert!(bounds.iter().all(|bound| bound.rule == Rule::Priority));
}

/// The analysis of 1994, which looks at the first frame only.
fn first_frame_only(network: &Network, at: usize) -> u64 {
    let (bit, frame) = (8_000, 1_000_000_u64);
    let period = |message: &Message| match message.origin {
        Origin::Queued { period, .. } => period.0,
        Origin::Forwarded { .. } => unreachable!("the table has none"),
    };
    let blocking = if at + 1 < network.messages.len() { frame } else { 0 };
    let mut start = blocking;
    loop {
        let interference = |message: &Message| (start + bit).div_ceil(period(message)) * frame;
        let next = blocking + network.messages[..at].iter().map(interference).sum::<u64>();
        if next == start {
            return start + frame;
        }
        start = next;
    }
}

#[test]
fn the_analysis_of_1994_is_below_the_bound() {
    let network = table_2();
    let old: Vec<_> = (0..3).map(|at| first_frame_only(&network, at) / 1000).collect();
    assert_eq!(old, [2000, 3000, 3000]);
}

/// Payloads and periods in ms of schedcat's `tests/canbus.py`, Brandenburg's group.
const SCHEDCAT: [(u8, u64); 12] =
    [(8, 10), (3, 14), (3, 20), (2, 15), (5, 20), (5, 40), (4, 15), (5, 50), (4, 20), (7, 100), (5, 50), (1, 100)];

fn schedcat() -> Network {
    one_bus("250kbit/s", &SCHEDCAT.map(|(len, period)| (len, Ns::from_ms(period), Ns::from_ms(period))))
}

#[test]
fn schedcat_has_the_same_responses() {
    let us: Vec<_> = responses(&schedcat(), PUBLISHED).iter().map(|response| response.0 / 1000).collect();
    // schedcat has 4720 for the last one: it blocks the lowest message, after which there is none, by an intermission.
    assert_eq!(us, [1028, 1368, 1708, 2008, 2428, 2848, 3228, 3648, 4028, 4448, 4708, 4708]);
}

#[test]
fn schedcat_has_the_same_responses_with_faults() {
    let first =
        |error_frames| responses(&schedcat(), Assumptions { error_frames, error_frame_bits: 29, ..PUBLISHED })[0];
    assert_eq!([0, 1, 2].map(|faults| first(faults).0 / 1000), [1028, 1672, 2316]);
    assert_eq!(first(3), Ns::from_us(2960));
}

#[test]
fn ten_frames_with_one_period() {
    let network = one_bus("500kbit/s", &[(8, Ns::from_ms(10), Ns::from_ms(10)); 10]);
    let with_intermission: Vec<_> = responses(&network, PUBLISHED).iter().map(|time| (time.0 + 6_000) / 1000).collect();
    let mut expected: Vec<u64> = (0..9).map(|at| 540 + 270 * at).collect();
    expected.push(2700);
    assert_eq!(with_intermission, expected);
}

#[test]
fn the_sufficient_test_is_above_the_exact_one() {
    for network in [schedcat(), table_2()] {
        let analysis = network.analyse(PUBLISHED).unwrap();
        for (message, bound) in analysis.bounds() {
            let sufficient = analysis.sufficient(message).unwrap();
            assert!(sufficient >= bound.response.unwrap() || !bound.holds(), "{message:?}");
            assert_eq!(sufficient <= bound.deadline, bound.holds(), "{message:?}");
        }
    }
    // A deadline above the period is outside of the test.
    let network = one_bus("500kbit/s", &[(8, Ns::from_ms(1), Ns::from_ms(2))]);
    assert_eq!(network.analyse(PUBLISHED).unwrap().sufficient(MessageId(0)), None);
}

#[test]
fn frames_of_one_fifo_queue_wait_for_all_others() {
    let mut network = one_bus("500kbit/s", &[(8, Ns::from_ms(10), Ns::from_ms(10)); 4]);
    network.nodes.truncate(1);
    network.nodes[0].queue = Queue::fifo();
    network.nodes[0].controller = Controller::Fifo(NonZeroU32::MIN);
    network.messages.iter_mut().for_each(|message| message.node = NodeId(0));
    // Three others, and the frame itself without intermission.
    assert_eq!(responses(&network, PUBLISHED), [Ns::from_us(4 * 270 - 6); 4]);
}
