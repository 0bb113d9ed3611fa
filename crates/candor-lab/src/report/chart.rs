//! The latency profile as SVG: of the page, in its colours, and as a file of its own.

use std::fmt::Write as _;

use crate::stats::{LatencyNs, Profile};
use maud::{Markup, html};

use super::Summary;
use super::matrix::thinned;

pub(super) const WIDTH: f64 = 960.0;
pub(super) const HEIGHT: f64 = 430.0;
pub(super) const LEFT: f64 = 70.0;
pub(super) const RIGHT: f64 = 24.0;
pub(super) const TOP: f64 = 14.0;
pub(super) const BOTTOM: f64 = 58.0;

const COLOURS: usize = 6;

/// The lowest value on the logarithmic axis: just under one frame, so that a single worst frame can be seen.
const FLOOR: f64 = 0.7;

/// In what the page tells latencies.
const MICROSECOND_NS: f64 = 1000.0;

/// Where things lie in the picture. The page's script reads the same numbers from the SVG's data attributes.
pub(super) struct Frame {
    /// The right end of the horizontal axis, in its unit.
    max: f64,
    unit_ns: f64,
    max_count: f64,
}

/// The latency profiles of all summaries in one picture.
///
/// # Source
/// 2011 gateway timing paper, section 2.3: backward cumulative histogram, logarithmic vertical axis. Lost frames are
/// later than any time, so a series with losses ends in a plateau of their number.
pub(super) fn latency_profile(summaries: &[Summary], unit: &str) -> Markup {
    let frame = Frame::around(summaries, None, MICROSECOND_NS);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    html! {
        svg #profile viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Latency profile: number of frames at or above each latency, logarithmic"
            data-left=(LEFT) data-right=(right) data-top=(TOP) data-bottom=(bottom) data-max-us=(frame.max) {
            (plot(&frame, summaries, &format!("latency of the gateway in {unit}")))
            line #cursor x1="0" x2="0" y1=(TOP) y2=(bottom) visibility="hidden" {}
        }
    }
}

/// Axes and lines.
pub(super) fn plot(frame: &Frame, summaries: &[Summary], axis: &str) -> Markup {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    html! {
        @for decade in decades(frame.max_count) {
            @let y = frame.y(decade);
            line.grid x1=(LEFT) x2=(right) y1=(px(y)) y2=(px(y)) {}
            text.tick x=(LEFT - 8.0) y=(px(y + 4.0)) text-anchor="end" { (grouped(decade)) }
        }
        @for tick in nice_ticks(frame.max) {
            @let x = px(frame.at(tick));
            line.grid x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
            text.tick x=(x) y=(bottom + 18.0) text-anchor="middle" { (tick) }
        }
        rect.frame x=(LEFT) y=(TOP) width=(right - LEFT) height=(bottom - TOP) {}
        @for (index, summary) in summaries.iter().enumerate() {
            @let profile = seen(&summary.sent.profile());
            path.line.(class(index)) d=(frame.path(&profile, summary.frames)) {
                title { (summary.device) }
            }
            @if let Some(worst) = profile.points.last() {
                circle.worst.(class(index)) r="3.5" cx=(px(frame.x(worst.latency))) cy=(px(frame.y(count(worst.at_least)))) {
                    title { (summary.device) ": longest of these frames" }
                }
            }
            @if profile.plateau > 0 {
                text.tick x=(right - 6.0) y=(px(frame.y(count(profile.plateau)) - 7.0)) text-anchor="end" {
                    (profile.plateau) " lost"
                }
            }
        }
        text.axis x=(f64::midpoint(LEFT, right)) y=(HEIGHT - 14.0) text-anchor="middle" { (axis) }
        text.axis transform=(format!("translate(16 {}) rotate(-90)", f64::midpoint(TOP, bottom))) text-anchor="middle" {
            "frames with at least this latency"
        }
    }
}

/// With as many steps as can be told apart.
fn seen(profile: &Profile) -> Profile {
    Profile { points: thinned(&profile.points), plateau: profile.plateau }
}

/// The names beside their lines, above the picture, where they can wrap.
pub(super) fn legend(summaries: &[Summary]) -> Markup {
    html! {
        ul.legend { @for (index, summary) in summaries.iter().enumerate() {
            li {
                svg.(class(index)) viewBox="0 0 26 6" aria-hidden="true" {
                    line.line.(class(index)) x1="0" x2="26" y1="3" y2="3" {}
                }
                (summary.device)
            }
        } }
    }
}

/// The look of a series. There are six colours; later series have them again, dashed.
pub(super) fn class(index: usize) -> String {
    let dashed = if index < COLOURS { "" } else { " dashed" };
    format!("s{}{dashed}", index % COLOURS)
}

impl Frame {
    /// With room for all of these, and for a latency that none of them need have.
    pub(super) fn around(summaries: &[Summary], beyond: Option<LatencyNs>, unit_ns: f64) -> Self {
        let longest = summaries.iter().filter_map(|summary| Some(summary.figures?.max)).chain(beyond).max();
        let max = longest.map_or(0.0, |longest| longest.microseconds() * MICROSECOND_NS / unit_ns);
        let max_count = summaries.iter().map(|summary| count(summary.frames)).fold(1.0, f64::max);
        Self { max: (max * 1.04).max(f64::MIN_POSITIVE), unit_ns, max_count }
    }

    pub(super) fn x(&self, latency: LatencyNs) -> f64 {
        self.at(latency.microseconds() * MICROSECOND_NS / self.unit_ns)
    }

    fn at(&self, value: f64) -> f64 {
        LEFT + value.max(0.0) / self.max * (WIDTH - RIGHT - LEFT)
    }

    fn y(&self, count: f64) -> f64 {
        let top = self.max_count.log10() + 0.08;
        let share = (count.max(FLOOR).log10() - FLOOR.log10()) / (top - FLOOR.log10());
        (HEIGHT - BOTTOM) - share * (HEIGHT - BOTTOM - TOP)
    }

    /// Steps: the count stays until a latency occurs and falls right after it.
    fn path(&self, profile: &Profile, frames: usize) -> String {
        let mut path = format!("M{} {}", px(LEFT), px(self.y(count(frames))));
        for (step, point) in profile.points.iter().enumerate() {
            let (x, y) = (self.x(point.latency), self.y(count(profile.after(step))));
            write!(path, "H{}V{}", px(x), px(y)).expect("writing to a String cannot fail");
        }
        if profile.plateau > 0 {
            write!(path, "H{}", px(WIDTH - RIGHT)).expect("writing to a String cannot fail");
        }
        path
    }
}

/// Powers of ten up to a count.
fn decades(max_count: f64) -> impl Iterator<Item = f64> {
    (0..=9).map(|exponent| 10f64.powi(exponent)).take_while(move |&decade| decade <= max_count * 1.2)
}

/// Powers of ten, their doubles and their fives between two numbers above zero.
pub(super) fn decades_between(least: f64, most: f64) -> impl Iterator<Item = f64> {
    let all = (-9..=12).flat_map(|exponent| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(exponent)));
    all.filter(move |tick| (least..=most).contains(tick))
}

/// Between 5 and 10 round numbers from 0 up to a limit.
pub(super) fn nice_ticks(limit: f64) -> Vec<f64> {
    if limit <= f64::MIN_POSITIVE || !limit.is_finite() {
        return vec![0.0];
    }
    let rough = limit / 8.0;
    let magnitude = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|&step| step >= rough).unwrap_or(magnitude * 10.0);
    (0..=10).map(|index| round_to(count(index) * step, magnitude / 100.0)).take_while(|&tick| tick <= limit).collect()
}

/// Takes the binary noise off a decimal step.
fn round_to(value: f64, unit: f64) -> f64 {
    let digits = (-unit.log10()).ceil().clamp(0.0, 9.0);
    let factor = 10f64.powf(digits);
    (value * factor).round() / factor
}

fn count(frames: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of frames stay far below 2^53")]
    let count = frames as f64;
    count
}

/// A coordinate with a tenth of a pixel, which keeps the page small and its bytes stable.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}

fn grouped(count: f64) -> String {
    super::digits::grouped(&format!("{count:.0}"))
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::record;
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_limit() {
        assert_eq!(nice_ticks(33.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
        assert_eq!(nice_ticks(0.8), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]);
        assert_eq!(nice_ticks(0.0), [0.0]);
    }

    #[test]
    fn a_path_steps_down_and_ends_in_the_plateau_of_the_lost() {
        let lossless = Summary::of(&record("a", "kernel", &[Some(1000), Some(2000)]));
        let lossy = Summary::of(&record("a", "kernel", &[Some(1000), Some(2000), None]));
        let frame = Frame { max: 2.0, unit_ns: MICROSECOND_NS, max_count: 3.0 };
        let path = |summary: &Summary| frame.path(&summary.sent.profile(), summary.frames);
        let floor = px(frame.y(0.0));
        assert!(path(&lossless).ends_with(&format!("V{floor}")), "{}", path(&lossless));
        assert!(path(&lossy).ends_with(&format!("V{}H{}", px(frame.y(1.0)), px(WIDTH - RIGHT))), "{}", path(&lossy));
    }

    #[test]
    fn a_series_that_is_all_lost_is_a_plateau() {
        let summary = Summary::of(&record("a", "kernel", &[None; 10]));
        let frame = Frame { max: 1.0, unit_ns: MICROSECOND_NS, max_count: 10.0 };
        let y = px(frame.y(10.0));
        assert_eq!(frame.path(&summary.sent.profile(), 10), format!("M{} {y}H{}", px(LEFT), px(WIDTH - RIGHT)));
        assert!(latency_profile(&[summary], "µs").into_string().contains("10 lost"));
    }

    #[test]
    fn no_records_make_an_empty_picture_and_no_panic() {
        assert!(!latency_profile(&[], "µs").into_string().contains("<path"));
    }

    #[test]
    fn more_series_than_colours_can_be_told_apart() {
        assert_eq!((class(1), class(7)), ("s1".to_owned(), "s1 dashed".to_owned()));
    }
}
