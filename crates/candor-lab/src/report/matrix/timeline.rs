//! Latency over the run, and the slowest frames with their neighbours.

use crate::stats::LatencyNs;
use maud::{Markup, html};

use super::profile::{ACROSS, WIDTH};
use super::shade::short;
use crate::plot::{Axis, Panel, Scale, grouped};
use crate::record::Record;

/// Slices of the run in a chart.
const SLICES: usize = 150;

/// The slowest frames shown, without overlapping neighbourhoods.
const MOST_SPIKES: usize = 3;

/// Frames shown on either side of a slow one.
const NEIGHBOURS: usize = 8;

/// Latency over the run, in send order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Of each slice, shortest and longest latency, if any frame arrived, and number of lost frames.
    slices: Vec<(Option<[LatencyNs; 2]>, usize)>,
    /// Slowest first.
    pub(super) spikes: Vec<Spike>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spike {
    /// Position in the series.
    pub(super) sequence: u32,
    /// Relative to the start.
    sent_ns: i64,
    pub(super) latency: LatencyNs,
    /// With its neighbours; `None` if lost.
    around: Vec<Option<LatencyNs>>,
    /// Index in `around`.
    place: usize,
}

impl Timeline {
    pub(in crate::report) fn of(record: &Record) -> Self {
        let latencies: Vec<Option<LatencyNs>> =
            record.samples.iter().map(|sample| sample.latency().filter(|_| !sample.disposition.is_lost())).collect();
        let slice = |frames: &[Option<LatencyNs>]| {
            let arrived = || frames.iter().flatten().copied();
            let range = arrived().min().zip(arrived().max()).map(|(least, most)| [least, most]);
            (range, frames.iter().filter(|frame| frame.is_none()).count())
        };
        let slices = latencies.chunks(latencies.len().div_ceil(SLICES).max(1)).map(slice).collect();
        Self { slices, spikes: spikes(record, &latencies) }
    }
}

fn spikes(record: &Record, latencies: &[Option<LatencyNs>]) -> Vec<Spike> {
    let mut slowest: Vec<(LatencyNs, usize)> =
        latencies.iter().enumerate().filter_map(|(place, latency)| Some(((*latency)?, place))).collect();
    slowest.sort_by_key(|&(latency, place)| (std::cmp::Reverse(latency), place));
    let mut places: Vec<usize> = Vec::new();
    for (_, place) in slowest {
        if places.iter().all(|taken| taken.abs_diff(place) > NEIGHBOURS) {
            places.push(place);
        }
        if places.len() == MOST_SPIKES {
            break;
        }
    }
    let spike = |place: usize| {
        let first = place.saturating_sub(NEIGHBOURS);
        let around = latencies[first..latencies.len().min(place + NEIGHBOURS + 1)].to_vec();
        let sample = &record.samples[place];
        let latency = latencies[place].unwrap_or_default();
        Spike { sequence: sample.sequence, sent_ns: sample.sent_ns, latency, around, place: place - first }
    };
    places.into_iter().map(spike).collect()
}

const HEIGHT: f64 = 110.0;
const UPWARDS: [f64; 2] = [92.0, 10.0];

/// Range of latencies in each slice, losses as marks at the top.
pub(in crate::report) fn chart(timeline: &Timeline) -> Markup {
    let slices = || (0..).zip(&timeline.slices).map(|(slice, of)| (f64::from(slice) + 0.5, of));
    let most = slices().filter_map(|(_, (range, _))| Some(range.as_ref()?[1])).max().unwrap_or_default();
    let most = most.microseconds().max(0.0);
    let x = Scale::linear(0.0, timeline.slices.len() as f64, ACROSS);
    let ticks = vec![(0.0, "0".to_owned()), (most, short(most))];
    let panel = Panel {
        x: Axis { scale: x, title: "frames in send order", ticks: Vec::new() },
        y: Axis { scale: Scale::linear(0.0, most, UPWARDS), title: "", ticks },
    };
    let ranges = slices().filter_map(|(x, (range, _))| Some((x, (*range)?.map(LatencyNs::microseconds))));
    let losses = slices().filter(|(_, (_, lost))| *lost > 0);
    let losses: String = losses.map(|(slice, _)| format!("M{:.0} 0v{:.0}", x.at(slice), UPWARDS[1] - 3.0)).collect();
    html! {
        svg.profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label="Latency over the run, in send order" {
            (panel.axes())
            path.course d=(panel.ranges(ranges)) {}
            @if !losses.is_empty() { path.losses d=(losses) { title { "frames that never arrived" } } }
        }
    }
}

/// The slowest frames with their neighbours.
pub(in crate::report) fn gallery(timeline: &Timeline) -> Markup {
    html! {
        ul.spikes { @for spike in &timeline.spikes {
            li { (picture(spike)) span { (caption(spike)) } }
        } }
    }
}

/// `frame 1 234, 56.1 ms after the start: 183 µs`.
fn caption(spike: &Spike) -> String {
    let after = LatencyNs(spike.sent_ns).microseconds() / 1000.0;
    let (frame, latency) = (grouped(&spike.sequence.to_string()), short(spike.latency.microseconds()));
    format!("frame {frame}, sent {} ms after the start: {latency} µs", short(after))
}

/// A column per frame; the slow one is coloured, losses are marks at the top.
pub(super) fn picture(spike: &Spike) -> Markup {
    const STEP: usize = 7;
    const TALL: f64 = 40.0;
    let scale = spike.latency.microseconds().max(f64::MIN_POSITIVE);
    let column = |latency: LatencyNs| (latency.microseconds().max(0.0) / scale * TALL).max(0.5);
    let (mut columns, mut losses) = (String::new(), String::new());
    for (place, latency) in spike.around.iter().enumerate().filter(|(place, _)| *place != spike.place) {
        let x = place * STEP + 4;
        match latency {
            Some(latency) => columns += &format!("M{x} 44v-{:.1}", column(*latency)),
            None => losses += &format!("M{x} 0v5"),
        }
    }
    html! {
        svg.spike viewBox=(format!("0 0 {} 46", spike.around.len() * STEP + 1)) aria-hidden="true" {
            path.columns d=(columns) {}
            path.slow d=(format!("M{} 44v-{TALL}", spike.place * STEP + 4)) {}
            @if !losses.is_empty() { path.losses d=(losses) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::record;
    use super::*;

    fn timeline(latencies: &[Option<i64>]) -> Timeline {
        Timeline::of(&record("a", "kernel", latencies))
    }

    #[test]
    fn spikes_do_not_overlap() {
        let mut latencies = vec![Some(10); 100];
        (latencies[50], latencies[51], latencies[2], latencies[97]) = (Some(90), Some(80), Some(70), None);
        let timeline = timeline(&latencies);
        let found: Vec<_> = timeline.spikes.iter().map(|spike| (spike.sequence, spike.latency.0)).collect();
        // 51 is a neighbour of 50; of equal ones the first is shown.
        assert_eq!(found, [(50, 90), (2, 70), (11, 10)]);
        assert_eq!((timeline.spikes[1].place, timeline.spikes[1].around.len()), (2, 11));
        assert!(chart(&timeline).into_string().contains("never arrived"));
    }

    #[test]
    fn slices_of_a_long_run_keep_its_spikes() {
        let mut latencies = vec![Some(1000); 10_000];
        latencies[7777] = Some(9_000_000);
        let timeline = timeline(&latencies);
        assert!(timeline.slices.len() <= SLICES, "{}", timeline.slices.len());
        let most = timeline.slices.iter().filter_map(|(range, _)| Some(range.as_ref()?[1].0)).max();
        assert_eq!(most, Some(9_000_000));
    }

    #[test]
    fn run_without_arrivals_is_a_chart_of_losses() {
        let timeline = timeline(&[None, None]);
        assert!(timeline.spikes.is_empty());
        let page = chart(&timeline).into_string();
        assert!(page.contains("losses") && !page.contains("NaN"), "{page}");
        assert!(!chart(&self::timeline(&[])).into_string().contains("NaN"));
    }
}
