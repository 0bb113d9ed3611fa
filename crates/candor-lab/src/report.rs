//! What is said of records: figures, threats to their validity, the latency profile, one HTML page, Markdown or a picture; and
//! of all cells of a plan.
//!
//! Everything here is a pure function of records, so an old measurement can be reported again without repeating it,
//! and the same records give the same bytes.

mod chart;
mod claims;
mod curves;
pub mod difference;
mod digits;
mod html;
mod matrix;
mod picture;
mod summary;
mod threat;

pub use claims::{ClaimLine, ClaimPage, ClaimTable, Judgement, Seen, index_html, index_markdown, page_html};
pub use curves::{Curve, Curves};
pub use html::{conditions_of, html};
pub use matrix::{Cell, Course, Matrix, Measured, Stages, matrix_html, matrix_markdown};
pub use picture::{Picture, Rule, TimeUnit};
pub use summary::{CONFIDENCE, Figures, Summary, floor_of};
pub use threat::Threat;
