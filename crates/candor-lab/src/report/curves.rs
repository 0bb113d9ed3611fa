//! Values over a number, one line for each series, as a file.

use maud::html;

use super::chart::{ACROSS, HEIGHT, UPWARDS, WIDTH};
use crate::plot::{Axis, Corner, Document, Entry, Mark, Panel, Sample, Scale, class, legend};

/// Lines in one picture.
#[derive(Debug)]
pub struct Curves<'a> {
    /// Drawn above the lines.
    pub title: &'a str,
    /// Title of the horizontal axis, with its unit.
    pub along: &'a str,
    /// Title of the vertical axis, with its unit.
    pub of: &'a str,
    /// In the order of colours.
    pub curves: &'a [Curve],
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// For the legend.
    pub name: String,
    /// Number and value, in the order of the numbers; `None` leaves a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Curves<'_> {
    /// The text of an SVG file that loads nothing.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let x = Scale::around(points().map(|(number, _)| *number), ACROSS);
        let y = Scale::fitted(points().filter_map(|(_, value)| *value), UPWARDS);
        let panel = Panel { x: Axis::new(x, self.along), y: Axis::new(y, self.of) };
        let entry = |(index, curve): (usize, &'_ Curve)| (curve.name.clone(), class(index));
        let named: Vec<(String, String)> = self.curves.iter().enumerate().map(entry).collect();
        let entries: Vec<Entry<'_>> = named
            .iter()
            .map(|(name, class)| Entry { name, class: class.clone(), sample: Sample::Marked(Mark::Ring) })
            .collect();
        let drawing = html! {
            (panel.axes())
            @for (curve, (_, class)) in self.curves.iter().zip(&named) {
                path.line.(class) d=(panel.line(curve.points.iter().copied())) { title { (curve.name) } }
                @for (number, value) in &curve.points {
                    @if let Some(value) = value { (panel.mark((*number, *value), Mark::Ring, class, None)) }
                }
            }
            (legend(&entries, &panel, if self.rises() { Corner::TopLeft } else { Corner::TopRight }))
        };
        let names: Vec<&str> = self.curves.iter().map(|curve| curve.name.as_str()).collect();
        let description = format!("{} over {}: {}.", self.of, self.along, names.join(", "));
        Document { title: self.title, description: &description, size: [WIDTH, HEIGHT] }.with(&drawing)
    }

    /// Whether the highest value lies in the right half, which leaves room on the left.
    fn rises(&self) -> bool {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let known = || points().filter_map(|(number, value)| Some((*number, (*value)?)));
        let highest = known().max_by(|one, other| one.1.total_cmp(&other.1));
        let (least, most) =
            points().fold((f64::MAX, f64::MIN), |(least, most), (at, _)| (least.min(*at), most.max(*at)));
        highest.is_some_and(|(number, _)| number > f64::midpoint(least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: Vec<(f64, Option<f64>)>) -> String {
        let curves = [Curve { name: "one".to_owned(), points }];
        Curves { title: "t", along: "n", of: "us", curves: &curves }.to_svg()
    }

    #[test]
    fn no_curve_makes_an_empty_picture_and_no_panic() {
        assert!(!curves(Vec::new()).contains("NaN"));
        assert!(!curves(vec![(1.0, None)]).contains("NaN"));
        assert!(!curves(vec![(5.0, Some(0.0))]).contains("NaN"));
    }
}
