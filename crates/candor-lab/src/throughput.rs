//! Throughput without loss: trials at the rates of a search, and their form in records.
//!
//! ```text
//!  Bounds ──▶ search ──rate──▶ trial ──sent, lost──▶ … ──▶ Searched ──found()──▶ NDR, PDR
//! ```
//!
//! A record keeps the trials; the rates are computed from them whenever it is read.

use std::io;
use std::num::NonZeroU32;

use candor_egress::policy::FrameRate;
use serde::{Deserialize, Serialize};

use crate::stats::throughput::{Bounds, Found, Search, Step, Trial};

/// The search ends at this fraction of the highest rate; a slower gateway is reported as `below`.
const LOWEST: u32 = 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Searched {
    lowest_frames_per_s: NonZeroU32,
    highest_frames_per_s: NonZeroU32,
    pub trials: Vec<Tried>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tried {
    pub frames_per_s: NonZeroU32,
    pub sent: u64,
    /// Frames that did not arrive in time, or were sent when the next was already due.
    pub lost: u64,
}

impl Searched {
    /// NDR and PDR by these trials; `None` if the record is incomplete.
    pub fn found(&self) -> Option<Found> {
        let rate = |rate: NonZeroU32| FrameRate::new(rate.get());
        let mut search = Search::new(Bounds::new(rate(self.lowest_frames_per_s)?, rate(self.highest_frames_per_s)?)?);
        for Tried { frames_per_s, sent, lost } in &self.trials {
            search.record(rate(*frames_per_s)?, Trial { sent: *sent, lost: *lost });
        }
        match search.step() {
            Step::Done(found) => Some(found),
            Step::Trial(_) => None,
        }
    }
}

/// Searches the highest rate up to `up_to`. A trial has to send as many frames as are measured in the end; in a shorter
/// one, a queue could hide losses.
pub fn search(
    up_to: FrameRate,
    mut trial: impl FnMut(FrameRate) -> io::Result<Trial>,
) -> io::Result<(Searched, Found)> {
    let highest = up_to.frames_per_second().max(2);
    let lowest = (highest / LOWEST).max(1);
    let rate = |rate| FrameRate::new(rate).expect("at least 1");
    let bounds = Bounds::new(rate(lowest), rate(highest)).expect("the lowest is at most half of the highest");
    let mut search = Search::new(bounds);
    let mut trials = Vec::new();
    loop {
        let rate = match search.step() {
            Step::Trial(rate) => rate,
            Step::Done(found) => {
                let number = |rate| NonZeroU32::new(rate).expect("at least 1");
                let (lowest_frames_per_s, highest_frames_per_s) = (number(lowest), number(highest));
                return Ok((Searched { lowest_frames_per_s, highest_frames_per_s, trials }, found));
            }
        };
        let outcome = trial(rate)?;
        search.record(rate, outcome);
        let frames_per_s = NonZeroU32::new(rate.frames_per_second()).expect("at least 1");
        trials.push(Tried { frames_per_s, sent: outcome.sent, lost: outcome.lost });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rate: u32) -> FrameRate {
        FrameRate::new(rate).unwrap()
    }

    /// A gateway that forwards `capacity` frames per second.
    fn search_of(capacity: u32, up_to: u32) -> (Searched, Found) {
        search(rate(up_to), |rate| {
            let sent = 10_000;
            let passes = sent * u64::from(capacity) / u64::from(rate.frames_per_second());
            Ok(Trial { sent, lost: sent.saturating_sub(passes) })
        })
        .unwrap()
    }

    #[test]
    fn search_finds_the_capacity_and_records_it() {
        let (searched, found) = search_of(3000, 10_000);
        let ndr = found.ndr.rate().unwrap().frames_per_second();
        assert!((2980..=3020).contains(&ndr), "{ndr}");
        assert!(found.pdr.rate() >= found.ndr.rate());
        assert!((10..60).contains(&searched.trials.len()), "{}", searched.trials.len());
        let read: Searched = serde_json::from_str(&serde_json::to_string(&searched).unwrap()).unwrap();
        assert_eq!((read.found(), &read), (Some(found), &searched));
        let short = Searched { trials: searched.trials[..5].to_vec(), ..searched };
        assert_eq!(short.found(), None);
    }

    #[test]
    fn capacities_outside_the_range_are_bounds() {
        assert_eq!(search_of(20_000, 10_000).1.ndr.to_string(), "at least 10000 frames/s");
        assert_eq!(search_of(100, 10_000).1.ndr.to_string(), "below 625 frames/s");
        assert_eq!(search_of(5, 1).1.ndr.to_string(), "at least 2 frames/s");
    }
}
