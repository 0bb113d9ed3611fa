//! What is said of records: figures, threats to their validity, the latency profile, one HTML page or a picture.
//!
//! Everything here is a pure function of records, so an old measurement can be reported again without repeating it,
//! and the same records give the same bytes.

mod chart;
mod digits;
mod html;
mod picture;
mod summary;
mod threat;

pub use html::{conditions_of, html};
pub use picture::{Picture, Rule};
pub use summary::{CONFIDENCE, Figures, Summary, floor_of};
pub use threat::Threat;
