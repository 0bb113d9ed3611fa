//! The latency profile as a picture of its own, for files that stand without a page.

use crate::stats::LatencyNs;
use maud::{Markup, PreEscaped, html};

use super::Summary;
use super::chart::{self, BOTTOM, Frame, HEIGHT, RIGHT, TOP, WIDTH, class, px};

const STYLE: &str = include_str!("picture.css");

/// Above the profile.
const TITLE_HEIGHT: f64 = 40.0;

/// Where the names of the lines stand: few frames take long, so that the right upper corner is free.
const LEGEND_WIDTH: f64 = 300.0;
const LEGEND_LINE: f64 = 21.0;

/// Latency profiles in one picture.
#[derive(Debug)]
pub struct Picture<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What the latencies are those of, for the horizontal axis; the unit is added.
    pub of: &'a str,
    /// Of the horizontal axis.
    pub unit: TimeUnit,
    /// A line each, in the order of colours.
    pub summaries: &'a [Summary],
    /// Limits to hold lines against.
    pub rules: &'a [Rule],
}

/// In what times are told.
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
    /// Which line it is for, by its place.
    pub of: usize,
    /// Where.
    pub at: LatencyNs,
    /// What it is.
    pub name: String,
}

/// A picture with its title above it, as the text of a file.
pub(super) fn file(title: &str, picture: &Markup) -> String {
    let height = HEIGHT + TITLE_HEIGHT;
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height)
            role="img" aria-label=(title) {
            style { (PreEscaped(STYLE)) }
            rect.paper width=(WIDTH) height=(height) {}
            text.title x=(f64::midpoint(0.0, WIDTH)) y="27" text-anchor="middle" { (title) }
            g transform=(format!("translate(0 {TITLE_HEIGHT})")) { (picture) }
        }
    };
    format!("{}\n", svg.into_string())
}

impl TimeUnit {
    const fn nanoseconds(self) -> f64 {
        match self {
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1e6,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
        }
    }
}

impl Picture<'_> {
    /// The file's text. It loads nothing from anywhere.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let frame = Frame::around(self.summaries, self.rules.iter().map(|rule| rule.at).max(), self.unit.nanoseconds());
        file(
            self.title,
            &html! {
                (chart::plot(&frame, self.summaries, &format!("{} in {}", self.of, self.unit.name())))
                @for rule in self.rules {
                    @let x = px(frame.x(rule.at));
                    line.rule.(class(rule.of)) x1=(x) x2=(x) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
                }
                (self.legend())
            },
        )
    }

    fn legend(&self) -> Markup {
        let lines = self.summaries.iter().enumerate().map(|(index, one)| (index, "line", self.name(one)));
        let rules = self.rules.iter().map(|rule| (rule.of, "rule", rule.name.clone()));
        let left = WIDTH - RIGHT - LEGEND_WIDTH;
        let count = f64::from(u16::try_from(self.summaries.len() + self.rules.len()).unwrap_or(u16::MAX));
        let mut y = TOP + 6.0;
        html! {
            rect.paper x=(left - 8.0) y=(TOP + 6.0) width=(LEGEND_WIDTH) height=(count * LEGEND_LINE + 6.0) {}
            @for (index, kind, name) in lines.chain(rules) {
                @let () = y += LEGEND_LINE;
                line.(kind).(class(index)) x1=(left) x2=(left + 26.0) y1=(px(y - 5.0)) y2=(px(y - 5.0)) {}
                text.name x=(left + 36.0) y=(px(y)) { (name) }
            }
        }
    }

    fn name(&self, summary: &Summary) -> String {
        let longest = summary.figures.map(|figures| figures.max.microseconds() * 1000.0 / self.unit.nanoseconds());
        let told = |longest| format!("at most {longest:.1} {}", self.unit.name());
        let longest = longest.map_or_else(|| "none arrived".to_owned(), told);
        format!("{}: {longest}", summary.device)
    }
}

#[cfg(test)]
mod tests {
    use crate::stats::Series;

    use super::*;

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
        let frame = Frame::around(&summaries, Some(LatencyNs(40_000_000)), TimeUnit::Milliseconds.nanoseconds());
        assert!(frame.x(LatencyNs(40_000_000)) < WIDTH - RIGHT);
        assert!(svg.contains(&format!("x1=\"{}\"", px(frame.x(LatencyNs(40_000_000))))), "{svg}");
    }
}
