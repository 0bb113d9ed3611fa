//! The results of a plan as one page: a map of all cells, each cell in detail, and validity.
//!
//! ```text
//!  Record ─▶ Measured ─┐
//!  levels, state ──────┴▶ Cell ─▶ Matrix ─▶ axes ─▶ map, comparisons, details
//! ```
//!
//! The page works without its script, which only opens link targets in browsers that do not.

mod axes;
mod details;
mod kernels;
mod map;
mod markdown;
mod measured;
mod page;
mod profile;
mod ratios;
mod shade;
mod stages;
mod sweep;
mod table;
mod throughput;
mod timeline;
mod trust;

pub use markdown::matrix_markdown;
pub use measured::{Cell, Matrix, Measured};
pub use page::matrix_html;
pub use stages::Stages;
pub(super) use stages::table as stages_table;
pub use table::{TABLE_FIGURES, Table};
pub use timeline::Timeline;
pub(super) use timeline::{chart, gallery};

#[cfg(test)]
mod tests;
