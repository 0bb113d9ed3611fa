//! What a plan of experiments came to, as one page: a map of all cells, each cell by itself, and what to believe.
//!
//! ```text
//!  Record ─▶ Measured ─┐
//!  levels, state ──────┴▶ Cell ─▶ Matrix ─▶ axes ─▶ map, comparison, details
//! ```
//!
//! Everything is there without the page's script, which only opens what a link leads to in browsers that do not.

mod axes;
mod compare;
mod details;
mod kernels;
mod map;
mod markdown;
mod measured;
mod page;
mod profile;
mod shade;
mod spikes;
mod stages;
mod sweep;
mod throughput;
mod trust;

pub use markdown::markdown as matrix_markdown;
pub use measured::{Cell, Matrix, Measured};
pub use page::html as matrix_html;
pub(super) use profile::thinned;
pub use spikes::Course;
pub(super) use spikes::{chart, gallery};
pub use stages::Stages;
pub(super) use stages::table as stages_table;

#[cfg(test)]
mod tests;
