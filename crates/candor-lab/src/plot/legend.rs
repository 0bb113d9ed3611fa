//! The names of series.

use maud::{Markup, html};

use super::panel::Mark;
use super::{Panel, px};

const LINE_HEIGHT: f64 = 20.0;
const SAMPLE_WIDTH: f64 = 26.0;
/// Of a character at the size of `.name`, on the average.
const CHARACTER: f64 = 8.0;

/// A series in a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// The series.
    pub name: &'a str,
    /// As of [`class`](super::class).
    pub class: String,
    /// Shown beside the name.
    pub sample: Sample,
}

/// Kinds of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A line.
    Line,
    /// A thin line with marks.
    Marked(Mark),
    /// A limit.
    Rule,
    /// Filled boxes.
    Band,
}

/// A corner of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// At the upper left.
    TopLeft,
    /// At the upper right.
    TopRight,
    /// At the lower right.
    BottomRight,
}

/// The legend inside a panel, on a ground that hides the grid.
#[must_use]
pub fn legend(entries: &[Entry<'_>], panel: &Panel<'_>, corner: Corner) -> Markup {
    let longest = entries.iter().map(|entry| count(entry.name.chars().count())).fold(0.0, f64::max);
    let (width, height) = (SAMPLE_WIDTH + 22.0 + longest * CHARACTER, count(entries.len()) * LINE_HEIGHT + 8.0);
    let ([left, right], [bottom, top]) = (panel.x.scale.pixels(), panel.y.scale.pixels());
    let left = if corner == Corner::TopLeft { left + 6.0 } else { right - width - 6.0 };
    let top = if corner == Corner::BottomRight { bottom - height - 6.0 } else { top + 6.0 };
    html! {
        rect.ground x=(px(left)) y=(px(top)) width=(px(width)) height=(px(height)) opacity=".9" {}
        @for (index, entry) in entries.iter().enumerate() {
            @let middle = top + 4.0 + (count(index) + 0.5) * LINE_HEIGHT;
            (sample(entry, left + 6.0, middle))
            text.name x=(px(left + SAMPLE_WIDTH + 14.0)) y=(px(middle + 5.0)) { (entry.name) }
        }
    }
}

/// The legend as an HTML list, which wraps.
#[must_use]
pub fn legend_list<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Markup {
    html! {
        ul.legend { @for entry in entries {
            li { svg viewBox="0 0 26 6" aria-hidden="true" { (sample(&entry, 0.0, 3.0)) } (entry.name) }
        } }
    }
}

fn sample(entry: &Entry<'_>, left: f64, middle: f64) -> Markup {
    let right = left + SAMPLE_WIDTH;
    let kind = match entry.sample {
        Sample::Line | Sample::Band => "line",
        Sample::Marked(_) => "line thin",
        Sample::Rule => "rule",
    };
    html! {
        @if entry.sample == Sample::Band {
            rect.band.(entry.class) x=(px(left)) y=(px(middle - 5.0)) width=(px(SAMPLE_WIDTH)) height="10" {}
        } @else {
            line.(kind).(entry.class) x1=(px(left)) x2=(px(right)) y1=(px(middle)) y2=(px(middle)) {}
        }
        @if let Sample::Marked(mark) = entry.sample { (mark.at(f64::midpoint(left, right), middle, &entry.class, None)) }
    }
}

fn count(number: usize) -> f64 {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}
