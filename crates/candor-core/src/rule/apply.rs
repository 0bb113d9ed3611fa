//! One rule applied to one frame, step by step as can-gw does it.

/// What became of a frame in a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Send,
    /// Its length became impossible; can-gw counts it as deleted.
    Delete,
}
