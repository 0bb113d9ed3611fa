//! The time of every frame over the run, and the slowest of them with their neighbours.

use std::fmt::Write as _;

use crate::stats::LatencyNs;
use maud::{Markup, html};

use super::shade::{number, short};
use crate::plot::{Axis, Panel, Scale, grouped};
use crate::record::Record;

/// Parts of the run that a chart tells apart.
const SLICES: usize = 150;

/// The slowest frames that are shown, each farther from the others than its neighbours reach.
const MOST_SPIKES: usize = 3;

/// Frames that are shown on either side of a slow one.
const NEIGHBOURS: usize = 8;

/// How latencies were over the run, in the order in which frames were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// Of each slice, shortest and longest latency, if any frame arrived, and how many were lost.
    slices: Vec<(Option<[LatencyNs; 2]>, usize)>,
    /// The slowest frames, the slowest first.
    pub(super) spikes: Vec<Spike>,
}

/// A slow frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spike {
    /// Its place in the series.
    pub(super) sequence: u32,
    /// When it was sent, from the start.
    sent_ns: i64,
    pub(super) latency: LatencyNs,
    /// Itself and those around it; `None` was lost.
    around: Vec<Option<LatencyNs>>,
    /// Which of them it is.
    place: usize,
}

impl Course {
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

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 110.0;
const ACROSS: [f64; 2] = [58.0, 446.0];
const UPWARDS: [f64; 2] = [92.0, 10.0];

/// The whole run: from the shortest to the longest latency of each slice, losses as marks along the top.
pub(in crate::report) fn chart(course: &Course) -> Markup {
    let most = course.slices.iter().filter_map(|(range, _)| Some(range.as_ref()?[1])).max().unwrap_or_default();
    let most = most.microseconds().max(0.0);
    let scale = Scale::linear(0.0, most, UPWARDS);
    let ticks = vec![(0.0, "0".to_owned()), (most, short(most))];
    let slices = Scale::linear(0.0, number(course.slices.len()), ACROSS);
    let panel = Panel {
        x: Axis { scale: slices, title: "frames in the order of sending", ticks: Vec::new() },
        y: Axis { scale, title: "", ticks },
    };
    let (mut ranges, mut losses) = (String::new(), String::new());
    for (slice, (range, lost)) in course.slices.iter().enumerate() {
        let x = slices.at(number(slice) + 0.5);
        if let Some(range) = range {
            let [least, most] = range.map(|latency| scale.at(latency.microseconds()));
            // Never shorter than a point, so that equal latencies are visible.
            write!(ranges, "M{x:.0} {:.1}v-{:.1}", least + 0.8, least - most + 1.6)
                .expect("writing to a String cannot fail");
        }
        if *lost > 0 {
            write!(losses, "M{x:.0} 0v{:.0}", UPWARDS[1] - 3.0).expect("writing to a String cannot fail");
        }
    }
    html! {
        svg.profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label="Latency over the run, in the order of sending" {
            (panel.axes())
            path.course d=(ranges) {}
            @if !losses.is_empty() { path.losses d=(losses) { title { "frames that never arrived" } } }
        }
    }
}

/// The slowest frames, each with those before and after it.
pub(in crate::report) fn gallery(course: &Course) -> Markup {
    html! {
        ul.spikes { @for spike in &course.spikes {
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

/// A column for each frame; the slow one is coloured, lost ones are marks along the top.
pub(super) fn picture(spike: &Spike) -> Markup {
    const STEP: usize = 7;
    const TALL: f64 = 40.0;
    let scale = spike.latency.microseconds().max(f64::MIN_POSITIVE);
    let column = |latency: LatencyNs| (latency.microseconds().max(0.0) / scale * TALL).max(0.5);
    let (mut columns, mut losses) = (String::new(), String::new());
    for (place, latency) in spike.around.iter().enumerate() {
        let x = place * STEP + 4;
        match latency {
            Some(_) if place == spike.place => {}
            Some(latency) => write!(columns, "M{x} 44v-{:.1}", column(*latency)).expect("a String takes everything"),
            None => write!(losses, "M{x} 0v5").expect("a String takes everything"),
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

    fn course(latencies: &[Option<i64>]) -> Course {
        Course::of(&record("a", "kernel", latencies))
    }

    #[test]
    fn slow_frames_are_found_apart_from_each_other() {
        let mut latencies = vec![Some(10); 100];
        (latencies[50], latencies[51], latencies[2], latencies[97]) = (Some(90), Some(80), Some(70), None);
        let course = course(&latencies);
        let found: Vec<_> = course.spikes.iter().map(|spike| (spike.sequence, spike.latency.0)).collect();
        // 51 is a neighbour of 50; of equal ones the first is shown.
        assert_eq!(found, [(50, 90), (2, 70), (11, 10)]);
        assert_eq!((course.spikes[1].place, course.spikes[1].around.len()), (2, 11));
        assert!(chart(&course).into_string().contains("never arrived"));
    }

    #[test]
    fn a_long_run_has_so_many_slices_and_no_spike_is_lost_in_them() {
        let mut latencies = vec![Some(1000); 10_000];
        latencies[7777] = Some(9_000_000);
        let course = course(&latencies);
        assert!(course.slices.len() <= SLICES, "{}", course.slices.len());
        let most = course.slices.iter().filter_map(|(range, _)| Some(range.as_ref()?[1].0)).max();
        assert_eq!(most, Some(9_000_000));
    }

    #[test]
    fn nothing_that_arrived_is_a_chart_of_losses() {
        let course = course(&[None, None]);
        assert!(course.spikes.is_empty());
        let page = chart(&course).into_string();
        assert!(page.contains("losses") && !page.contains("NaN"), "{page}");
        assert!(!chart(&self::course(&[])).into_string().contains("NaN"));
    }
}
