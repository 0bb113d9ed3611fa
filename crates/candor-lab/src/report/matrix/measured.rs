//! A cell of a plan and what is known of it. The samples are gone: a plan has more of them than fit into memory.

use crate::stats::{LatencyNs, Profile, Quantile, Series};

use super::profile::thinned;
use super::shade::number;
use super::spikes::Course;
use super::stages::Stages;
use crate::cells::State;
use crate::record::{Disposition, Header, Record, Sample};
use crate::report::{Figures, Summary, Threat};

/// What a plan came to.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// How people call it: the name of the folder.
    pub name: String,
    /// Frames of each cell that count.
    pub frames: u32,
    /// Frames in front of them.
    pub warm_up: u32,
    /// Of the order of cells and of all random times.
    pub seed: u64,
    /// In the order of the plan, those that have not been measured included.
    pub cells: Vec<Cell>,
}

/// One level of each factor.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name in the plan, and the stem of its record.
    pub name: String,
    /// Factors and levels, the repeat among them where the plan has several.
    pub levels: Vec<(String, String)>,
    /// What has become of it; `None` if it has not been measured.
    pub state: Option<State>,
    /// What its record says, if it has one.
    pub measured: Option<Measured>,
}

/// What a report of many cells keeps of a record.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was constant.
    pub header: Header,
    /// Frames that were to be sent.
    pub frames: usize,
    /// How many came to each disposition, in the order of [`Disposition::ALL`].
    pub dispositions: [usize; Disposition::ALL.len()],
    /// Of the service: from the first bus. `None` when no frame has a latency.
    pub figures: Option<Figures>,
    /// Of the response: from the moment when a frame was due. `None` where frames wait for each other, and are due when
    /// they are sent, and where that moment is of another clock.
    pub response: Option<Figures>,
    /// How late the tester itself was with 99 of 100 frames, at most. `None` where frames wait for each other.
    pub lateness_p99: Option<LatencyNs>,
    /// Frames that were due each second, on the average; as `lateness_p99`.
    pub offered_per_s: Option<f64>,
    /// The latency profile, with as many steps as can be seen.
    pub profile: Profile,
    /// Where the time of the frames at p50, p99 and max went; `None` if no frame has all of its stamps, or
    /// if they are of two clocks.
    pub stages: Option<[Stages; 3]>,
    /// How latencies were over the run.
    pub course: Course,
    /// What to believe less.
    pub threats: Vec<Threat>,
}

impl Cell {
    /// Its level of a factor; empty if the plan does not have that factor.
    #[must_use]
    pub fn level(&self, factor: &str) -> &str {
        self.levels.iter().find(|(known, _)| known == factor).map_or("", |(_, level)| level)
    }

    /// Figures that can be believed: of a cell that is ok.
    pub(super) fn believed(&self) -> Option<&Measured> {
        self.measured.as_ref().filter(|_| self.state == Some(State::Ok))
    }
}

impl Measured {
    /// What is kept of a record.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let summary = Summary::of(record);
        let header = &record.header;
        let is_closed_loop = header.is_closed_loop();
        let open_loop = |time: fn(&Sample) -> Option<LatencyNs>| {
            Series::new(record.samples.iter().filter_map(time).collect()).filter(|_| !is_closed_loop)
        };
        let profile = summary.sent.profile();
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
            course: Course::of(record),
            profile: Profile { points: thinned(&profile.points), plateau: profile.plateau },
            threats: Threat::all_of(record),
        }
    }

    /// Frames that did not come through the gateway in their time, whoever is to blame.
    #[must_use]
    pub fn lost(&self) -> usize {
        Disposition::ALL
            .into_iter()
            .zip(self.dispositions)
            .filter(|(disposition, _)| disposition.is_lost())
            .map(|(_, count)| count)
            .sum()
    }
}

/// From when frames were due: as many as there are pauses between them.
fn offered(samples: &[Sample]) -> Option<f64> {
    let due = || samples.iter().map(|sample| sample.due_ns);
    let between = due().max()?.checked_sub(due().min()?).filter(|&between| between > 0)?;
    Some(number(samples.len() - 1) / (LatencyNs(between).microseconds() / 1e6))
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
    fn the_response_counts_from_when_a_frame_was_due() {
        let mut one = record("a", "kernel", &[Some(30), None]);
        one.samples[0] = Sample { due_ns: -40, sent_ns: -10, wire_ns: 5, ..one.samples[0] };
        assert_eq!(Measured::of(&one).response, None, "frames that wait for each other are never late");
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
        assert_eq!(of_adapter.lateness_p99, measured.lateness_p99, "the tester's own clock tells it");
    }

    #[test]
    fn fates_are_counted_and_four_of_them_are_losses() {
        let mut one = record("a", "kernel", &[Some(1); 9]);
        for (sample, disposition) in one.samples.iter_mut().zip(Disposition::ALL) {
            sample.disposition = disposition;
        }
        let measured = Measured::of(&one);
        assert_eq!(measured.dispositions, [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(measured.lost(), 4);
    }
}
