//! Small networks on the bit-exact bus: no response is above its bound, and bounds are reached where they should be.
#![expect(clippy::unwrap_used, reason = "a test")]

mod simulator;

use std::num::NonZeroU32;

use candor_bounds::{
    Assumptions, Band, Basis, Bus, BusId, Controller, Latency, Message, MessageId, Network, Node, NodeId, Ns, Origin,
    Queue,
};
use candor_core::bits::LongestFrames;
use candor_core::frame::{FrameFormat, RawId};
use candor_core::random::SplitMix64;
use simulator::{Arrivals, longest_responses};

fn below(random: &mut SplitMix64, end: usize) -> usize {
    usize::try_from(random.next_u64() % u64::try_from(end).unwrap()).unwrap()
}

fn controller(random: &mut SplitMix64) -> Controller {
    let frames = NonZeroU32::new(1 + u32::try_from(below(random, 4)).unwrap()).unwrap();
    match below(random, 4) {
        0 => Controller::Mailboxes(frames),
        1 => Controller::Abortable,
        _ => Controller::Fifo(frames),
    }
}

fn queue(random: &mut SplitMix64, controller: Controller) -> Queue {
    match below(random, 3) {
        0 => Queue::Arbitration,
        // The simulator cannot exchange frames by bands.
        _ if controller == Controller::Abortable => Queue::Arbitration,
        1 => Queue::fifo(),
        _ => {
            let bands = (0..1 + below(random, 3)).map(|_| Band { turns: below(random, 3) == 0, ..Band::default() });
            Queue::Bands(bands.collect())
        }
    }
}

/// One or two buses, and a gateway between them.
fn random_network(random: &mut SplitMix64) -> Network {
    let rates =
        ["500kbit/s", "250kbit/s"].map(|rate| Bus { nominal: rate.parse().unwrap(), data: "2Mbit/s".parse().ok() });
    let buses = rates[..1 + below(random, 2)].to_vec();
    let nodes: Vec<_> = (0..buses.len() * (1 + below(random, 3)))
        .map(|at| {
            let controller = controller(random);
            Node { bus: BusId(at % buses.len()), queue: queue(random, controller), controller }
        })
        .collect();
    let mut ids: Vec<u32> = (0x10..0x400).step_by(0x21).collect();
    let count = 3 + below(random, 6);
    let mut messages: Vec<Message> = Vec::new();
    for at in 0..count {
        let id = RawId(ids.swap_remove(below(random, ids.len())));
        let fd = below(random, 6) == 0;
        let period = Ns::from_us(1_000 + 250 * u64::try_from(below(random, 16)).unwrap());
        let period = if count > 5 { Ns(period.0 * 2) } else { period };
        let jitter = Ns(if below(random, 2) == 0 { 0 } else { random.next_u64() % period.0 });
        let node = NodeId(below(random, nodes.len()));
        let forwarded = (at > 0 && buses.len() == 2 && below(random, 3) == 0).then(|| MessageId(below(random, at)));
        let other_bus = |from: &MessageId| nodes[messages[from.0].node.0].bus != nodes[node.0].bus;
        let shortest = Ns::from_us(u64::try_from(below(random, 100)).unwrap() + 1);
        let latency = Latency { shortest, longest: Ns(shortest.0 + random.next_u64() % 500_000), basis: Basis::Budget };
        let origin = match forwarded.filter(other_bus) {
            Some(from) => Origin::Forwarded { from, latency },
            None => Origin::Queued { period, jitter },
        };
        let bands = match &nodes[node.0].queue {
            Queue::Arbitration => 1,
            Queue::Bands(bands) => bands.len(),
        };
        messages.push(Message {
            node,
            id,
            format: if fd { FrameFormat::Fd } else { FrameFormat::Classic },
            bit_rate_switch: fd,
            len: u8::try_from(below(random, 9)).unwrap(),
            origin,
            deadline: period,
            band: below(random, bands),
            socket: u32::try_from(below(random, 2)).unwrap(),
        });
    }
    Network { buses, nodes, messages }
}

#[test]
fn no_response_of_a_random_network_is_above_its_bound() {
    let networks: u64 = std::env::var("CANDOR_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150);
    let longest = LongestFrames::up_to(8);
    let (mut bounded, mut tight) = (0, 0);
    for seed in 0..networks {
        let mut random = SplitMix64::new(seed);
        let network = random_network(&mut random);
        let analysis = network.analyse(Assumptions::default()).unwrap();
        let mut observed = vec![0; network.messages.len()];
        for phasing in 0..12 {
            let offset = |random: &mut SplitMix64| match phasing {
                0 => 0,
                1..6 => random.next_u64() % 3,
                _ => random.next_u64() % 2_000_000,
            };
            let offsets: Vec<_> = network.messages.iter().map(|_| offset(&mut random)).collect();
            let mut jitter_random = SplitMix64::new(random.next_u64());
            let jitter = |_message: usize, number: u64| match (phasing % 3, number) {
                (0, 0) => u64::MAX,
                (0, _) => 0,
                (1, _) => {
                    if jitter_random.next_u64().is_multiple_of(2) {
                        0
                    } else {
                        u64::MAX
                    }
                }
                _ => jitter_random.next_u64() % 4_000_000,
            };
            let arrivals = Arrivals::new(&network, Ns::from_ms(20), &offsets, jitter);
            let responses = longest_responses(&network, &longest, arrivals, random.next_u64());
            observed.iter_mut().zip(responses).for_each(|(most, response)| *most = response.max(*most));
        }
        for (message, bound) in analysis.bounds() {
            let Some(response) = bound.response else { continue };
            bounded += 1;
            tight += u32::from(observed[message.0] * 100 >= response.0 * 90);
            assert!(
                observed[message.0] <= response.0,
                "seed {seed}: {message:?}: {} > {bound:?}\n{network:?}",
                observed[message.0]
            );
        }
    }
    println!("{bounded} bounds, {tight} reached to 90 %");
    assert!(bounded > 3 * networks && tight * 4 > bounded.try_into().unwrap());
}
