//! A figure over a number: one line for each thing that is compared, as a picture of its own.

use std::fmt::Write as _;

use maud::html;

use super::chart::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, class, nice_ticks, px};
use super::picture::file;

/// Beyond this ratio of the largest to the smallest value the small ones would all lie on the axis.
const LINEAR: f64 = 40.0;
const LEGEND_WIDTH: f64 = 210.0;
const LEGEND_LINE: f64 = 21.0;

/// Lines in one picture.
#[derive(Debug)]
pub struct Curves<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What the number is, with its unit.
    pub along: &'a str,
    /// What the figure is, with its unit.
    pub of: &'a str,
    /// In the order of colours.
    pub curves: &'a [Curve],
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is of.
    pub name: String,
    /// Number and figure, in the order of the numbers; `None` where there is none, which leaves a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Curves<'_> {
    /// The file's text. It loads nothing from anywhere.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let values = || self.curves.iter().flat_map(|curve| &curve.points).filter_map(|(_, value)| *value);
        let numbers = || self.curves.iter().flat_map(|curve| &curve.points).map(|(number, _)| *number);
        let (x, y) = (Axis::linear(numbers(), false), Axis::of(values()));
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let at_x = |number: f64| LEFT + x.share(number) * (right - LEFT);
        let at_y = |value: f64| bottom - y.share(value) * (bottom - TOP);
        let picture = html! {
            @for tick in y.ticks() {
                line.grid x1=(LEFT) x2=(right) y1=(px(at_y(tick))) y2=(px(at_y(tick))) {}
                text.tick x=(LEFT - 8.0) y=(px(at_y(tick) + 4.0)) text-anchor="end" { (tick) }
            }
            @for tick in x.ticks() {
                line.grid x1=(px(at_x(tick))) x2=(px(at_x(tick))) y1=(TOP) y2=(bottom) {}
                text.tick x=(px(at_x(tick))) y=(bottom + 18.0) text-anchor="middle" { (tick) }
            }
            rect.frame x=(LEFT) y=(TOP) width=(right - LEFT) height=(bottom - TOP) {}
            @for (index, curve) in self.curves.iter().enumerate() {
                path.line.(class(index)) d=(path(&curve.points, at_x, at_y)) { title { (curve.name) } }
                @for (number, value) in curve.points.iter().filter_map(|(number, value)| Some((*number, (*value)?))) {
                    circle.worst.(class(index)) r="3" cx=(px(at_x(number))) cy=(px(at_y(value))) {}
                }
                @let line = TOP + 18.0 + LEGEND_LINE * f64::from(u16::try_from(index).unwrap_or(u16::MAX));
                @let left = if self.rises() { LEFT + 14.0 } else { right - LEGEND_WIDTH };
                line.line.(class(index)) x1=(left) x2=(left + 26.0) y1=(px(line - 5.0)) y2=(px(line - 5.0)) {}
                text.name x=(left + 36.0) y=(px(line)) { (curve.name) }
            }
            text.axis x=(f64::midpoint(LEFT, right)) y=(HEIGHT - 14.0) text-anchor="middle" { (self.along) }
            text.axis transform=(format!("translate(16 {}) rotate(-90)", f64::midpoint(TOP, bottom)))
                text-anchor="middle" { (self.of) }
        };
        file(self.title, &picture)
    }

    /// Whether the highest value lies in the right half, so that there is room on the left.
    fn rises(&self) -> bool {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let known = || points().filter_map(|(number, value)| Some((*number, (*value)?)));
        let highest = known().max_by(|one, other| one.1.total_cmp(&other.1));
        let (least, most) =
            points().fold((f64::MAX, f64::MIN), |(least, most), (at, _)| (least.min(*at), most.max(*at)));
        highest.is_some_and(|(number, _)| number > f64::midpoint(least, most))
    }
}

fn path(points: &[(f64, Option<f64>)], at_x: impl Fn(f64) -> f64, at_y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut goes_on = false;
    for (number, value) in points {
        if let Some(value) = value {
            let step = if goes_on { 'L' } else { 'M' };
            write!(path, "{step}{} {}", px(at_x(*number)), px(at_y(*value))).expect("a String takes everything");
        }
        goes_on = value.is_some();
    }
    path
}

/// From where to where.
struct Axis {
    least: f64,
    most: f64,
    is_logarithmic: bool,
}

impl Axis {
    fn linear(values: impl Iterator<Item = f64>, from_zero: bool) -> Self {
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(one), most.max(one)));
        if least > most {
            return Self { least: 0.0, most: 1.0, is_logarithmic: false };
        }
        // Numbers that begin near nothing begin there.
        let least = if from_zero || least < 0.2 * most { 0.0 } else { least };
        Self { least, most: if most > least { most } else { least + 1.0 }, is_logarithmic: false }
    }

    /// Logarithmic where the values are of several orders, and none of them is nothing.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::MAX, f64::min);
        let most = values.clone().fold(f64::MIN, f64::max);
        if least > 0.0 && most > LINEAR * least {
            return Self { least: 10f64.powf(least.log10().floor()), most: most * 1.2, is_logarithmic: true };
        }
        let linear = Self::linear(values, true);
        Self { most: linear.most * 1.04, ..linear }
    }

    fn share(&self, value: f64) -> f64 {
        if self.is_logarithmic {
            return (value / self.least).log10() / (self.most / self.least).log10();
        }
        (value - self.least) / (self.most - self.least)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let decades = (0..9).map(|exponent| self.least * 10f64.powi(exponent));
            return decades.take_while(|tick| *tick <= self.most).collect();
        }
        nice_ticks(self.most).into_iter().filter(|tick| *tick >= self.least).collect()
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
    fn what_is_not_known_is_a_gap() {
        let svg = curves(vec![(1.0, Some(1.0)), (2.0, None), (3.0, Some(2.0)), (4.0, Some(2.0))]);
        let path = svg.split(" d=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
    }

    #[test]
    fn values_of_several_orders_are_drawn_by_their_logarithm() {
        let axis = Axis::of([3.0, 3000.0].into_iter());
        assert!(axis.is_logarithmic && axis.ticks() == [1.0, 10.0, 100.0, 1000.0]);
        // Nothing has no logarithm.
        assert!(!Axis::of([0.0, 3000.0].into_iter()).is_logarithmic);
    }

    #[test]
    fn no_curve_makes_an_empty_picture_and_no_panic() {
        assert!(!curves(Vec::new()).contains("NaN"));
        assert!(!curves(vec![(1.0, None)]).contains("NaN"));
        assert!(!curves(vec![(5.0, Some(0.0))]).contains("NaN"));
    }
}
