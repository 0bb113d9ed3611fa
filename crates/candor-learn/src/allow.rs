//! Learns what each identifier of a bus usually does, writes it as guards of routes, and judges traffic by them.
//!
//! ```text
//!  logs ──▶ Observed ──Guard::of──▶ Guard ─┬─▶ written     keys of a gateway file
//!           (by identifier)                └─▶ Judge       slow interpreter: what would be dropped, and by which key
//! ```

mod constant;
mod differ;
mod guard;
mod judge;
mod observed;
mod range;
mod selector;

pub use constant::Constant;
pub use differ::{Difference, differences};
pub use guard::{Guard, duration};
pub use judge::{Judge, Key};
pub use observed::{Gaps, Observed, observe};
pub use range::Range;
pub use selector::{Selector, selector};
