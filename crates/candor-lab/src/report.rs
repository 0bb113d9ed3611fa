//! What is said of records: figures, threats to their validity, the latency profile, one HTML page, Markdown or a picture; and
//! of all cells of a plan.
//!
//! Everything here is a pure function of records, so an old measurement can be reported again without repeating it,
//! and the same records give the same bytes.

mod chart;
mod claims;
mod curves;
pub mod difference;
mod html;
mod matrix;
mod summary;
mod threat;

pub use chart::{Picture, Rule, TimeUnit};
pub use claims::{ClaimLine, ClaimPage, ClaimTable, Judgement, Seen, index_html, index_markdown, page_html};
pub use curves::{Curve, Curves};
pub use html::{conditions_of, html};
pub use matrix::{Cell, Course, Matrix, Measured, Stages, matrix_html, matrix_markdown};
pub use summary::{CONFIDENCE, Figures, Summary};
pub use threat::Threat;
