//! Plots as SVG: scales, axes, series, bands and legends, inside a page or as files of their own.
//!
//! ```text
//!  values ─▶ Scale ─▶ Axis ─▶ Panel ─▶ Markup ─┬─▶ page, with `sheet()` in its style sheet
//!                                              └─▶ Document ─▶ SVG file
//! ```
//!
//! Uses nothing else of this crate. Both forms follow the reader's light or dark colour scheme.

mod digits;
mod document;
mod legend;
mod panel;
mod scale;
mod style;

pub use digits::{grouped, number};
pub use document::Document;
pub use legend::{Corner, Entry, Sample, legend, legend_list};
pub use panel::{Axis, Mark, Panel};
pub use scale::Scale;
pub use style::{class, sheet};

/// A coordinate to a tenth of a pixel: small files with stable bytes.
pub fn px(value: f64) -> String {
    format!("{value:.1}")
}
