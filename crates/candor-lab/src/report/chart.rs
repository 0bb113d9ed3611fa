//! Latency profiles, inside a page and as a file, and curves.
//!
//! # Source
//! [Timing Analysis of a Linux-Based CAN-to-CAN Gateway](https://lwn.net/images/conf/rtlws-2011/proc/Sojka.pdf) (2011), section 2.3:
//! backward cumulative histogram, logarithmic vertical axis. Lost frames are later than any time, so a series with
//! losses ends in a plateau of their number.

use maud::{Markup, html};

use super::Summary;
use crate::plot::{Axis, Corner, Document, Entry, Mark, Panel, Sample, Scale, class, legend, legend_height, px};
use crate::stats::{LatencyNs, Profile, ProfilePoint};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 430.0;
const ACROSS: [f64; 2] = [74.0, WIDTH - 24.0];
const UPWARDS: [f64; 2] = [HEIGHT - 58.0, 14.0];

/// Lower end of the logarithmic axis: below one frame, so that a single frame is visible.
const LEAST: f64 = 0.7;

#[derive(Debug)]
pub struct Picture<'a> {
    pub title: &'a str,
    /// Title of the horizontal axis, without the unit.
    pub of: &'a str,
    pub unit: TimeUnit,
    /// One line each, in the order of colours.
    pub summaries: &'a [Summary],
    pub rules: &'a [Rule],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Microseconds,
    Milliseconds,
}

/// A limit, drawn as a vertical line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Index of the limited line.
    pub of: usize,
    pub at: LatencyNs,
    pub name: String,
}

/// For a page. Its script reads the geometry from the data attributes.
pub(super) fn latency_profile(summaries: &[Summary], unit: &str) -> Markup {
    let axis = format!("latency of the gateway in {unit}");
    let panel = panel(summaries, None, TimeUnit::Microseconds, &axis, UPWARDS);
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
    /// A file without external references.
    pub fn to_svg(&self) -> String {
        let axis = format!("{} in {}", self.of, self.unit.name());
        // Curves can be anywhere in the panel, so the legend is above it.
        let room = legend_height(self.summaries.len() + self.rules.len());
        let beyond = self.rules.iter().map(|rule| rule.at).max();
        let panel = panel(self.summaries, beyond, self.unit, &axis, UPWARDS.map(|end| end + room));
        let names: Vec<String> = self.summaries.iter().map(|summary| self.name(summary)).collect();
        let lines = names.iter().enumerate().map(|(index, name)| Entry::new(index, name, Sample::Line));
        let rules = self.rules.iter().map(|rule| Entry::new(rule.of, &rule.name, Sample::Rule));
        let drawing = html! {
            (drawing(&panel, self.summaries, self.unit))
            @for rule in self.rules { (panel.upright(self.unit.of(rule.at), &format!("rule {}", class(rule.of)))) }
            (legend(&lines.chain(rules).collect::<Vec<_>>(), &panel, Corner::Above))
        };
        let description = format!("Number of frames with at least each {axis}, logarithmic: {}.", names.join("; "));
        Document { title: self.title, description: &description, size: [WIDTH, HEIGHT + room] }.with(&drawing)
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

/// Axes that fit all profiles and one more latency.
fn panel<'a>(
    summaries: &[Summary],
    beyond: Option<LatencyNs>,
    unit: TimeUnit,
    axis: &'a str,
    upwards: [f64; 2],
) -> Panel<'a> {
    let longest = summaries.iter().filter_map(|summary| Some(summary.figures?.max)).chain(beyond).max();
    let longest = longest.map_or(0.0, |longest| unit.of(longest)).max(f64::MIN_POSITIVE);
    let frames = summaries.iter().map(|summary| summary.frames as f64).fold(1.0, f64::max);
    Panel {
        x: Axis::new(Scale::linear(0.0, longest * 1.04, ACROSS), axis),
        y: Axis::new(count_scale(frames, upwards), "frames with at least this latency"),
    }
}

/// Logarithmic, for numbers of frames: a single one is above the edge.
pub(super) fn count_scale(most: f64, pixels: [f64; 2]) -> Scale {
    Scale::logarithmic(LEAST, most * 1.2, pixels)
}

fn drawing(panel: &Panel<'_>, summaries: &[Summary], unit: TimeUnit) -> Markup {
    let right = ACROSS[1];
    html! {
        (panel.axes())
        @for (index, summary) in summaries.iter().enumerate() {
            @let profile = Profile { points: thinned(&summary.profile.points), plateau: summary.profile.plateau };
            path.line.(class(index)) d=(path(panel, &profile, summary.frames, unit)) { title { (summary.device) } }
            @if let Some(worst) = profile.points.last() {
                (panel.mark((unit.of(worst.latency), worst.at_least as f64), Mark::Ring, &class(index),
                    Some(&format!("{}: longest of these frames", summary.device))))
            }
            @if profile.plateau > 0 {
                text.tick x=(right - 6.0) y=(px(panel.y.scale.at(profile.plateau as f64) - 7.0)) text-anchor="end" {
                    (profile.plateau) " lost"
                }
            }
        }
    }
}

/// Steps of a reduced profile: each is less than two pixels from those that it replaces.
const MOST_POINTS: usize = 200;

/// The slowest steps, which are all kept.
const TAIL: usize = MOST_POINTS / 2;

/// The profile with at most [`MOST_POINTS`] steps: the first, the tail, and before it steps whose counts have a
/// constant ratio. Kept steps keep their counts.
pub(super) fn thinned(points: &[ProfilePoint]) -> Vec<ProfilePoint> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let (body, tail) = points.split_at(points.len() - TAIL);
    let (first, last) = (body[0].at_least as f64, tail[0].at_least as f64);
    // One fewer than there is space for, because of rounding.
    let ratio = (first / last).powf(1.0 / (MOST_POINTS - TAIL - 1) as f64);
    let mut kept = vec![body[0]];
    for point in &body[1..] {
        if kept[kept.len() - 1].at_least as f64 >= ratio * point.at_least as f64 {
            kept.push(*point);
        }
    }
    kept.extend_from_slice(tail);
    kept
}

/// The count is constant until a latency occurs and falls right after it.
fn path(panel: &Panel<'_>, profile: &Profile, frames: usize, unit: TimeUnit) -> String {
    let falls = profile.points.iter().enumerate();
    let falls = falls.map(|(step, point)| (unit.of(point.latency), profile.after(step) as f64));
    let plateau = if profile.plateau > 0 { format!("H{}", px(ACROSS[1])) } else { String::new() };
    panel.steps(frames as f64, falls) + &plateau
}

/// Values over a number, one line per series.
#[derive(Debug)]
pub struct Curves<'a> {
    pub title: &'a str,
    /// Title of the horizontal axis, with unit.
    pub along: &'a str,
    /// Title of the vertical axis, with unit.
    pub of: &'a str,
    /// Of the horizontal values 0, 1, …; empty if these are numbers. With names, the vertical axis need not begin at zero, and
    /// the legend is above the panel.
    pub names: &'a [String],
    /// In the order of colours.
    pub curves: &'a [Curve],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    /// Ascending; `None` leaves a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Curves<'_> {
    /// A file without external references.
    pub fn to_svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|curve| &curve.points).copied();
        let known = || points().filter_map(|(number, value)| Some((number, value?)));
        let x = Scale::around(points().map(|(number, _)| number), ACROSS);
        let values = known().map(|(_, value)| value);
        let (x, y, corner, room) = if self.names.is_empty() {
            let highest = known().max_by(|one, other| one.1.total_cmp(&other.1));
            let (least, most) =
                points().fold((f64::MAX, f64::MIN), |(least, most), (at, _)| (least.min(at), most.max(at)));
            // The legend is on the side without the highest value.
            let is_right = highest.is_some_and(|(number, _)| number > f64::midpoint(least, most));
            let corner = if is_right { Corner::TopLeft } else { Corner::TopRight };
            (Axis::new(x, self.along), Scale::fitted(values, UPWARDS), corner, 0.0)
        } else {
            let ticks = (0_u32..).map(f64::from).zip(self.names.iter().cloned()).collect();
            let room = legend_height(self.curves.len());
            let y = Scale::around(values, UPWARDS.map(|end| end + room));
            (Axis { scale: x, title: self.along, ticks }, y, Corner::Above, room)
        };
        let panel = Panel { x, y: Axis::new(y, self.of) };
        let names: Vec<&str> = self.curves.iter().map(|curve| curve.name.as_str()).collect();
        let entries = Entry::all(&names, Sample::Marked(Mark::Ring));
        let drawing = html! {
            (panel.axes())
            @for (curve, entry) in self.curves.iter().zip(&entries) {
                path.line.(entry.class) d=(panel.line(curve.points.iter().copied())) { title { (curve.name) } }
                (panel.marks(curve.points.iter().copied(), Mark::Ring, &entry.class))
            }
            (legend(&entries, &panel, corner))
        };
        let description = format!("{} over {}: {}.", self.of, self.along, names.join(", "));
        Document { title: self.title, description: &description, size: [WIDTH, HEIGHT + room] }.with(&drawing)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::summary::tests::record;
    use super::*;
    use crate::stats::Series;

    fn points(counts: usize) -> Vec<ProfilePoint> {
        let latency = |at: usize| LatencyNs(i64::try_from(at * at).unwrap());
        (0..counts).map(|at| ProfilePoint { latency: latency(at), at_least: counts - at }).collect()
    }

    proptest! {
        /// For any counts: first, last and tail are kept, and nothing is added.
        #[test]
        fn thinned_profile_keeps_its_ends_and_its_counts(falls in prop::collection::vec(1usize..500, 1..1500)) {
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
    fn long_profile_keeps_enough_of_its_body() {
        let all = points(10_000);
        let kept = thinned(&all);
        assert!(kept.len() > 170, "{}", kept.len());
        // No gap is visible: a fall of 6 % is 2 pixels of 138 for four decades.
        let gaps = kept.windows(2).take(kept.len() - TAIL - 1);
        assert!(gaps.clone().all(|pair| (pair[0].at_least as f64) < 1.06 * pair[1].at_least as f64));
        assert_eq!(thinned(&all[..MOST_POINTS]), &all[..MOST_POINTS]);
    }

    #[test]
    fn path_steps_down_to_the_plateau_of_losses() {
        let lossless = Summary::of(&record("a", "kernel", &[Some(1000), Some(2000)]));
        let lossy = Summary::of(&record("a", "kernel", &[Some(1000), Some(2000), None]));
        let panel = panel(&[lossless.clone(), lossy.clone()], None, TimeUnit::Microseconds, "", UPWARDS);
        let path = |summary: &Summary| path(&panel, &summary.profile, summary.frames, TimeUnit::Microseconds);
        let [edge, one] = [0.0, 1.0].map(|frames| px(panel.y.scale.at(frames)));
        assert_eq!(edge, px(UPWARDS[0]));
        assert!(path(&lossless).ends_with(&format!("V{edge}")), "{}", path(&lossless));
        assert!(path(&lossy).ends_with(&format!("V{one}H{}", px(ACROSS[1]))), "{}", path(&lossy));
    }

    #[test]
    fn lost_series_is_a_plateau() {
        let summary = Summary::of(&record("a", "kernel", &[None; 10]));
        let summaries = [summary];
        let panel = panel(&summaries, None, TimeUnit::Microseconds, "", UPWARDS);
        let y = px(panel.y.scale.at(10.0));
        let path = path(&panel, &summaries[0].profile, 10, TimeUnit::Microseconds);
        assert_eq!(path, format!("M{} {y}H{}", px(ACROSS[0]), px(ACROSS[1])));
        assert!(latency_profile(&summaries, "µs").into_string().contains("10 lost"));
    }

    #[test]
    fn profile_of_no_records_is_empty() {
        assert!(!latency_profile(&[], "µs").into_string().contains("<path"));
    }

    #[test]
    fn picture_has_lines_and_limits_and_no_references() {
        let series = |all: &[i64]| Series::new(all.iter().map(|&ns| LatencyNs(ns)).collect());
        let summaries = [
            Summary::of_series("slow <", 2, 0, series(&[1_000_000, 30_000_000]).as_ref()),
            Summary::of_series("quick", 3, 1, series(&[500_000, 900_000]).as_ref()),
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
        let at = panel(&summaries, Some(LatencyNs(40_000_000)), TimeUnit::Milliseconds, "", UPWARDS).x.scale.at(40.0);
        assert!(at < ACROSS[1] && svg.contains(&format!("x1=\"{}\"", px(at))), "{svg}");
    }

    #[test]
    fn curves_without_values_are_empty() {
        for points in [Vec::new(), vec![(1.0, None)], vec![(5.0, Some(0.0))]] {
            let curves = [Curve { name: "one".to_owned(), points }];
            let svg = Curves { title: "t", along: "n", of: "us", names: &[], curves: &curves }.to_svg();
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }
}
