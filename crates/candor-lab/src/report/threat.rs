//! Threats to the validity of a record, each with advice.

use std::fmt;

use crate::stats::warm_up::{WINDOW, WarmUp};
use crate::stats::{Quantile, TooFew};

use super::CONFIDENCE;
use crate::record::{Record, Sample};

/// A reason to believe a record less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threat {
    /// No frame arrived.
    Everything,
    /// The p99 is not bounded by so few frames.
    FewFrames {
        /// How many have a latency, and how many would do.
        too_few: TooFew,
    },
    /// Frames arrived on the far side that nobody sent.
    Foreign {
        /// How many.
        frames: u32,
    },
    /// Frames arrived twice or too late.
    LateOrDuplicate {
        /// How many.
        frames: u32,
    },
    /// Frames were sent when the one that goes ahead of a timer was still under way.
    Overlapped {
        /// How many.
        frames: u32,
    },
    /// Frames did not arrive.
    Lost {
        /// How many.
        frames: usize,
    },
    /// Latencies below zero.
    Negative {
        /// How many.
        frames: usize,
    },
    /// The testbed's clock says nothing about real time.
    NoTime,
    /// What the tester itself warned of.
    Tester {
        /// Its words.
        warning: String,
    },
    /// Frames arrived that the monitor did not see.
    Unmonitored {
        /// How many.
        frames: usize,
    },
    /// The first frames still differ from those after them.
    WarmingUp {
        /// How far.
        warm_up: WarmUp,
    },
}

/// Windows in a row that differ before that is called a warm-up. Those of a steady run do so in one of 20 cases, each.
const WINDOWS_IN_A_ROW: usize = 4;

/// Whether the frames in front were too few.
fn warming_up(samples: &[Sample]) -> Option<WarmUp> {
    let frames: Vec<_> = samples.iter().map(Sample::latency).collect();
    let warm_up = WarmUp::of(&frames);
    let differing = match warm_up {
        // The first window has none before it.
        WarmUp::Dropped { frames } => frames / WINDOW - 1,
        WarmUp::NeverSteady { frames } => (frames / WINDOW).saturating_sub(1),
    };
    (differing >= WINDOWS_IN_A_ROW).then_some(warm_up)
}

impl Threat {
    /// Everything that makes this record less believable.
    #[must_use]
    pub fn all_of(record: &Record) -> Vec<Self> {
        let samples = &record.samples;
        let count = |wanted: fn(&Sample) -> bool| samples.iter().filter(|sample| wanted(sample)).count();
        let measured = count(|sample| sample.latency().is_some());
        let lost = count(|sample| sample.is_missing());
        let unmonitored = count(|sample| sample.far_ns.is_some() && sample.monitor_ns.is_none());
        let negative = count(|sample| sample.latency().is_some_and(|latency| latency.0 < 0));
        let header = &record.header;
        let mut threats = Vec::new();
        let mut add = |applies: bool, threat: Self| {
            if applies {
                threats.push(threat);
            }
        };
        add(header.testbed == "uml", Self::NoTime);
        let nothing = lost > 0 && measured == 0;
        add(nothing, Self::Everything);
        add(lost > 0 && !nothing, Self::Lost { frames: lost });
        add(unmonitored > 0, Self::Unmonitored { frames: unmonitored });
        add(negative > 0, Self::Negative { frames: negative });
        let late = header.late_or_duplicate_frames;
        add(late > 0, Self::LateOrDuplicate { frames: late });
        let overlapped = header.overlapped_frames;
        add(overlapped > 0, Self::Overlapped { frames: overlapped });
        add(header.foreign_frames > 0, Self::Foreign { frames: header.foreign_frames });
        if let Some(too_few) = TooFew::for_interval(measured, Quantile::P99, CONFIDENCE).filter(|_| measured > 0) {
            threats.push(Self::FewFrames { too_few });
        }
        threats.extend(warming_up(samples).map(|warm_up| Self::WarmingUp { warm_up }));
        threats.extend(header.warnings.iter().map(|warning| Self::Tester { warning: warning.clone() }));
        threats
    }
}

impl fmt::Display for Threat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => write!(
                f,
                "no frame arrived: does a gateway forward between the two buses? Between virtual interfaces it needs \
                 echo"
            ),
            Self::FewFrames { too_few } => write!(f, "{too_few}: measure more frames"),
            Self::Foreign { frames } => {
                write!(f, "{frames} frames on the far side were not the tester's: keep other senders off both buses")
            }
            Self::LateOrDuplicate { frames } => write!(
                f,
                "{frames} frames arrived twice or after their time: look for two rules that forward the same frame"
            ),
            Self::Overlapped { frames } => write!(
                f,
                "{frames} frames were sent when the frame that goes ahead was still under way, and had to wait for it: raise \
                 --gap-min"
            ),
            Self::Lost { frames } => {
                write!(f, "{frames} frames were lost: the figures hold for those that arrived")
            }
            Self::Negative { frames } => write!(
                f,
                "{frames} latencies are below zero: a rule that keeps time stamps, or a frame time subtracted on a wire \
                 that takes none"
            ),
            Self::NoTime => {
                write!(f, "Times in user-mode Linux mean nothing: measure with the icount laboratory or on hardware")
            }
            Self::Tester { warning } => write!(f, "{warning}"),
            Self::Unmonitored { frames } => write!(
                f,
                "{frames} frames arrived without a stamp on the monitor: check that the monitor is on the sender's bus"
            ),
            Self::WarmingUp { warm_up: WarmUp::Dropped { frames } } => write!(
                f,
                "steady only after {frames} of the frames that count: raise the warm-up, or look what changed"
            ),
            Self::WarmingUp { warm_up: warm_up @ WarmUp::NeverSteady { .. } } => write!(f, "{warm_up}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::record;
    use super::*;

    #[test]
    fn a_clean_record_has_no_threats() {
        assert_eq!(Threat::all_of(&record("kernel", "kernel", &[Some(1); 400])), []);
    }

    #[test]
    fn a_series_without_any_frame_gets_one_piece_of_advice() {
        assert_eq!(Threat::all_of(&record("kernel", "kernel", &[None, None])), [Threat::Everything]);
    }

    #[test]
    fn a_run_that_gets_faster_was_not_warm() {
        let falling = |until: i64, frames: i64| {
            let latencies: Vec<_> = (0..frames).map(|at| Some(8000 + 2 * (until - at).max(0) + at % 7)).collect();
            Threat::all_of(&record("kernel", "kernel", &latencies)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(falling(0, 5000), Vec::<String>::new());
        assert_eq!(falling(700, 5000), Vec::<String>::new(), "windows differ by chance, too");
        let wanted = "steady only after 3500 of the frames that count: raise the warm-up, or look what changed";
        assert_eq!(falling(2600, 5000), [wanted]);
        assert_eq!(falling(9000, 5000), ["never steady in 5000 frames: send more, or look what changes"]);
    }

    #[test]
    fn each_threat_is_found() {
        let mut bad = record("kernel", "kernel", &[Some(-1), None, Some(4)]);
        bad.samples[2].monitor_ns = None;
        bad.header.testbed = "uml".into();
        bad.header.foreign_frames = 3;
        bad.header.late_or_duplicate_frames = 2;
        bad.header.overlapped_frames = 1;
        bad.header.warnings.push("Memory could not be locked".into());
        let found = Threat::all_of(&bad);
        let wanted = [
            Threat::NoTime,
            Threat::Lost { frames: 1 },
            Threat::Unmonitored { frames: 1 },
            Threat::Negative { frames: 1 },
            Threat::LateOrDuplicate { frames: 2 },
            Threat::Overlapped { frames: 1 },
            Threat::Foreign { frames: 3 },
            Threat::FewFrames { too_few: TooFew::for_interval(1, Quantile::P99, CONFIDENCE).unwrap() },
            Threat::Tester { warning: "Memory could not be locked".into() },
        ];
        assert_eq!(found, wanted);
        assert_eq!(found[7].to_string(), "n too small: p99 needs 368 frames, there are 1: measure more frames");
    }
}
