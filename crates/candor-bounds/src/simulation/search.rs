//! The search for the schedule with the longest response of each message.

use alloc::vec;
use alloc::vec::Vec;

use candor_core::bits::LongestFrames;
use candor_core::random::SplitMix64;

use super::{Queued, Response, Schedule};
use crate::analysis::Analysis;
use crate::length::bit_time;
use crate::model::{MessageId, Network, Origin};
use crate::time::Ns;
use crate::timeline::Use;

/// How far schedules go if a message has no bound, and the most in any case.
const MOST: u64 = 2_000_000_000;

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Schedules tried for each message, in addition to its critical instant.
    pub plays: u32,
    /// Chooses them.
    pub seed: u64,
}

/// How a schedule was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The critical instant: the frames that delay the message are queued together with it, the one that blocks it just before.
    Critical,
    /// At random.
    Random,
    /// By small changes of the worst schedule so far.
    Directed,
}

/// The worst schedule found for a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The response of the message.
    pub response: Response,
    /// When programs queue which frames.
    pub schedule: Schedule,
    /// How it was found.
    pub how: How,
}

/// When the first frame of each message is queued, and how late the next ones are.
#[derive(Clone, Debug)]
struct Phasing {
    /// In nanoseconds, by message; of no meaning for forwarded ones.
    offsets: Vec<u64>,
    lateness: Vec<Lateness>,
    seed: u64,
}

/// How much of the jitter the frames of a message use.
#[derive(Clone, Copy, Debug)]
enum Lateness {
    /// All for the first frame, nothing for the others: the frames come closest to each other.
    First,
    Never,
    Random(u64),
}

struct Searching<'n> {
    network: &'n Network,
    longest: &'n LongestFrames,
    /// The longest bound, or [`MOST`].
    horizon: u64,
    random: SplitMix64,
    best: Vec<Option<(Found, Phasing)>>,
}

impl Network {
    /// Plays critical instants, random schedules and changes of the worst ones, and returns the worst schedule of each message;
    /// `None` if no frame of it was sent. `progress` gets the schedules played so far and all of them.
    ///
    /// The same search finds the same schedules.
    ///
    /// # Panics
    /// As [`Network::simulate`], and if the analysis is of another network.
    #[must_use]
    pub fn search(
        &self,
        longest: &LongestFrames,
        analysis: &Analysis,
        search: Search,
        mut progress: impl FnMut(u32, u32),
    ) -> Vec<Option<Found>> {
        let bounds: Vec<_> = analysis.bounds().map(|(_, bound)| bound.response).collect();
        let horizon = bounds.iter().map(|bound| bound.map_or(MOST, |bound| bound.0)).max().unwrap_or(0).min(MOST);
        let random = SplitMix64::new(search.seed);
        let messages = self.messages.len();
        let mut searching = Searching { network: self, longest, horizon, random, best: vec![None; messages] };
        let count = u32::try_from(messages).unwrap_or(u32::MAX);
        let all = count.saturating_mul(search.plays.saturating_add(1));
        let mut played = 0;
        let mut tell = |played: &mut u32| {
            *played += 1;
            progress(*played, all);
        };
        for message in 0..messages {
            let phasing = searching.critical(analysis, MessageId(message));
            searching.play(&phasing, How::Critical);
            tell(&mut played);
        }
        for _ in 0..count.saturating_mul(search.plays / 2) {
            let phasing = searching.random();
            searching.play(&phasing, How::Random);
            tell(&mut played);
        }
        for (message, bound) in bounds.iter().enumerate() {
            for _ in 0..search.plays - search.plays / 2 {
                let best = searching.best[message].as_ref();
                let Some((found, phasing)) = best.filter(|(found, _)| Some(found.response.time) != *bound) else {
                    break;
                };
                let (before, phasing) = (found.response.time, phasing.clone());
                let phasing = searching.changed(phasing);
                searching.play(&phasing, How::Directed);
                // A schedule that is as bad may lead to a worse one.
                if let Some((found, kept)) = &mut searching.best[message]
                    && found.response.time == before
                    && searching.random.next_u64().is_multiple_of(2)
                {
                    *kept = phasing;
                }
                tell(&mut played);
            }
        }
        progress(all, all);
        searching.best.into_iter().map(|best| best.map(|(found, _)| found)).collect()
    }
}

impl Searching<'_> {
    fn play(&mut self, phasing: &Phasing, how: How) {
        let schedule = phasing.schedule(self.network, self.horizon);
        let responses = self.network.simulate(self.longest, &schedule);
        for (best, response) in self.best.iter_mut().zip(responses) {
            let Some(response) = response else { continue };
            if best.as_ref().is_none_or(|(best, _)| best.response.time < response.time) {
                *best = Some((Found { response, schedule: schedule.clone(), how }, phasing.clone()));
            }
        }
    }

    /// All messages at once, and before them those that block the message or are in the controller of its node.
    fn critical(&mut self, analysis: &Analysis, message: MessageId) -> Phasing {
        let bus = self.network.bus_of(message);
        let bit = bit_time(self.network.buses[bus.0]);
        let slots = analysis.timeline(message).map(|timeline| timeline.slots).unwrap_or_default();
        let before = slots.iter().take_while(|slot| matches!(slot.used_for, Use::Blocking | Use::Controller));
        let before: Vec<_> = before.filter_map(|slot| slot.message).collect();
        // When each is queued on this bus, in nanoseconds from the first: the blocking frame is on the wire after one bit.
        let at = |one: MessageId| if before.contains(&one) { 0 } else { bit + 1 };
        // A frame that a gateway brings is queued earlier, by its time on the way.
        let on_the_way = |mut one: MessageId| {
            let mut time = 0;
            while let Origin::Forwarded { from, latency } = self.network.messages[one.0].origin {
                time += latency.longest.0 + analysis.bound(from).frame.received.0;
                one = from;
            }
            (one, time)
        };
        let on_bus = (0..self.network.messages.len()).map(MessageId).filter(|one| self.network.bus_of(*one) == bus);
        let queued: Vec<_> = on_bus.map(|one| (on_the_way(one), at(one))).collect();
        let longest = queued.iter().map(|((_, time), _)| *time).max().unwrap_or(0);
        let mut offsets = vec![longest + bit + 1; self.network.messages.len()];
        for ((source, time), at) in queued {
            offsets[source.0] = longest - time + at;
        }
        Phasing { lateness: vec![Lateness::First; offsets.len()], offsets, seed: self.random.next_u64() }
    }

    fn random(&mut self) -> Phasing {
        // From differences of one bit to those of a period.
        let scale = self.horizon >> (2 * self.random.below(9));
        let lateness = self.lateness();
        let offsets = self.network.messages.iter().map(|one| match one.origin {
            Origin::Queued { period, .. } => self.random.next_u64() % period.0.min(scale).max(1),
            Origin::Forwarded { .. } => 0,
        });
        let offsets: Vec<_> = offsets.collect();
        let lateness = vec![lateness; offsets.len()];
        Phasing { offsets, lateness, seed: self.random.next_u64() }
    }

    fn lateness(&mut self) -> Lateness {
        match self.random.below(3) {
            0 => Lateness::First,
            1 => Lateness::Never,
            _ => Lateness::Random(self.random.next_u64()),
        }
    }

    /// One or two messages at other times.
    fn changed(&mut self, mut phasing: Phasing) -> Phasing {
        for _ in 0..1 + self.random.below(2) {
            let at = self.random.below(phasing.offsets.len());
            let Origin::Queued { period, .. } = self.network.messages[at].origin else {
                phasing.seed = self.random.next_u64();
                continue;
            };
            let scale = (period.0.min(self.horizon) >> (2 * self.random.below(9))).max(1);
            let difference = self.random.next_u64() % scale;
            let offset = &mut phasing.offsets[at];
            *offset = if self.random.below(2) == 0 { *offset + difference } else { offset.saturating_sub(difference) };
            *offset %= period.0.min(self.horizon).max(1);
            if self.random.below(4) == 0 {
                phasing.lateness[at] = self.lateness();
            }
        }
        phasing
    }
}

impl Phasing {
    fn schedule(&self, network: &Network, horizon: u64) -> Schedule {
        let jitter = |origin: Origin| if let Origin::Queued { jitter, .. } = origin { jitter.0 } else { 0 };
        let most = network.messages.iter().map(|one| jitter(one.origin)).max().unwrap_or(0);
        let mut frames = Vec::new();
        for (at, one) in network.messages.iter().enumerate() {
            let Origin::Queued { period, jitter } = one.origin else { continue };
            let mut random = match self.lateness[at] {
                Lateness::Random(seed) => SplitMix64::new(seed),
                _ => SplitMix64::new(0),
            };
            let mut released = most - jitter.0 + self.offsets[at];
            let mut is_first = true;
            while released < most + self.offsets[at].min(horizon) + horizon {
                let late = match self.lateness[at] {
                    Lateness::First => {
                        if is_first {
                            jitter.0
                        } else {
                            0
                        }
                    }
                    Lateness::Never => 0,
                    Lateness::Random(_) => random.next_u64() % (jitter.0 + 1),
                };
                frames.push(Queued { message: MessageId(at), released: Ns(released), at: Ns(released + late) });
                is_first = false;
                released += period.0.max(1);
            }
        }
        Schedule { frames, seed: self.seed }
    }
}
