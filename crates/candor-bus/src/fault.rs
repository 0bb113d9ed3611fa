//! Faults of a bus, planned or random.

use candor_core::frame::{Frame, RawId};
use fastrand::Rng;

use crate::node::NodeId;

/// A fault of one frame. Bits are counted from the start of frame, which is 0, including stuff bits. A bit beyond the
/// end of the frame has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// A node misreads this bit and sends an error flag from the next bit on.
    ErrorFlag {
        /// The node that misreads it.
        node: NodeId,
        /// Number of the bit; start of frame is 0 and stuff bits count.
        bit: u32,
    },
    /// The same at a random bit of the frame.
    ErrorFlagSomewhere {
        /// The node that misreads it.
        node: NodeId,
    },
    /// All nodes see the opposite of this bit.
    Flip {
        /// Number of the bit; start of frame is 0 and stuff bits count.
        bit: u32,
    },
    /// The same at a random bit of the frame.
    FlipSomewhere,
    /// No receiver acknowledges the frame.
    NoAcknowledge,
}

/// Frames of a planned disturbance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Only frames of this node.
    pub sender: Option<NodeId>,
    /// Only frames with this identifier and these flags.
    pub id: Option<RawId>,
    /// Only frames that this node sends or receives.
    pub witness: Option<NodeId>,
}

impl Target {
    fn meets(self, sender: NodeId, frame: &Frame, takes_part: impl Fn(NodeId) -> bool) -> bool {
        self.sender.is_none_or(|wanted| wanted == sender)
            && self.id.is_none_or(|wanted| wanted == frame.id)
            && self.witness.is_none_or(takes_part)
    }
}

/// The faults of one bus.
///
/// ```
/// use candor_bus::{Bus, BusNs, Disturbance, Event, NodeConfig, Order, Tag, Target, Timing};
///
/// let timing = Timing { nominal: "500kbit/s".parse().unwrap(), data: None };
/// let config = NodeConfig { timing, order: Order::Fifo, depth: 1, listen_only: false, one_shot: false };
/// let mut bus = Bus::new(0);
/// let nodes = [bus.add_node().unwrap(), bus.add_node().unwrap()];
/// nodes.map(|node| bus.switch_on(BusNs(0), node, config));
///
/// // The first two frames of a node have a wrong bit 20; the node repeats its frame until it is sent.
/// let target = Target { sender: Some(nodes[0]), ..Target::default() };
/// bus.faults().plan(target, Disturbance::Flip { bit: 20 }, 2);
/// bus.submit(BusNs(0), nodes[0], Tag(1), "123#1122".parse().unwrap()).unwrap();
/// let mut events = Vec::new();
/// bus.advance(BusNs(1_000_000), &mut events);
///
/// let errors = events.iter().filter(|event| matches!(event, Event::Error { bit: 20, .. })).count();
/// assert_eq!(errors, 2);
/// assert!(events.iter().any(|event| matches!(event, Event::Delivered { retries: 2, .. })));
/// // 8 for each error, and 1 less for the frame that was sent.
/// assert_eq!(bus.counters(nodes[0]).transmit, 15);
/// assert_eq!(bus.faults().planned(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Faults {
    random: Rng,
    /// For random bits of planned disturbances.
    places: Rng,
    bit_error_rate: f64,
    planned: Vec<Planned>,
}

#[derive(Clone, Debug)]
struct Planned {
    target: Target,
    disturbance: Disturbance,
    times: u32,
}

impl Faults {
    /// No faults. The seed determines random bits.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (random, places) = (Rng::with_seed(seed), Rng::with_seed(!seed));
        Self { random, places, bit_error_rate: 0.0, planned: Vec::new() }
    }

    /// Sets the probability that all nodes see a bit of a frame wrong, limited to 0 to 1.
    pub fn set_bit_error_rate(&mut self, rate: f64) {
        self.bit_error_rate = if rate.is_nan() { 0.0 } else { rate.clamp(0.0, 1.0) };
    }

    /// Disturbs the next `times` frames of a target. Earlier plans apply first.
    pub fn plan(&mut self, target: Target, disturbance: Disturbance, times: u32) {
        if times > 0 {
            self.planned.push(Planned { target, disturbance, times });
        }
    }

    /// Removes all plans and the bit error rate.
    pub fn clear(&mut self) {
        self.planned.clear();
        self.bit_error_rate = 0.0;
    }

    /// Returns the number of remaining plans.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.planned.len()
    }

    /// Returns the disturbance of a frame of `bits` bits that starts now.
    pub(crate) fn next(
        &mut self,
        sender: NodeId,
        frame: &Frame,
        takes_part: impl Fn(NodeId) -> bool,
        bits: u32,
    ) -> Option<Disturbance> {
        // Draws for every frame, so a plan does not change the random errors after it.
        let by_chance = self.wrong_bit(bits).map(|bit| Disturbance::Flip { bit });
        let planned = self.planned.iter().position(|planned| planned.target.meets(sender, frame, &takes_part));
        let Some(index) = planned else { return by_chance };
        let Planned { disturbance, times, .. } = &mut self.planned[index];
        let disturbance = *disturbance;
        *times -= 1;
        if *times == 0 {
            self.planned.remove(index);
        }
        Some(match disturbance {
            Disturbance::ErrorFlagSomewhere { node } => {
                Disturbance::ErrorFlag { node, bit: self.places.u32(0..bits.max(1)) }
            }
            Disturbance::FlipSomewhere => Disturbance::Flip { bit: self.places.u32(0..bits.max(1)) },
            Disturbance::ErrorFlag { .. } | Disturbance::Flip { .. } | Disturbance::NoAcknowledge => disturbance,
        })
    }

    /// The first wrong bit, if any. The number of correct bits before it has a geometric distribution.
    fn wrong_bit(&mut self, bits: u32) -> Option<u32> {
        if self.bit_error_rate == 0.0 {
            return None;
        }
        let uniform = 1.0 - self.random.f64(); // (0, 1]
        let good_bits = uniform.ln() / (-self.bit_error_rate).ln_1p();
        (good_bits < f64::from(bits)).then(|| whole(good_bits))
    }
}

/// The integer part of a number of bits of a frame.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "truncation is intended, and a length is not negative"
)]
const fn whole(bits: f64) -> u32 {
    bits as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        text.parse().unwrap()
    }

    fn all_nodes(_node: NodeId) -> bool {
        true
    }

    #[test]
    fn plans_apply_to_matching_frames() {
        let mut faults = Faults::new(1);
        let target = Target { sender: Some(NodeId(1)), id: Some(RawId(0x123)), witness: None };
        faults.plan(target, Disturbance::NoAcknowledge, 2);
        faults.plan(Target::default(), Disturbance::Flip { bit: 3 }, 1);
        assert_eq!(faults.next(NodeId(1), &frame("123#"), all_nodes, 50), Some(Disturbance::NoAcknowledge));
        assert_eq!(faults.next(NodeId(0), &frame("123#"), all_nodes, 50), Some(Disturbance::Flip { bit: 3 }));
        assert_eq!(faults.next(NodeId(1), &frame("124#"), all_nodes, 50), None);
        assert_eq!(faults.next(NodeId(1), &frame("123#"), all_nodes, 50), Some(Disturbance::NoAcknowledge));
        assert_eq!(faults.next(NodeId(1), &frame("123#"), all_nodes, 50), None);
    }

    #[test]
    fn plan_waits_for_a_frame_of_its_witness() {
        let mut faults = Faults::new(1);
        let target = Target { witness: Some(NodeId(2)), ..Target::default() };
        faults.plan(target, Disturbance::ErrorFlag { node: NodeId(2), bit: 9 }, 1);
        assert_eq!(faults.next(NodeId(0), &frame("123#"), |node| node != NodeId(2), 50), None);
        let flag = Some(Disturbance::ErrorFlag { node: NodeId(2), bit: 9 });
        assert_eq!(faults.next(NodeId(0), &frame("123#"), all_nodes, 50), flag);
    }

    #[test]
    fn random_bits_are_within_the_frame_and_reproducible() {
        let bits = |seed: u64| {
            let mut faults = Faults::new(seed);
            faults.plan(Target::default(), Disturbance::FlipSomewhere, 500);
            let bit = |disturbance| match disturbance {
                Some(Disturbance::Flip { bit }) => bit,
                other => panic!("{other:?}"),
            };
            (0..500).map(|_| bit(faults.next(NodeId(0), &frame("123#"), all_nodes, 50))).collect::<Vec<_>>()
        };
        assert!((0..50).all(|bit| bits(1).contains(&bit)) && bits(1).iter().all(|&bit| bit < 50));
        assert_eq!(bits(1), bits(1));
        assert_ne!(bits(1), bits(2));
    }

    #[test]
    fn bit_error_rate_is_met_and_reproducible() {
        let hits = |seed: u64| {
            let mut faults = Faults::new(seed);
            faults.set_bit_error_rate(0.001);
            (0..10_000).filter_map(|_| faults.next(NodeId(0), &frame("123#"), all_nodes, 100)).collect::<Vec<_>>()
        };
        // 1 - 0.999^100 = 9.5 % of the frames; the standard deviation for 10 000 frames is 0.3 %.
        assert!((800..1100).contains(&hits(1).len()), "{}", hits(1).len());
        assert_eq!(hits(1), hits(1));
        assert_ne!(hits(1), hits(2));
        let mut faults = Faults::new(1);
        faults.set_bit_error_rate(1.0);
        assert_eq!(faults.next(NodeId(0), &frame("123#"), all_nodes, 100), Some(Disturbance::Flip { bit: 0 }));
        faults.clear();
        assert_eq!(faults.next(NodeId(0), &frame("123#"), all_nodes, 100), None);
    }
}
