//! A cell of a plan and its results, without samples: those of a plan may exceed the memory.

use crate::stats::{Figures, LatencyNs, Profile, Quantile, Series};

use super::stages::Stages;
use super::timeline::Timeline;
use crate::cells::State;
use crate::record::{Disposition, Header, Record, Sample};
use crate::report::chart::thinned;
use crate::report::{Summary, threats};

#[derive(Clone, Debug)]
pub struct Matrix {
    /// Name of the folder.
    pub name: String,
    /// Frames per cell that count.
    pub frames: u32,
    /// Uncounted frames before those.
    pub warm_up: u32,
    /// Of the order and of all random times.
    pub seed: u64,
    /// In the order of the plan, including missing ones.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug)]
pub struct Cell {
    /// Name in the plan, and stem of its record.
    pub name: String,
    /// Includes the repeat if the plan has several.
    pub levels: Vec<(String, String)>,
    /// `None` if it has not been measured.
    pub state: Option<State>,
    pub measured: Option<Measured>,
}

/// The part of a record that a report of many cells keeps.
#[derive(Clone, Debug)]
pub struct Measured {
    pub header: Header,
    /// Frames that were to be sent.
    pub frames: usize,
    /// Counts in the order of [`Disposition::ALL`].
    pub dispositions: [usize; Disposition::ALL.len()],
    /// Service time, from the first bus. `None` if no frame has a latency.
    pub figures: Option<Figures>,
    /// Response time, from the due time. `None` in a closed loop, and if the due time has another clock.
    pub response: Option<Figures>,
    /// p99 of the tester's own lateness. `None` in a closed loop.
    pub lateness_p99: Option<LatencyNs>,
    /// Mean rate of due frames; `None` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Reduced to visible steps.
    pub profile: Profile,
    /// Of the frames at p50, p99 and max; `None` if no frame has all timestamps, or if they have two clocks.
    pub stages: Option<[Stages; 3]>,
    /// Latency over the run.
    pub timeline: Timeline,
    pub threats: Vec<String>,
}

impl Cell {
    /// Empty if the plan has no such factor.
    pub fn level(&self, factor: &str) -> &str {
        self.levels.iter().find(|(known, _)| known == factor).map_or("", |(_, level)| level)
    }

    /// `None` unless the cell is ok.
    pub(super) fn valid(&self) -> Option<&Measured> {
        self.measured.as_ref().filter(|_| self.state == Some(State::Ok))
    }
}

impl Measured {
    pub fn of(record: &Record) -> Self {
        let summary = Summary::of(record);
        let header = &record.header;
        let is_closed_loop = header.is_closed_loop();
        let open_loop = |time: fn(&Sample) -> Option<LatencyNs>| {
            Series::new(record.samples.iter().filter_map(time).collect()).filter(|_| !is_closed_loop)
        };
        let profile = summary.profile;
        Self {
            header: header.clone(),
            frames: summary.frames,
            dispositions: Disposition::ALL
                .map(|disposition| record.samples.iter().filter(|sample| sample.disposition == disposition).count()),
            figures: summary.figures,
            response: open_loop(Sample::response).filter(|_| !header.has_two_clocks()).as_ref().map(Figures::of),
            lateness_p99: open_loop(lateness).map(|series| series.quantile(Quantile::P99)),
            offered_per_s: offered(&record.samples).filter(|_| !is_closed_loop),
            stages: Stages::of(record),
            timeline: Timeline::of(record),
            profile: Profile { points: thinned(&profile.points), plateau: profile.plateau },
            threats: threats(record),
        }
    }

    /// Frames that did not pass the gateway in time, for any reason.
    pub fn lost(&self) -> usize {
        Disposition::ALL
            .into_iter()
            .zip(self.dispositions)
            .filter(|(disposition, _)| disposition.is_lost())
            .map(|(_, count)| count)
            .sum()
    }
}

/// n frames have n − 1 intervals.
fn offered(samples: &[Sample]) -> Option<f64> {
    let due = || samples.iter().map(|sample| sample.due_ns);
    let between = due().max()?.checked_sub(due().min()?).filter(|&between| between > 0)?;
    Some((samples.len() - 1) as f64 / (LatencyNs(between).microseconds() / 1e6))
}

fn lateness(sample: &Sample) -> Option<LatencyNs> {
    sample.sent_ns.checked_sub(sample.due_ns).map(LatencyNs)
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::record;
    use super::*;
    use crate::record::ADAPTER_STAMPS;

    #[test]
    fn response_starts_at_the_due_time() {
        let mut one = record("a", "kernel", &[Some(30), None]);
        one.samples[0] = Sample { due_ns: -40, sent_ns: -10, wire_ns: 5, ..one.samples[0] };
        assert_eq!(Measured::of(&one).response, None, "a closed loop is never late");
        one.header.traffic = "50 %".to_owned();
        let measured = Measured::of(&one);
        // It arrived at 40: 25 after the first bus, 75 after it was due.
        assert_eq!(measured.figures.unwrap().p50, LatencyNs(25));
        assert_eq!(measured.response.unwrap().p50, LatencyNs(75));
        assert_eq!(measured.lateness_p99, Some(LatencyNs(30)));
        // The other frame was due at 0.
        assert_eq!(measured.offered_per_s, Some(1e9 / 40.0));
        one.header.stamps = ADAPTER_STAMPS.to_owned();
        let of_adapter = Measured::of(&one);
        assert_eq!((of_adapter.figures, of_adapter.response), (measured.figures, None));
        assert_eq!(of_adapter.lateness_p99, measured.lateness_p99, "it has the tester's own clock");
    }

    #[test]
    fn dispositions_are_counted_and_four_of_them_are_losses() {
        let mut one = record("a", "kernel", &[Some(1); 9]);
        for (sample, disposition) in one.samples.iter_mut().zip(Disposition::ALL) {
            sample.disposition = disposition;
        }
        let measured = Measured::of(&one);
        assert_eq!(measured.dispositions, [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(measured.lost(), 4);
    }
}
