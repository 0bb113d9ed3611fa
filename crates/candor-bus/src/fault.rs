//! Faults on the wire, planned or random.

use candor_core::frame::{Frame, RawId};
use fastrand::Rng;

use crate::node::NodeId;

/// Something that goes wrong with one frame. Bits are counted from 0, the start of frame, with stuff bits; one beyond the
/// end of the frame hits nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// A node takes this bit for wrong, and says so with an error flag from the next bit on, as after a disturbance that
    /// only this node saw.
    ErrorFlag {
        /// Node.
        node: NodeId,
        /// The bit.
        bit: u32,
    },
    /// The same at a bit of the frame that the seed of the faults chooses.
    ErrorFlagSomewhere {
        /// Node.
        node: NodeId,
    },
    /// Everybody sees the opposite of this bit.
    Flip {
        /// The bit.
        bit: u32,
    },
    /// The same at a bit of the frame that the seed of the faults chooses.
    FlipSomewhere,
    /// No receiver acknowledges.
    NoAcknowledge,
}

/// Frames that a planned disturbance applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Frames of this node only.
    pub sender: Option<NodeId>,
    /// Frames with this identifier and these flags only.
    pub id: Option<RawId>,
    /// Frames that this node sends or hears only.
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
#[derive(Clone, Debug)]
pub struct Faults {
    random: Rng,
    /// Of the bits that nobody chose.
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
    /// No fault yet. The seed decides which bits a bit error rate hits.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (random, places) = (Rng::with_seed(seed), Rng::with_seed(!seed));
        Self { random, places, bit_error_rate: 0.0, planned: Vec::new() }
    }

    /// From now on, each bit of a frame is seen wrong by everybody with this probability (0 to 1; what lies outside counts
    /// as the nearest of them).
    pub fn set_bit_error_rate(&mut self, rate: f64) {
        self.bit_error_rate = if rate.is_nan() { 0.0 } else { rate.clamp(0.0, 1.0) };
    }

    /// The next `times` starts of frames that the target means go wrong. The plans made first are used up first.
    pub fn plan(&mut self, target: Target, disturbance: Disturbance, times: u32) {
        if times > 0 {
            self.planned.push(Planned { target, disturbance, times });
        }
    }

    /// Takes back all plans, and lets no bit fail by chance any more.
    pub fn clear(&mut self) {
        self.planned.clear();
        self.bit_error_rate = 0.0;
    }

    /// Returns the number of plans that are not used up.
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
        // Chance is asked for every frame, so that a plan does not shift what hits the frames after it.
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

    /// The first wrong bit, if one of them is: the length of a run of good ones is distributed geometrically.
    fn wrong_bit(&mut self, bits: u32) -> Option<u32> {
        if self.bit_error_rate == 0.0 {
            return None;
        }
        let uniform = 1.0 - self.random.f64(); // (0, 1]
        let good_bits = uniform.ln() / (-self.bit_error_rate).ln_1p();
        (good_bits < f64::from(bits)).then(|| whole(good_bits))
    }
}

/// The whole part of a number of bits that is less than those of a frame.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "is meant, and a length is not negative")]
const fn whole(bits: f64) -> u32 {
    bits as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Frame {
        text.parse().unwrap()
    }

    fn everybody(_node: NodeId) -> bool {
        true
    }

    #[test]
    fn plans_meet_their_frames_so_often() {
        let mut faults = Faults::new(1);
        let target = Target { sender: Some(NodeId(1)), id: Some(RawId(0x123)), witness: None };
        faults.plan(target, Disturbance::NoAcknowledge, 2);
        faults.plan(Target::default(), Disturbance::Flip { bit: 3 }, 1);
        assert_eq!(faults.next(NodeId(1), &frame("123#"), everybody, 50), Some(Disturbance::NoAcknowledge));
        assert_eq!(faults.next(NodeId(0), &frame("123#"), everybody, 50), Some(Disturbance::Flip { bit: 3 }));
        assert_eq!(faults.next(NodeId(1), &frame("124#"), everybody, 50), None);
        assert_eq!(faults.next(NodeId(1), &frame("123#"), everybody, 50), Some(Disturbance::NoAcknowledge));
        assert_eq!(faults.next(NodeId(1), &frame("123#"), everybody, 50), None);
    }

    #[test]
    fn a_plan_waits_for_a_frame_that_its_witness_hears() {
        let mut faults = Faults::new(1);
        let target = Target { witness: Some(NodeId(2)), ..Target::default() };
        faults.plan(target, Disturbance::ErrorFlag { node: NodeId(2), bit: 9 }, 1);
        assert_eq!(faults.next(NodeId(0), &frame("123#"), |node| node != NodeId(2), 50), None);
        let flag = Some(Disturbance::ErrorFlag { node: NodeId(2), bit: 9 });
        assert_eq!(faults.next(NodeId(0), &frame("123#"), everybody, 50), flag);
    }

    #[test]
    fn a_bit_that_nobody_chose_is_one_of_the_frame_and_repeats() {
        let bits = |seed: u64| {
            let mut faults = Faults::new(seed);
            faults.plan(Target::default(), Disturbance::FlipSomewhere, 500);
            let bit = |disturbance| match disturbance {
                Some(Disturbance::Flip { bit }) => bit,
                other => panic!("{other:?}"),
            };
            (0..500).map(|_| bit(faults.next(NodeId(0), &frame("123#"), everybody, 50))).collect::<Vec<_>>()
        };
        assert!((0..50).all(|bit| bits(1).contains(&bit)) && bits(1).iter().all(|&bit| bit < 50));
        assert_eq!(bits(1), bits(1));
        assert_ne!(bits(1), bits(2));
    }

    #[test]
    fn a_bit_error_rate_is_met_and_repeats() {
        let hits = |seed: u64| {
            let mut faults = Faults::new(seed);
            faults.set_bit_error_rate(0.001);
            (0..10_000).filter_map(|_| faults.next(NodeId(0), &frame("123#"), everybody, 100)).collect::<Vec<_>>()
        };
        // 1 - 0.999^100 = 9.5 % of the frames; the deviation of 10 000 of them is 0.3 %.
        assert!((800..1100).contains(&hits(1).len()), "{}", hits(1).len());
        assert_eq!(hits(1), hits(1));
        assert_ne!(hits(1), hits(2));
        let mut faults = Faults::new(1);
        faults.set_bit_error_rate(1.0);
        assert_eq!(faults.next(NodeId(0), &frame("123#"), everybody, 100), Some(Disturbance::Flip { bit: 0 }));
        faults.clear();
        assert_eq!(faults.next(NodeId(0), &frame("123#"), everybody, 100), None);
    }
}
