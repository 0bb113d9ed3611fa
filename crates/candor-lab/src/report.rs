//! Reports of records and plans: figures, threats to validity, latency profiles, as HTML, Markdown or SVG.
//!
//! Everything here is a pure function of records: an old measurement can be reported again without repeating it, and the
//! same records give the same bytes.

mod bounds;
mod chart;
mod claims;
pub mod difference;
mod evidence;
mod html;
mod matrix;
mod parts;
mod summary;
mod threat;

pub use bounds::{Beside, BoundsPage, bounds_html};
pub use chart::{Curve, Curves, Picture, Rule, TimeUnit};
pub use claims::{ClaimLine, ClaimPage, ClaimTable, Judgement, Seen, index_html, index_markdown, page_html};
pub use evidence::{EvidenceLine, EvidencePage, evidence_html};
pub use html::{conditions_of, html};
pub use matrix::{Cell, Matrix, Measured, Stages, TABLE_FIGURES, Table, Timeline, matrix_html, matrix_markdown};
pub use parts::{Show, units};
pub use summary::Summary;
pub use threat::threats;
