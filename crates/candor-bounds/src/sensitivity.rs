//! How much a network can change until a deadline is missed.

use alloc::vec::Vec;

use candor_core::units::BitRate;

use crate::analysis::{Analysis, Assumptions, Progress};
use crate::length::Clock;
use crate::model::{BusId, MessageId, Network, Origin};
use crate::problem::Problem;
use crate::time::Ns;

/// Growth above this is not searched for: a thousand times the traffic.
const MOST_PER_MILLE: u64 = 1_000_000;

/// The growth of traffic for which all deadlines hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The highest factor for the rates of all messages in thousandths, with unchanged jitter and deadlines: 1000 is the network
    /// as it is.
    pub per_mille: u32,
    /// Messages that miss their deadlines if it grows by one more thousandth. Empty if a thousand times the traffic holds.
    pub breaks: Vec<MessageId>,
}

impl Network {
    /// The highest load that holds. `None` if not even a thousandth of the traffic does.
    ///
    /// # Errors
    /// All [`Network::problems`], if there are any.
    pub fn highest_load(&self, assumptions: Assumptions) -> Result<Option<Growth>, Vec<Problem>> {
        let search = Search::new(self, assumptions)?;
        let grown = |per_mille: u64| {
            let mut network = self.clone();
            for message in &mut network.messages {
                if let Origin::Queued { period, .. } = &mut message.origin {
                    let shorter = u128::from(period.0) * 1000 / u128::from(per_mille);
                    *period = Ns(u64::try_from(shorter).unwrap_or(u64::MAX).max(1));
                }
            }
            network
        };
        let Some(per_mille) = search.largest(1, MOST_PER_MILLE, grown) else {
            return Ok(None);
        };
        let breaks = if per_mille == MOST_PER_MILLE {
            Vec::new()
        } else {
            let analysis = search.analyse(grown(per_mille + 1));
            analysis.bounds().filter(|(_, bound)| !bound.holds()).map(|(message, _)| message).collect()
        };
        Ok(Some(Growth { per_mille: u32::try_from(per_mille).unwrap_or(u32::MAX), breaks }))
    }

    /// The lowest nominal bit rate of a bus that holds, with the same ratio of data to nominal bit rate. `None` if the present
    /// one does not hold.
    ///
    /// # Errors
    /// All [`Network::problems`], if there are any.
    ///
    /// # Panics
    /// If the network has no such bus.
    pub fn lowest_bit_rate(&self, bus: BusId, assumptions: Assumptions) -> Result<Option<BitRate>, Vec<Problem>> {
        let search = Search::new(self, assumptions)?;
        let present = self.buses[bus.0];
        let scaled = |rate: BitRate, slower: u64| {
            let scaled = u64::from(rate.bits_per_second()) * slower / u64::from(present.nominal.bits_per_second());
            BitRate::from_bits_per_second(u32::try_from(scaled).unwrap_or(u32::MAX).max(1))
        };
        let slower = |less: u64| {
            let mut network = self.clone();
            let rate = u64::from(present.nominal.bits_per_second()) - less;
            if let Some(nominal) = scaled(present.nominal, rate) {
                network.buses[bus.0].nominal = nominal;
            }
            network.buses[bus.0].data = present.data.and_then(|data| scaled(data, rate));
            network
        };
        let most = u64::from(present.nominal.bits_per_second()) - 1;
        let less = search.largest(0, most, slower);
        Ok(less.map(|less| slower(less).buses[bus.0].nominal))
    }

    /// The longest latency of all gateways, the same for all, that holds, in steps of 1 µs. `None` if no message is forwarded,
    /// or if their shortest latencies do not hold.
    ///
    /// # Errors
    /// All [`Network::problems`], if there are any.
    pub fn longest_latency(&self, assumptions: Assumptions) -> Result<Option<Ns>, Vec<Problem>> {
        let search = Search::new(self, assumptions)?;
        let forwarded = self.messages.iter().filter(|message| matches!(message.origin, Origin::Forwarded { .. }));
        let Some(deadline) = forwarded.map(|message| message.deadline).max() else { return Ok(None) };
        let later = |us: u64| {
            let mut network = self.clone();
            for message in &mut network.messages {
                if let Origin::Forwarded { latency, .. } = &mut message.origin {
                    latency.longest = Ns::from_us(us).max(latency.shortest);
                }
            }
            network
        };
        let longest = search.largest(0, deadline.0 / 1000 + 1, later);
        Ok(longest.map(Ns::from_us))
    }
}

/// A search among networks of which each has at least the bounds of the one before.
struct Search {
    assumptions: Assumptions,
    clock: Clock,
}

impl Search {
    fn new(network: &Network, assumptions: Assumptions) -> Result<Self, Vec<Problem>> {
        let problems = network.problems();
        let clock = || Clock::new(assumptions.lengths, &network.messages);
        if problems.is_empty() { Ok(Self { assumptions, clock: clock() }) } else { Err(problems) }
    }

    fn analyse(&self, network: Network) -> Analysis {
        Analysis::new(network, self.assumptions, &self.clock)
    }

    /// The largest number for which all deadlines of this network hold, if they hold for all smaller ones. `None` if they do not
    /// for the least.
    fn largest(&self, least: u64, most: u64, network: impl Fn(u64) -> Network) -> Option<u64> {
        // Each network goes on from the bounds of the last one that held, which is several times faster than from the beginning,
        // and needs fewer steps. Close to full load, it finds bounds where `Network::analyse` gives up.
        let mut held = Progress::default();
        let mut found = largest(least, most, |number| {
            let bounds = self.if_all_hold(network(number), &held);
            let holds = bounds.is_some();
            held = bounds.unwrap_or_else(|| core::mem::take(&mut held));
            holds
        })?;
        // From the beginning, which is what counts, it can be otherwise: an analysis can give up, and the way to a bound decides
        // which rule gives it if two do, and with it how late others can be.
        let holds = |number| self.if_all_hold(network(number), &Progress::default()).is_some();
        let (known, mut step) = (found, 1);
        while !holds(found) {
            if found == least {
                return None;
            }
            found = found.saturating_sub(step).max(least);
            step *= 2;
        }
        if found < known {
            largest(found, known, holds)
        } else if found < most && holds(found + 1) {
            largest(found + 1, most, holds)
        } else {
            Some(found)
        }
    }

    fn if_all_hold(&self, network: Network, at_least: &Progress) -> Option<Progress> {
        Analysis::if_all_hold(network, self.assumptions, &self.clock, at_least)
    }
}

/// The largest number for which this holds, if it holds for all smaller ones. `None` if it does not hold for the least.
fn largest(least: u64, most: u64, mut holds: impl FnMut(u64) -> bool) -> Option<u64> {
    if !holds(least) {
        return None;
    } else if holds(most) {
        return Some(most);
    }
    let (mut good, mut bad) = (least, most);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}
