//! The latency profile of one cell as a small picture with few steps.

use std::fmt::Write as _;

use crate::stats::{LatencyNs, Profile};
use maud::{Markup, html};

use super::Measured;
use super::shade::short;
use crate::plot::{Axis, Mark, Panel, Scale, class, grouped, px};
use crate::report::chart::count_scale;

pub(super) const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 170.0;
pub(super) const ACROSS: [f64; 2] = [58.0, 446.0];
const UPWARDS: [f64; 2] = [146.0, 8.0];

/// Share of the width for the longest latency.
const ROOM: f64 = 0.96;

/// Steps on a logarithmic vertical axis, the longest latency as a ring, losses as a line to the right edge.
///
/// The path is in nanoseconds and has the cell's number as its id, so that other pictures can reuse it on their own
/// scale.
pub(super) fn picture(index: usize, profile: &Profile, frames: usize) -> Markup {
    let max = longest(profile);
    let panel = panel(max, frames);
    html! {
        svg.profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Latency profile: frames with at least each latency, logarithmic" {
            (panel.axes())
            g.s0 transform=(transform(max)) { path.line id=(format!("p{index}")) vector-effect="non-scaling-stroke" fill="none" d=(path(&panel, profile, frames)) {} }
            @if let Some(worst) = profile.points.last() {
                (panel.mark((worst.latency.microseconds(), worst.at_least as f64), Mark::Ring, "s0", None))
            }
            @if profile.plateau > 0 {
                text.tick x=(ACROSS[1] - 4.0) y=(px(panel.y.scale.at(profile.plateau as f64) - 4.0)) text-anchor="end" {
                    (grouped(&profile.plateau.to_string())) " never arrived"
                }
            }
        }
    }
}

/// Profiles of several cells on one scale, drawn with the paths of their own pictures.
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

/// In µs, with the ends of the range as ticks.
fn panel(max: i64, frames: usize) -> Panel<'static> {
    let max = LatencyNs(max).microseconds();
    let scale = Scale::linear(0.0, max / ROOM, ACROSS);
    let ticks = vec![(0.0, "0".to_owned()), (max, format!("{} µs", short(max)))];
    Panel { x: Axis { scale, title: "", ticks }, y: Axis::new(count_scale(frames.max(1) as f64, UPWARDS), "") }
}

/// Right end of a profile, never zero.
fn longest(profile: &Profile) -> i64 {
    profile.points.last().map_or(0, |worst| worst.latency.0).max(1)
}

/// From nanoseconds to pixels.
fn transform(max: i64) -> String {
    let [left, right] = ACROSS;
    format!("translate({left} 0) scale({:.6e} 1)", ROOM * (right - left) / (LatencyNs(max).microseconds() * 1000.0))
}

/// In nanoseconds to the right and pixels downwards.
fn path(panel: &Panel<'_>, profile: &Profile, frames: usize) -> String {
    let height = |frames| px(panel.y.scale.at(frames as f64));
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
    use super::*;
    use crate::stats::ProfilePoint;

    #[test]
    fn picture_has_worst_frame_and_losses() {
        let points =
            [(1, 5), (2, 4), (3, 3)].map(|(ns, at_least)| ProfilePoint { latency: LatencyNs(ns), at_least }).into();
        let svg = picture(0, &Profile { points, plateau: 2 }, 5).into_string();
        assert!(svg.contains("2 never arrived") && svg.contains("class=\"mark"), "{svg}");
        let nothing = picture(0, &Profile { points: vec![], plateau: 0 }, 0).into_string();
        assert!(!nothing.contains("NaN") && !nothing.contains("mark"), "{nothing}");
    }
}
