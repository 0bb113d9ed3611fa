//! Plots as SVG: scales, axes, series, bands and legends, inside a page or as files of their own.
//!
//! ```text
//!  values ─▶ Scale ─▶ Axis ─▶ Panel ─▶ Markup ─┬─▶ page, with `sheet()` in its style sheet
//!                                              └─▶ Document ─▶ SVG file
//! ```
//!
//! Uses nothing else of this crate. Both forms follow the reader's light or dark colour scheme.

mod legend;
mod panel;
mod scale;
mod style;

pub use legend::{Corner, Entry, Sample, legend, legend_height, legend_list};
pub use panel::{Axis, Mark, Panel};
pub use scale::Scale;
pub use style::{class, sheet};

use maud::{Markup, PreEscaped, html};

/// A coordinate to a tenth of a pixel: small files with stable bytes.
pub fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Separates groups of three digits with a narrow no-break space.
pub fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A tick's label: an integer in groups of three digits, any other number as it is.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 { grouped(&format!("{value:.0}")) } else { value.to_string() }
}

/// Space above the drawing.
const TITLE_HEIGHT: f64 = 40.0;

/// An SVG file without external references. Screen readers read title and description.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// Drawn above the plot.
    pub title: &'a str,
    /// Not drawn: axes and series in a sentence.
    pub description: &'a str,
    /// In pixels, without the title.
    pub size: [f64; 2],
}

impl Document<'_> {
    /// The text of the file. The origin of the drawing is below the title.
    pub fn with(&self, drawing: &Markup) -> String {
        let [width, height] = [self.size[0], self.size[1] + TITLE_HEIGHT];
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
                font-family="system-ui, sans-serif" role="img" aria-label=(self.title) {
                title { (self.title) }
                desc { (self.description) }
                style { (PreEscaped(style::resolved())) }
                rect.ground width=(width) height=(height) {}
                text.title x=(width / 2.0) y="27" text-anchor="middle" { (self.title) }
                g transform=(format!("translate(0 {TITLE_HEIGHT})")) { (drawing) }
            }
        };
        format!("{}\n", svg.into_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(grouped("1234567"), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped("-123"), "-123");
        assert_eq!(grouped("12"), "12");
        assert_eq!([0.5, 20_000.0].map(number), ["0.5", "20\u{202f}000"]);
    }
}
