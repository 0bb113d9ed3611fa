//! Random faults: the probability of a missed deadline.

use alloc::vec;
use alloc::vec::Vec;

use crate::Analysis;
use crate::analysis::{Assumptions, Stage};
use crate::length::Clock;
use crate::model::{MessageId, Network};
use crate::problem::Problem;
use crate::time::Ns;

/// Numbers of faults that are looked at. With more, a deadline counts as missed.
const MOST_FAULTS: u32 = 32;

impl Network {
    /// For each message, an upper bound of the probability that one of its frames misses its deadline, if faults are a Poisson
    /// process on each bus. `assumptions.error_frames` has no effect.
    ///
    /// Frames with at most `k` faults in the response time for `k` faults meet their deadline if this response time does. A
    /// frame of several buses is assumed to meet the faults of each bus all the way.
    ///
    /// # Units
    /// `faults_per_second` counts faults that destroy a frame, on each bus. Negative numbers and NaN count as 0.
    ///
    /// # Errors
    /// All [`Network::problems`], if there are any.
    ///
    /// # Source
    /// Broster, Burns, Rodríguez-Navas: Timing analysis of real-time communication under electromagnetic interference. Real-Time
    /// Systems 30, 2005, <https://doi.org/10.1007/s11241-005-0504-z>. The sum of probabilities is the same; it is computed from
    /// positive terms only, so that small probabilities are exact.
    pub fn miss_probabilities(
        &self,
        assumptions: Assumptions,
        faults_per_second: f64,
    ) -> Result<Vec<f64>, Vec<Problem>> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let clock = Clock::new(assumptions.lengths, &self.messages);
        let mut responses: Vec<Vec<Ns>> = vec![Vec::new(); self.messages.len()];
        let mut buses = vec![1; self.messages.len()];
        for error_frames in 0..MOST_FAULTS {
            let analysis = Analysis::new(self.clone(), Assumptions { error_frames, ..assumptions }, &clock);
            let mut is_last = true;
            for (MessageId(at), bound) in analysis.bounds() {
                let number = usize::try_from(error_frames).unwrap_or(usize::MAX);
                if let Some(response) = bound.response.filter(|_| bound.holds() && responses[at].len() == number) {
                    responses[at].push(response);
                    let is_bus = |stage: &Stage| matches!(stage, Stage::Bus { .. });
                    buses[at] = analysis.stages(MessageId(at)).into_iter().filter(is_bus).count();
                    is_last = false;
                }
            }
            if is_last {
                break;
            }
        }
        let rate = if faults_per_second > 0.0 { faults_per_second } else { 0.0 };
        let miss = |(responses, buses): (&Vec<Ns>, &usize)| {
            let buses = u32::try_from(*buses).unwrap_or(u32::MAX);
            miss_probability(responses, rate * f64::from(buses))
        };
        Ok(responses.iter().zip(&buses).map(miss).collect())
    }
}

/// The probability that there are more than `k` faults in the first `responses[k]`, for all `k`.
#[must_use]
pub fn miss_probability(responses: &[Ns], faults_per_second: f64) -> f64 {
    // By number of faults so far, for frames that still have more of them than their time allows. In the last one, any more.
    let mut open = vec![0.0; responses.len() + 1];
    open[0] = 1.0;
    let mut before = Ns(0);
    for (allowed, &response) in responses.iter().enumerate() {
        let seconds = seconds(response.since(before));
        before = before.max(response);
        let mut next = vec![0.0; open.len()];
        for (faults, probability) in open.iter().enumerate().filter(|(_, probability)| **probability > 0.0) {
            let last = open.len() - 1;
            let terms = poisson(faults_per_second * seconds, last - faults);
            for (more, term) in terms.into_iter().enumerate() {
                next[faults + more] += probability * term;
            }
        }
        next[..=allowed].fill(0.0);
        open = next;
    }
    open.iter().sum()
}

/// The probabilities of 0 to `most - 1` events, and of `most` or more.
fn poisson(mean: f64, most: usize) -> Vec<f64> {
    if mean > 700.0 {
        // exp(-mean) is 0 in floating point.
        let mut terms = vec![0.0; most + 1];
        terms[most] = 1.0;
        return terms;
    }
    let mut term = libm::exp(-mean);
    let mut terms = Vec::new();
    let mut number = 0.0;
    for _event in 0..most {
        terms.push(term);
        number += 1.0;
        term *= mean / number;
    }
    let mut tail = 0.0;
    loop {
        tail += term;
        number += 1.0;
        term *= mean / number;
        if number > mean && term <= tail * 1e-17 {
            break;
        }
    }
    terms.push(tail.min(1.0));
    terms
}

fn seconds(time: Ns) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits of nanoseconds are 104 days")]
    let ns = time.0 as f64;
    ns / 1e9
}

#[cfg(test)]
mod tests {
    use candor_core::random::SplitMix64;

    use super::*;

    #[test]
    fn one_window_has_the_probability_of_any_fault() {
        // schedcat: 0.03 faults in a millisecond.
        let miss = miss_probability(&[Ns::from_us(1028)], 30.0);
        assert!((1.0 - miss - 0.969_631).abs() < 5e-7, "{miss}");
        assert!((miss_probability(&[], 30.0) - 1.0).abs() < 1e-12);
        assert!(miss_probability(&[Ns::from_us(1028)], 0.0) < 1e-300);
    }

    #[test]
    fn small_probabilities_are_exact() {
        // More than k faults in every window; far below the precision of 1 - p.
        let windows: Vec<_> = (1..=8).map(|number| Ns::from_us(1000 * number)).collect();
        let miss = miss_probability(&windows, 0.001);
        assert!(miss > 0.0 && miss < 1e-43, "{miss:e}");
    }

    #[test]
    fn random_faults_miss_as_often() {
        let windows = [Ns::from_us(1000), Ns::from_us(1600), Ns::from_us(2500)];
        let miss = miss_probability(&windows, 800.0);
        let mut random = SplitMix64::new(5);
        let mut misses = 0_u32;
        let frames = 200_000;
        for _frame in 0..frames {
            // Times of faults.
            let mut faults = Vec::new();
            let mut at = 0.0;
            while at < 2.5e-3 {
                let uniform = f64::from(u32::try_from(random.next_u64() >> 32).unwrap()) / f64::from(u32::MAX);
                at += -libm::log(1.0 - uniform * 0.999_999_999) / 800.0;
                faults.push(at);
            }
            let within = |window: Ns| faults.iter().filter(|at| **at <= seconds(window)).count();
            misses += u32::from(windows.iter().enumerate().all(|(allowed, window)| within(*window) > allowed));
        }
        let found = f64::from(misses) / f64::from(frames);
        assert!((found - miss).abs() < 0.005, "{found} {miss}");
    }
}
