//! Latency profiles: inside a page and as a file.
//!
//! # Source
//! 2011 gateway timing paper, section 2.3: backward cumulative histogram, logarithmic vertical axis. Lost frames are
//! later than any time, so a series with losses ends in a plateau of their number.

use maud::{Markup, html};

use super::Summary;
use super::matrix::thinned;
use crate::plot::{Axis, Corner, Document, Entry, Mark, Panel, Sample, Scale, class, legend, px};
use crate::stats::{LatencyNs, Profile};

pub(super) const WIDTH: f64 = 960.0;
pub(super) const HEIGHT: f64 = 430.0;
pub(super) const ACROSS: [f64; 2] = [74.0, WIDTH - 24.0];
pub(super) const UPWARDS: [f64; 2] = [HEIGHT - 58.0, 14.0];

/// The lowest value on the logarithmic axis: just under one frame, so that a single worst frame can be seen.
const LEAST: f64 = 0.7;

/// Latency profiles in a file.
#[derive(Debug)]
pub struct Picture<'a> {
    /// Drawn above the profiles.
    pub title: &'a str,
    /// Of the horizontal axis, without the unit.
    pub of: &'a str,
    /// Of the horizontal axis.
    pub unit: TimeUnit,
    /// One line each, in the order of colours.
    pub summaries: &'a [Summary],
    /// Limits that lines are compared with.
    pub rules: &'a [Rule],
}

/// Unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// µs.
    Microseconds,
    /// ms.
    Milliseconds,
}

/// A limit: a vertical line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Index of the line that it limits.
    pub of: usize,
    /// Position.
    pub at: LatencyNs,
    /// For the legend.
    pub name: String,
}

/// The profiles for a page. Its script reads the geometry from the data attributes.
pub(super) fn latency_profile(summaries: &[Summary], unit: &str) -> Markup {
    let axis = format!("latency of the gateway in {unit}");
    let panel = panel(summaries, None, TimeUnit::Microseconds, &axis);
    let ([left, right], [bottom, top]) = (ACROSS, UPWARDS);
    html! {
        svg #profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Latency profile: number of frames at or above each latency, logarithmic"
            data-left=(left) data-right=(right) data-top=(top) data-bottom=(bottom) data-max-us=(panel.x.scale.most()) {
            (drawing(&panel, summaries, TimeUnit::Microseconds))
            line #cursor x1="0" x2="0" y1=(top) y2=(bottom) visibility="hidden" {}
        }
    }
}

impl Picture<'_> {
    /// The text of an SVG file that loads nothing.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let axis = format!("{} in {}", self.of, self.unit.name());
        let panel = panel(self.summaries, self.rules.iter().map(|rule| rule.at).max(), self.unit, &axis);
        let names: Vec<String> = self.summaries.iter().map(|summary| self.name(summary)).collect();
        let lines = names.iter().enumerate().map(|(index, name)| (index, name, Sample::Line));
        let rules = self.rules.iter().map(|rule| (rule.of, &rule.name, Sample::Rule));
        let entries = lines.chain(rules).map(|(index, name, sample)| Entry { name, class: class(index), sample });
        let drawing = html! {
            (drawing(&panel, self.summaries, self.unit))
            @for rule in self.rules { (panel.upright(self.unit.of(rule.at), &format!("rule {}", class(rule.of)))) }
            (legend(&entries.collect::<Vec<_>>(), &panel, Corner::TopRight))
        };
        let description = format!("Number of frames with at least each {axis}, logarithmic: {}.", names.join("; "));
        Document { title: self.title, description: &description, size: [WIDTH, HEIGHT] }.with(&drawing)
    }

    fn name(&self, summary: &Summary) -> String {
        let longest = |longest| format!("at most {:.1} {}", self.unit.of(longest), self.unit.name());
        let longest = summary.figures.map(|figures| figures.max).map_or_else(|| "none arrived".to_owned(), longest);
        format!("{}: {longest}", summary.device)
    }
}

impl TimeUnit {
    fn of(self, latency: LatencyNs) -> f64 {
        match self {
            Self::Microseconds => latency.microseconds(),
            Self::Milliseconds => latency.microseconds() / 1000.0,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
        }
    }
}

/// Axes with room for all profiles, and for one more latency.
fn panel<'a>(summaries: &[Summary], beyond: Option<LatencyNs>, unit: TimeUnit, axis: &'a str) -> Panel<'a> {
    let longest = summaries.iter().filter_map(|summary| Some(summary.figures?.max)).chain(beyond).max();
    let longest = longest.map_or(0.0, |longest| unit.of(longest)).max(f64::MIN_POSITIVE);
    let frames = summaries.iter().map(|summary| count(summary.frames)).fold(1.0, f64::max);
    Panel {
        x: Axis::new(Scale::linear(0.0, longest * 1.04, ACROSS), axis),
        y: Axis::new(count_scale(frames, UPWARDS), "frames with at least this latency"),
    }
}

/// A logarithmic scale for numbers of frames, on which a single one is above the edge.
pub(super) fn count_scale(most: f64, pixels: [f64; 2]) -> Scale {
    Scale::logarithmic(LEAST, most * 1.2, pixels)
}

fn drawing(panel: &Panel<'_>, summaries: &[Summary], unit: TimeUnit) -> Markup {
    let right = ACROSS[1];
    html! {
        (panel.axes())
        @for (index, summary) in summaries.iter().enumerate() {
            @let profile = seen(&summary.sent.profile());
            path.line.(class(index)) d=(path(panel, &profile, summary.frames, unit)) { title { (summary.device) } }
            @if let Some(worst) = profile.points.last() {
                (panel.mark((unit.of(worst.latency), count(worst.at_least)), Mark::Ring, &class(index),
                    Some(&format!("{}: longest of these frames", summary.device))))
            }
            @if profile.plateau > 0 {
                text.tick x=(right - 6.0) y=(px(panel.y.scale.at(count(profile.plateau)) - 7.0)) text-anchor="end" {
                    (profile.plateau) " lost"
                }
            }
        }
    }
}

/// With the steps that are visible.
fn seen(profile: &Profile) -> Profile {
    Profile { points: thinned(&profile.points), plateau: profile.plateau }
}

/// Steps: the count stays until a latency occurs and falls right after it.
fn path(panel: &Panel<'_>, profile: &Profile, frames: usize, unit: TimeUnit) -> String {
    let falls = profile.points.iter().enumerate();
    let falls = falls.map(|(step, point)| (unit.of(point.latency), count(profile.after(step))));
    let plateau = if profile.plateau > 0 { format!("H{}", px(ACROSS[1])) } else { String::new() };
    panel.steps(count(frames), falls) + &plateau
}

pub(super) fn count(frames: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of frames stay far below 2^53")]
    let count = frames as f64;
    count
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::record;
    use super::*;
    use crate::stats::Series;

    #[test]
    fn a_path_steps_down_and_ends_in_the_plateau_of_the_lost() {
        let lossless = Summary::of(&record("a", "kernel", &[Some(1000), Some(2000)]));
        let lossy = Summary::of(&record("a", "kernel", &[Some(1000), Some(2000), None]));
        let panel = panel(&[lossless.clone(), lossy.clone()], None, TimeUnit::Microseconds, "");
        let path = |summary: &Summary| path(&panel, &summary.sent.profile(), summary.frames, TimeUnit::Microseconds);
        let [edge, one] = [0.0, 1.0].map(|frames| px(panel.y.scale.at(frames)));
        assert_eq!(edge, px(UPWARDS[0]));
        assert!(path(&lossless).ends_with(&format!("V{edge}")), "{}", path(&lossless));
        assert!(path(&lossy).ends_with(&format!("V{one}H{}", px(ACROSS[1]))), "{}", path(&lossy));
    }

    #[test]
    fn a_series_that_is_all_lost_is_a_plateau() {
        let summary = Summary::of(&record("a", "kernel", &[None; 10]));
        let summaries = [summary];
        let panel = panel(&summaries, None, TimeUnit::Microseconds, "");
        let y = px(panel.y.scale.at(10.0));
        let path = path(&panel, &summaries[0].sent.profile(), 10, TimeUnit::Microseconds);
        assert_eq!(path, format!("M{} {y}H{}", px(ACROSS[0]), px(ACROSS[1])));
        assert!(latency_profile(&summaries, "µs").into_string().contains("10 lost"));
    }

    #[test]
    fn no_records_make_an_empty_picture_and_no_panic() {
        assert!(!latency_profile(&[], "µs").into_string().contains("<path"));
    }

    #[test]
    fn a_picture_stands_alone_and_has_its_lines_and_limits() {
        let series = |all: &[i64]| Series::new(all.iter().map(|&ns| LatencyNs(ns)).collect());
        let summaries = [
            Summary::of_series("slow <", 2, 0, series(&[1_000_000, 30_000_000])),
            Summary::of_series("quick", 3, 1, series(&[500_000, 900_000])),
            Summary::of_series("nothing", 3, 3, None),
        ];
        let rules = [Rule { of: 1, at: LatencyNs(40_000_000), name: "bound".to_owned() }];
        let picture = Picture {
            title: "t & t",
            of: "latency",
            unit: TimeUnit::Milliseconds,
            summaries: &summaries,
            rules: &rules,
        };
        let svg = picture.to_svg();
        for wanted in ["t &amp; t", "slow &lt;: at most 30.0 ms", "nothing: none arrived", "latency in ms"] {
            assert!(svg.contains(wanted), "{wanted}: {svg}");
        }
        assert_eq!(svg.matches("http").count(), 1, "only the name of the language");
        assert_eq!(svg.matches("<path").count(), 3);
        // The longest of all is the limit, and it lies within the picture.
        let at = panel(&summaries, Some(LatencyNs(40_000_000)), TimeUnit::Milliseconds, "").x.scale.at(40.0);
        assert!(at < ACROSS[1] && svg.contains(&format!("x1=\"{}\"", px(at))), "{svg}");
    }
}
