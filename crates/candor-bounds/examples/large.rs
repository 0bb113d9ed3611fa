//! Times of an analysis and of the searches: 500 messages on 5 buses with 3 gateways.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example")]

use std::time::Instant;

use candor_bounds::{
    Assumptions, Band, Basis, Bus, BusId, Controller, Latency, Message, MessageId, Network, Node, NodeId, Ns, Origin,
    Queue,
};
use candor_core::frame::{FrameFormat, RawId};
use candor_core::random::SplitMix64;
use candor_core::units::BitRate;

const BUSES: usize = 5;
/// Nodes of each bus besides gateways.
const NODES: usize = 8;
const PER_BUS: usize = 88;
/// Source, destination and number of messages of a gateway.
const GATEWAYS: [(usize, usize, usize); 6] = [(0, 1, 10), (1, 0, 10), (1, 2, 10), (2, 3, 10), (3, 4, 10), (4, 2, 10)];

fn network() -> Network {
    let nominal = BitRate::from_bits_per_second(500_000).expect("is not zero");
    let mut random = SplitMix64::new(13);
    let mut below = |end: u64| random.next_u64() % end;
    let frames = 2.try_into().expect("is not zero");
    let mut nodes = Vec::new();
    for bus in 0..BUSES {
        for node in 0..NODES {
            let (queue, controller) = match node % 4 {
                0 | 1 => (Queue::Arbitration, Controller::Abortable),
                2 => (Queue::Arbitration, Controller::Fifo(frames)),
                _ => (Queue::Bands(vec![Band::default(); 2]), Controller::Fifo(frames)),
            };
            nodes.push(Node { bus: BusId(bus), queue, controller });
        }
    }
    let message = |node: usize, id: u32, band: usize, origin: Origin, deadline: Ns| Message {
        node: NodeId(node),
        id: RawId(id),
        format: FrameFormat::Classic,
        bit_rate_switch: false,
        len: 8,
        origin,
        deadline,
        band,
        socket: 0,
    };
    let mut messages = Vec::new();
    for bus in 0..BUSES {
        for at in 0..PER_BUS {
            let period = Ns::from_ms([20, 50, 50, 100, 100, 100, 200, 1000][usize::try_from(below(8)).unwrap_or(0)]);
            let id = u32::try_from(at * 20).unwrap_or(0);
            let node = bus * NODES + at % NODES;
            messages.push(message(
                node,
                id,
                at % 2,
                Origin::Queued { period, jitter: Ns::from_us(below(500)) },
                Ns::from_ms(200),
            ));
        }
    }
    for (number, (from, to, count)) in GATEWAYS.into_iter().enumerate() {
        nodes.push(Node { bus: BusId(to), queue: Queue::Arbitration, controller: Controller::Fifo(frames) });
        for at in 0..count {
            let latency = Latency { shortest: Ns(0), longest: Ns::from_us(200), basis: Basis::Budget };
            let origin = Origin::Forwarded { from: MessageId(from * PER_BUS + 7 * at), latency };
            let id = u32::try_from(20 * (7 * at) + 1 + number).unwrap_or(0);
            messages.push(message(nodes.len() - 1, id, 0, origin, Ns::from_ms(200)));
        }
    }
    Network { buses: vec![Bus { nominal, data: None }; BUSES], nodes, messages }
}

fn timed<T>(name: &str, what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = what();
    println!("{name}: {} ms", start.elapsed().as_millis());
    result
}

fn main() {
    let network = network();
    let assumptions = Assumptions::default();
    let analysis = timed("analyse", || network.analyse(assumptions)).expect("has no problems");
    let bounded = analysis.bounds().filter(|(_, bound)| bound.response.is_some()).count();
    println!(
        "{} messages, {bounded} bounds, all hold: {}, {} passes",
        network.messages.len(),
        analysis.holds(),
        analysis.passes()
    );
    for bus in 0..BUSES {
        println!("bus {bus}: load {} ppm", analysis.load(BusId(bus)).ppm);
    }
    println!("{:?}", timed("highest load", || network.highest_load(assumptions)));
    println!("{:?}", timed("lowest bit rate", || network.lowest_bit_rate(BusId(0), assumptions)));
    println!("{:?}", timed("longest latency", || network.longest_latency(assumptions)));
    let proposal = timed("identifiers", || analysis.propose_identifiers(BusId(0)));
    println!("{:?}", proposal.map(|proposal| proposal.holds));
    let proposal = timed("bands", || analysis.propose_bands(NodeId(3), 16));
    println!("{:?}", proposal.map(|proposal| (proposal.bands.len(), proposal.holds)));
}
