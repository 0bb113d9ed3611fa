//! A rectangle with two axes, and series drawn on its scales.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{Scale, number, px};

/// Width of a digit in `.tick`.
const DIGIT: f64 = 7.2;

#[derive(Clone, Debug, PartialEq)]
pub struct Axis<'a> {
    pub scale: Scale,
    /// With the unit; may be empty.
    pub title: &'a str,
    /// Values and labels; each has a grid line.
    pub ticks: Vec<(f64, String)>,
}

impl<'a> Axis<'a> {
    /// With the ticks of the scale.
    pub fn new(scale: Scale, title: &'a str) -> Self {
        Self::labelled(scale, title, number)
    }

    /// With the ticks of the scale, labelled by `label`.
    pub fn labelled(scale: Scale, title: &'a str, label: fn(f64) -> String) -> Self {
        Self { scale, title, ticks: scale.ticks().into_iter().map(|tick| (tick, label(tick))).collect() }
    }
}

/// The pixels of the horizontal scale are left and right, those of the vertical one bottom and top.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel<'a> {
    pub x: Axis<'a>,
    pub y: Axis<'a>,
}

impl Panel<'_> {
    /// Grid, labels, frame and titles.
    pub fn axes(&self) -> Markup {
        let ([left, right], [bottom, top]) = (self.x.scale.pixels(), self.y.scale.pixels());
        let below = if self.x.ticks.is_empty() { 15.0 } else { 40.0 };
        let widest = self.y.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or_default();
        let aside = (left - 16.0 - DIGIT * f64::from(u8::try_from(widest).unwrap_or(u8::MAX))).max(14.0);
        html! {
            @for (value, label) in &self.y.ticks {
                @let y = self.y.scale.at(*value);
                line.grid x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text.tick x=(px(left - 7.0)) y=(px(y + 4.0)) text-anchor="end" { (label) }
            }
            @for (value, label) in &self.x.ticks {
                @let x = px(self.x.scale.at(*value));
                line.grid x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
                text.tick x=(x) y=(px(bottom + 17.0)) text-anchor="middle" { (label) }
            }
            rect.frame x=(px(left)) y=(px(top)) width=(px(right - left)) height=(px(bottom - top)) {}
            @if !self.x.title.is_empty() {
                text.axis x=(px(f64::midpoint(left, right))) y=(px(bottom + below)) text-anchor="middle" { (self.x.title) }
            }
            @if !self.y.title.is_empty() {
                text.axis transform=(format!("translate({} {}) rotate(-90)", px(aside), px(f64::midpoint(top, bottom))))
                    text-anchor="middle" { (self.y.title) }
            }
        }
    }

    /// Path of a line through points; a point without a value leaves a gap.
    pub fn line(&self, points: impl IntoIterator<Item = (f64, Option<f64>)>) -> String {
        let mut path = String::new();
        let mut command = 'M';
        for (x, y) in points {
            if let Some(y) = y {
                let (x, y) = (px(self.x.scale.at(x)), px(self.y.scale.at(y)));
                write!(path, "{command}{x} {y}").expect("writing to a String cannot fail");
            }
            command = if y.is_some() { 'L' } else { 'M' };
        }
        path
    }

    /// Path of a step function that only falls or only rises: `first` from the left edge, then each value from its position
    /// on. Of steps at one place of the drawing, the last one is enough.
    pub fn steps(&self, first: f64, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut path = format!("M{} {}", px(self.x.scale.pixels()[0]), px(self.y.scale.at(first)));
        let mut drawn = points.into_iter().map(|(x, y)| (px(self.x.scale.at(x)), px(self.y.scale.at(y)))).peekable();
        while let Some((x, y)) = drawn.next() {
            if drawn.peek().is_none_or(|(next, _)| *next != x) {
                write!(path, "H{x}V{y}").expect("writing to a String cannot fail");
            }
        }
        path
    }

    /// Path of vertical bars, each between two values, that are never shorter than a point.
    pub fn ranges(&self, ranges: impl IntoIterator<Item = (f64, [f64; 2])>) -> String {
        let bar = |(x, range): (f64, [f64; 2])| {
            let [least, most] = range.map(|value| self.y.scale.at(value));
            format!("M{:.0} {:.1}v-{:.1}", self.x.scale.at(x), least + 0.8, least - most + 1.6)
        };
        ranges.into_iter().map(bar).collect()
    }

    /// `title` is a tooltip.
    pub fn mark(&self, (x, y): (f64, f64), mark: Mark, class: &str, title: Option<&str>) -> Markup {
        mark.at(self.x.scale.at(x), self.y.scale.at(y), class, title)
    }

    /// Marks at all points that have a value.
    pub fn marks(&self, points: impl IntoIterator<Item = (f64, Option<f64>)>, mark: Mark, class: &str) -> Markup {
        let points = points.into_iter().filter_map(|(x, y)| Some((x, y?)));
        html! { @for point in points { (self.mark(point, mark, class, None)) } }
    }

    /// A line of text above the panel.
    pub fn caption(&self, caption: &str) -> Markup {
        let ([left, right], [_, top]) = (self.x.scale.pixels(), self.y.scale.pixels());
        html! { text.caption x=(px(f64::midpoint(left, right))) y=(px(top - 14.0)) text-anchor="middle" { (caption) } }
    }

    /// A vertical line from bottom to top.
    pub fn upright(&self, x: f64, class: &str) -> Markup {
        let ([bottom, top], x) = (self.y.scale.pixels(), px(self.x.scale.at(x)));
        html! { line.(class) x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {} }
    }

    /// A horizontal line from left to right, with its name above the middle.
    pub fn level(&self, y: f64, name: &str) -> Markup {
        let ([left, right], y) = (self.x.scale.pixels(), self.y.scale.at(y));
        html! {
            line.level x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
            text.tick x=(px(f64::midpoint(left, right))) y=(px(y - 5.0)) text-anchor="middle" { (name) }
        }
    }

    /// A filled rectangle between two positions and two values.
    pub fn band(&self, [from, to]: [f64; 2], [low, high]: [f64; 2], class: &str) -> Markup {
        let (left, top) = (self.x.scale.at(from), self.y.scale.at(high));
        let (width, height) = (self.x.scale.at(to) - left, self.y.scale.at(low) - top);
        html! { rect.band.(class) x=(px(left)) y=(px(top)) width=(px(width)) height=(px(height)) {} }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Ring,
    Cross,
    Triangle,
}

impl Mark {
    pub(super) fn at(self, x: f64, y: f64, class: &str, title: Option<&str>) -> Markup {
        let (left, right, top, bottom) = (px(x - 3.2), px(x + 3.2), px(y - 3.2), px(y + 3.2));
        let title = html! { @if let Some(title) = title { title { (title) } } };
        html! {
            @match self {
                Self::Ring => circle.mark.(class) r="3" cx=(px(x)) cy=(px(y)) { (title) },
                Self::Cross => path.mark.cross.(class) d=(format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")) { (title) },
                Self::Triangle => path.mark.(class) d=(format!("M{left} {bottom}H{right}L{} {top}Z", px(x))) { (title) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel<'static> {
        let (x, y) = (Scale::linear(0.0, 10.0, [0.0, 100.0]), Scale::linear(0.0, 10.0, [100.0, 0.0]));
        Panel { x: Axis::new(x, "time in ms"), y: Axis::new(y, "frames") }
    }

    #[test]
    fn an_unknown_value_is_a_gap() {
        let path = panel().line([(1.0, Some(1.0)), (2.0, None), (3.0, Some(2.0)), (4.0, Some(2.0))]);
        assert_eq!(path, "M10.0 90.0M30.0 80.0L40.0 80.0");
    }

    #[test]
    fn steps_begin_at_the_edge() {
        assert_eq!(panel().steps(10.0, [(5.0, 2.0)]), "M0.0 0.0H50.0V80.0");
        assert_eq!(panel().steps(10.0, [(5.0, 2.0), (5.001, 1.0)]), "M0.0 0.0H50.0V90.0");
    }

    #[test]
    fn axes_have_ticks_and_titles() {
        let axes = panel().axes().into_string();
        assert_eq!(axes.matches("class=\"tick\"").count(), 12, "{axes}");
        assert!(axes.contains("time in ms") && axes.contains("rotate(-90)"), "{axes}");
    }
}
