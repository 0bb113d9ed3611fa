//! Actions of filters.

use super::discipline::ByteRate;
use super::handle::Handle;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `gact`: only the verdict.
    Gact { verdict: Verdict },
    /// `mirred`: out of, or into, another interface.
    Mirred { interface: String, how: Mirred, verdict: Verdict },
    /// An unsupported kind, kept as bytes.
    Other { kind: String, options: Vec<u8> },
    /// `police`: a limit without a queue.
    Police(Police),
    /// `skbedit`: changes priority and mark.
    Skbedit {
        /// `1:2` names a class of discipline `1:`.
        priority: Option<Handle>,
        mark: Option<u32>,
        /// Bits of the mark that change; `None`: all.
        mask: Option<u32>,
        verdict: Verdict,
    },
}

/// `TC_ACT_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `continue` (`TC_ACT_UNSPEC`): try the next filter.
    Continue,
    /// `drop` (`TC_ACT_SHOT`); the sender gets an error.
    Drop,
    /// `pass` (`TC_ACT_OK`): try no further filter.
    Pass,
    /// `pipe` (`TC_ACT_PIPE`): run the next action of the filter.
    Pipe,
    /// `reclassify` (`TC_ACT_RECLASSIFY`): start over with the first filter.
    Reclassify,
    /// `stolen` (`TC_ACT_STOLEN`): consumed; the sender gets no error.
    Stolen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirred {
    EgressMirror,
    EgressRedirect,
    IngressMirror,
    IngressRedirect,
}

/// At least one of the two limits is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Police {
    pub bytes: Option<PoliceBytes>,
    /// Limit in frames, since Linux 5.13.
    pub frames: Option<PoliceFrames>,
    pub exceed: Verdict,
    pub conform: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceBytes {
    pub rate: ByteRate,
    pub burst_bytes: u32,
    /// Longer frames are above the limit.
    pub mtu_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceFrames {
    pub per_second: u64,
    pub burst_frames: u64,
}
