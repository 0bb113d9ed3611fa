//! The names of series.

use maud::{Markup, html};

use super::panel::Mark;
use super::{Panel, class, px};

const LINE_HEIGHT: f64 = 20.0;
const SAMPLE_WIDTH: f64 = 26.0;
/// Mean width of a character in `.name`, of wide fonts.
const CHARACTER: f64 = 8.6;

#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    pub name: &'a str,
    /// See [`class`].
    pub class: String,
    pub sample: Sample,
}

impl<'a> Entry<'a> {
    /// With the class of this series.
    pub fn new(index: usize, name: &'a str, sample: Sample) -> Self {
        Self { name, class: class(index), sample }
    }

    /// With the classes of the first series.
    pub fn all(names: &[&'a str], sample: Sample) -> Vec<Self> {
        names.iter().enumerate().map(|(index, name)| Self::new(index, name, sample)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    Line,
    /// A thin line with marks.
    Marked(Mark),
    /// A horizontal line that marks a limit.
    Rule,
    Band,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// Outside, over the left end of the panel; see [`legend_height`].
    Above,
    TopLeft,
    TopRight,
}

pub fn legend_height(entries: usize) -> f64 {
    entries as f64 * LINE_HEIGHT + 8.0
}

/// On a background that hides the grid.
pub fn legend(entries: &[Entry<'_>], panel: &Panel<'_>, corner: Corner) -> Markup {
    let longest = entries.iter().map(|entry| entry.name.chars().count() as f64).fold(0.0, f64::max);
    let (width, height) = (SAMPLE_WIDTH + 22.0 + longest * CHARACTER, legend_height(entries.len()));
    let ([left, right], [_, top]) = (panel.x.scale.pixels(), panel.y.scale.pixels());
    let (left, top) = match corner {
        Corner::Above => (left - 6.0, top - height - 6.0),
        Corner::TopLeft => (left + 6.0, top + 6.0),
        Corner::TopRight => (right - width - 6.0, top + 6.0),
    };
    html! {
        rect.ground x=(px(left)) y=(px(top)) width=(px(width)) height=(px(height)) opacity=".9" {}
        @for (index, entry) in entries.iter().enumerate() {
            @let middle = top + 4.0 + (index as f64 + 0.5) * LINE_HEIGHT;
            (sample(entry, left + 6.0, middle))
            text.name x=(px(left + SAMPLE_WIDTH + 14.0)) y=(px(middle + 5.0)) { (entry.name) }
        }
    }
}

/// As an HTML list, which wraps.
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
