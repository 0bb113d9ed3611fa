//! The latency profile of one cell as a small picture with few steps.

use std::fmt::Write as _;

use crate::stats::{LatencyNs, Profile, ProfilePoint};
use maud::{Markup, html};

use super::Measured;
use super::shade::short;
use crate::plot::{Axis, Mark, Panel, Scale, class, grouped, px};
use crate::report::chart::{count, count_scale};

/// Steps that a profile keeps: each is less than two pixels from what it stands for.
pub(super) const MOST_POINTS: usize = 200;

/// The slowest steps, of which each is kept.
const TAIL: usize = MOST_POINTS / 2;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 170.0;
const ACROSS: [f64; 2] = [58.0, 446.0];
const UPWARDS: [f64; 2] = [146.0, 8.0];

/// Share of the width that the longest latency takes.
const ROOM: f64 = 0.96;

/// The same profile with at most [`MOST_POINTS`] steps: the first, all of the tail, and before it those between whose counts
/// there is always the same ratio. Those that stay keep their counts.
pub(in crate::report) fn thinned(points: &[ProfilePoint]) -> Vec<ProfilePoint> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let (body, tail) = points.split_at(points.len() - TAIL);
    let (first, last) = (count(body[0].at_least), count(tail[0].at_least));
    // One fewer than there is room for, so that rounding cannot make it one more.
    let ratio = (first / last).powf(1.0 / count(MOST_POINTS - TAIL - 1));
    let mut kept = vec![body[0]];
    for point in &body[1..] {
        if count(kept[kept.len() - 1].at_least) >= ratio * count(point.at_least) {
            kept.push(*point);
        }
    }
    kept.extend_from_slice(tail);
    kept
}

/// Steps on a logarithmic vertical axis, the longest latency as a ring, the lost as a line to the right edge.
///
/// The path is in nanoseconds and has the cell's number, so that other pictures can show it on their own scale.
pub(super) fn picture(index: usize, profile: &Profile, frames: usize) -> Markup {
    let max = longest(profile);
    let panel = panel(max, frames);
    html! {
        svg.profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Latency profile: frames with at least each latency, logarithmic" {
            (panel.axes())
            g.s0 transform=(transform(max)) { path.line id=(format!("p{index}")) vector-effect="non-scaling-stroke" fill="none" d=(path(&panel, profile, frames)) {} }
            @if let Some(worst) = profile.points.last() {
                (panel.mark((worst.latency.microseconds(), count(worst.at_least)), Mark::Ring, "s0", None))
            }
            @if profile.plateau > 0 {
                text.tick x=(ACROSS[1] - 4.0) y=(px(panel.y.scale.at(count(profile.plateau)) - 4.0)) text-anchor="end" {
                    (grouped(&profile.plateau.to_string())) " never arrived"
                }
            }
        }
    }
}

/// The profiles of several cells on one scale, each drawn by its own picture's path.
pub(super) fn overlay(cells: &[(usize, &Measured)]) -> Markup {
    let max = cells.iter().map(|(_, measured)| longest(&measured.profile)).max().unwrap_or(1);
    let frames = cells.iter().map(|(_, measured)| measured.frames).max().unwrap_or(1);
    html! {
        svg.profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Latency profiles: frames with at least each latency, logarithmic" {
            (panel(max, frames).axes())
            @for (series, (index, _)) in cells.iter().enumerate() {
                g.(class(series)) transform=(transform(max)) { use href=(format!("#p{index}")) {} }
            }
        }
    }
}

/// In microseconds, with the ends of the range as ticks.
fn panel(max: i64, frames: usize) -> Panel<'static> {
    let max = LatencyNs(max).microseconds();
    let scale = Scale::linear(0.0, max / ROOM, ACROSS);
    let ticks = vec![(0.0, "0".to_owned()), (max, format!("{} µs", short(max)))];
    Panel { x: Axis { scale, title: "", ticks }, y: Axis::new(count_scale(count(frames.max(1)), UPWARDS), "") }
}

/// The right end of a profile, never zero.
fn longest(profile: &Profile) -> i64 {
    profile.points.last().map_or(0, |worst| worst.latency.0).max(1)
}

/// From nanoseconds to pixels.
fn transform(max: i64) -> String {
    let [left, right] = ACROSS;
    format!("translate({left} 0) scale({:.6e} 1)", ROOM * (right - left) / (LatencyNs(max).microseconds() * 1000.0))
}

/// In nanoseconds to the right and in pixels downwards.
fn path(panel: &Panel<'_>, profile: &Profile, frames: usize) -> String {
    let height = |frames| px(panel.y.scale.at(count(frames)));
    let mut path = format!("M0 {}", height(frames));
    for (step, point) in profile.points.iter().enumerate() {
        write!(path, "H{}V{}", point.latency.0.max(0), height(profile.after(step)))
            .expect("writing to a String cannot fail");
    }
    if profile.plateau > 0 {
        let end = LatencyNs(longest(profile)).microseconds() * 1000.0 / ROOM;
        write!(path, "H{end:.0}").expect("writing to a String cannot fail");
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(counts: usize) -> Vec<ProfilePoint> {
        let latency = |at: usize| LatencyNs(i64::try_from(at * at).unwrap());
        (0..counts).map(|at| ProfilePoint { latency: latency(at), at_least: counts - at }).collect()
    }

    proptest! {
        /// Whatever the counts are: first, last and tail stay, and nothing is there that was not.
        #[test]
        fn a_thinned_profile_keeps_its_ends_and_its_counts(falls in prop::collection::vec(1usize..500, 1..1500)) {
            let mut at_least: usize = falls.iter().sum();
            let all: Vec<_> = falls.iter().zip(0i64..).map(|(fall, latency)| {
                let point = ProfilePoint { latency: LatencyNs(latency), at_least };
                at_least -= fall;
                point
            }).collect();
            let kept = thinned(&all);
            prop_assert!(kept.len() <= MOST_POINTS);
            prop_assert_eq!((kept.first(), kept.last()), (all.first(), all.last()));
            let tail = all.len().saturating_sub(TAIL);
            prop_assert!(kept.ends_with(&all[tail..]));
            prop_assert!(kept.iter().all(|point| all.contains(point)));
            prop_assert!(kept.windows(2).all(|pair| pair[0].latency < pair[1].latency));
        }
    }

    #[test]
    fn a_long_profile_keeps_enough_of_its_body() {
        let all = points(10_000);
        let kept = thinned(&all);
        assert!(kept.len() > 170, "{}", kept.len());
        // None of the gaps can be seen: a fall of 6 % is 2 pixels of 138 that are four decades.
        let gaps = kept.windows(2).take(kept.len() - TAIL - 1);
        assert!(gaps.clone().all(|pair| count(pair[0].at_least) / count(pair[1].at_least) < 1.06));
        assert_eq!(thinned(&all[..MOST_POINTS]), &all[..MOST_POINTS]);
    }

    #[test]
    fn the_picture_has_its_worst_frame_and_its_losses() {
        let profile = Profile { points: points(3), plateau: 2 };
        let svg = picture(0, &profile, 5).into_string();
        assert!(svg.contains("2 never arrived") && svg.contains("class=\"mark"), "{svg}");
        let nothing = picture(0, &Profile { points: vec![], plateau: 0 }, 0).into_string();
        assert!(!nothing.contains("NaN") && !nothing.contains("mark"), "{nothing}");
    }
}
