//! Measures what guards and checks detect of attacks with known truth, and how often they are wrong.
//!
//! ```text
//!  Car ──▶ traffic ──▶ Rules::learn
//!   └────▶ traffic + Attack ──▶ Capture (frames with labels) ──judged──▶ Score for each rule
//! ```
//!
//! # What cannot be detected
//! A frame that an attacker sends in place of the usual one, at its time, with values that it could have, and with a valid counter
//! and checksum, is the same as the usual one. Only an authentication code tells them apart. A frame that an attacker sends once,
//! at about the time of the usual one, can also be taken for it.

mod attack;
mod car;
mod label;
mod score;

pub use attack::Attack;
pub use car::Car;
pub use label::{Label, LabelError};
pub use score::{Rule, Rules, Score, judged};

use crate::traffic::Recorded;

/// Traffic with known attacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// All frames.
    pub frames: Vec<Recorded>,
    /// True for frames of the attacker, in the order of the frames.
    pub is_attack: Vec<bool>,
    /// Begin and end of the attack in ns. `None`: there is none.
    pub interval_ns: Option<(u64, u64)>,
}
